/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sending: each queue pair's plan of messages, their memory at both ends, and
 * the time at which they are posted.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/ib_tables.h"
#include "sim.h"

#define OUT_BYTES   (192 * 1024)

/* ---- the plan ------------------------------------------------------------ */

static uint8_t draw_op(SimQp *qp)
{
    static const uint8_t rc[] = {
        ERNIC_WR_SEND, ERNIC_WR_SEND, ERNIC_WR_SEND_IMM, ERNIC_WR_SEND,
        ERNIC_WR_WRITE, ERNIC_WR_WRITE, ERNIC_WR_WRITE_IMM, ERNIC_WR_READ,
        ERNIC_WR_READ, ERNIC_WR_CMP_SWAP, ERNIC_WR_FETCH_ADD,
        ERNIC_WR_ATOMIC_WRITE, ERNIC_WR_FLUSH,
    };
    static const uint8_t uc[] = {
        ERNIC_WR_SEND, ERNIC_WR_SEND_IMM, ERNIC_WR_WRITE, ERNIC_WR_WRITE_IMM,
    };

    switch (qp->type) {
    case ERNIC_QPT_RC:
        return rc[sim_below(&qp->rng, qp->rd_atomic ? ARRAY_SIZE(rc) : 7)];
    case ERNIC_QPT_UC:
        return uc[sim_below(&qp->rng, ARRAY_SIZE(uc))];
    default:
        return uc[sim_below(&qp->rng, 2)];
    }
}

SimMsg *sim_msg_new(SimQp *qp, uint8_t op, uint32_t len, bool extra)
{
    SimMsg *m = g_new0(SimMsg, 1);

    m->qp = qp;
    m->op = op;
    m->len = len;
    m->pattern = sim_rng(&qp->rng);
    m->imm = sim_rng(&qp->rng);
    m->wr_id = sim_rng(&qp->rng);
    m->number = SIM_NO_INDEX;
    if (extra) {
        m->flags = ERNIC_WR_SIGNALED;
        g_ptr_array_add(qp->extra, m);
    }
    return m;
}

static SimQp *datagram_dest(SimQp *qp)
{
    Sim *s = qp->host->sim;
    uint32_t i, n = s->qps->len, first = sim_below(&qp->rng, n);

    if (s->plan.mcast && sim_percent(&qp->rng, 20)) {
        return NULL;
    }
    for (i = 0; i < n; i++) {
        SimQp *to = g_ptr_array_index(s->qps, (first + i) % n);

        if (to->type == ERNIC_QPT_UD) {
            return to;
        }
    }
    return qp;
}

/* Message @number of the plan; it does not depend on who asks first. */
SimMsg *sim_msg_at(SimQp *qp, uint32_t number)
{
    while (qp->msgs->len <= number) {
        uint8_t op = draw_op(qp);
        uint32_t n = qp->msgs->len, len = sim_length(&qp->rng, qp->max_send);
        SimMsg *m;

        if (op == ERNIC_WR_CMP_SWAP || op == ERNIC_WR_FETCH_ADD ||
            op == ERNIC_WR_ATOMIC_WRITE) {
            len = 8;
        }
        /* If messages may be lost, they must be distinguishable. */
        if (qp->type != ERNIC_QPT_RC && len < 8 && op == ERNIC_WR_SEND) {
            op = ERNIC_WR_SEND_IMM;
        }
        m = sim_msg_new(qp, op, len, false);
        m->number = n;
        if (qp->type == ERNIC_QPT_UD) {
            m->dest = datagram_dest(qp);
        }
        if (sim_percent(&qp->rng, 10)) {
            m->flags |= ERNIC_WR_FENCE;
        }
        if (sim_percent(&qp->rng, 30)) {
            m->flags |= ERNIC_WR_SOLICITED;
        }
        g_ptr_array_add(qp->msgs, m);
        if (sim_takes_recv(op)) {
            g_array_append_val(qp->recv_of, n);
        }
    }
    return g_ptr_array_index(qp->msgs, number);
}

/* ---- memory -------------------------------------------------------------- */

