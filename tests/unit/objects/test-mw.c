/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys by work request: fast registration, binding of windows, invalidation. A refused
 * request must leave every key unchanged.
 */
#include "qemu/osdep.h"
#include "mr_fixture.h"

static ErnicMr *of(Fixture *f, uint32_t key)
{
    return &f->e.mr[key >> 8];
}

/* The current key of the object. */
static uint32_t now(Fixture *f, uint32_t key)
{
    return (key & ~0xffu) | of(f, key)->variant;
}

/* The device refuses the registration @wr of @key, and reports @event. */
static void bad_fast_reg(Fixture *f, uint32_t key, const struct ernic_wqe_reg_mr *wr,
                         ErnicFault fault, const char *event)
{
    ErnicMr before = *of(f, key);

    ernic_trace_reset();
    IS(ernic_mr_fast_reg(&f->e, f->pd, wr), fault);
    IS(ernic_trace_lines(), 1);
    IS(ernic_trace_count(event), 1);
    IS(of(f, key)->valid, before.valid);
    IS(of(f, key)->variant, before.variant);
    IS(of(f, key)->buf.npages, before.buf.npages);
    g_assert_true(before.valid || !may(f, (key & ~0xffu) | 0x42, wr->iova, 1, 0));
    of(f, key)->pd = f->pd;
}

FIXTURE_TEST("/mw/bad-fast-reg", test_bad_fast_reg)
{
    struct ernic_wqe_reg_mr wr;
    uint32_t key;

#define BAD_OF(FAULT, EVENT, CHANGE)                                        \
    do {                                                                    \
        key = alloc_fast(f);                                                \
        wr = fast_wr(f, key);                                               \
        CHANGE;                                                             \
        bad_fast_reg(f, key, &wr, ERNIC_FAULT_##FAULT, EVENT);              \
    } while (0)
#define BAD(EVENT, CHANGE) BAD_OF(REG_MR, EVENT, CHANGE)
    BAD("ernic_fast_reg_bad_key", wr.key = 0x42);
    BAD("ernic_fast_reg_bad_key", wr.key = 200 << 8);
    BAD("ernic_fast_reg_bad_key", wr.key = UINT32_MAX);
    BAD("ernic_fast_reg_bad_key", wr.key = reg(f, ALL));
    BAD("ernic_fast_reg_bad_key", wr.key = alloc_mw(f, 2));
    BAD("ernic_fast_reg_bad_key", of(f, wr.key)->pd = f->other_pd);
    BAD("ernic_fast_reg_bad_key", of(f, wr.key)->valid = true);
    BAD("ernic_mr_bad_access", wr.access = 0x40);
    BAD("ernic_mr_bad_access", wr.access = RW | RR);
    BAD("ernic_mr_bad_range", wr.access = ALL | ZB);
    BAD("ernic_mr_bad_range", wr.length = ERNIC_MAX_MR_SIZE + 1);
    BAD("ernic_mr_bad_range", wr.iova = UINT64_MAX - 0xff);
    BAD("ernic_fast_reg_bad_list", wr.npages = 5);
    BAD("ernic_fast_reg_bad_list", wr.npages = UINT32_MAX);
    BAD("ernic_fast_reg_bad_list", wr.length++);
    BAD("ernic_fast_reg_bad_list", wr.npages = 0);
    BAD("ernic_buf_bad_desc", wr.page_shift = 11; wr.length = 1);
    BAD("ernic_fast_reg_bad_list", wr.page_shift = 32);
    BAD("ernic_fast_reg_bad_list", wr.page_shift = 255);
    BAD("ernic_buf_bad_desc", wr.list_addr += 4);
    BAD("ernic_buf_bad_desc", wr.list_addr = UINT64_MAX - 7);
    BAD("ernic_buf_page_unaligned", fake_put64(&f->env, wr.list_addr + 16, 0x1800));
    BAD_OF(SEND_DMA, "ernic_buf_dma_failed", wr.list_addr = 4096);
#undef BAD
#undef BAD_OF
}

FIXTURE_TEST("/mw/fast-reg", test_fast_reg)
{
    uint32_t key = alloc_fast(f);
    struct ernic_wqe_reg_mr wr = fast_wr(f, key);

    f->env.reads = 0;
    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_NONE);
    IS(f->env.reads, 1);
    IS(now(f, key), wr.key);
    /* The device uses its own copy of the list now. */
    memset(f->env.mem, 0xff, FAKE_MEM_SIZE);
    IS(place(f, f->pd, wr.key, wr.iova, wr.length, RW | RR | RA), 0x3010);
    g_assert_false(may(f, wr.key, wr.iova - 1, 1, RR));
    g_assert_false(may(f, wr.key, wr.iova, wr.length + 1, RR));
    g_assert_true(key == wr.key || !may(f, key, wr.iova, 1, RR));

    /* Again only after it was invalidated, with another key and size. */
    wr = fast_wr(f, key);
    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_REG_MR);
    g_assert_true(ernic_mr_invalidate(&f->e, f->pd, QPN, wr.key, false));
    g_assert_false(may(f, wr.key, wr.iova, 1, RR));
    wr.key++;
    wr.list_addr = put_pages(f, 4, 31);
    wr.npages = 4;
    wr.page_shift = 31;
    wr.iova = 0;
    wr.length = 4ull << 31;
    wr.access = RR | ZB;
    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_NONE);
    g_assert_true(may(f, wr.key, 0, 4ull << 31, RR));
    g_assert_false(may(f, wr.key, 0, 1, RW));
    g_assert_false(may(f, wr.key - 1, 0, 1, RR));
}

