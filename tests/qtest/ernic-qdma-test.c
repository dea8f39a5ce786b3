/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Registers and contexts of RecoNIC's QDMA: each word of BAR 0, each context, resets and
 * migration. The machines are of their own, because libqos's graph is full.
 */
#include "qemu/osdep.h"
#include "ernic-qdma.h"

#define DATA    0x804
#define MASK    0x824
/* Invalidates a context that no test fills. */
#define COMMAND (500 << 7 | QDMA_INVALIDATE << 5 | QDMA_CMPT << 1)

/* Words: their value after a reset, and the bits that a write stores. */
typedef struct Word {
    uint32_t at, words, value, writable;
} Word;

#define ALL 0xffffffff

static const Word words[] = {
    { 0x000, 1, 0x1fd30000 }, { 0x004, 55, 0 }, { 0x0e0, 1, 0, ALL }, { 0x0e4, 1, 0 },
    { 0x0e8, 1, 0, ALL }, { 0x0ec, 1, 0 }, { 0x0f0, 1, 0, ALL }, { 0x0f4, 1, 0 },
    { 0x0f8, 1, 0, ALL }, { 0x0fc, 1, 0 }, { 0x104, 1, 0x1 }, { 0x10c, 1, 0x4 },
    { 0x118, 1, 0x30101 }, { 0x120, 1, 0x200 }, { 0x12c, 1, 0 }, { 0x134, 1, 0x01100000 },
    { 0x138, 51, 0 }, { 0x204, 16, 0, 0xffff }, { 0x244, 1, 0 }, { 0x248, 1, 0 },
    { 0x24c, 1, 0, ALL }, { 0x250, 1, 0, ALL }, { 0x254, 1, 0 }, { 0x258, 1, 0, ALL },
    { 0x25c, 3, 0 }, { 0x268, 1, 0, ALL }, { 0x26c, 5, 0 }, { 0x280, 16, 0 },
    { 0x2c4, 1, 0, ALL }, { 0x804, 8, 0, ALL }, { 0x824, 8, 0, ALL },
    { 0x844, 1, 0, 0xffffe }, { 0xa00, 16, 0, 0xffff }, { 0xa40, 16, 0, 0xffff },
    { 0xa80, 2, 0, ALL }, { 0xab0, 16, 0, ALL }, { 0xaf0, 1, 0 }, { 0xaf4, 1, 0, ALL },
    { 0xaf8, 1, 0 }, { 0xafc, 4, 0, ALL }, { 0xb0c, 1, 0, ALL }, { 0xb50, 1, 0, ALL },
    { 0xbe0, 1, 0x40 }, { 0xbe4, 1, 0x20 }, { 0xe00, 1, 0 }, { 0xe04, 1, 0, ALL },
    { 0xe24, 1, 0, ALL }, { 0x1004, 1, 0, 1 }, { 0x1204, 1, 0, 1 },
};

static const Word *word_at(uint32_t off)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (off >= words[i].at && off < words[i].at + words[i].words * 4) {
            return &words[i];
        }
    }
    return NULL;
}

/* The offsets with rows and those around them, then some of the empty rest. */
static uint32_t next_offset(uint32_t off)
{
    return off < 0x1400 ? off + 4 : off + 0x404;
}

static void check_reset(Qdma *x)
{
    const Word *w;

    for (uint32_t off = 0; off < QDMA_DOORBELLS; off = next_offset(off)) {
        w = word_at(off);
        g_assert_cmphex(qdma_get(x, off), ==, w ? w->value : 0);
    }
}

/* Another value for each offset. */
static uint32_t pattern(uint32_t off)
{
    return 0x9e3779b9u * (off + 1);
}

/* Writes every word; those that run something last, because they change others. */
static void fill(Qdma *x)
{
    for (uint32_t off = 0; off < QDMA_DOORBELLS; off = next_offset(off)) {
        if (off != 0x844 && off != 0x1008 && off != 0x1208 && off != 0x100c &&
            off != 0x120c) {
            qdma_put(x, off, pattern(off));
        }
    }
    qdma_put(x, 0x844, COMMAND);
}

