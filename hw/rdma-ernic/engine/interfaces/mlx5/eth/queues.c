/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands for send and receive queues of Ethernet frames.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/mlx5/eth/send.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "trace.h"

/* wq_type: a ring. */
#define CYCLIC          1
/* The base-2 logarithm of slots of a receive queue. */
#define LOG_STRIDE_MIN  4
#define LOG_STRIDE_MAX  9
#define LOG_SIZE_MAX    15
/* Bytes of a doorbell record, of which its address is a multiple. */
#define RECORD          8

QEMU_BUILD_BUG_ON(1 << LOG_SIZE_MAX != ERNIC_MAX_WQ_DEPTH);
QEMU_BUILD_BUG_ON(sizeof_field(ErnicMlx5EthQueue, context) != 0x780 / 8);

/* ---- creation ------------------------------------------------------------------ */

/* The ring and its doorbell record; the buffer comes later. */
static ErnicMlx5Refusal take_wq(const uint8_t *wq, ErnicMlx5EthQueue *q)
{
    q->log_size = GET(wq, wq.log_wq_sz);
    q->log_stride = GET(wq, wq.log_wq_stride);
    q->record = GET(wq, wq.dbr_addr);
    q->pd = GET(wq, wq.pd);
    if (GET(wq, wq.wq_type) != CYCLIC || q->log_size > LOG_SIZE_MAX ||
        GET(wq, wq.wq_signature) || GET(wq, wq.cd_slave) ||
        GET(wq, wq.dbr_umem_valid) || GET(wq, wq.wq_umem_valid) ||
        GET(wq, wq.shampo_enable) || GET(wq, wq.two_byte_shift_en) ||
        q->record % RECORD) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* Copy the list of pages at the end of the message into the buffer of @q. */
static ErnicMlx5Refusal take_pages(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                   const uint8_t *wq, ErnicMlx5EthQueue *q)
{
    ErnicMlx5List list = {
        .at = PART(wq, wq.pas) - r->in,
        .page_shift = GET(wq, wq.log_wq_pg_sz) + ERNIC_PAGE_SHIFT_MIN,
        .offset = GET(wq, wq.page_offset),
        .bytes = 1ull << (q->log_size + q->log_stride),
    };

    return ernic_mlx5_read_list(f->engine, r, &list, &q->buf);
}

/*
 * Put @init, whose context is at @context, into @table; answer with its number, to which
 * @base is added. SQ and RQ have these fields at the same places.
 *
 * A queue without a protection domain (0) has no access to memory: Linux makes a receive
 * queue that never gets buffers, for frames while the interface is down.
 */
static ErnicMlx5Refusal add_queue(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                  const uint8_t *context, ErnicMlx5EthQueue *init,
                                  ErnicMlx5EthQueue *table, uint32_t base)
{
    ErnicMlx5Refusal refusal;
    Ernic *e = f->engine;
    uint32_t i;

    if (!ernic_cq_get(e, 0, init->cq) || (init->pd && !ernic_mlx5_has_pd(e, init->pd))) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    for (i = 1; i <= ERNIC_LIM_ETH_QUEUE && table[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_ETH_QUEUE) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    refusal = take_pages(f, r, PART(context, sqc.wq), init);
    if (refusal) {
        return refusal;
    }
    init->used = true;
    memcpy(init->context, context, sizeof(init->context));
    table[i] = *init;
    ernic_mlx5_eth_ref(e, init, 1);
    PUT(r->out, create_sq_out.sqn, base + i);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal create_sq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, create_sq_in.ctx);
    ErnicMlx5EthQueue q = { .cq = GET(context, sqc.cqn) };
    ErnicMlx5Refusal refusal = take_wq(PART(context, sqc.wq), &q);

    if (refusal) {
        return refusal;
    }
    if (GET(context, sqc.state) != ERNIC_MLX5_RST ||
        q.log_stride != ERNIC_MLX5_LOG_BLOCK ||
        GET(context, sqc.hairpin) || GET(context, sqc.allow_swp) ||
        GET(context, sqc.reg_umr) || GET(context, sqc.cd_master) ||
        GET(context, sqc.allow_multi_pkt_send_wqe) || GET(context, sqc.non_wire) ||
        GET(context, sqc.packet_pacing_rate_limit_index) ||
        GET(context, sqc.tis_lst_sz) > 1) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    /* Without a TIS it sends no frames; Linux has such queues, which cause interrupts. */
    if (GET(context, sqc.tis_lst_sz) &&
        !ernic_mlx5_tis_get(f, GET(context, sqc.tis_num_0))) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    refusal = add_queue(f, r, context, &q, f->engine->mlx5_eth->sq, ERNIC_MLX5_SQN);
    if (!refusal) {
        uint32_t sqn = GET(r->out, create_sq_out.sqn);

        trace_ernic_mlx5_sq_create(sqn, q.cq, 1u << q.log_size);
        ernic_db_page_add(f->engine, ernic_mlx5_sq_page(f->engine, sqn), sqn);
    }
    return refusal;
}

static ErnicMlx5Refusal create_rq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, create_rq_in.ctx);
    ErnicMlx5EthQueue q = { .cq = GET(context, rqc.cqn) };
    ErnicMlx5Refusal refusal = take_wq(PART(context, rqc.wq), &q);

    if (refusal) {
        return refusal;
    }
    /* Its own ring (mem_rq_type 0), and frames without their FCS. */
    if (GET(context, rqc.state) != ERNIC_MLX5_RST || q.log_stride < LOG_STRIDE_MIN ||
        q.log_stride > LOG_STRIDE_MAX || GET(context, rqc.mem_rq_type) ||
        GET(context, rqc.hairpin) || GET(context, rqc.scatter_fcs) ||
        GET(context, rqc.delay_drop_en)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = add_queue(f, r, context, &q, f->engine->mlx5_eth->rq, ERNIC_MLX5_RQN);
    if (!refusal) {
        trace_ernic_mlx5_rq_create(GET(r->out, create_rq_out.rqn), q.cq,
                                   1u << q.log_size);
    }
    return refusal;
}

