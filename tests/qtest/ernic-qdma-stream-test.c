/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stream engines of RecoNIC's QDMA: frames between queues and the cable, the choice
 * of a queue, completions and their reports, and their life.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "ernic-qdma-net.h"

#define MAIN_LOOP   { "", ",engine-thread=off" }
#define THREAD      { "-thread", ",engine-thread=on" }
#define OPENNIC     { "-opennic", ",shell=opennic" }
#define LENGTHS     1455            /* from 60 bytes on */
#define PORT_STEP   45              /* from packet to packet: ports use all 16 bits, */
#define TO_STEP     40503           /* and none is RoCEv2's */

/* Frames of all sizes, both ways; a short one is padded. */
WORLD_KINDS("/ernic-qdma-stream/sizes", test_sizes, QdmaNet, n, qnet_open, MAIN_LOOP,
            THREAD, OPENNIC, { "-timing", ",engine-thread=off,timing=on" })
{
    static const uint32_t lens[] = {
        60, 61, 64, 1023, 1514, 2047, 2048, 2049, 4096, 4097, 9014, QNET_FRAME
    };
    uint8_t frame[QNET_FRAME], is[QNET_FRAME];
    QdmaStream s;

    qnet_stream(&n->x, &s, 0, QNET_EVERY, 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
        qnet_frame(frame, lens[i], 7, i);
        qnet_post(&s, frame, lens[i]);
        qnet_sent(&s);
        qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, lens[i]);
        g_assert_true(qdma_interrupted(&n->x, 0));
        qernic_to_wire(n->fd, frame, lens[i]);
        qnet_same(is, qnet_receive(&s, is), frame, lens[i]);
        g_assert_true(qdma_interrupted(&n->x, 0));
        qnet_again(&s);
        g_assert_false(qdma_interrupted(&n->x, 0));
    }
    qnet_post(&s, frame, 20);
    qnet_sent(&s);
    memset(frame + 20, 0, 40);
    qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, 60);
    qernic_to_wire(n->fd, frame, 20);
    qnet_same(is, qnet_receive(&s, is), frame, 60);
    qnet_post(&s, frame, 0);
    qnet_sent(&s);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.h2c_dropped"), ==, 1);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.h2c_packets"), ==, ARRAY_SIZE(lens) + 1);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.c2h_packets"), ==, ARRAY_SIZE(lens) + 1);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.errors"), ==, 0);
}

/* ---- the choice of a queue --------------------------------------------------------- */

/* Bit @i of the message: the fields one after the other, each from its first byte on. */
static bool message_bit(const uint8_t *frame, uint32_t i)
{
    static const struct {
        uint32_t bits, at;
    } fields[] = { { 4, 0 }, { 8, 23 }, { 64, 26 }, { 32, 34 } };

    for (uint32_t f = 0; f < ARRAY_SIZE(fields); f++) {
        if (i < fields[f].bits) {
            return fields[f].at && frame[fields[f].at + i / 8] >> i % 8 & 1;
        }
        i -= fields[f].bits;
    }
    g_assert_not_reached();
}

/* The shell's hash of an IPv4 packet without VLAN. */
static uint32_t hash(const uint32_t *key, const uint8_t *frame)
{
    uint32_t value = 0;

    for (uint32_t i = 0; i < 108; i++) {
        for (uint32_t b = 0; b < 32 && message_bit(frame, i); b++) {
            value ^= (key[(i + b) / 32] >> (i + b) % 32 & 1) << b;
        }
    }
    return value;
}

/*
 * Packets of all lengths in two queues, both ways at once; each arrives in its queue. A
 * length uses one queue each way, which is enough: their contexts are of the same kind.
 */
