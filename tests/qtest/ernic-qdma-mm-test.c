/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines of RecoNIC's QDMA: transfers between guest memory and card
 * memory, status, interrupts, and their life.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "ernic-qdma.h"

#define BULK        (64 * MiB)
#define BLOCK       (256 * KiB)     /* of BULK */
#define PIECE       (64 * KiB)      /* of different words, at the start of a block */

/* Guest memory beyond the allocator's, in a machine with 512 MiB. */
#define BULK_FROM   (192 * MiB)
#define BULK_TO     (320 * MiB)

#define MAIN_LOOP   { "", ",engine-thread=off" }
#define THREAD      { "-thread", ",engine-thread=on" }

static void fill(Qdma *x, uint64_t at, uint32_t len, uint32_t seed)
{
    g_autofree uint32_t *words = g_malloc(len);

    for (uint32_t i = 0; i < len / 4; i++) {
        words[i] = (i + seed) * 0x9e3779b9u;
    }
    qtest_bufwrite(x->m->qts, at, words, len);
}

static void same(Qdma *x, uint64_t a, uint64_t b, uint32_t len)
{
    g_autofree uint8_t *p = g_malloc(len), *q = g_malloc(len);

    qtest_bufread(x->m->qts, a, p, len);
    qtest_bufread(x->m->qts, b, q, len);
    g_assert_cmpmem(p, len, q, len);
}

/* The pieces of 64 MiB, not all of it, to the card and back, with a full ring. */
MACHINE_KINDS("/ernic-qdma-mm/bulk", test_bulk, MAIN_LOOP, THREAD)
{
    g_autofree char *args = g_strconcat(more, " -m 512", NULL);
    QdmaQueue out, in;
    Qdma x;

    qdma_begin(&x, args);
    qdma_queue_open(&x, &out, 64, QDMA_H2C, 257);
    qdma_queue_open(&x, &in, 64, QDMA_C2H, 257);
    for (uint64_t at = 0; at < BULK; at += BLOCK) {
        fill(&x, BULK_FROM + at, PIECE, at);
        qdma_post(&out, BULK_FROM + at, at, PIECE);
    }
    qdma_ring(&out, true);
    qdma_wait(&out);
    g_assert_true(qdma_interrupted(&x, 0));
    for (uint64_t at = 0; at < BULK; at += BLOCK) {
        qdma_post(&in, BULK_TO + at, at, PIECE);
    }
    qdma_ring(&in, true);
    qdma_wait(&in);
    g_assert_true(qdma_interrupted(&x, 0));
    for (uint64_t at = 0; at < BULK; at += BLOCK) {
        same(&x, BULK_FROM + at, BULK_TO + at, PIECE);
    }
    g_assert_cmpuint(qernic_stat(x.q, "qdma.h2c_bytes"), ==, BULK / BLOCK * PIECE);
    g_assert_cmpuint(qernic_stat(x.q, "qdma.c2h_bytes"), ==, BULK / BLOCK * PIECE);
    g_assert_cmpuint(qernic_stat(x.q, "qdma.c2h_descriptors"), ==, BULK / BLOCK);
    g_assert_cmpuint(qernic_stat(x.q, "qdma.errors"), ==, 0);
    g_assert_cmphex(qdma_get(&x, 0x1248), ==, BULK / BLOCK);
    g_assert_cmphex(qdma_get(&x, 0x1048), ==, BULK / BLOCK);
}

/*
 * The host has to provide all pages of both ends. The monitor answers meanwhile; the time
 * is printed, as a busy host may delay any answer.
 */
