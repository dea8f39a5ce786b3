/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The completer: completes requests in flight by responses, and acts on missing
 * responses (IBTA vol. 1, 9.7.5 and 9.7.6).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/interface.h"
#include "objects/counter.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/adaptive_retry.h"
#include "transport/completer.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/requester.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"
#include "transport/tx.h"
#include "wire/ib_tables.h"
#include "wire/psn.h"

/* The oldest request, @wqe, has ended: its units are free. */
static void comp_retire(ErnicSendQueue *sq, const ErnicWqe *wqe)
{
    g_assert(sq->wq.ci != sq->fetched && wqe->units);
    sq->wq.ci++;
    sq->lead += wqe->units - 1;
}

/* End the oldest request with @fault. */
static void comp_fail(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    ErnicSendQueue *sq = &qp->sq;
    ErnicWqe *wqe = ernic_sq_slot(qp, sq->wq.ci);
    uint8_t act = ernic_fault_act(fault, qp->transport);

    e->rx_fault = fault;
    ernic_qp_note_fault(e, qp, e->rx_pkt, fault);
    comp_retire(sq, wqe);
    ernic_requester_restart(qp);
    ernic_qp_complete_send(e, qp, wqe, fault);
    if (act == ERNIC_ACT_SQ_ERROR && qp->state != ERNIC_QPS_ERR &&
        e->interface->send_queue_error) {
        ernic_qp_set_state(e, qp, ERNIC_QPS_SQE);
    } else {
        ernic_qp_error(e, qp, fault);
    }
}

bool ernic_completer_flush(Ernic *e, ErnicQp *qp)
{
    ErnicWqe *wqe = ernic_requester_oldest(e, qp);

    if (!wqe) {
        return false;
    }
    comp_retire(&qp->sq, wqe);
    ernic_requester_passed(qp);
    ernic_qp_complete_send(e, qp, wqe, ERNIC_FAULT_FLUSH);
    return true;
}

void ernic_completer_reset(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->lead = 0;
    sq->una_psn = 0;
    sq->rd_done = 0;
    sq->rewound = false;
    sq->heard_psn = 0;
    sq->rewind_gen = sq->rewind_psn = 0;
    sq->retry_left = sq->rnr_left = 0;
    ernic_adaptive_renew(qp);
    sq->cwnd = ERNIC_CWND_INIT;
}

void ernic_completer_begin(ErnicQp *qp, uint32_t psn)
{
    qp->sq.una_psn = psn;
}

void ernic_completer_set_retry(ErnicQp *qp, uint8_t count)
{
    qp->sq.retry_left = count;
}

void ernic_completer_set_rnr_retry(ErnicQp *qp, uint8_t count)
{
    qp->sq.rnr_left = count;
}

/* Whether @wqe, a request in the window, is complete. */
static bool comp_is_done(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe)
{
    if (!wqe->npsn) {
        return wqe->done;
    }
    if (!ernic_qp_reliable(qp)) {
        return wqe->index != qp->sq.next && wqe->tx_serial <=
               ernic_timed_complete_to(e, ernic_tx_departed(e), e->tx->serial);
    }
    return ernic_psn_distance(wqe->first_psn, qp->sq.una_psn) >= wqe->npsn;
}

void ernic_completer_advance(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    while (ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) &&
           sq->wq.ci != sq->fetched) {
        ErnicWqe *wqe = ernic_sq_slot(qp, sq->wq.ci);

        /* A request does not fail before it may start. */
        if (sq->wq.ci == sq->started &&
            !ernic_qp_may(qp, ERNIC_MAY_NEXT_SEND)) {
            break;
        }
        if (wqe->fault) {
            comp_fail(e, qp, wqe->fault);
            return;
        }
        if (sq->wq.ci == sq->started || !comp_is_done(e, qp, wqe)) {
            break;
        }
        if (!ernic_qp_reliable(qp)) {
            sq->una_psn = ernic_psn_add(wqe->first_psn, wqe->npsn);
        }
        comp_retire(sq, wqe);
        ernic_requester_passed(qp);
        ernic_qp_complete_send(e, qp, wqe, ERNIC_FAULT_NONE);
        ernic_sched_mark(e, qp);
    }
    if (qp->state == ERNIC_QPS_SQD && !qp->sq_drained &&
        sq->wq.ci == sq->started) {
        ernic_qp_drained(e, qp);
    }
}

