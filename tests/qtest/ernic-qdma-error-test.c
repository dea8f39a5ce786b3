/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Errors of software that uses RecoNIC's QDMA: each error has its bits and its
 * interrupt, the queue stops or goes on as it has to, and other queues work.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/units.h"
#include "ernic-qdma.h"

#define ARM             (1 << 24)
#define NOWHERE         (1ull << 40)
#define ENTRIES         8
#define QUEUE           9
/* In place of an address: guest memory, and the registers. */
#define MEM             1
#define REGS            2

enum { STOPS = 1, SENT = 2 };       /* error 1 or 2 in the status */

typedef struct Fault {
    Qdma x;
    QdmaQueue k;
    uint64_t mem;
} Fault;

static void open_fault(Fault *f, const char *more)
{
    qdma_begin(&f->x, more);
    f->mem = guest_alloc(&f->x.m->alloc, 4096);
    qdma_queue_open(&f->x, &f->k, QUEUE, QDMA_H2C, ENTRIES);
}

/* The arguments of a row. */
typedef uint64_t Args[3];

static void ring_at(Fault *f, uint32_t pi)
{
    f->k.pi = pi;
    qdma_ring(&f->k, true);
}

/* A descriptor: address on the bus, which may be MEM or REGS; on the card; length. */
static void transfer(Fault *f, const Args arg)
{
    uint64_t bus = arg[0] == MEM ? f->mem : arg[0] == REGS ? f->x.bar.addr : arg[0];

    qdma_post(&f->k, bus, arg[1], arg[2]);
    qdma_ring(&f->k, true);
}

/* The queue's context with bits set and cleared. */
static void bits(Fault *f, const Args arg)
{
    qdma_queue_context(&f->k, arg[0], arg[1]);
    transfer(f, (Args) { MEM, 0, 64 });
}

/* A context, and its first words. */
static void context(Fault *f, const Args arg)
{
    qdma_write_context(&f->x, arg[0] + f->k.dir, QUEUE, (uint32_t[8]) { arg[1], arg[2] });
    ring_at(f, 1);
}

static void doorbell(Fault *f, const Args arg)
{
    qdma_put(&f->x, arg[0], arg[1]);
}

static void index_of(Fault *f, const Args arg)
{
    ring_at(f, arg[0]);
}

/*
 * A queue that ends while it copies 32 MiB, or before it begins. On a busy host the copy
 * may have ended first: then once more.
 */
static void torn(Fault *f, const Args arg)
{
    const uint64_t before = qernic_stat(f->x.q, "qdma.h2c_bytes");
    uint64_t all = before;

    do {
        if (all != before) {
            qdma_queue_context(&f->k, 0, 0);
            qtest_writel(f->x.m->qts, f->x.messages + 4 * QUEUE, 0);
        }
        all += 32 * MiB;
        transfer(f, (Args) { 32 * MiB, 0, 32 * MiB });
        qdma_command(&f->x, QDMA_SW + f->k.dir, QUEUE, arg[0]);
    } while (qernic_stat(f->x.q, "qdma.h2c_bytes") == all);
}

static void no_ring(Fault *f, const Args arg)
{
    uint64_t ring = f->k.ring;

    f->k.ring = NOWHERE;
    qdma_queue_context(&f->k, 0, 0);
    ring_at(f, 1);
    f->k.ring = ring;
}

/* The size of the ring is 0, which no index fits. */
static void no_size(Fault *f, const Args arg)
{
    qdma_put(&f->x, 0x204 + QUEUE * 4, 0);
    ring_at(f, 0);
    qdma_put(&f->x, 0x204 + QUEUE * 4, ENTRIES + 1);
}

static void no_context(Fault *f, const Args arg)
{
    qdma_command(&f->x, 9, 0, QDMA_WRITE);
}

#define DOORBELL(queue, dir)    (QDMA_DOORBELLS + (queue) * 16 + (dir))
#define NO_QUEUE                DOORBELL(68, 4)
/* Bits of 254 and 264; of 248. */
#define DESCRIPTOR(bit)         1 << (bit), 0, 1 << 2
#define QUEUES                  0, 1 << 5, 1 << 3

