/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys: every combination of defects of an access, every refusal of a command, and the
 * state that each leaves unchanged.
 */
#include "qemu/osdep.h"
#include "cpu_time.h"
#include "mr_fixture.h"

/* Defects of an access; each has an event of its own. */
enum {
    BAD_NUMBER, BAD_VARIANT, NOT_VALID, WRONG_PD, NO_RIGHT, BELOW, ABOVE,
    WRONG_QP, LOCAL_WINDOW, DEFECTS
};

/* The order is that of the checks. */
static const struct {
    int defect;
    const char *event;
} reported[] = {
    { LOCAL_WINDOW, "ernic_key_local_window" },
    { NOT_VALID, "ernic_key_invalid" },
    { WRONG_PD, "ernic_key_wrong_pd" },
    { NO_RIGHT, "ernic_key_no_right" },
    { BELOW, "ernic_key_out_of_range" },
    { ABOVE, "ernic_key_out_of_range" },
    { WRONG_QP, "ernic_key_wrong_qp" },
};

typedef struct Access {
    bool local;
    uint32_t key, wanted;
    uint64_t iova, length;
} Access;

static const char *event_of(uint32_t defects)
{
    if (defects & (1 << BAD_NUMBER | 1 << BAD_VARIANT)) {
        return "ernic_key_invalid";
    }
    for (size_t i = 0; i < ARRAY_SIZE(reported); i++) {
        if (defects & 1 << reported[i].defect) {
            return reported[i].event;
        }
    }
    return NULL;
}

/* One access with exactly these defects. */
static void try_access(Fixture *f, const Access *a, uint32_t defects)
{
    ErnicMr *opens = &f->e.mr[a->key >> 8];
    uint32_t pd = defects & 1 << WRONG_PD ? f->other_pd : f->pd;
    uint32_t qpn = defects & 1 << WRONG_QP ? QPN + 1 : QPN;
    uint32_t held = opens->access, key = a->key;
    uint64_t addr = a->iova, len = a->length, off;
    const ErnicMr *mr;
    bool ok;

    if (defects & 1 << BAD_NUMBER) {
        key = (key & 0xff) | (f->e.mr_ids.size - 1) << 8;
    }
    key ^= defects & 1 << BAD_VARIANT ? 0x80 : 0;
    if (defects & 1 << BELOW) {
        addr--;
        len = defects & 1 << ABOVE ? len + 2 : len;
    } else if (defects & 1 << ABOVE) {
        len++;
    }
    opens->valid = !(defects & 1 << NOT_VALID);
    opens->access = defects & 1 << NO_RIGHT ? held & ~a->wanted : held;
    ernic_trace_reset();
    ok = a->local ? ernic_mr_check_local(&f->e, pd, key, addr, len, a->wanted,
                                         &mr, &off)
                  : ernic_mr_check_remote(&f->e, pd, qpn, key, addr, len,
                                          a->wanted, &mr, &off);
    opens->valid = true;
    opens->access = held;
    IS(ok, !defects);
    if (defects) {
        IS(ernic_trace_lines(), 1);
        IS(ernic_trace_count(event_of(defects)), 1);
        g_assert_null(mr);
    } else {
        IS(ernic_trace_lines(), 0);
        g_assert_nonnull(mr);
        g_assert_true(mr->kind == ERNIC_MR_REGION || mr->kind == ERNIC_MR_FAST);
    }
}

/* Every subset of the defects possible for kind and direction. */
static void walk_defects(Fixture *f, const Access *a)
{
    uint8_t kind = f->e.mr[a->key >> 8].kind;
    bool window = kind == ERNIC_MR_WINDOW_1 || kind == ERNIC_MR_WINDOW_2;
    uint32_t can = (1 << DEFECTS) - 1, set;

    if (!a->wanted) {
        can &= ~(1 << NO_RIGHT);
    }
    if (kind != ERNIC_MR_WINDOW_2 || a->local) {
        can &= ~(1 << WRONG_QP);
    }
    can &= ~(1 << LOCAL_WINDOW);
    for (set = 0; set < 1 << DEFECTS; set++) {
        if (!(set & ~can)) {
            try_access(f, a, set | (window && a->local) << LOCAL_WINDOW);
        }
    }
}

