/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wire saved and loaded: at every step of a run with losses, marks and pauses it
 * continues as before, also at another time of day; invalid bytes leave no state.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fabric/archive.h"
#include "fabric/switch_port.h"
#include "test.h"
#include "wire/frame.h"

#define NEVER   UINT64_MAX
#define PORTS   4
#define FRAMES  40              /* of each sender */
#define LEN     64
#define START   5000

/* Senders 1 to 3, all to port 0; a hash records all events. */
typedef struct Net {
    ErnicSwitch *s;
    uint64_t now, origin, hash;
    uint32_t left[PORTS], got;
    bool full;                  /* port 0 accepts one frame, until it is called */
} Net;

static ErnicSwitchConfig config(void)
{
    return (ErnicSwitchConfig) {
        .ports = PORTS, .rate = 100000000000, .flight = 100, .latency = 30,
        .queue = 20000, .kmin = 2 * LEN, .kmax = 10 * LEN,
        .pmax = ERNIC_SWITCH_ALWAYS / 2, .xoff = 8 * LEN, .xon = 3 * LEN,
        .loss = ERNIC_SWITCH_ALWAYS / 20, .reorder = ERNIC_SWITCH_ALWAYS / 20,
        .reorder_max = 300, .seed = 7,
    };
}

static void note(Net *n, uint64_t value)
{
    n->hash = (n->hash ^ value) * 0x100000001b3ull;
    n->hash ^= n->hash >> 29;
}

static void send_on(Net *n, uint32_t port)
{
    uint8_t frame[LEN] = { [5] = 1, [11] = port + 1, [14] = 0x45, ERNIC_ECN_ECT0 };

    stw_be_p(frame + 12, ERNIC_ETHERTYPE_IP4);
    stw_be_p(frame + 24, ernic_net_checksum(frame + 14, ERNIC_IP4_LEN));
    while (n->left[port]) {
        frame[LEN - 1] = n->left[port];
        if (!ernic_switch_send(n->s, port, n->now, frame, LEN)) {
            return;
        }
        n->left[port]--;
    }
}

static bool deliver(void *opaque, uint32_t port, uint64_t at, const uint8_t *frame,
                    uint32_t len)
{
    Net *n = opaque;

    note(n, at - n->origin);
    note(n, (uint64_t)port << 32 | frame[11] << 16 | frame[15] << 8 | frame[len - 1]);
    n->full = port == 0 && ++n->got % 8 == 0;
    return !n->full;
}

static void ready(void *opaque, uint32_t port)
{
    send_on(opaque, port);
}

static const ErnicSwitchOps ops = { .deliver = deliver, .ready = ready };

static ErnicSwitch *new_switch(Net *n, const ErnicSwitchConfig *cfg)
{
    ErnicSwitch *s = ernic_switch_new(cfg, &ops, n);

    for (uint32_t i = 0; i < cfg->ports; i++) {
        ernic_switch_plug(s, i, false);
    }
    return s;
}

static void begin(Net *n)
{
    ErnicSwitchConfig cfg = config();
    uint8_t hello[LEN] = { [0] = 0xff, [11] = 1 };

    *n = (Net) { .now = START, .origin = START };
    n->s = new_switch(n, &cfg);
    ernic_switch_send(n->s, 0, n->now, hello, LEN);
    for (uint32_t i = 1; i < PORTS; i++) {
        n->left[i] = FRAMES;
        send_on(n, i);
    }
}

/* Advance to the next due event; false: there is none. */
static bool step(Net *n)
{
    uint64_t next = ernic_switch_next(n->s);

    if (next == NEVER && !n->full) {
        return false;
    }
    if (n->full) {
        n->full = false;
        n->now += 500;
        ernic_switch_run(n->s, n->now);
        ernic_switch_resume(n->s, 0, n->now);
    } else {
        n->now = MAX(n->now, next);
        ernic_switch_run(n->s, n->now);
    }
    return true;
}

