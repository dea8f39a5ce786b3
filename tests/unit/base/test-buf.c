/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Buffers in guest memory: every way to describe one, every wrong description, and the
 * address of each byte.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/buf.h"
#include "fake_env.h"
#include "test.h"
#include "trace-mark.h"

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
    fake_bare_init(&f->e, &f->env);
}

static void teardown(Fixture *f, gconstpointer data)
{
    IS(f->e.num_pages, 0);
    fake_bare_fini(&f->e);
}

static struct ernic_buf_desc make_desc(uint64_t addr, uint32_t npages,
                                       uint8_t shift, uint8_t levels)
{
    struct ernic_buf_desc desc = {
        .addr = cpu_to_le64(addr),
        .npages = cpu_to_le32(npages),
        .page_shift = shift,
        .levels = levels,
    };

    return desc;
}

/* Page @i of a made-up layout: scattered, aligned to the page size. */
static uint64_t page_addr(uint32_t i, uint8_t shift)
{
    return ((uint64_t)(i * 7919u % 4093u) + 1) << shift;
}

/* Lists of @npages in guest memory, of one or two levels. */
static uint64_t put_list(FakeEnv *env, uint32_t npages, uint8_t shift, uint8_t levels)
{
    uint32_t leaves = DIV_ROUND_UP(npages, 512), i;
    uint64_t list, dir;

    list = fake_alloc(env, (uint64_t)(levels == 2 ? leaves * 512 : npages) * 8, 4096);
    for (i = 0; i < npages; i++) {
        fake_put64(env, list + i * 8, page_addr(i, shift));
    }
    if (levels == 1) {
        return list;
    }
    dir = fake_alloc(env, leaves * 8, 8);
    for (i = 0; i < leaves; i++) {
        fake_put64(env, dir + i * 8, list + i * 4096);
    }
    /* Entries past the directory's end are not part of the list. */
    memset(fake_ptr(env, fake_alloc(env, 4096, 8), 4096), 0xff, 4096);
    return dir;
}

/* ---- bad descriptors ---------------------------------------------------- */

#define LIST    (FAKE_MEM_BASE + 8192)
#define BAD_DESC ERNIC_ERR_PARAM, "ernic_buf_bad_desc"

static const struct {
    const char *what;
    struct ernic_buf_desc desc;         /* host order: numbers are converted */
    uint64_t bytes;
    uint8_t status;
    const char *event;
} bad[] = {
    { "reserved byte 0", { .reserved = { 1, 0 } }, 1,
      ERNIC_ERR_RESERVED, "ernic_buf_bad_desc" },
    { "reserved byte 1", { .reserved = { 0, 1 } }, 1,
      ERNIC_ERR_RESERVED, "ernic_buf_bad_desc" },
    { "extent with pages", { .npages = 1 }, 1, BAD_DESC },
    { "extent with page size", { .page_shift = 12 }, 1, BAD_DESC },
    { "extent wraps", { .addr = UINT64_MAX }, 2, ERNIC_ERR_PARAM, "ernic_buf_wraps" },
    { "extent wraps far", { .addr = 1ull << 63 }, (1ull << 63) + 1,
      ERNIC_ERR_PARAM, "ernic_buf_wraps" },
    { "three levels", { LIST, 1, 12, 3 }, 1, BAD_DESC },
    { "255 levels", { LIST, 1, 12, 255 }, 1, BAD_DESC },
    { "no pages", { LIST, 0, 12, 1 }, 0, BAD_DESC },
    { "no pages in a tree", { LIST, 0, 12, 2 }, 0, BAD_DESC },
    { "page too small", { LIST, 1, 11, 1 }, 1, BAD_DESC },
    { "page size 0", { LIST, 1, 0, 1 }, 1, BAD_DESC },
    { "page too large", { LIST, 1, 32, 1 }, 1, BAD_DESC },
    { "page shift 255", { LIST, 1, 255, 2 }, 1, BAD_DESC },
    { "list not aligned", { LIST + 4, 1, 12, 1 }, 1, BAD_DESC },
    { "tree not aligned", { LIST + 1, 1, 12, 2 }, 1, BAD_DESC },
    { "list wraps", { UINT64_MAX - 15, 3, 12, 1 }, 1, BAD_DESC },
    { "tree wraps", { UINT64_MAX - 7, 513, 12, 2 }, 1, BAD_DESC },
    { "one byte too few", { LIST, 2, 12, 1 }, 8193,
      ERNIC_ERR_PARAM, "ernic_buf_too_small" },
    { "far too few", { LIST, 1, 31, 2 }, UINT64_MAX,
      ERNIC_ERR_PARAM, "ernic_buf_too_small" },
    { "more pages than the budget", { LIST, ERNIC_MAX_PAGES + 1, 12, 1 }, 1,
      ERNIC_ERR_NO_RESOURCE, "ernic_buf_no_pages" },
    { "2^32 - 1 pages", { LIST, UINT32_MAX, 31, 2 }, 1,
      ERNIC_ERR_NO_RESOURCE, "ernic_buf_no_pages" },
    { "list outside memory", { 4096, 1, 12, 1 }, 1,
      ERNIC_ERR_DMA, "ernic_buf_dma_failed" },
    { "tree outside memory", { 4096, 1, 12, 2 }, 1,
      ERNIC_ERR_DMA, "ernic_buf_dma_failed" },
};