/* Faults: the bits of each, and the error in the status at the end of the ring. */
static const struct {
    const char *name;
    void (*wrong)(Fault *f, const Args arg);
    Args arg;
    uint32_t dsc, trq, global, error;
} faults[] = {
    { "bus", transfer, { NOWHERE, 0, 64 }, DESCRIPTOR(20), SENT },
    { "end", transfer, { MEM, 64 * MiB - 63, 64 }, DESCRIPTOR(20), SENT },
    { "card", transfer, { MEM, UINT64_MAX - 63, 64 }, DESCRIPTOR(20), SENT },
    { "wrap", transfer, { UINT64_MAX - 15, 0, 64 }, DESCRIPTOR(20), SENT },
    /* Guest memory ends, or the registers begin, after a part of the data. */
    { "length", transfer, { 128 * MiB - 100000, 0, (1 << 28) - 1 }, DESCRIPTOR(20),
      SENT },
    { "registers", transfer, { REGS, 0, 64 }, DESCRIPTOR(20), SENT },
    { "ring", no_ring, { }, DESCRIPTOR(2) },
    { "index", index_of, { ENTRIES }, DESCRIPTOR(21), STOPS },
    /* The consumer index of the hardware context is beyond the ring. */
    { "consumer", context, { QDMA_HW, 0xffff }, DESCRIPTOR(21), STOPS },
    { "size", no_size, { }, DESCRIPTOR(21) },
    { "stream", bits, { 0, 1u << 31 }, DESCRIPTOR(4), STOPS },
    { "bypass", bits, { 1 << 18, 0 }, DESCRIPTOR(4), STOPS },
    { "descriptor", bits, { 3 << 16, 0 }, DESCRIPTOR(4) },
    { "disabled", bits, { 0, 1 }, DESCRIPTOR(22) },
    { "never", doorbell, { DOORBELL(40, 4), 1 | 1 << 16 }, DESCRIPTOR(22) },
    { "function", context, { QDMA_SW, 4 << 17, 1 }, QUEUES },
    { "queue", doorbell, { NO_QUEUE, 1 }, QUEUES },
    { "last-queue", doorbell, { DOORBELL(511, 8), 0xffffffff }, QUEUES },
    { "context", no_context, { }, 0, 0, 1 << 9 },
    { "clear", torn, { QDMA_CLEAR }, DESCRIPTOR(22) },
    { "invalidate", torn, { QDMA_INVALIDATE }, DESCRIPTOR(22) },
    { "rewrite", torn, { QDMA_WRITE }, DESCRIPTOR(22) },
};

/* The status has the error, and its consumer index has not moved. */
static void check_stopped(Fault *f, uint32_t error)
{
    uint64_t bytes;

    g_assert_cmphex(extract64(qdma_status(&f->k), 0, 2), ==, error);
    g_assert_true(qdma_interrupted(&f->x, QUEUE));
    bytes = qernic_stat(f->x.q, "qdma.h2c_bytes");
    qdma_put(&f->x, QDMA_DOORBELLS + QUEUE * 16 + 4, 2 | 1 << 16);
    g_assert_false(qdma_interrupted(&f->x, QUEUE));
    g_assert_cmpuint(qernic_stat(f->x.q, "qdma.h2c_bytes"), ==, bytes);
}

/* After software has cleared the error and written the context, all is as before. */
static void recover(Fault *f)
{
    qdma_put(&f->x, 0x254, 0xffffffff);
    qdma_put(&f->x, 0x264, 0xffffffff);
    qdma_put(&f->x, 0x248, 0xffffffff);
    g_assert_cmphex(qdma_get(&f->x, 0x248), ==, 0);
    g_assert_cmphex(qdma_get(&f->x, 0x254), ==, 0);
    qdma_queue_context(&f->k, 0, 0);
    g_assert_cmphex(qdma_get(&f->x, 0x248), ==, 0);
    qtest_writel(f->x.m->qts, f->x.messages + 4 * QUEUE, 0);
    qdma_move(&f->k, f->mem, 0, 4096);
    g_assert_true(qdma_interrupted(&f->x, QUEUE));
    qdma_arm_errors(&f->x);
    g_assert_false(qdma_interrupted(&f->x, QDMA_ERROR_VECTOR));
}