/* Take @len bytes of @mr in one to SIM_MAX_SGE pieces. */
bool sim_sg_take(SimMr *mr, SimRng *r, uint32_t len, SimSg *sg)
{
    uint32_t left = len, n = len > 1 ? 1 + sim_below(r, SIM_MAX_SGE) : 1;

    sg->n = 0;
    if (!len && sim_percent(r, 50)) {
        return true;
    }
    while (sg->n < n) {
        uint32_t part = sg->n + 1 == n ? left : sim_below(r, left + 1);

        if (!sim_piece_take(mr, r, part, 1, &sg->piece[sg->n])) {
            sim_sg_free(sg);
            return false;
        }
        sg->n++;
        left -= part;
    }
    return true;
}

/* A fenced SEND of the data that the READ before it fetches. */
static bool borrow(SimQp *qp, SimMsg *m)
{
    SimMsg *lr = qp->last_read;
    uint32_t i, left = m->len;

    if (!lr || lr->done || lr->lent || lr->len < m->len || !m->len ||
        (m->op != ERNIC_WR_SEND && m->op != ERNIC_WR_SEND_IMM) ||
        !sim_percent(&qp->rng, 50)) {
        return false;
    }
    for (i = 0; i < lr->sg.n && left; i++) {
        SimPiece *p = &m->sg.piece[i];

        *p = lr->sg.piece[i];
        p->got_len = 0;
        p->len = MIN(p->len, left);
        left -= p->len;
    }
    m->sg.n = i;
    m->lender = lr;
    m->pattern = lr->pattern;
    m->pattern_off = lr->pattern_off;
    m->flags |= ERNIC_WR_FENCE;
    lr->lent = true;
    sim_sg_shadow(&lr->sg, SIM_SH_READ | SIM_SH_WRITE);
    return true;
}

static bool take_source(SimQp *qp, SimMsg *m)
{
    uint32_t room = MIN((qp->sq_stride - 1) * 64, ERNIC_MAX_INLINE);

    if (borrow(qp, m)) {
        return true;
    }
    if (m->len <= room && !m->wrong && sim_percent(&qp->rng, 40)) {
        m->flags |= ERNIC_WR_INLINE;
        return true;
    }
    if (!sim_sg_take(qp->host->local[1], &qp->rng, m->len, &m->sg)) {
        return false;
    }
    sim_sg_fill(&m->sg, m->pattern, m->pattern_off);
    if (m->op == ERNIC_WR_SEND && m->number + 1 < qp->planned &&
        sim_sabotage(qp->host->sim, SIM_SAB_SWAP_MSG)) {
        sim_sg_fill(&m->sg, sim_msg_at(qp, m->number + 1)->pattern, 0);
    }
    sim_sg_shadow(&m->sg, SIM_SH_READ);
    return true;
}

static bool take_target(SimQp *qp, SimMsg *m)
{
    SimHost *to = qp->peer->host;
    SimWin *win = m->wrong ? NULL : sim_win_pick(qp->peer, false);
    SimMr *mr = win ? &win->mr : to->remote;

    if (!sim_piece_take(mr, &qp->rng, m->len, 1, &m->remote)) {
        if (!win) {
            return false;
        }
        win = NULL;
        mr = to->remote;
        if (!sim_piece_take(mr, &qp->rng, m->len, 1, &m->remote)) {
            return false;
        }
    }
    if (win) {
        win->users++;
        m->win = win;
    }
    m->rkey = mr->key;
    m->raddr = mr->iova + m->remote.off;
    return true;
}

static bool take_read(SimQp *qp, SimMsg *m)
{
    SimWin *win = m->wrong ? NULL : sim_win_pick(qp->peer, true);
    SimMr *mr = win ? &win->mr : qp->peer->host->source;

    if (win && mr->length < m->len) {
        win = NULL;
        mr = qp->peer->host->source;
    }
    if (mr->length < m->len ||
        !sim_sg_take(qp->host->local[0], &qp->rng, m->len, &m->sg)) {
        return false;
    }
    m->remote = (SimPiece) { .mr = mr, .len = m->len };
    m->remote.off = sim_range(&qp->rng, 0, mr->length - m->len);
    m->pattern = mr->pattern;
    m->pattern_off = mr->pattern_off + m->remote.off;
    m->rkey = mr->key;
    m->raddr = mr->iova + m->remote.off;
    if (win) {
        win->users++;
        m->win = win;
    }
    sim_sg_shadow(&m->sg, SIM_SH_WRITE);
    qp->last_read = m;
    return true;
}

