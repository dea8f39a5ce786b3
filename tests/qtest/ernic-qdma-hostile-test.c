/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile software at the stream queues of RecoNIC's QDMA: wrong contexts, rings and
 * doorbells have their errors, queues end while they run, and others go on.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "ernic-qdma-net.h"

#define NOWHERE         (1ull << 40)
#define QUEUE           3
#define OTHER           9               /* a queue without contexts, of no fault */
#define SIZE_0          (15 << 12)      /* a ring size that is 0 */
#define LEN             100

typedef struct Hostile {
    QdmaNet n;
    QdmaStream s;
    uint8_t frame[QNET_FRAME];
} Hostile;

static void open_hostile(Hostile *h, const char *more)
{
    qnet_open(&h->n, more);
    qdma_put_user(&h->n.x, 0x1000, QUEUE << 16 | 1);
    qnet_stream(&h->n.x, &h->s, QUEUE, QNET_EVERY, 0);
    qnet_frame(h->frame, QNET_FRAME, 1, 2);
    qdma_arm_errors(&h->n.x);
}

/* ---- what software does wrong ------------------------------------------------------ */

typedef uint32_t Args[3];

/* Changes a word of a context of the queue: selector, word, bits. */
static void flip(Hostile *h, const Args arg)
{
    uint32_t words[8];

    qdma_read_context(&h->n.x, arg[0], QUEUE, words);
    words[arg[1]] ^= arg[2];
    qdma_write_context(&h->n.x, arg[0], QUEUE, words);
}

/* The same, then a frame arrives. */
static void arrive(Hostile *h, const Args arg)
{
    flip(h, arg);
    qernic_to_wire(h->n.fd, h->frame, LEN);
}

/* The same, then a frame is posted. */
static void transmit(Hostile *h, const Args arg)
{
    flip(h, arg);
    qnet_post(&h->s, h->frame, LEN);
    qnet_ring(&h->s);
}

/* A frame of many buffers: arg[0] is their size. */
static void buffers(Hostile *h, const Args arg)
{
    qdma_put(&h->n.x, 0xab0, arg[0]);
    qernic_to_wire(h->n.fd, h->frame, 9000);
}

/* A buffer, or (1) the descriptor to send, that is nowhere. */
static void nowhere(Hostile *h, const Args arg)
{
    uint64_t addr = cpu_to_le64(NOWHERE);

    if (arg[0]) {
        qnet_post(&h->s, h->frame, LEN);
        qtest_memwrite(h->n.x.m->qts, h->s.tx + 8, &addr, 8);
        qnet_ring(&h->s);
    } else {
        qtest_memwrite(h->n.x.m->qts, h->s.rx, &addr, 8);
        qernic_to_wire(h->n.fd, h->frame, LEN);
    }
}

static void doorbell(Hostile *h, const Args arg)
{
    qdma_put(&h->n.x, QDMA_DOORBELLS + arg[0] * 16 + arg[1], arg[2]);
}

/* Sends as many frames as the completion ring has no place for. */
static void flood(Hostile *h, const Args arg)
{
    QErnic *q = h->n.x.q;
    uint64_t dropped = qernic_stat(q, "qdma.c2h_dropped");
    uint64_t all = dropped + qernic_stat(q, "qdma.c2h_packets");

    for (uint32_t i = 0; i < QNET_CMPT; i++) {
        qernic_to_wire(h->n.fd, h->frame, LEN);
        qernic_wait_while(q->qts, qernic_stat(q, "qdma.c2h_packets") +
                          qernic_stat(q, "qdma.c2h_dropped") != all + i + 1);
        h->s.rx_ci = (h->s.rx_ci + 1) % QNET_ENTRIES;
        qnet_refill(&h->s);
    }
    g_assert_cmpuint(qernic_stat(q, "qdma.c2h_dropped"), ==, dropped + 1);
}