static uint64_t end(Net *n)
{
    ErnicSwitchStats st;

    while (step(n)) {
    }
    for (uint32_t i = 0; i < PORTS; i++) {
        ernic_switch_stats(n->s, i, n->now, &st);
#define X(name) note(n, st.name);
        ERNIC_SWITCH_STATS_LIST(X)
#undef X
    }
    ernic_switch_free(n->s);
    return n->hash;
}

static bool no_memory;
static gsize asked;                 /* for the last allocation that may fail */

void *__real_g_try_malloc(gsize bytes);
void *__wrap_g_try_malloc(gsize bytes);
void *__wrap_g_try_malloc(gsize bytes)
{
    asked = bytes;
    return no_memory ? NULL : __real_g_try_malloc(bytes);
}

static void walk(void *opaque, ErnicArchive *w)
{
    const Net *n = opaque;

    ernic_switch_walk(n->s, w);
    g_assert_false(w->bad);
}

static GByteArray *saved(Net *n)
{
    GByteArray *bytes = ernic_archive_save(walk, n, n->now);
    ErnicSwitchConfig cfg = config();

    g_assert_cmpuint(bytes->len, <=, ernic_switch_save_most(&cfg));
    g_assert_cmpuint(bytes->len, ==, asked);
    return bytes;
}

static bool load(Net *n, const uint8_t *bytes, size_t len)
{
    ErnicArchive w = { .in = bytes, .left = len, .now = n->now };

    ernic_switch_walk(n->s, &w);
    return !w.bad && w.left == 0;
}

/* Saved after @steps, loaded into another wire @later. */
static uint64_t interrupted(uint32_t steps, uint64_t later, bool *more)
{
    ErnicSwitchConfig cfg = config();
    g_autoptr(GByteArray) bytes = NULL;
    Net n;

    begin(&n);
    *more = true;
    while (*more && steps--) {
        *more = step(&n);
    }
    bytes = saved(&n);
    ernic_switch_free(n.s);
    n.now += later;
    n.origin += later;
    n.s = new_switch(&n, &cfg);
    g_assert_true(load(&n, bytes->data, bytes->len));
    return end(&n);
}

TEST("/switch-state/every-step", test_every_step)
{
    uint64_t hash;
    uint32_t steps;
    bool more = true;
    Net n;

    begin(&n);
    hash = end(&n);
    g_assert_cmpuint(n.got, >, FRAMES);
    for (steps = 0; more; steps++) {
        IS(interrupted(steps, 0, &more), hash);
        IS(interrupted(steps, 1ull << 40, &more), hash);
    }
    g_assert_cmpuint(steps, >, 3 * FRAMES);
}

/* Without memory for its state, nothing is saved, and the wire goes on. */
TEST("/switch-state/no-memory", test_no_memory)
{
    uint64_t hash;
    Net n;

    begin(&n);
    hash = end(&n);
    begin(&n);
    for (uint32_t i = 0; i < 60; i++) {
        g_assert_true(step(&n));
    }
    no_memory = true;
    g_assert_null(ernic_archive_save(walk, &n, n.now));
    no_memory = false;
    IS(end(&n), hash);
}

/* This is in the middle of the run. */
static GByteArray *middle(Net *n)
{
    begin(n);
    for (uint32_t i = 0; i < 60; i++) {
        g_assert_true(step(n));
    }
    return saved(n);
}

/* A refused state leaves no frame under way. */
static void assert_empty(Net *n)
{
    memset(n->left, 0, sizeof(n->left));
    ernic_switch_run(n->s, n->now);     /* calls devices that wait */
    IS(ernic_switch_next(n->s), NEVER);
}

/* A state of the middle of a run, and the wire that has it. */
typedef struct Middle {
    Net n;
    GByteArray *bytes;
} Middle;

#define MIDDLE_TEST(path, fn) \
    WORLD_TEST(path, fn, Middle, m, m->bytes = middle(&m->n), \
               g_byte_array_unref(m->bytes); ernic_switch_free(m->n.s))