/*
 * The word of the queue pair at the peer: the result of each operation is
 * known.
 */
static bool take_word(SimQp *qp, SimMsg *m)
{
    SimMr *mr = qp->peer->host->remote;
    uint64_t word;

    if (!qp->atomic.mr) {
        if (!sim_piece_take(mr, &qp->rng, 8, 8, &qp->atomic)) {
            return false;
        }
        sim_piece_fill(&qp->atomic, qp->id, 0);
        sim_piece_shadow(&qp->atomic, SIM_SH_READ | SIM_SH_WRITE);
        sim_sg_copy_out(&(SimSg) { 1, { qp->atomic } }, 0, &word, 8);
        qp->atomic_model = le64_to_cpu(word);
    }
    m->rkey = mr->key;
    m->raddr = mr->iova + qp->atomic.off;
    m->remote = qp->atomic;
    m->remote.got_len = 0;
    return true;
}

static bool take_atomic(SimQp *qp, SimMsg *m)
{
    if (!take_word(qp, m) ||
        !sim_piece_take(qp->host->local[0], &qp->rng, 8, 1, &m->sg.piece[0])) {
        return false;
    }
    m->sg.n = 1;
    sim_sg_shadow(&m->sg, SIM_SH_WRITE);
    m->atomic_arg = sim_rng(&qp->rng);
    m->atomic_compare = sim_percent(&qp->rng, 60) ? qp->atomic_model : 77;
    m->atomic_old = qp->atomic_model;
    if (m->wrong) {
        return true;
    }
    if (m->op == ERNIC_WR_FETCH_ADD) {
        qp->atomic_model += m->atomic_arg;
    } else if (m->atomic_compare == qp->atomic_model) {
        qp->atomic_model = m->atomic_arg;
    }
    return true;
}

/* ATOMIC WRITE: the word is known from now on. */
static bool take_atomic_write(SimQp *qp, SimMsg *m)
{
    uint8_t data[8];

    if (!take_word(qp, m) || !take_source(qp, m)) {
        return false;
    }
    if (!m->wrong) {
        sim_pattern(m->pattern, m->pattern_off, data, sizeof(data));
        qp->atomic_model = ldq_le_p(data);
    }
    return true;
}

/* FLUSH: a part of the memory that the peer opens for writing, or all of it. */
static bool take_flush(SimQp *qp, SimMsg *m)
{
    SimMr *mr = qp->peer->host->remote;

    m->len = MIN(m->len, mr->length);
    m->remote = (SimPiece) { .mr = mr, .len = m->len };
    m->remote.off = sim_range(&qp->rng, 0, mr->length - m->len);
    m->rkey = mr->key;
    m->raddr = mr->iova + m->remote.off;
    m->whole = !m->wrong && sim_percent(&qp->rng, 30);
    if (m->whole) {
        m->raddr = sim_rng(&qp->rng);
    }
    return true;
}

static void give_back(SimMsg *m)
{
    if (m->win) {
        sim_win_put(m->win);
        m->win = NULL;
    }
    if (m->remote.got_len) {
        sim_piece_free(&m->remote);
    }
    sim_sg_free(&m->sg);
}

static bool take_memory(SimQp *qp, SimMsg *m)
{
    switch (m->op) {
    case ERNIC_WR_READ:
        return take_read(qp, m);
    case ERNIC_WR_CMP_SWAP:
    case ERNIC_WR_FETCH_ADD:
        return take_atomic(qp, m);
    case ERNIC_WR_ATOMIC_WRITE:
        return take_atomic_write(qp, m);
    case ERNIC_WR_FLUSH:
        return take_flush(qp, m);
    case ERNIC_WR_WRITE:
    case ERNIC_WR_WRITE_IMM:
        if (!take_target(qp, m)) {
            return false;
        }
        if (!take_source(qp, m)) {
            give_back(m);
            return false;
        }
        sim_piece_fill(&m->remote, ~m->pattern, 0);
        sim_piece_shadow(&m->remote, SIM_SH_WRITE);
        return true;
    case ERNIC_WR_SEND:
    case ERNIC_WR_SEND_IMM:
        return take_source(qp, m);
    default:
        return true;
    }
}

/* ---- posting ------------------------------------------------------------- */