/* Each access to the list fails in turn; a later try may succeed. */
FIXTURE_TEST("/mw/failing-fast-reg", test_failing_fast_reg)
{
    struct ernic_wqe_reg_mr wr;
    ErnicFault fault;
    uint32_t key = 0, nth;

    OK(ernic_mr_alloc(&f->e, 0, f->pd, ERNIC_MAX_FRWR_PAGES, &key));
    wr = fast_wr(f, key);
    wr.list_addr = put_pages(f, ERNIC_MAX_FRWR_PAGES, 12);
    wr.npages = ERNIC_MAX_FRWR_PAGES;
    wr.length = ((uint64_t)ERNIC_MAX_FRWR_PAGES << 12) - 0x10;
    for (nth = 1; ; nth++) {
        fake_fail_dma(&f->env, nth, false);
        fault = ernic_mr_fast_reg(&f->e, f->pd, &wr);
        if (!f->env.refused) {
            break;
        }
        IS(fault, ERNIC_FAULT_SEND_DMA);
        g_assert_false(may(f, wr.key, wr.iova, 1, RR));
    }
    IS(nth, 1 + ERNIC_MAX_FRWR_PAGES / 512);
    IS(fault, ERNIC_FAULT_NONE);
    g_assert_true(may(f, wr.key, wr.iova, wr.length, RR));
}

/* The device refuses the bind @wr of @window to @region, and reports @event. */
static void bad_bind(Fixture *f, uint32_t region, uint32_t window,
                     const struct ernic_wqe_bind_mw *wr, const char *event)
{
    ErnicMr mr = *of(f, region), mw = *of(f, window);

    ernic_trace_reset();
    IS(ernic_mw_bind(&f->e, f->pd, QPN, wr), ERNIC_FAULT_MW_BIND);
    IS(ernic_trace_lines(), 1);
    IS(ernic_trace_count(event), 1);
    g_assert_cmpmem(of(f, region), sizeof(mr), &mr, sizeof(mr));
    g_assert_cmpmem(of(f, window), sizeof(mw), &mw, sizeof(mw));
    IS(f->e.num_bound, 0);
    of(f, region)->pd = of(f, window)->pd = f->pd;
}

