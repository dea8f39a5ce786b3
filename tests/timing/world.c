/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wire hands over what leaves in the ns in which it does: flight is in the
 * sender's profile. It loses nothing: a receiver that is nearly full makes the
 * sender pause. Time goes from one deadline to the next.
 */
#include "qemu/osdep.h"
#include "world.h"

#define SQ_DEPTH    128
#define RECVS       64
#define MEM         (1u << 20)
#define MTU_4096    5
/* Packets that may still come after a pause was asked for. */
#define HEADROOM    40

static void end_init(TimingEnd *end, const ErnicProfile *p,
                     const ErnicTimingTrace *trace, uint8_t host)
{
    end->e = fake_ernic_traced(&end->env, p, trace);
    fake_set_gid(end->e, 0, host);
    end->pd = fake_create_pd(end->e);
    fake_create_eq(end->e, &end->eq, 1024, 0, false);
    fake_create_cq(end->e, &end->scq, 1024, end->eq.eqn);
    fake_create_cq(end->e, &end->rcq, 1024, FAKE_NONE);
    fake_create_deep_qp(end->e, &end->qp, ERNIC_QPT_RC, end->pd, end->scq.cqn,
                        end->rcq.cqn, SQ_DEPTH);
    end->mem = fake_alloc(&end->env, MEM, 4096);
    end->key = fake_reg_mr(end->e, end->pd, end->mem, MEM, ERNIC_ACCESS_LOCAL_WRITE |
                           ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_WRITE);
}

void timing_open(TimingWorld *w, const ErnicProfile *a, const ErnicProfile *b)
{
    static const ErnicTimingTrace *const nobody[2];

    timing_open_traced(w, a, b, nobody);
}

void timing_open_traced(TimingWorld *w, const ErnicProfile *a,
                        const ErnicProfile *b, const ErnicTimingTrace *const trace[2])
{
    struct ernic_qp_attr attr;

    memset(w, 0, sizeof(*w));
    end_init(&w->end[0], a, trace[0], 1);
    end_init(&w->end[1], b, trace[1], 2);
    for (uint32_t i = 0; i < 2; i++) {
        fake_qp_attr(&attr, w->end[!i].qp.qpn, i ? 1 : 2);
        attr.path_mtu = MTU_4096;
        fake_qp_to(w->end[i].e, &w->end[i].qp, ERNIC_QPS_RTS, &attr);
    }
    w->now = w->end[0].env.now;
}

void timing_close(TimingWorld *w)
{
    for (uint32_t i = 0; i < 2; i++) {
        ernic_free(w->end[i].e);
        fake_env_fini(&w->end[i].env);
    }
}

/* ---- time ------------------------------------------------------------------ */

static void note(TimingWorld *w, const uint8_t *data, uint32_t len)
{
    w->hash = (w->hash ^ w->now) * 0x100000001b3ull;
    for (uint32_t i = 0; i < len; i++) {
        w->hash = (w->hash ^ data[i]) * 0x100000001b3ull;
    }
}

static void carry(TimingWorld *w, uint32_t from)
{
    FakeTrain *t;

    while ((t = fake_take_train(&w->end[from].env))) {
        /* The headers distinguish packets; their payload is the same. */
        note(w, t->train.data, MIN(t->train.len, 32u));
        ernic_rx(w->end[!from].e, w->now, &t->train);
        w->packets++;
        fake_train_free(t);
    }
}

/* Pause the sender at @from, or let it go on. */
static void pause_sender(TimingWorld *w, uint32_t from)
{
    TimingEnd *end = &w->end[from];
    bool full = ernic_rx_room(w->end[!from].e) < HEADROOM;

    if (end->env.tx_busy && !full) {
        end->env.tx_busy = false;
        ernic_tx_ready(end->e, w->now);
    }
    w->pauses += full && !end->env.tx_busy;
    end->env.tx_busy = full;
}

/* Both ends at w->now, until nothing is due there any more. */
static void settle(TimingWorld *w)
{
    bool due;

    do {
        due = false;
        for (uint32_t i = 0; i < 2; i++) {
            w->end[i].env.now = w->now;
            if (w->end[i].env.wake <= w->now) {
                fake_run(w->end[i].e);
                due = true;
            }
        }
        for (uint32_t i = 0; i < 2; i++) {
            carry(w, i);
            pause_sender(w, !i);
        }
        due |= w->end[0].env.trains->len || w->end[1].env.trains->len;
    } while (due);
}

/* ---- software -------------------------------------------------------------- */

static void post_recvs(TimingEnd *end, uint32_t num)
{
    struct ernic_sge sge = fake_sge(end->mem, MEM, end->key);

    for (uint32_t i = 0; i < num; i++) {
        fake_post_recv(end->e, &end->qp, 0, &sge, 1);
    }
    fake_ring_rq(end->e, &end->qp);
}