MACHINE_TEST("/ernic-qdma-mm/cold", test_cold)
{
    int64_t start, worst = 0, asked = 0;
    const char *path;
    QdmaQueue k;
    Qdma x;

    qdma_begin(&x, " -m 512");
    path = qernic_log(x.m->qts, "ernic_slice_late");
    qdma_queue_open(&x, &k, 64, QDMA_C2H, 8);
    qdma_post(&k, BULK_FROM, 0, BULK);
    qdma_ring(&k, true);
    do {
        start = g_get_monotonic_time();
        qtest_qmp_assert_success(x.m->qts, "{ 'execute': 'query-status' }");
        worst = MAX(worst, g_get_monotonic_time() - start);
        asked++;
    } while (!qdma_status(&k));
    g_test_message("cold memory: the longest of %" PRId64 " answers took %.1f ms", asked,
                   worst / 1000.0);
    g_assert_cmpint(worst, <, 1000000);
    qdma_wait(&k);
    g_assert_cmpuint(qernic_stat(x.q, "qdma.c2h_bytes"), ==, BULK);
    g_test_message("%u slices ended by the clock",
                   qernic_logged(x.m, path, "ernic_slice_late"));
}

/* Unaligned data of all lengths, up to the last byte of the card; BAR 4 shows them. */
WORLD_KINDS("/ernic-qdma-mm/lengths", test_lengths, Qdma, x, qdma_begin,
             { "", ",card-memory=1M" })
{
    static const uint32_t lens[] = { 0, 1, 3, 64, 4095, 4097, 8191, 8192, 8193, 50000 };
    QdmaQueue out, in;
    uint8_t buf[4];
    uint64_t mem;
    uint32_t i;

    mem = guest_alloc(&x->m->alloc, 256 * KiB);
    qdma_queue_open(x, &out, 65, QDMA_H2C, 7);
    qdma_queue_open(x, &in, 66, QDMA_C2H, 5);
    for (i = 0; i < ARRAY_SIZE(lens); i++) {
        fill(x, mem, 64 * KiB, i);
        qtest_memset(x->m->qts, mem + 128 * KiB, 0x77, 64 * KiB);
        qdma_move(&out, mem + 5, MiB - lens[i], lens[i]);
        qdma_move(&in, mem + 128 * KiB + 9, MiB - lens[i], lens[i]);
        if (lens[i]) {
            same(x, mem + 5, mem + 128 * KiB + 9, lens[i]);
        }
        g_assert_cmphex(qtest_readb(x->m->qts, mem + 128 * KiB + 8), ==, 0x77);
        g_assert_cmphex(qtest_readb(x->m->qts, mem + 128 * KiB + 9 + lens[i]), ==, 0x77);
        g_assert_true(qdma_interrupted(x, 1));
        g_assert_true(qdma_interrupted(x, 2));
    }
    qpci_memread(&x->q->dev, x->card, MiB - 4, buf, 4);
    qtest_memread(x->m->qts, mem + 5 + 50000 - 4, &i, 4);
    g_assert_cmpmem(buf, 4, &i, 4);
}

/* One interrupt for each time that it is armed. */
WORLD_KINDS("/ernic-qdma-mm/interrupts", test_interrupts, Qdma, x, qdma_begin, { "", "" })
{
    QdmaQueue k;
    uint64_t mem;

    mem = guest_alloc(&x->m->alloc, 4096);
    qdma_queue_open(x, &k, 3, QDMA_H2C, 16);
    qdma_ring(&k, true);                        /* nothing is complete */
    g_assert_false(qdma_interrupted(x, 3));
    qdma_post(&k, mem, 0, 64);
    qdma_ring(&k, false);                       /* armed by the context */
    qdma_wait(&k);
    g_assert_true(qdma_interrupted(x, 3));
    qdma_post(&k, mem, 0, 64);
    qdma_ring(&k, false);
    qdma_wait(&k);
    g_assert_false(qdma_interrupted(x, 3));
    qdma_ring(&k, true);                        /* the one that waited */
    g_assert_true(qdma_interrupted(x, 3));
    qdma_ring(&k, true);
    qdma_ring(&k, true);
    g_assert_false(qdma_interrupted(x, 3));
    qdma_post(&k, mem, 0, 64);
    qdma_ring(&k, false);
    qdma_wait(&k);
    g_assert_true(qdma_interrupted(x, 3));
    /* Neither status nor interrupt if the context has none: then CIDX shows it. */
    qdma_queue_context(&k, 0, 3 << 20);
    qdma_post(&k, mem, 0, 64);
    qdma_ring(&k, true);
    g_assert_false(qdma_interrupted(x, 3));
    qdma_command(x, QDMA_HW + QDMA_H2C, 3, QDMA_READ);
    g_assert_cmphex(qdma_get(x, 0x804), ==, 1);
    g_assert_cmphex(qdma_status(&k), ==, 0);
}

