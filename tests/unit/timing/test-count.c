/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of the timing model: every stage accounts for all its time, at every
 * moment; queue counters match the queues' lengths; all readers see the same; and each
 * invariant is broken on purpose, and the check must report it by its name.
 */
#include "qemu/osdep.h"
#include "state/check.h"
#include "hand_profile.h"
#include "pg332_card.h"
#include "timing/timing.h"
#include "timing/timing_count.h"

#define LEN     65536

/* A timed engine that sends to itself. */
typedef struct Self {
    FakeEnv env;
    Ernic *e;
    FakeCq cq;
    FakeQp qp;
    uint64_t mem, start;
    uint32_t key;
} Self;

static void open_self(Self *s, const ErnicProfile *profile)
{
    FakeEq eq;
    uint32_t pd;

    memset(s, 0, sizeof(*s));
    s->e = fake_ernic_timed(&s->env, profile);
    pd = fake_create_pd(s->e);
    fake_create_eq(s->e, &eq, 16, 3, false);
    fake_create_cq(s->e, &s->cq, 64, eq.eqn);
    fake_create_qp(s->e, &s->qp, ERNIC_QPT_RC, pd, s->cq.cqn, s->cq.cqn, FAKE_NONE);
    fake_connect_mtu(s->e, &s->qp, s->qp.qpn, 1, 5);
    s->mem = fake_alloc(&s->env, LEN, 4096);
    s->key = fake_reg_mr(s->e, pd, s->mem, LEN, ERNIC_ACCESS_LOCAL_WRITE |
                         ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_WRITE);
    fake_advance(s->e, 1000000);
    s->start = s->env.now;
}

#define SELF_TEST(path, fn) \
    WORLD_TEST(path, fn, Self, s, open_self(s, &hand), fake_ernic_done(&s->env, s->e))

static void until(Self *s, uint64_t ns)
{
    fake_advance(s->e, s->start + ns - s->env.now);
    fake_run(s->e);
}

static void post(Self *s, uint8_t opcode, uint32_t len)
{
    fake_rdma(s->e, &s->qp, opcode, ERNIC_WR_SIGNALED, s->mem, len, s->key,
              s->mem + LEN / 2, s->key);
}

static void count_at(const Ernic *e, uint64_t now, ErnicTimingCount *c)
{
    g_assert_true(ernic_timing_count(e, now, c));
    IS(c->now, now);
    for (uint32_t i = 0; i < ERNIC_STAGE_COUNT; i++) {
        const ErnicStageCount *s = &c->stage[i];
        uint64_t free = e->timing->server[i].free;
        uint64_t end = MAX((c->now - c->since) * 1000,
                           (e->timing->epoch - c->since) * 1000 + free);

        IS(s->busy + s->stalled + s->idle, e->timing->since == UINT64_MAX ? 0 : end);
    }
    for (uint32_t i = 0; i < ERNIC_TIMED_QUEUES; i++) {
        const ErnicQueueCount *q = &c->queue[i];

        g_assert_cmpuint(q->count, <=, q->peak);
        g_assert_cmpuint(q->peak, <=, q->size);
    }
}

static void count(const Self *s, ErnicTimingCount *c)
{
    count_at(s->e, s->env.now, c);
}

/* ---- values ---------------------------------------------------------------- */

/*
 * A WRITE of 1024 bytes, a frame of 1098, with the times of the SEND in test-timing.c:
 * build works for 23 ns, and waits 45 for its data; the frame is in the delay FIFO from
 * the doorbell's arrival, at 102, on.
 */
