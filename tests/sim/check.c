/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rules for completions: each request completes once and in order, with a
 * status that its history allows. deliver.c checks the meaning of success.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "transport/qp.h"
#include "sim.h"

/* The status of a request that is wrong on purpose. */
static uint8_t status_of_wrong(uint8_t wrong)
{
    static const uint8_t status[SIM_WRONG_COUNT_OF] = {
        [SIM_WRONG_LKEY] = ERNIC_WC_LOC_PROT_ERR,
        [SIM_WRONG_LKEY_RANGE] = ERNIC_WC_LOC_PROT_ERR,
        [SIM_WRONG_LKEY_PD] = ERNIC_WC_LOC_PROT_ERR,
        [SIM_WRONG_RECV_LKEY] = ERNIC_WC_LOC_PROT_ERR,
        [SIM_WRONG_OPCODE] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_COUNT] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_FLAGS] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_UD_AV] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_UC_READ] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_RECV_COUNT] = ERNIC_WC_LOC_QP_OP_ERR,
        [SIM_WRONG_LONG] = ERNIC_WC_LOC_LEN_ERR,
        [SIM_WRONG_RECV_SHORT] = ERNIC_WC_LOC_LEN_ERR,
        [SIM_WRONG_RKEY] = ERNIC_WC_REM_ACCESS_ERR,
        [SIM_WRONG_RKEY_RANGE] = ERNIC_WC_REM_ACCESS_ERR,
        [SIM_WRONG_RKEY_RIGHT] = ERNIC_WC_REM_ACCESS_ERR,
        [SIM_WRONG_ALIGN] = ERNIC_WC_REM_INV_REQ_ERR,
    };

    return status[wrong];
}

static bool lost_any(const SimQp *qp)
{
    return qp->host->lost_to || (qp->peer && qp->peer->host->lost_to) ||
           qp->host->e->stats.loopback_drops;
}

static bool send_error_allowed(SimQp *qp, const SimMsg *m, uint8_t status)
{
    if (qp->host->sim->plan.bad_memory || qp->excused ||
        (qp->peer && qp->peer->excused)) {
        return true;
    }
    if (m->wrong && status == status_of_wrong(m->wrong)) {
        return true;
    }
    switch (status) {
    case ERNIC_WC_WR_FLUSH_ERR:
        return qp->failed || qp->sqe || qp->doom_recv ||
               qp->life == SIM_QP_FLUSHING;
    case ERNIC_WC_RETRY_EXC_ERR:
        return qp->type == ERNIC_QPT_RC && (qp->loss_excuse || lost_any(qp));
    case ERNIC_WC_RNR_RETRY_EXC_ERR:
        return qp->type == ERNIC_QPT_RC && qp->rnr_retry < 7;
    case ERNIC_WC_REM_ACCESS_ERR:
    case ERNIC_WC_REM_INV_REQ_ERR:
    case ERNIC_WC_REM_OP_ERR:
        return qp->type == ERNIC_QPT_RC && !m->wrong && m->index >= qp->doom;
    default:
        return false;
    }
}

static bool opcode_fits(uint8_t op, uint8_t wc)
{
    static const uint8_t want[] = {
        [ERNIC_WR_SEND] = ERNIC_WC_SEND, [ERNIC_WR_SEND_IMM] = ERNIC_WC_SEND,
        [ERNIC_WR_SEND_INV] = ERNIC_WC_SEND, [ERNIC_WR_WRITE] = ERNIC_WC_WRITE,
        [ERNIC_WR_WRITE_IMM] = ERNIC_WC_WRITE, [ERNIC_WR_READ] = ERNIC_WC_READ,
        [ERNIC_WR_CMP_SWAP] = ERNIC_WC_CMP_SWAP,
        [ERNIC_WR_FETCH_ADD] = ERNIC_WC_FETCH_ADD,
        [ERNIC_WR_LOCAL_INV] = ERNIC_WC_LOCAL_INV,
        [ERNIC_WR_REG_MR] = ERNIC_WC_REG_MR,
        [ERNIC_WR_BIND_MW] = ERNIC_WC_BIND_MW,
        [ERNIC_WR_ATOMIC_WRITE] = ERNIC_WC_ATOMIC_WRITE,
        [ERNIC_WR_FLUSH] = ERNIC_WC_FLUSH,
    };

    return wc == want[op];
}

