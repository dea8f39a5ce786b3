/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time that the engines of a shell take with timing=on: shell.* of the profile.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "ernic-qdma-net.h"
#include "ernic-xib.h"

#define LEN         4096
#define QUEUE       20
/* ns, of ernic-200mhz-100g: 14 cycles, and 64 bytes a cycle. */
#define LATENCY     1000
#define WORK(len)   (5 * (14 + DIV_ROUND_UP(len, 64)))
#define TIMING      ",timing=on,timing-profile=ernic-200mhz-100g"

typedef struct Pace {
    QdmaNet n;
    QdmaQueue k;
    uint64_t at, since;
} Pace;

static void begin(Pace *p, const char *more)
{
    g_autofree char *all = g_strconcat(TIMING, more, NULL);

    qnet_open(&p->n, all);
    p->at = guest_alloc(&p->n.x.m->alloc, LEN);
}

static void open_queue(Pace *p, int dir)
{
    qdma_queue_open(&p->n.x, &p->k, QUEUE, dir, 16);
}

static void start_clock(Pace *p)
{
    p->since = qtest_clock_step(p->n.x.m->qts, 100000);
}

/* The time is @ns after the clock was started. */
static void until(Pace *p, uint64_t ns)
{
    qtest_clock_set(p->n.x.m->qts, p->since + ns);
}

/* Descriptors that are complete; the status of the ring says it at the last one. */
static uint64_t done(Pace *p)
{
    return qernic_stat(p->n.x.q, p->k.dir == QDMA_H2C ? "qdma.h2c_descriptors" :
                                                        "qdma.c2h_descriptors");
}

static void post(Pace *p, uint32_t num)
{
    while (num--) {
        qdma_post(&p->k, p->at, 0, LEN);
    }
    qdma_ring(&p->k, false);
}

/* The first descriptor takes latency and work, each further one its work. */
static void engine(Pace *p, int dir)
{
    open_queue(p, dir);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t was = done(p);

        start_clock(p);
        post(p, 4);
        for (uint32_t n = 0; n < 4; n++) {
            until(p, LATENCY + (n + 1) * WORK(LEN) - 1);
            g_assert_cmpuint(done(p), ==, was + n);
            until(p, LATENCY + (n + 1) * WORK(LEN));
            g_assert_cmpuint(done(p), ==, was + n + 1);
        }
        g_assert_cmpuint(extract64(qdma_status(&p->k), 16, 16), ==, p->k.pi);
    }
}

WORLD_KINDS("/ernic-qdma-pace/h2c", test_h2c, Pace, p, begin, { "", "" })
{
    engine(p, QDMA_H2C);
}

WORLD_KINDS("/ernic-qdma-pace/c2h", test_c2h, Pace, p, begin, { "", "" })
{
    engine(p, QDMA_C2H);
}

/* Without the timing model nothing waits. */
MACHINE_TEST("/ernic-qdma-pace/off", test_off)
{
    Pace p = { };

    qnet_open(&p.n, "");
    p.at = guest_alloc(&p.n.x.m->alloc, LEN);
    open_queue(&p, QDMA_H2C);
    start_clock(&p);
    post(&p, 4);
    qernic_wait_while(p.n.x.m->qts, done(&p) != 4);
}

/* Frames of a stream, in two queues of one port. */
WORLD_KINDS("/ernic-qdma-pace/stream", test_stream, Pace, p, begin, { "", "" })
{
    uint8_t frame[1500], is[QNET_FRAME];
    QdmaStream s[2];
    uint64_t ns = LATENCY;

    for (uint32_t i = 0; i < 2; i++) {
        qnet_stream(&p->n.x, &s[i], i, QNET_NEVER, 0);
        for (uint32_t n = 0; n < 3; n++) {
            qnet_frame(frame, 100 + 1300 * i, i, n);
            qnet_post(&s[i], frame, 100 + 1300 * i);
        }
    }
    start_clock(p);
    qnet_ring(&s[0]);
    qnet_ring(&s[1]);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t len = 100 + 1300 * (i % 2);

        ns += WORK(len);
        until(p, ns - 1);
        g_assert_cmpint(recv(p->n.fd, is, sizeof(is), MSG_DONTWAIT), ==, -1);
        until(p, ns);
        g_assert_cmpint(qernic_from_wire(p->n.fd, is, sizeof(is)), ==, len);
    }
}

/* A queue ends within its time; the next descriptor takes the whole of it. */
WORLD_KINDS("/ernic-qdma-pace/ends", test_ends, Pace, p, begin, { "", "" })
{
    open_queue(p, QDMA_H2C);
    start_clock(p);
    post(p, 1);
    until(p, LATENCY);
    qdma_command(&p->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_INVALIDATE);
    qdma_queue_context(&p->k, 0, 0);
    post(p, 1);
    until(p, 2 * LATENCY + WORK(LEN) - 1);
    g_assert_cmpuint(done(p), ==, 0);
    until(p, 2 * LATENCY + WORK(LEN));
    g_assert_cmpuint(done(p), ==, 1);
}

/* The same for a stream, whose next descriptor has the index of the one that ended. */
WORLD_KINDS("/ernic-qdma-pace/stream-ends", test_stream_ends, Pace, p, begin, { "", "" })
{
    uint8_t frame[1500], is[QNET_FRAME];
    QdmaStream s;

    qnet_stream(&p->n.x, &s, 0, QNET_NEVER, 0);
    qnet_frame(frame, sizeof(frame), 1, 2);
    qnet_post(&s, frame, sizeof(frame));
    start_clock(p);
    qnet_ring(&s);
    until(p, LATENCY);
    qnet_contexts(&s);
    qnet_post(&s, frame, 100);
    qnet_ring(&s);
    until(p, 2 * LATENCY + WORK(100) - 1);
    g_assert_cmpint(recv(p->n.fd, is, sizeof(is), MSG_DONTWAIT), ==, -1);
    until(p, 2 * LATENCY + WORK(100));
    g_assert_cmpint(qernic_from_wire(p->n.fd, is, sizeof(is)), ==, 100);
}

