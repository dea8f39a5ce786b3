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

#define ERROR_VECTOR    16
#define ARM             (1 << 24)
#define NOWHERE         (1ull << 40)
#define ENTRIES         8
#define QUEUE           9

enum { STOPS = 1, SENT = 2 };       /* error 1 or 2 in the status */

typedef struct Fault {
    Qdma x;
    QdmaQueue k;
    uint64_t mem;
} Fault;

static void arm(Qdma *x)
{
    qdma_put(x, 0x24c, 0xffffffff);
    qdma_put(x, 0x258, 0x1f9037e);
    qdma_put(x, 0x268, 0xb3);
    qdma_put(x, 0xb04, ARM | ERROR_VECTOR << 12);
}

static void bad_bus(Fault *f)
{
    qdma_post(&f->k, NOWHERE, 0, 64);
    qdma_ring(&f->k, true);
}

static void bad_end(Fault *f)
{
    qdma_post(&f->k, f->mem, 64 * MiB - 63, 64);
    qdma_ring(&f->k, true);
}

static void bad_card(Fault *f)
{
    qdma_post(&f->k, f->mem, UINT64_MAX - 63, 64);
    qdma_ring(&f->k, true);
}

static void bad_wrap(Fault *f)
{
    qdma_post(&f->k, UINT64_MAX - 15, 0, 64);
    qdma_ring(&f->k, true);
}

/* Guest memory ends, or the registers begin, after a part of the data. */
static void bad_length(Fault *f)
{
    qdma_post(&f->k, 128 * MiB - 100000, 0, (1 << 28) - 1);
    qdma_ring(&f->k, true);
}

static void bad_registers(Fault *f)
{
    qdma_post(&f->k, f->x.bar.addr, 0, 64);
    qdma_ring(&f->k, true);
}

static void bad_ring(Fault *f)
{
    static uint64_t ring;

    ring = f->k.ring;
    f->k.ring = NOWHERE;
    qdma_queue_context(&f->k, 0, 0);
    f->k.pi = 1;
    qdma_ring(&f->k, true);
    f->k.ring = ring;
}

static void bad_index(Fault *f)
{
    f->k.pi = ENTRIES;
    qdma_ring(&f->k, true);
}

/* The consumer index of the hardware context is beyond the ring. */
static void bad_consumer(Fault *f)
{
    static const uint32_t words[8] = { 0xffff };

    qdma_write_context(&f->x, QDMA_HW + f->k.dir, QUEUE, words);
    f->k.pi = 1;
    qdma_ring(&f->k, true);
}

/* The size of the ring is 0, which no index fits. */
static void bad_size(Fault *f)
{
    qdma_put(&f->x, 0x204 + QUEUE * 4, 0);
    f->k.pi = 0;
    qdma_ring(&f->k, true);
    qdma_put(&f->x, 0x204 + QUEUE * 4, ENTRIES + 1);
}

static void with_bits(Fault *f, uint32_t set, uint32_t clear)
{
    qdma_queue_context(&f->k, set, clear);
    qdma_post(&f->k, f->mem, 0, 64);
    qdma_ring(&f->k, true);
}

static void bad_stream(Fault *f)
{
    with_bits(f, 0, 1u << 31);
}

static void bad_bypass(Fault *f)
{
    with_bits(f, 1 << 18, 0);
}

static void bad_desc_size(Fault *f)
{
    with_bits(f, 3 << 16, 0);
}

static void bad_disabled(Fault *f)
{
    with_bits(f, 0, 1);
}

static void bad_never(Fault *f)
{
    qdma_put(&f->x, QDMA_DOORBELLS + 40 * 16 + 4, 1 | 1 << 16);
}

static void bad_function(Fault *f)
{
    static const uint32_t words[8] = { 4 << 17, 1 };

    qdma_write_context(&f->x, QDMA_SW + f->k.dir, QUEUE, words);
    f->k.pi = 1;
    qdma_ring(&f->k, true);
}

static void bad_queue(Fault *f)
{
    qdma_put(&f->x, QDMA_DOORBELLS + 68 * 16 + 4, 1);
}