/* ---- sends --------------------------------------------------------------- */

/* Requests before @index have no completion of their own: they succeeded. */
static bool skip_quiet(SimQp *qp, uint32_t index)
{
    Sim *s = qp->host->sim;

    while (qp->sq_done != index && !s->failed) {
        SimMsg *m = qp->sq_slot[qp->sq_done % qp->sq_depth];

        if (((m->flags & ERNIC_WR_SIGNALED) || qp->sig_all ||
             qp->sq_error) && !s->plan.bad_memory && !qp->excused) {
            sim_qp_fail(qp, "completion", "request %u has none, but %u has",
                        qp->sq_done, index);
            return false;
        }
        qp->sq_done++;
        sim_msg_done(m, ERNIC_WC_SUCCESS);
    }
    return !s->failed;
}

static void send_failed(SimQp *qp, SimMsg *m, uint8_t status)
{
    Sim *s = qp->host->sim;

    sim_log(s, "host %u: QP %u request %u ends with status %u", qp->host->id,
            qp->qpn, m->index, status);
    if (!send_error_allowed(qp, m, status)) {
        sim_qp_fail(qp, "status", "request %u (op %u, wrong %u) ends with "
                    "status %u, which nothing explains", m->index, m->op,
                    m->wrong, status);
        return;
    }
    qp->sq_error = true;
    if (qp->life != SIM_QP_LIVE) {
        return;
    }
    if (qp->type == ERNIC_QPT_RC || status == ERNIC_WC_WR_FLUSH_ERR) {
        if (!qp->sqe) {
            sim_qp_failed(qp, "send error");
        }
    } else {
        qp->sqe = true;
        qp->rts = false;
        sim_think_soon(qp->host);
    }
}

static void check_send(SimQp *qp, SimCq *cq, const struct ernic_cqe *cqe)
{
    Sim *s = qp->host->sim;
    uint32_t index = le32_to_cpu(cqe->index);
    SimMsg *m;

    if (cq != qp->scq || index - qp->sq_done >= qp->sq_pi - qp->sq_done) {
        sim_qp_fail(qp, "completion", "completion of request %u; outstanding "
                    "are %u to %u", index, qp->sq_done, qp->sq_pi);
        return;
    }
    if (!skip_quiet(qp, index)) {
        return;
    }
    m = qp->sq_slot[index % qp->sq_depth];
    qp->sq_done++;
    if (le64_to_cpu(cqe->wr_id) != m->wr_id && !s->plan.bad_memory) {
        sim_qp_fail(qp, "completion", "request %u completes with another's "
                    "wr_id", index);
    } else if (cqe->status != ERNIC_WC_SUCCESS) {
        send_failed(qp, m, cqe->status);
    } else if (!opcode_fits(m->op, cqe->opcode) ||
               status_of_wrong(m->wrong) == ERNIC_WC_LOC_PROT_ERR ||
               (status_of_wrong(m->wrong) && qp->type == ERNIC_QPT_RC)) {
        sim_qp_fail(qp, "status", "request %u (op %u, wrong %u) succeeds as "
                    "opcode %u", index, m->op, m->wrong, cqe->opcode);
    } else if (!(m->flags & ERNIC_WR_SIGNALED) && !qp->sig_all) {
        sim_qp_fail(qp, "completion", "request %u was not to be signalled",
                    index);
    } else if ((m->op == ERNIC_WR_READ || m->op == ERNIC_WR_FETCH_ADD ||
                m->op == ERNIC_WR_CMP_SWAP) &&
               le32_to_cpu(cqe->byte_len) != m->len) {
        sim_qp_fail(qp, "content", "request %u of %u bytes says %u", index,
                    m->len, le32_to_cpu(cqe->byte_len));
    }
    sim_msg_done(m, cqe->status);
}

/* ---- receives ------------------------------------------------------------ */

static SimRecv *find_srq_recv(SimSrq *srq, uint32_t index)
{
    SIM_EACH(SimRecv, r, srq->out) {
        if (r->index == index) {
            if ((int32_t)(index + 1 - srq->taken) > 0) {
                srq->taken = index + 1;
            }
            return r;
        }
    }
    return NULL;
}

