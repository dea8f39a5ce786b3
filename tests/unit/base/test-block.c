/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Blocks of host memory: sizes, content, and what the host gets back in a call.
 */
#include "qemu/osdep.h"
#include "base/mem.h"
#include "counted_pages.h"
#include "test.h"

static uint64_t mapped(void)
{
    return given - returned;
}

static void fill(uint8_t *p, uint64_t bytes, uint8_t value)
{
    memset(p, value, bytes);
}

static bool is_filled(const uint8_t *p, uint64_t bytes, uint8_t value)
{
    return p[0] == value && !memcmp(p, p + 1, bytes - 1);
}

/* Every size up to some pages, then steps of about a tenth. */
static uint64_t next_size(uint64_t bytes)
{
    return bytes < 3 * 4096 ? bytes + 1 : bytes + bytes / 10;
}

/* Blocks are aligned, apart from each other, and 0 when that is asked for. */
TEST("/block/sizes", test_sizes)
{
    enum { N = 3 };
    ErnicHeap *heap = ernic_heap_new();
    uint64_t bytes, before = mapped();
    uint8_t *p[N];
    int sizes = 0;

    for (bytes = 1; bytes <= 4 * ERNIC_PIECE; bytes = next_size(bytes)) {
        for (int i = 0; i < N; i++) {
            p[i] = ernic_block_new(heap, bytes, i % 2);
            g_assert_nonnull(p[i]);
            IS((uintptr_t)p[i] % 16, 0);
            g_assert_true(i % 2 == 0 || is_filled(p[i], bytes, 0));
            fill(p[i], bytes, i + 1);
        }
        ernic_block_free(p[1], bytes);
        p[1] = ernic_block_new(heap, bytes, true);
        g_assert_true(is_filled(p[1], bytes, 0));
        fill(p[1], bytes, 2);
        for (int i = 0; i < N; i++) {
            g_assert_true(is_filled(p[i], bytes, i + 1));
            ernic_block_free(p[i], bytes);
            g_assert_true(!ernic_heap_reap(heap) || i == N - 1);
        }
        g_assert_cmpuint(mapped(), <=, before + ERNIC_PIECE);   /* the reserve */
        sizes++;
    }
    g_assert_cmpint(sizes, >, 3 * 4096);
    IS(ernic_heap_slack(heap), 0);
    ernic_heap_end(heap);
    IS(mapped(), before);
}

/*
 * An attack: of each chunk a block or two are left, and then all of these are freed at
 * once. The account returns the chunks later, one in a step, and charges none of them.
 */
TEST("/block/last-blocks", test_last_blocks)
{
    enum { BYTES = 1024, N = 64 * (ERNIC_PIECE / BYTES), EVERY = 512 };
    g_autofree void **p = g_new(void *, N);
    ErnicMem m = { .bound = UINT64_MAX };
    uint64_t before;
    uint32_t steps = 0;

    for (uint32_t i = 0; i < N; i++) {
        p[i] = ernic_mem_new(&m, ERNIC_MEM_PAGE_LISTS, 1, BYTES);
    }
    for (uint32_t i = 0; i < N; i++) {
        if (i % EVERY) {
            ernic_mem_free(&m, ERNIC_MEM_PAGE_LISTS, p[i], 1, BYTES);
        }
    }
    before = returned;
    for (uint32_t i = 0; i < N; i += EVERY) {
        ernic_mem_free(&m, ERNIC_MEM_PAGE_LISTS, p[i], 1, BYTES);
    }
    IS(m.used, 0);
    g_assert_true(!ERNIC_OWN_PAGES || ernic_mem_held(&m) >= 64 * ERNIC_PIECE);
    IS(returned, before);
    while (ernic_mem_reap(&m)) {
        steps++;
        IS(returned - before, (uint64_t)steps * ERNIC_PIECE);
    }
    g_assert_cmpuint(ernic_mem_held(&m), <=, ERNIC_PIECE);
    g_assert_true(!ERNIC_OWN_PAGES || steps >= 63);
    IS(m.used + m.dying[ERNIC_MEM_PAGE_LISTS], 0);
    ernic_mem_end(&m);
}

/*
 * Another one: chunks of one size after the other that keep a single block. The account
 * refuses before the host has more than its bound, a quarter of that, and a constant.
 */
TEST("/block/slack", test_slack)
{
    enum { BOUND = 64 << 20, STEP = 96 };
    ErnicMem m = { .bound = BOUND };
    g_autofree void **kept = g_new(void *, BOUND / 64);
    g_autofree uint32_t *size = g_new(uint32_t, BOUND / 64);
    uint64_t before = mapped(), most = 0;
    uint32_t n = 0, from, end, i;

    for (uint32_t bytes = 64; bytes < 8192; bytes += STEP) {
        for (from = n; ernic_mem_has_room(&m, bytes); n++) {
            kept[n] = ernic_mem_new(&m, ERNIC_MEM_PAGE_LISTS, 1, bytes);
            size[n] = bytes;
        }
        most = MAX(most, mapped() - before);
        /* One block of each chunk remains. */
        for (i = from, end = n, n = from; i < end; i++) {
            if ((i - from) % (ERNIC_PIECE / bytes) == 0) {
                kept[n] = kept[i];
                size[n++] = bytes;
            } else {
                ernic_mem_free(&m, ERNIC_MEM_PAGE_LISTS, kept[i], 1, bytes);
            }
        }
        while (ernic_mem_reap(&m)) {
        }
    }
    g_assert_cmpuint(m.refused, >, 0);
    g_assert_cmpuint(most, <=, BOUND + BOUND / 4 + ERNIC_MEM_SLACK);
    while (n--) {
        ernic_mem_free(&m, ERNIC_MEM_PAGE_LISTS, kept[n], 1, size[n]);
    }
    while (ernic_mem_reap(&m)) {
    }
    ernic_mem_end(&m);
    IS(mapped(), before);
}

