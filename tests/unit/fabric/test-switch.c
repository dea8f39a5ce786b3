/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The in-process wire: times compared with sums calculated by hand, forwarding, queues,
 * marks, pauses, random losses, and devices that are plugged and unplugged.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fabric/switch.h"
#include "test.h"
#include "wire/frame.h"

#define NEVER   UINT64_MAX
#define LEN     1000
#define SEQ_AT  40
#define ALL     0xff            /* the host of a broadcast */

typedef struct Got {
    uint64_t at;
    uint32_t port, len, seq, ecn;
} Got;

/* A network of devices that store received frames, and send when they may. */
typedef struct Net {
    ErnicSwitch *s;
    GArray *got;                /* of Got */
    uint64_t now, sent_at;
    uint32_t ready, seq;
    uint32_t full;              /* bits of ports whose devices accept one frame */
    uint32_t want[ERNIC_SWITCH_PORTS];  /* frames that a port has to send */
    uint8_t to;                 /* host that they are for */
    uint8_t tclass;
} Net;

/* ---- devices --------------------------------------------------------------- */

static void make_frame(uint8_t *frame, uint8_t from, uint8_t to, uint8_t tclass,
                       uint32_t seq)
{
    memset(frame, 0, LEN);
    frame[5] = to;
    frame[11] = from;
    if (to == ALL) {
        memset(frame, 0xff, 6);
    }
    stw_be_p(frame + 12, ERNIC_ETHERTYPE_IP4);
    frame[14] = 0x45;
    frame[15] = tclass;
    stw_be_p(frame + 24, ernic_net_checksum(frame + 14, ERNIC_IP4_LEN));
    stl_be_p(frame + SEQ_AT, seq);
}

static bool send_len(Net *n, uint32_t port, uint8_t to, uint32_t len)
{
    uint8_t frame[ERNIC_SWITCH_FRAME_MAX + 1] = { };

    make_frame(frame, port + 1, to, n->tclass, n->seq);
    if (!ernic_switch_send(n->s, port, n->now, frame, len)) {
        return false;
    }
    n->seq++;
    return true;
}

/* Hosts are ports + 1. */
static bool send(Net *n, uint32_t port, uint8_t to)
{
    return send_len(n, port, to, LEN);
}

static void send_wanted(Net *n, uint32_t port)
{
    while (n->want[port] && send(n, port, n->to)) {
        n->want[port]--;
    }
}

static bool deliver(void *opaque, uint32_t port, uint64_t at,
                    const uint8_t *frame, uint32_t len)
{
    Net *n = opaque;
    Got got = { .at = at, .port = port, .len = len };

    if (len >= SEQ_AT + 4) {
        got.seq = ldl_be_p(frame + SEQ_AT);
        got.ecn = frame[15] & ERNIC_ECN_MASK;
        IS(ernic_net_checksum(frame + 14, ERNIC_IP4_LEN), 0);
    }
    g_array_append_val(n->got, got);
    return !(n->full & 1u << port);
}

static void sent(void *opaque, uint32_t port, uint64_t at,
                 const uint8_t *frame, uint32_t len)
{
    ((Net *)opaque)->sent_at = at;
}

static void ready(void *opaque, uint32_t port)
{
    Net *n = opaque;

    n->ready++;
    send_wanted(n, port);
}

static const ErnicSwitchOps ops = { deliver, sent, ready };

/* 100 Gb/s: 80 ps a byte, 81.92 ns for a frame of 1000 bytes. */
#define CONFIG(...) \
    { .rate = 100000000000, .flight = 500, .queue = 1 << 20, __VA_ARGS__ }

static void start(Net *n, const ErnicSwitchConfig *cfg)
{
    *n = (Net) { .now = 1000, .to = 1, .tclass = ERNIC_ECN_ECT0 };
    n->got = g_array_new(false, false, sizeof(Got));
    g_assert_cmpstr(ernic_switch_wrong(cfg), ==, NULL);
    n->s = ernic_switch_new(cfg, &ops, n);
    for (uint32_t i = 0; i < cfg->ports; i++) {
        ernic_switch_plug(n->s, i, false);
    }
}