SELF_TEST("/timing-count/values", test_values)
{
    ErnicTimingCount before, c;
    const ErnicStageCount *was, *is;

    count(s, &before);
    post(s, ERNIC_WR_WRITE, 1024);
    until(s, 50);
    count(s, &c);
    IS(c.queue[ERNIC_TIMED_DOORBELLS].count, 1);
    IS(c.queue[ERNIC_TIMED_DOORBELLS].area - before.queue[ERNIC_TIMED_DOORBELLS].area,
       NS(50));
    /* The stage accepts the next item after 2 of work. */
    IS(c.stage[ERNIC_STAGE_DOORBELL].busy - before.stage[ERNIC_STAGE_DOORBELL].busy,
       NS(2));
    IS(c.stage[ERNIC_STAGE_DOORBELL].idle - before.stage[ERNIC_STAGE_DOORBELL].idle,
       NS(48));
    until(s, 2000);
    count(s, &c);
    was = &before.stage[ERNIC_STAGE_BUILD];
    is = &c.stage[ERNIC_STAGE_BUILD];
    IS(is->items - was->items, 1);
    IS(is->busy - was->busy, NS(23));
    IS(is->stalled - was->stalled, NS(45));
    IS(is->idle - was->idle, NS(2000 - 23 - 45));
    IS(c.queue[ERNIC_TIMED_TX].count, 1);
    IS(c.queue[ERNIC_TIMED_TX].area - before.queue[ERNIC_TIMED_TX].area, NS(2000 - 102));
    IS(c.queue[ERNIC_TIMED_RX].count, 0);
    /* One fetch of 1012 ns; two reads of 334 and, after it, 368. */
    IS(c.queue[ERNIC_TIMED_FETCHES].area - before.queue[ERNIC_TIMED_FETCHES].area,
       NS(1012));
    IS(c.queue[ERNIC_TIMED_READS].area - before.queue[ERNIC_TIMED_READS].area,
       NS(334 + 368));
    IS(c.queue[ERNIC_TIMED_READS].peak, 2);
    IS(c.queue[ERNIC_TIMED_READS].count, 0);
}

/* Check a queue: its size, length, greatest length, and length times ns. */
static void queue_is(const Self *s, ErnicTimedQueue queue, uint64_t size,
                     uint64_t now, uint64_t peak, uint64_t ns)
{
    ErnicTimingCount c;

    count(s, &c);
    IS(c.queue[queue].size, size);
    IS(c.queue[queue].count, now);
    IS(c.queue[queue].peak, peak);
    IS(c.queue[queue].area, NS(ns));
}

/*
 * Requests are under way from the doorbell's arrival until the peer's ACK has been
 * served, and packets are kept as long; for a READ none is kept. A saved state includes
 * how long they have been under way.
 */
TEST("/timing-count/levels", test_levels)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    ErnicProfile small = hand;
    uint64_t room, before, served;
    ErnicTimingCount c;
    Self s;

    small.retry_packets = 6;
    small.outstanding = 2;
    open_self(&s, &small);
    room = 2ull * s.e->cfg.max_qp;
    post(&s, ERNIC_WR_WRITE, 3000);
    post(&s, ERNIC_WR_READ, 3000);
    post(&s, ERNIC_WR_WRITE, 6000);
    until(&s, 100);
    queue_is(&s, ERNIC_TIMED_REQUESTS, room, 0, 0, 0);
    until(&s, 102);
    queue_is(&s, ERNIC_TIMED_REQUESTS, room, 1, 1, 0);
    queue_is(&s, ERNIC_TIMED_RETRY, 6, 1, 1, 0);
    until(&s, 1102);
    queue_is(&s, ERNIC_TIMED_REQUESTS, room, 2, 2, 2 * 1000 - 2);
    queue_is(&s, ERNIC_TIMED_RETRY, 6, 1, 1, 1000);
    ernic_save(s.e, state);
    ernic_reset(s.e);
    queue_is(&s, ERNIC_TIMED_REQUESTS, room, 0, 0, 0);
    g_assert_true(ernic_load(s.e, s.env.now, state->data, state->len));
    queue_is(&s, ERNIC_TIMED_REQUESTS, room, 2, 2, 2 * 1000 - 2);
    queue_is(&s, ERNIC_TIMED_RETRY, 6, 1, 1, 1000);
    /* Advance to the ns at which the first is acknowledged. */
    do {
        count(&s, &c);
        before = c.queue[ERNIC_TIMED_RETRY].area;
        served = s.env.now;
        until(&s, s.env.now - s.start + 1);
        count(&s, &c);
    } while (c.queue[ERNIC_TIMED_RETRY].count == 1);
    IS(s.env.now - s.start, 9226);
    IS(c.queue[ERNIC_TIMED_RETRY].area, before + NS(s.env.now - served));
    until(&s, 1000000);
    count(&s, &c);
    IS(c.queue[ERNIC_TIMED_REQUESTS].count, 0);
    IS(c.queue[ERNIC_TIMED_REQUESTS].peak, 2);
    IS(c.queue[ERNIC_TIMED_RETRY].count, 0);
    /* Room is freed after the turn in which two more packets take theirs. */
    IS(c.queue[ERNIC_TIMED_RETRY].peak, 3);
    fake_ernic_done(&s.env, s.e);
}