FIXTURE_TEST("/mr/access-defects", test_access_defects)
{
    static const uint32_t remote[] = { RR, RW, RA };
    uint32_t region = reg(f, ALL), fast = alloc_fast(f), keys[4];
    struct ernic_wqe_reg_mr wr = fast_wr(f, fast);
    struct ernic_wqe_bind_mw bind;
    Access a;

    /* A list of pieces has no pages. */
    f->e.mr[fast >> 8].buf.pieces = true;
    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_REG_MR);
    f->e.mr[fast >> 8].buf.pieces = false;
    IS(ernic_mr_fast_reg(&f->e, f->pd, &wr), ERNIC_FAULT_NONE);
    keys[0] = region;
    keys[1] = wr.key;
    for (size_t i = 0; i < 2; i++) {
        bind = bind_wr(alloc_mw(f, i + 1), region, RR | RW | RA);
        IS(ernic_mw_bind(&f->e, f->pd, QPN, &bind), ERNIC_FAULT_NONE);
        keys[2 + i] = bind.rkey >> 8 << 8 | f->e.mr[bind.rkey >> 8].variant;
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        a = (Access) {
            .key = keys[i], .iova = f->e.mr[keys[i] >> 8].iova,
            .length = f->e.mr[keys[i] >> 8].length,
        };
        for (size_t k = 0; k < ARRAY_SIZE(remote); k++) {
            a.wanted = remote[k];
            walk_defects(f, &a);
        }
        a.local = true;
        a.wanted = 0;
        walk_defects(f, &a);
        a.wanted = LW;
        walk_defects(f, &a);
    }
}

static const struct {
    uint64_t addr, len;
    bool ok;
} range[] = {
    { IOVA, LEN, true }, { IOVA, 1, true }, { IOVA + LEN - 1, 1, true },
    { IOVA + 1, LEN - 1, true }, { IOVA - 1, 1 }, { IOVA - 1, 2 }, { IOVA - 1, LEN + 2 },
    { IOVA, LEN + 1 }, { IOVA + 1, LEN }, { IOVA + LEN, 1 }, { IOVA + LEN - 1, 2 },
    { IOVA, UINT64_MAX }, { IOVA + 1, UINT64_MAX - IOVA }, { IOVA + 1, -IOVA }, { 0, 1 },
    { 0, UINT64_MAX }, { UINT64_MAX, 1 }, { UINT64_MAX, 2 }, { UINT64_MAX, UINT64_MAX },
    /* 0 bytes need no rights and no range. */
    { IOVA - 1, 0, true }, { UINT64_MAX, 0, true },
};

FIXTURE_TEST("/mr/range", test_range)
{
    uint32_t key = reg(f, ALL);
    const ErnicMr *mr;
    uint64_t off;
    bool ok;

    for (size_t i = 0; i < ARRAY_SIZE(range); i++) {
        ok = ernic_mr_check_local(&f->e, f->pd, key, range[i].addr,
                                  range[i].len, LW, &mr, &off);
        IS(ok, range[i].ok);
        IS(may(f, key, range[i].addr, range[i].len, RW), range[i].ok);
        if (ok && range[i].len) {
            g_assert_true(mr == &f->e.mr[key >> 8]);
            IS(off, range[i].addr - IOVA);
        } else {
            g_assert_null(mr);
        }
    }
    /* Even an invalid key is accepted. */
    g_assert_true(may(f, 0, 0, 0, RW));
    g_assert_true(may(f, UINT32_MAX, 0, 0, RA));
    g_assert_false(may(f, 0, 0, 1, 0));
    g_assert_false(may(f, f->e.mr_ids.size << 8, 0, 1, 0));
    g_assert_false(may(f, UINT32_MAX, 0, 1, 0));
    for (size_t i = 0; i < 256; i++) {
        IS(may(f, (key & ~0xffu) | i, IOVA, 1, 0), (key & 0xff) == i);
    }
}

/* The last byte of the address space belongs to a region, and none after it. */
FIXTURE_TEST("/mr/top-of-space", test_top_of_space)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, ALL);
    uint32_t key = 0;

    cmd.iova = cpu_to_le64(-LEN);
    OK(ernic_mr_reg(&f->e, 0, &cmd, &key));
    g_assert_true(may(f, key, -LEN, LEN, RR));
    g_assert_true(may(f, key, UINT64_MAX, 1, RR));
    g_assert_false(may(f, key, UINT64_MAX, 2, RR));
    g_assert_false(may(f, key, 0, 1, RR));
    g_assert_false(may(f, key, -LEN - 1, 2, RR));
}

