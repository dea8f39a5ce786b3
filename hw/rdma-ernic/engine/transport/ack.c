/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sends what the responder owes, in the order of PSNs: READ and atomic responses
 * first, then one NAK or one ACK for everything before it (coalesced), and a CNP for a
 * marked packet.
 */
#include "qemu/osdep.h"
#include "objects/counter.h"
#include "objects/dma.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/cc.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/responder_resources.h"
#include "transport/read_slots.h"
#include "transport/sched.h"
#include "transport/tx.h"
#include "wire/psn.h"

static void ack_fill(Ernic *e, ErnicQp *qp, ErnicPkt *pkt, ErnicOp op,
                     uint32_t psn)
{
    memset(pkt, 0, sizeof(*pkt));
    pkt->transport = qp->transport;
    pkt->op = ernic_opcode_row(op);
    pkt->migreq = true;
    pkt->pkey = ernic_qp_pkey(e, qp);
    pkt->dest_qp = qp->attr.dest_qpn;
    pkt->psn = psn;
    pkt->syndrome = ERNIC_AETH_ACK | ERNIC_AETH_CREDIT_NONE;
    pkt->msn = qp->rq.msn;
}

/* ATOMIC WRITE and FLUSH are answered like a READ of 0 bytes (A19.4). */
static ErnicOp ack_rd_op(const ErnicRdRes *rd)
{
    bool first = rd->next == rd->start, last = rd->next + 1 == rd->end;

    if (rd->atomic &&
        (rd->op == ERNIC_OP_COMPARE_SWAP || rd->op == ERNIC_OP_FETCH_ADD)) {
        return ERNIC_OP_ATOMIC_ACK;
    }
    return first ? last ? ERNIC_OP_READ_RSP_ONLY : ERNIC_OP_READ_RSP_FIRST :
                   last ? ERNIC_OP_READ_RSP_LAST : ERNIC_OP_READ_RSP_MIDDLE;
}

/*
 * The memory of @rd failed: send a NAK in place of the response, then enter Error. A
 * response that was complete before is dropped instead: the request may be a late
 * duplicate, and software may have deregistered the memory since.
 */
static void ack_read_fault(Ernic *e, ErnicQp *qp, ErnicRdRes *rd, ErnicDma dma)
{
    ErnicFault fault = dma == ERNIC_DMA_PROT ? ERNIC_FAULT_REM_ACCESS :
                                               ERNIC_FAULT_REM_DMA;

    if (rd->again) {
        ernic_rd_drop(qp, rd);
        return;
    }
    ernic_rd_drop_all(qp);
    ernic_qp_note_fault(e, qp, NULL, fault);
    qp->ack.nak = ernic_fault_info(fault)->syndrome;
    qp->ack.nak_psn = ernic_psn_add(rd->psn, rd->next);
    qp->ack.fault = fault;
}

/* The data cannot be read. False: wait for a page. */
static bool ack_no_memory(Ernic *e, ErnicQp *qp, ErnicRdRes *rd, ErnicDma dma,
                          uint32_t ahead)
{
    if (dma == ERNIC_DMA_ABSENT) {
        e->absent.len += ahead;
        if (ernic_qp_page_fault(e, qp)) {
            qp->ack.page_wait = true;
            return false;
        }
        dma = ERNIC_DMA_PROT;
    }
    ack_read_fault(e, qp, rd, dma);
    return true;
}

/*
 * Send one packet of the response @rd. False: the link is busy, a page is absent, or
 * the response needs a read slot.
 */
static bool ack_rd_packet(Ernic *e, ErnicQp *qp, ErnicRdRes *rd,
                          const ErnicPath *path)
{
    uint32_t mtu = ernic_qp_mtu(qp);
    uint64_t off = (uint64_t)rd->next * mtu;
    uint8_t *payload;
    ErnicDma dma;
    ErnicPkt pkt;
    uint32_t pd;

    g_assert(rd->pending && rd->next < rd->end && (rd->atomic || off <= rd->stop));
    ack_fill(e, qp, &pkt, ack_rd_op(rd), ernic_psn_add(rd->psn, rd->next));
    pkt.msn = rd->msn;
    pkt.atomic_orig = rd->orig;
    pkt.payload_len = rd->atomic ? 0 : MIN(rd->stop - off, mtu);
    if ((!rd->atomic && !ernic_read_slots_take(e, qp)) ||
        !ernic_tx_packet(e, path, &pkt, &payload)) {
        return false;
    }
    if (!rd->atomic) {
        dma = !ernic_qp_remote_pd(e, qp, rd->xrc_srq, &pd) ? ERNIC_DMA_PROT :
              ernic_dma_remote_read(e, pd, qp->qpn, rd->rkey, rd->va + off,
                                    payload, pkt.payload_len);
        if (dma != ERNIC_DMA_OK) {
            return ack_no_memory(e, qp, rd, dma,
                                 rd->stop - off - pkt.payload_len);
        }
    }
    ernic_tx_commit(e, qp->qpn, &pkt);
    ernic_cc_sent(&qp->cc, &e->cfg, e->now, pkt.payload_len);
    if (ernic_rd_sent(qp, rd) && !rd->atomic) {
        ernic_read_slots_done(e, qp);
    }
    return true;
}