/* For any load and any age, the sums match. */
SELF_TEST("/timing-count/sums", test_sums)
{
    static const uint64_t ages[] = {
        0, 1ull << 32, 1ull << 40, UINT64_MAX / 1000, 1ull << 62,
    };
    ErnicTimingCount c;

    for (uint32_t i = 0; i < ARRAY_SIZE(ages); i++) {
        s->env.now += ages[i];
        s->start = s->env.now;
        fake_run(s->e);
        count(s, &c);
        for (uint32_t k = 0; k < 6; k++) {
            post(s, k & 1 ? ERNIC_WR_READ : ERNIC_WR_WRITE, 3000 * k);
        }
        for (uint32_t k = 0; k < 30000; k += 61) {
            until(s, k);
            count(s, &c);
            fake_check(s->e);
        }
        IS(c.queue[ERNIC_TIMED_CQES].count, 0);
    }
    g_assert_cmpuint(c.queue[ERNIC_TIMED_CQES].peak, >, 0);
    IS(c.queue[ERNIC_TIMED_RESPONSES].peak, 1);
}

/* After a reset, counting restarts with the first event. */
SELF_TEST("/timing-count/reset", test_reset)
{
    ErnicTimingCount c;
    uint64_t at;

    post(s, ERNIC_WR_WRITE, 3000);
    until(s, 20000);
    ernic_reset(s->e);
    s->env.now += 500;
    count(s, &c);
    IS(c.since, s->env.now);
    for (uint32_t i = 0; i < ERNIC_STAGE_COUNT; i++) {
        IS(c.stage[i].items, 0);
        IS(c.stage[i].idle, 0);
    }
    fake_check(s->e);
    at = s->env.now;
    ernic_doorbell(s->e, at, 0, 0);
    s->env.now += 10;
    count(s, &c);
    IS(c.since, at);
    IS(c.stage[ERNIC_STAGE_DOORBELL].busy, NS(2));
    IS(c.stage[ERNIC_STAGE_DOORBELL].idle, NS(8));
}

/* ---- readers --------------------------------------------------------------- */

static void same(const struct ernic_timing_info *info, const ErnicTimingCount *c)
{
    IS(le64_to_cpu(info->since), c->since);
    IS(le64_to_cpu(info->now), c->now);
    IS(le16_to_cpu(info->num_stages), ERNIC_STAGE_COUNT);
    IS(le16_to_cpu(info->stage_size), 40);
    IS(le16_to_cpu(info->num_queues), ERNIC_TIMED_QUEUES);
    IS(le16_to_cpu(info->queue_size), 32);
    for (uint32_t i = 0; i < ERNIC_STAGE_COUNT; i++) {
        const struct ernic_timing_stage *s = &info->stage[i];

        IS(le64_to_cpu(s->items), c->stage[i].items);
        IS(le64_to_cpu(s->busy), c->stage[i].busy);
        IS(le64_to_cpu(s->stalled), c->stage[i].stalled);
        IS(le64_to_cpu(s->idle), c->stage[i].idle);
        IS(le64_to_cpu(s->waited), c->stage[i].waited);
    }
    for (uint32_t i = 0; i < ERNIC_TIMED_QUEUES; i++) {
        const struct ernic_timing_queue *q = &info->queue[i];

        IS(le64_to_cpu(q->size), c->queue[i].size);
        IS(le64_to_cpu(q->count), c->queue[i].count);
        IS(le64_to_cpu(q->peak), c->queue[i].peak);
        IS(le64_to_cpu(q->area), c->queue[i].area);
    }
}

/* By a command, which does not take effect early. */
SELF_TEST("/timing-count/command", test_command)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QUERY_TIMING };
    struct ernic_timing_info info;
    struct ernic_rsp rsp;
    ErnicTimingCount c;
    uint64_t at = fake_alloc(&s->env, sizeof(info), 8);

    cmd.query.addr = cpu_to_le64(at);
    cmd.query.length = cpu_to_le32(sizeof(info));
    post(s, ERNIC_WR_WRITE, 3000);
    until(s, 50);
    g_assert_true(ernic_cmd(s->e, s->env.now, &cmd, &rsp));
    OK(rsp.status);
    IS(le32_to_cpu(rsp.length), sizeof(info));
    count(s, &c);
    IS(c.queue[ERNIC_TIMED_DOORBELLS].count, 1);
    memcpy(&info, fake_ptr(&s->env, at, sizeof(info)), sizeof(info));
    same(&info, &c);
}

