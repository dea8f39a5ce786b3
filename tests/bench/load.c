/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The measurements: side 0 posts requests and counts, side 1 executes orders. Orders
 * go through shared memory, data never does.
 */
#include "qemu/osdep.h"
#include <time.h>
#include "bench.h"

#define ORDER_NS        20000000000ull      /* deadline: the side has failed */
#define SMALL           8                   /* bytes of a small message */

const char *const bench_host[BENCH_SIDES] = { "127.0.0.1", "127.0.0.2" };

/* ---- both sides ---------------------------------------------------------------- */

/* Posts @n receives, each for a message of any length. */
static void repost(BenchGuest *g, BenchQp *qp, uint32_t n)
{
    if (n == 0) {
        return;
    }
    while (n--) {
        bench_post_recv(g, qp, g->dst, BENCH_MESSAGE_MAX);
    }
    bench_ring_rq(g, qp);
}

/* Each side always runs: what is not its processor time was taken by others. */
static uint64_t lost(void)
{
    struct timespec cpu;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return bench_now() - (cpu.tv_sec * 1000000000ull + cpu.tv_nsec);
}

static void barrier(Bench *b)
{
    b->barriers++;
    atomic_fetch_add(&b->sh->arrived, 1);
    while (atomic_load(&b->sh->arrived) < BENCH_SIDES * b->barriers) {
        continue;
    }
}

void bench_setup(Bench *b)
{
    uint16_t port = bench_raw_init(&b->raw, bench_host[b->side]);

    if (b->side == 1) {
        b->sh->raw_port = port;
    }
    for (uint32_t i = 0; i < BENCH_GUESTS; i++) {
        bench_guest_init(&b->guest[i], i, b->side, b->sh->folder,
                         &b->sh->peer[b->side][i]);
    }
    barrier(b);
    for (uint32_t i = 0; i < BENCH_GUESTS; i++) {
        bench_guest_connect(&b->guest[i], b->side, &b->sh->peer[!b->side][i]);
        for (uint32_t q = 0; i != BENCH_UDP_MANY && q < BENCH_FEW; q++) {
            repost(&b->guest[i], &b->guest[i].qp[q], BENCH_RQ_DEPTH);
        }
    }
    barrier(b);
}

void bench_teardown(Bench *b)
{
    for (uint32_t i = 0; i < BENCH_GUESTS; i++) {
        bench_guest_free(&b->guest[i]);
    }
    bench_raw_free(&b->raw);
}

/* ---- side 1 ---------------------------------------------------------------------- */

static void serve_once(Bench *b, const BenchOrder *o)
{
    BenchGuest *g = &b->guest[o->guest];
    BenchQp *qp = &g->qp[o->qp];
    uint32_t n;

    if (o->mode == BENCH_RAW) {
        atomic_fetch_add_explicit(&b->sh->raw_bytes, bench_raw_recv(&b->raw),
                                  memory_order_relaxed);
        return;
    }
    bench_node_step(&g->node);
    n = bench_poll(&g->rcq, BENCH_RQ_DEPTH);
    repost(g, qp, n);
    bench_poll(&g->scq, BENCH_SQ_DEPTH);
}

/* Executes the part of an order that happens once. */
static void obey(Bench *b, const BenchOrder *o)
{
    BenchGuest *g = &b->guest[o->guest];

    if (o->mode == BENCH_FILL) {
        bench_pattern_fill(bench_mem(&g->node, g->src), o->len, o->seed);
        memset(bench_mem(&g->node, g->dst), 0, BENCH_MESSAGE_MAX);
    } else if (o->mode == BENCH_CHECK) {
        b->sh->answer = bench_pattern_ok(bench_mem(&g->node, g->dst), o->len, o->seed);
    }
}

void bench_serve(Bench *b)
{
    BenchOrder now = { .mode = BENCH_SERVE };
    uint32_t seen = 0, number;

    while (now.mode != BENCH_QUIT) {
        number = atomic_load_explicit(&b->sh->ordered, memory_order_acquire);
        if (number != seen) {
            seen = number;
            now = b->sh->order;
            obey(b, &now);
            b->sh->lost = lost();
            atomic_store_explicit(&b->sh->obeyed, number, memory_order_release);
        }
        serve_once(b, &now);
    }
}

