/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of queue pairs. Each transition has a command of its own; what it needs is in
 * qp_context.c.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/mlx5/rdma/qp_context.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "transport/qp_create.h"
#include "transport/qp_modify.h"
#include "transport/qp_transitions.h"

#define PAGE_SHIFT      12
#define RECORD          8
#define PORT            1

/* MLX5_QP_ST_*: the services that the function has. XRC has two types. */
enum { ST_XRC = 3, ST_REG_UMR = 0xc };
/*
 * A queue pair for memory registration executes local operations only. It has no peer,
 * so that its transitions are those of UD.
 */
static const struct {
    uint8_t st, type;
} services[] = {
    { 0x0, ERNIC_QPT_RC }, { 0x1, ERNIC_QPT_UC }, { 0x2, ERNIC_QPT_UD },
    { ST_XRC, ERNIC_QPT_XRC_INI }, { 0x8, ERNIC_QPT_GSI },
    { ST_REG_UMR, ERNIC_QPT_UD },
};

/* MLX5_NON_ZERO_RQ, MLX5_SRQ_RQ, MLX5_ZERO_LEN_RQ. */
enum { RQ_OWN = 0, RQ_SHARED = 1, RQ_NONE = 3 };

/* The geometry of a queue pair: the receive ring comes first in its buffer. */
typedef struct Rings {
    ErnicWq sq, rq;
    uint32_t sq_offset;
} Rings;

static bool find_type(const uint8_t *qpc, uint8_t *type)
{
    uint32_t st = GET(qpc, qpc.st), i;

    for (i = 0; i < ARRAY_SIZE(services); i++) {
        if (services[i].st == st) {
            *type = st == ST_XRC && GET(qpc, qpc.no_sq) ? ERNIC_QPT_XRC_TGT :
                                                         services[i].type;
            return true;
        }
    }
    return false;
}

/* There is no shared receive queue, or it exists. Those of XRC are not for these. */
static bool srq_fits(Ernic *e, const uint8_t *qpc, uint32_t srq)
{
    return GET(qpc, qpc.rq_type) != RQ_SHARED ||
           (ernic_srq_get(e, 0, srq) && !e->srq[srq].xrcd);
}

/* A driver gives the domain of a REG_UMR queue pair with its first transition. */
static bool pd_fits(const Ernic *e, const uint8_t *qpc, uint32_t pd)
{
    return ernic_mlx5_has_pd(e, pd) || (GET(qpc, qpc.st) == ST_REG_UMR && !pd);
}

/* The objects that the new queue pair uses; false: one of them does not exist. */
static bool find_objects(Ernic *e, const uint8_t *qpc, ErnicQpInit *init)
{
    bool target = init->type == ERNIC_QPT_XRC_TGT;
    bool xrc = target || init->type == ERNIC_QPT_XRC_INI;
    uint32_t srq = GET(qpc, qpc.srqn_rmpn_xrqn);

    init->pd = target ? GET(qpc, qpc.xrcd) : GET(qpc, qpc.pd);
    init->send_cq = target ? 0 : GET(qpc, qpc.cqn_snd);
    init->recv_cq = xrc ? 0 : GET(qpc, qpc.cqn_rcv);
    init->srq = !xrc && GET(qpc, qpc.rq_type) == RQ_SHARED ? srq : 0;
    if (target) {
        return ernic_mlx5_has_xrcd(e, init->pd);
    }
    return pd_fits(e, qpc, init->pd) && ernic_cq_get(e, 0, init->send_cq) &&
           (xrc || (ernic_cq_get(e, 0, init->recv_cq) && srq_fits(e, qpc, srq)));
}

static ErnicMlx5Refusal read_rings(Ernic *e, const ErnicMlx5Request *r,
                                   const uint8_t *qpc, uint8_t type, Rings *rings)
{
    ErnicMlx5List list = {
        .at = BYTE(create_qp_in.pas),
        .page_shift = GET(qpc, qpc.log_page_size) + PAGE_SHIFT,
        .offset = GET(qpc, qpc.page_offset),
    };
    uint32_t rq_type = GET(qpc, qpc.rq_type);

    memset(rings, 0, sizeof(*rings));
    if (rq_type != RQ_OWN && rq_type != RQ_SHARED && rq_type != RQ_NONE) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!GET(qpc, qpc.no_sq)) {
        rings->sq.depth = 1u << GET(qpc, qpc.log_sq_size);
        rings->sq.stride = ERNIC_MLX5_BLOCK;
    }
    if (rq_type == RQ_OWN && type != ERNIC_QPT_XRC_INI && type != ERNIC_QPT_XRC_TGT) {
        rings->rq.depth = 1u << GET(qpc, qpc.log_rq_size);
        rings->rq.stride = 16u << GET(qpc, qpc.log_rq_stride);
    }
    if (rings->rq.stride > ERNIC_MLX5_RECV_MAX) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    rings->sq_offset = rings->rq.depth * rings->rq.stride;
    list.bytes = rings->sq_offset + (uint64_t)rings->sq.depth * ERNIC_MLX5_BLOCK;
    return ernic_mlx5_read_list(e, r, &list, &rings->sq.buf);
}