/* All 0: there is no model. */
TEST("/timing-count/off", test_off)
{
    struct ernic_timing_info info, none = { };
    ErnicTimingCount c;
    FakeEnv env;
    Ernic *e = fake_ernic_new(&env);

    g_assert_false(ernic_timing_count(e, 0, &c));
    ernic_timing_info(e, &info);
    g_assert_cmpmem(&info, sizeof(info), &none, sizeof(none));
    IS(ernic_timing_word(e, 0), 0);
    fake_ernic_done(&env, e);
}

/* By words after the registers of PG332, which cannot be written. */
TEST("/timing-count/words", test_words)
{
    uint32_t base, off, word[sizeof(struct ernic_timing_info) / 4];
    struct ernic_timing_info info;
    ErnicTimingCount c;
    Card *card = &cards[0];

    for (unsigned version = 0; version < PG332_VERSIONS; version++) {
        card_timing = &hand;
        setup(version);
        base = (version == PG332_V3_1 ? PG332_V3_SIZE : PG332_V4_SIZE) +
               PG332_SIDE_TIMING;
        POST(card, SEND, 64, .laddr = card->mem);
        settle();
        for (off = 0; off < sizeof(info); off += 4) {
            ernic_reg_write(card->e, card->env.now, base + off, 0xffffffff);
            word[off / 4] = ernic_reg_read(card->e, card->env.now, base + off);
            word[off / 4] = cpu_to_le32(word[off / 4]);
        }
        IS(ernic_reg_read(card->e, card->env.now, base + off), 0);
        memcpy(&info, word, sizeof(info));
        count_at(card->e, card->env.now, &c);
        same(&info, &c);
        IS(c.stage[ERNIC_STAGE_BUILD].items, 1);
        IS(c.stage[ERNIC_STAGE_CQE].items, 1);
        teardown();
        card_timing = NULL;
    }
}

/* ---- invariants ------------------------------------------------------------ */

/* A row breaks invariant @reported; @saved: a state can claim the same. */
typedef struct Break {
    const char *reported;
    bool saved;
    void (*fn)(Ernic *e, ErnicTiming *t);
} Break;
static Break breaks[60];
static uint32_t num_breaks;

#define BREAK_ROW(reported, saved, ...) \
    static void G_PASTE(break_, __LINE__)(Ernic *e, ErnicTiming *t) \
    { \
        __VA_ARGS__; \
    } \
    static void __attribute__((constructor)) G_PASTE(add_, __LINE__)(void) \
    { \
        g_assert_cmpuint(num_breaks, <, ARRAY_SIZE(breaks)); \
        breaks[num_breaks++] = (Break) { reported, saved, G_PASTE(break_, __LINE__) }; \
    }
#define BREAK(reported, ...) BREAK_ROW(reported, true, __VA_ARGS__)
#define BREAK_LIVE(reported, ...) BREAK_ROW(reported, false, __VA_ARGS__)

static ErnicTimedPacket *packet(ErnicDelayFifo *l)
{
    uint64_t due;

    return ernic_delay_fifo_at(l, 0, &due);
}

static ErnicTimedCqe *cqe(ErnicDelayFifo *l)
{
    uint64_t due;

    return ernic_delay_fifo_at(l, 0, &due);
}

BREAK("origin", t->since = t->epoch + 1)
BREAK("origin", t->since = ERNIC_NEVER)
BREAK("origin", t->epoch = e->now + 1)
BREAK("stage-time", t->server[ERNIC_STAGE_MAC].idle++)
BREAK("stage-time", t->server[ERNIC_STAGE_WQE].busy--)
BREAK("stage-busy", t->server[ERNIC_STAGE_KEY].idle += (1ull << 62) + 1 -
      t->server[ERNIC_STAGE_KEY].free; t->server[ERNIC_STAGE_KEY].free = (1ull << 62) + 1)
