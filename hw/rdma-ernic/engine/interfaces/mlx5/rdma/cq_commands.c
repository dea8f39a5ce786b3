/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of completion queues.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/command/lists.h"
#include "objects/cq.h"
#include "objects/eq.h"

/* log_page_size counts from pages of 4096 bytes. */
#define PAGE_SHIFT      12
/* Bytes of a doorbell record. */
#define RECORD          8

/* op_mod of MODIFY_CQ. */
enum { MODIFY, RESIZE };
/* MLX5_CQ_MODIFY_*. */
enum { SELECT_PERIOD = 1, SELECT_COUNT = 2 };
/* MLX5_MODIFY_CQ_MASK_*. */
enum { SELECT_SIZE = 1, SELECT_OFFSET = 2, SELECT_PAGE = 4 };

/* CQE_STRIDE_*: entries of 128 bytes have the usual 64 at their end. */
enum { STRIDE_64, STRIDE_128 };

static uint8_t lead_of(const uint8_t *cqc)
{
    return GET(cqc, cqc.cqe_sz) == STRIDE_128 ? ERNIC_CQ_ENTRY : 0;
}

/* The ring that @cqc describes, with its list at byte @at of the message. */
static ErnicMlx5Refusal read_ring(Ernic *e, const ErnicMlx5Request *r,
                                  const uint8_t *cqc, uint32_t at, ErnicBuf *buf)
{
    uint32_t log_size = GET(cqc, cqc.log_cq_size);
    ErnicMlx5List list = {
        .at = at, .page_shift = GET(cqc, cqc.log_page_size) + PAGE_SHIFT,
        .offset = GET(cqc, cqc.page_offset),
        .bytes = (uint64_t)(lead_of(cqc) + ERNIC_MLX5_CQE) << log_size,
    };

    if (GET(cqc, cqc.cqe_sz) > STRIDE_128 || 1u << log_size > ERNIC_MAX_CQ_DEPTH) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    return ernic_mlx5_read_list(e, r, &list, buf);
}

static bool find_eq(const Ernic *e, uint32_t eq)
{
    return eq < e->cfg.max_eq && e->eq[eq].used;
}

static ErnicMlx5Refusal create_cq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *cqc = PART(r->in, create_cq_in.cq_context);
    ErnicCqInit init = {
        .eq = GET(cqc, cqc.c_eqn_or_apu_element),
        .depth = 1u << GET(cqc, cqc.log_cq_size), .ci_addr = GET(cqc, cqc.dbr_addr),
        .overwrites = GET(cqc, cqc.oi), .lead = lead_of(cqc),
    };
    uint32_t uar = GET(cqc, cqc.uar_page), cqn;
    Ernic *e = f->engine;
    ErnicMlx5Refusal refusal;
    uint8_t status;
    ErnicBuf buf;

    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_cqc, cqc) || init.ci_addr % RECORD ||
        GET(r->in, create_cq_in.cq_umem_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!find_eq(e, init.eq)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (!ernic_mlx5_has_uar(f, uar)) {
        return ERNIC_MLX5_BAD_UAR;
    }
    refusal = read_ring(e, r, cqc, BYTE(create_cq_in.pas), &buf);
    if (refusal) {
        return refusal;
    }
    status = ernic_cq_add(e, &init, &buf, &cqn);
    if (status == ERNIC_OK) {
        *ernic_mlx5_cq(e, cqn) = (ErnicMlx5Cq) {
            .uar = uar, .arm_number = ERNIC_MLX5_NOT_ARMED,
        };
        memcpy(e->mlx5->contexts.cq[cqn], cqc, ERNIC_MLX5_CQC);
        ernic_cq_set_moderation(e, cqn, GET(cqc, cqc.cq_max_count),
                                GET(cqc, cqc.cq_period));
        PUT(r->out, create_cq_out.cqn, cqn);
    }
    return ernic_mlx5_refusal(status);
}

HANDLER(destroy_cq,
        ernic_mlx5_refusal(ernic_cq_destroy(f->engine, 0, GET(r->in, destroy_cq_in.cqn))))