/* An acknowledgement arrived: refill the retry budgets (9.7.6.1). */
static void comp_progress(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->retry_left = qp->attr.retry_cnt;
    sq->rnr_left = qp->attr.rnr_retry;
    sq->rewound = false;
    ernic_adaptive_renew(qp);
    /* During an RNR wait no packet that needs an answer is in flight. */
    if (sq->una_psn == sq->max_psn || sq->rnr_due != ERNIC_NEVER) {
        ernic_retry_timer_stop(e, qp);
    } else {
        ernic_retry_timer_start(e, qp, false);
    }
    /* Additive increase: one MTU for each acknowledgement. */
    sq->cwnd = MIN(sq->cwnd + ernic_qp_mtu(qp), ERNIC_CWND_MAX);
    ernic_sched_mark(e, qp);
}

/* Ask the requester to go back to @psn (IBTA 9.7.5.1). */
static void comp_rewind(Ernic *e, ErnicQp *qp, uint32_t psn)
{
    trace_ernic_rewind(qp->qpn, psn, qp->sq.next_psn);
    qp->sq.rewind_psn = psn;
    qp->sq.rewind_gen++;
    qp->sq.rewound = true;
    qp->sq.heard_psn = ernic_psn_add(psn, -1);     /* none is later */
    ernic_sched_mark(e, qp);
}

/*
 * Advance una_psn to @una. A late response may acknowledge packets that a rewind is
 * about to send again; then the requester continues after them.
 */
static void comp_move_una(Ernic *e, ErnicQp *qp, uint32_t una)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t moved = ernic_psn_distance(sq->una_psn, una);
    uint32_t ahead = ernic_psn_distance(sq->una_psn, sq->next_psn);

    g_assert(moved <= ernic_psn_distance(sq->una_psn, sq->max_psn));
    sq->una_psn = una;
    if (moved > ahead) {
        /* The requester must not send a completed request. */
        comp_rewind(e, qp, una);
        ernic_requester_rewind(qp);
    }
    comp_progress(e, qp);
}

/*
 * Acknowledge up to @count packets from una_psn on. A READ or atomic completes only by
 * its data. False: the response of one is missing, so it was lost.
 */
static bool comp_ack(Ernic *e, ErnicQp *qp, uint32_t count)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t una = sq->una_psn;
    bool whole = true;
    uint32_t i;

    for (i = sq->wq.ci; i != sq->started && count; i++) {
        const ErnicWqe *wqe = ernic_sq_slot(qp, i);
        uint32_t done = ernic_psn_distance(wqe->first_psn, una);
        uint32_t left = done < wqe->npsn ? wqe->npsn - done : 0;

        if (!left) {
            continue;
        }
        if (ernic_wr(wqe->opcode)->flags & ERNIC_WRF_RESPONSE) {
            whole = false;
            break;
        }
        left = MIN(left, count);
        una = ernic_psn_add(una, left);
        count -= left;
    }
    if (una != sq->una_psn) {
        comp_move_una(e, qp, una);
    }
    ernic_completer_advance(e, qp);
    return whole;
}

/* Halve the window after a loss, but keep room for a train (docs/architecture.md). */
static void comp_cut_window(Ernic *e, ErnicQp *qp)
{
    qp->sq.cwnd = MAX(qp->sq.cwnd / 2, ERNIC_CWND_MIN);
    e->stats.window_cuts++;
}

/*
 * Whether a request without a retry left waits on: its transport timer sends it again. A
 * queue pair without a timer has its retries only.
 */
static bool comp_is_patient(const Ernic *e, const ErnicQp *qp)
{
    return qp->attr.timeout && !ernic_adaptive_over(e, qp);
}

/* Use one retry and go back to una_psn. Without a retry left the request fails. */
static void comp_retry(Ernic *e, ErnicQp *qp)
{
    if (!qp->sq.retry_left && !comp_is_patient(e, qp) &&
        !e->interface->retry_forever(e, qp)) {
        comp_fail(e, qp, ERNIC_FAULT_RETRY_EXC);
        return;
    }
    qp->sq.retry_left -= qp->sq.retry_left > 0;
    ernic_retry_timer_stop(e, qp);    /* starts again with the resending */
    comp_cut_window(e, qp);
    comp_rewind(e, qp, qp->sq.una_psn);
}

