/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests with a response of their own (READ, atomics, ATOMIC WRITE, FLUSH): they are
 * executed, and kept as long as a duplicate may arrive.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "objects/dma.h"
#include "objects/mr.h"
#include "trace.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/responder_resources.h"
#include "transport/sched.h"
#include "wire/psn.h"

/* ---- one more ------------------------------------------------------------ */

/*
 * Whether there is room for one more READ or atomic. False: the peer has more
 * outstanding than agreed on (9.7.4.1.7). A peer that asks for more has received the
 * oldest response; if that is pending again, a late duplicate has requested it.
 */
static bool rd_room(const ErnicQp *qp)
{
    const ErnicRdRes *rd = &qp->rd[qp->rq.rd_head];

    return qp->attr.max_dest_rd_atomic && (!rd->pending || rd->again);
}

/* The next entry; the caller has found rd_room(). */
static ErnicRdRes *rd_slot(ErnicQp *qp)
{
    ErnicRdRes *rd = &qp->rd[qp->rq.rd_head];
    uint32_t size = qp->attr.max_dest_rd_atomic;

    g_assert(size <= ERNIC_MAX_RD_ATOMIC && qp->rq.rd_head < size);
    g_assert(qp->ack.rd_pending >= rd->pending);
    qp->ack.rd_pending -= rd->pending;
    *rd = (ErnicRdRes) { .used = true, .npsn = 1, .end = 1 };
    qp->rq.rd_head = (qp->rq.rd_head + 1) % size;
    return rd;
}

static void rd_start(Ernic *e, ErnicQp *qp, ErnicRdRes *rd)
{
    if (!rd->pending) {
        rd->pending = true;
        qp->ack.rd_pending++;
    }
    ernic_sched_mark(e, qp);
}

static ErnicFault rd_read(Ernic *e, ErnicQp *qp, uint32_t pd,
                             const ErnicPkt *pkt)
{
    uint32_t mtu = ernic_qp_mtu(qp);
    const ErnicMr *mr;
    ErnicFault fault;
    ErnicRdRes *rd;
    uint64_t off;

    if (pkt->dma_len > ERNIC_MSG_MAX) {
        return ERNIC_FAULT_PACKET_LENGTH;
    }
    if (!e->keys->check_remote(e, pd, qp->qpn, pkt->rkey, pkt->va,
                               pkt->dma_len, ERNIC_ACCESS_REMOTE_READ, &mr,
                               &off)) {
        return ERNIC_FAULT_REM_ACCESS;
    }
    if (!rd_room(qp)) {
        return ERNIC_FAULT_RD_ATOMIC_OVERFLOW;
    }
    /*
     * An absent page is an RNR NAK (9.7.5.2.8), which spends none of the peer's
     * transport retries, as silence would. Only pages that go away after the
     * response has begun make it wait (ack.c).
     */
    fault = ernic_qp_dma_fault(e, qp,
        ernic_dma_remote_present(e, mr, off, MIN(pkt->dma_len, mtu),
                                 pkt->dma_len), true);
    if (fault) {
        return fault;
    }
    rd = rd_slot(qp);
    rd->psn = pkt->psn;
    rd->npsn = MAX(DIV_ROUND_UP(pkt->dma_len, mtu), 1u);
    rd->end = rd->npsn;
    rd->rkey = pkt->rkey;
    rd->xrc_srq = qp->rq.xrc_srq;
    rd->va = pkt->va;
    rd->len = pkt->dma_len;
    rd->stop = pkt->dma_len;
    rd->msn = (qp->rq.msn + 1) & ERNIC_MSN_MASK;
    rd_start(e, qp, rd);
    return ERNIC_FAULT_NONE;
}

/*
 * The operand of a request without a data response, besides address and comparand: the
 * new value of atomics and ATOMIC WRITE, type and length of FLUSH.
 */
static uint64_t operand_of(const ErnicPkt *pkt)
{
    switch (pkt->op->cls) {
    case ERNIC_CL_FLUSH:
        return (uint64_t)pkt->feth << 32 | pkt->dma_len;
    case ERNIC_CL_ATOMIC_WRITE:
        return ldq_le_p(pkt->payload);
    default:
        return pkt->swap_add;
    }
}

static ErnicAtomicOp atomic_op(const ErnicPkt *pkt)
{
    if (pkt->op->cls == ERNIC_CL_ATOMIC_WRITE) {
        return ERNIC_ATOMIC_WRITE;
    }
    return pkt->op->op == ERNIC_OP_COMPARE_SWAP ? ERNIC_ATOMIC_CMP_SWAP :
                                                  ERNIC_ATOMIC_FETCH_ADD;
}

/* Fill in @rd for @pkt, which one packet without data answers. */
static void rd_single(Ernic *e, ErnicQp *qp, ErnicRdRes *rd, const ErnicPkt *pkt,
                      uint64_t orig, uint32_t msn)
{
    rd->atomic = true;
    rd->psn = pkt->psn;
    rd->op = pkt->op->op;
    rd->rkey = pkt->rkey;
    rd->xrc_srq = qp->rq.xrc_srq;
    rd->va = pkt->va;
    rd->swap_add = operand_of(pkt);
    rd->compare = pkt->compare;
    rd->orig = orig;
    rd->msn = msn & ERNIC_MSN_MASK;
    rd_start(e, qp, rd);
}