/*
 * The pending entry whose response comes first. Entries from rd_head on are in PSN
 * order, except for a FLUSH that was executed again.
 */
static ErnicRdRes *ack_oldest(ErnicQp *qp)
{
    uint32_t size = qp->attr.max_dest_rd_atomic, left = qp->ack.rd_pending, i;
    ErnicRdRes *oldest = NULL;

    for (i = 0; i < size && left; i++) {
        ErnicRdRes *rd = &qp->rd[(qp->rq.rd_head + i) % size];

        if (rd->pending) {
            oldest = !oldest || ernic_psn_diff(rd->psn, oldest->psn) < 0 ? rd : oldest;
            left--;
        }
    }
    return oldest;
}

/* Send up to a train of responses. False: blocked. */
static bool ack_responses(Ernic *e, ErnicQp *qp, const ErnicPath *path)
{
    uint32_t sent;

    for (sent = 0; qp->ack.rd_pending && sent < ERNIC_TRAIN_PACKETS; sent++) {
        ErnicRdRes *rd = ack_oldest(qp);

        g_assert(rd);
        if (ernic_cc_send_at(&qp->cc) > e->now) {
            ernic_qp_timer(e, qp);
            return false;
        }
        if (!ack_rd_packet(e, qp, rd, path)) {
            return false;
        }
    }
    return true;
}

/* Send the ACK or NAK that is owed. False: the link is busy. */
static bool ack_one(Ernic *e, ErnicQp *qp, const ErnicPath *path)
{
    uint8_t *payload;
    ErnicPkt pkt;

    ack_fill(e, qp, &pkt, ERNIC_OP_ACK, ernic_psn_add(qp->rq.epsn, -1));
    if (qp->ack.nak) {
        pkt.psn = qp->ack.nak_psn;
        pkt.syndrome = qp->ack.nak;
    }
    if (!ernic_tx_packet(e, path, &pkt, &payload)) {
        return false;
    }
    ernic_tx_commit(e, qp->qpn, &pkt);
    trace_ernic_tx_ack(qp->qpn, pkt.psn, pkt.syndrome, pkt.msn);
    qp->ack.owed = false;
    qp->ack.due = 0;                /* a NAK acknowledges all before it */
    qp->ack.count = 0;
    if (!qp->ack.nak) {
        ERNIC_COUNT(e, qp, tx_acks);
    } else if (qp->ack.nak < ERNIC_AETH_NAK) {
        ERNIC_COUNT(e, qp, tx_rnr_naks);
    } else {
        ERNIC_COUNT(e, qp, tx_naks);
    }
    qp->ack.nak = 0;
    return true;
}

/* Send a congestion notification packet (A17.9.3): only a BTH, of no transport. */
static bool ack_cnp(Ernic *e, ErnicQp *qp, const ErnicPath *path)
{
    uint8_t *payload;
    ErnicPkt pkt;

    if (qp->rq.cnp_due > e->now) {
        qp->ack.cnp_owed = false;
        return true;
    }
    ack_fill(e, qp, &pkt, ERNIC_OP_ACK, 0);
    pkt.transport = ERNIC_RC;
    pkt.op = ernic_opcode(ERNIC_BTH_CNP);
    pkt.migreq = false;
    pkt.becn = true;
    if (!ernic_tx_packet(e, path, &pkt, &payload)) {
        return false;
    }
    ernic_tx_commit(e, qp->qpn, &pkt);
    trace_ernic_tx_cnp(qp->qpn);
    e->stats.tx_cnps++;
    qp->ack.cnp_owed = false;
    qp->rq.cnp_due = e->now + ERNIC_CNP_INTERVAL_NS;
    return true;
}