static void stop(Net *n)
{
    ernic_switch_free(n->s);
    g_array_free(n->got, true);
}

/* Advance from one due event to the next. */
static void run_until(Net *n, uint64_t end)
{
    while (ernic_switch_next(n->s) <= MIN(end, NEVER - 1)) {
        n->now = MAX(n->now, ernic_switch_next(n->s));
        ernic_switch_run(n->s, n->now);
    }
    n->now = end == NEVER ? n->now : end;
}

static void run(Net *n)
{
    run_until(n, NEVER);
}

static const Got *got(const Net *n, uint32_t i)
{
    g_assert_cmpuint(i, <, n->got->len);
    return &g_array_index(n->got, Got, i);
}

static ErnicSwitchStats stats(const Net *n, uint32_t port)
{
    ErnicSwitchStats st;

    ernic_switch_stats(n->s, port, n->now, &st);
    return st;
}

/* The head of a test of a Net *n with these parameters. */
#define NET_TEST(path, fn, ...) \
    WORLD_TEST(path, fn, Net, n, start(n, &(ErnicSwitchConfig)CONFIG(__VA_ARGS__)), \
               stop(n))

/* ---- a cable --------------------------------------------------------------- */

NET_TEST("/switch/cable", test_cable, .ports = 2)
{
    g_assert_true(send(n, 0, 2));
    run(n);
    IS(n->sent_at, 1082);      /* 1000 + 81.92 */
    IS(got(n, 0)->at, 1582);
    IS(got(n, 0)->port, 1);
    /* Any address goes to the other end of the cable. */
    g_assert_true(send_len(n, 1, 77, 60));
    run(n);
    IS(got(n, 1)->port, 0);
    IS(got(n, 1)->at, 1582 + 7 + 500);       /* 6.72 */
    /* A frame below the minimum length takes as long as the shortest. */
    n->now = 10000;
    g_assert_true(send_len(n, 1, 1, 14));
    run(n);
    IS(got(n, 2)->at, 10507);
    /* No rounding from frame to frame: 10,000 of 81.92 ns. */
    n->now = 20000;
    n->to = 2;
    n->want[0] = 10000;
    send_wanted(n, 0);
    run(n);
    for (uint32_t i = 0; i < 10000; i++) {
        IS(got(n, 3 + i)->at, 20500 + ((i + 1) * 8192 + 99) / 100);
        IS(got(n, 3 + i)->seq, 3 + i);
    }
    IS(stats(n, 0).rx_frames, 10001);
    IS(stats(n, 1).tx_bytes, 10001 * LEN);
}

/* One frame may wait for the one on the cable; then the sender is called. */
NET_TEST("/switch/refusal", test_refusal, .ports = 2)
{
    g_assert_true(send(n, 0, 2));
    g_assert_true(send(n, 0, 2));
    g_assert_false(send(n, 0, 2));
    g_assert_true(send(n, 1, 1));              /* the other direction */
    run_until(n, 1081);
    IS(n->ready, 0);
    g_assert_false(send(n, 0, 2));
    run_until(n, 1082);
    IS(n->ready, 1);
    g_assert_true(send(n, 0, 2));
    run(n);
    IS(n->got->len, 4);
    IS(got(n, 3)->at, 1000 + 246 + 500);     /* 245.76 */
    IS(n->ready, 1);           /* no sender was refused since */
}

