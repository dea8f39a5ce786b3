/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester: turns posted work requests into request packets, in order, as far as
 * state, fence, credits, window and rate permit (IBTA vol. 1, 9.7.3).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/interface.h"
#include "objects/counter.h"
#include "objects/mr.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/cc.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/qp_transitions.h"
#include "transport/rate.h"
#include "transport/requester.h"
#include "transport/retry_buffer.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"
#include "transport/tx.h"
#include "wire/psn.h"

static ErnicReqStep req_block(ErnicQp *qp, ErnicBlocked why)
{
    if (qp->sq.blocked_on != why) {
        trace_ernic_sq_blocked(qp->qpn, why, qp->sq.next);
    }
    qp->sq.blocked_on = why;
    return ERNIC_REQ_STOP;
}

/*
 * The link takes no packet. The transport timer starts as if it had taken one:
 * a link that is stuck must not keep a queue pair waiting for ever.
 */
static ErnicReqStep req_link_busy(Ernic *e, ErnicQp *qp)
{
    if (ernic_qp_reliable(qp) && qp->sq.ack_due == ERNIC_NEVER) {
        ernic_retry_timer_start(e, qp, true);
    }
    return req_block(qp, ERNIC_BLOCKED_TX);
}

/* Mark @wqe as faulty: it completes after all requests before it. */
static ErnicReqStep req_fault(Ernic *e, ErnicQp *qp, ErnicWqe *wqe,
                         ErnicFault fault)
{
    trace_ernic_send_fault(qp->qpn, wqe->index, ernic_fault_info(fault)->name);
    wqe->fault = fault;
    req_block(qp, ERNIC_BLOCKED_FENCE);
    return ERNIC_REQ_FAULT;
}

/* The memory of @wqe cannot be read: wait for its page, or fail. */
static ErnicReqStep req_no_memory(Ernic *e, ErnicQp *qp, ErnicWqe *wqe,
                             ErnicFault fault)
{
    if (fault != ERNIC_FAULT_PAGE) {
        return req_fault(e, qp, wqe, fault);
    }
    if (!ernic_qp_page_fault(e, qp)) {
        return req_fault(e, qp, wqe, ERNIC_FAULT_SEND_PROT);
    }
    qp->sq.page_wait = true;
    return req_block(qp, ERNIC_BLOCKED_PAGE);
}

void ernic_requester_rewind(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t back = ernic_psn_distance(sq->una_psn, sq->next_psn);
    uint32_t to = ernic_psn_distance(sq->una_psn, sq->rewind_psn);

    g_assert(sq->next - sq->wq.ci <= sq->started - sq->wq.ci);
    g_assert(sq->started - sq->wq.ci <= sq->fetched - sq->wq.ci &&
             sq->fetched - sq->wq.ci <= sq->window_mask + 1);
    sq->seen_gen = sq->rewind_gen;
    if (to > back) {
        to = 0;
    }
    sq->next_psn = ernic_psn_add(sq->una_psn, to);
    for (sq->next = sq->wq.ci; sq->next != sq->started; sq->next++) {
        const ErnicWqe *wqe = ernic_sq_slot(qp, sq->next);

        /* Do not skip a local operation that has not been executed. */
        if (wqe->npsn ? ernic_psn_distance(wqe->first_psn, sq->next_psn) <
                        wqe->npsn : !wqe->done) {
            break;
        }
    }
    sq->rd_issued = sq->rd_done;
    sq->unasked = 0;
}

void ernic_requester_reset(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->taken = sq->fetched = sq->started = sq->next = 0;
    sq->next_psn = sq->max_psn = 0;
    sq->ssn = sq->rd_issued = 0;
    sq->seen_gen = sq->unasked = sq->read_restart = 0;
    sq->tx_serial = 0;
    sq->page_wait = false;
    sq->blocked_on = ERNIC_BLOCKED_EMPTY;
}

void ernic_requester_begin(ErnicQp *qp, uint32_t psn)
{
    qp->sq.next_psn = qp->sq.max_psn = psn;
}

void ernic_requester_stop(ErnicQp *qp)
{
    qp->sq.page_wait = false;
    qp->sq.blocked_on = ERNIC_BLOCKED_STATE;
}

void ernic_requester_wait_page(ErnicQp *qp)
{
    qp->sq.page_wait = true;
}

void ernic_requester_restart(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->next = sq->started = sq->fetched = sq->wq.ci;
    sq->taken = ernic_sq_done(sq);
}