void ernic_ack_reset(ErnicQp *qp)
{
    uint16_t rd_pending = qp->ack.rd_pending;

    qp->ack = (ErnicAckState) { .rd_pending = rd_pending };
    qp->rq.cnp_due = 0;
}

void ernic_ack_stop(ErnicQp *qp)
{
    uint16_t rd_pending = qp->ack.rd_pending;
    ErnicLastAck last = qp->ack.last;

    qp->ack = (ErnicAckState) { .rd_pending = rd_pending, .last = last };
}

void ernic_ack_owe(Ernic *e, ErnicQp *qp)
{
    qp->ack.owed = true;
    ernic_sched_mark(e, qp);
}

void ernic_ack_owe_within(Ernic *e, ErnicQp *qp, uint64_t delay)
{
    delay = delay ?: ernic_timed_coalesce(e, &qp->ack.count);
    if (!delay) {
        ernic_ack_owe(e, qp);
    } else if (delay != ERNIC_NEVER && !qp->ack.due) {
        qp->ack.due = e->now + delay;
        ernic_qp_timer(e, qp);
    }
}

void ernic_ack_owe_nak(Ernic *e, ErnicQp *qp, uint8_t syndrome, ErnicFault fault)
{
    qp->ack.nak = syndrome;
    qp->ack.nak_psn = qp->rq.epsn;
    qp->ack.fault = fault;
    ernic_sched_mark(e, qp);
}

void ernic_ack_cancel_nak(ErnicQp *qp)
{
    qp->ack.nak = 0;
}

void ernic_ack_owe_cnp(Ernic *e, ErnicQp *qp)
{
    qp->ack.cnp_owed = true;
    ernic_sched_mark(e, qp);
}

ErnicFault ernic_ack_take_fault(ErnicQp *qp)
{
    ErnicFault fault = qp->ack.fault;

    qp->ack.fault = ERNIC_FAULT_NONE;
    return fault;
}

void ernic_ack_due(Ernic *e, ErnicQp *qp)
{
    if (qp->ack.due && qp->ack.due <= e->now) {
        trace_ernic_ack_due(qp->qpn, qp->rq.epsn);
        qp->ack.due = 0;
        qp->ack.owed = true;
    }
}

/*
 * Find the last acknowledgement of @qp, which stops responding; false: none. Responses
 * are no longer sent, and an ACK past an unsent response would be an implied NAK of it.
 * So only requests before the first unsent response are acknowledged, unless that
 * response has begun, which acknowledged them. A NAK that is owed takes the place of
 * the ACK, except a NAK that ends the queue pair: its fault would take effect.
 */
static bool ack_find_last(ErnicQp *qp, ErnicLastAck *last)
{
    const ErnicAckState *ack = &qp->ack;
    const ErnicRdRes *rd = ack_oldest(qp);

    *last = (ErnicLastAck) {
        .owed = true, .syndrome = ERNIC_AETH_ACK | ERNIC_AETH_CREDIT_NONE,
        .psn = ernic_psn_add(qp->rq.epsn, -1), .msn = qp->rq.msn,
    };
    if (!ack->owed && !ack->due && !ack->nak && !rd) {
        return false;
    }
    if (rd) {
        last->psn = ernic_psn_add(rd->psn, -1);
        last->msn = (rd->msn - 1) & ERNIC_MSN_MASK;
        return !rd->again && rd->next == rd->start;
    }
    if (ack->nak && !ack->fault) {
        last->psn = ack->nak_psn;
        last->syndrome = ack->nak;
    }
    return !ack->fault || ack->nak_psn == qp->rq.epsn;
}

static void ack_leave(Ernic *e, ErnicQp *qp)
{
    const ErnicLastAck *last = &qp->ack.last;
    ErnicTx *tx = e->tx;
    ErnicPath path;

    if (!ernic_qp_path(e, qp, &qp->attr.av, &path)) {
        return;
    }
    g_assert(tx->num_left <= ERNIC_LAST_ACKS);
    if (tx->num_left == ERNIC_LAST_ACKS) {
        trace_ernic_last_ack_lost(qp->qpn, last->psn);
        return;
    }
    tx->left[tx->num_left++] = (ErnicLeftAck) {
        .path = path, .qpn = qp->qpn, .dest_qp = qp->attr.dest_qpn,
        .psn = last->psn, .msn = last->msn, .pkey = ernic_qp_pkey(e, qp),
        .transport = qp->transport, .syndrome = last->syndrome,
    };
}