WORLD_KINDS("/ernic-qdma-error/faults", test_faults, Fault, f, open_fault,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    Qdma *x = &f->x;
    uint64_t errors;

    qdma_arm_errors(x);
    for (uint32_t i = 0; i < ARRAY_SIZE(faults); i++) {
        g_test_message("%s", faults[i].name);
        errors = qernic_stat(x->q, "qdma.errors");
        faults[i].wrong(f, faults[i].arg);
        qernic_wait_while(x->q->qts, !qdma_get(x, 0x248));
        g_assert_cmphex(qdma_get(x, 0x248), ==, faults[i].global);
        g_assert_cmphex(qdma_get(x, 0x254), ==, faults[i].dsc);
        g_assert_cmphex(qdma_get(x, 0x264), ==, faults[i].trq);
        g_assert_true(qdma_interrupted(x, QDMA_ERROR_VECTOR));
        g_assert_cmphex(qdma_get(x, 0xb04), ==, QDMA_ERROR_VECTOR << 12);
        g_assert_cmpuint(qernic_stat(x->q, "qdma.errors"), ==, errors + 1);
        if (faults[i].error) {
            g_assert_cmphex(qdma_get(x, 0x25c), ==, 3u << 30 | QUEUE);
            check_stopped(f, faults[i].error);
        }
        recover(f);
    }
}

/* Masks: an error stays below them; a cause that is pending comes when it is armed. */
WORLD_KINDS("/ernic-qdma-error/masks", test_masks, Qdma, x, qdma_begin, { "", "" })
{
    qdma_put(x, 0xb04, ARM | QDMA_ERROR_VECTOR << 12);
    qdma_put(x, NO_QUEUE, 1);
    g_assert_cmphex(qdma_get(x, 0x264), ==, 1 << 5);
    g_assert_cmphex(qdma_get(x, 0x248), ==, 0);
    qdma_put(x, 0x268, 1 << 5);
    qdma_put(x, NO_QUEUE, 1);
    g_assert_cmphex(qdma_get(x, 0x248), ==, 1 << 3);
    g_assert_false(qdma_interrupted(x, QDMA_ERROR_VECTOR));
    qdma_put(x, 0x24c, 1 << 3);
    qdma_put(x, 0xb04, ARM | QDMA_ERROR_VECTOR << 12);
    g_assert_true(qdma_interrupted(x, QDMA_ERROR_VECTOR));
    qdma_put(x, NO_QUEUE, 1);                   /* it is not armed any more */
    g_assert_false(qdma_interrupted(x, QDMA_ERROR_VECTOR));
    /* A vector that the function does not have. */
    qdma_put(x, 0xb04, ARM | 0x7ff << 12);
    g_assert_cmphex(qdma_get(x, 0xb04), ==, 0x7ff << 12);
}

/* A queue at fault does not hold up another one, nor the other direction. */
WORLD_KINDS("/ernic-qdma-error/beside", test_beside, Qdma, x, qdma_begin, { "", "" })
{
    QdmaQueue k[4];
    uint64_t mem;

    mem = guest_alloc(&x->m->alloc, 64 * KiB);
    qdma_put(x, 0x120c, 1);
    qdma_put(x, 0x100c, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(k); i++) {
        qdma_queue_open(x, &k[i], i, i & 1 ? QDMA_C2H : QDMA_H2C, ENTRIES);
        for (uint32_t j = 0; j < ENTRIES - 1; j++) {
            qdma_post(&k[i], i < 2 && j == 3 ? NOWHERE : mem, 0, 64 * KiB);
        }
        qdma_ring(&k[i], true);
    }
    qdma_put(x, 0x1208, 1);
    qdma_put(x, 0x1008, 1);
    qdma_wait(&k[2]);
    qdma_wait(&k[3]);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_cmphex(qdma_status(&k[i]), ==, 7ull << 32 | 3 << 16 | 2);
    }
}