MIDDLE_TEST("/switch-state/truncated", test_truncated)
{
    size_t len;

    for (len = 0; len < m->bytes->len; len++) {
        g_assert_false(load(&m->n, m->bytes->data, len));
        assert_empty(&m->n);
    }
    g_assert_true(load(&m->n, m->bytes->data, len));
}

/* Refused, or a state whose run ends. */
MIDDLE_TEST("/switch-state/mutated", test_mutated)
{
    uint32_t refused = 0;

    for (size_t i = 0; i < m->bytes->len; i++) {
        Net before = m->n;

        m->bytes->data[i] ^= 1u << i % 8;
        if (load(&m->n, m->bytes->data, m->bytes->len)) {
            while (step(&m->n)) {
            }
        } else {
            refused++;
            assert_empty(&m->n);
        }
        m->bytes->data[i] ^= 1u << i % 8;
        m->n = before;
    }
    g_assert_cmpuint(refused, >, 0);
}

/* A wire with other parameters or devices refuses the state. */
MIDDLE_TEST("/switch-state/other", test_other)
{
    ErnicSwitch *s = m->n.s;

    for (uint32_t other = 0; other < 2; other++) {
        ErnicSwitchConfig cfg = config();

        cfg.seed += !other;
        cfg.ports += other;
        m->n.s = new_switch(&m->n, &cfg);
        g_assert_false(load(&m->n, m->bytes->data, m->bytes->len));
        ernic_switch_free(m->n.s);
    }
    m->n.s = s;
    ernic_switch_unplug(s, 2, m->n.now);
    g_assert_false(load(&m->n, m->bytes->data, m->bytes->len));
}

/* The section of port @port, after those of configuration and random numbers. */
static uint8_t *section_of(GByteArray *bytes, uint32_t port)
{
    size_t at = 0;

    for (uint32_t i = 0; i < 2 + port; i++) {
        at += 8 + ldq_le_p(bytes->data + at);
    }
    return bytes->data + at;
}

static void no_device(void *opaque, uint32_t port)
{
    g_assert_cmpuint(port, !=, PORTS - 1);
}

static const ErnicSwitchOps ops_without = { .deliver = deliver, .ready = no_device };

/* A port without a device is neither full nor does it wait to send. */
TEST("/switch-state/no-device", test_no_device)
{
    ErnicSwitchConfig cfg = config();
    g_autoptr(GByteArray) bytes = NULL;
    Net n = { .now = START };

    n.s = ernic_switch_new(&cfg, &ops_without, &n);
    for (uint32_t i = 0; i < PORTS - 1; i++) {
        ernic_switch_plug(n.s, i, false);
    }
    bytes = saved(&n);
    g_assert_true(load(&n, bytes->data, bytes->len));
    for (uint32_t field = 2; field; field--) {
        uint8_t *at = section_of(bytes, PORTS - 1) + 8 + 8 * field;

        *at = 1;
        g_assert_false(load(&n, bytes->data, bytes->len) &&
                       ernic_switch_run(n.s, n.now));
        *at = 0;
    }
    ernic_switch_free(n.s);
}

/* A change of a state that no run leaves. */
static void free_late(Port *p, uint64_t now)
{
    p->up.free_ns = now + ERNIC_ARCHIVE_NS_MAX;
}

static void start_late(Port *p, uint64_t now)
{
    p->up.start = now + ERNIC_ARCHIVE_NS_MAX;
}

static void free_before_frame(Port *p, uint64_t now)
{
    p->up.free_ns = p->up.sending.tail->due - 10;
}

static void leaves_late(Port *p, uint64_t now)
{
    p->up.sending.tail->due = now + ERNIC_ARCHIVE_NS_MAX;
}

static void arrives_late(Port *p, uint64_t now)
{
    p->up.flying.tail->due = now + ERNIC_ARCHIVE_NS_MAX;
}