FIXTURE_TEST("/buf/bad", test_bad)
{
    struct ernic_buf_desc desc;
    uint8_t status;
    ErnicBuf buf;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        desc = bad[i].desc;
        desc.addr = cpu_to_le64(desc.addr);
        desc.npages = cpu_to_le32(desc.npages);
        ernic_trace_reset();
        memset(&buf, 0xa5, sizeof(buf));
        status = ernic_buf_init(&f->e, &buf, &desc, bad[i].bytes);
        g_test_message("%s", bad[i].what);
        IS(status, bad[i].status);
        IS(ernic_trace_count(bad[i].event), 1);
        g_assert_null(buf.page);
        IS(f->e.num_pages, 0);
    }
}

/* An address in a list is aligned to the page; a leaf to 4096. */
FIXTURE_TEST("/buf/unaligned", test_unaligned)
{
    static const uint32_t where[] = { 0, 1, 511, 512, 599 };
    static const uint64_t by[] = { 1, 8, 4096 };
    struct ernic_buf_desc desc;
    uint8_t status;
    uint64_t list, at;
    ErnicBuf buf;

    for (uint8_t levels = 1; levels <= 2; levels++) {
        list = put_list(&f->env, 600, 13, levels);
        desc = make_desc(list, 600, 13, levels);
        for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
            at = levels == 1 ? list : fake_get64(&f->env, list);
            for (size_t k = 0; k < ARRAY_SIZE(by); k++) {
                fake_put64(&f->env, at + where[i] * 8, page_addr(where[i], 13) + by[k]);
                ernic_trace_reset();
                status = ernic_buf_init(&f->e, &buf, &desc, 600ull << 13);
                IS(status, ERNIC_ERR_PARAM);
                IS(ernic_trace_count("ernic_buf_page_unaligned"), 1);
                IS(f->e.num_pages, 0);
            }
            fake_put64(&f->env, at + where[i] * 8, page_addr(where[i], 13));
        }
    }
    fake_put64(&f->env, list + 8, fake_get64(&f->env, list + 8) + 2048);
    status = ernic_buf_init(&f->e, &buf, &desc, 600ull << 13);
    IS(status, ERNIC_ERR_PARAM);
}

/* ---- good ones ---------------------------------------------------------- */

