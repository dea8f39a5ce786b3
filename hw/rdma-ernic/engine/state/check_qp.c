/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariants of a queue pair: what requester, responder and completer may
 * rely on in each other's fields.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/mr_update.h"
#include "objects/srq.h"
#include "state/check.h"
#include "state/state.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/qp_transitions.h"
#include "transport/tx.h"
#include "wire/ib_tables.h"
#include "wire/psn.h"

static const ErnicQp *get(const ErnicCheck *c, uint32_t id)
{
    return &c->e->qp[id];
}

/* Bytes; never 0, which qp_attributes() finds. */
static uint32_t mtu_of(const ErnicQp *qp)
{
    return MAX(ernic_qp_mtu(qp), 1u);
}

static bool qp_number(const ErnicCheck *c, uint32_t id)
{
    /* A copy: a table shared with qp_life.c could not show a mistake in it. */
    static const uint8_t transport[ERNIC_QPT_COUNT] = {
        [ERNIC_QPT_RC] = ERNIC_RC, [ERNIC_QPT_UC] = ERNIC_UC,
        [ERNIC_QPT_UD] = ERNIC_UD, [ERNIC_QPT_GSI] = ERNIC_UD,
        [ERNIC_QPT_XRC_INI] = ERNIC_XRC, [ERNIC_QPT_XRC_TGT] = ERNIC_XRC,
        [ERNIC_QPT_RAW] = ERNIC_RAW, [ERNIC_QPT_RWQ] = ERNIC_RAW,
    };
    const ErnicQp *qp = get(c, id);

    return qp->qpn == id && qp->transport == transport[qp->type] &&
           (qp->type == ERNIC_QPT_GSI) == (id == ERNIC_QPN_GSI);
}

/* @cq is one of the owner's, or 0 where it has not @some. */
static bool cq_of(const Ernic *e, const ErnicQp *qp, uint32_t cq, bool some)
{
    return some ? cq < e->cfg.max_cq && e->cq[cq].used &&
                  e->cq[cq].uctx == qp->uctx : cq == 0;
}

/* One that registers memory (mlx5) has no domain before its first transition. */
static bool pd_of(const Ernic *e, const ErnicQp *qp)
{
    if (!qp->pd) {
        return e->mlx5 && qp->type == ERNIC_QPT_UD && qp->state == ERNIC_QPS_RESET;
    }
    return qp->pd < e->cfg.max_pd && e->pd[qp->pd].used &&
           e->pd[qp->pd].uctx == qp->uctx;
}

static bool qp_owner(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const Ernic *e = c->e;
    const ErnicConfig *cfg = &e->cfg;
    bool tgt = qp->type == ERNIC_QPT_XRC_TGT, rwq = qp->type == ERNIC_QPT_RWQ;

    if (e->regs) {
        return qp->uctx == 0 && qp->send_cq == 0 && qp->recv_cq == 0 &&
               qp->srq == 0 && (qp->type == ERNIC_QPT_RC ||
                                qp->type == ERNIC_QPT_GSI);
    }
    return ernic_check_uctx(c, qp->uctx) &&
           (qp->transport != ERNIC_RAW || cfg->raw) && !(rwq && qp->srq) &&
           pd_of(e, qp) &&
           cq_of(e, qp, qp->send_cq, !tgt && !rwq) &&
           cq_of(e, qp, qp->recv_cq, !tgt && qp->type != ERNIC_QPT_XRC_INI) &&
           (!tgt || qp->uctx == 0) &&
           (qp->srq == 0 ||
            (qp->transport != ERNIC_XRC &&
             qp->srq < cfg->max_srq && e->srq[qp->srq].used &&
             e->srq[qp->srq].uctx == qp->uctx && !e->srq[qp->srq].xrcd));
}

INVARIANT_OF(qp, qp_stopping,
      !qp->stopping || (c->e->unsettled && id >= c->e->unsettled))

static bool no_ring(const ErnicWq *wq)
{
    return wq->depth == 0 && wq->pi == 0 && wq->ci == 0 && !wq->buf.page;
}

