/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of shared receive queues: receive memory pools (RMP), which are those of
 * ordinary queue pairs, and those of XRC. Both share the numbers of the engine's SRQs.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/command/lists.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "transport/responder.h"

#define PAGE_SHIFT      12
#define RECORD          4

/* MLX5_RMPC_STATE_*, and MLX5_XRC_SRQC_STATE_*. */
enum { RMP_READY = 1, RMP_ERROR = 3, XRC_GOOD = 0, XRC_ERROR = 1 };

/* A new queue, as both contexts describe it. */
typedef struct Fresh {
    ErnicSrqInit init;
    ErnicMlx5List list;
    uint32_t log_size, log_stride;      /* requests, bytes */
    uint64_t record;
    uint32_t user_index;
} Fresh;

static ErnicMlx5Refusal add(Ernic *e, const ErnicMlx5Request *r, Fresh *fresh,
                            uint32_t *srqn)
{
    ErnicWq wq = { };
    ErnicMlx5Refusal refusal;
    uint8_t status;

    if (!ernic_mlx5_has_pd(e, fresh->init.pd)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    /* A slot begins with the segment that names the next one. */
    if (1u << fresh->log_size > ERNIC_MAX_WQ_DEPTH ||
        1u << fresh->log_stride < ERNIC_MLX5_SEGMENT ||
        1u << fresh->log_stride > ERNIC_MLX5_RECV_MAX || fresh->record % RECORD ||
        fresh->init.limit > 1u << fresh->log_size) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    wq.depth = 1u << fresh->log_size;
    wq.stride = 1u << fresh->log_stride;
    fresh->list.bytes = (uint64_t)wq.depth * wq.stride;
    refusal = ernic_mlx5_read_list(e, r, &fresh->list, &wq.buf);
    if (refusal) {
        return refusal;
    }
    status = ernic_srq_add(e, &fresh->init, &wq, srqn);
    if (status == ERNIC_OK) {
        *ernic_mlx5_srq(e, *srqn) = (ErnicMlx5Srq) {
            .user_index = fresh->user_index, .record = fresh->record,
        };
        memset(e->mlx5->contexts.srq[*srqn], 0, ERNIC_MLX5_SRQC);
    }
    return ernic_mlx5_refusal(status);
}

/* The SRQ of a command; @xrc: which of the two kinds. */
static ErnicSrq *find_srq(Ernic *e, uint32_t srqn, bool xrc)
{
    ErnicSrq *srq = ernic_srq_get(e, 0, srqn);

    return srq && !srq->xrcd == !xrc ? srq : NULL;
}

/* Arm the limit. The number of requests is the counter in memory less those taken. */
static ErnicMlx5Refusal arm(Ernic *e, uint32_t srqn, const ErnicSrq *srq, uint32_t limit)
{
    uint32_t record;

    if (limit > srq->wq.depth) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (srq->error) {
        return ERNIC_MLX5_BAD_STATE;
    }
    if (!e->ops->dma_read(e->env, ernic_mlx5_srq(e, srqn)->record, &record,
                          sizeof(record))) {
        return ERNIC_MLX5_DMA;
    }
    ernic_srq_set_limit(e, srqn, limit,
                        (uint16_t)(be32_to_cpu(record) - srq->wq.ci));
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- receive memory pools --------------------------------------------------------- */

static ErnicMlx5Refusal create_rmp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *rmpc = PART(r->in, create_rmp_in.ctx), *wq = PART(rmpc, rmpc.wq);
    Fresh fresh = {
        .init = { .pd = GET(wq, wq.pd), .limit = GET(wq, wq.lwm) },
        .list = {
            .at = PART(wq, wq.pas) - r->in,
            .page_shift = GET(wq, wq.log_wq_pg_sz) + PAGE_SHIFT,
            .offset = GET(wq, wq.page_offset),
        },
        .log_size = GET(wq, wq.log_wq_sz), .log_stride = GET(wq, wq.log_wq_stride),
        .record = GET(wq, wq.dbr_addr), .user_index = ERNIC_MLX5_NO_INDEX,
    };
    ErnicMlx5Refusal refusal;
    uint32_t srqn;

    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_rmpc, rmpc) ||
        !ernic_mlx5_zero_ok(ernic_mlx5_zero_wq, wq) ||
        GET(rmpc, rmpc.state) != RMP_READY) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = add(f->engine, r, &fresh, &srqn);
    if (!refusal) {
        memcpy(f->engine->mlx5->contexts.srq[srqn], rmpc, ERNIC_MLX5_SRQC);
        PUT(r->out, create_rmp_out.rmpn, srqn);
    }
    return refusal;
}