FIXTURE_TEST("/buf/extent", test_extent)
{
    struct ernic_buf_desc desc = make_desc(UINT64_MAX - 4095, 0, 0, 0);
    uint64_t run;
    ErnicBuf buf;

    /* Up to the end of the address space. */
    OK(ernic_buf_init(&f->e, &buf, &desc, 4096));
    IS(ernic_buf_addr(&buf, 4095, &run), UINT64_MAX);
    g_assert_cmpuint(run, >=, 1);
    ernic_buf_fini(&f->e, &buf);
    IS(ernic_buf_init(&f->e, &buf, &desc, 4097), ERNIC_ERR_PARAM);
    OK(ernic_buf_init(&f->e, &buf, &desc, 0));
    ernic_buf_fini(&f->e, &buf);
}

static void check_map(const ErnicBuf *buf, uint32_t npages, uint8_t shift)
{
    uint64_t size = 1ull << shift, run, addr;

    for (uint32_t i = 0; i < npages; i++) {
        addr = ernic_buf_addr(buf, i * size, &run);
        IS(addr, page_addr(i, shift));
        IS(run, size);
        addr = ernic_buf_addr(buf, i * size + size - 1, &run);
        IS(addr, page_addr(i, shift) + size - 1);
        IS(run, 1);
        addr = ernic_buf_addr(buf, i * size + 100, &run);
        IS(addr, page_addr(i, shift) + 100);
        IS(run, size - 100);
    }
}

FIXTURE_TEST("/buf/lists", test_lists)
{
    static const uint32_t counts[] = { 1, 2, 511, 512, 513, 1024, 1025, 5000 };
    struct ernic_buf_desc desc;
    uint32_t n, leaves, dirs;
    uint8_t shift;
    uint64_t list;
    ErnicBuf buf;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        n = counts[i];
        for (uint8_t levels = 1; levels <= 2; levels++) {
            shift = 12 + (i * 5 + levels) % 20;
            f->env.next = FAKE_SCRATCH;
            list = put_list(&f->env, n, shift, levels);
            desc = make_desc(list, n, shift, levels);
            f->env.reads = 0;
            OK(ernic_buf_init(&f->e, &buf, &desc, (uint64_t)n << shift));
            IS(f->e.num_pages, n);
            /* Read in pieces of at most a page, each byte once. */
            leaves = DIV_ROUND_UP(n, 512);
            dirs = levels == 2 ? DIV_ROUND_UP(leaves, 512) : 0;
            IS(f->env.reads, leaves + dirs);
            /* From now on the device uses its own copy of the list. */
            memset(f->env.mem, 0xff, FAKE_MEM_SIZE);
            check_map(&buf, n, shift);
            ernic_buf_fini(&f->e, &buf);
            IS(f->e.num_pages, 0);
        }
    }
}

/* So long that reading the directory itself takes more than one piece. */
FIXTURE_TEST("/buf/large-tree", test_large_tree)
{
    enum { PAGES = 512 * 512 + 513 };
    struct ernic_buf_desc desc;
    uint64_t list = put_list(&f->env, PAGES, 12, 2), run;
    ErnicBuf buf;

    desc = make_desc(list, PAGES, 12, 2);
    for (uint32_t n = 0; n < 3; n++) {
        OK(ernic_buf_init(&f->e, &buf, &desc, (uint64_t)PAGES << 12));
        for (uint32_t i = 0; i < PAGES; i += 1 + i % 97) {
            IS(ernic_buf_addr(&buf, (uint64_t)i << 12, &run), page_addr(i, 12));
        }
        IS(ernic_buf_addr(&buf, (PAGES - 1ull) << 12, &run), page_addr(PAGES - 1, 12));
        ernic_buf_fini(&f->e, &buf);
    }
}