FIXTURE_TEST("/mw/bad-bind", test_bad_bind)
{
    struct ernic_wqe_bind_mw wr;
    uint32_t region, window;

#define BAD_OF(TYPE, EVENT, CHANGE)                                         \
    do {                                                                    \
        region = reg(f, ALL);                                               \
        window = alloc_mw(f, TYPE);                                         \
        wr = bind_wr(window, region, RW | RR);                              \
        CHANGE;                                                             \
        bad_bind(f, region, window, &wr, "ernic_bind_" EVENT);              \
    } while (0)
#define BAD(EVENT, CHANGE) BAD_OF(type, EVENT, CHANGE)
    for (uint8_t type = 1; type <= 2; type++) {
        BAD("bad_window", wr.rkey = 200 << 8);
        BAD("bad_window", wr.rkey = UINT32_MAX);
        BAD("bad_window", wr.rkey = reg(f, ALL));
        BAD("wrong_pd", of(f, window)->pd = f->other_pd);
        BAD("bad_access", wr.access |= LW);
        BAD("bad_access", wr.access |= MB);
        BAD("bad_access", wr.access |= 0x80000000);
        BAD("bad_region", wr.lkey ^= 1);
        BAD("bad_region", wr.lkey = 0);
        BAD("bad_region", wr.lkey = alloc_mw(f, 1));
        BAD("wrong_pd", of(f, region)->pd = f->other_pd);
        BAD("bad_region", wr.lkey = alloc_fast(f));
        BAD("no_right", of(f, region)->access &= ~MB);
        BAD("no_right", of(f, region)->access &= ~LW);
        BAD("no_right", wr.lkey = reg(f, ALL | ZB); wr.addr = 0);
        BAD("out_of_range", wr.addr = IOVA - 1);
        BAD("out_of_range", wr.addr = IOVA + LEN - wr.length + 1);
        BAD("out_of_range", wr.addr = IOVA + LEN; wr.length = 1);
        BAD("out_of_range", wr.length = -wr.addr + 1);
        BAD("out_of_range", wr.length = UINT64_MAX);
    }
    BAD_OF(1, "bad_access", wr.access |= ZB);
    BAD_OF(2, "bad_window", wr.length = 0);
#undef BAD
#undef BAD_OF
}

/* The rights of every region against those of every window. */
FIXTURE_TEST("/mw/bind-rights", test_bind_rights)
{
    uint32_t region, window;
    struct ernic_wqe_bind_mw wr;
    bool ok;

    for (uint32_t held = 0; held <= ALL; held++) {
        if ((held & (RW | RA)) && !(held & LW)) {
            continue;
        }
        region = reg(f, held);
        for (uint32_t wanted = 0; wanted < 128; wanted++) {
            for (uint32_t type = 1; type <= 2; type++) {
                window = alloc_mw(f, type);
                wr = bind_wr(window, region, wanted);
                ok = (held & MB) &&
                     !(wanted & ~(RW | RR | RA | (type == 2 ? ZB : 0))) &&
                     (!(wanted & (RW | RA)) || (held & LW));
                IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr),
                   ok ? ERNIC_FAULT_NONE : ERNIC_FAULT_MW_BIND);
                IS(of(f, region)->refs, ok);
                OK(ernic_mr_free(&f->e, 0, window, true));
                IS(of(f, region)->refs, 0);
            }
        }
        OK(ernic_mr_free(&f->e, 0, region, false));
    }
}

/* A window grants its own bytes with its own rights, not the region's. */
FIXTURE_TEST("/mw/window-opens", test_window_opens)
{
    uint32_t region = reg(f, LW | MB), type, key;
    struct ernic_wqe_bind_mw wr;
    const ErnicMr *mr;
    uint64_t off;

    for (type = 1; type <= 2; type++) {
        wr = bind_wr(alloc_mw(f, type), region, RW);
        IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
        key = now(f, wr.rkey);
        IS(key, type == 2 ? wr.new_rkey : (wr.rkey & ~0xffu) | ((wr.rkey + 1) & 0xff));
        g_assert_true(ernic_mr_check_remote(&f->e, f->pd, QPN, key, wr.addr + 8,
                                            16, RW, &mr, &off));
        g_assert_true(mr == of(f, region));
        IS(off, 0x808);
        g_assert_true(may(f, key, wr.addr, wr.length, RW));
        g_assert_false(may(f, key, wr.addr - 1, 1, RW));
        g_assert_false(may(f, key, wr.addr, wr.length + 1, RW));
        g_assert_false(may(f, key, wr.addr, 1, RR));
        g_assert_false(may(f, wr.rkey, wr.addr, 1, RW));
        g_assert_false(may(f, region, wr.addr, 1, RW));
        /* Type 1 works with any queue pair of the PD, type 2 with one. */
        IS(ernic_mr_check_remote(&f->e, f->pd, QPN + 1, key, wr.addr, 1, RW, &mr, &off),
           type == 1);
        IS(f->e.num_bound, type - 1);
    }
}