static SimRecv *find_recv(SimQp *qp, uint32_t index)
{
    SimRecv *r;

    if (qp->srq) {
        return find_srq_recv(qp->srq, index);
    }
    r = &qp->rq_slot[index % qp->rq_depth];
    if (index != qp->rq_done || index == qp->rq_pi) {
        return NULL;
    }
    qp->rq_done++;
    qp->recv_bytes -= r->cap;
    return r;
}

/* The send queue may have failed, and its own CQ will report that. */
bool sim_may_have_failed(const SimQp *qp)
{
    return qp->failed || qp->life == SIM_QP_FLUSHING ||
           qp->doom != SIM_NO_INDEX ||
           (qp->type == ERNIC_QPT_RC &&
            (qp->loss_excuse || qp->rnr_retry < 7 || lost_any(qp)));
}

static bool recv_error_allowed(const SimQp *qp, const SimRecv *r, uint8_t status)
{
    if (qp->host->sim->plan.bad_memory || qp->excused || qp->doom_recv) {
        return true;
    }
    if (r->wrong && status == status_of_wrong(r->wrong)) {
        return true;
    }
    return status == ERNIC_WC_WR_FLUSH_ERR && sim_may_have_failed(qp);
}

static void recv_failed(SimQp *qp, SimRecv *r, uint8_t status)
{
    if (!recv_error_allowed(qp, r, status)) {
        sim_qp_fail(qp, "status", "receive %u ends with status %u, which "
                    "nothing explains", r->index, status);
    }
    if (qp->life == SIM_QP_LIVE) {
        sim_qp_failed(qp, "receive error");
    }
}

static void check_recv(SimQp *qp, SimCq *cq, const struct ernic_cqe *cqe)
{
    Sim *s = qp->host->sim;
    uint32_t index = le32_to_cpu(cqe->index);
    SimRecv *r = cq == qp->rcq ? find_recv(qp, index) : NULL;

    if (!r) {
        sim_qp_fail(qp, "completion", "completion of receive %u; the next is "
                    "%u of %u", index, qp->rq_done, qp->rq_pi);
        return;
    }
    if (le64_to_cpu(cqe->wr_id) != r->wr_id && !s->plan.bad_memory) {
        sim_qp_fail(qp, "completion", "receive %u completes with another's "
                    "wr_id", index);
    } else if (cqe->status != ERNIC_WC_SUCCESS) {
        recv_failed(qp, r, cqe->status);
    } else {
        sim_deliver(qp, r, cqe);
    }
    sim_progress(s);
    sim_sg_shadow(&r->sg, 0);
    if (s->stats.completions > 20 && r->sg.n && r->sg.piece[0].len > 8 &&
        sim_sabotage(s, SIM_SAB_LATE_WRITE)) {
        SimPiece *p = &r->sg.piece[0];
        uint64_t run, addr = sim_mr_addr(p->mr, p->off, &run);

        sim_env_ops.dma_write(p->mr->host, addr, "late", 1);
    }
    sim_sg_free(&r->sg);
    r->posted = false;
    if (qp->srq) {
        g_ptr_array_remove_fast(qp->srq->out, r);
    }
}

void sim_check_cqe(SimCq *cq, const struct ernic_cqe *cqe)
{
    Sim *s = cq->host->sim;
    SimQp *qp = sim_find_qp(cq->host, le32_to_cpu(cqe->qpn));

    sim_log(s, "host %u: CQ %u: QP %u %s %u opcode %u status %u", cq->host->id,
            cq->cqn, le32_to_cpu(cqe->qpn),
            cqe->flags & ERNIC_CQE_RQ ? "receive" : "request",
            le32_to_cpu(cqe->index), cqe->opcode, cqe->status);
    if (!qp || qp->life == SIM_QP_RESET || cqe->opcode >= ERNIC_WC_OPCODE_COUNT ||
        cqe->status >= ERNIC_WC_STATUS_COUNT ||
        le64_to_cpu(cqe->timestamp) > s->now) {
        sim_fail(s, "completion", "host %u: completion of QP %u, opcode %u, "
                 "status %u: no such thing", cq->host->id,
                 le32_to_cpu(cqe->qpn), cqe->opcode, cqe->status);
    } else if (cqe->flags & ERNIC_CQE_RQ) {
        check_recv(qp, cq, cqe);
    } else {
        check_send(qp, cq, cqe);
    }
}

/* ---- the end of an epoch, and of everything ------------------------------ */