/* Its interrupts go to a ring that does not exist. */
static void no_int_ring(Hostile *h, const Args arg)
{
    flip(h, (Args) { QDMA_CMPT, 4, 1 << 15 });
    qernic_to_wire(h->n.fd, h->frame, LEN);
}

#define DESCRIPTOR(bit)     .dsc = 1 << (bit), .global = 1 << 2
#define C2H(bit)            .c2h = 1 << (bit), .global = 1 << 8
#define BOTH(bit)           .dsc = 1 << (bit), .c2h = 1 << 4, .global = 1 << 2 | 1 << 8
#define SW_H2C              (QDMA_SW + QDMA_H2C)
#define HW_H2C              (QDMA_HW + QDMA_H2C)

/* Wrong things: bits of 254, 264 and af0, and of 248; the error of completions. */
static const struct {
    const char *name;
    void (*wrong)(Hostile *h, const Args arg);
    Args arg;
    uint32_t dsc, trq, c2h, global, error;
} faults[] = {
    { "c2h memory-mapped", arrive, { QDMA_SW, 1, 1u << 31 }, BOTH(4), .error = 2 },
    { "c2h bypass", arrive, { QDMA_SW, 1, 1 << 18 }, BOTH(4), .error = 2 },
    { "c2h descriptor", arrive, { QDMA_SW, 1, 1 << 16 }, BOTH(4), .error = 2 },
    { "prefetch bypass", arrive, { QDMA_PREFETCH, 0, 1 }, BOTH(4), .error = 2 },
    { "c2h ring", arrive, { QDMA_SW, 3, 1 << 20 }, BOTH(2), .error = 2 },
    { "c2h size", arrive, { QDMA_SW, 1, SIZE_0 }, BOTH(21), .error = 2 },
    { "c2h consumer", arrive, { QDMA_HW, 0, 0xff00 }, BOTH(21), .error = 2 },
    { "c2h function", arrive, { QDMA_SW, 0, 2 << 17 }, .trq = 1 << 5, .global = 1 << 3 },
    { "buffer", nowhere, { 0 }, BOTH(20), .error = 2 },
    { "many buffers", buffers, { 290 }, C2H(9) },
    { "no size of buffers", buffers, { 0 }, C2H(9) },
    { "port", arrive, { QDMA_PREFETCH, 0, 1 << 5 }, C2H(10) },
    { "entries nowhere", arrive, { QDMA_CMPT, 2, 1 << 2 }, C2H(4), .error = 2 },
    { "completion size", arrive, { QDMA_CMPT, 0, 0xdu << 28 }, C2H(14), .error = 1 },
    { "completion producer", arrive, { QDMA_CMPT, 3, 0xff }, C2H(14), .error = 1 },
    { "full", flood, { 0 }, C2H(13), .error = 3 },
    { "interrupt ring", no_int_ring, { 0 }, C2H(7) },
    { "no ring", doorbell, { QUEUE + 1, 12, QNET_ARM }, C2H(12) },
    { "read too much", doorbell, { QUEUE, 12, QNET_ARM | 1 }, C2H(14), .error = 1 },
    { "beyond the ring", doorbell, { QUEUE, 12, QNET_ARM | QNET_CMPT }, C2H(14),
      .error = 1 },
    { "foreign ring", doorbell, { 100, 12, QNET_ARM }, .trq = 1 << 5, .global = 1 << 3 },
    { "buffers beyond", doorbell, { QUEUE, 8, QNET_ENTRIES }, DESCRIPTOR(21) },
    { "data", nowhere, { 1 }, DESCRIPTOR(20) },
    { "h2c bypass", transmit, { SW_H2C, 1, 1 << 18 }, DESCRIPTOR(4) },
    { "h2c descriptor", transmit, { SW_H2C, 1, 1 << 17 }, DESCRIPTOR(4) },
    { "h2c ring", transmit, { SW_H2C, 3, 1 << 20 }, DESCRIPTOR(2) },
    { "h2c consumer", transmit, { HW_H2C, 0, 0xff00 }, DESCRIPTOR(21) },
    { "h2c disabled", transmit, { SW_H2C, 1, 1 }, DESCRIPTOR(22) },
};

