/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records of queue pairs. A send queue with a record is awake or asleep. While it is
 * awake, each turn that has decoded all that it knows looks at the record. Before it
 * sleeps, it writes which request shall ring, and looks once more: software writes the
 * counter and then reads that word, so that one of both sees what the other has written.
 * While the environment polls, a queue stays awake without turns, and others look.
 */
#include "qemu/osdep.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/verbs/records.h"
#include "objects/qp.h"
#include "trace.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/sched.h"

static void bad_index(Ernic *e, ErnicQp *qp, uint8_t kind)
{
    e->stats.bad_doorbells++;
    ernic_event_raise(e, e->async_eq, ERNIC_EVC_QP, qp->qpn, &qp->events,
                      ERNIC_EV_BAD_DOORBELL, kind);
}

/* A look at the record of the send queue, with what follows from its failure. */
static ErnicLook look_sends(Ernic *e, ErnicQp *qp)
{
    ErnicLook look = ernic_wq_look(e, &qp->sq.wq);

    if (look == ERNIC_LOOK_BAD) {
        bad_index(e, qp, ERNIC_DB_SQ);
    }
    return look;
}

bool ernic_verbs_more_sends(Ernic *e, ErnicQp *qp)
{
    ErnicWq *wq = &qp->sq.wq;
    ErnicLook look;

    if (!wq->record || qp->sq.asleep) {
        return false;
    }
    if (e->db_pages->held) {
        ernic_db_pages_rung(e);         /* the walk gives it another turn */
        return false;
    }
    look = look_sends(e, qp);
    if (look == ERNIC_LOOK_NOTHING && ernic_db_watch(e, qp->qpn)) {
        return false;
    }
    if (look == ERNIC_LOOK_NOTHING) {
        look = ernic_wq_ask_ring(e, wq) ? look_sends(e, qp) : ERNIC_LOOK_DMA;
    }
    if (look == ERNIC_LOOK_MORE) {
        return true;
    }
    qp->sq.asleep = true;
    trace_ernic_sq_asleep(qp->qpn, wq->pi);
    if (look == ERNIC_LOOK_DMA) {
        e->stats.fault[ERNIC_FAULT_SEND_FETCH]++;
        ernic_qp_error(e, qp, ERNIC_FAULT_SEND_FETCH);
    }
    return false;
}

void ernic_verbs_rung(Ernic *e, ErnicQp *qp)
{
    qp->sq.asleep = false;
    ernic_sched_mark(e, qp);
}

/* Software may post to a queue with a record. */
static bool has_record(const ErnicQp *qp)
{
    return qp->sq.wq.record && ernic_qp_may(qp, ERNIC_MAY_POST_SEND);
}

/* If there is more than new requests, the turn finds it, too, and acts on it. */
void ernic_verbs_look_sends(Ernic *e, ErnicQp *qp)
{
    if (has_record(qp) && ernic_wq_look(e, &qp->sq.wq) != ERNIC_LOOK_NOTHING) {
        ernic_verbs_rung(e, qp);
    }
}

ErnicFault ernic_verbs_look_recvs(Ernic *e, ErnicQp *qp)
{
    ErnicWq *wq = &qp->rq.wq;

    if (!wq->record || wq->pi != wq->ci) {
        return ERNIC_FAULT_NONE;
    }
    switch (ernic_wq_look(e, wq)) {
    case ERNIC_LOOK_DMA:
        return ERNIC_FAULT_RECV_DMA;
    case ERNIC_LOOK_BAD:
        bad_index(e, qp, ERNIC_DB_RQ);
        return ERNIC_FAULT_NONE;
    default:
        return ERNIC_FAULT_NONE;
    }
}

/* ---- doorbell pages --------------------------------------------------------- */

QEMU_BUILD_BUG_ON(ERNIC_LIM_UCTX > ERNIC_DB_PAGES);

/* The page of context 0 always exists. */
static bool page_exists(const Ernic *e, uint32_t page)
{
    return page == 0 || (page <= ERNIC_LIM_UCTX && e->uctx_used[page]);
}

static uint32_t next_number(const Ernic *e, uint32_t number)
{
    return number + 1 < e->qp_ids.fresh ? number + 1 : 0;
}

uint32_t ernic_verbs_page(const Ernic *e, uint32_t qpn)
{
    const ErnicQp *qp = &e->qp[qpn];

    return qp->used && qp->sq.wq.record ? qp->uctx : ERNIC_DB_PAGES;
}

static void look(Ernic *e, uint32_t number)
{
    ernic_verbs_look_sends(e, &e->qp[number]);
}

static bool watch(Ernic *e, uint32_t number, bool on)
{
    ErnicQp *qp = &e->qp[number];

    if (!has_record(qp) || qp->sq.asleep) {
        return false;
    }
    if (on && ernic_wq_look(e, &qp->sq.wq) == ERNIC_LOOK_NOTHING) {
        return true;
    }
    ernic_verbs_rung(e, qp);
    return false;
}

const ErnicDbPageOps ernic_verbs_db_pages = {
    .exists = page_exists,
    .next = next_number,
    .page_of = ernic_verbs_page,
    .look = look,
    .watch = watch,
};