FIXTURE_TEST("/mw/zero-based-window", test_zero_based_window)
{
    uint32_t region = reg(f, ALL);
    struct ernic_wqe_bind_mw wr = bind_wr(alloc_mw(f, 2), region, RR | ZB);

    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    IS(place(f, f->pd, wr.new_rkey, 4, 8, RR), FAKE_MEM_BASE + 0x10804);
    g_assert_true(may(f, wr.new_rkey, 0, wr.length, RR));
    g_assert_false(may(f, wr.new_rkey, 0, wr.length + 1, RR));
    g_assert_false(may(f, wr.new_rkey, wr.addr, 1, RR));
}

FIXTURE_TEST("/mw/rebind-type-2", test_rebind_type_2)
{
    uint32_t region = reg(f, ALL), window = alloc_mw(f, 2);
    struct ernic_wqe_bind_mw wr = bind_wr(window, region, RR);

    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    IS(f->e.num_bound, 1);
    wr = bind_wr(wr.new_rkey, region, RR);
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_MW_BIND);
    wr.length = 0;
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_MW_BIND);
    g_assert_true(may(f, wr.rkey, wr.addr, 1, RR));
    g_assert_true(ernic_mr_invalidate(&f->e, f->pd, QPN, wr.rkey, false));
    IS(f->e.num_bound, 0);
    IS(of(f, region)->refs, 0);
    g_assert_false(may(f, wr.rkey, wr.addr, 1, RR));
    wr = bind_wr(wr.rkey, region, RR);
    wr.new_rkey = wr.rkey;              /* the consumer's choice */
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    g_assert_true(may(f, wr.rkey, wr.addr, 1, RR));
}

/* Objects to invalidate. */
enum { REGION, FAST_FREE, FAST, FAST_LOCAL, WINDOW_1, WINDOW_2_FREE, WINDOW_2 };

static const struct {
    uint8_t object;
    bool wrong_pd, wrong_qp, wrong_key;
    bool local, remote;                 /* allowed */
} inval[] = {
    { REGION, 0, 0, 0, 0, 0 }, { WINDOW_1, 0, 0, 0, 0, 0 },
    { FAST, 0, 0, 0, 1, 1 }, { FAST, 0, 1, 0, 1, 1 },
    { FAST, 1, 0, 0, 0, 0 }, { FAST, 0, 0, 1, 0, 0 },
    { FAST_LOCAL, 0, 0, 0, 1, 0 },
    { FAST_FREE, 0, 0, 0, 1, 0 }, { FAST_FREE, 1, 0, 0, 0, 0 },
    { WINDOW_2, 0, 0, 0, 1, 1 }, { WINDOW_2, 0, 1, 0, 0, 0 },
    { WINDOW_2, 1, 0, 0, 0, 0 }, { WINDOW_2, 1, 1, 1, 0, 0 },
    { WINDOW_2, 0, 0, 1, 0, 0 },
    { WINDOW_2_FREE, 0, 1, 0, 0, 0 }, { WINDOW_2_FREE, 0, 0, 0, 0, 0 },
};

static uint32_t make(Fixture *f, uint8_t object, uint32_t region)
{
    struct ernic_wqe_bind_mw bind;
    struct ernic_wqe_reg_mr wr;

    switch (object) {
    case REGION:
        return reg(f, ALL);
    case FAST_FREE:
        return alloc_fast(f);
    case FAST:
    case FAST_LOCAL:
        wr = fast_wr(f, alloc_fast(f));
        wr.access = object == FAST ? LW | RR : LW | MB;
        IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_NONE);
        return wr.key;
    case WINDOW_2_FREE:
        return alloc_mw(f, 2);
    default:
        bind = bind_wr(alloc_mw(f, object == WINDOW_1 ? 1 : 2), region, RR);
        IS(ernic_mw_bind(&f->e, f->pd, QPN, &bind), ERNIC_FAULT_NONE);
        return now(f, bind.rkey);
    }
}

