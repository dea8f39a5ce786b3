/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The meaning of success: the expected message has arrived, whole and in order,
 * and its bytes are in the right places.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

#define GRH 40

/* ---- at the sender ------------------------------------------------------- */

static void bad_content(SimMsg *m, const char *what, int64_t at)
{
    sim_fail(m->qp->host->sim, "content", "host %u: QP %u: request %u (op %u, "
             "%u bytes): %s differs from byte %" PRId64, m->qp->host->id,
             m->qp->qpn, m->index, m->op, m->len, what, at);
}

/* The bytes of a WRITE at its target. */
static void check_write(SimMsg *m)
{
    int64_t bad;

    if (m->verified || m->closed || !m->remote.mr || m->wrong) {
        return;
    }
    bad = sim_piece_verify(&m->remote, 0, m->len, m->pattern, m->pattern_off);
    if (bad >= 0) {
        bad_content(m, "what it wrote", bad);
    }
    m->verified = true;
}

static void read_done(SimMsg *m)
{
    int64_t bad = sim_sg_verify(&m->sg, 0, m->len, m->pattern, m->pattern_off);

    if (bad >= 0) {
        bad_content(m, "what it read", bad);
    }
    if (m->lent) {
        sim_sg_shadow(&m->sg, SIM_SH_READ);
    } else {
        sim_sg_free(&m->sg);
        m->closed = true;
    }
}

static void atomic_done(SimMsg *m)
{
    uint64_t old;

    sim_sg_copy_out(&m->sg, 0, &old, 8);
    if (le64_to_cpu(old) != m->atomic_old) {
        sim_fail(m->qp->host->sim, "atomic", "host %u: QP %u: request %u finds "
                 "0x%" PRIx64 ", not 0x%" PRIx64, m->qp->host->id, m->qp->qpn,
                 m->index, le64_to_cpu(old), m->atomic_old);
    }
    sim_sg_free(&m->sg);
    m->closed = true;
}

static void free_local(SimMsg *m)
{
    SimMsg *lender = m->lender;

    if (lender) {
        sim_sg_free(&lender->sg);
        lender->closed = true;
        m->sg.n = 0;
    } else {
        sim_sg_free(&m->sg);
    }
}

static void write_done(SimMsg *m)
{
    Sim *s = m->qp->host->sim;

    if (m->qp->type == ERNIC_QPT_UC) {
        /* It was sent; late packets may still write to the target. */
        SimPiece *late = g_memdup2(&m->remote, sizeof(m->remote));

        m->free_at = s->now + sim_wire_lifetime(s);
        sim_at(s, m->free_at, SIM_EV_FREE, m->remote.mr->host, late, s->jumps);
    } else {
        check_write(m);
        if (m->remote.got_len) {
            sim_piece_free(&m->remote);
        }
    }
    free_local(m);
    m->closed = true;
}

static void succeeded(SimMsg *m)
{
    switch (m->op) {
    case ERNIC_WR_READ:
        read_done(m);
        break;
    case ERNIC_WR_CMP_SWAP:
    case ERNIC_WR_FETCH_ADD:
        atomic_done(m);
        break;
    case ERNIC_WR_WRITE:
    case ERNIC_WR_WRITE_IMM:
        write_done(m);
        break;
    default:
        free_local(m);
        m->closed = true;
    }
    if (sim_takes_recv(m->op) && m->number != SIM_NO_INDEX) {
        m->qp->sent_recvs++;
    }
}

void sim_msg_done(SimMsg *m, uint8_t status)
{
    SimQp *qp = m->qp;

    m->done = true;
    qp->out_bytes -= m->len;
    sim_progress(qp->host->sim);
    if (qp->last_read == m) {
        qp->last_read = NULL;
    }
    if (status == ERNIC_WC_SUCCESS) {
        succeeded(m);
    } else if (!m->lent && !m->lender) {
        /* The device is done with local memory; the peer may not be. */
        sim_sg_free(&m->sg);
    }
    sim_win_done(m, status == ERNIC_WC_SUCCESS);
}

/* ---- at the receiver ----------------------------------------------------- */