/* A sender with a paced link of its own is not delayed by the cable again. */
NET_TEST("/switch/paced", test_paced, .ports = 2)
{
    ernic_switch_plug(n->s, 0, true);
    for (uint32_t i = 1; i <= 1000; i++) {
        run_until(n, 1000 + (i * 8192 + 99) / 100);
        g_assert_true(send(n, 0, 2));
    }
    /* A burst is serialized. */
    for (uint32_t i = 0; i < 2; i++) {
        run(n);
        g_assert_true(send(n, 0, 2));
        g_assert_true(send(n, 0, 2));
    }
    run(n);
    for (uint32_t i = 1; i <= 1000; i++) {
        uint64_t at = 1000 + (i * 8192 + 99) / 100 + 500;

        g_assert_cmpuint(got(n, i - 1)->at, >=, at);
        g_assert_cmpuint(got(n, i - 1)->at, <=, at + 1);
    }
    IS(got(n, 1001)->at - got(n, 1000)->at, 82);
}

/* A full receiver makes the sender wait, and gets the held frames at once later. */
TEST("/switch/full", test_full)
{
    for (uint32_t ports = 2; ports <= 3; ports++) {
        ErnicSwitchConfig cfg = CONFIG(.ports = ports);
        Net n;

        start(&n, &cfg);
        n.to = 2;
        send(&n, 1, 1);         /* learn the port of host 2 */
        run(&n);
        g_array_set_size(n.got, 0);
        n.full = 2;
        n.want[0] = 20;
        send_wanted(&n, 0);
        run(&n);
        IS(n.got->len, 1);
        IS(stats(&n, 1).tx_frames, 1);
        if (ports == 2) {
            g_assert_cmpuint(n.want[0], >, 0);
        } else {
            g_assert_cmpuint(stats(&n, 1).depth, >, 0);
        }
        n.now = 1000000;
        n.full = 0;
        ernic_switch_resume(n.s, 1, n.now);
        run(&n);
        IS(n.got->len, 20);
        for (uint32_t i = 0; i < 20; i++) {
            IS(got(&n, i)->seq, 1 + i);
            IS(got(&n, i)->at >= 1000000, i > 0);
            g_assert_cmpuint(got(&n, i)->at, <=, 1000000 + 1500 + i * 82);
        }
        IS(stats(&n, 1).depth, 0);
        stop(&n);
    }
}

#define ROUNDS 1000

/*
 * A receiver that takes one frame at a time is soon full again: a cable has no more
 * frames than at first, whether its sender always waits or sends two in between.
 */
TEST("/switch/one-by-one", test_one_by_one)
{
    for (uint32_t waits = 0; waits < 2; waits++) {
        ErnicSwitchConfig cfg = CONFIG(.ports = 2);
        uint32_t under_way = 0;
        Net n;

        start(&n, &cfg);
        n.to = 2;
        n.full = 2;
        for (uint32_t i = 0; i < ROUNDS; i++) {
            n.want[0] = waits ? UINT32_MAX : 2;
            send_wanted(&n, 0);
            run(&n);
            under_way = i ? under_way : n.seq - n.got->len;
            g_assert_cmpuint(n.seq - n.got->len, <=, under_way);
            n.now += 1000000;
            ernic_switch_resume(n.s, 1, n.now);
        }
        IS(n.got->len, ROUNDS);
        stop(&n);
    }
}

/* ---- a switch -------------------------------------------------------------- */

NET_TEST("/switch/store-and-forward", test_store_and_forward, .ports = 3, .latency = 300)
{
    send(n, 1, ALL);
    run(n);
    n->now = 10000;
    send(n, 0, 2);
    run(n);
    /* Cable 81.92, 500 of flight, 300, cable 81.92 from a whole ns, 500. */
    IS(got(n, 2)->at, 10000 + 82 + 500 + 300 + 82 + 500);
}

static uint32_t receivers(Net *n, uint32_t from, uint8_t to)
{
    uint32_t mask = 0;

    g_array_set_size(n->got, 0);
    send(n, from, to);
    run(n);
    for (uint32_t i = 0; i < n->got->len; i++) {
        mask |= 1u << got(n, i)->port;
    }
    return mask;
}

/* A broadcast from @host, at @port. */
static void appear(Net *n, uint32_t port, uint8_t host)
{
    uint8_t frame[LEN];

    make_frame(frame, host, ALL, 0, 0);
    ernic_switch_send(n->s, port, n->now, frame, LEN);
    run(n);
}