/* The messages that completed at the sender have been delivered. */
void sim_check_epoch(SimQp *qp)
{
    Sim *s = qp->host->sim;

    if (qp->type == ERNIC_QPT_RC && !qp->excused && !qp->peer->excused &&
        !qp->host->reset && !qp->peer->host->reset && !s->plan.bad_memory &&
        qp->peer->rx_count < qp->sent_recvs) {
        sim_qp_fail(qp, "lost", "%u messages succeeded, %u were delivered",
                    qp->sent_recvs, qp->peer->rx_count);
    }
}

/*
 * At rest, both ends of a connection agree on every counter. The responder
 * counts each piece of a long READ.
 */
void sim_check_agreement(SimQp *qp)
{
    const ErnicQp *a = &qp->host->e->qp[qp->qpn], *b;

    if (qp->type != ERNIC_QPT_RC || qp->life != SIM_QP_LIVE || qp->failed ||
        qp->peer->life != SIM_QP_LIVE || qp->peer->failed || qp->host->reset ||
        qp->peer->host->reset || a->state != ERNIC_QPS_RTS ||
        qp->host->sim->plan.bad_memory) {
        return;
    }
    b = &qp->peer->host->e->qp[qp->peer->qpn];
    if (a->sq.una_psn != a->sq.next_psn || a->sq.next_psn != b->rq.epsn ||
        (((a->sq.ssn ^ b->rq.msn) & 0xffffff) &&
         qp->max_send <= ERNIC_READ_CHUNK) ||
        qp->sent_recvs != qp->peer->rx_count) {
        sim_qp_fail(qp, "agreement", "PSN %u, acknowledged %u, peer expects "
                    "%u; %u messages sent, %u counted; %u completed, %u "
                    "delivered", a->sq.next_psn, a->sq.una_psn, b->rq.epsn,
                    a->sq.ssn, b->rq.msn, qp->sent_recvs, qp->peer->rx_count);
    }
}

/* Whether host @h always had a receive request and room for each packet. */
static bool dropped_nothing(const SimHost *h)
{
    const ErnicStats *stats = &h->e->stats;

    return !stats->loopback_drops && !stats->fault[ERNIC_FAULT_RNR] &&
           !stats->drop[ERNIC_DROP_NO_RQE] && !h->lost_to;
}

/*
 * UC guarantees nothing. But if nothing was lost, dropped, changed or done
 * wrong, every message arrives.
 */
void sim_check_unreliable(SimQp *qp)
{
    Sim *s = qp->host->sim;
    uint32_t sent = 0, i;

    if (qp->type != ERNIC_QPT_UC || s->plan.lossy || s->plan.bad_memory ||
        s->plan.overrun || s->stats.failures || s->stats.reconnects ||
        s->stats.wrong || s->stats.resets || qp->life != SIM_QP_LIVE ||
        qp->sqe || !dropped_nothing(qp->peer->host)) {
        return;
    }
    for (i = 0; i < qp->next; i++) {
        sent += sim_takes_recv(((SimMsg *)g_ptr_array_index(qp->msgs, i))->op);
    }
    s->stats.whole++;
    if (sent != qp->peer->rx_count) {
        sim_qp_fail(qp, "lost", "%u messages were sent, nothing was dropped, "
                    "but %u were delivered", sent, qp->peer->rx_count);
    }
}

static void check_qp_end(SimQp *qp)
{
    Sim *s = qp->host->sim;

    if (qp->excused || s->plan.bad_memory || qp->life == SIM_QP_NONE ||
        qp->life == SIM_QP_RESET || qp->host->reset) {
        return;
    }
    if (!sim_qp_flushed(qp)) {
        sim_qp_fail(qp, "completion", "at the end %u of %u sends, %u of %u "
                    "receives have completed", qp->sq_done, qp->sq_pi,
                    qp->rq_done, qp->rq_pi);
    }
}

void sim_check_end(Sim *s)
{
    uint32_t i;

    for (i = 0; i < s->qps->len; i++) {
        check_qp_end(g_ptr_array_index(s->qps, i));
    }
    for (i = 0; i < s->hosts && !s->failed; i++) {
        SimHost *h = &s->host[i];

        if (h->reset) {
            continue;
        }
        sim_guest_destroy_all(h);
        if (h->e->num_pages) {
            sim_fail(s, "resources", "host %u: %u pages are kept by nobody",
                     i, h->e->num_pages);
        }
    }
}