void ernic_requester_passed(ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    /* Keep ci <= next <= started <= fetched. */
    if ((int32_t)(sq->wq.ci - sq->next) > 0) {
        sq->next = sq->wq.ci;
    }
    if ((int32_t)(sq->wq.ci - sq->started) > 0) {
        sq->started = sq->wq.ci;
    }
}

/* Decode the next request into its slot of the window; false: there is none. */
static bool req_fetch_wqe(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    ErnicWqe *wqe = ernic_sq_slot(qp, sq->fetched);

    if (!e->interface->fetch(e, qp, wqe)) {
        return false;
    }
    g_assert(wqe->units && wqe->units <= sq->wq.pi - sq->taken);
    wqe->index = sq->fetched++;
    wqe->unit = sq->taken;
    sq->taken += wqe->units;
    return true;
}

ErnicWqe *ernic_requester_oldest(Ernic *e, ErnicQp *qp)
{
    if (qp->sq.wq.ci == qp->sq.fetched && !req_fetch_wqe(e, qp)) {
        return NULL;
    }
    return ernic_sq_slot(qp, qp->sq.wq.ci);
}

/* Packets in flight, and how many the window allows; RC and XRC. */
static uint32_t req_room(const ErnicQp *qp, uint32_t mtu)
{
    uint32_t window = MAX(qp->sq.cwnd / mtu, 1u);
    uint32_t out = ernic_psn_distance(qp->sq.una_psn, qp->sq.next_psn);

    return out < window ? window - out : 0;
}

void ernic_requester_fill(Ernic *e, const ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicPkt *pkt)
{
    memset(pkt, 0, offsetof(ErnicPkt, payload));
    pkt->transport = qp->transport;
    pkt->migreq = true;
    pkt->psn = qp->sq.next_psn;
    pkt->pkey = ernic_qp_pkey(e, qp);
    pkt->dest_qp = qp->attr.dest_qpn;
    pkt->payload = NULL;
    pkt->payload_len = 0;
    pkt->rkey = wqe->rkey;
    pkt->xrcsrq = wqe->xrc_srq;
}

/* A packet was built; it takes @n PSNs, or requests @n response packets. */
static void req_sent(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt, uint32_t n)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t ahead = ernic_psn_distance(sq->una_psn, sq->max_psn);

    sq->tx_serial = ernic_tx_serial(e);
    ernic_tx_commit(e, qp->qpn, pkt);
    if (ernic_qp_reliable(qp)) {
        if (ernic_psn_distance(sq->una_psn, sq->next_psn) < ahead) {
            ERNIC_COUNT(e, qp, retransmits);
        }
        if (sq->ack_due == ERNIC_NEVER) {
            ernic_retry_timer_start(e, qp, true);
        }
        if (sq->leaving) {
            ernic_sched_add(e, qp, ERNIC_RING_DEPARTURE);
        }
    }
    sq->next_psn = ernic_psn_add(sq->next_psn, n);
    if (!ernic_qp_reliable(qp)) {
        sq->max_psn = sq->next_psn;
    } else if (ernic_psn_distance(sq->una_psn, sq->next_psn) > ahead) {
        sq->max_psn = sq->next_psn;
    }
    ernic_cc_sent(&qp->cc, &e->cfg, e->now, pkt->payload_len);
}

/*
 * Request an acknowledgement at the end of a message, and within one often enough that
 * the window does not close without a request (C9-25 permits both).
 */
static bool req_ask(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe, uint32_t mtu,
                    bool last)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->unasked++;
    if (last || sq->unasked >= MAX(sq->cwnd / mtu / 4, 1u) ||
        req_room(qp, mtu) <= 1 || ernic_retry_buffer_asks(e, wqe)) {
        sq->unasked = 0;
        return true;
    }
    return false;
}

