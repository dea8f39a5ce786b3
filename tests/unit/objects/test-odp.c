/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: software's side of a fault, the commands, and the table of pages.
 */
#include "qemu/osdep.h"
#include "objects/mr.h"
#include "odp_fixture.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN

/* After the command that removes a page, the device does not access it. */
DEMAND_TEST("/odp/removed", ERNIC_QPT_RC, test_removed)
{
    set(d, 0, 512, W);
    PEER_WRITE(d, RQ, DLG_SINK, 16);
    SENT_ACK(d, RQ, 1);
    unset(d, 0, 512);
    IS(d->e->mr[d->key >> 8].odp->num, 0);
    PEER_DATA(d, WRITE_ONLY, RQ + 1, 64, 16, .va = d->mem + DLG_SINK, .rkey = d->key,
              .dma_len = 16, .ackreq = true);
    SENT_NAK(d, RNR, RQ + 1, 1);
    dlg_mem_is(d, DLG_SINK, d->peer, 16);
    asked(d, DLG_SINK, 16, true);
}

/* Without a software handler an absent page is a bad key. */
TEST("/odp/nobody", test_nobody)
{
    FakeEq other;

    /* Removed before the fault, and after. */
    EACH_DIALOG(d, after, 0, 2, open_demand(d, ERNIC_QPT_RC)) {
        if (after) {
            dlg_post(d, ERNIC_WR_SEND, 0, 16);
            faulted(d, 0, 16, false);
        }
        /* The end of another event queue changes nothing. */
        fake_create_eq(d->e, &other, 16, 1, false);
        OK(fake_destroy(d->e, ERNIC_CMD_EQ_DESTROY, other.eqn));
        dlg_no_wc(d);
        OK(fake_destroy(d->e, ERNIC_CMD_EQ_DESTROY, d->eq.eqn));
        if (!after) {
            dlg_post(d, ERNIC_WR_SEND, 0, 16);
        }
        SEND_WC(d, 0, LOC_PROT_ERR);
    }
}

/* A response to another fault is ignored. */
DEMAND_TEST("/odp/resume", ERNIC_QPT_RC, test_resume)
{
    struct ernic_eqe eqe, other;

    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    eqe = other = faulted(d, 0, 16, false);
    other.detail ^= 1;
    fake_page_resume(d->e, &other, true);
    other = eqe;
    other.offset++;
    fake_page_resume(d->e, &other, true);
    dlg_no_wc(d);
    dlg_no_event(d);
    IS(CMD(d->e, PAGE_RESUME, cmd.page_resume.qpn = cpu_to_le32(d->qp.qpn);
           cmd.page_resume.failed = 2), ERNIC_ERR_PARAM);
    IS(CMD(d->e, PAGE_RESUME, cmd.page_resume.qpn = cpu_to_le32(d->qp.qpn + 1)),
       ERNIC_ERR_HANDLE);
    IS(CMD(d->e, PAGE_RESUME, cmd.page_resume.qpn = UINT32_MAX), ERNIC_ERR_HANDLE);
    /* Resumed without the page: another fault. */
    fake_page_resume(d->e, &eqe, false);
    asked(d, 0, 16, false);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    ACKED(d, SQ, 0, 1);
    /* The same when no fault is outstanding. */
    fake_page_resume(d->e, &eqe, true);
}

/* The wait is part of the saved state. */
DEMAND_TEST("/odp/saved", ERNIC_QPT_RC, test_saved)
{
    struct ernic_eqe eqe;

    set(d, 5, 3, R);
    dlg_post(d, ERNIC_WR_SEND, 4 * PAGE, 2 * PAGE);
    eqe = faulted(d, 4 * PAGE, 2 * PAGE, false);
    RELOAD(d->e, d->env.now);
    fake_run(d->e);
    QUIET(d);
    set(d, 4, 1, R);
    fake_page_resume(d->e, &eqe, false);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 4 * PAGE, 2 * PAGE);
    ACKED(d, SQ + 7, 0, 1);
}

/* A window over such a region covers its pages; faults name the region. */
DEMAND_TEST("/odp/window", ERNIC_QPT_RC, test_window)
{
    uint32_t mw = fake_alloc_mw(d->e, d->pd, 1), rkey;
    struct ernic_wqe wqe = dlg_bind(d, mw, 0, DLG_SINK + 100, 1000,
                                    ERNIC_ACCESS_REMOTE_WRITE);

    dlg_post_wqe(d, &wqe, 0, 0);
    SEND_WC(d, 0, SUCCESS);
    rkey = (mw & ~0xffu) | d->e->mr[mw >> 8].variant;
    for (int i = 0; i < 2; i++) {
        PEER_DATA(d, WRITE_ONLY, RQ, 0, 16, .va = d->mem + DLG_SINK + 100, .rkey = rkey,
                  .dma_len = 16, .ackreq = true);
        if (i == 0) {
            missed(d, RQ, 0, DLG_SINK + 100, 16, true);
        }
    }
    SENT_ACK(d, RQ, 1);
    dlg_mem_is(d, DLG_SINK + 100, d->peer, 16);
}

