/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of the in-process wire: each call ends with a slice.
 */
#include "qemu/osdep.h"
#include "cpu_time.h"
#include "network/switch.h"

#define PORTS   ERNIC_SWITCH_PORTS
#define LEN     9000

typedef struct Net {
    ErnicSwitch *s;
    uint64_t now, last;
    uint32_t frames, ready;
} Net;

static bool deliver(void *opaque, uint32_t port, uint64_t at, const uint8_t *frame,
                    uint32_t len)
{
    Net *n = opaque;

    g_assert_cmpuint(at, >=, n->last);
    n->last = at;
    n->frames++;
    return true;
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
    uint32_t sent = 0, i;

    memset(frame, 0xff, 6);
    for (i = 0; i < PORTS; i++) {
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
    uint32_t sent, calls = 0, most = 0, before, i;
    Net n = { .now = 1000 };
    int64_t start, ns = 0;
    bool done;

    n.s = ernic_switch_new(&cfg, &ops, &n);
    for (i = 0; i < PORTS; i++) {
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
    g_assert_cmpuint(sent, ==, 2 * PORTS);
    g_assert_cmpuint(n.ready, ==, PORTS);
    g_assert_cmpuint(n.frames, ==, sent * (PORTS - 1));
    g_assert_cmpuint(most, <, n.frames / 40);
    ernic_switch_free(n.s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/switch-slices/short", GUINT_TO_POINTER(60), test_slices);
    g_test_add_data_func("/switch-slices/long", GUINT_TO_POINTER(LEN), test_slices);
    return g_test_run();
}