/* Registers of the engines: they stop and go on; software reads indices. */
WORLD_KINDS("/ernic-qdma-mm/run", test_run, Qdma, x, qdma_begin, { "", "" })
{
    uint32_t words[8];
    QdmaQueue k;
    uint64_t mem;

    mem = guest_alloc(&x->m->alloc, 4096);
    qdma_queue_open(x, &k, 17, QDMA_C2H, 16);
    qdma_put(x, 0x100c, 1);
    qdma_post(&k, mem, 0, 64);
    qdma_post(&k, mem, 64, 64);
    qdma_ring(&k, true);
    qtest_clock_step(x->m->qts, 1000000);
    g_assert_cmphex(qdma_status(&k), ==, 0);
    g_assert_cmphex(qdma_get(x, QDMA_DOORBELLS + 17 * 16 + 8), ==, 0x10002);
    qdma_put(x, 0x1008, 1);
    qdma_wait(&k);
    g_assert_cmphex(qdma_status(&k), ==, 2ull << 32 | 2 << 16);
    qdma_read_context(x, QDMA_SW + QDMA_C2H, 17, words);
    g_assert_cmphex(words[0] & 0xffff, ==, 2);
}

/* Many queues at once, each gets its data. */
WORLD_KINDS("/ernic-qdma-mm/queues", test_queues, Qdma, x, qdma_begin,
             MAIN_LOOP, THREAD, { "-timing", ",engine-thread=off,timing=on" })
{
    QdmaQueue k[16];
    uint64_t mem;

    mem = guest_alloc(&x->m->alloc, 64 * KiB);
    fill(x, mem, 64 * KiB, 1);
    qdma_put(x, 0x120c, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(k); i++) {
        qdma_queue_open(x, &k[i], 4 * i + i % 4, QDMA_H2C, 16);
        for (uint32_t j = 0; j < 15; j++) {
            qdma_post(&k[i], mem, (i * 15 + j) * 64 * KiB, 4096 + i * 15 + j);
        }
        qdma_ring(&k[i], true);
    }
    qdma_put(x, 0x1208, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(k); i++) {
        qdma_wait(&k[i]);
    }
    for (uint32_t i = 0; i < 16 * 15; i++) {
        same(x, mem, x->card.addr + i * 64 * KiB, 4096 + i);
        g_assert_cmphex(qtest_readl(x->m->qts, x->card.addr + i * 64 * KiB + 8192), ==,
                        0);
    }
    g_assert_cmpuint(qernic_stat(x->q, "qdma.h2c_descriptors"), ==, 16 * 15);
}

/*
 * The guest's bus address may be the card's memory itself. Where the ranges overlap, only
 * the first piece is certain.
 */
WORLD_KINDS("/ernic-qdma-mm/overlap", test_overlap, Qdma, x, qdma_begin, { "", "" })
{
    QdmaQueue k;
    uint64_t mem;

    mem = guest_alloc(&x->m->alloc, 64 * KiB);
    fill(x, mem, 64 * KiB, 5);
    fill(x, x->card.addr, 64 * KiB, 5);
    qdma_queue_open(x, &k, 1, QDMA_H2C, 4);
    qdma_post(&k, x->card.addr, MiB, 64 * KiB);
    qdma_move(&k, x->card.addr, 100, 64 * KiB);
    same(x, mem, x->card.addr + MiB, 64 * KiB);
    same(x, mem, x->card.addr, 100);
    same(x, mem, x->card.addr + 100, 8 * KiB);
    g_assert_cmpuint(qernic_stat(x->q, "qdma.errors"), ==, 0);
}