WORLD_KINDS("/ernic-qdma-stream/queues", test_queues, QdmaNet, n, qnet_open, MAIN_LOOP,
            THREAD, OPENNIC, { "-opennic-ernic", ",shell=opennic,ernic-version=4.2" })
{
    uint8_t frame[1514], is[QNET_FRAME];
    uint32_t key[10], got[2] = { }, len, q;
    QdmaStream s[2];

    for (uint32_t i = 0; i < 10; i++) {
        key[i] = qdma_user(&n->x, 0x1600 + i * 4);
    }
    for (uint32_t i = 0; i < 128; i++) {
        qdma_put_user(&n->x, 0x1400 + i * 4, i % 2);
    }
    qnet_stream(&n->x, &s[0], 0, QNET_EVERY, 0);
    qnet_stream(&n->x, &s[1], 1, QNET_EVERY, 0);
    for (uint32_t i = 0; i < LENGTHS; i++) {
        len = 60 + i * 31 % LENGTHS;
        qnet_frame(frame, len, i * PORT_STEP, i * TO_STEP);
        frame[26 + i % 8] ^= i;     /* addresses */
        q = hash(key, frame) & 1;
        qernic_to_wire(n->fd, frame, len);
        qnet_same(is, qnet_receive(&s[q], is), frame, len);
        got[q]++;
        if (got[q] % 16 == 0) {
            qnet_refill(&s[q]);
        }
        qnet_read(&s[q], QNET_ARM);
        qnet_post(&s[i % 2], frame, len);
        qnet_ring(&s[i % 2]);
        qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, len);
    }
    g_assert_cmpuint(got[0], >, LENGTHS / 4);
    g_assert_cmpuint(got[1], >, LENGTHS / 4);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.c2h_packets"), ==, LENGTHS);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.h2c_packets"), ==, LENGTHS);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.c2h_dropped"), ==, 0);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.errors"), ==, 0);
}

/* The first queue of the function, the table, and fields that the hash does not have. */
WORLD_KINDS("/ernic-qdma-stream/choice", test_choice, QdmaNet, n, qnet_open, { "", "" })
{
    uint8_t frame[100], is[QNET_FRAME];
    QdmaStream s[2];

    qdma_put_user(&n->x, 0x1000, 5 << 16 | 16);
    /* A frame without the fields has hash 0, and numbers of queues have 11 bits. */
    qdma_put_user(&n->x, 0x1400, 2048 + 2);
    qnet_stream(&n->x, &s[0], 7, QNET_EVERY, 0);
    qnet_stream(&n->x, &s[1], 5, QNET_EVERY, 0);
    qnet_frame(frame, sizeof(frame), 1, 2);
    stw_be_p(frame + 12, 0x88b5);
    qernic_to_wire(n->fd, frame, sizeof(frame));
    qnet_same(is, qnet_receive(&s[0], is), frame, sizeof(frame));
    /* VLAN 256 of the same has hash bits of the key's first word. */
    stw_be_p(frame + 12, 0x8100);
    stl_be_p(frame + 14, 256 << 16 | 0x88b5);
    for (uint32_t i = 1; i < 128; i++) {
        qdma_put_user(&n->x, 0x1400 + i * 4, i == 0x17 ? 0 : 60);
    }
    qernic_to_wire(n->fd, frame, sizeof(frame));
    qnet_same(is, qnet_receive(&s[1], is), frame, sizeof(frame));
    /* A queue outside of the function's: it sends nothing. */
    qdma_put_user(&n->x, 0x1000, 5 << 16 | 2);
    qnet_post(&s[0], frame, sizeof(frame));
    qnet_sent(&s[0]);
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.h2c_dropped"), ==, 1);
    qdma_put_user(&n->x, 0x1000, 5 << 16 | 3);
    qnet_post(&s[0], frame, sizeof(frame));
    qnet_sent(&s[0]);
    qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, sizeof(frame));
}

/* ---- completions ------------------------------------------------------------- */

/* Entries of all sizes, in a ring that ends three times: their colour changes. */
WORLD_KINDS("/ernic-qdma-stream/entries", test_entries, QdmaNet, n, qnet_open, { "", "" })
{
    uint8_t frame[300], is[QNET_FRAME];
    QdmaStream s;

    for (uint32_t size = 0; size < 4; size++) {
        qnet_stream(&n->x, &s, size, QNET_EVERY, size);
        qdma_put_user(&n->x, 0x1000, size << 16 | 1);
        for (uint32_t i = 0; i < 3 * QNET_CMPT + 5; i++) {
            qnet_frame(frame, sizeof(frame), i, size);
            qernic_to_wire(n->fd, frame, sizeof(frame));
            qnet_same(is, qnet_receive(&s, is), frame, sizeof(frame));
            qnet_again(&s);
        }
        g_assert_cmphex(qdma_get(&n->x, QDMA_DOORBELLS + size * 16 + 12), ==, 5);
    }
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.errors"), ==, 0);
}

static void arrive(QdmaNet *n, uint32_t num)
{
    uint64_t all = qernic_stat(n->x.q, "qdma.c2h_packets") + num;
    uint8_t frame[64];

    for (uint32_t i = 0; i < num; i++) {
        qnet_frame(frame, sizeof(frame), 5, 6);
        qernic_to_wire(n->fd, frame, sizeof(frame));
    }
    while (qernic_stat(n->x.q, "qdma.c2h_packets") != all) {
        g_usleep(100);                          /* no time passes in the guest */
    }
}