FIXTURE_TEST("/buf/budget", test_budget)
{
    struct ernic_buf_desc desc = make_desc(put_list(&f->env, 10, 12, 1), 10, 12, 1);
    ErnicBuf buf;

    f->e.num_pages = ERNIC_MAX_PAGES - 9;
    IS(ernic_buf_init(&f->e, &buf, &desc, 1), ERNIC_ERR_NO_RESOURCE);
    IS(ernic_buf_alloc(&f->e, &buf, 10), ERNIC_ERR_NO_RESOURCE);
    f->e.num_pages = ERNIC_MAX_PAGES - 10;
    OK(ernic_buf_init(&f->e, &buf, &desc, 1));
    IS(f->e.num_pages, ERNIC_MAX_PAGES);
    ernic_buf_fini(&f->e, &buf);
    IS(f->e.num_pages, ERNIC_MAX_PAGES - 10);
    OK(ernic_buf_alloc(&f->e, &buf, 10));
    ernic_buf_fini(&f->e, &buf);
    IS(ernic_buf_alloc(&f->e, &buf, 0), ERNIC_ERR_PARAM);
    f->e.num_pages = 0;
}

/* Each memory access fails in turn; then the device owns nothing. */
FIXTURE_TEST("/buf/failing-lists", test_failing_lists)
{
    struct ernic_buf_desc desc;
    uint8_t status;
    uint32_t nth;
    ErnicBuf buf;

    for (uint8_t levels = 1; levels <= 2; levels++) {
        desc = make_desc(put_list(&f->env, 1500, 12, levels), 1500, 12, levels);
        for (nth = 1; ; nth++) {
            fake_fail_dma(&f->env, nth, nth % 2);
            status = ernic_buf_init(&f->e, &buf, &desc, 1500 << 12);
            if (!f->env.refused) {
                break;
            }
            IS(f->env.refused, 1);
            IS(status, ERNIC_ERR_DMA);
            g_assert_null(buf.page);
            IS(f->e.num_pages, 0);
        }
        IS(nth, levels == 1 ? 4 : 5);
        OK(status);
        ernic_buf_fini(&f->e, &buf);
        fake_fail_dma(&f->env, 0, false);
    }
}

FIXTURE_TEST("/buf/fill", test_fill)
{
    static const struct {
        uint32_t npages;
        uint64_t skew;
        uint8_t shift, status;
    } row[] = {
        { 8, 0, 12, ERNIC_OK }, { 3, 0, 21, ERNIC_OK }, { 0, 0, 12, ERNIC_OK },
        { 9, 0, 12, ERNIC_ERR_PARAM }, { 8, 0, 11, ERNIC_ERR_PARAM },
        { 8, 0, 32, ERNIC_ERR_PARAM }, { 8, 4, 12, ERNIC_ERR_PARAM },
        { 8, 0, 12, ERNIC_OK }, { 8, FAKE_MEM_SIZE, 12, ERNIC_ERR_DMA },
        { 8, 0, 13, ERNIC_OK }, { 2, 0, 31, ERNIC_OK },
    };
    uint8_t status;
    uint64_t list;
    ErnicBuf buf;

    OK(ernic_buf_alloc(&f->e, &buf, 8));
    for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
        list = put_list(&f->env, 16, row[i].shift, 1);
        status = ernic_buf_fill(&f->e, &buf, list + row[i].skew,
                                row[i].npages, row[i].shift);
        IS(status, row[i].status);
        if (status == ERNIC_OK) {
            check_map(&buf, row[i].npages, row[i].shift);
        }
        /* No leftover of one page size is unaligned for the next. */
        for (size_t k = 0; k < 8; k++) {
            IS(buf.page[k] % (1ull << buf.page_shift), 0);
            if (status == ERNIC_OK && k >= row[i].npages) {
                IS(buf.page[k], 0);
            }
        }
        IS(buf.npages, 8);
    }
    ernic_buf_fini(&f->e, &buf);
}

/* ---- contents ----------------------------------------------------------- */