/* A reset ends all work; the queues work again afterwards. */
WORLD_KINDS("/ernic-qdma-mm/reset", test_reset, Qdma, x, qdma_open, { "", "" })
{
    QdmaQueue k;
    uint64_t mem;
    int i, tries = 0;

    mem = guest_alloc(&x->m->alloc, 4096);
    for (i = 0; i < 3;) {
        g_assert_cmpint(tries++, <, 50);
        qdma_start(x);
        qdma_queue_open(x, &k, 2, QDMA_C2H, 64);
        qdma_post(&k, 64 * MiB, 0, 32 * MiB);
        qdma_ring(&k, true);
        qdma_reset(x, i);
        qtest_clock_step(x->m->qts, 1000000);
        g_assert_cmpuint(qernic_stat(x->q, "qdma.c2h_bytes"), ==, 0);
        if (qdma_status(&k)) {
            continue;                   /* the copy ended before the reset came */
        }
        i++;
        qdma_start(x);
        qdma_queue_context(&k, 0, 0);
        qdma_move(&k, mem, 0, 4096);
        g_assert_cmpuint(qernic_stat(x->q, "qdma.c2h_bytes"), ==, 4096);
    }
}

/* The memory in a file: QEMU writes that much faster than it sends it to qtest. */
static GMappedFile *memory(Qdma *x, uint64_t at, uint64_t len)
{
    const char *path = qernic_temp();
    GMappedFile *file;

    qtest_qmp_assert_success(x->m->qts, "{ 'execute': 'pmemsave', 'arguments': {"
                             " 'val': %" PRIu64 ", 'size': %" PRIu64 ","
                             " 'filename': %s } }", at, len, path);
    file = g_mapped_file_new(path, false, NULL);
    g_assert_nonnull(file);
    g_assert_cmpuint(g_mapped_file_get_length(file), ==, len);
    return file;
}

/*
 * Queues with work, of which a part is done, move to another machine. No block has zeros,
 * which the card has, too, where nothing was copied.
 */
MACHINE_TEST("/ernic-qdma-mm/migrate", test_migrate)
{
    static const char more[] = " -m 512";
    g_autoptr(GMappedFile) from = NULL, to = NULL;
    QdmaQueue out, in;
    Qdma x;

    qdma_begin(&x, more);
    for (uint64_t at = 0; at < 32 * MiB; at += BLOCK) {
        fill(&x, BULK_FROM + at, PIECE, at);
        qtest_memset(x.m->qts, BULK_FROM + at + PIECE, 1 + at / BLOCK, BLOCK - PIECE);
    }
    qdma_queue_open(&x, &out, 5, QDMA_H2C, 8);
    qdma_post(&out, BULK_FROM, 0, 32 * MiB);
    qdma_post(&out, BULK_FROM, 32 * MiB, 32 * MiB);
    qdma_ring(&out, true);
    qdma_migrate(&x, more);
    qdma_wait(&out);
    g_assert_true(qdma_interrupted(&x, 5));
    qdma_queue_open(&x, &in, 6, QDMA_C2H, 8);
    qdma_move(&in, BULK_TO, 32 * MiB, 32 * MiB);
    from = memory(&x, BULK_FROM, 32 * MiB);
    to = memory(&x, BULK_TO, 32 * MiB);
    g_assert_cmpint(memcmp(g_mapped_file_get_contents(from),
                           g_mapped_file_get_contents(to), 32 * MiB), ==, 0);
    g_assert_cmpuint(qernic_stat(x.q, "qdma.h2c_bytes"), ==, BULK);
}