static ErnicMlx5Refusal create_qp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *qpc = PART(r->in, create_qp_in.qpc);
    uint64_t record = GET(qpc, qpc.dbr_addr);
    /* Without a send queue there is no doorbell; the number can be anything. */
    uint32_t uar = GET(qpc, qpc.no_sq) ? 0 : GET(qpc, qpc.uar_page), qpn;
    Ernic *e = f->engine;
    ErnicQpInit init = { };
    ErnicMlx5Refusal refusal;
    uint8_t status;
    Rings rings;

    if (!ernic_mlx5_zero_ok(ernic_mlx5_zero_qpc, qpc) ||
        !find_type(qpc, &init.type) || record % RECORD ||
        GET(r->in, create_qp_in.qpc_ext) || GET(r->in, create_qp_in.input_qpn) ||
        GET(r->in, create_qp_in.wq_umem_valid)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!find_objects(e, qpc, &init)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (!GET(qpc, qpc.no_sq) && !ernic_mlx5_has_uar(f, uar)) {
        return ERNIC_MLX5_BAD_UAR;
    }
    refusal = read_rings(e, r, qpc, init.type, &rings);
    if (refusal) {
        return refusal;
    }
    status = ernic_qp_add(e, &init, &rings.sq, &rings.rq, &qpn);
    if (status == ERNIC_OK) {
        *ernic_mlx5_qp(e, qpn) = (ErnicMlx5Qp) {
            .uar = uar, .user_index = GET(qpc, qpc.user_index), .record = record,
            .sq_offset = rings.sq_offset, .fast_register = GET(qpc, qpc.fre),
            .umr = GET(qpc, qpc.st) == ST_REG_UMR,
        };
        memcpy(e->mlx5->contexts.qp[qpn], qpc, ERNIC_MLX5_QPC);
        PUT(r->out, create_qp_out.qpn, qpn);
        ernic_db_page_add(e, ernic_mlx5_qp_page(e, qpn), qpn);
    }
    return ernic_mlx5_refusal(status);
}

/* Queue pairs that CREATE_QP made: others belong to Ethernet queues. */
static ErnicQp *find_qp(Ernic *e, uint32_t qpn)
{
    ErnicQp *qp = ernic_qp_get(e, 0, qpn);

    return qp && qp->transport != ERNIC_RAW ? qp : NULL;
}