/* ---- side 0 -------------------------------------------------------------------- */

static void check_deadline(const BenchNode *n, uint64_t deadline, const char *what)
{
    if (n->now > deadline) {
        bench_die("%s takes longer than %llu s", what, ORDER_NS / 1000000000);
    }
}

/* Sends an order to side 1, and runs the own node until side 1 has executed it. */
static void order(Bench *b, BenchOrder o)
{
    uint64_t deadline = bench_now() + ORDER_NS;
    uint32_t number = atomic_load(&b->sh->ordered) + 1;

    b->sh->order = o;
    atomic_store_explicit(&b->sh->ordered, number, memory_order_release);
    while (atomic_load_explicit(&b->sh->obeyed, memory_order_acquire) != number) {
        bench_node_step(&b->guest[o.guest].node);
        check_deadline(&b->guest[o.guest].node, deadline, "an order");
    }
}

uint64_t bench_lost(Bench *b)
{
    order(b, (BenchOrder) { .mode = BENCH_SERVE });
    return lost() + b->sh->lost;
}

void bench_quit(Bench *b)
{
    order(b, (BenchOrder) { .mode = BENCH_QUIT });
}

double bench_raw_rate(Bench *b, uint32_t mtu, uint64_t ns)
{
    uint64_t begin, start = 0, now, bytes = 0;

    order(b, (BenchOrder) { .mode = BENCH_RAW });
    begin = now = bench_now();
    while (!start || now < start + ns) {
        if (!start && now >= begin + ns / 4) {
            start = now;
            bytes = atomic_load(&b->sh->raw_bytes);
        }
        bench_raw_send(&b->raw, bench_host[1], b->sh->raw_port, mtu);
        now = bench_now();
    }
    bytes = atomic_load(&b->sh->raw_bytes) - bytes;
    order(b, (BenchOrder) { .mode = BENCH_SERVE });
    return bytes * 1e9 / (now - start);
}

/* Copies as engines do: from a message to a buffer of a train, and to another message. */
double bench_copy_rate(Bench *b, uint64_t ns)
{
    const uint8_t *src = bench_mem(&b->guest[BENCH_SHM].node, b->guest[BENCH_SHM].src);
    uint8_t *dst = bench_mem(&b->guest[BENCH_SHM].node, b->guest[BENCH_SHM].dst);
    g_autofree uint8_t *buf = g_malloc0(ERNIC_TRAIN_BYTES);
    uint64_t start = bench_now(), now = start, bytes = 0;
    uint32_t at = 0;

    while (now < start + ns) {
        memcpy(buf, src + at, ERNIC_TRAIN_BYTES);
        /* The copies are not to be merged. */
        atomic_signal_fence(memory_order_seq_cst);
        memcpy(dst + at, buf, ERNIC_TRAIN_BYTES);
        at += ERNIC_TRAIN_BYTES;
        at = at + ERNIC_TRAIN_BYTES > BENCH_MESSAGE_MAX ? 0 : at;
        bytes += ERNIC_TRAIN_BYTES;
        now = bench_now();
    }
    return bytes * 1e9 / (now - start);
}

/* A stream of requests of one kind, round-robin over queue pairs. */
typedef struct Stream {
    Bench *b;
    BenchGuest *g;
    const BenchPeer *peer;
    uint32_t guest, first_qp, num_qp, next_qp;
    uint8_t opcode;
    uint32_t len, depth;        /* bytes; requests in flight */
    uint64_t posted, done;
} Stream;

static Stream stream_of(Bench *b, uint32_t guest, uint32_t first_qp,
                        uint32_t num_qp, uint8_t opcode, uint32_t len)
{
    Stream s = {
        .b = b, .g = &b->guest[guest], .peer = &b->sh->peer[1][guest],
        .guest = guest, .first_qp = first_qp, .num_qp = num_qp,
        .opcode = opcode, .len = len,
        .depth = MIN(4 * BENCH_MESSAGE_MAX / len, BENCH_SQ_DEPTH),
    };

    return s;
}