bool sim_sq_room(const SimQp *qp)
{
    return qp->rts && qp->sq_pi - qp->sq_done < qp->sq_depth;
}

static void ring_sq(SimQp *qp)
{
    if (qp->sq_rung != qp->sq_pi &&
        (!qp->sq_record ||
         sim_record(qp->host, qp->sq_record, qp->sq_rung, qp->sq_pi))) {
        if (qp->sq_record && qp->qpn % 2) {
            sim_ring_page(qp->host, qp->host->uctx);
        } else {
            sim_ring(qp->host, qp->host->uctx, ERNIC_DB_SQ, qp->qpn, qp->sq_pi);
        }
    }
    qp->sq_rung = qp->sq_pi;
}

/* A request needs no completion if a later one has one. */
static void choose_signal(SimQp *qp, SimMsg *m)
{
    bool last = m->number == SIM_NO_INDEX || m->number + 1 >= qp->planned;
    bool may = qp->type != ERNIC_QPT_UD || (m->flags & ERNIC_WR_INLINE);

    if (last || !may || qp->quiet + 1 >= qp->sq_depth / 2 ||
        sim_percent(&qp->rng, 60)) {
        m->flags |= ERNIC_WR_SIGNALED;
        qp->quiet = 0;
    } else {
        qp->quiet++;
    }
}

/*
 * False: there is not enough memory, and nothing has happened. The doorbell is
 * not rung.
 */
static bool post_msg(SimQp *qp, SimMsg *m)
{
    Sim *s = qp->host->sim;

    if (!take_memory(qp, m)) {
        return false;
    }
    if (s->sabotage == SIM_SAB_LOSE_MSG && m->op == ERNIC_WR_SEND &&
        m->number + 1 == qp->planned && qp->type == ERNIC_QPT_RC) {
        s->sabotaged = m->done = true;
        qp->sent_recvs++;
        return true;
    }
    choose_signal(qp, m);
    m->index = qp->sq_pi;
    m->posted = true;
    qp->sq_slot[qp->sq_pi % qp->sq_depth] = m;
    qp->sq_pi++;
    qp->out_bytes += m->len;
    sim_wqe_write(m);
    s->stats.messages++;
    sim_progress(s);
    sim_log(s, "host %u: QP %u posts %u: op %u flags %x, %u bytes%s", qp->host->id,
            qp->qpn, m->index, m->op, m->flags, m->len,
            m->wrong ? ", wrong" : "");
    return true;
}

/* Post @m, which is not in the plan, at once. */
void sim_post_extra(SimQp *qp, SimMsg *m)
{
    if (post_msg(qp, m)) {
        ring_sq(qp);
    }
}

/*
 * There is not enough memory, and its users may wait for a signalled request.
 */
static void flush_quiet(SimQp *qp)
{
    if (qp->quiet && qp->type != ERNIC_QPT_UD && sim_sq_room(qp)) {
        sim_post_extra(qp, sim_msg_new(qp, ERNIC_WR_WRITE, 0, true));
    }
}

/* A plain SEND invalidates a key of the peer, if there is one to invalidate. */
static void maybe_invalidate(SimQp *qp, SimMsg *m)
{
    if (m->op == ERNIC_WR_SEND && qp->type == ERNIC_QPT_RC && !m->lender &&
        sim_percent(&qp->rng, 30)) {
        m->win = sim_win_to_invalidate(qp->peer);
        if (m->win) {
            m->op = ERNIC_WR_SEND_INV;
            m->inv_key = m->win->mr.key;
            sim_wqe_write(m);
        }
    }
}

bool sim_post_sends(SimQp *qp, uint32_t most)
{
    bool did = false;

    while (most-- && sim_sq_room(qp) && qp->next < qp->planned) {
        SimMsg *m = sim_msg_at(qp, qp->next);

        if (qp->out_bytes && qp->out_bytes + m->len > OUT_BYTES) {
            flush_quiet(qp);
            break;
        }
        if (!post_msg(qp, m)) {
            flush_quiet(qp);
            break;
        }
        if (m->posted) {
            maybe_invalidate(qp, m);
        }
        qp->next++;
        did = true;
        if (sim_percent(&qp->rng, 20)) {
            ring_sq(qp);
        }
    }
    ring_sq(qp);
    return did;
}

