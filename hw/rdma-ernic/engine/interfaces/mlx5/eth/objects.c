/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of Ethernet objects: creation, reset, and access by number.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/layout/access.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "steering/flow_tables.h"

void ernic_mlx5_eth_new(Ernic *e)
{
    e->mlx5_eth = ernic_table_new(1, sizeof(*e->mlx5_eth));
    e->flow_tables = ernic_table_new(1, sizeof(*e->flow_tables));
}

void ernic_mlx5_eth_ref(Ernic *e, const ErnicMlx5EthQueue *q, int delta)
{
    e->cq[q->cq].refs += delta;
    if (q->pd) {
        e->pd[q->pd].refs += delta;
    }
}

void ernic_mlx5_eth_remove(Ernic *e, ErnicMlx5EthQueue *q)
{
    ernic_mlx5_eth_ref(e, q, -1);
    ernic_buf_fini(e, &q->buf);
    memset(q, 0, sizeof(*q));
}

void ernic_mlx5_eth_reset(Ernic *e)
{
    ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i;

    for (i = 1; i <= ERNIC_LIM_ETH_QUEUE; i++) {
        if (eth->sq[i].used) {
            ernic_mlx5_eth_remove(e, &eth->sq[i]);
        }
        if (eth->rq[i].used) {
            ernic_mlx5_eth_remove(e, &eth->rq[i]);
        }
    }
    ernic_mlx5_eth_free(e);
    ernic_mlx5_eth_new(e);
}

void ernic_mlx5_eth_free(Ernic *e)
{
    ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i;

    /* If a saved state was refused, other fields than the buffer may be wrong. */
    for (i = 1; eth && e->mem.used && i <= ERNIC_LIM_ETH_QUEUE; i++) {
        ernic_buf_fini(e, &eth->sq[i].buf);
        ernic_buf_fini(e, &eth->rq[i].buf);
    }
    ernic_table_free(e->mlx5_eth, 1, sizeof(*e->mlx5_eth));
    ernic_table_free(e->flow_tables, 1, sizeof(*e->flow_tables));
    e->mlx5_eth = NULL;
    e->flow_tables = NULL;
}

static ErnicMlx5EthQueue *queue_get(ErnicMlx5EthQueue *table, uint32_t base,
                                    uint32_t number)
{
    return number > base && number - base <= ERNIC_LIM_ETH_QUEUE &&
           table[number - base].used ? &table[number - base] : NULL;
}

ErnicMlx5EthQueue *ernic_mlx5_sq_get(const Ernic *e, uint32_t number)
{
    return queue_get(e->mlx5_eth->sq, ERNIC_MLX5_SQN, number);
}

ErnicMlx5EthQueue *ernic_mlx5_rq_get(Ernic *e, uint32_t number)
{
    return queue_get(e->mlx5_eth->rq, ERNIC_MLX5_RQN, number);
}

ErnicMlx5Tir *ernic_mlx5_tir_get(ErnicMlx5Function *f, uint32_t number)
{
    ErnicMlx5Tir *tir = f->engine->mlx5_eth->tir;

    return number && number <= ERNIC_LIM_TIR && tir[number].used ? &tir[number] : NULL;
}

ErnicMlx5Tis *ernic_mlx5_tis_get(ErnicMlx5Function *f, uint32_t number)
{
    ErnicMlx5Tis *tis = f->engine->mlx5_eth->tis;

    return number && number <= ERNIC_LIM_TIS && tis[number].used ? &tis[number] : NULL;
}

bool ernic_mlx5_rq_used(Ernic *e, uint32_t rqn)
{
    const ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i, k;

    ernic_charge_objects(e, ERNIC_LIM_TIR + ERNIC_LIM_RQT);
    for (i = 1; i <= ERNIC_LIM_TIR; i++) {
        if (eth->tir[i].used && !eth->tir[i].indirect && eth->tir[i].queue == rqn) {
            return true;
        }
    }
    for (i = 1; i <= ERNIC_LIM_RQT; i++) {
        for (k = 0; k < eth->rqt[i].num; k++) {
            if (eth->rqt[i].rq[k] == rqn) {
                return true;
            }
        }
        ernic_charge_walk(e, eth->rqt[i].num);
    }
    return false;
}

ErnicMlx5EthQueue *ernic_mlx5_eth_queue(Ernic *e, uint32_t number)
{
    return ernic_mlx5_sq_get(e, number) ?: ernic_mlx5_rq_get(e, number);
}

/* ---- frames ------------------------------------------------------------------------ */

static ErnicMlx5Cast cast_of(const uint8_t *frame)
{
    static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

    return !(frame[0] & 1) ? ERNIC_MLX5_UNICAST :
           memcmp(frame, broadcast, sizeof(broadcast)) ? ERNIC_MLX5_MULTICAST :
                                                         ERNIC_MLX5_BROADCAST;
}

void ernic_mlx5_count_frame(ErnicMlx5Traffic *t, const uint8_t *frame, uint32_t len)
{
    ErnicMlx5Cast cast = cast_of(frame);

    t->packets[cast]++;
    t->octets[cast] += len;
}

/* ---- work -------------------------------------------------------------------------- */

static void set_bit(uint64_t *bits, uint32_t i, bool on)
{
    uint64_t bit = 1ull << i % 64;

    bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
}

/* Queues in error flush their requests if software wants that. */
static bool flushes(const ErnicMlx5EthQueue *q, bool rq)
{
    return q->state == ERNIC_MLX5_ERR &&
           (rq ? GET(q->context, rqc.flush_in_error_en) :
                 GET(q->context, sqc.flush_in_error_en));
}

void ernic_mlx5_eth_mark(Ernic *e, uint32_t number)
{
    const ErnicMlx5EthQueue *q = ernic_mlx5_eth_queue(e, number);
    bool rq = ernic_mlx5_is_rq(number);
    uint32_t i = number - (rq ? ERNIC_MLX5_RQN : ERNIC_MLX5_SQN);
    ErnicMlx5Eth *eth = e->mlx5_eth;
    bool flush = q && flushes(q, rq);

    set_bit(eth->flush[rq], i, flush && q->pi != q->ci);
    if (rq && flush && !eth->poll_due) {
        eth->poll_wait = ERNIC_FLUSH_POLL_NS;
        eth->poll_due = e->now + eth->poll_wait;
    }
    if (!rq) {
        set_bit(eth->send, i, q && q->state == ERNIC_MLX5_RDY && q->pi != q->ci);
    }
}

bool ernic_mlx5_rq_polled(const ErnicMlx5EthQueue *rq)
{
    return flushes(rq, true);
}

uint64_t ernic_mlx5_rq_poll_due(const Ernic *e)
{
    return e->mlx5_eth->poll_due ?: ERNIC_NEVER;
}

void ernic_mlx5_eth_derive(Ernic *e)
{
    uint32_t i;

    for (i = 1; i <= ERNIC_LIM_ETH_QUEUE; i++) {
        ernic_mlx5_eth_mark(e, ERNIC_MLX5_SQN + i);
        ernic_mlx5_eth_mark(e, ERNIC_MLX5_RQN + i);
    }
}