NET_TEST("/switch/forwarding", test_forwarding, .ports = 4)
{
    IS(receivers(n, 0, 2), 0xe);      /* not known yet */
    IS(receivers(n, 1, 1), 0x1);      /* 1 has sent */
    IS(receivers(n, 0, 2), 0x2);
    IS(receivers(n, 2, ALL), 0xb);
    IS(receivers(n, 0, 1), 0);        /* to itself */
    IS(stats(n, 0).floods, 1);
    IS(stats(n, 0).filtered, 1);
    /* An address that moves to another port. */
    for (uint32_t i = 0; i < 2; i++) {
        appear(n, 3 - 2 * i, 2);
        IS(receivers(n, 0, 2), i ? 0x2 : 0x8);
    }
    /* Many addresses on one port evict only that port's entries. */
    for (uint32_t i = 0; i < 100; i++) {
        appear(n, 3, 100 + i);
    }
    IS(receivers(n, 0, 199), 0x8);
    IS(receivers(n, 0, 100), 0xe);
    IS(receivers(n, 0, 2), 0x2);
    /* An unknown address does not match a forgotten entry. */
    IS(receivers(n, 0, 0), 0xe);
}

NET_TEST("/switch/bad-frames", test_bad_frames, .ports = 3)
{
    g_assert_true(send_len(n, 0, 2, 13));
    g_assert_true(send_len(n, 0, 2, ERNIC_SWITCH_FRAME_MAX + 1));
    IS(stats(n, 0).bad, 2);
    IS(stats(n, 0).rx_frames, 0);
    IS(ernic_switch_next(n->s), NEVER);
    g_assert_true(send_len(n, 0, 2, ERNIC_SWITCH_FRAME_MAX));
    run(n);
    IS(n->got->len, 2);
}

/* ---- incast: hosts 2 and on to host 1 --------------------------------------- */

#define FRAMES 2000

static void incast(Net *n, const ErnicSwitchConfig *cfg)
{
    start(n, cfg);
    send(n, 0, ALL);            /* learn the port of host 1 */
    run(n);
    g_array_set_size(n->got, 0);
    for (uint32_t i = 1; i < cfg->ports; i++) {
        n->want[i] = FRAMES;
    }
    for (uint32_t i = 1; i < cfg->ports; i++) {
        send_wanted(n, i);
    }
    run(n);
}

#define INCAST_TEST(path, fn, ...) \
    WORLD_TEST(path, fn, Net, n, incast(n, &(ErnicSwitchConfig)CONFIG(__VA_ARGS__)), \
               stop(n))

/*
 * Two frames of 1000 bytes are at the switch at 1581.92. It takes 40 ns for them, and
 * the cable to host 1 takes 81.92 for each, one after the other: they wait for 122 and
 * 204 ns.
 */
NET_TEST("/switch/depth", test_depth, .ports = 3, .latency = 40)
{
    static const struct {
        uint64_t ns, depth, area;
    } rows[] = {
        { 1581, 0, 0 }, { 1582, 2, 0 }, { 1600, 2, 2 * 18 },
        { 1703, 2, 2 * 121 }, { 1704, 1, 2 * 122 }, { 1785, 1, 122 + 203 },
        { 1786, 0, 122 + 204 }, { 9999, 0, 122 + 204 },
    };

    n->now = 0;
    send(n, 0, ALL);           /* learn the port of host 1 */
    run_until(n, 999);
    IS(stats(n, 0).depth_area, 0);
    IS(stats(n, 1).depth_area, 122 * LEN);
    n->now = 1000;
    send(n, 1, 1);
    send(n, 2, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        run_until(n, rows[i].ns);
        n->now = rows[i].ns;
        IS(stats(n, 0).depth, rows[i].depth * LEN);
        IS(stats(n, 0).depth_area, rows[i].area * LEN);
    }
    IS(stats(n, 0).max_depth, 2 * LEN);
}