/* A queue pair of the mlx5 interface may lack either ring; both share one buffer. */
static bool sq_ring_ok(const Ernic *e, const ErnicWq *sq, const ErnicWq *rq)
{
    if (e->mlx5 && !sq->depth) {
        return sq->pi == 0 && sq->ci == 0;
    }
    return ernic_check_wq(sq, ERNIC_SQ_STRIDE_MAX) &&
           (!e->mlx5 ||
            ernic_check_buf(&sq->buf, (uint64_t)sq->depth * sq->stride +
                                      (uint64_t)rq->depth * rq->stride));
}

static bool rq_ring_ok(const Ernic *e, const ErnicWq *rq)
{
    return e->mlx5 && !rq->depth ? no_ring(rq) : ernic_check_recv_ring(e, rq);
}

static bool qp_rings(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicWq *rq = &qp->rq.wq;
    ErnicWq sq = qp->sq.wq;

    sq.ci = ernic_sq_done(&qp->sq);     /* as pi counts */
    return ernic_check_record(c->e, &sq) && ernic_check_record(c->e, rq) &&
           (c->e->mlx5 || !qp->sq.lead) &&
           (!qp->sq.asleep || sq.record) &&
           (qp->type == ERNIC_QPT_XRC_TGT || qp->type == ERNIC_QPT_RWQ ?
                no_ring(&qp->sq.wq) && !qp->sq.lead :
                sq_ring_ok(c->e, &sq, rq)) &&
           qp->sq.wqe &&
           qp->sq.window_mask == ernic_sq_window(qp->sq.wq.depth) - 1 &&
           /* With PG332, a place taken comes back with RQCI only. */
           (!c->e->regs || rq->pi - rq->ci + qp->rq.recv_valid <= rq->depth) &&
           (qp->srq || qp->transport == ERNIC_XRC ? no_ring(rq) :
                rq_ring_ok(c->e, rq));
}

INVARIANT_OF(qp, qp_counter, ernic_counter_get(c->e, qp->counter))

/* With PG332, the places for READs are the card's: software chooses nothing. */
static bool qp_attributes(const ErnicCheck *c, uint32_t id)
{
    const ErnicQpAttr *attr = &get(c, id)->attr;
    const ErnicConfig *cfg = &c->e->cfg;

    return attr->path_mtu >= ERNIC_MTU_256 && attr->path_mtu <= cfg->mtu &&
           (!c->e->regs ||
            attr->max_dest_rd_atomic == (cfg->pg332_reads ?: ERNIC_MAX_RD_ATOMIC));
}

/* ---- send queue ------------------------------------------------------------ */

/*
 * ci <= next <= started <= fetched, none further than there is room, and the units
 * that are decoded are posted.
 */
static bool sq_counters(const ErnicCheck *c, uint32_t id)
{
    const ErnicSendQueue *sq = &get(c, id)->sq;
    uint32_t next = sq->next - sq->wq.ci, started = sq->started - sq->wq.ci;
    uint32_t fetched = sq->fetched - sq->wq.ci, done = ernic_sq_done(sq);

    return next <= started && started <= fetched &&
           fetched <= sq->window_mask + 1 && sq->taken - done <= sq->wq.pi - done;
}

/* The list has an address for each page that changes. */
static bool update_ok(const ErnicMrUpdate *u)
{
    return ernic_state_check_struct(&ernic_state_mr_update, u, "", NULL) &&
           (!u->list.len || u->list.len == u->num * 8ull);
}