/*
 * The device refuses @cmd with @status and reports @event; NULL: the interface reports
 * it.
 */
static void bad_reg(Fixture *f, const struct ernic_cmd_mr_reg *cmd, uint8_t status,
                    const char *event)
{
    ErnicIds ids = f->e.mr_ids;
    uint32_t key = 0;

    ernic_trace_reset();
    IS(ernic_mr_reg(&f->e, 0, cmd, &key), status);
    IS(key, 0);
    IS(ernic_trace_lines(), !!event);
    g_assert_true(!event || ernic_trace_count(event) == 1);
    /* Nothing has changed, not even the order of free numbers. */
    g_assert_cmpmem(&f->e.mr_ids, sizeof(ids), &ids, sizeof(ids));
    IS(f->e.pd[f->pd].refs, 0);
    IS(f->e.num_pages, 0);
}

FIXTURE_TEST("/mr/bad-reg", test_bad_reg)
{
    struct ernic_cmd_mr_reg c;

#define BAD(STATUS, EVENT, CHANGE)                                          \
    do {                                                                    \
        c = reg_cmd(f, ALL);                                                \
        CHANGE;                                                             \
        bad_reg(f, &c, ERNIC_ERR_##STATUS, EVENT);                          \
    } while (0)
#define LIST(NPAGES) \
    c.buf.levels = 1; c.buf.page_shift = 12; c.buf.npages = cpu_to_le32(NPAGES)
    BAD(HANDLE, NULL, c.pd = 0);
    BAD(HANDLE, NULL, c.pd = cpu_to_le32(20));
    BAD(HANDLE, NULL, c.pd = cpu_to_le32(UINT32_MAX));
    BAD(HANDLE, NULL, c.pd = cpu_to_le32(f->user_pd));
    BAD(PARAM, "ernic_mr_bad_access", c.access = cpu_to_le32(0x80));
    BAD(PARAM, "ernic_mr_bad_access", c.access = cpu_to_le32(0x80000000));
    BAD(PARAM, "ernic_mr_bad_access", c.access = cpu_to_le32(RW));
    BAD(PARAM, "ernic_mr_bad_access", c.access = cpu_to_le32(RA | RR));
    BAD(PARAM, "ernic_mr_bad_range", c.access = cpu_to_le32(ZB));
    BAD(PARAM, "ernic_mr_bad_range", c.length = cpu_to_le64(ERNIC_MAX_MR_SIZE + 1));
    BAD(PARAM, "ernic_mr_bad_range", c.length = cpu_to_le64(UINT64_MAX));
    BAD(PARAM, "ernic_mr_bad_range", c.iova = cpu_to_le64(1 - LEN));
    BAD(PARAM, "ernic_mr_bad_range", c.iova = cpu_to_le64(UINT64_MAX));
    BAD(PARAM, "ernic_buf_wraps", c.buf.addr = cpu_to_le64(1 - LEN));
    BAD(PARAM, "ernic_mr_bad_offset", c.offset = cpu_to_le32(1));
    BAD(RESERVED, "ernic_buf_bad_desc", c.buf.reserved[0] = 1);
    BAD(PARAM, "ernic_mr_bad_offset", LIST(9); c.offset = cpu_to_le32(4096));
    BAD(PARAM, "ernic_buf_too_small", LIST(3); c.offset = cpu_to_le32(1));
    BAD(PARAM, "ernic_buf_bad_desc", LIST(3); c.buf.page_shift = 200);
    BAD(DMA, "ernic_buf_dma_failed", LIST(3); c.buf.addr = cpu_to_le64(64));
#undef LIST
#undef BAD
}

/* All access masks, and a few bits more. */
FIXTURE_TEST("/mr/reg-access", test_reg_access)
{
    struct ernic_cmd_mr_reg cmd;
    uint32_t key;
    bool ok;

    for (uint32_t access = 0; access < 2048; access++) {
        cmd = reg_cmd(f, access);
        /* The kind between them is on demand, which has no such buffer. */
        ok = !(access & ~0x13fu) && (!(access & (RW | RA)) || (access & LW));
        IS(ernic_mr_reg(&f->e, 0, &cmd, &key), ok ? ERNIC_OK : ERNIC_ERR_PARAM);
        if (ok) {
            IS(f->e.mr[key >> 8].access, access);
            OK(ernic_mr_free(&f->e, 0, key, false));
        }
    }
}

static struct ernic_cmd_mr_reg rereg_cmd(uint32_t key, uint32_t flags)
{
    return (struct ernic_cmd_mr_reg) {
        .key = cpu_to_le32(key), .flags = cpu_to_le32(flags),
    };
}

FIXTURE_TEST("/mr/rereg", test_rereg)
{
    uint32_t key = reg(f, LW);
    struct ernic_cmd_mr_reg cmd = rereg_cmd(key, ERNIC_REREG_ACCESS);

    g_assert_false(may(f, key, IOVA, LEN, RW));
    cmd.access = cpu_to_le32(LW | RW);
    OK(ernic_mr_rereg(&f->e, 0, &cmd));
    g_assert_true(may(f, key, IOVA, LEN, RW));
    g_assert_false(may(f, key, IOVA, LEN, RR));

    cmd = rereg_cmd(key, ERNIC_REREG_TRANS);
    cmd.buf = (struct ernic_buf_desc) {
        .addr = cpu_to_le64(put_pages(f, 2, 12)), .npages = cpu_to_le32(2),
        .page_shift = 12, .levels = 1,
    };
    cmd.iova = cpu_to_le64(0x50000);
    cmd.length = cpu_to_le64(0x1100);
    cmd.offset = cpu_to_le32(0x800);
    OK(ernic_mr_rereg(&f->e, 0, &cmd));
    g_assert_false(may(f, key, IOVA, 1, RW));
    IS(place(f, f->pd, key, 0x50000, 0x1100, RW), 0x2800);
    IS(f->e.num_pages, 2);
    /* The pages of before are given back. */
    OK(ernic_mr_rereg(&f->e, 0, &cmd));
    IS(f->e.num_pages, 2);

    cmd = rereg_cmd(key, ERNIC_REREG_PD);
    cmd.pd = cpu_to_le32(f->other_pd);
    OK(ernic_mr_rereg(&f->e, 0, &cmd));
    g_assert_false(may(f, key, 0x50000, 1, RW));
    IS(f->e.pd[f->pd].refs, 0);
    IS(f->e.pd[f->other_pd].refs, 1);
    IS(place(f, f->other_pd, key, 0x50000, 0x1100, RW), 0x2800);
    IS(ernic_trace_count("ernic_mr_rereg"), 4);
}

static void rereg_refused(Fixture *f, uint32_t uctx,
                          const struct ernic_cmd_mr_reg *cmd, uint8_t status)
{
    ErnicMr before = f->e.mr[1];

    IS(ernic_mr_rereg(&f->e, uctx, cmd), status);
    g_assert_cmpmem(&f->e.mr[1], sizeof(before), &before, sizeof(before));
    IS(f->e.num_pages, 0);
    IS(f->e.pd[f->pd].refs, f->e.mr_ids.size - 1 - f->e.mr_ids.count);
}

/* Fields that no flag selects, one after the other. */
FIXTURE_TEST("/mr/rereg-reserved", test_rereg_reserved)
{
    static const struct {
        uint32_t but;                   /* the flag that selects it */
        uint8_t off;
    } fields[] = {
        { ERNIC_REREG_TRANS, offsetof(struct ernic_cmd_mr_reg, buf.addr) },
        { ERNIC_REREG_TRANS, offsetof(struct ernic_cmd_mr_reg, buf.reserved) },
        { ERNIC_REREG_TRANS, offsetof(struct ernic_cmd_mr_reg, iova) },
        { ERNIC_REREG_TRANS, offsetof(struct ernic_cmd_mr_reg, length) },
        { ERNIC_REREG_TRANS, offsetof(struct ernic_cmd_mr_reg, offset) },
        { ERNIC_REREG_PD, offsetof(struct ernic_cmd_mr_reg, pd) },
        { ERNIC_REREG_ACCESS, offsetof(struct ernic_cmd_mr_reg, access) },
    };
    uint32_t key = reg(f, ALL);
    struct ernic_cmd_mr_reg cmd;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        cmd = rereg_cmd(key, 0);
        *((uint8_t *)&cmd + fields[i].off) = 1;
        rereg_refused(f, 0, &cmd, ERNIC_ERR_RESERVED);
    }
    cmd = rereg_cmd(key, ERNIC_REREG_FLAGS + 1);
    rereg_refused(f, 0, &cmd, ERNIC_ERR_RESERVED);
    IS(ernic_trace_count("ernic_mr_rereg_reserved"), ARRAY_SIZE(fields) + 1);
}