static uint32_t marked(const Net *n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n->got->len; i++) {
        count += got(n, i)->ecn == ERNIC_ECN_CE;
    }
    return count;
}

INCAST_TEST("/switch/tail-drop", test_tail_drop, .ports = 4, .queue = 100 * LEN)
{
    g_assert_cmpuint(stats(n, 0).tail_drops, >, FRAMES);
    IS(stats(n, 0).tail_drops + n->got->len, 3 * FRAMES);
    IS(stats(n, 0).max_depth, 100 * LEN);
    IS(stats(n, 0).depth, 0);
    IS(stats(n, 0).marks, 0);
    IS(stats(n, 1).pauses, 0);
}

/* Every sender pauses in turn, and no frame is lost. */
INCAST_TEST("/switch/pause", test_pause,
            .ports = 4, .queue = 100 * LEN, .xoff = 10 * LEN, .xon = 5 * LEN)
{
    ErnicSwitchStats st;

    IS(n->got->len, 3 * FRAMES);
    IS(stats(n, 0).tail_drops, 0);
    /* Frames under way when the pause was sent: 2 flights and 2 frames. */
    g_assert_cmpuint(stats(n, 0).max_depth, <=, 3 * (10 + 13 + 2 + 1) * LEN);
    for (uint32_t i = 1; i < 4; i++) {
        st = stats(n, i);
        g_assert_cmpuint(st.pauses, >, 10);
        /* Three to one: two thirds of the time. */
        g_assert_cmpuint(st.paused_ns, >, FRAMES * 82 * 2 * 8 / 10);
        g_assert_cmpuint(st.paused_ns, <, FRAMES * 82 * 2 * 12 / 10);
    }
    /* The cable to the receiver was never idle. */
    g_assert_cmpuint(got(n, 3 * FRAMES - 1)->at - got(n, 0)->at, <=, 3 * FRAMES * 82);
}

TEST("/switch/marks", test_marks)
{
    ErnicSwitchConfig cfg = CONFIG(.ports = 3, .kmin = 100 * LEN, .kmax = 1 << 20);
    uint32_t some;
    Net n;

    incast(&n, &cfg);           /* pmax 0: only where it is full */
    IS(marked(&n), 0);
    stop(&n);
    cfg.pmax = ERNIC_SWITCH_ALWAYS / 10;
    incast(&n, &cfg);
    some = marked(&n);
    IS(some, stats(&n, 0).marks);
    g_assert_cmpuint(some, >, 0);
    g_assert_cmpuint(some, <, n.got->len / 10);
    stop(&n);
    incast(&n, &cfg);           /* the same seed, the same marks */
    IS(marked(&n), some);
    stop(&n);
    cfg.seed = 1;
    incast(&n, &cfg);
    g_assert_cmpuint(marked(&n), !=, some);
    stop(&n);
    /* A step: exactly the frames that find a queue of kmax are marked. */
    cfg.kmin = 10 * LEN - 1;
    cfg.kmax = 10 * LEN;
    incast(&n, &cfg);
    g_assert_cmpuint(marked(&n), >, n.got->len * 9 / 10);
    g_assert_cmpuint(marked(&n), <, n.got->len);
    IS(got(&n, 0)->ecn, ERNIC_ECN_ECT0);
    stop(&n);
}

/* A frame without ECN is neither marked nor dropped in place of a mark. */
NET_TEST("/switch/not-capable", test_not_capable, .ports = 3, .kmax = 1)
{
    n->tclass = 0;
    for (uint32_t i = 0; i < 2; i++) {
        send(n, i, 3);
    }
    send(n, 0, 3);
    run(n);
    IS(n->got->len, 6);
    IS(marked(n), 0);
}

/* ---- random losses --------------------------------------------------------- */