/* The bytes that a request carries are those that it says. */
static bool wqe_payload_ok(const Ernic *e, const ErnicWqe *wqe, const ErnicWr *wr)
{
    /* The limits are those of the verbs interface; 1 is one of the operation. */
    uint32_t max_sge = e->mlx5 && wr->max_sge > 1 ? ERNIC_WQE_SGE : wr->max_sge;
    uint32_t max_inline = e->mlx5 ? ERNIC_WQE_INLINE : ERNIC_MAX_INLINE;
    uint64_t len = 0;
    uint32_t i;

    if (wqe->opcode == ERNIC_WR_MR_UPDATE) {
        return wqe->num_sge == 0 && update_ok(&wqe->update);
    }
    if (wr->flags & ERNIC_WRF_LOCAL) {
        return wqe->num_sge == 0;
    }
    if ((wqe->flags & ERNIC_WR_INLINE) && !wqe->num_sge) {
        return wqe->len <= max_inline &&
               (!(wr->flags & ERNIC_WRF_WORD) || wqe->len == ERNIC_ATOMIC_LEN);
    }
    for (i = 0; i < wqe->num_sge; i++) {
        len += wqe->sge[i].len;
        if ((wqe->inlined >> i & 1) && !ernic_wqe_inlined_ok(wqe, &wqe->sge[i])) {
            return false;
        }
    }
    return !(wqe->inlined >> wqe->num_sge) &&
           !wqe->inlined == !(wqe->flags & ERNIC_WR_INLINE) &&
           (!wqe->inlined || e->mlx5) &&
           wqe->num_sge <= max_sge && len == wqe->len &&
           (!(wr->flags & (ERNIC_WRF_ATOMIC | ERNIC_WRF_WORD)) ||
            len == ERNIC_ATOMIC_LEN);
}

/* Bytes of a datagram's request: raw ones, and those of PG332, are a frame. */
static bool datagram_len(const Ernic *e, const ErnicQp *qp, uint32_t len)
{
    if (qp->transport == ERNIC_RAW) {
        return len >= ERNIC_ETH_LEN && len <= ERNIC_ETH_FRAME_MAX;
    }
    return len <= (e->regs ? ERNIC_PG332_FRAME_MAX : mtu_of(qp));
}

static bool wqe_ok(const Ernic *e, const ErnicQp *qp, const ErnicWqe *wqe, uint32_t index)
{
    const ErnicWr *wr = ernic_wr(wqe->opcode);

    if (!ernic_state_check_struct(&ernic_state_wqe, wqe, "", NULL) || !wr ||
        wqe->index != index) {
        return false;
    }
    if (wqe->fault) {
        return true;            /* is completed, and nothing else */
    }
    return (wqe->opcode < ERNIC_WR_COUNT || e->mlx5) &&
           (wr->transports & (1 << qp->transport)) &&
           !(wqe->flags & ~wr->allowed) &&
           !((wr->flags & ERNIC_WRF_KERNEL) && qp->uctx) &&
           (!ernic_qp_datagrams(qp) || datagram_len(e, qp, wqe->len)) &&
           wqe_payload_ok(e, wqe, wr);
}

static bool sq_requests(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicSendQueue *sq = &qp->sq;
    uint32_t unit = ernic_sq_done(sq), i;

    if (!sq_counters(c, id)) {
        return true;            /* reported already; there is nothing to walk */
    }
    /* Their units follow each other, up to those that are not decoded. */
    for (i = sq->wq.ci; i != sq->fetched; i++) {
        const ErnicWqe *wqe = &sq->wqe[i & sq->window_mask];

        if (!wqe_ok(c->e, qp, wqe, i) || wqe->unit != unit || !wqe->units ||
            wqe->units > sq->taken - unit || (wqe->units > 1 && !c->e->mlx5)) {
            return false;
        }
        unit += wqe->units;
    }
    return unit == sq->taken;
}

/* PSNs that a request of this length needs; local requests need none. */
static uint32_t packets_of(const ErnicQp *qp, const ErnicWqe *wqe)
{
    if (ernic_wr(wqe->opcode)->flags & ERNIC_WRF_LOCAL) {
        return 0;
    }
    return ernic_qp_datagrams(qp) ? 1 :
           MAX(DIV_ROUND_UP((uint64_t)wqe->len, mtu_of(qp)), 1u);
}

/* The packets that were sent are of requests that were started, up to @end. */
static bool sent_ok(const ErnicQp *qp, uint32_t end)
{
    const ErnicSendQueue *sq = &qp->sq;

    return !ernic_qp_reliable(qp) || !ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) ||
           ernic_psn_distance(sq->una_psn, sq->max_psn) <=
           ernic_psn_distance(sq->una_psn, end);
}