/* SEND and WRITE of a connection: one packet of @wqe. */
static ErnicReqStep req_data(Ernic *e, ErnicQp *qp, ErnicWqe *wqe,
                        const ErnicWr *wr, const ErnicPath *path)
{
    uint32_t mtu = ernic_qp_mtu(qp);
    uint32_t k = ernic_psn_distance(wqe->first_psn, qp->sq.next_psn);
    uint64_t off = (uint64_t)k * mtu;
    uint32_t len = MIN(wqe->len - off, mtu);
    bool first = k == 0, last = k == wqe->npsn - 1;
    uint8_t *payload;
    ErnicFault fault;
    ErnicPkt pkt;

    g_assert(k < wqe->npsn && off <= wqe->len);
    if (ernic_qp_reliable(qp) && !req_room(qp, mtu)) {
        return req_block(qp, ERNIC_BLOCKED_WINDOW);
    }
    if (ernic_qp_reliable(qp) && !ernic_retry_buffer_room(e, qp, wqe)) {
        return req_block(qp, ERNIC_BLOCKED_RETRY);
    }
    ernic_requester_fill(e, qp, wqe, &pkt);
    pkt.op = ernic_opcode_row(first ? last ? wr->only : wr->first :
                              last ? wr->last : wr->middle);
    pkt.payload_len = len;
    /* 9.2.3: a WRITE without immediate completes no receive request. */
    pkt.se = last && (wqe->flags & ERNIC_WR_SOLICITED) &&
             (!(wr->flags & ERNIC_WRF_RETH) || (wr->flags & ERNIC_WRF_IMM));
    pkt.va = wqe->raddr;
    pkt.dma_len = wqe->len;
    pkt.imm = ldl_be_p(wqe->imm);
    pkt.inv_rkey = wqe->inv_rkey;
    if (ernic_qp_reliable(qp)) {
        pkt.ackreq = req_ask(e, qp, wqe, mtu, last);
    }
    if (!ernic_tx_packet(e, path, &pkt, &payload)) {
        return req_link_busy(e, qp);
    }
    fault = e->interface->gather(e, qp, wqe, off, &pkt, payload);
    if (fault) {
        return req_no_memory(e, qp, wqe, fault);
    }
    if (ernic_qp_reliable(qp)) {
        ernic_retry_buffer_sent(e, qp, wqe);
    }
    if (last) {
        wqe->tx_serial = ernic_tx_serial(e);
        qp->sq.next++;
        ERNIC_COUNT(e, qp, tx_messages);
    }
    req_sent(e, qp, &pkt, 1);
    return ERNIC_REQ_SENT;
}

/*
 * Number of response packets that one READ request asks for, from packet @k of @wqe on.
 */
static uint32_t req_read_chunk(const ErnicWqe *wqe, uint32_t mtu, uint32_t k)
{
    uint32_t chunk = ERNIC_READ_CHUNK / mtu;

    return MIN(chunk - k % chunk, wqe->npsn - k);
}

/* Fill in the operands: a READ of at most @len bytes from @off on, or an atomic. */
static void req_fill_read(const ErnicWqe *wqe, const ErnicWr *wr, uint64_t off,
                           uint64_t len, ErnicPkt *pkt)
{
    bool swap = wqe->opcode == ERNIC_WR_CMP_SWAP;

    pkt->op = ernic_opcode_row(wr->only);
    pkt->ackreq = true;
    pkt->va = wqe->raddr + off;
    pkt->dma_len = MIN(len, wqe->len - off);
    pkt->payload_len = wr->flags & ERNIC_WRF_WORD ? wqe->len : 0;
    pkt->swap_add = swap ? wqe->swap : wqe->compare_add;
    pkt->compare = swap ? wqe->compare_add : 0;
    if (wqe->opcode == ERNIC_WR_FLUSH) {
        pkt->dma_len = wqe->compare_add;
        pkt->feth = wqe->swap;
    }
}

/* READ, atomics, ATOMIC WRITE and FLUSH: one request packet. */
static ErnicReqStep req_read(Ernic *e, ErnicQp *qp, ErnicWqe *wqe,
                         const ErnicWr *wr, const ErnicPath *path)
{
    ErnicSendQueue *sq = &qp->sq;
    uint32_t mtu = ernic_qp_mtu(qp);
    uint32_t k = ernic_psn_distance(wqe->first_psn, sq->next_psn);
    uint32_t n = req_read_chunk(wqe, mtu, k);
    uint32_t psn = sq->next_psn;
    uint64_t off = (uint64_t)k * mtu;
    uint8_t *payload;
    ErnicFault fault;
    ErnicPkt pkt;

    g_assert(k < wqe->npsn && ernic_qp_reliable(qp));
    if (sq->rd_issued - sq->rd_done >= qp->attr.max_rd_atomic) {
        return req_block(qp, ERNIC_BLOCKED_RD_ATOMIC);
    }
    /* A window smaller than a chunk still permits one chunk. */
    if (req_room(qp, mtu) < n && sq->una_psn != sq->next_psn) {
        return req_block(qp, ERNIC_BLOCKED_WINDOW);
    }
    ernic_requester_fill(e, qp, wqe, &pkt);
    req_fill_read(wqe, wr, off, (uint64_t)n * mtu, &pkt);
    if (!ernic_tx_packet(e, path, &pkt, &payload)) {
        return req_link_busy(e, qp);
    }
    fault = pkt.payload_len ? ernic_wqe_gather(e, qp->pd, wqe, 0, payload,
                                               pkt.payload_len) :
                              ERNIC_FAULT_NONE;
    if (fault) {
        return req_no_memory(e, qp, wqe, fault);
    }
    req_sent(e, qp, &pkt, n);
    sq->unasked = 0;
    sq->rd_issued++;
    if (k % (ERNIC_READ_CHUNK / mtu)) {
        sq->read_restart = psn;
    }
    if (k + n == wqe->npsn) {
        sq->next++;
        ERNIC_COUNT(e, qp, tx_messages);
    }
    return ERNIC_REQ_SENT;
}