FIXTURE_TEST("/mr/rereg-refused", test_rereg_refused)
{
    uint32_t key = reg(f, ALL), fast = alloc_fast(f), mw = alloc_mw(f, 1);
    struct ernic_wqe_bind_mw wr = bind_wr(mw, key, RR);
    struct ernic_cmd_mr_reg cmd;

#define REFUSED(STATUS, UCTX, KEY, FLAGS, ...)                              \
    do {                                                                    \
        cmd = rereg_cmd(KEY, FLAGS);                                        \
        __VA_ARGS__;                                                        \
        rereg_refused(f, UCTX, &cmd, ERNIC_ERR_##STATUS);                   \
    } while (0)
    ernic_mr_free(&f->e, 0, fast, false);
    REFUSED(HANDLE, 0, key ^ 1, 0);
    REFUSED(HANDLE, 0, mw, 0);
    REFUSED(PERM, USER, key, 0);
    REFUSED(HANDLE, 0, key, ERNIC_REREG_PD, cmd.pd = cpu_to_le32(f->user_pd));
    REFUSED(PARAM, 0, key, ERNIC_REREG_ACCESS, cmd.access = cpu_to_le32(RW));
    /* It begins at IOVA. */
    REFUSED(PARAM, 0, key, ERNIC_REREG_ACCESS, cmd.access = cpu_to_le32(ZB));
    cmd = reg_cmd(f, ALL);
    cmd.key = cpu_to_le32(key);
    cmd.flags = cpu_to_le32(ERNIC_REREG_FLAGS);
    cmd.buf = (struct ernic_buf_desc) {
        .addr = cpu_to_le64(64), .npages = cpu_to_le32(3), .page_shift = 12, .levels = 1,
    };
    rereg_refused(f, 0, &cmd, ERNIC_ERR_DMA);
    cmd.offset = cpu_to_le32(4096);
    rereg_refused(f, 0, &cmd, ERNIC_ERR_PARAM);
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    REFUSED(BUSY, 0, key, 0);
#undef REFUSED
}

FIXTURE_TEST("/mr/page-list", test_page_list)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, ALL);
    uint32_t key = 0;

    cmd.buf = (struct ernic_buf_desc) {
        .addr = cpu_to_le64(put_pages(f, 4, 12)), .npages = cpu_to_le32(4),
        .page_shift = 12, .levels = 1,
    };
    cmd.offset = cpu_to_le32(0xfff);
    cmd.iova = cpu_to_le64(0x123);      /* need not agree with the offset */
    OK(ernic_mr_reg(&f->e, 0, &cmd, &key));
    IS(f->e.num_pages, 4);
    IS(place(f, f->pd, key, 0x123, LEN, RW), 0x4fff);
    IS(place(f, f->pd, key, 0x124, 1, RW), 0x3000);
    OK(ernic_mr_free(&f->e, 0, key, false));
    IS(f->e.num_pages, 0);
}