/*
 * A response shows that a packet was lost. Adaptive retransmission goes back at once
 * while the budget of retries lasts; then the transport timer does, ever later.
 */
static void comp_lost(Ernic *e, ErnicQp *qp)
{
    if (qp->sq.retry_left || !comp_is_patient(e, qp)) {
        comp_retry(e, qp);
    }
}

/*
 * Whether a response with @psn, which came too early, was sent before the last rewind.
 * A transport timer repairs what is lost once more. Without one this response is the
 * only sign of it: those of one attempt come in the order of their PSNs, so one that is
 * not later than the last one is of the next attempt.
 */
static bool comp_is_stale(const ErnicQp *qp, uint32_t psn)
{
    const ErnicSendQueue *sq = &qp->sq;

    return sq->rewound &&
           (qp->attr.timeout || ernic_psn_distance(sq->una_psn, psn) >
                                ernic_psn_distance(sq->una_psn, sq->heard_psn));
}

/* 9.7.5.1.5: a later response, with @psn, implies that an earlier one was lost. */
static void comp_implied_nak(Ernic *e, ErnicQp *qp, uint32_t psn)
{
    bool stale = comp_is_stale(qp, psn);

    if (!stale && ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        ERNIC_COUNT(e, qp, implied_naks);
        trace_ernic_implied_nak(qp->qpn, qp->sq.una_psn);
        comp_lost(e, qp);
    }
    qp->sq.heard_psn = psn;
}

static void comp_rnr(Ernic *e, ErnicQp *qp, uint8_t timer)
{
    ErnicSendQueue *sq = &qp->sq;
    uint64_t wait = ernic_rnr_timer_ns(timer);

    ERNIC_COUNT(e, qp, rx_rnr_naks);
    if (sq->rnr_due != ERNIC_NEVER) {
        return;                 /* a duplicate, or sent before the rewind */
    }
    if (qp->attr.rnr_retry != ERNIC_RNR_RETRY_FOREVER) {
        if (!sq->rnr_left && ernic_adaptive_over(e, qp) &&
            !e->interface->retry_forever(e, qp)) {
            comp_fail(e, qp, ERNIC_FAULT_RNR_RETRY_EXC);
            return;
        }
        wait = ernic_adaptive_rnr_ns(e, qp, wait);
        ernic_adaptive_waited(e, qp, wait);
        sq->rnr_left -= sq->rnr_left > 0;
    }
    ernic_retry_timer_stop(e, qp);
    ernic_rnr_timer_start(e, qp, wait);
    comp_rewind(e, qp, sq->una_psn);
    ernic_qp_timer(e, qp);
}

static void comp_nak(Ernic *e, ErnicQp *qp, uint8_t syndrome)
{
    ErnicFault fault = ernic_fault_of_syndrome(syndrome);

    ERNIC_COUNT(e, qp, rx_naks);
    if (syndrome == ERNIC_NAK_PSN_SEQ) {
        if (!qp->sq.rewound) {
            comp_lost(e, qp);
        }
    } else if (fault) {
        comp_fail(e, qp, fault);
    }
}

static void comp_aeth(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    uint8_t kind = pkt->syndrome & ERNIC_AETH_KIND_MASK;
    uint32_t before = ernic_psn_distance(qp->sq.una_psn, pkt->psn);

    if (kind == ERNIC_AETH_ACK) {
        ERNIC_COUNT(e, qp, rx_acks);
        if (!comp_ack(e, qp, before + 1)) {
            comp_implied_nak(e, qp, pkt->psn);
        }
        return;
    }
    /* A NAK acknowledges all packets before it. */
    if (!comp_ack(e, qp, before)) {
        comp_implied_nak(e, qp, pkt->psn);
        return;
    }
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        return;
    }
    if (kind == ERNIC_AETH_RNR_NAK) {
        comp_rnr(e, qp, pkt->syndrome & ERNIC_AETH_VALUE_MASK);
    } else if (kind == ERNIC_AETH_NAK) {
        comp_nak(e, qp, pkt->syndrome);
    }
}

/* Bytes of data in packet @k of the response to @wqe. */
static uint32_t comp_rsp_len(const ErnicQp *qp, const ErnicWqe *wqe, uint32_t k)
{
    uint64_t off = (uint64_t)k * ernic_qp_mtu(qp);

    return ernic_wr(wqe->opcode)->flags & ERNIC_WRF_WORD ? 0 :
           MIN(wqe->len - off, ernic_qp_mtu(qp));
}