#define PAGES (DLG_MEM / PAGE)

/* The answer of MR_PAGES for pages of the region of @key, with a list at @list. */
static uint8_t pages(Dialog *d, uint32_t key, uint64_t first, uint64_t n, uint64_t list)
{
    return CMD(d->e, MR_PAGES, cmd.mr_pages.key = cpu_to_le32(key);
               cmd.mr_pages.first = cpu_to_le64(first);
               cmd.mr_pages.npages = cpu_to_le64(n);
               cmd.mr_pages.list = cpu_to_le64(list));
}

/* It is refused with @status, and reports @event. */
static void bad_pages(Dialog *d, uint64_t first, uint64_t n, uint64_t list,
                      uint8_t status, const char *event)
{
    ernic_trace_reset();
    IS(pages(d, d->key, first, n, list), status);
    IS(ernic_trace_count(event), 1);
    IS(d->e->mr[d->key >> 8].odp->num, 0);
}

DEMAND_TEST("/odp/bad/pages", ERNIC_QPT_RC, test_bad_pages)
{
    const uint64_t entries[] = {
        d->mem,                                 /* no right */
        d->mem | ERNIC_PAGE_WRITE, d->mem | W | 4, (d->mem + 8) | W, 1 << 11,
    }, ranges[][2] = {
        { PAGES, 1 }, { 0, 0 }, { 0, PAGES + 1 }, { 1, PAGES }, { 1, UINT64_MAX },
        { UINT64_MAX, 1 }, { UINT64_MAX, UINT64_MAX },
    };
    uint64_t list = fake_alloc(&d->env, 16, 8);
    uint32_t other;

    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        bad_pages(d, ranges[i][0], ranges[i][1], 0, ERNIC_ERR_PARAM,
                  "ernic_odp_bad_range");
    }
    bad_pages(d, 0, 1, list + 4, ERNIC_ERR_PARAM, "ernic_odp_bad_range");
    bad_pages(d, 0, 1, list + FAKE_MEM_SIZE, ERNIC_ERR_DMA, "ernic_buf_dma_failed");
    for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
        fake_put64(&d->env, list, d->mem | W);
        fake_put64(&d->env, list + 8, entries[i]);
        bad_pages(d, 0, 1, list + 8, ERNIC_ERR_PARAM, "ernic_odp_bad_entry");
        bad_pages(d, 0, 2, list, ERNIC_ERR_PARAM, "ernic_odp_bad_entry");
    }
    /* A list holds a page of entries at most; without a list there is no bound. */
    other = fake_reg_demand(d->e, d->pd, 0, 1ull << 40, ALL);
    IS(pages(d, other, 0, ERNIC_PAGES_MAX + 1, list), ERNIC_ERR_PARAM);
    OK(pages(d, other, 0, ERNIC_PAGES_MAX + 1, 0));
    /* Keys: stale, of another kind, of another context. */
    IS(pages(d, other ^ 0x80, 0, 1, 0), ERNIC_ERR_HANDLE);
    IS(pages(d, fake_reg_mr(d->e, d->pd, d->mem, PAGE, ALL), 0, 1, 0), ERNIC_ERR_HANDLE);
    d->env.uctx = fake_create_uctx(d->e);
    IS(pages(d, other, 0, 1, 0), ERNIC_ERR_PERM);
    d->env.uctx = 0;
}

/* A region on demand has a size of pages, and no buffer. */
DEMAND_TEST("/odp/bad/region", ERNIC_QPT_RC, test_bad_region)
{
    const struct ernic_cmd_mr_reg right = {
        .pd = cpu_to_le32(d->pd), .length = cpu_to_le64(PAGE), .buf.page_shift = 12,
        .access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND),
    };
    struct ernic_cmd_mr_reg re = {
        .key = cpu_to_le32(d->key), .flags = cpu_to_le32(ERNIC_REREG_ACCESS),
    };

#define BAD(CHANGE)                                                         \
    do {                                                                    \
        struct ernic_cmd_mr_reg c = right;                                  \
                                                                            \
        c.CHANGE;                                                           \
        IS(CMD(d->e, MR_REG, cmd.mr_reg = c), ERNIC_ERR_PARAM);                \
    } while (0)
    BAD(buf.addr = cpu_to_le64(d->mem));
    BAD(buf.npages = cpu_to_le32(1));
    BAD(buf.levels = 1);
    BAD(buf.reserved[1] = 1);
    BAD(buf.page_shift = 11);
    BAD(buf.page_shift = 32);
    BAD(buf.page_shift = 255);
    BAD(offset = cpu_to_le32(PAGE));
    BAD(length = cpu_to_le64((1ull << 57) + 1));
    BAD(iova = cpu_to_le64(UINT64_MAX));