/* Messages are adjacent in memory; all receives use the address dst. */
static void stream_post(Stream *s, uint32_t n)
{
    uint32_t slots = BENCH_MESSAGE_MAX / s->len;
    BenchQp *qp = NULL;

    while (n--) {
        uint64_t off = (s->posted++ % slots) * s->len;
        bool read = s->opcode == ERNIC_WR_READ;

        qp = &s->g->qp[s->first_qp + s->next_qp];
        bench_post_send(s->g, qp, s->opcode, (read ? s->g->dst : s->g->src) + off,
                        s->len, (read ? s->peer->src : s->peer->dst) + off, s->peer->key);
        if (++s->next_qp == s->num_qp) {
            s->next_qp = 0;
        }
        if (s->num_qp > 1) {
            bench_ring_sq(s->g, qp);
        }
    }
    if (s->num_qp == 1 && qp) {
        bench_ring_sq(s->g, qp);
    }
}

static void stream_step(Stream *s, bool post)
{
    if (post && s->posted - s->done < s->depth) {
        stream_post(s, s->depth - (s->posted - s->done));
    }
    bench_node_step(&s->g->node);
    s->done += bench_poll(&s->g->scq, BENCH_SQ_DEPTH);
}

static void stream_drain(Stream *s)
{
    uint64_t deadline = bench_now() + ORDER_NS;

    while (s->done != s->posted) {
        stream_step(s, false);
        check_deadline(&s->g->node, deadline, "a message");
    }
}

/*
 * Messages per second. The interval begins and ends at a completion, so that no
 * message is counted in part. A quarter of @ns before it is a warm-up.
 */
static double stream_rate(Stream *s, uint64_t ns)
{
    uint64_t begin = bench_now(), deadline = begin + ORDER_NS;
    uint64_t now = begin, start = 0, first = 0, last = s->done;

    order(s->b, (BenchOrder) { .mode = BENCH_SERVE, .guest = s->guest,
                               .qp = s->first_qp });
    while (!start || now < start + ns) {
        do {
            stream_step(s, true);
            check_deadline(&s->g->node, deadline, "a message");
        } while (s->done == last);
        last = s->done;
        now = bench_now();
        if (!start && now >= begin + ns / 4) {
            start = now;
            first = last;
        }
    }
    stream_drain(s);
    return (last - first) * 1e9 / (now - start);
}

double bench_rate(Bench *b, BenchWhich which, uint8_t opcode, uint32_t qp,
                  uint32_t len, uint64_t ns)
{
    Stream s = stream_of(b, which, qp, 1, opcode, len);

    return stream_rate(&s, ns);
}

double bench_cost(Bench *b, bool many, uint64_t ns)
{
    Stream s = stream_of(b, many ? BENCH_UDP_MANY : BENCH_UDP,
                         0, many ? BENCH_MANY : BENCH_FEW, ERNIC_WR_WRITE, SMALL);

    s.depth = BENCH_FEW;
    return 1e9 / stream_rate(&s, ns);
}

void bench_verify(Bench *b, BenchWhich which, uint8_t opcode, uint32_t qp, uint32_t len)
{
    static uint32_t seed;
    BenchGuest *g = &b->guest[which];
    Stream s = stream_of(b, which, qp, 1, opcode, len);
    uint8_t *src = bench_mem(&g->node, g->src);
    uint8_t *dst = bench_mem(&g->node, g->dst);
    BenchOrder o = { .guest = which, .qp = qp, .len = BENCH_MESSAGE_MAX,
                     .seed = ++seed };
    bool ok;

    /* All SENDs arrive at dst: compare the bytes of one message only. */
    if (opcode == ERNIC_WR_SEND) {
        o.len = len;
    }
    o.mode = BENCH_FILL;
    order(b, o);
    bench_pattern_fill(src, o.len, seed);
    memset(dst, 0, BENCH_MESSAGE_MAX);
    s.depth = MIN(s.depth, opcode == ERNIC_WR_SEND ? 1u : s.depth);
    while (s.posted < o.len / len) {
        s.depth = MIN(s.depth, o.len / len - s.posted);
        stream_step(&s, true);
        stream_drain(&s);
    }
    if (opcode == ERNIC_WR_READ) {
        ok = bench_pattern_ok(dst, o.len, seed);
    } else {
        o.mode = BENCH_CHECK;
        order(b, o);
        ok = b->sh->answer;
    }
    if (!ok) {
        bench_die("opcode %u, %u bytes: the data is wrong", opcode, len);
    }
}