/* Checks the index that the status shows, and whether an interrupt came. */
static void reports(QdmaNet *n, QdmaStream *s, uint32_t shown, bool interrupt)
{
    g_assert_cmpuint(extract64(qnet_status(s), 0, 16), ==, shown);
    for (int i = 0; interrupt && i < 10000 && !qtest_readl(n->x.m->qts, n->x.messages);
         i++) {
        g_usleep(100);
    }
    g_assert_cmpint(qtest_readl(n->x.m->qts, n->x.messages), ==, interrupt);
    qtest_writel(n->x.m->qts, n->x.messages, 0);
}

/* Reads up to entry @ci. */
static void reads(QdmaStream *s, uint32_t ci, uint32_t arm)
{
    s->cmpt_ci = ci;
    qnet_read(s, arm);
}

static void begin(QdmaNet *n, QdmaStream *s, uint32_t mode)
{
    if (s->x) {
        s->mode = mode;
        qnet_contexts(s);
        qnet_refill(s);
    } else {
        qnet_stream(&n->x, s, 0, mode, 0);
        qnet_contexts(s);
        qnet_refill(s);
    }
    qtest_writel(n->x.m->qts, n->x.messages, 0);
}

/* Each mode: what is reported at once, by the count, by the timer. */
WORLD_KINDS("/ernic-qdma-stream/modes", test_modes, QdmaNet, n, qnet_open, { "", "" })
{
    QdmaStream s = { };

    /* Before the first doorbell, nothing is reported. */
    begin(n, &s, QNET_EVERY);
    arrive(n, 1);
    reports(n, &s, 0, false);
    qnet_read(&s, QNET_ARM);
    reports(n, &s, 1, true);
    /* One interrupt is outstanding, until software answers. */
    arrive(n, 2);
    reports(n, &s, 1, false);
    reads(&s, 1, QNET_ARM);
    reports(n, &s, 3, true);
    reads(&s, 3, QNET_ARM);
    reports(n, &s, 3, false);
    /* Without the arm bit there is a status, but no interrupt. */
    reads(&s, 3, 0);
    arrive(n, 2);
    reports(n, &s, 5, false);
    begin(n, &s, QNET_COUNT);
    qnet_read(&s, QNET_ARM);
    arrive(n, QNET_CNT_TH - 1);
    qtest_clock_step(n->x.m->qts, 10 * QNET_TIMER_NS);
    reports(n, &s, 0, false);
    arrive(n, 1);
    reports(n, &s, QNET_CNT_TH, true);
    begin(n, &s, QNET_TIMER);
    qnet_read(&s, QNET_ARM);
    arrive(n, QNET_CNT_TH + 1);
    qtest_clock_step(n->x.m->qts, QNET_TIMER_NS - 1);
    reports(n, &s, 0, false);
    qtest_clock_step(n->x.m->qts, 1);
    reports(n, &s, QNET_CNT_TH + 1, true);
    begin(n, &s, QNET_BOTH);
    qnet_read(&s, QNET_ARM);
    arrive(n, QNET_CNT_TH);
    reports(n, &s, QNET_CNT_TH, true);
    reads(&s, QNET_CNT_TH, QNET_ARM);
    arrive(n, 1);
    qtest_clock_step(n->x.m->qts, QNET_TIMER_NS);
    reports(n, &s, QNET_CNT_TH + 1, true);
    for (uint32_t mode = QNET_NEVER; mode <= QNET_USER; mode += QNET_USER) {
        begin(n, &s, mode);
        qnet_read(&s, QNET_ARM);
        arrive(n, QNET_CNT_TH);
        qtest_clock_step(n->x.m->qts, 10 * QNET_TIMER_NS);
        reports(n, &s, 0, false);
    }
}