#undef BAD
    OK(CMD(d->e, MR_REG, cmd.mr_reg = right));
    /* It does not become another kind, nor the reverse. */
    IS(CMD(d->e, MR_REREG, cmd.mr_reg = re), ERNIC_ERR_STATE);
    re.access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND);
    OK(CMD(d->e, MR_REREG, cmd.mr_reg = re));
    re.key = cpu_to_le32(fake_reg_mr(d->e, d->pd, d->mem, PAGE, ALL));
    IS(CMD(d->e, MR_REREG, cmd.mr_reg = re), ERNIC_ERR_STATE);
}

#define MODEL_PAGES 4096

/* Random updates, compared with an array; starting high in an address space. */
DEMAND_TEST("/odp/table", ERNIC_QPT_RC, test_table)
{
    static uint64_t model[MODEL_PAGES];
    const uint64_t base = 0x7f0000000;
    g_autoptr(GRand) rand = g_rand_new_with_seed(6);
    uint32_t first, n, flags, pages = d->e->num_pages;
    uint64_t addr, run;
    const ErnicOdp *odp;
    bool there;

    d->key = fake_reg_demand(d->e, d->pd, 0, 1ull << 47, ALL);
    odp = d->e->mr[d->key >> 8].odp;
    for (uint32_t step = 0; step < 300; step++) {
        first = g_rand_int_range(rand, 0, MODEL_PAGES);
        n = g_rand_int_range(rand, 1, MIN(MODEL_PAGES - first, 512) + 1);
        flags = (const uint32_t[]) { 0, R, W }[g_rand_int_range(rand, 0, 3)];
        addr = flags ? (uint64_t)g_rand_int(rand) << 12 | 1ull << 44 : 0;
        d->env.next = FAKE_MEM_SIZE / 2;         /* lists are not kept */
        OK(fake_set_pages(d->e, d->key, base + first, n, addr, flags));
        for (uint32_t p = first; p < first + n; p++) {
            model[p] = addr ? (addr + (p - first) * PAGE) | flags : 0;
        }
        for (uint32_t p = 0; p < MODEL_PAGES; p++) {
            there = ernic_odp_find(odp, (base + p) * PAGE + 5, false, &addr, &run);
            IS(there, model[p] != 0);
            IS(run, PAGE - 5);
            if (there) {
                IS(addr, (model[p] & ~0xfffull) + 5);
            }
            IS(ernic_odp_find(odp, (base + p) * PAGE, true, &addr, &run),
               (model[p] & ERNIC_PAGE_WRITE) != 0);
        }
        IS(d->e->num_pages, pages + odp->num * 512);
        g_assert_true(ernic_check(d->e, NULL));
    }
    OK(fake_destroy(d->e, ERNIC_CMD_MR_FREE, d->key));
    IS(d->e->num_pages, pages);
}

/* The host memory that a guest can use is bounded; an update past it changes nothing. */
DEMAND_TEST("/odp/bound", ERNIC_QPT_RC, test_bound)
{
    uint32_t taken = d->e->num_pages;

    set(d, 0, 1, W);
    d->e->num_pages = ERNIC_MAX_PAGES - 511;
    OK(fake_set_pages(d->e, d->key, 511, 1, d->mem, W));
    d->key = fake_reg_demand(d->e, d->pd, 0, 1 << 20, ALL);
    IS(fake_set_pages(d->e, d->key, 0, 1, d->mem, W), ERNIC_ERR_NO_RESOURCE);
    d->e->num_pages = taken + 512;
}

/* A list that needs two chunks, with room for one, adds neither. */
DEMAND_TEST("/odp/bound/half", ERNIC_QPT_RC, test_bound_half)
{
    const uint32_t room = ERNIC_MAX_PAGES - ERNIC_ODP_CHUNK;
    const ErnicOdp *odp;
    uint64_t addr, run;
    uint32_t taken;

    d->key = fake_reg_demand(d->e, d->pd, 0, 8 << 20, ALL);
    odp = d->e->mr[d->key >> 8].odp;
    set(d, 1, 1, W);
    taken = d->e->num_pages;
    d->e->num_pages = room;
    IS(fake_set_pages(d->e, d->key, 1020, 8, d->mem, W), ERNIC_ERR_NO_RESOURCE);
    IS(odp->num, 1);
    IS(d->e->num_pages, room);
    /* The chunk that existed has not changed. */
    d->e->num_pages = ERNIC_MAX_PAGES;
    IS(fake_set_pages(d->e, d->key, 508, 8, d->mem, W), ERNIC_ERR_NO_RESOURCE);
    g_assert_true(ernic_odp_find(odp, PAGE, true, &addr, &run));
    g_assert_false(ernic_odp_find(odp, 508 * PAGE, false, &addr, &run));
    d->e->num_pages = taken;
    g_assert_true(ernic_check(d->e, NULL));
}
