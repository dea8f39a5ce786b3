/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of queue pairs: connected up to RTS, drained and resumed, failed,
 * flushed, reset, and connected again after the old packets are gone.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "transport/qp.h"
#include "wire/ib_tables.h"
#include "sim.h"

#define MAX_LIVES   3

bool sim_takes_recv(uint8_t op)
{
    return op == ERNIC_WR_SEND || op == ERNIC_WR_SEND_IMM ||
           op == ERNIC_WR_SEND_INV || op == ERNIC_WR_WRITE_IMM;
}

bool sim_takes_credit(uint8_t op)
{
    return op == ERNIC_WR_READ || op == ERNIC_WR_CMP_SWAP ||
           op == ERNIC_WR_FETCH_ADD || op == ERNIC_WR_ATOMIC_WRITE ||
           op == ERNIC_WR_FLUSH;
}

static bool modify_ok(SimQp *qp, struct ernic_qp_attr *attr, uint8_t state,
                      uint32_t mask)
{
    uint8_t status;

    attr->mask = cpu_to_le32(mask | ERNIC_QPA_STATE);
    attr->state = state;
    status = sim_qp_modify(qp, attr);
    if (status != ERNIC_OK) {
        sim_fail(qp->host->sim, "command", "host %u: QP %u to state %u fails "
                 "with status %u", qp->host->id, qp->qpn, state, status);
    }
    return status == ERNIC_OK;
}

static void both(SimQp *qp, void (*step)(SimQp *qp))
{
    step(qp);
    if (qp->peer) {
        step(qp->peer);
    }
}

static bool to_init(SimQp *qp)
{
    struct ernic_qp_attr attr = { .port = 1 };
    uint32_t mask = ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT;

    if (qp->type == ERNIC_QPT_UD) {
        mask |= ERNIC_QPA_QKEY;
        attr.qkey = cpu_to_le32(qp->qkey);
    } else {
        mask |= ERNIC_QPA_ACCESS;
        attr.access = ERNIC_ACCESS_REMOTE_WRITE;
        if (qp->type == ERNIC_QPT_RC) {
            attr.access |= ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC |
                           ERNIC_ACCESS_FLUSH_GLOBAL;
        }
        attr.access = cpu_to_le32(attr.access);
    }
    return modify_ok(qp, &attr, ERNIC_QPS_INIT, mask);
}

static bool to_rtr(SimQp *qp, uint32_t psn)
{
    struct ernic_qp_attr attr = { .path_mtu = qp->mtu };
    uint32_t mask = 0;

    if (qp->peer) {
        SimHost *to = qp->peer->host;

        memcpy(attr.av.dgid, to->gid[qp->gid_index].raw, 16);
        memcpy(attr.av.dmac, to->mac, 6);
        attr.av.sgid_index = qp->gid_index;
        attr.av.hop_limit = 64;
        attr.av.tclass = qp->host->sim->plan.faults.mark ? ERNIC_ECN_ECT0 : 0;
        attr.rq_psn = cpu_to_le32(psn);
        attr.dest_qpn = cpu_to_le32(qp->peer->qpn);
        mask = ERNIC_QPA_AV | ERNIC_QPA_PATH_MTU | ERNIC_QPA_DEST_QPN |
               ERNIC_QPA_RQ_PSN;
    }
    if (qp->type == ERNIC_QPT_RC) {
        attr.max_dest_rd_atomic = qp->rd_atomic;
        attr.min_rnr_timer = 1 + sim_below(&qp->rng, 16);
        mask |= ERNIC_QPA_MAX_DEST_RD_ATOMIC | ERNIC_QPA_MIN_RNR_TIMER;
    }
    return modify_ok(qp, &attr, ERNIC_QPS_RTR, mask);
}

static bool to_rts(SimQp *qp)
{
    struct ernic_qp_attr attr = { .sq_psn = cpu_to_le32(qp->sq_psn) };
    uint32_t mask = ERNIC_QPA_SQ_PSN;

    if (qp->type == ERNIC_QPT_RC) {
        attr.timeout = qp->timeout;
        attr.retry_cnt = qp->retry;
        attr.rnr_retry = qp->rnr_retry;
        attr.max_rd_atomic = qp->rd_atomic;
        mask |= ERNIC_QPA_TIMEOUT | ERNIC_QPA_RETRY_CNT | ERNIC_QPA_RNR_RETRY |
                ERNIC_QPA_MAX_RD_ATOMIC;
    }
    return modify_ok(qp, &attr, ERNIC_QPS_RTS, mask);
}