/* Check the completion of the message, without its content. */
static bool head_fits(const SimMsg *m, const struct ernic_cqe *cqe, uint32_t grh)
{
    bool write = m->op == ERNIC_WR_WRITE_IMM;
    bool imm = write || m->op == ERNIC_WR_SEND_IMM;

    return cqe->opcode == (write ? ERNIC_WC_RECV_WRITE_IMM : ERNIC_WC_RECV) &&
           le32_to_cpu(cqe->byte_len) == m->len + grh &&
           !!(cqe->flags & ERNIC_CQE_IMM) == imm &&
           !!(cqe->flags & ERNIC_CQE_INV) == (m->op == ERNIC_WR_SEND_INV) &&
           (!imm || ldl_be_p(cqe->imm) == m->imm) &&
           (m->op != ERNIC_WR_SEND_INV || ldl_le_p(cqe->imm) == m->inv_key) &&
           !(cqe->flags & ERNIC_CQE_SOLICITED) ==
           !(m->flags & ERNIC_WR_SOLICITED);
}

static int64_t content_differs(SimMsg *m, const SimRecv *r, uint32_t grh)
{
    if (m->op == ERNIC_WR_WRITE_IMM) {
        if (m->free_at && m->free_at <= m->qp->host->sim->now) {
            return -1;
        }
        if ((m->closed && !m->free_at) || m->verified) {
            return -1;
        }
        return sim_piece_verify(&m->remote, 0, m->len, m->pattern,
                                m->pattern_off);
    }
    return sim_sg_verify(&r->sg, grh, m->len, m->pattern, m->pattern_off);
}

static void window_taken_back(SimQp *qp, uint32_t key)
{
    uint32_t i;

    for (i = 0; i < qp->wins; i++) {
        if (qp->win[i].mr.key == key) {
            sim_win_closed(&qp->win[i]);
        }
    }
}

/* Whether it looks like another message that was sent before or after. */
static bool is_other(SimQp *from, const SimMsg *m, const SimRecv *r)
{
    uint32_t i, n = MIN(from->next, from->msgs->len);

    for (i = 0; i < n; i++) {
        SimMsg *o = g_ptr_array_index(from->msgs, i);

        if (o != m && o->len >= 8 && o->posted && o->op != ERNIC_WR_WRITE_IMM &&
            sim_takes_recv(o->op) && r->cap >= 8 &&
            sim_sg_verify(&r->sg, 0, 8, o->pattern, o->pattern_off) < 0) {
            return true;
        }
    }
    return false;
}

static bool deliver_rc(SimQp *qp, SimRecv *r, const struct ernic_cqe *cqe)
{
    SimQp *from = qp->peer;
    Sim *s = qp->host->sim;
    SimMsg *m;
    int64_t bad;

    if (qp->rx_count >= from->recv_of->len) {
        sim_qp_fail(qp, "order", "message %u was never sent", qp->rx_count);
        return false;
    }
    m = sim_msg_at(from, g_array_index(from->recv_of, uint32_t, qp->rx_count));
    qp->rx_count++;
    if (!m->posted || !head_fits(m, cqe, 0)) {
        sim_qp_fail(qp, "order", "message %u (op %u, %u bytes%s) comes as "
                    "opcode %u, %u bytes, flags 0x%x", qp->rx_count - 1, m->op,
                    m->len, m->posted ? "" : ", not sent", cqe->opcode,
                    le32_to_cpu(cqe->byte_len), cqe->flags);
        return false;
    }
    bad = content_differs(m, r, 0);
    if (bad >= 0) {
        sim_fail(s, is_other(from, m, r) ? "order" : "content", "host %u: QP %u:"
                 " message %u (op %u, %u bytes) differs from byte %" PRId64,
                 qp->host->id, qp->qpn, qp->rx_count - 1, m->op, m->len, bad);
        return false;
    }
    m->delivered++;
    /* IBTA 9.5: data written before a SEND is there when the SEND completes. */
    while (from->verified < m->number) {
        SimMsg *w = g_ptr_array_index(from->msgs, from->verified++);

        if (w->op == ERNIC_WR_WRITE || w->op == ERNIC_WR_WRITE_IMM) {
            check_write(w);
        }
    }
    if (m->op == ERNIC_WR_SEND_INV) {
        window_taken_back(qp, m->inv_key);
    }
    return true;
}