/* ---- state --------------------------------------------------------------------- */

/* Change the state of @q from @from, as software believes, to @to. */
static ErnicMlx5Refusal change_state(ErnicMlx5EthQueue *q, uint32_t from, uint32_t to)
{
    /* The states that may follow each state, as bits. */
    static const uint8_t next[] = {
        [ERNIC_MLX5_RST] = 1 << ERNIC_MLX5_RST | 1 << ERNIC_MLX5_RDY,
        [ERNIC_MLX5_RDY] = 1 << ERNIC_MLX5_RDY | 1 << ERNIC_MLX5_ERR |
                           1 << ERNIC_MLX5_RST,
        [ERNIC_MLX5_ERR] = 1 << ERNIC_MLX5_ERR | 1 << ERNIC_MLX5_RST,
    };

    if (from != q->state || to > ERNIC_MLX5_ERR || !(next[from] & 1 << to)) {
        return ERNIC_MLX5_BAD_STATE;
    }
    q->state = to;
    if (to == ERNIC_MLX5_RST) {
        q->pi = q->ci = 0;
        q->sent = 0;
    }
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_sq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { PACING = 1 };
    const uint8_t *context = PART(r->in, modify_sq_in.ctx);
    uint32_t sqn = GET(r->in, modify_sq_in.sqn);
    uint32_t from = GET(r->in, modify_sq_in.sq_state);
    ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(f->engine, sqn);
    ErnicMlx5Refusal refusal;

    if (!q) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if ((GET(r->in, modify_sq_in.modify_bitmask) & ~PACING) ||
        GET(context, sqc.packet_pacing_rate_limit_index)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    refusal = change_state(q, from, GET(context, sqc.state));
    if (!refusal) {
        trace_ernic_mlx5_queue_state(sqn, q->state);
        if (from == ERNIC_MLX5_RST && q->state == ERNIC_MLX5_RDY) {
            ernic_mlx5_eth_ready(f->engine, q);
        }
        ernic_mlx5_eth_mark(f->engine, sqn);
    }
    return refusal;
}

static ErnicMlx5Refusal modify_rq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { VSD = 2, COUNTER_SET = 8 };
    const uint8_t *context = PART(r->in, modify_rq_in.ctx);
    uint64_t select = GET(r->in, modify_rq_in.modify_bitmask);
    uint32_t rqn = GET(r->in, modify_rq_in.rqn);
    ErnicMlx5EthQueue *q = ernic_mlx5_rq_get(f->engine, rqn);
    ErnicMlx5Refusal refusal;

    if (!q) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (select & ~(uint64_t)(VSD | COUNTER_SET)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    refusal = change_state(q, GET(r->in, modify_rq_in.rq_state),
                           GET(context, rqc.state));
    if (refusal) {
        return refusal;
    }
    if (select & VSD) {
        PUT(q->context, rqc.vsd, GET(context, rqc.vsd));
    }
    if (select & COUNTER_SET) {
        PUT(q->context, rqc.counter_set_id, GET(context, rqc.counter_set_id));
    }
    if (q->state == ERNIC_MLX5_ERR) {
        ernic_mlx5_rq_error(f->engine, rqn, q);
    } else {
        trace_ernic_mlx5_queue_state(rqn, q->state);
        ernic_mlx5_eth_mark(f->engine, rqn);
    }
    return ERNIC_MLX5_ACCEPTED;
}

bool ernic_mlx5_eth_queue_ok(const ErnicMlx5EthQueue *q)
{
    if (q->state != ERNIC_MLX5_RST && q->state != ERNIC_MLX5_RDY &&
        q->state != ERNIC_MLX5_ERR) {
        return false;
    }
    return q->log_size <= LOG_SIZE_MAX && q->log_stride >= LOG_STRIDE_MIN &&
           q->log_stride <= LOG_STRIDE_MAX && q->record % RECORD == 0 &&
           (uint16_t)(q->pi - q->ci) <= 1u << q->log_size &&
           (q->state != ERNIC_MLX5_RST || (!q->pi && !q->ci));
}

/* ---- query and destruction ------------------------------------------------------ */

/* The context of @q, or of no queue. */
static ErnicMlx5Refusal query(const ErnicMlx5EthQueue *q, const ErnicMlx5Request *r)
{
    uint8_t *context = PART(r->out, query_sq_out.sq_context), *wq = PART(context, sqc.wq);

    if (!q) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(context, q->context, sizeof(q->context));
    PUT(context, sqc.state, q->state);
    PUT(wq, wq.hw_counter, q->ci);
    PUT(wq, wq.sw_counter, q->pi);
    return ERNIC_MLX5_ACCEPTED;
}

HANDLER(query_sq, query(ernic_mlx5_sq_get(f->engine, GET(r->in, query_sq_in.sqn)), r))

HANDLER(query_rq, query(ernic_mlx5_rq_get(f->engine, GET(r->in, query_rq_in.rqn)), r))

/* Destroy @q of that number, or no queue. */
static ErnicMlx5Refusal destroy(Ernic *e, ErnicMlx5EthQueue *q, uint32_t number)
{
    if (!q) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    ernic_mlx5_eth_remove(e, q);
    ernic_mlx5_eth_mark(e, number);
    trace_ernic_mlx5_queue_destroy(number);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal destroy_sq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t sqn = GET(r->in, destroy_sq_in.sqn);
    uint32_t page = ernic_mlx5_sq_page(f->engine, sqn);
    ErnicMlx5Refusal refusal = destroy(f->engine, ernic_mlx5_sq_get(f->engine, sqn), sqn);

    if (!refusal) {
        ernic_db_page_remove(f->engine, page, sqn);
    }
    return refusal;
}

static ErnicMlx5Refusal destroy_rq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t rqn = GET(r->in, destroy_rq_in.rqn);
    ErnicMlx5EthQueue *q = ernic_mlx5_rq_get(f->engine, rqn);

    return q && ernic_mlx5_rq_used(f->engine, rqn) ? ERNIC_MLX5_BUSY :
           destroy(f->engine, q, rqn);
}

COMMANDS(eth_queue, .needs_engine = true,
    { 0x904, "CREATE_SQ", RUNNING, create_sq },
    { 0x905, "MODIFY_SQ", RUNNING, modify_sq },
    { 0x906, "DESTROY_SQ", RUNNING, destroy_sq },
    { 0x907, "QUERY_SQ", RUNNING, query_sq },
    { 0x908, "CREATE_RQ", RUNNING, create_rq },
    { 0x909, "MODIFY_RQ", RUNNING, modify_rq },
    { 0x90a, "DESTROY_RQ", RUNNING, destroy_rq },
    { 0x90b, "QUERY_RQ", RUNNING, query_rq },
);