/* ATOMIC WRITE carries one word, and its RETH has that length. */
static bool word_fits(const ErnicPkt *pkt)
{
    return pkt->op->cls != ERNIC_CL_ATOMIC_WRITE ||
           (pkt->dma_len == ERNIC_ATOMIC_LEN &&
            pkt->payload_len == ERNIC_ATOMIC_LEN);
}

/* Atomics and ATOMIC WRITE, which differs in its response and its access right. */
static ErnicFault rd_atomic(Ernic *e, ErnicQp *qp, uint32_t pd,
                               const ErnicPkt *pkt)
{
    ErnicFault fault;
    uint64_t orig;

    if (!word_fits(pkt)) {
        return ERNIC_FAULT_PACKET_LENGTH;
    }
    if (pkt->va % ERNIC_ATOMIC_LEN) {
        return ERNIC_FAULT_ATOMIC_ALIGN;
    }
    if (!rd_room(qp)) {
        return ERNIC_FAULT_RD_ATOMIC_OVERFLOW;
    }
    fault = ernic_qp_dma_fault(e, qp,
        ernic_dma_remote_atomic(e, pd, qp->qpn, pkt->rkey, pkt->va,
                                atomic_op(pkt), operand_of(pkt), pkt->compare,
                                &orig), true);
    if (fault) {
        return fault;
    }
    rd_single(e, qp, rd_slot(qp), pkt, orig, qp->rq.msn + 1);
    return ERNIC_FAULT_NONE;
}

/* The access right that each placement type needs, of queue pair and region (A19.4). */
uint32_t ernic_flush_rights(const ErnicPkt *pkt)
{
    return (pkt->feth & ERNIC_FETH_GLOBAL ? ERNIC_ACCESS_FLUSH_GLOBAL : 0) |
           (pkt->feth & ERNIC_FETH_PERSISTENT ? ERNIC_ACCESS_FLUSH_PERSISTENT :
                                                0);
}

/*
 * FLUSH: the data of earlier WRITEs is in memory, and visible to all, before the next
 * packet is processed. So only checks remain. Software does not report persistent
 * memory, so no region has the right to be made persistent.
 */
static ErnicFault flush_check(Ernic *e, const ErnicQp *qp, uint32_t pd,
                        const ErnicPkt *pkt)
{
    uint32_t type = pkt->feth & ERNIC_FETH_TYPE_MASK;
    uint32_t level = pkt->feth >> ERNIC_FETH_LEVEL_SHIFT & ERNIC_FETH_LEVEL_MASK;
    bool whole = level == ERNIC_FETH_MR;

    trace_ernic_flush(qp->qpn, pkt->psn, pkt->rkey, pkt->va, pkt->dma_len, type,
                      level);
    if (!type || (type & ~(ERNIC_FETH_GLOBAL | ERNIC_FETH_PERSISTENT)) ||
        level > ERNIC_FETH_MR) {
        return ERNIC_FAULT_OP_UNSUPPORTED;
    }
    if (!whole && pkt->dma_len > ERNIC_MSG_MAX) {
        return ERNIC_FAULT_PACKET_LENGTH;
    }
    return ernic_mr_check_flush(e, pd, pkt->rkey, pkt->va, pkt->dma_len, whole,
                                ernic_flush_rights(pkt)) ?
           ERNIC_FAULT_NONE : ERNIC_FAULT_REM_ACCESS;
}

static ErnicFault rd_flush(Ernic *e, ErnicQp *qp, uint32_t pd,
                              const ErnicPkt *pkt)
{
    ErnicFault fault = flush_check(e, qp, pd, pkt);

    if (fault) {
        return fault;
    }
    if (!rd_room(qp)) {
        /* Some peers do not count FLUSH among their READs: let them retry. */
        return qp->attr.max_dest_rd_atomic ? ERNIC_FAULT_RNR :
                                             ERNIC_FAULT_RD_ATOMIC_OVERFLOW;
    }
    rd_single(e, qp, rd_slot(qp), pkt, 0, qp->rq.msn + 1);
    return ERNIC_FAULT_NONE;
}

ErnicFault ernic_rd_request(Ernic *e, ErnicQp *qp, uint32_t pd, const ErnicPkt *pkt)
{
    switch (pkt->op->cls) {
    case ERNIC_CL_READ:
        return rd_read(e, qp, pd, pkt);
    case ERNIC_CL_ATOMIC:
    case ERNIC_CL_ATOMIC_WRITE:
        return rd_atomic(e, qp, pd, pkt);
    case ERNIC_CL_FLUSH:
        return rd_flush(e, qp, pd, pkt);
    default:
        return ERNIC_FAULT_OP_UNSUPPORTED;
    }
}

/* ---- duplicates ---------------------------------------------------------- */

/*
 * Find the newest entry whose response contains @psn; NULL: none. An entry that ended
 * more than half the PSN circle ago is from an earlier lap.
 */