/* Send one datagram. */
static ErnicReqStep req_datagram(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    uint32_t off = 0;
    uint8_t *payload;
    ErnicFault fault;
    ErnicPath path;
    ErnicPkt pkt;

    fault = e->interface->datagram(e, qp, wqe, &path, &pkt, &off);
    if (fault) {
        return req_fault(e, qp, wqe, fault);
    }
    if (!ernic_tx_packet(e, &path, &pkt, &payload)) {
        return req_link_busy(e, qp);
    }
    fault = ernic_wqe_gather(e, qp->pd, wqe, off, payload, pkt.payload_len);
    if (fault) {
        return req_no_memory(e, qp, wqe, fault);
    }
    wqe->tx_serial = ernic_tx_serial(e);
    qp->sq.next++;
    ERNIC_COUNT(e, qp, tx_messages);
    req_sent(e, qp, &pkt, 1);
    return ERNIC_REQ_SENT;
}

/* Send one Ethernet frame; its bytes are the message. */
static ErnicReqStep req_frame(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    ErnicSendQueue *sq = &qp->sq;
    ErnicFault fault;
    uint8_t *frame;

    if (!ernic_tx_frame(e, wqe->len, &frame)) {
        return req_link_busy(e, qp);
    }
    fault = ernic_wqe_gather(e, qp->pd, wqe, 0, frame, wqe->len);
    if (fault) {
        return req_no_memory(e, qp, wqe, fault);
    }
    ernic_tx_commit_frame(e, qp->qpn, wqe->len);
    wqe->tx_serial = sq->tx_serial = ernic_tx_serial(e);
    sq->next++;
    sq->next_psn = ernic_psn_add(sq->next_psn, 1);
    sq->max_psn = sq->next_psn;
    ERNIC_COUNT(e, qp, tx_messages);
    ernic_rate_sent(qp, e->now, wqe->len);
    return ERNIC_REQ_SENT;
}

/* Changes of regions and windows take effect here, in the queue's order. */
static ErnicReqStep req_local(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    ErnicFault fault = ERNIC_FAULT_NONE;
    bool more = false;

    if (wqe->done) {            /* executed before a rewind */
        qp->sq.next++;
        return ERNIC_REQ_AGAIN;
    }
    switch (wqe->opcode) {
    case ERNIC_WR_REG_MR:
        fault = ernic_mr_fast_reg(e, qp->pd, &wqe->reg_mr);
        break;
    case ERNIC_WR_BIND_MW:
        fault = ernic_mw_bind(e, qp->pd, qp->qpn, &wqe->bind_mw);
        break;
    case ERNIC_WR_MR_UPDATE:
        fault = ernic_mr_update(e, qp->pd, qp->qpn, &wqe->update, &more);
        break;
    case ERNIC_WR_NOP:
        break;
    default:
        /* Requests in flight may still need the key for a retransmission. */
        if (qp->sq.next != qp->sq.wq.ci) {
            return req_block(qp, ERNIC_BLOCKED_FENCE);
        }
        if (!ernic_mr_invalidate(e, qp->pd, qp->qpn, wqe->inv_rkey, false)) {
            fault = ERNIC_FAULT_LOCAL_INV;
        }
    }
    if (fault) {
        return req_fault(e, qp, wqe, fault);
    }
    if (more) {
        return ERNIC_REQ_PART;
    }
    ernic_timed_local(e, qp->qpn, ernic_wr(wqe->opcode)->name, wqe->index,
                      ernic_sq_waiting(&qp->sq));
    wqe->done = true;
    qp->sq.next++;
    return ERNIC_REQ_LOCAL;
}

/*
 * Number of requests that may be outstanding: limits of the interface and of the timing
 * model.
 */
static uint32_t req_outstanding(const Ernic *e, const ErnicQp *qp)
{
    return MIN(e->interface->outstanding(qp), ernic_timed_outstanding(e));
}