/* A timer ends with its context, or by its own command. */
WORLD_KINDS("/ernic-qdma-stream/timer", test_timer, QdmaNet, n, qnet_open, { "", "" })
{
    uint32_t words[8];
    QdmaStream s = { };

    for (uint32_t op = QDMA_CLEAR; op <= QDMA_INVALIDATE + 1; op++) {
        begin(n, &s, QNET_TIMER);
        qnet_read(&s, QNET_ARM);
        arrive(n, 1);
        qdma_read_context(&n->x, QDMA_CMPT, 0, words);
        g_assert_cmphex(words[4] & 1, ==, 1);
        if (op == QDMA_WRITE) {
            qnet_contexts(&s);
        } else if (op > QDMA_INVALIDATE) {
            qdma_command(&n->x, QDMA_TIMER, 0, QDMA_INVALIDATE);
        } else if (op != QDMA_READ) {
            qdma_command(&n->x, QDMA_CMPT, 0, op);
        }
        qdma_read_context(&n->x, QDMA_CMPT, 0, words);
        g_assert_cmphex(words[4] & 1, ==, op == QDMA_READ);
        qtest_clock_step(n->x.m->qts, 2 * QNET_TIMER_NS);
        reports(n, &s, op == QDMA_READ, op == QDMA_READ);
    }
}

/* A doorbell may change the mode, if the context permits. */
WORLD_KINDS("/ernic-qdma-stream/update", test_update, QdmaNet, n, qnet_open, { "", "" })
{
    uint32_t words[8];
    QdmaStream s = { };

    begin(n, &s, QNET_NEVER);
    s.mode = QNET_EVERY;
    qnet_read(&s, QNET_ARM);
    arrive(n, 1);
    reports(n, &s, 1, true);                    /* full update is set */
    begin(n, &s, QNET_NEVER);
    qnet_cmpt_context(&s, words);
    words[4] &= ~(1 << 1);
    qdma_write_context(&n->x, QDMA_CMPT, 0, words);
    s.mode = QNET_EVERY;
    qnet_read(&s, QNET_ARM);
    arrive(n, 1);
    reports(n, &s, 0, false);
}

/* Two queues share an interrupt ring, which wraps. */
WORLD_KINDS("/ernic-qdma-stream/aggregation", test_aggregation, QdmaNet, n, qnet_open,
            { "", "" })
{
    uint64_t ring = guest_alloc(&n->x.m->alloc, 4096), entry;
    uint32_t words[8], pi = 0, color = 1;
    uint8_t frame[64];
    QdmaStream s;

    qtest_memset(n->x.m->qts, ring, 0, 4096);
    qdma_write_context(&n->x, QDMA_INT_RING, 200, (uint32_t[8]) {
        1 | 3 << 1 | 1 << 14 | (uint32_t)(ring >> 12) << 15, ring >> 29, ring >> 61 });
    qnet_stream(&n->x, &s, 0, QNET_EVERY, 0);
    qnet_cmpt_context(&s, words);
    words[4] = 200 << 4 | 1 << 15;
    qdma_write_context(&n->x, QDMA_CMPT, 0, words);
    qdma_read_context(&n->x, QDMA_SW + QDMA_H2C, 0, words);
    words[4] = 200 | 1 << 11;
    qdma_write_context(&n->x, QDMA_SW + QDMA_H2C, 0, words);
    qnet_frame(frame, sizeof(frame), 1, 2);
    qnet_read(&s, QNET_ARM);
    for (uint32_t i = 0; i < 600; i++) {
        qnet_post(&s, frame, sizeof(frame));
        qnet_sent(&s);
        qernic_from_wire(n->fd, frame, sizeof(frame));
        entry = qtest_readq(n->x.m->qts, ring + pi * 8);
        g_assert_cmphex(entry, ==, (uint64_t)color << 63 | s.tx_pi << 16 | s.tx_pi);
        pi++;
        qernic_to_wire(n->fd, frame, sizeof(frame));
        s.rx_ci = (s.rx_ci + 1) % QNET_ENTRIES;
        s.cmpt_ci = (s.cmpt_ci + 1) % QNET_CMPT;
        while ((entry = qtest_readq(n->x.m->qts, ring + pi % 512 * 8)) >> 63 != color) {
            g_usleep(100);                      /* no time passes in the guest */
        }
        g_assert_cmphex(extract64(entry, 38, 26), ==, color << 25 | 1);
        g_assert_cmphex(extract64(entry, 0, 16), ==, s.cmpt_ci);
        pi = (pi + 1) % 512;
        color ^= !pi;
        g_assert_true(qdma_interrupted(&n->x, 3));      /* one for both */
        qdma_put(&n->x, QDMA_DOORBELLS, 200 << 16 | (pi + 511) % 512);
        g_assert_true(qdma_interrupted(&n->x, 3));      /* an entry is left */
        qdma_put(&n->x, QDMA_DOORBELLS, 200 << 16 | pi);
        g_assert_false(qdma_interrupted(&n->x, 3));
        qnet_again(&s);
    }
    g_assert_cmpuint(qernic_stat(n->x.q, "qdma.errors"), ==, 0);
}