BREAK("stage-busy", t->server[ERNIC_STAGE_CQE].last = UINT64_MAX)
BREAK("stage-busy", t->local_done = UINT64_MAX)
BREAK("limits", t->dma.end[1] = UINT64_MAX)
BREAK("limits", t->dma.peak = t->dma.size + 1)
BREAK("limits", t->fetch.count = 1; t->fetch.peak = 0)
BREAK("lines", t->tx.peak = t->tx.slots + 1)
BREAK("lines", t->tx.peak = t->tx.count - 1)
BREAK("lines", t->tx.due[(t->tx.head + 1) % t->tx.slots] = 0)
BREAK("lines", t->cqes.due[t->cqes.head] = ERNIC_NEVER - 1)
BREAK("lines", t->rx.at = e->now + 1)
BREAK("packets", packet(&t->tx)->len = 0)
BREAK("packets", packet(&t->tx)->path.dgid.raw[0] = 0xfe)
BREAK("held-due", t->held_due = ERNIC_NEVER)
BREAK("held-due", t->held_due--)
BREAK("completions", cqe(&t->cqes)->cqn = 7)
BREAK("completions", cqe(&t->cqes)->wc.qpn = 9)
BREAK_LIVE("interrupts", t->irqs->pos[1] = 7; t->irqs->heap[0] = 1; t->irqs->count = 1)
BREAK("interrupts", ernic_timer_set(t->irqs, 1, ERNIC_NEVER - 1))
BREAK("fetched", t->fetched[2] = t->p->wqe_batch)
BREAK_LIVE("requests", t->requests.count = ++t->requests.peak)
BREAK_LIVE("requests", t->under_way[2]--; t->requests.count--)
BREAK_LIVE("requests", t->under_way[3]++; t->requests.count++)
BREAK("requests", t->requests.peak = 0)
BREAK("requests", t->requests.peak = t->requests.size + 1)
BREAK("requests", t->requests.at = e->now + 1)
BREAK("retry", t->retry.kept.peak = t->retry.kept.size + 1)
BREAK("retry", t->retry.kept.at = e->now + 1)
BREAK_LIVE("retry", t->retry.kept.count++)
BREAK_LIVE("retry", t->retry.waits[2] = true)
BREAK_LIVE("retry", t->retry.count = 1)
BREAK_LIVE("retry", t->retry.kept.count = t->retry.held[2] = t->retry.kept.size + 1)
BREAK_LIVE("places", t->rsp.held = t->rsp.peak = 1)
BREAK("places", t->place[t->places++].qpn = 63)
BREAK("places", t->place[t->places++].qpn = e->cfg.max_qp)

/* An engine with entries in its delay FIFOs, and a held train. */
static void open_busy(Self *s)
{
    open_self(s, &hand);
    for (uint32_t i = 0; i < 8; i++) {
        post(s, ERNIC_WR_WRITE, 1024);
    }
    while (!s->e->timing->cqes.count) {
        fake_advance(s->e, 1);
    }
    g_assert_cmpuint(s->e->timing->tx.count, >, 1);
    g_assert_cmpuint(s->e->timing->tx_done, >, 0);
    fake_check(s->e);
}

TEST("/timing-count/breaks", test_breaks)
{
    Self s;

    for (uint32_t i = 0; i < num_breaks; i++) {
        g_autoptr(GByteArray) good = g_byte_array_new(), bad = g_byte_array_new();
        g_autoptr(GString) why = g_string_new(NULL);
        FakeEnv env;
        Ernic *e;

        open_busy(&s);
        e = fake_ernic_timed(&env, &hand);
        ernic_save(s.e, good);
        g_assert_true(ernic_load(e, s.env.now, good->data, good->len));
        breaks[i].fn(s.e, s.e->timing);
        g_assert_false(ernic_check(s.e, why));
        if (!g_str_has_prefix(why->str, "timing 0: ") ||
            !strstr(why->str, breaks[i].reported)) {
            g_error("row %u: %s is not %s", i, why->str, breaks[i].reported);
        }
        if (breaks[i].saved) {
            ernic_save(s.e, bad);
            g_assert_false(ernic_load(e, s.env.now, bad->data, bad->len));
        }
        fake_ernic_done(&env, e);
        ernic_free(s.e);
        fake_env_fini(&s.env);
    }
}

/* Every invariant has a test. */
TEST("/timing-count/all-broken", test_all_broken)
{
    const ErnicInvariants *list = &ernic_invariants_timing;
    uint32_t k;

    for (uint32_t i = 0; i < list->count; i++) {
        for (k = 0; k < num_breaks &&
             strcmp(breaks[k].reported, list->list[i].name) != 0; k++) {
        }
        g_assert_cmpuint(k, <, num_breaks);
    }
}