/*
 * Whether packet @k of the response to @wqe has the expected segment and length. After a
 * restart, packets of the old response may still arrive.
 */
static bool comp_read_fits(ErnicQp *qp, const ErnicWqe *wqe, uint32_t k,
                           const ErnicPkt *pkt)
{
    uint32_t mtu = ernic_qp_mtu(qp);
    uint32_t chunk = ERNIC_READ_CHUNK / mtu;
    bool end = k + 1 == wqe->npsn || (k + 1) % chunk == 0;
    bool start = k % chunk == 0;

    if (pkt->payload_len != comp_rsp_len(qp, wqe, k) ||
        !!(pkt->op->seg & ERNIC_SEG_END) != end) {
        return false;
    }
    return !!(pkt->op->seg & ERNIC_SEG_START) == start ||
           pkt->psn == qp->sq.read_restart;
}

static ErnicFault comp_place(Ernic *e, ErnicQp *qp, ErnicWqe *wqe, uint32_t k,
                             const ErnicPkt *pkt)
{
    uint64_t off = (uint64_t)k * ernic_qp_mtu(qp);
    uint8_t orig[ERNIC_ATOMIC_LEN];
    ErnicDma dma;

    if (pkt->op->cls == ERNIC_CL_READ_RSP) {
        dma = ernic_dma_scatter(e, qp->pd, wqe->sge, wqe->num_sge, off,
                                pkt->payload, pkt->payload_len);
    } else {
        stq_le_p(orig, pkt->atomic_orig);
        dma = ernic_dma_scatter(e, qp->pd, wqe->sge, wqe->num_sge, 0, orig,
                                sizeof(orig));
    }
    return dma == ERNIC_DMA_OK ? ERNIC_FAULT_NONE :
           dma == ERNIC_DMA_PROT ? ERNIC_FAULT_SEND_PROT :
           dma == ERNIC_DMA_ABSENT ? ERNIC_FAULT_PAGE :
                                     ERNIC_FAULT_SEND_DMA;
}

/*
 * The page for the data is absent. Drop the data and request it again after the answer
 * of software: the peer still has it, or (atomics) the old value. False: there will be
 * no page.
 */
static bool comp_page_wait(Ernic *e, ErnicQp *qp)
{
    if (!ernic_qp_page_fault(e, qp)) {
        return false;
    }
    ernic_requester_wait_page(qp);
    ernic_retry_timer_stop(e, qp);    /* starts again with the resending */
    comp_rewind(e, qp, qp->sq.una_psn);
    qp->sq.heard_psn = qp->sq.una_psn;      /* the rest of the response follows */
    return true;
}

/* READ and atomic responses, which also acknowledge all packets before them. */
static void comp_data(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicSendQueue *sq = &qp->sq;
    bool atomic = pkt->op->cls == ERNIC_CL_ATOMIC_RSP;
    ErnicFault fault;
    ErnicWqe *wqe;
    uint32_t k;

    if (!comp_ack(e, qp, ernic_psn_distance(sq->una_psn, pkt->psn))) {
        comp_implied_nak(e, qp, pkt->psn);
        return;
    }
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) || sq->wq.ci == sq->started) {
        return;
    }
    wqe = ernic_sq_slot(qp, sq->wq.ci);
    k = ernic_psn_distance(wqe->first_psn, pkt->psn);
    if (k >= wqe->npsn || wqe->fault ||
        !(ernic_wr(wqe->opcode)->flags & ERNIC_WRF_RESPONSE) ||
        !(ernic_wr(wqe->opcode)->flags & ERNIC_WRF_ATOMIC) == atomic ||
        (!atomic && !comp_read_fits(qp, wqe, k, pkt))) {
        comp_fail(e, qp, ERNIC_FAULT_BAD_RESPONSE);
        return;
    }
    fault = comp_place(e, qp, wqe, k, pkt);
    if (fault == ERNIC_FAULT_PAGE) {
        if (comp_page_wait(e, qp)) {
            return;
        }
        fault = ERNIC_FAULT_SEND_PROT;
    }
    if (fault) {
        comp_fail(e, qp, fault);
        return;
    }
    wqe->rsp_done = k + 1;
    if ((pkt->op->seg & ERNIC_SEG_END) && sq->rd_issued != sq->rd_done) {
        sq->rd_done++;
    }
    comp_move_una(e, qp, ernic_psn_next(pkt->psn));
    ernic_completer_advance(e, qp);
}