/* ---- on purpose ---------------------------------------------------------- */

typedef struct WrongKind {
    uint8_t wrong, op, types;       /* types: bit per enum ernic_qp_type */
    uint32_t len;
    bool remote;                    /* found by the peer */
} WrongKind;

#define RC  (1 << ERNIC_QPT_RC)
#define UC  (1 << ERNIC_QPT_UC)
#define UD  (1 << ERNIC_QPT_UD)

static const WrongKind wrong_kinds[] = {
    { SIM_WRONG_LKEY, ERNIC_WR_SEND, RC | UC | UD, 100, false },
    { SIM_WRONG_LKEY, ERNIC_WR_WRITE, RC | UC, 5000, false },
    { SIM_WRONG_LKEY, ERNIC_WR_READ, RC, 100, false },
    { SIM_WRONG_LKEY_RANGE, ERNIC_WR_SEND, RC | UC | UD, 64, false },
    { SIM_WRONG_LKEY_PD, ERNIC_WR_SEND, RC | UC | UD, 64, false },
    { SIM_WRONG_OPCODE, ERNIC_WR_SEND, RC | UC | UD, 10, false },
    { SIM_WRONG_COUNT, ERNIC_WR_SEND, RC | UC | UD, 10, false },
    { SIM_WRONG_FLAGS, ERNIC_WR_SEND, RC | UC | UD, 10, false },
    { SIM_WRONG_LONG, ERNIC_WR_SEND, RC | UC | UD, 64, false },
    { SIM_WRONG_UD_AV, ERNIC_WR_SEND, UD, 64, false },
    { SIM_WRONG_UC_READ, ERNIC_WR_SEND, UC, 64, false },
    { SIM_WRONG_RKEY, ERNIC_WR_WRITE, RC | UC, 3000, true },
    { SIM_WRONG_RKEY, ERNIC_WR_READ, RC, 300, true },
    { SIM_WRONG_RKEY, ERNIC_WR_FETCH_ADD, RC, 8, true },
    { SIM_WRONG_RKEY_RANGE, ERNIC_WR_WRITE, RC | UC, 64, true },
    { SIM_WRONG_RKEY_RANGE, ERNIC_WR_READ, RC, 64, true },
    { SIM_WRONG_RKEY_RIGHT, ERNIC_WR_WRITE, RC | UC, 64, true },
    { SIM_WRONG_ALIGN, ERNIC_WR_FETCH_ADD, RC, 8, true },
    { SIM_WRONG_ALIGN, ERNIC_WR_ATOMIC_WRITE, RC, 8, true },
    { SIM_WRONG_RKEY_RIGHT, ERNIC_WR_ATOMIC_WRITE, RC, 8, true },
    { SIM_WRONG_RKEY, ERNIC_WR_FLUSH, RC, 64, true },
    { SIM_WRONG_RKEY_RANGE, ERNIC_WR_FLUSH, RC, 64, true },
    { SIM_WRONG_RKEY_RIGHT, ERNIC_WR_FLUSH, RC, 64, true },
    { SIM_WRONG_QKEY, ERNIC_WR_SEND, UD, 64, true },
};

void sim_post_wrong(SimQp *qp)
{
    const WrongKind *k = &wrong_kinds[sim_below(&qp->rng,
                                                ARRAY_SIZE(wrong_kinds))];
    SimMsg *m;

    if (qp->life != SIM_QP_LIVE || !sim_sq_room(qp) || qp->sqd || qp->sqe ||
        !(k->types & (1 << qp->type)) ||
        (sim_takes_credit(k->op) && !qp->rd_atomic)) {
        return;
    }
    m = sim_msg_new(qp, k->op, k->len, true);
    m->wrong = k->wrong;
    if (qp->type == ERNIC_QPT_UD) {
        m->dest = datagram_dest(qp);
    }
    if (!post_msg(qp, m)) {
        return;
    }
    qp->host->sim->stats.wrong++;
    if (k->remote && qp->type == ERNIC_QPT_RC) {
        sim_qp_doom(qp->peer);
    }
    if (!k->remote || qp->type == ERNIC_QPT_RC) {
        qp->doom = MIN(qp->doom, m->index);
        qp->doom_recv |= qp->type == ERNIC_QPT_RC;
    }
    ring_sq(qp);
}
