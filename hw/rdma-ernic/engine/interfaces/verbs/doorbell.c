/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells of the verbs interface: one function per kind finds the queue, checks owner,
 * state and range, and stores the counter. The work itself is done later. Of a queue with
 * a record, the counter is in the record, and that of the doorbell may be older.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/verbs/doorbell.h"
#include "interfaces/verbs/records.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "timing/timing.h"
#include "trace.h"
#include "transport/qp_transitions.h"
#include "transport/sched.h"

#define CACHE_LINE  64

/*
 * Prefetch the data for the next turn of a queue pair while other doorbells are
 * handled: with thousands of queue pairs, none is in a cache. Always inline, because
 * gcc removes calls of a function that only prefetches.
 */
static inline void __attribute__((always_inline))
db_prefetch(ErnicQp *qp, uint32_t index)
{
    const uint8_t *wqe = (const uint8_t *)ernic_sq_slot(qp, index);
    uint32_t i;

    for (i = 0; i < offsetof(ErnicQp, events); i += CACHE_LINE) {
        __builtin_prefetch((const uint8_t *)qp + i, 1);
    }
    for (i = 0; i < offsetof(ErnicWqe, sge); i += CACHE_LINE) {
        __builtin_prefetch(wqe + i, 1);
    }
}

static uint8_t db_sq(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t qpn,
                     uint32_t index)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint32_t before;
    uint8_t status;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    if (qp->sq.wq.record && ernic_qp_may(qp, ERNIC_MAY_POST_SEND)) {
        db_prefetch(qp, qp->sq.taken);
        ernic_verbs_rung(e, qp);
        return ERNIC_OK;
    }
    before = qp->sq.wq.pi;
    status = ernic_qp_may(qp, ERNIC_MAY_POST_SEND) ?
        ernic_wq_produce(&qp->sq.wq, qp->sq.wq.ci, index) : ERNIC_ERR_STATE;
    if (status) {
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_QP, qpn, &qp->events,
                          ERNIC_EV_BAD_DOORBELL, ERNIC_DB_SQ);
        return status;
    }
    ernic_timing_posted(e, qpn, before, index);
    db_prefetch(qp, index - 1);
    ernic_sched_mark(e, qp);
    return ERNIC_OK;
}

static uint8_t db_rq(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t qpn,
                     uint32_t index)
{
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint8_t status;

    if (!qp) {
        return ERNIC_ERR_HANDLE;
    }
    status = !ernic_qp_may(qp, ERNIC_MAY_POST_RECV) || qp->srq ? ERNIC_ERR_STATE :
        qp->rq.wq.record ? ERNIC_OK :
        ernic_wq_produce(&qp->rq.wq, qp->rq.wq.ci, index);
    if (status) {
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_QP, qpn, &qp->events,
                          ERNIC_EV_BAD_DOORBELL, ERNIC_DB_RQ);
        return status;
    }
    if (ernic_qp_may(qp, ERNIC_MAY_FLUSH_RECV)) {
        ernic_sched_mark(e, qp);
    }
    return ERNIC_OK;
}

static uint8_t db_srq(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t srqn,
                      uint32_t index)
{
    ErnicSrq *srq = ernic_srq_get(e, uctx, srqn);
    uint8_t status;

    if (!srq) {
        return ERNIC_ERR_HANDLE;
    }
    status = srq->wq.record ? ERNIC_OK :
                              ernic_wq_produce(&srq->wq, srq->wq.ci, index);
    if (status) {
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_SRQ, srqn, &srq->events,
                          ERNIC_EV_BAD_DOORBELL, ERNIC_DB_SRQ);
    }
    return status;
}

/* A consumer index, or a request to notify: @kind. */
static uint8_t db_cq(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t cqn,
                     uint32_t index)
{
    ErnicCq *cq = ernic_cq_get(e, uctx, cqn);
    uint8_t status;

    if (!cq) {
        return ERNIC_ERR_HANDLE;
    }
    status = kind == ERNIC_DB_CQ ? ernic_cq_consume(e, cqn, index) :
             ernic_cq_arm(e, cqn, index, kind == ERNIC_DB_CQ_ARM_SOLICITED);
    if (status) {
        ernic_event_raise(e, ernic_cq_event_queue(e, cq), ERNIC_EVC_CQ, cqn,
                          &cq->events, ERNIC_EV_BAD_DOORBELL, kind);
    }
    return status;
}

static uint8_t db_eq(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t eqn,
                     uint32_t index)
{
    if (eqn >= e->cfg.max_eq || !e->eq[eqn].used || e->eq[eqn].uctx != uctx) {
        return ERNIC_ERR_HANDLE;
    }
    return ernic_eq_consume(e, eqn, index);
}

typedef uint8_t DoorbellFn(Ernic *e, uint32_t uctx, uint32_t kind, uint32_t queue,
                           uint32_t index);

static const struct {
    const char *name;
    DoorbellFn *fn;
} doorbells[] = {
    [ERNIC_DB_SQ] = { "sq", db_sq },
    [ERNIC_DB_RQ] = { "rq", db_rq },
    [ERNIC_DB_SRQ] = { "srq", db_srq },
    [ERNIC_DB_CQ] = { "cq", db_cq },
    [ERNIC_DB_CQ_ARM] = { "cq-arm", db_cq },
    [ERNIC_DB_CQ_ARM_SOLICITED] = { "cq-arm-solicited", db_cq },
    [ERNIC_DB_EQ] = { "eq", db_eq },
};
QEMU_BUILD_BUG_ON(G_N_ELEMENTS(doorbells) != ERNIC_DB_KIND_COUNT);

static uint8_t refused(Ernic *e, uint32_t uctx, uint64_t value, uint8_t status)
{
    uint32_t kind = value >> 56 & 0xf;

    e->stats.bad_doorbells++;
    trace_ernic_bad_doorbell(
        kind < ERNIC_DB_KIND_COUNT ? doorbells[kind].name : "reserved",
        uctx, value >> 32 & 0xffffff, (uint32_t)value, status);
    return status;
}

uint8_t ernic_doorbell_exec(Ernic *e, uint32_t uctx, uint64_t value)
{
    uint32_t kind = value >> 56 & 0xf;
    uint32_t queue = value >> 32 & 0xffffff;
    uint8_t status = ERNIC_ERR_RESERVED;

    ernic_charge(e, ERNIC_WORK_DOORBELL);
    if (value >> 60 == 0 && kind < ERNIC_DB_KIND_COUNT) {
        status = doorbells[kind].fn(e, uctx, kind, queue, value);
    }
    return status ? refused(e, uctx, value, status) : ERNIC_OK;
}

uint8_t ernic_doorbell_exec_record(Ernic *e, uint32_t uctx, uint64_t value)
{
    uint32_t qpn = value >> 32 & 0xffffff;
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);

    if (!qp || qp->sq.wq.record) {
        return ernic_doorbell_exec(e, uctx, value);
    }
    ernic_charge(e, ERNIC_WORK_DOORBELL);
    ernic_event_raise(e, e->async_eq, ERNIC_EVC_QP, qpn, &qp->events,
                      ERNIC_EV_BAD_DOORBELL, ERNIC_DB_SQ);
    return refused(e, uctx, value, ERNIC_ERR_PARAM);
}