void ernic_completer_packet(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicSendQueue *sq = &qp->sq;

    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        e->stats.drop[ERNIC_DROP_QP_STATE]++;
        return;
    }
    /* C9-137: drop ghost responses, which answer no request in flight. */
    if (ernic_psn_distance(sq->una_psn, pkt->psn) >=
        ernic_psn_distance(sq->una_psn, sq->max_psn)) {
        ERNIC_COUNT(e, qp, rx_duplicates);
        trace_ernic_ghost_response(qp->qpn, pkt->psn, sq->una_psn);
        return;
    }
    if (pkt->op->cls == ERNIC_CL_ACK) {
        comp_aeth(e, qp, pkt);
    } else if ((pkt->op->hdrs & ERNIC_HDR_AETH) &&
               (pkt->syndrome & ERNIC_AETH_KIND_MASK) != ERNIC_AETH_ACK) {
        comp_aeth(e, qp, pkt);
    } else {
        comp_data(e, qp, pkt);
    }
}

/*
 * A check of the interface has found @fault in @pkt, a response to a request in flight.
 * It still acknowledges the packets before it.
 */
void ernic_completer_refuse(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            ErnicFault fault)
{
    if (!comp_ack(e, qp, ernic_psn_distance(qp->sq.una_psn, pkt->psn))) {
        comp_implied_nak(e, qp, pkt->psn);
    } else if (ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        comp_fail(e, qp, fault);
    }
}

void ernic_completer_departed(Ernic *e, ErnicQp *qp, uint64_t departed)
{
    ErnicSendQueue *sq = &qp->sq;

    if (sq->leaving && sq->tx_serial <= departed) {
        ernic_retry_timer_departed(e, qp);
    }
    if (!ernic_qp_reliable(qp)) {
        ernic_completer_advance(e, qp);
    }
}

/*
 * The transport timer has expired (9.7.6.1.3). The peer cannot have answered a packet
 * that has not left the device, so the timer starts at departure, but at the latest two
 * periods after the packet was built or the last response arrived; then the packet
 * counts as sent. So a retry follows within three periods, and the specification allows
 * four.
 */
static void comp_expired(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    bool inside = sq->tx_serial > ernic_tx_departed(e);

    if (sq->page_wait) {
        ernic_retry_timer_start(e, qp, false);
    } else if (sq->una_psn == sq->max_psn &&
               (sq->blocked_on != ERNIC_BLOCKED_TX || sq->wq.ci == sq->started)) {
        ernic_retry_timer_stop(e, qp);
    } else if (ernic_retry_timer_paused(e, qp)) {
        trace_ernic_ack_paused(qp->qpn, sq->una_psn);
    } else if (e->now < sq->leave_by && (sq->leaving || inside)) {
        ernic_retry_timer_hold(e, qp);
        if (inside) {
            ernic_sched_add(e, qp, ERNIC_RING_DEPARTURE);
        }
    } else if (sq->leaving) {
        trace_ernic_not_departed(qp->qpn, sq->tx_serial);
        ernic_retry_timer_departed(e, qp);
    } else {
        ERNIC_COUNT(e, qp, ack_timeouts);
        trace_ernic_ack_timeout(qp->qpn, sq->una_psn, sq->retry_left);
        ernic_adaptive_waited(e, qp, ernic_adaptive_ack_ns(e, qp));
        comp_retry(e, qp);
        /*
         * After such a silence, what comes answers the new attempt, and may show that it
         * was lost as well. Without a retry left, a late answer ends no request.
         */
        sq->rewound = !sq->retry_left;
    }
}

void ernic_completer_timeout(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    ernic_qp_timer_expired(qp);
    if (sq->rnr_due <= e->now) {
        ernic_rnr_timer_stop(qp);
        trace_ernic_rnr_over(qp->qpn);
    }
    if (sq->ack_due <= e->now) {
        comp_expired(e, qp);
    }
    ernic_qp_timer(e, qp);
    ernic_sched_mark(e, qp);
}