/*
 * The same with chunks that are empty, and with those of an account that is replaced,
 * which has left a block in each.
 */
TEST("/block/empty", test_empty)
{
    enum {
        BOUND = 64 << 20, BYTES = 1024, N = BOUND / BYTES, EVERY = ERNIC_PIECE / BYTES,
    };
    ErnicMem old = { .bound = BOUND }, m = { .bound = BOUND };
    g_autofree void **p = g_new(void *, 2 * N);
    uint64_t before = mapped();
    uint32_t n;

    for (uint32_t i = 0; i < N; i++) {
        p[i] = ernic_mem_new(&old, ERNIC_MEM_PAGE_LISTS, 1, BYTES);
    }
    for (uint32_t i = 0; i < N; i++) {
        if (i % EVERY || i < N / 4) {           /* a quarter is empty */
            ernic_mem_free(&old, ERNIC_MEM_PAGE_LISTS, p[i], 1, BYTES);
            p[i] = NULL;
        }
    }
    ernic_mem_inherit(&m, &old);
    for (n = N; n < 2 * N; n++) {
        p[n] = ernic_mem_new(&m, ERNIC_MEM_PAGE_LISTS, 1, BYTES);
        if (!p[n]) {
            break;
        }
    }
    g_assert_cmpuint(mapped() - before, <=, BOUND + BOUND / 4 + ERNIC_MEM_SLACK);
    g_assert_true(!ERNIC_OWN_PAGES || m.refused == 1);
    for (uint32_t i = 0; i < N; i++) {
        ernic_mem_free(&old, ERNIC_MEM_PAGE_LISTS, p[i], 1, BYTES);
    }
    while (ernic_mem_reap(&old)) {
    }
    ernic_mem_end(&old);
    g_assert_null(m.elder);
    /* There is room again. */
    p[n] = ernic_mem_new(&m, ERNIC_MEM_PAGE_LISTS, 1, BYTES);
    g_assert_nonnull(p[n]);
    for (uint32_t i = N; i <= n; i++) {
        ernic_mem_free(&m, ERNIC_MEM_PAGE_LISTS, p[i], 1, BYTES);
    }
    while (ernic_mem_reap(&m)) {
    }
    ernic_mem_end(&m);
    IS(mapped(), before);
}

/* A block that comes and goes alone, like a command, costs the host nothing. */
TEST("/block/reserve", test_reserve)
{
    ErnicMem m = { .bound = 1 << 20 };
    uint64_t before = 0;
    void *p;

    for (uint32_t i = 0; i < 100; i++) {
        p = ernic_mem_new(&m, ERNIC_MEM_MESSAGES, 1, 4112 + i % 2 * 4096);
        before = i ? before : given;
        ernic_mem_free(&m, ERNIC_MEM_MESSAGES, p, 1, 4112 + i % 2 * 4096);
        g_assert_false(ernic_mem_waits(&m));
    }
    IS(given, before);
    ernic_mem_end(&m);
}

/* A list that grows and shrinks keeps its content. */
TEST("/block/resize", test_resize)
{
    static const uint32_t counts[] = { 1, 3, 600, 40000, 40001, 900, 2 };
    ErnicMem m = { .bound = 1 << 20 };
    uint32_t *p = NULL, n = 0;

    for (size_t k = 0; k < G_N_ELEMENTS(counts); k++) {
        p = ernic_mem_resize(&m, ERNIC_MEM_ON_DEMAND, p, n, counts[k], sizeof(*p));
        g_assert_nonnull(p);
        for (uint32_t i = 0; i < MIN(n, counts[k]); i++) {
            IS(p[i], i);
        }
        n = counts[k];
        for (uint32_t i = 0; i < n; i++) {
            p[i] = i;
        }
        IS(m.used, n * sizeof(*p));
    }
    g_assert_null(ernic_mem_resize(&m, ERNIC_MEM_ON_DEMAND, p, n, 1 << 20, sizeof(*p)));
    IS(p[1], 1);
    ernic_mem_free(&m, ERNIC_MEM_ON_DEMAND, p, n, sizeof(*p));
    while (ernic_mem_reap(&m)) {
    }
    IS(m.used, 0);
    ernic_mem_end(&m);
}

/* Blocks outlive the end of their heap, and are freed without it. */
TEST("/block/end", test_end)
{
    ErnicMem from = { .bound = UINT64_MAX }, to = { .bound = UINT64_MAX };
    uint64_t before = mapped();
    void *p = ernic_mem_new(&from, ERNIC_MEM_MESSAGES, 1, 100);

    ernic_mem_hand_over(&from, &to, ERNIC_MEM_MESSAGES);
    ernic_mem_end(&from);
    ernic_mem_free(&to, ERNIC_MEM_MESSAGES, p, 1, 100);
    while (ernic_mem_reap(&to)) {
    }
    ernic_mem_end(&to);
    IS(mapped(), before);
}