/* The kernel's region covers all of memory; a user's stops short of it. */
FIXTURE_TEST("/mr/dma-region", test_dma_region)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, LW);
    uint32_t key;

    cmd.buf.addr = cmd.iova = 0;
    cmd.length = cpu_to_le64(ERNIC_MAX_MR_SIZE);
    OK(ernic_mr_reg(&f->e, 0, &cmd, &key));
    IS(place(f, f->pd, key, FAKE_MEM_BASE, 4096, LW), FAKE_MEM_BASE);

    cmd.pd = cpu_to_le32(f->user_pd);
    IS(ernic_mr_reg(&f->e, USER, &cmd, &key), ERNIC_ERR_PERM);
    IS(ernic_trace_count("ernic_mr_dma_denied"), 1);
    cmd.length = cpu_to_le64(1 << 20);
    OK(ernic_mr_reg(&f->e, USER, &cmd, &key));
}

FIXTURE_TEST("/mr/free", test_free)
{
    uint32_t region = reg(f, ALL), window = alloc_mw(f, 1);
    struct ernic_wqe_bind_mw wr = bind_wr(window, region, RR);
    uint32_t number = region >> 8, next;

    /* Kinds and contexts are checked; the variant byte is ignored. */
    IS(ernic_mr_free(&f->e, 0, region, true), ERNIC_ERR_HANDLE);
    IS(ernic_mr_free(&f->e, 0, window, false), ERNIC_ERR_HANDLE);
    IS(ernic_mr_free(&f->e, USER, region, false), ERNIC_ERR_PERM);
    IS(ernic_mr_free(&f->e, USER, window, true), ERNIC_ERR_PERM);
    IS(ernic_mr_free(&f->e, 0, 0, false), ERNIC_ERR_HANDLE);
    IS(ernic_mr_free(&f->e, 0, UINT32_MAX, false), ERNIC_ERR_HANDLE);
    IS(f->e.pd[f->pd].refs, 2);

    IS(ernic_mw_bind(&f->e, f->pd, QPN, &wr), ERNIC_FAULT_NONE);
    IS(ernic_mr_free(&f->e, 0, region, false), ERNIC_ERR_BUSY);
    IS(ernic_trace_count("ernic_mr_has_windows"), 1);
    OK(ernic_mr_free(&f->e, 0, window ^ 0x55, true));
    OK(ernic_mr_free(&f->e, 0, region ^ 0x55, false));
    IS(f->e.pd[f->pd].refs, 0);
    IS(ernic_mr_free(&f->e, 0, region, false), ERNIC_ERR_HANDLE);
    g_assert_false(may(f, region, IOVA, 1, RR));

    /* A reused number has another key, for either kind of object. */
    ernic_ids_load_fresh(&f->e.mr_ids, f->e.mr_ids.size);
    g_assert_true(ernic_ids_load(&f->e.mr_ids, number));
    for (uint32_t i = 0; i < 300; i++) {
        next = i % 2 ? reg(f, ALL) : alloc_mw(f, 2);
        IS(next >> 8, number);
        g_assert_cmpuint(next, !=, region);
        g_assert_false(may(f, region, IOVA, 1, RR));
        OK(ernic_mr_free(&f->e, 0, next, !(i % 2)));
        region = next;
    }
    ernic_ids_load_fresh(&f->e.mr_ids, 1);
}