/* The time goes on at the destination. */
WORLD_KINDS("/ernic-qdma-pace/migrate", test_migrate, Pace, p, begin, { "", "" })
{
    g_autofree char *args = NULL;

    open_queue(p, QDMA_H2C);
    start_clock(p);
    post(p, 2);
    until(p, LATENCY);
    args = qnet_cable(&p->n, TIMING);
    qdma_migrate(&p->n.x, args);
    qernic_cont(p->n.x.m->qts);
    until(p, LATENCY + WORK(LEN) - 1);
    g_assert_cmpuint(done(p), ==, 0);
    until(p, LATENCY + WORK(LEN));
    g_assert_cmpuint(done(p), ==, 1);
    until(p, LATENCY + 2 * WORK(LEN));
    g_assert_cmpuint(done(p), ==, 2);
}

/* The channel MM2S of xib, with a frame in one piece and one in two. */
MACHINE_TEST("/ernic-qdma-pace/xib", test_xib)
{
    uint8_t frame[1000];
    uint64_t since, ns = LATENCY + WORK(1000);
    Xib x = { };

    xib_start(&x, TIMING);
    qnet_frame(frame, sizeof(frame), 1, 2);
    xib_post(&x, frame, sizeof(frame), 1);
    xib_post(&x, frame, sizeof(frame), 2);
    since = qtest_clock_step(x.m->qts, 100000);
    xib_ring(&x);
    qtest_clock_set(x.m->qts, since + ns - 1);
    g_assert_cmphex(xib_status(&x, XIB_MM2S, 0), ==, 0);
    qtest_clock_set(x.m->qts, since + ns);
    qnet_arrives(x.fd, frame, sizeof(frame));
    ns += 2 * WORK(500);
    qtest_clock_set(x.m->qts, since + ns - 1);
    g_assert_cmphex(xib_status(&x, XIB_MM2S, 1), !=, 0);
    g_assert_cmphex(xib_status(&x, XIB_MM2S, 2), ==, 0);
    qtest_clock_set(x.m->qts, since + ns);
    qnet_arrives(x.fd, frame, sizeof(frame));
}

#define LONG        (4 * 1024 * 1024)

/* An engine that needs several slices does not wait for the time of the other one. */
WORLD_KINDS("/ernic-qdma-pace/both", test_both, Pace, p, begin, { "", "" })
{
    QdmaQueue other;

    qdma_queue_open(&p->n.x, &other, QUEUE + 1, QDMA_C2H, 16);
    open_queue(p, QDMA_H2C);
    start_clock(p);
    qdma_post(&other, 8 * LONG, 0, 4 * LONG);
    qdma_ring(&other, false);
    qdma_post(&p->k, 8 * LONG, 0, LONG);
    qdma_ring(&p->k, false);
    until(p, LATENCY + WORK(LONG) - 1);
    g_assert_cmpuint(done(p), ==, 0);
    until(p, LATENCY + WORK(LONG));
    for (int i = 0; i < 1000 && !done(p); i++) {    /* slices at one virtual time */
        g_usleep(1000);
    }
    g_assert_cmpuint(done(p), ==, 1);
}

/* An engine that software stops earns no time. */
WORLD_KINDS("/ernic-qdma-pace/pause", test_pause, Pace, p, begin, { "", "" })
{
    open_queue(p, QDMA_H2C);
    start_clock(p);
    post(p, 8);
    until(p, LATENCY + WORK(LEN));
    g_assert_cmpuint(done(p), ==, 1);
    qdma_put(&p->n.x, 0x1204, 0);
    until(p, 1000000);
    g_assert_cmpuint(done(p), ==, 1);
    qdma_put(&p->n.x, 0x1204, 1);
    until(p, 1000000 + WORK(LEN));
    g_assert_cmpuint(done(p), <=, 2);
}

/* The next descriptor does not have the time of one that a reset of the channel ended. */
MACHINE_TEST("/ernic-qdma-pace/xib-reset", test_xib_reset)
{
    uint8_t frame[1000];
    Xib x = { };
    uint64_t since;

    xib_start(&x, TIMING);
    qnet_frame(frame, sizeof(frame), 1, 2);
    xib_post(&x, frame, sizeof(frame), 1);
    xib_ring(&x);
    qtest_clock_step(x.m->qts, LATENCY / 2);
    xib_put_channel(&x, XIB_MM2S, XIB_CR, PG332_DMACR_RESET);
    qtest_clock_step(x.m->qts, 100 * LATENCY);
    x.tx = 0;
    xib_begin(&x, XIB_MM2S, XIB_TX_CR);
    xib_post(&x, frame, sizeof(frame), 1);
    since = qtest_clock_step(x.m->qts, 1);
    xib_ring(&x);
    qtest_clock_set(x.m->qts, since + LATENCY + WORK(1000) - 1);
    g_assert_cmphex(xib_status(&x, XIB_MM2S, 0), ==, 0);
    qtest_clock_set(x.m->qts, since + LATENCY + WORK(1000));
    g_assert_cmphex(xib_status(&x, XIB_MM2S, 0), !=, 0);
}
