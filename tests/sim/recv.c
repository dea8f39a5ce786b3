/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive requests: as many as memory allows, in time, late, or wrong.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

#define GRH             40
#define RECV_BYTES      (128 * 1024)

/* Write slot @index of a ring of @stride * 64 bytes. */
static void write_slot(SimHost *h, uint64_t addr, uint32_t stride, SimRecv *r)
{
    uint8_t *p = sim_mem(h, addr);
    struct ernic_rwqe w = {
        .wr_id = cpu_to_le64(r->wr_id), .num_sge = cpu_to_le16(r->sg.n),
    };
    uint32_t i;

    memset(p, 0x5a, stride * 64);
    for (i = 0; i < r->sg.n; i++) {
        struct ernic_sge sge = sim_sge(&r->sg.piece[i]);

        if (r->wrong == SIM_WRONG_RECV_LKEY) {
            sge.lkey ^= cpu_to_le32(0x33);
        }
        memcpy(p + sizeof(w) + i * sizeof(sge), &sge, sizeof(sge));
    }
    if (r->wrong == SIM_WRONG_RECV_COUNT) {
        w.num_sge = cpu_to_le16(4 * stride);
    }
    memcpy(p, &w, sizeof(w));
}

static bool fill(SimHost *h, SimRng *r, SimRecv *recv, uint32_t index,
                 uint32_t cap)
{
    memset(recv, 0, sizeof(*recv));
    if (!sim_sg_take(h->local[0], r, cap, &recv->sg)) {
        return false;
    }
    recv->posted = true;
    recv->index = index;
    recv->cap = cap;
    recv->wr_id = sim_rng(r);
    sim_sg_shadow(&recv->sg, SIM_SH_WRITE);
    return true;
}

/* The space that receive request @k of @qp needs; false: no message comes. */
static bool room_for(SimQp *qp, uint32_t k, uint32_t *cap)
{
    SimQp *peer = qp->peer;

    if (qp->type == ERNIC_QPT_UD) {
        *cap = GRH + qp->max_send;
        return true;
    }
    if (qp->type == ERNIC_QPT_UC) {
        *cap = peer->max_send;
        return true;
    }
    while (peer->recv_of->len <= k) {
        if (peer->msgs->len >= peer->planned) {
            *cap = 64;
            return k < peer->recv_of->len + 2;
        }
        sim_msg_at(peer, peer->msgs->len);
    }
    *cap = sim_msg_at(peer, g_array_index(peer->recv_of, uint32_t, k))->len;
    *cap += sim_percent(&qp->rng, 50) ? 0 : sim_below(&qp->rng, 100);
    return true;
}

static bool post_one(SimQp *qp, uint8_t wrong)
{
    SimHost *h = qp->host;
    SimRecv *r = &qp->rq_slot[qp->rq_pi % qp->rq_depth];
    uint32_t cap;

    if (qp->rq_pi - qp->rq_done >= qp->rq_depth ||
        !room_for(qp, qp->rq_pi, &cap) ||
        (qp->recv_bytes && qp->recv_bytes + cap > RECV_BYTES)) {
        return false;
    }
    if (wrong == SIM_WRONG_RECV_SHORT) {
        cap = cap / 2;
    }
    if (!fill(h, &qp->rng, r, qp->rq_pi, cap)) {
        return false;
    }
    r->wrong = wrong;
    write_slot(h, qp->rq_ring + (uint64_t)(qp->rq_pi % qp->rq_depth) *
               qp->rq_stride * 64, qp->rq_stride, r);
    qp->recv_bytes += cap;
    qp->rq_pi++;
    return true;
}

static void ring(SimQp *qp)
{
    if (qp->rq_record) {
        sim_record(qp->host, qp->rq_record, qp->rq_rung, qp->rq_pi);
    } else if (qp->rq_rung != qp->rq_pi) {
        sim_ring(qp->host, qp->host->uctx, ERNIC_DB_RQ, qp->qpn, qp->rq_pi);
    }
    qp->rq_rung = qp->rq_pi;
}

bool sim_post_recvs(SimQp *qp)
{
    Sim *s = qp->host->sim;
    uint32_t burst = 1 + sim_below(&qp->rng, qp->rq_depth);
    bool did = false, late = s->plan.late && !s->fair;

    if (qp->srq || s->ending ||
        (qp->life != SIM_QP_LIVE && qp->life != SIM_QP_FLUSHING) ||
        (late && s->now < qp->recv_at) ||
        (qp->life == SIM_QP_FLUSHING && sim_percent(&qp->rng, 90))) {
        return false;
    }
    while (burst-- && post_one(qp, SIM_RIGHT)) {
        did = true;
    }
    ring(qp);
    if (late) {
        qp->recv_at = s->now + sim_range(&qp->rng, 10 * SIM_US, 2 * SIM_MS);
    }
    return did;
}

/* A bad receive request ends the connection that uses it. */
void sim_post_wrong_recv(SimQp *qp)
{
    static const uint8_t kinds[] = { SIM_WRONG_RECV_LKEY, SIM_WRONG_RECV_SHORT,
                                     SIM_WRONG_RECV_COUNT };
    uint8_t wrong = kinds[sim_below(&qp->rng, 3)];
    uint32_t cap;

    if (qp->type != ERNIC_QPT_RC || qp->srq || qp->life != SIM_QP_LIVE ||
        !room_for(qp, qp->rq_pi, &cap) || cap < 2 ||
        qp->rq_pi >= qp->peer->recv_of->len || !post_one(qp, wrong)) {
        return;
    }
    sim_qp_doom(qp);
    sim_qp_doom(qp->peer);
    qp->host->sim->stats.wrong++;
    sim_log(qp->host->sim, "host %u: QP %u: wrong receive request %u, kind %u",
            qp->host->id, qp->qpn, qp->rq_pi - 1, wrong);
    ring(qp);
}

bool sim_post_srq(SimSrq *srq)
{
    SimHost *h = srq->host;
    Sim *s = h->sim;
    uint32_t n = 0;

    if (h->reset || s->ending ||
        (s->plan.late && !s->fair && sim_percent(&h->rng, 70))) {
        return false;
    }
    while (srq->pi - srq->taken < srq->depth) {
        SimRecv *r = g_new0(SimRecv, 1);

        if (!fill(h, &h->rng, r, srq->pi, srq->cap)) {
            g_free(r);
            break;
        }
        g_ptr_array_add(srq->out, r);
        write_slot(h, srq->ring + (uint64_t)(srq->pi % srq->depth) *
                   srq->stride * 64, srq->stride, r);
        srq->pi++;
        n++;
    }
    if (!n) {
        return false;
    }
    if (srq->record) {
        sim_record(h, srq->record, srq->pi, srq->pi);
    } else {
        sim_ring(h, h->uctx, ERNIC_DB_SRQ, srq->srqn, srq->pi);
    }
    if (!srq->limit_armed && sim_percent(&h->rng, 50)) {
        sim_srq_arm(srq);
    }
    return true;
}