static ErnicMlx5Refusal query_cq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    /* MLX5_CQC_STATUS and st: armed for any completion, for solicited ones, fired. */
    enum { STATUS_OVERFLOW = 9, ARMED = 9, ARMED_SOLICITED = 6, FIRED = 10 };
    uint32_t cqn = GET(r->in, query_cq_in.cqn);
    uint8_t *cqc = PART(r->out, query_cq_out.cq_context);
    const ErnicCq *cq = ernic_cq_get(f->engine, 0, cqn);

    if (!cq) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(cqc, f->engine->mlx5->contexts.cq[cqn], ERNIC_MLX5_CQC);
    PUT(cqc, cqc.status, cq->overrun ? STATUS_OVERFLOW : 0);
    PUT(cqc, cqc.st, cq->arm == ERNIC_CQ_ARMED_ANY ? ARMED :
                     cq->arm == ERNIC_CQ_ARMED_SOLICITED ? ARMED_SOLICITED : FIRED);
    PUT(cqc, cqc.cq_period, cq->mod_period_us);
    PUT(cqc, cqc.cq_max_count, cq->mod_count);
    PUT(cqc, cqc.consumer_counter, cq->ci);
    PUT(cqc, cqc.producer_counter, cq->pi);
    PUT(cqc, cqc.last_solicit_index, cq->sol_pi);
    PUT(cqc, cqc.last_notified_index, cq->notified);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal set_moderation(Ernic *e, const ErnicMlx5Request *r,
                                       uint32_t cqn, const ErnicCq *cq)
{
    uint32_t select = GET(r->in, modify_cq_in.modify_field_select_resize_field_select);
    const uint8_t *cqc = PART(r->in, modify_cq_in.cq_context);

    if (select & ~(SELECT_PERIOD | SELECT_COUNT)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    ernic_cq_set_moderation(e, cqn,
                            select & SELECT_COUNT ? GET(cqc, cqc.cq_max_count) :
                                                    cq->mod_count,
                            select & SELECT_PERIOD ? GET(cqc, cqc.cq_period) :
                                                     cq->mod_period_us);
    return ERNIC_MLX5_ACCEPTED;
}

/*
 * The entry that reports the new ring is the last one in the old ring. Software copies
 * those that it has not read to the new one, which has to have room for all.
 */
static ErnicMlx5Refusal resize(Ernic *e, const ErnicMlx5Request *r, uint32_t cqn)
{
    uint32_t select = GET(r->in, modify_cq_in.modify_field_select_resize_field_select);
    uint32_t depth = 1u << GET(PART(r->in, modify_cq_in.cq_context), cqc.log_cq_size);
    const uint8_t *cqc = PART(r->in, modify_cq_in.cq_context);
    uint8_t *stored = e->mlx5->contexts.cq[cqn];
    ErnicMlx5Refusal refusal;
    ErnicBuf buf;

    if (select != (SELECT_SIZE | SELECT_OFFSET | SELECT_PAGE)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_cqc, cqc) ||
        GET(r->in, modify_cq_in.cq_umem_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = read_ring(e, r, cqc, BYTE(modify_cq_in.pas), &buf);
    if (refusal) {
        return refusal;
    }
    if (!ernic_cq_has_room(e, cqn, MIN(depth, e->cq[cqn].depth)) ||
        !ernic_mlx5_cqe_resize(e, cqn)) {
        ernic_buf_fini(e, &buf);
        return ERNIC_MLX5_BAD_STATE;
    }
    ernic_cq_set_ring(e, cqn, &buf, depth, lead_of(cqc));
    PUT(stored, cqc.cqe_sz, GET(cqc, cqc.cqe_sz));
    PUT(stored, cqc.log_cq_size, GET(cqc, cqc.log_cq_size));
    PUT(stored, cqc.page_offset, GET(cqc, cqc.page_offset));
    PUT(stored, cqc.log_page_size, GET(cqc, cqc.log_page_size));
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_cq(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t cqn = GET(r->in, modify_cq_in.cqn);
    ErnicCq *cq = ernic_cq_get(f->engine, 0, cqn);

    if (r->op_mod > RESIZE) {
        return ERNIC_MLX5_BAD_MODIFIER;
    }
    if (!cq) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    return r->op_mod == RESIZE ? resize(f->engine, r, cqn) :
                                 set_moderation(f->engine, r, cqn, cq);
}

COMMANDS(cq, .needs_engine = true,
    { 0x400, "CREATE_CQ", RUNNING, create_cq },
    { 0x401, "DESTROY_CQ", RUNNING, destroy_cq },
    { 0x402, "QUERY_CQ", RUNNING, query_cq },
    { 0x403, "MODIFY_CQ", RUNNING, modify_cq },
);