/* A message of @from that fits; the one with the fewest deliveries. */
static SimMsg *find_sent(SimQp *from, SimQp *to, const SimRecv *r,
                         const struct ernic_cqe *cqe, uint32_t grh,
                         uint32_t first)
{
    SimMsg *best = NULL;
    uint32_t i;

    for (i = first; i < from->msgs->len; i++) {
        SimMsg *m = g_ptr_array_index(from->msgs, i);

        if (!m->posted || !sim_takes_recv(m->op) || !head_fits(m, cqe, grh) ||
            (to->type == ERNIC_QPT_UD && m->dest && m->dest != to) ||
            (best && best->delivered <= m->delivered) ||
            content_differs(m, r, grh) >= 0) {
            continue;
        }
        if (!m->delivered) {
            return m;
        }
        best = m;
    }
    return best;
}

static bool deliver_uc(SimQp *qp, SimRecv *r, const struct ernic_cqe *cqe)
{
    Sim *s = qp->host->sim;
    bool shuffled = s->plan.shuffles;
    SimMsg *m = find_sent(qp->peer, qp, r, cqe, 0, shuffled ? 0 : qp->uc_next);

    if (!m || (m->delivered && !shuffled)) {
        sim_qp_fail(qp, "content", "a message of %u bytes that was not sent, "
                    "or not in this order", le32_to_cpu(cqe->byte_len));
        return false;
    }
    m->delivered++;
    qp->uc_next = m->number + 1;
    qp->rx_count++;
    return true;
}

/* The sender, by the network header in front of the data. */
static SimHost *sender_of(SimQp *qp, const SimRecv *r)
{
    Sim *s = qp->host->sim;
    uint8_t grh[GRH];
    uint32_t i;

    sim_sg_copy_out(&r->sg, 0, grh, GRH);
    for (i = 0; i < s->hosts; i++) {
        SimHost *h = &s->host[i];

        if ((grh[0] >> 4 == 6 && !memcmp(grh + 8, h->gid[1].raw, 16)) ||
            (grh[20] == 0x45 && !memcmp(grh + 32, h->gid[0].raw + 12, 4))) {
            return h;
        }
    }
    return NULL;
}

static bool deliver_ud(SimQp *qp, SimRecv *r, const struct ernic_cqe *cqe)
{
    Sim *s = qp->host->sim;
    uint32_t i, src = le32_to_cpu(cqe->src_qp);
    SimHost *h = cqe->flags & ERNIC_CQE_GRH ? sender_of(qp, r) : NULL;
    SimMsg *m = NULL;

    for (i = 0; h && i < h->qps->len && !m; i++) {
        SimQp *from = g_ptr_array_index(h->qps, i);

        if (from->type == ERNIC_QPT_UD && from->qpn == src) {
            m = find_sent(from, qp, r, cqe, GRH, 0);
        }
    }
    /*
     * An event was lost, so this was read late, and the queue pair of the
     * sender may be a new one.
     */
    if (!m && s->plan.bad_rings) {
        return true;
    }
    if (!m || (m->delivered && m->dest && !s->plan.shuffles)) {
        sim_qp_fail(qp, "content", "a datagram of %u bytes from QP %u of %s "
                    "that was not sent, or only once",
                    le32_to_cpu(cqe->byte_len), src, h ? "a host" : "nobody");
        return false;
    }
    m->delivered++;
    qp->rx_count++;
    return true;
}

bool sim_deliver(SimQp *qp, SimRecv *r, const struct ernic_cqe *cqe)
{
    qp->host->sim->stats.delivered++;
    switch (qp->type) {
    case ERNIC_QPT_RC:
        return deliver_rc(qp, r, cqe);
    case ERNIC_QPT_UC:
        return deliver_uc(qp, r, cqe);
    default:
        return deliver_ud(qp, r, cqe);
    }
}