static uint32_t first_psn(SimQp *qp)
{
    /* Half of all connections reach the wrap of the PSN soon. */
    return sim_percent(&qp->rng, 50) ? 0xffffff - sim_below(&qp->rng, 64)
                                     : sim_rng(&qp->rng) & 0xffffff;
}

/* An overrun of a CQ loses completions. */
static bool may_lose(const SimQp *qp)
{
    return qp->scq->tiny || qp->rcq->tiny;
}

static bool state_is(SimQp *qp, uint8_t state)
{
    struct ernic_qp_attr attr;

    return sim_qp_query(qp, &attr) == ERNIC_OK && attr.state == state;
}

void sim_qp_to_rts(SimQp *qp)
{
    qp->rtr = false;
    sim_think_soon(qp->host);
    if (state_is(qp, ERNIC_QPS_ERR)) {
        sim_qp_failed(qp, "in Error before it was in RTS");
    } else {
        qp->rts = to_rts(qp);
    }
}

/* A connected queue pair comes up with its peer. */
void sim_qp_up(SimQp *qp)
{
    SimQp *end[2] = { qp, qp->peer };
    Sim *s = qp->host->sim;
    uint32_t psn[2] = { first_psn(qp), 0 }, n = qp->peer ? 2 : 1, i;

    if (qp->peer) {
        psn[1] = first_psn(qp->peer);
    }
    for (i = 0; i < n; i++) {
        if (!to_init(end[i])) {
            return;
        }
        end[i]->life = SIM_QP_LIVE;
        end[i]->lives++;
        end[i]->excused = may_lose(end[i]) || (end[i]->peer &&
                                               may_lose(end[i]->peer));
        if (!s->plan.late || sim_percent(&end[i]->rng, 50)) {
            sim_post_recvs(end[i]);
        }
    }
    for (i = 0; i < n; i++) {
        if (!to_rtr(end[i], psn[n - 1 - i])) {
            return;
        }
    }
    for (i = 0; i < n; i++) {
        end[i]->sq_psn = psn[i];
        sim_win_init(end[i]);
        sim_think_soon(end[i]->host);
        /* A server may wait for the first message before it goes on. */
        end[i]->rtr = end[i]->established = i && sim_percent(&qp->rng, 25);
        end[i]->rts_at = s->now + sim_range(&qp->rng, 0, SIM_MS);
        if (!end[i]->rtr) {
            sim_qp_to_rts(end[i]);
        }
    }
}

/* ---- failure ------------------------------------------------------------- */

void sim_qp_doom(SimQp *qp)
{
    qp->loss_excuse = true;
    qp->doom = MIN(qp->doom, qp->sq_done);
    qp->doom_recv = true;
}

void sim_qp_failed(SimQp *qp, const char *why)
{
    if (!qp->failed) {
        sim_log(qp->host->sim, "host %u: QP %u failed: %s", qp->host->id,
                qp->qpn, why);
        qp->host->sim->stats.failures++;
        qp->failed = true;
        if (qp->peer) {
            /* Its packets find no queue pair from here on. */
            sim_qp_doom(qp->peer);
        }
        sim_think_soon(qp->host);
    }
}

void sim_qp_to_error(SimQp *qp)
{
    struct ernic_qp_attr attr = { };

    qp->doom = MIN(qp->doom, qp->sq_done);
    qp->doom_recv = true;
    qp->life = SIM_QP_FLUSHING;
    if (modify_ok(qp, &attr, ERNIC_QPS_ERR, 0) && sim_percent(&qp->rng, 30)) {
        sim_post_sends(qp, 2);          /* flushed like the others */
    }
    qp->rts = false;
    sim_think_soon(qp->host);
}

static void forget_msg(SimMsg *m)
{
    if (!m->done && m->posted) {
        sim_win_done(m, false);
    }
    if (m->posted && !m->closed) {
        sim_sg_free(&m->sg);
        if (m->remote.mr && m->remote.got_len) {
            sim_piece_free(&m->remote);
        }
        m->closed = true;
    }
}

/*
 * Forget all posted requests, and those with which the peer could still write.
 */
