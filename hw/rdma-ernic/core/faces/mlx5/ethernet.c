/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tables of Ethernet objects: creation, reset, and access by number.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "faces/mlx5/ethernet.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "steering/flow_tables.h"

void ernic_mlx5_eth_new(Ernic *e)
{
    e->mlx5_eth = g_new0(ErnicMlx5Eth, 1);
    e->flow_tables = g_new0(ErnicFlowTables, 1);
}

void ernic_mlx5_eth_remove(Ernic *e, ErnicMlx5EthQueue *q)
{
    e->cq[q->cq].refs--;
    e->pd[q->pd].refs--;
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
    memset(eth, 0, sizeof(*eth));
    ernic_flow_tables_reset(e->flow_tables);
}

void ernic_mlx5_eth_free(Ernic *e)
{
    if (e->mlx5_eth) {
        ernic_mlx5_eth_reset(e);
        g_clear_pointer(&e->mlx5_eth, g_free);
        g_clear_pointer(&e->flow_tables, g_free);
    }
}

static ErnicMlx5EthQueue *queue_get(ErnicMlx5EthQueue *table, uint32_t base,
                                    uint32_t number)
{
    return number > base && number - base <= ERNIC_LIM_ETH_QUEUE &&
           table[number - base].used ? &table[number - base] : NULL;
}

ErnicMlx5EthQueue *ernic_mlx5_sq_get(Ernic *e, uint32_t number)
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