/*
 * Software cannot write the log of the first error. After this it has an error that no
 * fault makes, so that a fault which does not log itself is found.
 */
static void log_other(Hostile *h)
{
    qdma_put(&h->n.x, 0xaf0, 0xffffffff);
    doorbell(h, (Args) { OTHER, 12, QNET_ARM });
    g_assert_cmphex(qdma_get(&h->n.x, 0xb30), ==, 12 << 16 | OTHER);
}

/* Clears all errors, writes the contexts, and moves a frame each way. */
static void recover(Hostile *h)
{
    Qdma *x = &h->n.x;
    uint8_t is[QNET_FRAME];

    log_other(h);
    qdma_put(x, 0x254, 0xffffffff);
    qdma_put(x, 0x264, 0xffffffff);
    qdma_put(x, 0xaf0, 0xffffffff);
    qdma_put(x, 0xe00, 0xffffffff);
    qdma_put(x, 0x248, 0xffffffff);
    qdma_put(x, 0xab0, QNET_BUFFER);
    for (uint32_t i = 0; i < QNET_ENTRIES; i++) {
        qtest_writeq(x->m->qts, h->s.rx + i * 8, h->s.in + i * QNET_BUFFER);
    }
    qnet_contexts(&h->s);
    qnet_again(&h->s);
    qernic_to_wire(h->n.fd, h->frame, 500);
    qnet_same(is, qnet_receive(&h->s, is), h->frame, 500);
    qnet_post(&h->s, h->frame, 700);
    qnet_sent(&h->s);
    g_assert_cmpuint(qernic_from_wire(h->n.fd, is, sizeof(is)), ==, 700);
    qnet_contexts(&h->s);
    qnet_again(&h->s);
    g_assert_cmphex(qdma_get(x, 0x248), ==, 0);
    qdma_arm_errors(x);
    g_assert_false(qdma_interrupted(x, QDMA_ERROR_VECTOR));
    qdma_interrupted(x, QUEUE);
}

/* Each has its bits, its interrupt, and its error in the status of completions. */
WORLD_KINDS("/ernic-qdma-hostile/faults", test_faults, Hostile, h, open_hostile,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    Qdma *x = &h->n.x;

    for (uint32_t i = 0; i < ARRAY_SIZE(faults); i++) {
        g_test_message("%s", faults[i].name);
        faults[i].wrong(h, faults[i].arg);
        qernic_wait_while(x->q->qts, !qdma_get(x, 0x248));
        g_assert_cmphex(qdma_get(x, 0x248), ==, faults[i].global);
        g_assert_cmphex(qdma_get(x, 0x254), ==, faults[i].dsc);
        g_assert_cmphex(qdma_get(x, 0x264), ==, faults[i].trq);
        g_assert_cmphex(qdma_get(x, 0xaf0), ==, faults[i].c2h);
        g_assert_cmphex(qdma_get(x, 0xe00), ==, 0);
        g_assert_true(qdma_interrupted(x, QDMA_ERROR_VECTOR));
        if (faults[i].c2h) {
            g_assert_cmphex(qdma_get(x, 0xb30), ==, ctz32(faults[i].c2h) << 16 |
                            (faults[i].wrong == doorbell ? faults[i].arg[0] : QUEUE));
        }
        if (faults[i].error && faults[i].arg[0] != QDMA_CMPT) {
            g_assert_cmpuint(extract64(qnet_status(&h->s), 35, 2), ==, faults[i].error);
        }
        if (faults[i].wrong == nowhere && faults[i].arg[0]) {
            g_assert_cmphex(extract64(qnet_tx_status(&h->s), 0, 2), ==, 1);
        }
        recover(h);
    }
}