static uint32_t arrivals(uint64_t seed, uint32_t loss, GArray **list)
{
    ErnicSwitchConfig cfg = CONFIG(.ports = 2, .loss = loss, .seed = seed);
    uint32_t count;
    Net n;

    start(&n, &cfg);
    n.want[1] = 10000;
    send_wanted(&n, 1);
    run(&n);
    count = n.got->len;
    IS(stats(&n, 1).lost + count, 10000);
    *list = g_array_copy(n.got);
    stop(&n);
    return count;
}

TEST("/switch/loss", test_loss)
{
    GArray *a, *b;
    uint32_t n = arrivals(1, ERNIC_SWITCH_ALWAYS / 100, &a);

    g_assert_cmpuint(n, >, 9850);
    g_assert_cmpuint(n, <, 9950);
    IS(arrivals(1, ERNIC_SWITCH_ALWAYS / 100, &b), n);
    g_assert_cmpmem(a->data, n * sizeof(Got), b->data, n * sizeof(Got));
    g_array_unref(b);
    arrivals(2, ERNIC_SWITCH_ALWAYS / 100, &b);
    g_assert_false(a->len == b->len && !memcmp(a->data, b->data, a->len * sizeof(Got)));
    g_array_unref(a);
    g_array_unref(b);
    IS(arrivals(1, ERNIC_SWITCH_ALWAYS, &a), 0);
    g_array_unref(a);
    IS(arrivals(1, 0, &a), 10000);
    g_array_unref(a);
}

NET_TEST("/switch/reorder", test_reorder,
         .ports = 2, .reorder = ERNIC_SWITCH_ALWAYS / 20, .reorder_max = 1000)
{
    uint32_t overtaken = 0;

    n->want[1] = 1000;
    send_wanted(n, 1);
    run(n);
    IS(n->got->len, 1000);
    g_assert_cmpuint(stats(n, 1).held_up, >, 20);
    for (uint32_t i = 1; i < 1000; i++) {
        g_assert_cmpuint(got(n, i)->at, >=, got(n, i - 1)->at);
        overtaken += got(n, i)->seq < got(n, i - 1)->seq;
    }
    g_assert_cmpuint(overtaken, >, 10);
    g_assert_cmpuint(overtaken, <=, stats(n, 1).held_up);
}

/* ---- plugging and unplugging ------------------------------------------------ */

TEST("/switch/unplug", test_unplug)
{
    ErnicSwitchConfig cfg = CONFIG(.ports = 4, .queue = 100 * LEN, .xoff = 10 * LEN,
                                   .xon = 5 * LEN);
    Net n;

    /* At any moment of an incast: the receiver, then a sender. */
    for (uint32_t i = 0; i < 3000; i += 37) {
        start(&n, &cfg);
        send(&n, 0, ALL);
        run(&n);
        n.want[1] = n.want[2] = n.want[3] = 40;
        send_wanted(&n, 1);
        send_wanted(&n, 2);
        send_wanted(&n, 3);
        run_until(&n, n.now + i);
        ernic_switch_unplug(n.s, 0, n.now);
        IS(stats(&n, 0).depth, 0);
        n.want[3] = 0;
        ernic_switch_unplug(n.s, 3, n.now);
        run(&n);
        IS(n.want[1] + n.want[2], 0);
        /* The next device on that cable starts afresh. */
        ernic_switch_plug(n.s, 0, false);
        g_array_set_size(n.got, 0);
        g_assert_true(send(&n, 0, 2));
        run(&n);
        g_assert_true(send(&n, 1, 1));
        run(&n);
        IS(got(&n, n.got->len - 1)->port, 0);
        stop(&n);
    }
}