static void forget(SimQp *qp)
{
    uint32_t i;

    for (i = 0; i < qp->msgs->len; i++) {
        forget_msg(g_ptr_array_index(qp->msgs, i));
    }
    for (i = 0; i < qp->extra->len; i++) {
        forget_msg(g_ptr_array_index(qp->extra, i));
    }
    for (i = 0; i < qp->rq_depth; i++) {
        if (qp->rq_slot[i].posted) {
            sim_sg_free(&qp->rq_slot[i].sg);
            qp->rq_slot[i].posted = false;
        }
    }
    if (qp->atomic.mr) {
        sim_piece_free(&qp->atomic);
    }
}

static void to_reset(SimQp *qp, bool destroy)
{
    struct ernic_qp_attr attr = { };

    qp->host->sim->stats.resets++;
    if (destroy) {
        sim_qp_destroy(qp);
    } else {
        modify_ok(qp, &attr, ERNIC_QPS_RESET, 0);
        qp->life = SIM_QP_RESET;
    }
    qp->rts = false;
}

/* Reset both ends at once: no packet in flight finds either of them again. */
static void reset_pair(SimQp *qp, bool destroy)
{
    SimQp *end[2] = { qp, qp->peer };
    Sim *s = qp->host->sim;
    uint32_t n = qp->peer ? 2 : 1, i;

    for (i = 0; i < n; i++) {
        sim_poll_all(end[i]->host);
    }
    for (i = 0; i < n; i++) {
        to_reset(end[i], destroy);
    }
    both(qp, sim_check_epoch);
    both(qp, forget);
    both(qp, sim_win_drop);
    sim_at(s, s->now + sim_wire_lifetime(s), SIM_EV_RECONNECT, qp->host, qp,
           s->jumps);
}

/*
 * Whether all posted requests have completed. Nothing reports unsignalled requests that
 * succeeded just before the error: software gives them up.
 */
bool sim_qp_flushed(const SimQp *qp)
{
    const ErnicQp *q = &qp->host->e->qp[qp->qpn];
    uint32_t i;

    for (i = qp->sq_done; i != qp->sq_pi; i++) {
        const SimMsg *m = qp->sq_slot[i % qp->sq_depth];

        if ((m->flags & ERNIC_WR_SIGNALED) || qp->sig_all || qp->sq_error ||
            q->sq.wq.ci != qp->sq_pi) {
            return false;
        }
    }
    return qp->srq || qp->rq_done == qp->rq_pi;
}

void sim_qp_teardown(SimQp *qp, SimStep how)
{
    SimQp *peer = qp->peer;

    if (qp->life != SIM_QP_LIVE || (peer && peer->life != SIM_QP_LIVE)) {
        return;
    }
    /* A request taken from an SRQ is returned only through Error. */
    if (qp->srq || (peer && peer->srq)) {
        how = SIM_STEP_ERROR;
    }
    if (how != SIM_STEP_ERROR) {
        reset_pair(qp, how == SIM_STEP_DESTROY);
        return;
    }
    sim_qp_to_error(qp);
    if (peer) {
        sim_qp_to_error(peer);
    }
}

static bool cq_dead(const SimQp *qp)
{
    return qp->scq->overrun || qp->rcq->overrun;
}

void sim_qp_reconnect(SimQp *qp)
{
    SimQp *end[2] = { qp, qp->peer };
    uint32_t n = qp->peer ? 2 : 1, i;

    if (qp->host->reset || (qp->peer && qp->peer->host->reset)) {
        return;
    }
    for (i = 0; i < n; i++) {
        SimQp *q = end[i];

        q->epoch++;
        q->planned -= q->next;
        sim_record_clear(q->host, q->sq_record);
        sim_record_clear(q->host, q->rq_record);
        q->next = q->sq_pi = q->sq_rung = q->sq_done = q->quiet = 0;
        q->rq_pi = q->rq_rung = q->rq_done = q->rx_count = q->sent_recvs = 0;
        q->out_bytes = q->recv_bytes = q->verified = q->uc_next = 0;
        q->failed = q->sqe = q->sqd = q->sq_error = false;
        q->doom_recv = q->rtr = q->established = false;
        q->loss_excuse = q->loss_static;
        q->doom = SIM_NO_INDEX;
        q->last_read = NULL;
        g_ptr_array_set_size(q->msgs, 0);
        g_ptr_array_set_size(q->extra, 0);
        g_array_set_size(q->recv_of, 0);
        memset(q->sq_slot, 0, q->sq_depth * sizeof(*q->sq_slot));
    }
    if (qp->lives >= MAX_LIVES || qp->host->sim->ending || cq_dead(qp) ||
        (qp->peer && cq_dead(qp->peer))) {
        qp->planned = 0;
        if (qp->peer) {
            qp->peer->planned = 0;
        }
        return;
    }
    qp->host->sim->stats.reconnects++;
    for (i = 0; i < n; i++) {
        if (end[i]->life == SIM_QP_NONE) {
            sim_qp_create(end[i]);
        }
    }
    sim_qp_up(qp);
}