static ErnicMlx5Refusal destroy_qp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t qpn = GET(r->in, destroy_qp_in.qpn), page;
    ErnicQp *qp = find_qp(f->engine, qpn);
    uint8_t status;

    if (!qp) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    page = ernic_mlx5_qp_page(f->engine, qpn);
    status = ernic_qp_remove(f->engine, qp);
    if (status == ERNIC_OK) {
        ernic_db_page_remove(f->engine, page, qpn);
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal query_qp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const ErnicQp *qp = find_qp(f->engine, GET(r->in, query_qp_in.qpn));
    uint8_t *qpc = PART(r->out, query_qp_out.qpc);
    uint32_t pd;

    if (GET(r->in, query_qp_in.qpc_ext)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!qp) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    memcpy(qpc, f->engine->mlx5->contexts.qp[qp->qpn], ERNIC_MLX5_QPC);
    pd = GET(qpc, qpc.pd);
    ernic_mlx5_attr_store(qpc, qp);
    if (qp->type == ERNIC_QPT_XRC_TGT) {
        PUT(qpc, qpc.pd, pd);           /* the engine's is the domain */
    }
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- transitions ----------------------------------------------------------------- */

#define ANY     ERNIC_QPS_COUNT

/* All messages have the same layout up to the context. */
static const struct {
    uint16_t opcode;
    uint8_t from, to;
} transitions[] = {
    { 0x502, ERNIC_QPS_RESET, ERNIC_QPS_INIT },
    { 0x503, ERNIC_QPS_INIT, ERNIC_QPS_RTR },
    { 0x504, ERNIC_QPS_RTR, ERNIC_QPS_RTS },
    { 0x505, ERNIC_QPS_RTS, ERNIC_QPS_RTS },
    { 0x506, ERNIC_QPS_SQE, ERNIC_QPS_RTS },
    { 0x507, ANY, ERNIC_QPS_ERR },
    { 0x50a, ANY, ERNIC_QPS_RESET },
    { 0x50c, ERNIC_QPS_SQD, ERNIC_QPS_RTS },
    { 0x50e, ERNIC_QPS_INIT, ERNIC_QPS_INIT },
};

/* The counter of the first transition, or of one that names it. */
static ErnicMlx5Refusal find_counter(const Ernic *e, const ErnicQp *qp,
                                     const uint8_t *qpc, bool named, uint32_t *counter)
{
    bool change = named || qp->state == ERNIC_QPS_RESET;

    *counter = change ? GET(qpc, qpc.counter_set_id) : qp->counter;
    return ernic_counter_get(e, *counter) ? ERNIC_MLX5_ACCEPTED : ERNIC_MLX5_NO_OBJECT;
}

/* A REG_UMR queue pair that has no domain gets that of the message. */
static ErnicMlx5Refusal find_domain(const Ernic *e, const ErnicQp *qp,
                                    const uint8_t *qpc, uint32_t *pd)
{
    *pd = qp->pd ?: GET(qpc, qpc.pd);
    return qp->pd || ernic_mlx5_has_pd(e, *pd) ? ERNIC_MLX5_ACCEPTED :
                                                ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal change(Ernic *e, ErnicQp *qp, const uint8_t *in, uint8_t to)
{
    const uint8_t *qpc = PART(in, rst2init_qp_in.qpc);
    bool up = to != ERNIC_QPS_RESET && to != ERNIC_QPS_ERR, named = false;
    uint32_t optional = up ? GET(in, rst2init_qp_in.opt_param_mask) : 0;
    uint32_t mask, counter = qp->counter, pd = qp->pd;
    ErnicQpAttr attr;
    ErnicMlx5Refusal refusal = ERNIC_MLX5_ACCEPTED;
    uint8_t status;

    if (up && !ernic_mlx5_zero_ok(ernic_mlx5_zero_qpc, qpc)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!ernic_mlx5_attr_mask(qp, to, optional, &mask, &named)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    ernic_mlx5_attr_load(qpc, qp, to, optional, &attr);
    status = ernic_qp_modify_check(e, qp, to, mask, &attr);
    if (status) {
        return ernic_mlx5_refusal(status);
    }
    if ((mask & ERNIC_QPA_PORT) && ernic_mlx5_attr_port(qpc) != PORT) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = up ? find_counter(e, qp, qpc, named, &counter) : refusal;
    refusal = up && !refusal ? find_domain(e, qp, qpc, &pd) : refusal;
    if (refusal) {
        return refusal;
    }
    if (counter != qp->counter) {
        ernic_counter_bind(e, qp->qpn, counter);
    }
    ernic_qp_set_pd(e, qp, pd);
    ernic_qp_change(e, qp, to, mask, &attr);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_qp(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint16_t opcode = GET(r->in, rst2init_qp_in.opcode);
    ErnicQp *qp = find_qp(f->engine, GET(r->in, rst2init_qp_in.qpn));
    uint32_t required, allowed, i;

    if (!qp) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    for (i = 0; transitions[i].opcode != opcode; i++) {
        g_assert(i + 1 < ARRAY_SIZE(transitions));      /* rows[] has no other opcode */
    }
    if ((transitions[i].from != ANY && transitions[i].from != qp->state) ||
        !ernic_qp_edge(qp->type, qp->state, transitions[i].to, &required, &allowed)) {
        return ERNIC_MLX5_BAD_STATE;
    }
    return change(f->engine, qp, r->in, transitions[i].to);
}

COMMANDS(qp, .needs_engine = true,
    { 0x500, "CREATE_QP", RUNNING, create_qp },
    { 0x501, "DESTROY_QP", RUNNING, destroy_qp },
    { 0x502, "RST2INIT_QP", RUNNING, modify_qp },
    { 0x503, "INIT2RTR_QP", RUNNING, modify_qp },
    { 0x504, "RTR2RTS_QP", RUNNING, modify_qp },
    { 0x505, "RTS2RTS_QP", RUNNING, modify_qp },
    { 0x506, "SQERR2RTS_QP", RUNNING, modify_qp },
    { 0x507, "2ERR_QP", RUNNING, modify_qp },
    { 0x50a, "2RST_QP", RUNNING, modify_qp },
    { 0x50b, "QUERY_QP", RUNNING, query_qp },
    { 0x50c, "SQD_RTS_QP", RUNNING, modify_qp },
    { 0x50e, "INIT2INIT_QP", RUNNING, modify_qp },
);