/* The list of keys that hold a region is walked in one call, so it has a limit. */
FIXTURE_TEST("/mr/holders", test_holders)
{
    uint32_t region = reg(f, ALL), first = alloc_mw(f, 1), second = alloc_mw(f, 2);
    struct ernic_wqe_bind_mw bind = bind_wr(first, region, RR);
    struct ernic_wqe_bind_mw more = bind_wr(second, region, RR);

    IS(ernic_mw_bind(&f->e, f->pd, QPN, &bind), ERNIC_FAULT_NONE);
    IS(f->e.num_holders, 1);
    f->e.num_holders = ERNIC_LIM_HOLDERS;
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &more), ERNIC_FAULT_MW_BIND);
    IS(ernic_trace_count("ernic_bind_too_many"), 1);
    g_assert_false(f->e.mr[second >> 8].valid);
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &bind), ERNIC_FAULT_NONE);
    IS(f->e.num_holders, ERNIC_LIM_HOLDERS);
    f->e.num_holders = 1;
    IS(ernic_mw_bind(&f->e, f->pd, QPN, &more), ERNIC_FAULT_NONE);
    ernic_mw_forget_qp(&f->e, QPN);
    IS(f->e.num_holders, 1);
}

FIXTURE_TEST("/mr/exhaustion", test_exhaustion)
{
    struct ernic_cmd_mr_reg cmd = reg_cmd(f, ALL);
    uint32_t key, n = f->e.mr_ids.count;

    for (uint32_t i = 0; i < n; i++) {
        reg(f, ALL);
    }
    IS(f->e.pd[f->pd].refs, n);
    f->env.reads = 0;
    cmd.buf.levels = 1;
    cmd.buf.page_shift = 12;
    cmd.buf.npages = cpu_to_le32(3);
    IS(ernic_mr_reg(&f->e, 0, &cmd, &key), ERNIC_ERR_NO_RESOURCE);
    IS(f->env.reads, 0);
    IS(ernic_mr_alloc(&f->e, 0, f->pd, 4, &key), ERNIC_ERR_NO_RESOURCE);
    IS(ernic_mw_alloc(&f->e, 0, f->pd, 1, &key), ERNIC_ERR_NO_RESOURCE);
    IS(f->e.num_pages, 0);
    IS(f->e.pd[f->pd].refs, n);
}

