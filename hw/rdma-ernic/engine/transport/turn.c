/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The turn of a queue pair. Requester and completer do not call each other: the turn
 * calls them one after the other.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "transport/ack.h"
#include "transport/completer.h"
#include "transport/qp.h"
#include "transport/qp_transitions.h"
#include "transport/read_slots.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/sched.h"
#include "transport/turn.h"
#include "transport/tx.h"

/* ---- flush --------------------------------------------------------------- */

/*
 * Flush requests until the share of work with @end is used: @all, or those that begin
 * below flush_to. True: some may be left.
 */
static bool turn_flush_send(Ernic *e, ErnicQp *qp, bool all, uint64_t end)
{
    while (all || (int32_t)(ernic_sq_done(&qp->sq) - qp->sq.flush_to) < 0) {
        if (!ernic_work_left_of(e, end)) {
            return true;
        }
        if (!ernic_completer_flush(e, qp)) {
            break;
        }
        ernic_charge(e, ERNIC_WORK_COMPLETE);
    }
    return false;
}

static bool turn_flush_recv(Ernic *e, ErnicQp *qp)
{
    ErnicWc wc = { .opcode = ERNIC_WC_RECV };

    if (!e->interface->recv_requests) {
        return false;
    }
    /* Requests of an SRQ stay: other queue pairs may take them. */
    if (!qp->rq.recv_valid && (ernic_qp_uses_srq(qp) || !ernic_qp_take_recv(e, qp))) {
        return false;
    }
    ernic_qp_complete_recv(e, qp, &wc, ERNIC_FAULT_FLUSH);
    return true;
}

/* Poll for receive requests again; @found: there were some. */
static void turn_look_again(const Ernic *e, ErnicQp *qp, bool found)
{
    if (!ernic_qp_uses_srq(qp) && e->interface->polls_recv(qp)) {
        qp->flush_wait = found || !qp->flush_wait ? ERNIC_FLUSH_POLL_NS :
                         MIN(qp->flush_wait * 2,
                             ERNIC_FLUSH_POLL_NS * ERNIC_FLUSH_POLL_MAX);
    }
}

void ernic_turn_flush_posted(ErnicQp *qp)
{
    qp->sq.flush_to = qp->sq.wq.pi;
    qp->sq.flushing = ernic_sq_done(&qp->sq) != qp->sq.flush_to;
}

void ernic_turn_reset(ErnicQp *qp)
{
    qp->sq.flushing = false;
    qp->sq.flush_to = 0;
    qp->last_wqe = false;
}

bool ernic_turn_flush(Ernic *e, ErnicQp *qp)
{
    bool all = ernic_qp_may(qp, ERNIC_MAY_FLUSH_SEND);
    uint64_t end = ernic_work_share(e);
    bool more = false;

    if (all || qp->sq.flushing) {
        more = turn_flush_send(e, qp, all, end);
        qp->sq.flushing &= more && !all;
    }
    if (ernic_qp_may(qp, ERNIC_MAY_FLUSH_RECV)) {
        bool found = false;

        while (ernic_work_left_of(e, end) && turn_flush_recv(e, qp)) {
            ernic_charge(e, ERNIC_WORK_COMPLETE);
            found = true;
        }
        if (!ernic_work_left_of(e, end)) {
            return true;
        }
        turn_look_again(e, qp, found);
        ernic_qp_timer(e, qp);
        /*
         * C11-39: with an SRQ, software learns from this event that the queue
         * pair will take no more of its requests.
         */
        if (ernic_qp_uses_srq(qp) && !more && !qp->last_wqe) {
            qp->last_wqe = true;
            ernic_qp_event(e, qp, ERNIC_EV_LAST_WQE);
        }
    }
    return more;
}

/* ---- respond ------------------------------------------------------------- */

bool ernic_turn_respond(Ernic *e, ErnicQp *qp)
{
    bool more = ernic_ack_owes(qp) && ernic_ack_step(e, qp);

    ernic_read_slots_sync(e, qp);
    if (ernic_ack_has_fault(qp)) {
        ernic_responder_nak_sent(e, qp);
    }
    return more;
}

/* ---- send ---------------------------------------------------------------- */

/*
 * Send up to a train of packets; local operations end with the slice. False: the queue
 * pair may not send at all now.
 */
static bool turn_requests(Ernic *e, ErnicQp *qp)
{
    uint32_t sent = 0, steps;

    for (steps = 0; steps < 4 * ERNIC_TRAIN_PACKETS; steps++) {
        ErnicReqStep step = ernic_requester_step(e, qp);
        bool local = step == ERNIC_REQ_LOCAL || step == ERNIC_REQ_PART;

        switch (step) {
        case ERNIC_REQ_IDLE:
            return false;
        case ERNIC_REQ_STOP:
            return true;
        case ERNIC_REQ_FAULT:
            ernic_completer_advance(e, qp);
            return true;
        case ERNIC_REQ_LOCAL:
            ernic_completer_advance(e, qp);
            ernic_charge(e, ERNIC_WORK_LOCAL);
            sent++;
            break;
        case ERNIC_REQ_SENT:
        case ERNIC_REQ_PART:
            sent++;
            break;
        default:
            break;
        }
        if (sent == ERNIC_TRAIN_PACKETS || (local && !ernic_work_left(e))) {
            break;
        }
    }
    return true;
}

bool ernic_turn_send(Ernic *e, ErnicQp *qp)
{
    /* Requests that left with the last train are complete; SQD may have drained. */
    if (!ernic_qp_reliable(qp) || qp->state == ERNIC_QPS_SQD) {
        ernic_completer_advance(e, qp);
    }
    if (!turn_requests(e, qp)) {
        return false;
    }
    /* A request without a response is complete when it has left. */
    if (!ernic_qp_reliable(qp) && qp->sq.wq.ci != qp->sq.next) {
        if (!ernic_tx_flush(e)) {
            return true;
        }
        ernic_completer_advance(e, qp);
        if (qp->sq.tx_serial > ernic_tx_departed(e)) {
            ernic_sched_add(e, qp, ERNIC_RING_DEPARTURE);
        }
    }
    return qp->sq.blocked_on == ERNIC_BLOCKED_NONE ||
           qp->sq.blocked_on == ERNIC_BLOCKED_TX;
}