static void post_one(TimingWorld *w, TimingFlow *f)
{
    TimingEnd *end = &w->end[f->from], *peer = &w->end[!f->from];
    struct ernic_sge sge = fake_sge(end->mem, f->len, end->key);
    struct ernic_wqe wqe = {
        .opcode = f->opcode, .flags = ERNIC_WR_SIGNALED,
        .count = GUINT16_TO_LE(1), .wr_id = GUINT64_TO_LE(w->now),
    };

    if (f->opcode != ERNIC_WR_SEND) {
        wqe.rdma.raddr = GUINT64_TO_LE(peer->mem);
        wqe.rdma.rkey = GUINT32_TO_LE(peer->key);
    }
    fake_post_send(end->e, &end->qp, &wqe, &sge);
    f->posted++;
}

/* Post as many as there is room and reason for, a batch at a time. */
static void post(TimingWorld *w, TimingFlow *f)
{
    TimingEnd *end = &w->end[f->from];
    uint32_t batch = MAX(f->batch, 1u), i;

    while (f->posted < f->total && f->posted - f->done + batch <= f->depth &&
           (!f->interval || f->next <= w->now)) {
        for (i = 0; i < batch && f->posted < f->total; i++) {
            post_one(w, f);
        }
        fake_ring_sq(end->e, &end->qp);
        f->next += f->interval;
    }
}

static void check(const struct ernic_cqe *cqe)
{
    if (cqe->status != ERNIC_WC_SUCCESS) {
        g_error("a completion has status %u", cqe->status);
    }
}

/* Software takes the events, and arms the queue for the next completion. */
static void take_events(TimingEnd *end)
{
    struct ernic_eqe eqe;

    while (fake_poll_eq(end->e, &end->eq, &eqe)) {
        fake_ring_eq(end->e, &end->eq);
    }
    fake_arm_cq(end->e, &end->scq, false);
}

/* Completions since the last look. */
static void poll_flow(TimingWorld *w, TimingFlow *f)
{
    TimingEnd *end = &w->end[f->from], *peer = &w->end[!f->from];
    uint32_t before = f->done, received = f->received;
    struct ernic_cqe cqe;

    while (fake_poll_cq(end->e, &end->scq, &cqe)) {
        check(&cqe);
        f->first = f->done++ ? f->first : w->now;
        f->last = w->now;
        f->worst = MAX(f->worst, w->now - GUINT64_FROM_LE(cqe.wr_id));
    }
    if (f->done != before) {
        fake_ring_cq(end->e, &end->scq);
        if (w->events) {
            take_events(end);
        }
    }
    while (fake_poll_cq(peer->e, &peer->rcq, &cqe)) {
        check(&cqe);
        f->rx_first = f->received++ ? f->rx_first : w->now;
        f->rx_last = w->now;
    }
    if (f->received != received) {
        fake_ring_cq(peer->e, &peer->rcq);
        post_recvs(peer, f->received - received);
    }
}

void timing_run(TimingWorld *w, TimingFlow *flows, uint32_t num)
{
    uint32_t left;

    for (uint32_t i = 0; i < num; i++) {
        TimingFlow *f = &flows[i];

        f->start = f->next = w->now;
        if (w->events) {
            take_events(&w->end[f->from]);
        }
        if ((f->opcode == ERNIC_WR_SEND || f->opcode == ERNIC_WR_WRITE_IMM) &&
            !w->end[!f->from].receives) {
            w->end[!f->from].receives = true;
            post_recvs(&w->end[!f->from], RECVS);
        }
        post(w, f);
    }
    do {
        uint64_t next = MIN(w->end[0].env.wake, w->end[1].env.wake);

        left = 0;
        for (uint32_t i = 0; i < num; i++) {
            if (flows[i].interval && flows[i].posted < flows[i].total &&
                flows[i].next > w->now) {
                next = MIN(next, flows[i].next);
            }
        }
        if (next == TIMING_NEVER) {
            g_error("nothing is due, but not all is done");
        }
        w->now = MAX(w->now, next);
        settle(w);
        for (uint32_t i = 0; i < num; i++) {
            poll_flow(w, &flows[i]);
            post(w, &flows[i]);
            left += flows[i].total - flows[i].done;
        }
    } while (left);
}

void timing_flow(TimingFlow *f, const ErnicProfile *card, const ErnicProfile *other)
{
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, f, 1);
    timing_close(&w);
}

void timing_until_irq(TimingWorld *w, uint32_t end)
{
    while (!w->end[end].env.irqs->len) {
        uint64_t next = MIN(w->end[0].env.wake, w->end[1].env.wake);

        g_assert_cmpuint(next, !=, TIMING_NEVER);
        w->now = MAX(w->now, next);
        settle(w);
    }
}

static double rate(uint32_t messages, uint32_t len, uint64_t ns)
{
    return ns ? (double)(messages - 1) * len * 8 / ns : 0;
}

double timing_rate(const TimingFlow *f)
{
    return rate(f->done, f->len, f->last - f->first);
}

double timing_rx_rate(const TimingFlow *f)
{
    return rate(f->received, f->len, f->rx_last - f->rx_first);
}