static void bad_last_queue(Fault *f)
{
    qdma_put(&f->x, QDMA_DOORBELLS + 511 * 16 + 8, 0xffffffff);
}

static void bad_context(Fault *f)
{
    qdma_command(&f->x, 9, 0, QDMA_WRITE);
}

/* A queue that ends while it copies 32 MiB, or before it begins. */
static void torn(Fault *f, uint32_t op)
{
    qdma_post(&f->k, 32 * MiB, 0, 32 * MiB);
    qdma_ring(&f->k, true);
    qdma_command(&f->x, QDMA_SW + f->k.dir, QUEUE, op);
}

static void bad_clear(Fault *f)
{
    torn(f, QDMA_CLEAR);
}

static void bad_invalidate(Fault *f)
{
    torn(f, QDMA_INVALIDATE);
}

static void bad_rewrite(Fault *f)
{
    torn(f, QDMA_WRITE);
}

/* Bits of 254 and 264; of 248; what the status at the end of the ring says. */
static const struct {
    const char *name;
    void (*wrong)(Fault *f);
    uint32_t dsc, trq, global, error;
} faults[] = {
    { "bus", bad_bus, 1 << 20, 0, 1 << 2, SENT },
    { "end", bad_end, 1 << 20, 0, 1 << 2, SENT },
    { "card", bad_card, 1 << 20, 0, 1 << 2, SENT },
    { "wrap", bad_wrap, 1 << 20, 0, 1 << 2, SENT },
    { "length", bad_length, 1 << 20, 0, 1 << 2, SENT },
    { "registers", bad_registers, 1 << 20, 0, 1 << 2, SENT },
    { "ring", bad_ring, 1 << 2, 0, 1 << 2, 0 },
    { "index", bad_index, 1 << 21, 0, 1 << 2, STOPS },
    { "consumer", bad_consumer, 1 << 21, 0, 1 << 2, STOPS },
    { "size", bad_size, 1 << 21, 0, 1 << 2, 0 },
    { "stream", bad_stream, 1 << 4, 0, 1 << 2, STOPS },
    { "bypass", bad_bypass, 1 << 4, 0, 1 << 2, STOPS },
    { "descriptor", bad_desc_size, 1 << 4, 0, 1 << 2, 0 },
    { "disabled", bad_disabled, 1 << 22, 0, 1 << 2, 0 },
    { "never", bad_never, 1 << 22, 0, 1 << 2, 0 },
    { "function", bad_function, 0, 1 << 5, 1 << 3, 0 },
    { "queue", bad_queue, 0, 1 << 5, 1 << 3, 0 },
    { "last-queue", bad_last_queue, 0, 1 << 5, 1 << 3, 0 },
    { "context", bad_context, 0, 0, 1 << 9, 0 },
    { "clear", bad_clear, 1 << 22, 0, 1 << 2, 0 },
    { "invalidate", bad_invalidate, 1 << 22, 0, 1 << 2, 0 },
    { "rewrite", bad_rewrite, 1 << 22, 0, 1 << 2, 0 },
};

static void wait_for_error(Fault *f, uint32_t global)
{
    qernic_wait_while(f->x.q->qts, !qdma_get(&f->x, 0x248));
    g_assert_cmphex(qdma_get(&f->x, 0x248), ==, global);
}

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
    arm(&f->x);
    g_assert_false(qdma_interrupted(&f->x, ERROR_VECTOR));
}