/* ---- what a state asks for next ------------------------------------------ */

/* The send queue has drained: change an attribute and go on. */
void sim_qp_sqd_back(SimQp *qp)
{
    struct ernic_qp_attr attr = { };

    if (!qp->sqd || qp->life != SIM_QP_LIVE) {
        return;
    }
    qp->sqd = false;
    if (state_is(qp, ERNIC_QPS_ERR)) {
        sim_qp_failed(qp, "in Error when drained");
        return;
    }
    if (state_is(qp, ERNIC_QPS_SQE)) {
        return;                 /* its completion will come */
    }
    if (qp->type == ERNIC_QPT_RC) {
        attr.min_rnr_timer = 1 + sim_below(&qp->rng, 12);
        attr.timeout = qp->timeout;
        attr.retry_cnt = qp->retry;
        if (!modify_ok(qp, &attr, ERNIC_QPS_SQD, ERNIC_QPA_TIMEOUT |
                       ERNIC_QPA_MIN_RNR_TIMER | ERNIC_QPA_RETRY_CNT)) {
            return;
        }
    }
    attr.cur_state = ERNIC_QPS_SQD;
    modify_ok(qp, &attr, ERNIC_QPS_RTS, ERNIC_QPA_CUR_STATE);
    qp->rts = true;
    sim_think_soon(qp->host);
}

static void live_step(SimQp *qp)
{
    struct ernic_qp_attr attr = { };

    if (qp->sqd && !qp->sqd_asked && sim_qp_query(qp, &attr) == ERNIC_OK &&
        !attr.sq_draining) {
        sim_qp_sqd_back(qp);
    }
    if (qp->sqe) {
        if (state_is(qp, ERNIC_QPS_ERR)) {
            qp->sqe = false;
            sim_qp_failed(qp, "in Error after SQE");
        } else if (qp->sq_done == qp->sq_pi) {
            memset(&attr, 0, sizeof(attr));
            attr.cur_state = ERNIC_QPS_SQE;
            if (modify_ok(qp, &attr, ERNIC_QPS_RTS, ERNIC_QPA_CUR_STATE)) {
                qp->sqe = qp->sq_error = false;
                qp->rts = true;
                qp->doom = SIM_NO_INDEX;
            }
        }
        return;
    }
    if (qp->rtr && !qp->failed && qp->host->sim->now >= qp->rts_at) {
        sim_qp_to_rts(qp);
    }
    if (qp->failed) {
        static const SimStep how[] = { SIM_STEP_ERROR, SIM_STEP_RESET,
                                       SIM_STEP_DESTROY };

        sim_qp_teardown(qp, how[sim_below(&qp->rng, 3)]);
    }
}

void sim_qp_life(SimQp *qp)
{
    if (qp->host->sim->ending || qp->host->reset ||
        (qp->peer && qp->peer->host->reset)) {
        return;
    }
    if (qp->life == SIM_QP_LIVE) {
        live_step(qp);
    } else if (qp->life == SIM_QP_FLUSHING && (sim_qp_flushed(qp) || qp->excused) &&
               (!qp->peer || sim_qp_flushed(qp->peer) || qp->peer->excused)) {
        reset_pair(qp, sim_percent(&qp->rng, 30));
    }
}

bool sim_qp_finished(const SimQp *qp)
{
    if (qp->host->reset || (qp->peer && qp->peer->host->reset)) {
        return true;
    }
    if (qp->life == SIM_QP_NONE || qp->life == SIM_QP_RESET) {
        return !qp->planned;
    }
    return qp->life == SIM_QP_LIVE && qp->next >= qp->planned && !qp->failed &&
           qp->sq_done == qp->sq_pi && !qp->sqd && !qp->sqe && !qp->rtr &&
           (qp->type != ERNIC_QPT_RC || qp->sent_recvs == qp->peer->rx_count);
}