/*
 * Requests that were started follow on one another, and next_psn is in, or
 * just after, the request that next names. A local request is done before next passes it
 * for the first time, so before another one starts.
 */
static bool sq_started(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicSendQueue *sq = &qp->sq;
    uint32_t psn = 0, i;

    if (!sq_counters(c, id) || !sq_requests(c, id)) {
        return true;            /* found already */
    }
    for (i = sq->wq.ci; i != sq->started; i++) {
        const ErnicWqe *wqe = &sq->wqe[i & sq->window_mask];
        uint32_t k = ernic_psn_distance(wqe->first_psn, sq->next_psn);
        bool passed = i + 1 != sq->started || sq->next == sq->started;

        if (wqe->npsn != packets_of(qp, wqe) ||
            (!wqe->npsn && !wqe->done && passed) ||
            (i != sq->wq.ci && wqe->first_psn != psn) ||
            (i == sq->next && k && k >= wqe->npsn)) {
            return false;
        }
        psn = ernic_psn_add(wqe->first_psn, wqe->npsn);
    }
    return sq->started == sq->wq.ci ||
           ((sq->next != sq->started || psn == sq->next_psn) && sent_ok(qp, psn));
}

/* una <= next <= max, and no more in flight than half the circle. */
static bool sq_psn(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicSendQueue *sq = &qp->sq;

    if (!ernic_qp_reliable(qp)) {
        return sq->next_psn == sq->max_psn;
    }
    return ernic_psn_distance(sq->una_psn, sq->next_psn) <=
           ernic_psn_distance(sq->una_psn, sq->max_psn) &&
           ernic_psn_distance(sq->una_psn, sq->max_psn) < 1u << 23;
}

/* None was obeyed that was not asked for: the queue would miss the next one. */
INVARIANT_OF(qp, sq_rewinds, qp->sq.rewind_gen - qp->sq.seen_gen <= INT32_MAX)

/* The oldest request that is not complete is the one that una_psn is in. */
static bool sq_una(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicSendQueue *sq = &qp->sq;
    const ErnicWqe *wqe = &sq->wqe[sq->wq.ci & sq->window_mask];

    if (!ernic_qp_reliable(qp) || !ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        return true;
    }
    if (sq->wq.ci == sq->started) {
        return sq->una_psn == sq->max_psn;
    }
    return ernic_psn_distance(wqe->first_psn, sq->una_psn) <= wqe->npsn;
}

INVARIANT_OF(qp, sq_credits, qp->sq.rd_issued - qp->sq.rd_done <= qp->attr.max_rd_atomic)

/* No deadline runs where nothing may be sent, nor one that was not set. */
static bool sq_deadlines(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);

    if ((!qp->attr.timeout && qp->sq.ack_due != ERNIC_NEVER) ||
        (qp->sq.leaving && (qp->sq.ack_due == ERNIC_NEVER ||
                            qp->sq.leave_by == ERNIC_NEVER))) {
        return false;
    }
    return ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) ||
           (qp->sq.ack_due == ERNIC_NEVER && qp->sq.rnr_due == ERNIC_NEVER);
}

/* A queue pair has packets in no train that is to come. */
INVARIANT_OF(qp, sq_train, qp->sq.tx_serial <= ernic_tx_serial(c->e))

/*
 * A queue that waits has something that ends the wait: a deadline, a requested
 * rewind, or a turn in a ring. Without it, the queue would never continue.
 */
static bool sq_wakes(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicSendQueue *sq = &qp->sq;

    return !ernic_qp_reliable(qp) || !qp->attr.timeout ||
           !ernic_qp_may(qp, ERNIC_MAY_PROC_SEND) ||
           sq->una_psn == sq->max_psn || sq->ack_due != ERNIC_NEVER ||
           sq->rnr_due != ERNIC_NEVER ||
           sq->blocked_on == ERNIC_BLOCKED_RATE ||
           (sq->page_wait && ernic_qp_page_asked(qp)) ||
           qp->in_ring[ERNIC_RING_READY] || qp->in_ring[ERNIC_RING_WAITING];
}