static void check_filled(Qdma *x)
{
    uint32_t wrote;
    const Word *w;

    for (uint32_t off = 0; off < QDMA_DOORBELLS; off = next_offset(off)) {
        w = word_at(off);
        wrote = off == 0x844 ? COMMAND : pattern(off);
        g_assert_cmphex(qdma_get(x, off), ==, w ? w->value | (wrote & w->writable) : 0);
    }
}

#define KINDS   { "", "" }, { "-opennic", ",shell=opennic,card-memory=1M" }

WORLD_KINDS("/ernic-qdma/registers", test_registers, Qdma, x, qdma_open, KINDS)
{
    check_reset(x);
    fill(x);
    check_filled(x);
    qdma_put(x, 0x1004, 0);
    qdma_put(x, 0x1008, 3);
    g_assert_cmphex(qdma_get(x, 0x1004), ==, 1);
    qdma_put(x, 0x100c, 1);
    g_assert_cmphex(qdma_get(x, 0x1004), ==, 0);
    qdma_put(x, 0x1204, 0);
    qdma_put(x, 0x1208, 1);
    g_assert_cmphex(qdma_get(x, 0x1204), ==, 1);
    qdma_put(x, 0x120c, 1);
    g_assert_cmphex(qdma_get(x, 0x1204), ==, 0);
}

/* Contexts: selector, and words. */
static const struct {
    uint32_t selector, words, numbers;
} contexts[] = {
    { QDMA_SW + QDMA_C2H, 8, 512 }, { QDMA_SW + QDMA_H2C, 8, 512 },
    { QDMA_HW + QDMA_C2H, 2, 512 }, { QDMA_HW + QDMA_H2C, 2, 512 },
    { QDMA_CREDIT + QDMA_C2H, 1, 512 }, { QDMA_CREDIT + QDMA_H2C, 1, 512 },
    { QDMA_CMPT, 6, 512 }, { QDMA_PREFETCH, 2, 512 }, { QDMA_FMAP, 2, 4 },
    { QDMA_INT_RING, 4, 256 },
};

static void context_words(uint32_t row, uint32_t number, uint32_t out[8])
{
    for (uint32_t i = 0; i < 8; i++) {
        out[i] = pattern((row << 16 | number << 4) + i);
    }
    if (contexts[row].selector == QDMA_CMPT) {
        out[4] &= ~1u;                          /* the device's: no timer runs */
    }
}

static uint32_t next_number(uint32_t number)
{
    return number < 4 ? number + 1 : number + 169;      /* the last one is 511 */
}

static void fill_contexts(Qdma *x)
{
    uint32_t w[8];

    for (uint32_t row = 0; row < ARRAY_SIZE(contexts); row++) {
        for (uint32_t n = 0; n < contexts[row].numbers; n = next_number(n)) {
            context_words(row, n, w);
            qdma_write_context(x, contexts[row].selector, n, w);
        }
    }
}

static void check_contexts(Qdma *x)
{
    uint32_t want[8], is[8];

    for (uint32_t row = 0; row < ARRAY_SIZE(contexts); row++) {
        for (uint32_t n = 0; n < contexts[row].numbers; n = next_number(n)) {
            context_words(row, n, want);
            memset(want + contexts[row].words, 0, 4 * (8 - contexts[row].words));
            qdma_read_context(x, contexts[row].selector, n, is);
            g_assert_cmpmem(is, sizeof(is), want, sizeof(want));
        }
    }
}

static void check_clear(Qdma *x, uint32_t selector, uint32_t number)
{
    static const uint32_t zero[8];
    uint32_t is[8];

    qdma_read_context(x, selector, number, is);
    g_assert_cmpmem(is, sizeof(is), zero, sizeof(zero));
}