FIXTURE_TEST("/mw/invalidate", test_invalidate)
{
    uint32_t region = reg(f, ALL), key;
    bool ok, was;

    for (size_t i = 0; i < ARRAY_SIZE(inval); i++) {
        for (uint32_t remote = 0; remote < 2; remote++) {
            key = make(f, inval[i].object, region);
            was = of(f, key)->valid;
            ernic_trace_reset();
            ok = ernic_mr_invalidate(&f->e, inval[i].wrong_pd ? f->other_pd : f->pd,
                                     inval[i].wrong_qp ? QPN + 1 : QPN,
                                     inval[i].wrong_key ? key ^ 1 : key, remote);
            g_test_message("row %zu remote %u", i, remote);
            IS(ok, remote ? inval[i].remote : inval[i].local);
            IS(of(f, key)->valid, was && !ok);
            IS(ernic_trace_count("ernic_invalidate"), ok);
            IS(ernic_trace_count("ernic_invalidate_bad_key") +
               ernic_trace_count("ernic_invalidate_wrong_qp") +
               ernic_trace_count("ernic_invalidate_not_remote"), !ok);
            if (!was || ok) {
                g_assert_false(may(f, key, IOVA + 0x800, 1, 0));
            } else {
                g_assert_true(may(f, key, IOVA + 0x800, 1, 0));
            }
        }
    }
    g_assert_false(ernic_mr_invalidate(&f->e, f->pd, QPN, 0, false));
    g_assert_false(ernic_mr_invalidate(&f->e, f->pd, QPN, UINT32_MAX, true));
}

/* A region beneath a window stays until the window has gone. */
FIXTURE_TEST("/mw/invalidate-bound", test_invalidate_bound)
{
    struct ernic_wqe_reg_mr wr = fast_wr(f, alloc_fast(f));
    uint32_t window = alloc_mw(f, 2);
    struct ernic_wqe_bind_mw bind;

    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_NONE);
    bind = bind_wr(window, wr.key, RR);
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &bind), ERNIC_FAULT_NONE);
    ernic_trace_reset();
    g_assert_false(ernic_mr_invalidate(&f->e, f->pd, QPN, wr.key, false));
    g_assert_false(ernic_mr_invalidate(&f->e, f->pd, QPN, wr.key, true));
    IS(ernic_trace_count("ernic_mr_has_windows"), 2);
    g_assert_true(may(f, bind.new_rkey, bind.addr, 1, RR));
    g_assert_true(ernic_mr_invalidate(&f->e, f->pd, QPN, bind.new_rkey, true));
    g_assert_true(ernic_mr_invalidate(&f->e, f->pd, QPN, wr.key, true));
    g_assert_false(may(f, wr.key, wr.iova, 1, RR));
}

/* The queue pair is destroyed: its windows become invalid, the others do not. */
FIXTURE_TEST("/mw/forget-qp", test_forget_qp)
{
    uint32_t region = reg(f, ALL), key[6];
    struct ernic_wqe_bind_mw wr;

    for (uint32_t i = 0; i < 6; i++) {
        wr = bind_wr(alloc_mw(f, 1 + i % 2), region, RR);
        IS(ernic_mw_bind(&f->e, f->pd, QPN + i / 2, &wr), ERNIC_FAULT_NONE);
        key[i] = now(f, wr.rkey);
    }
    IS(f->e.num_bound, 3);
    ernic_mw_forget_qp(&f->e, QPN + 1);
    IS(f->e.num_bound, 2);
    IS(of(f, region)->refs, 5);
    for (uint32_t i = 0; i < 6; i++) {
        IS(of(f, key[i])->valid, i != 3);
    }
    ernic_mw_forget_qp(&f->e, QPN + 1);
    ernic_mw_forget_qp(&f->e, 0);
    IS(f->e.num_bound, 2);
    ernic_mw_forget_qp(&f->e, QPN);
    ernic_mw_forget_qp(&f->e, QPN + 2);
    IS(f->e.num_bound, 0);
    IS(of(f, region)->refs, 3);
}