MACHINE_KINDS("/ernic-qdma-error/faults", test_faults,
              { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    uint64_t errors;
    Fault f;

    qdma_begin(&f.x, more);
    f.mem = guest_alloc(&f.x.m->alloc, 4096);
    qdma_queue_open(&f.x, &f.k, QUEUE, QDMA_H2C, ENTRIES);
    arm(&f.x);
    for (uint32_t i = 0; i < ARRAY_SIZE(faults); i++) {
        g_test_message("%s", faults[i].name);
        errors = qernic_stat(f.x.q, "qdma.errors");
        faults[i].wrong(&f);
        wait_for_error(&f, faults[i].global);
        g_assert_cmphex(qdma_get(&f.x, 0x254), ==, faults[i].dsc);
        g_assert_cmphex(qdma_get(&f.x, 0x264), ==, faults[i].trq);
        g_assert_true(qdma_interrupted(&f.x, ERROR_VECTOR));
        g_assert_cmphex(qdma_get(&f.x, 0xb04), ==, ERROR_VECTOR << 12);
        g_assert_cmpuint(qernic_stat(f.x.q, "qdma.errors"), ==, errors + 1);
        if (faults[i].error) {
            g_assert_cmphex(qdma_get(&f.x, 0x25c), ==, 3u << 30 | QUEUE);
            check_stopped(&f, faults[i].error);
        }
        recover(&f);
    }
}

/* Masks: an error stays below them; a cause that is pending comes when it is armed. */
MACHINE_TEST("/ernic-qdma-error/masks", test_masks)
{
    Fault f;

    qdma_begin(&f.x, "");
    f.mem = guest_alloc(&f.x.m->alloc, 4096);
    qdma_queue_open(&f.x, &f.k, QUEUE, QDMA_H2C, ENTRIES);
    qdma_put(&f.x, 0xb04, ARM | ERROR_VECTOR << 12);
    bad_queue(&f);
    g_assert_cmphex(qdma_get(&f.x, 0x264), ==, 1 << 5);
    g_assert_cmphex(qdma_get(&f.x, 0x248), ==, 0);
    qdma_put(&f.x, 0x268, 1 << 5);
    bad_queue(&f);
    g_assert_cmphex(qdma_get(&f.x, 0x248), ==, 1 << 3);
    g_assert_false(qdma_interrupted(&f.x, ERROR_VECTOR));
    qdma_put(&f.x, 0x24c, 1 << 3);
    qdma_put(&f.x, 0xb04, ARM | ERROR_VECTOR << 12);
    g_assert_true(qdma_interrupted(&f.x, ERROR_VECTOR));
    bad_queue(&f);                              /* it is not armed any more */
    g_assert_false(qdma_interrupted(&f.x, ERROR_VECTOR));
    /* A vector that the function does not have. */
    qdma_put(&f.x, 0xb04, ARM | 0x7ff << 12);
    g_assert_cmphex(qdma_get(&f.x, 0xb04), ==, 0x7ff << 12);
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

/* Any value in any register, context, doorbell, and ring. */
WORLD_KINDS("/ernic-qdma-error/attack", test_attack, Qdma, x, qdma_begin,
             { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    uint32_t words[8];
    uint64_t mem;
    QdmaQueue k;

    mem = guest_alloc(&x->m->alloc, MiB);
    for (uint32_t i = 0; i < 3000; i++) {
        if (i % 500 == 0) {
            qdma_start(x);
            for (uint32_t j = 0; j < MiB; j += 4096) {
                qtest_memset(x->m->qts, mem + j, g_test_rand_int(), 4096);
            }
        }
        for (uint32_t j = 0; j < 8; j++) {
            words[j] = g_test_rand_int();
        }
        words[0] &= ~0x1ffe0000;                /* function 0, */
        words[1] |= 1 | 1u << 31;               /* enabled, memory-mapped */
        words[2] = mem + g_test_rand_int_range(0, MiB - 8192);
        words[3] = i % 7 ? 0 : words[3];
        qdma_put(x, 0x204 + i % 16 * 4, g_test_rand_int());
        qdma_write_context(x, i % 2, i % 70, words);
        qdma_put(x, QDMA_DOORBELLS + i % 70 * 16 + g_test_rand_int_range(0, 4) * 4,
                 i % 3 ? i % 64 : g_test_rand_int());
        qdma_put(x, g_test_rand_int_range(0, 0x500) * 4, g_test_rand_int());
        if (i % 16 == 0) {
            qtest_clock_step(x->m->qts, 100000);
        }
    }
    qpci_io_writel(&x->q->dev, x->user, 0xc, 1);
    qdma_start(x);
    qdma_queue_open(x, &k, 1, QDMA_H2C, ENTRIES);
    qdma_move(&k, mem, 0, MiB);
    g_assert_true(qdma_interrupted(x, 1));
}