/* Requests that are flushed after a recovery are posted ones. */
static bool sq_flushing(const ErnicCheck *c, uint32_t id)
{
    const ErnicSendQueue *sq = &get(c, id)->sq;

    return !sq->flushing || sq->flush_to - ernic_sq_done(sq) <=
                            sq->wq.pi - ernic_sq_done(sq);
}

INVARIANT_OF(qp, sq_drained, !qp->sq_drained ||
      (qp->state == ERNIC_QPS_SQD && qp->sq.wq.ci == qp->sq.started))

static bool sq_rate(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = &c->e->qp[id];

    return qp->sq.cwnd >= ERNIC_CWND_MIN &&
           (!qp->cc.limited || qp->cc.rate > 0) &&
           (qp->type == ERNIC_QPT_RAW || !qp->attr.rate_limit) &&
           (qp->attr.rate_limit || !qp->sq.rate_at);
}

/* ---- receive queue --------------------------------------------------------- */

/* @qp takes receive requests: of its own, its SRQ, or the SRQ that a packet names. */
static bool receives(const ErnicQp *qp)
{
    return qp->rq.wq.depth || qp->srq || qp->type == ERNIC_QPT_XRC_TGT;
}

static bool rq_request(const ErnicCheck *c, uint32_t id)
{
    const ErnicRecv *recv = &get(c, id)->rq.recv;
    uint64_t len = 0;
    uint32_t i;

    if (!get(c, id)->rq.recv_valid) {
        return true;
    }
    if (!receives(get(c, id))) {
        return false;
    }
    for (i = 0; i < recv->num_sge; i++) {
        len += recv->sge[i].len;
    }
    if (get(c, id)->type == ERNIC_QPT_XRC_TGT &&
        !ernic_srq_in_domain(c->e, get(c, id)->rq.xrc_srq, get(c, id)->pd)) {
        return false;
    }
    return recv->len == MIN(len, UINT32_MAX);
}

/* An open message has not gone beyond what it goes into. */
static bool rq_message(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicRecvQueue *rq = &qp->rq;

    switch (rq->open) {
    case ERNIC_CL_NONE:
        return true;
    case ERNIC_CL_SEND:
        return !ernic_qp_may(qp, ERNIC_MAY_PROC_RECV) ||
               (rq->recv_valid && !rq->recv.fault &&
                rq->off <= rq->recv.len);
    case ERNIC_CL_WRITE:
        return rq->off <= rq->dmalen;
    default:
        return false;
    }
}

static bool rd_entry_ok(const ErnicQp *qp, const ErnicRdRes *rd)
{
    uint64_t mtu = mtu_of(qp);
    uint32_t npsn = rd->atomic ? 1 : MAX(DIV_ROUND_UP(rd->len, mtu), 1u);

    return ernic_state_check_struct(&ernic_state_rd_res, rd, "", NULL) &&
           rd->npsn == npsn && rd->start <= rd->next && rd->next <= rd->end &&
           rd->end <= rd->npsn && (!rd->pending || rd->next < rd->end) &&
           rd->stop >= rd->start * mtu && rd->stop <= rd->len &&
           rd->end == MAX(DIV_ROUND_UP(rd->stop, mtu), rd->start + 1);
}

static bool rd_ring(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    uint32_t pending = 0, size = qp->attr.max_dest_rd_atomic, i;

    for (i = 0; i < ERNIC_MAX_RD_ATOMIC; i++) {
        const ErnicRdRes *rd = &qp->rd[i];

        if (!rd->used) {
            if (rd->pending) {
                return false;
            }
            continue;
        }
        if (i >= size || !rd_entry_ok(qp, rd)) {
            return false;
        }
        pending += rd->pending;
    }
    return pending == qp->ack.rd_pending && qp->rq.rd_head < MAX(size, 1u);
}