/* Guest memory ends; the fake environment reports an error, and so does the buffer. */
FIXTURE_TEST("/buf/edge-of-memory", test_edge_of_memory)
{
    struct ernic_buf_desc desc = make_desc(FAKE_MEM_BASE + FAKE_MEM_SIZE - 16, 0, 0, 0);
    uint8_t bytes[32] = { 0 };
    ErnicBuf buf;

    OK(ernic_buf_init(&f->e, &buf, &desc, 32));
    g_assert_true(ernic_buf_read(&f->e, &buf, 0, bytes, 16));
    g_assert_true(ernic_buf_write(&f->e, &buf, 15, bytes, 1));
    g_assert_false(ernic_buf_read(&f->e, &buf, 0, bytes, 17));
    g_assert_false(ernic_buf_write(&f->e, &buf, 16, bytes, 1));
    g_assert_true(ernic_buf_read(&f->e, &buf, 16, bytes, 0));
    ernic_buf_fini(&f->e, &buf);
}

/* ---- lists that the interface has copied ------------------------------------- */

/* @n big-endian addresses with flags. */
static uint8_t *make_pages(uint32_t n, uint8_t shift)
{
    uint8_t *list = g_malloc(n * 8);

    for (uint32_t i = 0; i < n; i++) {
        stq_be_p(list + i * 8, page_addr(i, shift) | i % 8);
    }
    return list;
}

/* Each byte of a buffer that begins inside its first page. */
FIXTURE_TEST("/buf/pages", test_pages)
{
    static const uint32_t offsets[] = { 0, 64, 4032 };
    enum { PAGES = 1500, SHIFT = 12 };
    g_autofree uint8_t *list = make_pages(PAGES, SHIFT);

    for (uint32_t i = 0; i < ARRAY_SIZE(offsets); i++) {
        uint64_t bytes = (PAGES << SHIFT) - offsets[i], run;
        ErnicBuf buf;

        IS(ernic_buf_init_pages(&f->e, &buf, list, PAGES, SHIFT, offsets[i], bytes + 1),
           ERNIC_ERR_PARAM);
        OK(ernic_buf_init_pages(&f->e, &buf, list, PAGES, SHIFT, offsets[i], bytes));
        for (uint32_t at = 0; at < bytes; at += 517) {
            uint32_t off = at + offsets[i];

            IS(ernic_buf_addr(&buf, at, &run),
               page_addr(off >> SHIFT, SHIFT) + off % 4096);
            IS(run, 4096 - off % 4096);
        }
        ernic_buf_fini(&f->e, &buf);
    }
}

/* A long list is taken in several slices of work. */
FIXTURE_TEST("/buf/pages-slices", test_pages_slices)
{
    enum { PAGES = 200000, SHIFT = 12 };
    g_autofree uint8_t *list = make_pages(PAGES, SHIFT);
    uint32_t slices = 0;
    uint8_t status;
    ErnicBuf buf;

    do {
        ernic_work_start(&f->e);
        status = ernic_buf_init_pages(&f->e, &buf, list, PAGES, SHIFT, 0, 1);
        slices++;
    } while (status == ERNIC_AGAIN);
    OK(status);
    g_assert_cmpuint(slices, >, 1);
    IS(buf.page[PAGES - 1], page_addr(PAGES - 1, SHIFT));
    ernic_buf_fini(&f->e, &buf);
}

FIXTURE_TEST("/buf/bad-pages", test_bad_pages)
{
    g_autofree uint8_t *list = make_pages(4, 13);
    ErnicBuf buf;

    IS(ernic_buf_init_pages(&f->e, &buf, list, 0, 12, 0, 0), ERNIC_ERR_PARAM);
    IS(ernic_buf_init_pages(&f->e, &buf, list, 1, 11, 0, 1), ERNIC_ERR_PARAM);
    IS(ernic_buf_init_pages(&f->e, &buf, list, 1, 32, 0, 1), ERNIC_ERR_PARAM);
    IS(ernic_buf_init_pages(&f->e, &buf, list, 1, 12, 4096, 0), ERNIC_ERR_PARAM);
    IS(ernic_buf_init_pages(&f->e, &buf, list, 4, 14, 0, 1), ERNIC_ERR_PARAM);
    IS(ernic_buf_init_pages(&f->e, &buf, list, ERNIC_MAX_PAGES + 1, 12, 0, 1),
       ERNIC_ERR_NO_RESOURCE);
}