/* An invalidation clears the bit that makes a context valid, if it has one. */
static void check_invalid(Qdma *x, uint32_t row, uint32_t number)
{
    static const uint32_t valid[16][2] = {              /* word, bits */
        [QDMA_SW] = { 1, 1 }, [QDMA_SW + QDMA_H2C] = { 1, 1 },
        [QDMA_CMPT] = { 3, 1 << 28 }, [QDMA_PREFETCH] = { 1, 1 << 13 },
        [QDMA_INT_RING] = { 0, 1 },
    };
    uint32_t selector = contexts[row].selector, words = contexts[row].words;
    uint32_t is[8], want[8] = { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
                                0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff };

    qdma_write_context(x, selector, number, want);
    qdma_command(x, selector, number, QDMA_INVALIDATE);
    memset(want + words, 0, 4 * (8 - words));
    want[valid[selector][0]] &= ~valid[selector][1];
    want[4] &= selector == QDMA_CMPT ? ~1u : ~0u;       /* the device's */
    qdma_read_context(x, selector, number, is);
    g_assert_cmpmem(is, sizeof(is), want, sizeof(want));
}

/* Commands for contexts that do not exist leave the data as it is. */
static void no_context(Qdma *x, uint32_t selector, uint32_t number)
{
    qdma_put(x, DATA, 0x5a5a5a5a);
    for (uint32_t op = QDMA_CLEAR; op <= QDMA_INVALIDATE; op++) {
        qdma_command(x, selector, number, op);
        g_assert_cmphex(qdma_get(x, DATA), ==, 0x5a5a5a5a);
    }
}

WORLD_KINDS("/ernic-qdma/contexts", test_contexts, Qdma, x, qdma_open, { "", "" })
{
    static const uint32_t none[] = { 9, 10, 13, 14, 15 };
    uint32_t w[8];

    fill_contexts(x);
    check_contexts(x);
    for (uint32_t i = 0; i < ARRAY_SIZE(none); i++) {
        no_context(x, none[i], 0);
    }
    for (uint32_t row = 0; row < ARRAY_SIZE(contexts); row++) {
        no_context(x, contexts[row].selector, contexts[row].numbers);
        no_context(x, contexts[row].selector, 0x1fff);
    }
    check_contexts(x);
    /* A write changes the bits of the mask alone. */
    qdma_put(x, DATA, 0xffffffff);
    qdma_put(x, MASK, 0x00ff0000);
    qdma_put(x, MASK + 4, 0);
    qdma_command(x, QDMA_HW, 1, QDMA_WRITE);
    context_words(2, 1, w);
    qdma_command(x, QDMA_HW, 1, QDMA_READ);
    g_assert_cmphex(qdma_get(x, DATA), ==, w[0] | 0x00ff0000);
    g_assert_cmphex(qdma_get(x, DATA + 4), ==, w[1]);
    /* Clear and invalidate change one context. */
    for (uint32_t row = 0; row < ARRAY_SIZE(contexts); row++) {
        check_invalid(x, row, 2);
        qdma_command(x, contexts[row].selector, 2, QDMA_CLEAR);
        check_clear(x, contexts[row].selector, 2);
        context_words(row, 3, w);
        qdma_command(x, contexts[row].selector, 3, QDMA_READ);
        g_assert_cmphex(qdma_get(x, DATA), ==, w[0]);
    }
}

static void check_all_reset(Qdma *x)
{
    check_reset(x);
    for (uint32_t row = 0; row < ARRAY_SIZE(contexts); row++) {
        for (uint32_t n = 0; n < contexts[row].numbers; n = next_number(n)) {
            check_clear(x, contexts[row].selector, n);
        }
    }
}

/* The shell's reset of the QDMA, of the system, and a function level reset. */
WORLD_KINDS("/ernic-qdma/reset", test_reset, Qdma, x, qdma_open, { "", "" })
{
    for (uint32_t i = 0; i < 3; i++) {
        fill_contexts(x);
        fill(x);
        qdma_put_user(x, 0xc, 2);       /* the ERNIC alone */
        check_filled(x);
        qdma_reset(x, i);
        check_all_reset(x);
    }
}

WORLD_KINDS("/ernic-qdma/migrate", test_migrate, Qdma, x, qdma_open, { "", "" })
{
    fill_contexts(x);
    fill(x);
    qdma_migrate(x, "");
    check_filled(x);
    check_contexts(x);
}