FIXTURE_TEST("/mr/alloc", test_alloc)
{
    uint32_t key;

    IS(ernic_mr_alloc(&f->e, 0, f->user_pd, 4, &key), ERNIC_ERR_HANDLE);
    IS(ernic_mr_alloc(&f->e, 0, f->pd, 0, &key), ERNIC_ERR_PARAM);
    IS(ernic_mr_alloc(&f->e, 0, f->pd, ERNIC_MAX_FRWR_PAGES + 1, &key), ERNIC_ERR_PARAM);
    IS(ernic_trace_count("ernic_mr_too_many_pages"), 1);
    f->e.num_pages = ERNIC_MAX_PAGES - 3;
    IS(ernic_mr_alloc(&f->e, 0, f->pd, 4, &key), ERNIC_ERR_NO_RESOURCE);
    f->e.num_pages = 0;
    OK(ernic_mr_alloc(&f->e, 0, f->pd, ERNIC_MAX_FRWR_PAGES, &key));
    /* Until it is registered its key is invalid. */
    g_assert_false(may(f, key, 0, 1, 0));

    IS(ernic_mw_alloc(&f->e, USER, f->pd, 1, &key), ERNIC_ERR_HANDLE);
    IS(ernic_mw_alloc(&f->e, 0, f->pd, 0, &key), ERNIC_ERR_PARAM);
    IS(ernic_mw_alloc(&f->e, 0, f->pd, 3, &key), ERNIC_ERR_PARAM);
    IS(ernic_trace_count("ernic_mw_bad_type"), 2);
    g_assert_false(may(f, alloc_mw(f, 1), 0, 1, 0));
    g_assert_false(may(f, alloc_mw(f, 2), 0, 1, 0));
}

/*
 * A registration reads and clears its list in one call. That of the longest one is short,
 * and a longer one, which a saved state can have, is refused.
 */
FIXTURE_TEST("/mr/longest", test_longest)
{
    struct ernic_wqe_reg_mr wr;
    ErnicMrInit init = { .kind = ERNIC_MR_FAST };
    int64_t start;
    uint32_t key;
    ErnicBuf buf;

    for (uint32_t max = ERNIC_MAX_FRWR_PAGES; max <= ERNIC_MAX_FRWR_PAGES + 1; max++) {
        OK(ernic_buf_alloc(&f->e, &buf, max));
        OK(ernic_mr_add(&f->e, f->pd, &init, &buf, &key));
        wr = fast_wr(f, key);
        start = cpu_us();
        IS(ernic_mr_fast_reg(&f->e, f->pd, &wr),
           max == ERNIC_MAX_FRWR_PAGES ? ERNIC_FAULT_NONE : ERNIC_FAULT_REG_MR);
        g_test_message("%u pages: %" PRId64 " us", max, cpu_us() - start);
    }
}

FIXTURE_TEST("/mr/pd", test_pd)
{
    uint32_t pd, i, n = f->e.pd_ids.count;

    g_assert_true(ernic_pd_get(&f->e, 0, f->pd) == &f->e.pd[f->pd]);
    g_assert_null(ernic_pd_get(&f->e, USER, f->pd));
    g_assert_null(ernic_pd_get(&f->e, 0, f->user_pd));
    g_assert_null(ernic_pd_get(&f->e, 0, 0));
    g_assert_null(ernic_pd_get(&f->e, 0, f->e.pd_ids.size));
    g_assert_null(ernic_pd_get(&f->e, 0, UINT32_MAX));
    IS(ernic_pd_free(&f->e, 0, f->user_pd), ERNIC_ERR_PERM);
    IS(ernic_pd_free(&f->e, 0, 0), ERNIC_ERR_HANDLE);
    IS(ernic_pd_free(&f->e, 0, UINT32_MAX), ERNIC_ERR_HANDLE);
    reg(f, ALL);
    IS(ernic_pd_free(&f->e, 0, f->pd), ERNIC_ERR_BUSY);

    for (i = 0; i < n; i++) {
        OK(ernic_pd_alloc(&f->e, 0, &pd));
        IS(f->e.pd[pd].refs, 0);
    }
    IS(ernic_pd_alloc(&f->e, 0, &i), ERNIC_ERR_NO_RESOURCE);
    OK(ernic_pd_free(&f->e, 0, pd));
    IS(ernic_pd_free(&f->e, 0, pd), ERNIC_ERR_HANDLE);
    g_assert_null(ernic_pd_get(&f->e, 0, pd));
    OK(ernic_pd_alloc(&f->e, 0, &i));
    IS(i, pd);
}
