/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of the in-process wire: each call ends with a slice.
 */
#include "qemu/osdep.h"
#include "cpu_time.h"
#include "fabric/carried.h"
#include "fabric/switch.h"
#include "test.h"

#define PORTS   ERNIC_SWITCH_PORTS
#define LEN     9000

typedef struct Net {
    ErnicSwitch *s;
    uint64_t now, last;
    uint32_t frames, ready;
    bool full;                  /* no device accepts frames */
} Net;

static bool deliver(void *opaque, uint32_t port, uint64_t at, const uint8_t *frame,
                    uint32_t len)
{
    Net *n = opaque;

    g_assert_cmpuint(at, >=, n->last);
    n->last = at;
    n->frames++;
    return !n->full;
}

static void ready(void *opaque, uint32_t port)
{
    ((Net *)opaque)->ready++;
}

static const ErnicSwitchOps ops = { .deliver = deliver, .ready = ready };

/* Every port sends broadcasts until its cable is full. Returns how many were sent. */
static uint32_t send_all(Net *n, uint32_t len)
{
    uint8_t frame[LEN] = { };
    uint32_t sent = 0;

    memset(frame, 0xff, 6);
    for (uint32_t i = 0; i < PORTS; i++) {
        frame[11] = i + 1;
        while (ernic_switch_send(n->s, i, n->now, frame, len)) {
            sent++;
        }
    }
    return sent;
}

/*
 * Every port of the largest switch sends broadcasts, and then time passes: all of it is
 * due in one call. The order is that of time.
 */
static void test_slices(const void *data)
{
    ErnicSwitchConfig cfg = {
        .ports = PORTS, .rate = 100000000000, .flight = 500, .queue = 64 << 20,
    };
    uint32_t sent, calls = 0, most = 0, before;
    Net n = { .now = 1000 };
    int64_t start, ns = 0;
    bool done;

    n.s = ernic_switch_new(&cfg, &ops, &n);
    for (uint32_t i = 0; i < PORTS; i++) {
        ernic_switch_plug(n.s, i, false);
    }
    sent = send_all(&n, GPOINTER_TO_UINT(data));
    n.now += 1000000000;
    do {
        before = n.frames;
        start = cpu_ns();
        done = ernic_switch_run(n.s, n.now);
        ns = MAX(ns, cpu_ns() - start);
        most = MAX(most, n.frames - before);
        calls++;
    } while (!done);
    g_test_message("%u calls, at most %u frames and %.2f ms", calls, most, ns / 1e6);
    IS(sent, 2 * PORTS);
    IS(n.ready, PORTS);
    IS(n.frames, sent * (PORTS - 1));
    g_assert_cmpuint(most, <, n.frames / 40);
    while (!ernic_switch_reap(n.s)) {
        continue;
    }
    IS(ernic_switch_store(n.s)->used, 0);
    ernic_switch_free(n.s);
}

static ErnicSwitchStats stats(const Net *n, uint32_t port)
{
    ErnicSwitchStats st;

    ernic_switch_stats(n->s, port, n->now, &st);
    return st;
}

/*
 * The shortest frames fill the longest queue, of a device that accepts none, and their
 * sender stops. The device goes: the call frees nothing, the sender goes on, and slices
 * free the frames.
 */
TEST("/switch-slices/unplug", test_unplug)
{
    enum { QUEUE = 64 << 20 };
    ErnicSwitchConfig cfg = {
        .ports = 3, .rate = 100000000000, .queue = QUEUE, .xoff = QUEUE - 1000, .xon = 1,
    };
    uint8_t frame[ERNIC_SWITCH_FRAME_MIN] = { 0xff, [11] = 1 };
    Net n = { .now = 1000, .full = true };
    uint32_t waited, slices = 1;
    int64_t ns;

    n.s = ernic_switch_new(&cfg, &ops, &n);
    ernic_switch_plug(n.s, 0, false);
    ernic_switch_plug(n.s, 1, false);
    while (stats(&n, 0).pauses == 0) {
        ernic_switch_send(n.s, 0, n.now, frame, sizeof(frame));
        ernic_switch_run(n.s, n.now += 10);
    }
    ernic_switch_run(n.s, n.now += 1000);
    g_assert_cmpuint(stats(&n, 1).depth, >, cfg.xoff);
    g_assert_cmpuint(stats(&n, 1).depth, <=, QUEUE);
    /* They count 60 bytes each. */
    g_assert_cmpuint(ernic_switch_store(n.s)->used, <, QUEUE);
    g_assert_false(ernic_switch_send(n.s, 0, n.now, frame, sizeof(frame)));
    waited = stats(&n, 0).rx_frames - n.frames;
    ns = cpu_ns();
    ernic_switch_unplug(n.s, 1, n.now);
    g_test_message("%u frames, %.3f ms", waited, (cpu_ns() - ns) / 1e6);
    IS(stats(&n, 1).unplugged, waited);
    IS(stats(&n, 1).depth, 0);
    g_assert_true(ernic_switch_run(n.s, n.now += 1000));
    g_assert_true(ernic_switch_send(n.s, 0, n.now, frame, sizeof(frame)));
    while (!ernic_switch_reap(n.s)) {
        slices++;
    }
    g_assert_cmpuint(slices, >, 1000);
    ernic_switch_free(n.s);
}

/* A cable whose device sends the next short frame whenever it may, @frames in all. */
typedef struct Stream {
    Net n;
    uint32_t left;
} Stream;

static void send_next(void *opaque, uint32_t port)
{
    uint8_t frame[60] = { 2, [11] = 1 };
    Stream *t = opaque;

    while (t->left && ernic_switch_send(t->n.s, 0, t->n.now, frame, sizeof(frame))) {
        t->left--;
    }
}

/* Slices beside the first of each call, for @frames of which @reorder delays some. */
static uint32_t slices_of(uint32_t frames, uint32_t reorder)
{
    static const ErnicSwitchOps stream_ops = { .deliver = deliver, .ready = send_next };
    ErnicSwitchConfig cfg = {
        .ports = 2, .rate = 100000000000, .flight = 2000000, .reorder = reorder,
        .reorder_max = reorder ? 2000000 : 0, .queue = ERNIC_SWITCH_FRAME_MAX,
    };
    Stream t = { .n.now = 1000, .left = frames };
    uint32_t slices = 0;
    int64_t ns = cpu_ns();

    t.n.s = ernic_switch_new(&cfg, &stream_ops, &t);
    ernic_switch_plug(t.n.s, 0, false);
    ernic_switch_plug(t.n.s, 1, false);
    send_next(&t, 0);
    while (t.left) {
        while (!ernic_switch_run(t.n.s, t.n.now)) {
            slices++;
        }
        t.n.now += 50;
    }
    g_test_message("reorder %u: %u slices, %.1f ms", reorder, slices,
                   (cpu_ns() - ns) / 1e6);
    ernic_switch_free(t.n.s);
    return slices;
}

/*
 * A frame that chance does not delay finds its place among those in flight without a look
 * at all of them. Where all frames are delayed, the looks are charged.
 */
TEST("/switch-slices/reorder", test_reorder)
{
    IS(slices_of(30000, 0), 0);
    IS(slices_of(30000, ERNIC_SWITCH_ALWAYS / 100), 0);
    g_assert_cmpuint(slices_of(20000, ERNIC_SWITCH_ALWAYS), >, 50);
}

TESTS(add_tests)
{
    g_test_add_data_func("/switch-slices/short", GUINT_TO_POINTER(60), test_slices);
    g_test_add_data_func("/switch-slices/long", GUINT_TO_POINTER(LEN), test_slices);
}