void ernic_ack_last(Ernic *e, ErnicQp *qp, bool going)
{
    if (!qp->ack.last.owed && !ack_find_last(qp, &qp->ack.last)) {
        qp->ack.last.owed = false;
        return;
    }
    if (going) {
        ack_leave(e, qp);
        qp->ack.last.owed = false;
    }
}

/* Send the last ACK of a queue pair in Error. False: the link is busy. */
static bool ack_pay_last(Ernic *e, ErnicQp *qp)
{
    ErnicLastAck *last = &qp->ack.last;
    uint8_t *payload;
    ErnicPath path;
    ErnicPkt pkt;

    if (ernic_qp_path(e, qp, &qp->attr.av, &path)) {
        ack_fill(e, qp, &pkt, ERNIC_OP_ACK, last->psn);
        pkt.syndrome = last->syndrome;
        pkt.msn = last->msn;
        if (!ernic_tx_packet(e, &path, &pkt, &payload)) {
            return false;
        }
        ernic_tx_commit(e, qp->qpn, &pkt);
        trace_ernic_tx_ack(qp->qpn, pkt.psn, pkt.syndrome, pkt.msn);
        if (last->syndrome < ERNIC_AETH_RNR_NAK) {
            ERNIC_COUNT(e, qp, tx_acks);
        } else if (last->syndrome < ERNIC_AETH_NAK) {
            ERNIC_COUNT(e, qp, tx_rnr_naks);
        } else {
            ERNIC_COUNT(e, qp, tx_naks);
        }
    }
    memset(last, 0, sizeof(*last));
    return true;
}

void ernic_ack_left(Ernic *e)
{
    ErnicTx *tx = e->tx;
    uint32_t n;

    for (n = 0; n < tx->num_left; n++) {
        const ErnicLeftAck *left = &tx->left[n];
        ErnicPkt pkt = {
            .transport = left->transport, .migreq = true, .pkey = left->pkey,
            .op = ernic_opcode_row(ERNIC_OP_ACK),
            .dest_qp = left->dest_qp, .psn = left->psn, .msn = left->msn,
            .syndrome = left->syndrome,
        };
        uint8_t *payload;

        if (!ernic_tx_packet(e, &left->path, &pkt, &payload)) {
            break;
        }
        ernic_tx_commit(e, 0, &pkt);    /* its number may be another queue pair's by
                                           now */
        trace_ernic_tx_ack(left->qpn, pkt.psn, pkt.syndrome, pkt.msn);
        if (left->syndrome < ERNIC_AETH_RNR_NAK) {
            e->stats.tx_acks++;
        } else if (left->syndrome < ERNIC_AETH_NAK) {
            e->stats.tx_rnr_naks++;
        } else {
            e->stats.tx_naks++;
        }
    }
    if (n) {
        tx->num_left -= n;
        memmove(tx->left, tx->left + n, tx->num_left * sizeof(tx->left[0]));
        memset(tx->left + tx->num_left, 0, n * sizeof(tx->left[0]));
    }
}

bool ernic_ack_step(Ernic *e, ErnicQp *qp)
{
    ErnicAckState *ack = &qp->ack;
    ErnicPath path;

    if (ack->last.owed) {
        return !ack_pay_last(e, qp);
    }
    ack->page_wait &= ernic_qp_page_asked(qp) && ack->rd_pending;
    if (!ernic_qp_path(e, qp, &qp->attr.av, &path)) {
        ack->owed = false;
        ack->count = 0;
        ack->cnp_owed = false;
        ernic_rd_drop_all(qp);
        ack->nak = 0;
        return false;
    }
    if (ack->cnp_owed && !ack_cnp(e, qp, &path)) {
        return true;
    }
    if (ack->page_wait) {
        return false;           /* later ACKs wait as well */
    }
    if (ack->rd_pending && !ack_responses(e, qp, &path)) {
        /* Otherwise a timer, the answer of software or read_slots.c wakes it. */
        return !ack->page_wait && ernic_cc_send_at(&qp->cc) <= e->now &&
               !qp->in_ring[ERNIC_RING_SLOT];
    }
    if (ack->rd_pending) {
        return true;
    }
    if (ack->nak || ack->owed) {
        return !ack_one(e, qp, &path);
    }
    return false;
}