/* A packet's error is not reported before the doorbell rings. */
WORLD_KINDS("/ernic-qdma-hostile/waits", test_waits, Hostile, h, open_hostile, { "", "" })
{
    Qdma *x = &h->n.x;

    qnet_contexts(&h->s);
    qnet_refill(&h->s);
    nowhere(h, (Args) { 0 });
    qernic_wait_while(x->q->qts, !(qdma_get(x, 0xaf0) & 1 << 4));
    g_assert_cmphex(qnet_status(&h->s), ==, 0);
}

/* A frame for a memory-mapped queue stops it; its engine does not go on. */
WORLD_KINDS("/ernic-qdma-hostile/mm", test_mm, Hostile, h, open_hostile, { "", "" })
{
    Qdma *x = &h->n.x;
    uint64_t to = guest_alloc(&x->m->alloc, 4096);
    QdmaQueue k;

    qtest_memset(x->m->qts, to, 0x77, 4096);
    qdma_put(x, 0x1004, 0);
    qdma_queue_open(x, &k, QUEUE, QDMA_C2H, 8);
    qdma_post(&k, to, 0, 4096);
    qdma_ring(&k, false);
    qernic_to_wire(h->n.fd, h->frame, LEN);
    qernic_wait_while(x->q->qts, !(qdma_get(x, 0x254) & 1 << 4));
    qdma_put(x, 0x1004, 1);
    qernic_pass(x->m->qts, 20, 1000);
    g_assert_cmphex(qtest_readq(x->m->qts, to), ==, 0x7777777777777777);
    g_assert_cmpuint(qernic_stat(x->q, "qdma.c2h_descriptors"), ==, 0);
}

/* Contexts end one after the other while frames come and go: no ring is touched then. */
WORLD_KINDS("/ernic-qdma-hostile/invalidate", test_invalidate, Hostile, h, open_hostile,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    static const uint32_t order[] = {
        SW_H2C, QDMA_SW, QDMA_PREFETCH, QDMA_CMPT, QDMA_HW, HW_H2C
    };
    Qdma *x = &h->n.x;
    uint8_t is[QNET_FRAME];
    uint32_t sent = 0, len;
    uint64_t before;

    for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
        for (uint32_t j = 0; j < QNET_ENTRIES - 1; j++) {
            qnet_post(&h->s, h->frame, 60);
            if (sent < 500) {
                qernic_to_wire(h->n.fd, h->frame, 60);
                sent++;
            }
        }
        qnet_ring(&h->s);
        qdma_command(x, order[i], QUEUE, i & 1 ? QDMA_CLEAR : QDMA_INVALIDATE);
        if (order[i] == SW_H2C) {
            before = qernic_stat(x->q, "qdma.h2c_packets");
            qernic_pass(x->m->qts, 20, 1000);
            g_assert_cmpuint(qernic_stat(x->q, "qdma.h2c_packets"), ==, before);
        } else if (order[i] < QDMA_HW || order[i] >= QDMA_CMPT) {
            qtest_memset(x->m->qts, h->s.cmpt, 0x77, (QNET_CMPT + 1) * 8);
            before = qernic_stat(x->q, "qdma.c2h_dropped");
            qernic_to_wire(h->n.fd, h->frame, LEN);
            qernic_wait_while(x->q->qts, qernic_stat(x->q, "qdma.c2h_dropped") == before);
            for (uint32_t j = 0; j <= QNET_CMPT; j++) {
                g_assert_cmphex(qtest_readq(x->m->qts, h->s.cmpt + j * 8), ==,
                                0x7777777777777777);
            }
        }
        qnet_contexts(&h->s);
        qnet_again(&h->s);
    }
    /* Older frames may precede the new ones. */
    qnet_post(&h->s, h->frame, 700);
    qnet_ring(&h->s);
    while (qernic_from_wire(h->n.fd, is, sizeof(is)) != 700) {
    }
    do {
        qernic_to_wire(h->n.fd, h->frame, 700);
        len = qnet_receive(&h->s, is);
        qnet_again(&h->s);
    } while (len != 700);
}