static bool ack_state(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);
    const ErnicAckState *ack = &qp->ack;
    uint8_t kind = ack->nak & ERNIC_AETH_KIND_MASK;
    bool reliable = ack->owed || ack->due || ack->nak || ack->fault ||
                    ack->rd_pending;

    if ((reliable && !ernic_qp_reliable(qp)) ||
        (ack->cnp_owed && ernic_qp_datagrams(qp))) {
        return false;
    }
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_RECV) &&
        (reliable || ack->cnp_owed)) {
        return false;
    }
    /* Every queue pair of PG332 stops without a last ACK. */
    if (ack->last.owed && (!ernic_qp_reliable(qp) || c->e->regs ||
                           qp->state != ERNIC_QPS_ERR)) {
        return false;
    }
    if (!ack->nak) {
        return !ack->fault;
    }
    return kind == ERNIC_AETH_RNR_NAK || kind == ERNIC_AETH_NAK;
}

/* ---- whole ----------------------------------------------------------------- */

/* The heap wakes the queue pair no later than its own deadlines. */
INVARIANT_OF(qp, qp_deadline, qp->timer_due <= MIN(qp->sq.ack_due, qp->sq.rnr_due) &&
      (!qp->ack.due || qp->timer_due <= qp->ack.due))

/* Only a queue pair in Error polls for receive requests, at intervals that double. */
static bool qp_flush_wait(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = &c->e->qp[id];

    return !qp->flush_wait ||
           (ernic_qp_may(qp, ERNIC_MAY_FLUSH_RECV) && !ernic_qp_uses_srq(qp) &&
            c->e->interface->polls_recv(qp) && qp->flush_wait >= ERNIC_FLUSH_POLL_NS &&
            qp->flush_wait <= ERNIC_FLUSH_POLL_NS * ERNIC_FLUSH_POLL_MAX);
}

INVARIANT_OF(qp, qp_events,
      ernic_check_events(c, ERNIC_EVC_QP, id, &qp->events, c->e->async_eq))

/* No send request was posted since the reset. */
static bool sq_untouched(const ErnicSendQueue *sq)
{
    return sq->wq.pi == 0 && sq->wq.ci == 0 && sq->lead == 0 &&
           sq->next == 0 && sq->started == 0 && sq->fetched == 0;
}

/* No packet was received since the reset. */
static bool rq_untouched(const ErnicQp *qp)
{
    uint32_t i;

    for (i = 0; i < ERNIC_MAX_RD_ATOMIC; i++) {
        if (qp->rd[i].used) {
            return false;
        }
    }
    return !qp->rq.recv_valid && qp->rq.open == ERNIC_CL_NONE;
}

static bool qp_state(const ErnicCheck *c, uint32_t id)
{
    const ErnicQp *qp = get(c, id);

    switch (qp->state) {
    case ERNIC_QPS_RESET:
        return sq_untouched(&qp->sq) && rq_untouched(qp) &&
               qp->rq.wq.pi == 0 && qp->rq.wq.ci == 0;
    case ERNIC_QPS_INIT:
        return sq_untouched(&qp->sq) && rq_untouched(qp);
    case ERNIC_QPS_RTR:
        return sq_untouched(&qp->sq);
    case ERNIC_QPS_SQE:
        return !ernic_qp_reliable(qp);
    default:
        return true;
    }
}

const ErnicInvariants ernic_invariants_qp = INVARIANTS(
    { "qp-number", qp_number },
    { "qp-owner", qp_owner },
    { "qp-stopping", qp_stopping },
    { "qp-rings", qp_rings },
    { "qp-counter", qp_counter },
    { "qp-attributes", qp_attributes },
    { "qp-state", qp_state },
    { "qp-deadline", qp_deadline },
    { "qp-flush-wait", qp_flush_wait },
    { "qp-events", qp_events },
    { "sq-counters", sq_counters },
    { "sq-requests", sq_requests },
    { "sq-started", sq_started },
    { "sq-psn", sq_psn },
    { "sq-rewinds", sq_rewinds },
    { "sq-una", sq_una },
    { "sq-credits", sq_credits },
    { "sq-deadlines", sq_deadlines },
    { "sq-train", sq_train },
    { "sq-wakes", sq_wakes },
    { "sq-flushing", sq_flushing },
    { "sq-drained", sq_drained },
    { "sq-rate", sq_rate },
    { "rq-request", rq_request },
    { "rq-message", rq_message },
    { "rd-ring", rd_ring },
    { "ack-state", ack_state }
);