static ErnicMlx5Refusal modify_rmp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t srqn = GET(r->in, modify_rmp_in.rmpn);
    const uint8_t *rmpc = PART(r->in, modify_rmp_in.ctx), *wq = PART(rmpc, rmpc.wq);
    const ErnicSrq *srq = find_srq(f->engine, srqn, false);

    if (!srq) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (GET(r->in, modify_rmp_in.rmp_state) != RMP_READY ||
        GET(rmpc, rmpc.state) != RMP_READY) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return GET(PART(r->in, modify_rmp_in.bitmask), rmp_bitmask.lwm) ?
           arm(f->engine, srqn, srq, GET(wq, wq.lwm)) : ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal destroy_rmp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t srqn = GET(r->in, destroy_rmp_in.rmpn);

    return find_srq(f->engine, srqn, false) ?
           ernic_mlx5_refusal(ernic_srq_destroy(f->engine, 0, srqn)) :
           ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal query_rmp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t srqn = GET(r->in, query_rmp_in.rmpn);
    const ErnicSrq *srq = find_srq(f->engine, srqn, false);
    uint8_t *rmpc = PART(r->out, query_rmp_out.rmp_context), *wq = PART(rmpc, rmpc.wq);

    if (!srq) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(rmpc, f->engine->mlx5->contexts.srq[srqn], ERNIC_MLX5_SRQC);
    PUT(rmpc, rmpc.state, srq->error ? RMP_ERROR : RMP_READY);
    PUT(wq, wq.lwm, srq->limit);
    PUT(wq, wq.hw_counter, srq->wq.ci);
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- XRC ------------------------------------------------------------------------ */

static ErnicMlx5Refusal create_xrc_srq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *srqc = PART(r->in, create_xrc_srq_in.xrc_srq_context_entry);
    Fresh fresh = {
        .init = {
            .pd = GET(srqc, xrc_srqc.pd), .limit = GET(srqc, xrc_srqc.lwm),
            .xrcd = GET(srqc, xrc_srqc.xrcd), .cq = GET(srqc, xrc_srqc.cqn),
        },
        .list = {
            .at = BYTE(create_xrc_srq_in.pas),
            .page_shift = GET(srqc, xrc_srqc.log_page_size) + PAGE_SHIFT,
            .offset = GET(srqc, xrc_srqc.page_offset),
        },
        .log_size = GET(srqc, xrc_srqc.log_xrc_srq_size),
        .log_stride = GET(srqc, xrc_srqc.log_rq_stride) + 4,
        .record = (uint64_t)GET(srqc, xrc_srqc.db_record_addr_h) << 32 |
                  GET(srqc, xrc_srqc.db_record_addr_l) << 2,
        .user_index = GET(srqc, xrc_srqc.user_index),
    };
    ErnicMlx5Refusal refusal;
    uint32_t srqn;

    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_xrc_srqc, srqc) ||
        GET(r->in, create_xrc_srq_in.xrc_srq_umem_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!ernic_mlx5_has_xrcd(f->engine, fresh.init.xrcd) ||
        !ernic_cq_get(f->engine, 0, fresh.init.cq)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    refusal = add(f->engine, r, &fresh, &srqn);
    if (!refusal) {
        memcpy(f->engine->mlx5->contexts.srq[srqn], srqc,
               ernic_mlx5_xrc_srqc.self.bits / 8);
        PUT(r->out, create_xrc_srq_out.xrc_srqn, srqn);
    }
    return refusal;
}

static ErnicMlx5Refusal destroy_xrc_srq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t srqn = GET(r->in, destroy_xrc_srq_in.xrc_srqn);
    uint8_t status;

    if (!find_srq(f->engine, srqn, true)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    status = ernic_srq_destroy(f->engine, 0, srqn);
    if (status == ERNIC_OK) {
        ernic_responder_forget_srq(f->engine, srqn);
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal query_xrc_srq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t srqn = GET(r->in, query_xrc_srq_in.xrc_srqn);
    uint8_t *srqc = PART(r->out, query_xrc_srq_out.xrc_srq_context_entry);
    const ErnicSrq *srq = find_srq(f->engine, srqn, true);

    if (!srq) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(srqc, f->engine->mlx5->contexts.srq[srqn], ernic_mlx5_xrc_srqc.self.bits / 8);
    PUT(srqc, xrc_srqc.state, srq->error ? XRC_ERROR : XRC_GOOD);
    PUT(srqc, xrc_srqc.lwm, srq->limit);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal arm_xrc_srq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    enum { XRC_SRQ = 1 };
    uint32_t srqn = GET(r->in, arm_xrc_srq_in.xrc_srqn);
    const ErnicSrq *srq = find_srq(f->engine, srqn, true);

    if (r->op_mod != XRC_SRQ) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    return srq ? arm(f->engine, srqn, srq, GET(r->in, arm_xrc_srq_in.lwm)) :
                 ERNIC_MLX5_NO_OBJECT;
}

COMMANDS(srq, .needs_engine = true,
    { 0x705, "CREATE_XRC_SRQ", RUNNING, create_xrc_srq },
    { 0x706, "DESTROY_XRC_SRQ", RUNNING, destroy_xrc_srq },
    { 0x707, "QUERY_XRC_SRQ", RUNNING, query_xrc_srq },
    { 0x708, "ARM_XRC_SRQ", RUNNING, arm_xrc_srq },
    { 0x90c, "CREATE_RMP", RUNNING, create_rmp },
    { 0x90d, "MODIFY_RMP", RUNNING, modify_rmp },
    { 0x90e, "DESTROY_RMP", RUNNING, destroy_rmp },
    { 0x90f, "QUERY_RMP", RUNNING, query_rmp },
);