static ErnicRdRes *rd_find(ErnicQp *qp, uint32_t psn)
{
    uint32_t size = qp->attr.max_dest_rd_atomic, i;

    for (i = 1; i <= size; i++) {
        ErnicRdRes *rd = &qp->rd[(qp->rq.rd_head + size - i) % size];
        uint32_t end = ernic_psn_add(rd->psn, rd->npsn);

        if (rd->used && ernic_psn_distance(rd->psn, psn) < rd->npsn &&
            ernic_psn_diff(end, qp->rq.epsn) <= 0) {
            return rd;
        }
    }
    return NULL;
}

/*
 * Whether the duplicate @pkt repeats the request of @rd, or (READ) the rest of it from
 * packet @k of its response on.
 */
static bool rd_match(const ErnicQp *qp, const ErnicRdRes *rd,
                     const ErnicPkt *pkt, uint32_t k)
{
    uint64_t off = (uint64_t)k * ernic_qp_mtu(qp);

    if (off > rd->len || pkt->rkey != rd->rkey || pkt->va != rd->va + off ||
        pkt->xrcsrq != rd->xrc_srq) {
        return false;
    }
    if (rd->atomic) {
        /* 9.7.5.1.3: identical in all respects. */
        return pkt->op->cls != ERNIC_CL_READ && pkt->op->op == rd->op &&
               word_fits(pkt) && operand_of(pkt) == rd->swap_add &&
               pkt->compare == rd->compare;
    }
    return pkt->op->cls == ERNIC_CL_READ && pkt->dma_len <= rd->len - off;
}

/*
 * A duplicate FLUSH without an entry: peers that do not count FLUSH among their READs
 * may have more of them outstanding than there are entries. Executing it again changes
 * nothing. Its response replaces that of another FLUSH, never one that has to be kept.
 */
static void flush_again(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRdRes *rd = qp->rd, *end = rd + qp->attr.max_dest_rd_atomic;

    while (rd != end && (rd->op != ERNIC_OP_FLUSH || !rd->atomic || rd->pending)) {
        rd++;
    }
    if (rd == end || flush_check(e, qp, qp->pd, pkt)) {
        return;
    }
    *rd = (ErnicRdRes) { .used = true, .again = true, .npsn = 1, .end = 1 };
    rd_single(e, qp, rd, pkt, 0, qp->rq.msn);
}

void ernic_rd_request_again(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    uint32_t mtu = ernic_qp_mtu(qp), k, len;
    ErnicRdRes *rd = rd_find(qp, pkt->psn);

    if (!rd && pkt->op->cls == ERNIC_CL_FLUSH) {
        flush_again(e, qp, pkt);
        return;
    }
    k = rd ? ernic_psn_distance(rd->psn, pkt->psn) : 0;
    if (!rd || !rd_match(qp, rd, pkt, k)) {
        return;
    }
    len = rd->atomic ? 0 : pkt->dma_len;
    rd->again |= !rd->pending;
    rd->start = rd->next = k;
    rd->end = k + MAX(DIV_ROUND_UP(len, mtu), 1u);
    rd->stop = k * mtu + len;
    g_assert(rd->end <= rd->npsn && rd->stop <= rd->len);
    rd_start(e, qp, rd);
}

/* ---- the ring ------------------------------------------------------------ */

void ernic_rd_reset(ErnicQp *qp)
{
    memset(qp->rd, 0, ERNIC_MAX_RD_ATOMIC * sizeof(*qp->rd));
    qp->rq.rd_head = 0;
    qp->ack.rd_pending = 0;
}

bool ernic_rd_sent(ErnicQp *qp, ErnicRdRes *rd)
{
    g_assert(rd->pending && rd->next < rd->end);
    rd->next++;
    if (rd->next != rd->end) {
        return false;
    }
    ernic_rd_drop(qp, rd);
    return true;
}

void ernic_rd_drop(ErnicQp *qp, ErnicRdRes *rd)
{
    g_assert(rd->pending && qp->ack.rd_pending);
    rd->pending = false;
    qp->ack.rd_pending--;
}

void ernic_rd_drop_all(ErnicQp *qp)
{
    uint32_t i;

    for (i = 0; i < ERNIC_MAX_RD_ATOMIC; i++) {
        qp->rd[i].pending = false;
    }
    qp->ack.rd_pending = 0;
}

void ernic_rd_resize(ErnicQp *qp, uint32_t size)
{
    uint32_t old = qp->attr.max_dest_rd_atomic, n = MIN(old, size), i;
    ErnicRdRes rd[ERNIC_MAX_RD_ATOMIC] = { };

    g_assert(old <= ERNIC_MAX_RD_ATOMIC && size <= ERNIC_MAX_RD_ATOMIC);
    qp->ack.rd_pending = 0;
    for (i = 0; i < n; i++) {
        rd[i] = qp->rd[(qp->rq.rd_head + old - n + i) % old];
        qp->ack.rd_pending += rd[i].pending;
    }
    memcpy(qp->rd, rd, sizeof(rd));
    qp->rq.rd_head = size ? n % size : 0;
}