/* No old state is left, random numbers included; refused senders are called. */
NET_TEST("/switch/reset", test_reset, .ports = 3, .loss = ERNIC_SWITCH_ALWAYS / 10)
{
    static const ErnicSwitchStats none;
    ErnicSwitchStats st;
    uint32_t first = 0;

    for (uint32_t i = 0; i < 5; i++) {
        n->want[1] = 100;
        n->got->len = 0;
        send_wanted(n, 1);
        run(n);
        IS(i ? first : n->got->len, n->got->len);
        first = n->got->len;
        n->want[1] = 100;
        send_wanted(n, 1);
        run_until(n, n->now + i * 301);
        n->want[1] = 0;
        ernic_switch_reset(n->s);
        st = stats(n, 0);
        g_assert_cmpmem(&st, sizeof(st), &none, sizeof(none));
        n->ready = 0;
        run(n);
        IS(n->ready, 1);
        ernic_switch_reset(n->s);
    }
}

/* ---- configurations -------------------------------------------------------- */

TEST("/switch/wrong", test_wrong)
{
    static const struct {
        const char *says;
        ErnicSwitchConfig cfg;
    } rows[] = {
#define ROW(says, ...) { says, CONFIG(.ports = 3, .flight = 0, __VA_ARGS__) }
        ROW(NULL),
        ROW("ports", .ports = 1),
        ROW("ports", .ports = 65),
        ROW("rate", .rate = 0),
        ROW("rate", .rate = 999999),
        ROW("rate", .rate = 1600000000001),
        ROW("a time", .rate = 1000000, .flight = 1000000001),
        ROW("a time", .rate = 1000000, .latency = 1000000001),
        ROW("a time", .rate = 1000000, .reorder = 1, .reorder_max = 1000000001),
        ROW("rate and flight", .flight = 10000000),
        ROW(NULL, .flight = 5000000),
        /* A multiplication in 64 bits would wrap to 126 bytes. */
        ROW("rate and flight", .rate = 1600000000000, .flight = 92233721),
        ROW(NULL, .rate = 1600000000000, .flight = 335544),
        ROW("rate and flight", .rate = 1600000000000, .flight = 335545),
        ROW("queue", .queue = 16383),
        ROW("queue", .queue = (64 << 20) + 1),
        ROW("kmin", .kmin = 1),
        ROW("kmin", .kmin = 2, .kmax = 2),
        ROW("kmin", .kmax = (1 << 20) + 1),
        ROW(NULL, .kmin = 1, .kmax = 2),
        ROW("xon", .xon = 1),
        ROW("xon", .xon = 2, .xoff = 2),
        ROW("xon", .xoff = (1 << 20) + 1),
        ROW(NULL, .xoff = 1),
        ROW("kmax", .ports = 2, .kmax = 1),
        ROW("kmax", .ports = 2, .xoff = 1),
        ROW("kmax", .ports = 2, .latency = 1),
        ROW("a probability", .pmax = ERNIC_SWITCH_ALWAYS + 1),
        ROW("a probability", .loss = ERNIC_SWITCH_ALWAYS + 1),
        ROW("a probability", .reorder = ERNIC_SWITCH_ALWAYS + 1,
            .reorder_max = 1),
        ROW("reorder", .reorder = 1),
        ROW("reorder", .reorder_max = 1),
#undef ROW
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *says = ernic_switch_wrong(&rows[i].cfg);

        g_test_message("row %zu: %s", i, says ?: "right");
        IS(!says, !rows[i].says);
        g_assert_true(!says || g_str_has_prefix(says, rows[i].says));
    }
}

/* The slowest and fastest rates, at the largest times. */
TEST("/switch/extremes", test_extremes)
{
    static const uint64_t rates[] = { 1000000, 1600000000000 };

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        ErnicSwitchConfig cfg = CONFIG(.ports = 3, .rate = rates[i]);
        uint64_t bits = (ERNIC_SWITCH_FRAME_MAX + 24) * 8ull;
        uint64_t work = (bits * 1000000000 + rates[i] - 1) / rates[i];
        Net n;

        start(&n, &cfg);
        n.now = INT64_MAX;
        g_assert_true(send_len(&n, 0, 2, ERNIC_SWITCH_FRAME_MAX));
        run(&n);
        IS(n.got->len, 2);
        IS(got(&n, 0)->at, (uint64_t)INT64_MAX + 2 * (work + 500));
        stop(&n);
    }
}