/* Assign PSNs to the next request, if nothing blocks it. */
static ErnicReqStep req_start(Ernic *e, ErnicQp *qp, ErnicWqe *wqe,
                         const ErnicWr *wr)
{
    ErnicSendQueue *sq = &qp->sq;

    if (wqe->fault) {
        req_block(qp, ERNIC_BLOCKED_FENCE);
        return ERNIC_REQ_FAULT;
    }
    if (!ernic_qp_may(qp, ERNIC_MAY_NEXT_SEND)) {
        return req_block(qp, ERNIC_BLOCKED_STATE);
    }
    /* C10-80: the fence waits for earlier reads and atomics. */
    if ((wqe->flags & ERNIC_WR_FENCE) && sq->rd_issued != sq->rd_done) {
        return req_block(qp, ERNIC_BLOCKED_FENCE);
    }
    if (sq->started - sq->wq.ci >= req_outstanding(e, qp)) {
        return req_block(qp, ERNIC_BLOCKED_WINDOW);
    }
    if ((wr->flags & ERNIC_WRF_CREDIT) && !qp->attr.max_rd_atomic) {
        return req_fault(e, qp, wqe, ERNIC_FAULT_SEND_WQE);
    }
    wqe->first_psn = sq->next_psn;
    wqe->npsn = 0;
    wqe->rsp_done = 0;
    wqe->done = false;
    if (!(wr->flags & ERNIC_WRF_LOCAL)) {
        wqe->npsn = ernic_qp_datagrams(qp) ? 1 :
                    MAX(DIV_ROUND_UP(wqe->len, ernic_qp_mtu(qp)), 1u);
        sq->ssn = (sq->ssn + 1) & ERNIC_MSN_MASK;
    }
    sq->started++;
    trace_ernic_send_start(qp->qpn, wqe->index, wr->name, wqe->len,
                           wqe->first_psn);
    return ERNIC_REQ_AGAIN;
}

/* Decode the next request of the ring, if there is one and the window has room. */
static ErnicReqStep req_next_wqe(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    if (!ernic_qp_may(qp, ERNIC_MAY_NEXT_SEND)) {
        return req_block(qp, ERNIC_BLOCKED_STATE);
    }
    if (sq->fetched - sq->wq.ci > sq->window_mask) {
        return req_block(qp, ERNIC_BLOCKED_WINDOW);
    }
    return req_fetch_wqe(e, qp) ? ERNIC_REQ_AGAIN :
                                  req_block(qp, ERNIC_BLOCKED_EMPTY);
}

static ErnicReqStep req_one(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    ErnicPath path;
    const ErnicWr *wr;
    ErnicWqe *wqe;

    if (sq->next == sq->fetched) {
        return req_next_wqe(e, qp);
    }
    wqe = ernic_sq_slot(qp, sq->next);
    wr = ernic_wr(wqe->opcode);
    if (sq->next == sq->started) {
        return req_start(e, qp, wqe, wr);
    }
    if (wqe->fault) {
        return req_block(qp, ERNIC_BLOCKED_FENCE);
    }
    if (wr->flags & ERNIC_WRF_LOCAL) {
        return req_local(e, qp, wqe);
    }
    if (qp->transport == ERNIC_UD) {
        return req_datagram(e, qp, wqe);
    }
    if (qp->transport == ERNIC_RAW) {
        return req_frame(e, qp, wqe);
    }
    /* The GID of the path was removed. */
    if (!ernic_qp_path(e, qp, &qp->attr.av, &path)) {
        return req_fault(e, qp, wqe, ERNIC_FAULT_SEND_AV);
    }
    return wr->flags & ERNIC_WRF_CREDIT ?
        req_read(e, qp, wqe, wr, &path) : req_data(e, qp, wqe, wr, &path);
}

ErnicReqStep ernic_requester_step(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;

    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) || sq->flushing) {
        req_block(qp, ERNIC_BLOCKED_STATE);
        return ERNIC_REQ_IDLE;
    }
    if (sq->seen_gen != sq->rewind_gen) {
        ernic_requester_rewind(qp);
    }
    if (sq->page_wait && ernic_qp_page_asked(qp)) {
        return req_block(qp, ERNIC_BLOCKED_PAGE);
    }
    sq->page_wait = false;
    if (sq->rnr_due != ERNIC_NEVER) {
        req_block(qp, ERNIC_BLOCKED_RNR);
        return ERNIC_REQ_IDLE;
    }
    if (ernic_rate_send_at(qp) > e->now) {
        req_block(qp, ERNIC_BLOCKED_RATE);
        ernic_qp_timer(e, qp);
        return ERNIC_REQ_STOP;
    }
    sq->blocked_on = ERNIC_BLOCKED_NONE;
    return req_one(e, qp);
}