static void waits_long(Port *p, uint64_t now)
{
    p->queue.tail->due = now + ERNIC_ARCHIVE_NS_MAX;
}

static const struct {
    const char *name;
    void (*change)(Port *p, uint64_t now);
} changes[] = {
    { "free-late", free_late }, { "start-late", start_late },
    { "free-before-frame", free_before_frame }, { "leaves-late", leaves_late },
    { "arrives-late", arrives_late }, { "waits-long", waits_long },
};

static bool has_all(const Port *p)
{
    return p->up.sending.head && p->up.flying.head;
}

/* Frames wait for port 0, and port 1 has some on its cable. */
static void begin_busy(Net *n)
{
    begin(n);
    while (!has_all(&n->s->port[1]) || !n->s->port[0].queue.head) {
        g_assert_true(step(n));
    }
}

/* Later frames would be out of order, or too far ahead to be loaded. */
TEST("/switch-state/late", test_late)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(changes); i++) {
        g_autoptr(GByteArray) good = NULL, bad = NULL;
        bool waits = changes[i].change == waits_long;
        Net n;

        g_test_message("%s", changes[i].name);
        begin_busy(&n);
        good = saved(&n);
        g_assert_true(load(&n, good->data, good->len));
        changes[i].change(&n.s->port[!waits], n.now);
        bad = saved(&n);
        g_assert_false(load(&n, bad->data, bad->len));
        assert_empty(&n);
        ernic_switch_free(n.s);
    }
}

/* More frames wait than a queue has room for: the next state would be too large. */
MIDDLE_TEST("/switch-state/long-queue", test_long_queue)
{
    ErnicSwitch *s = m->n.s;
    ErnicCarriedList *queue = &s->port[0].queue;
    g_autoptr(GByteArray) bad = NULL;
    uint8_t frame[LEN] = { };

    for (uint32_t i = 0; i <= s->cfg.queue / LEN; i++) {
        ErnicCarried *f = ernic_carried_new(ernic_switch_store(s), frame, LEN, 1);

        f->due = queue->head ? queue->tail->due : m->n.now;
        ernic_carried_append(queue, f);
    }
    bad = ernic_archive_save(walk, &m->n, m->n.now);
    g_assert_false(load(&m->n, bad->data, bad->len));
    assert_empty(&m->n);
}

/* ---- other releases --------------------------------------------------------- */

/* A state whose sections of ports are @more bytes longer, or shorter. */
static GByteArray *resized(const GByteArray *bytes, int more)
{
    GByteArray *out = g_byte_array_new();
    size_t at = 0, len;

    for (uint32_t i = 0; i < 2 + PORTS; i++) {
        bool port = i >= 2;             /* after configuration and random numbers */

        len = 8 + ldq_le_p(bytes->data + at);
        g_byte_array_append(out, bytes->data + at, len);
        if (port) {
            stq_le_p(out->data + out->len - len, len - 8 + more);
            g_byte_array_set_size(out, out->len + more);
            memset(out->data + out->len - MAX(more, 0), 0, MAX(more, 0));
        }
        at += len;
    }
    IS(at, bytes->len);
    return out;
}

/* An older release had a counter less, which begins with 0. */
MIDDLE_TEST("/switch-state/older", test_older)
{
    g_autoptr(GByteArray) older = resized(m->bytes, -8), again = NULL, same = NULL;

    g_assert_true(load(&m->n, older->data, older->len));
    again = saved(&m->n);
    IS(again->len, m->bytes->len);
    same = resized(again, -8);
    g_assert_cmpmem(same->data, same->len, older->data, older->len);
    while (step(&m->n)) {
    }
}

/* A newer release has more, whose meaning is not known. */
MIDDLE_TEST("/switch-state/newer", test_newer)
{
    g_autoptr(GByteArray) newer = resized(m->bytes, 8);

    g_assert_false(load(&m->n, newer->data, newer->len));
    assert_empty(&m->n);
}
