/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion queues: entries and their phase, overrun, resize.
 */
#include "qemu/osdep.h"
#include "cq_fixture.h"
#include "test.h"

/* ---- commands ------------------------------------------------------------ */

static void test_create_refused(Fixture *f, gconstpointer data)
{
    static const struct {
        uint32_t depth, handle, eq;
        uint64_t ci_addr;
        uint8_t status;
    } rows[] = {
        { 0, 0, NO_EQ, 0, ERNIC_ERR_PARAM },
        { 1, 0, NO_EQ, 0, ERNIC_ERR_PARAM },
        { 6, 0, NO_EQ, 0, ERNIC_ERR_PARAM },
        { ERNIC_MAX_CQ_DEPTH * 2, 0, NO_EQ, 0, ERNIC_ERR_PARAM },
        { 4, 0, NO_EQ, 0x1002, ERNIC_ERR_PARAM },
        { 4, 1, NO_EQ, 0, ERNIC_ERR_RESERVED },
        { 4, 0, 0, 0, ERNIC_ERR_HANDLE },
        { 4, 0, 8, 0, ERNIC_ERR_HANDLE },
        { 4, 0, 9, 0, ERNIC_ERR_HANDLE },
        { 4, 0, 0xfffffffe, 0, ERNIC_ERR_HANDLE },
    };
    struct ernic_cmd_cq_create cmd;
    uint32_t cqn = 77, left = f->e.cq_ids.count;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(rows); i++) {
        cmd = command(f, 4);
        cmd.depth = cpu_to_le32(rows[i].depth);
        cmd.handle = cpu_to_le32(rows[i].handle);
        cmd.eq = cpu_to_le32(rows[i].eq);
        cmd.ci_addr = cpu_to_le64(rows[i].ci_addr);
        IS(ernic_cq_create(&f->e, 0, &cmd, &cqn), rows[i].status);
    }
    cmd = command(f, 4);
    cmd.buf.levels = 3;
    g_assert_cmpuint(ernic_cq_create(&f->e, 0, &cmd, &cqn), !=, ERNIC_OK);

    /*
     * The kernel's event queues may be used by all contexts, others by their owner
     * only.
     */
    cmd = command(f, 4);
    f->e.eq[f->eqn].uctx = 1;
    IS(ernic_cq_create(&f->e, 2, &cmd, &cqn), ERNIC_ERR_PERM);
    f->e.eq[f->eqn].uctx = 0;
    IS(cqn, 77);
    IS(f->e.cq_ids.count, left);
    IS(f->e.eq[f->eqn].refs, 1);
    OK(ernic_cq_create(&f->e, 2, &cmd, &cqn));
    OK(ernic_cq_destroy(&f->e, 2, cqn));
}

static void test_handles(Fixture *f, gconstpointer data)
{
    static const uint32_t wrong[] = { 0, 5, 64, 65, 0xffffffff };
    struct ernic_cmd_cq_moderate mod = { 0 };
    struct ernic_cmd_cq_create cmd = command(f, 8);
    size_t i;

    cmd.eq = 0;
    g_assert_true(ernic_cq_get(&f->e, 0, f->cqn) == cq(f));
    g_assert_null(ernic_cq_get(&f->e, 1, f->cqn));
    for (i = 0; i < ARRAY_SIZE(wrong); i++) {
        cmd.handle = mod.handle = cpu_to_le32(wrong[i]);
        g_assert_null(ernic_cq_get(&f->e, 0, wrong[i]));
        IS(ernic_cq_destroy(&f->e, 0, wrong[i]), ERNIC_ERR_HANDLE);
        IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_HANDLE);
        IS(ernic_cq_moderate(&f->e, 0, &mod), ERNIC_ERR_HANDLE);
    }
    cmd.handle = mod.handle = cpu_to_le32(f->cqn);
    IS(ernic_cq_destroy(&f->e, 1, f->cqn), ERNIC_ERR_PERM);
    IS(ernic_cq_resize(&f->e, 1, &cmd), ERNIC_ERR_PERM);
    IS(ernic_cq_moderate(&f->e, 1, &mod), ERNIC_ERR_PERM);
    cq(f)->refs = 1;
    IS(ernic_cq_destroy(&f->e, 0, f->cqn), ERNIC_ERR_BUSY);
    cq(f)->refs = 0;
}

/* ---- entries ------------------------------------------------------------- */

static void test_fields(Fixture *f, gconstpointer data)
{
    static const ErnicWc wc = {
        .wr_id = 0x0102030405060708ull,
        .qpn = 0x112233, .byte_len = 0x80000000u,
        .imm = { 0xde, 0xad, 0xbe, 0xef },
        .src_qp = 0x445566, .index = 0xfffffff0u,
        .fault = 0x1a, .smac = { 2, 3, 4, 5, 6, 7 },
        .vlan = 0x0fed, .pkey_index = 0x0a0b,
        .opcode = ERNIC_WC_RECV, .status = ERNIC_WC_LOC_LEN_ERR,
        /* The device sets the phase, whatever the caller passes. */
        .flags = ERNIC_CQE_IMM | ERNIC_CQE_RQ | ERNIC_CQE_PHASE,
    };
    struct ernic_cqe cqe;
    int round, i;

    f->e.now = 0x123456789abcull;
    for (round = 0; round < 2; round++) {
        for (i = 0; i < 4; i++) {
            g_assert_true(ernic_cq_post(&f->e, f->cqn, &wc));
            g_assert_true(poll(f, &cqe));
            consume(f);
            IS(le64_to_cpu(cqe.wr_id), wc.wr_id);
            IS(le32_to_cpu(cqe.qpn), wc.qpn);
            IS(le32_to_cpu(cqe.byte_len), wc.byte_len);
            g_assert_cmpmem(cqe.imm, 4, wc.imm, 4);
            IS(le32_to_cpu(cqe.src_qp), wc.src_qp);
            IS(le32_to_cpu(cqe.index), wc.index);
            IS(le32_to_cpu(cqe.vendor_err), wc.fault);
            IS(le64_to_cpu(cqe.timestamp), f->e.now);
            g_assert_cmpmem(cqe.smac, 6, wc.smac, 6);
            IS(le16_to_cpu(cqe.vlan), wc.vlan);
            IS(le16_to_cpu(cqe.pkey_index), wc.pkey_index);
            IS(cqe.opcode, wc.opcode);
            IS(cqe.status, wc.status);
            IS(cqe.flags, ERNIC_CQE_IMM | ERNIC_CQE_RQ | (round ? 0 : ERNIC_CQE_PHASE));
        }
    }
    IS(f->e.stats.completions, 8);
}

static void test_wrap(Fixture *f, gconstpointer data)
{
    uint32_t round, i, n, got = 0;

    start_at(f, 0u - 3 * f->depth);
    for (round = 0; round < 8 * f->depth; round++) {
        n = round % (f->depth + 1);     /* until it is full */
        for (i = 0; i < n; i++) {
            expect_none(f);
            post(f);
            expect(f, got++);
        }
        expect_none(f);
        consume(f);
    }
    g_assert_cmpuint(f->seen, <, UINT32_MAX / 2);
}

/* ---- overrun ------------------------------------------------------------- */

static void test_overrun(Fixture *f, gconstpointer data)
{
    uint32_t i;

    for (i = 0; i < f->depth; i++) {
        post(f);
    }
    IS(events(f), 0);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
    IS(ernic_trace_count("ernic_guest_cq_overrun"), 1);

    /* Existing entries do not change, and consuming them does not help any more. */
    for (i = 0; i < f->depth; i++) {
        expect(f, i);
    }
    consume(f);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    arm(f, false);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(events(f), 0);
    expect_none(f);
    IS(f->e.stats.cq_overruns, 1);
    IS(f->e.stats.completions, f->depth);
}

/* A queue that ignores overruns loses its oldest entries, and reports nothing. */
static void test_overwrites(Fixture *f, gconstpointer data)
{
    uint32_t i, ahead = 3, n = 3 * f->depth + 1;

    cq(f)->overwrites = true;
    for (i = 0; i < n; i++) {
        if (i < f->depth + ahead) {
            post_solicited(f);
        } else {
            post(f);
        }
    }
    IS(events(f), 0);
    IS(f->e.stats.cq_overruns, 0);
    IS(f->e.stats.completions, n);
    IS(cq(f)->pi - cq(f)->ci, f->depth);
    IS(cq(f)->sol_pi, cq(f)->ci);
    /* A consumer that was late has the newest entries, and goes on from there. */
    f->seen = n - f->depth;
    for (i = f->seen; i < n; i++) {
        expect(f, i);
    }
    consume(f);
    arm(f, false);
    IS(events(f), 0);
    post(f);
    IS(events_of_type(f, ERNIC_EV_COMPLETION), 1);
    expect(f, n);
    /* An entry that cannot be written is an error also here. */
    for (i = 0; i < f->depth; i++) {
        post(f);
    }
    fake_fail_dma(&f->env, 1, false);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
}

/* Without an event queue of its own, the asynchronous one gets the event. */
static void test_overrun_without_eq(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_cq_create cmd = command(f, 2);
    uint32_t first = f->cqn;

    cmd.eq = cpu_to_le32(NO_EQ);
    OK(ernic_cq_create(&f->e, 0, &cmd, &f->cqn));
    IS(f->e.eq[f->eqn].refs, 1);
    arm(f, false);
    post(f);
    IS(events(f), 0);
    IS(cq(f)->arm, ERNIC_CQ_DISARMED);
    post(f);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    f->cqn = first;
}

/*
 * With an event queue of its own, that one gets all events and the asynchronous one
 * none.
 */
static void test_overrun_own_eq(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_eq_create eq = { .depth = cpu_to_le32(8) };
    struct ernic_cmd_cq_create cmd = command(f, 2);
    uint64_t ring = fake_alloc(&f->env, 8 * sizeof(struct ernic_eqe), 64);
    uint32_t first = f->cqn, eqn;
    struct ernic_eqe *eqe;

    eq.buf.addr = cpu_to_le64(ring);
    OK(ernic_eq_create(&f->e, 0, &eq, &eqn));
    cmd.eq = cpu_to_le32(eqn);
    OK(ernic_cq_create(&f->e, 0, &cmd, &f->cqn));
    IS(ernic_eq_destroy(&f->e, 0, eqn), ERNIC_ERR_BUSY);
    arm(f, false);
    post(f);
    post(f);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(f->e.eq[eqn].pi, 2);
    eqe = fake_ptr(&f->env, ring, 2 * sizeof(*eqe));
    IS(eqe[0].type, ERNIC_EV_COMPLETION);
    IS(eqe[1].type, ERNIC_EV_CQ_ERR);
    IS(f->e.eq[f->eqn].pi, 0);
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    OK(ernic_eq_destroy(&f->e, 0, eqn));
    f->cqn = first;
}

/*
 * Where the own event queue has completions only, the asynchronous one gets the error.
 * While it waits there, a notification is dropped.
 */
static void test_overrun_masked(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_eq_create eq = { .depth = cpu_to_le32(2) };
    struct ernic_cmd_cq_create cmd = command(f, 4);
    uint64_t ring = fake_alloc(&f->env, 2 * sizeof(struct ernic_eqe), 64);
    uint32_t first = f->cqn, eqn, i;
    ErnicEq *async = &f->e.eq[f->eqn];

    eq.buf.addr = cpu_to_le64(ring);
    OK(ernic_eq_create(&f->e, 0, &eq, &eqn));
    f->e.eq[eqn].masked = ~(1u << ERNIC_EV_COMPLETION);
    cmd.eq = cpu_to_le32(eqn);
    OK(ernic_cq_create(&f->e, 0, &cmd, &f->cqn));
    for (i = 0; i < 4; i++) {
        arm(f, false);
        post(f);
    }
    IS(f->e.eq[eqn].pi, 2);
    IS(f->e.eq[eqn].line_count, 1);
    IS(events(f), 0);
    async->ci -= async->depth;                      /* full */
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    arm(f, false);
    IS(f->e.eq[eqn].line_count, 0);
    IS(async->line_count, 1);
    OK(ernic_eq_consume(&f->e, f->eqn, async->pi));
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
    arm(f, false);
    IS(f->e.eq[eqn].line_count, 1);
    IS(async->line_count, 0);
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    OK(ernic_eq_destroy(&f->e, 0, eqn));
    f->cqn = first;
}

/* An entry that cannot be written to memory is an overrun, whichever part fails. */
static void test_write_fails(Fixture *f, gconstpointer data)
{
    uint32_t nth;

    for (nth = 1; nth <= 2; nth++) {
        recreate(f, 4, false);
        post(f);
        fake_fail_dma(&f->env, nth, false);
        g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
        IS(f->env.refused, 1);
        IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
        fake_fail_dma(&f->env, 0, false);
        g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
        expect(f, 0);
        expect_none(f);
        IS(f->e.stats.cq_overruns, nth);
    }
}

/* ---- the counter in memory ----------------------------------------------- */

static void test_ci_in_memory(Fixture *f, gconstpointer data)
{
    uint64_t reads;
    uint32_t i;

    recreate(f, 4, true);
    start_at(f, 0xfffffffc);
    put_ci(f, f->seen);
    reads = f->env.reads;
    for (i = 0; i < 4; i++) {
        post(f);
    }
    IS(f->env.reads, reads);      /* only when it is full */
    for (i = 0; i < 20; i++) {
        expect(f, i);
        put_ci(f, f->seen);
        post(f);
    }
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
}

static void test_ci_in_memory_wrong(Fixture *f, gconstpointer data)
{
    static const int32_t wrong[] = { 5, 6, 1000, INT32_MAX, INT32_MIN, -1000 };
    size_t row;
    uint32_t i;

    for (row = 0; row < ARRAY_SIZE(wrong); row++) {
        ernic_trace_reset();
        recreate(f, 4, true);
        for (i = 0; i < 4; i++) {
            post(f);
        }
        put_ci(f, wrong[row]);
        g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
        IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
        IS(ernic_trace_count("ernic_guest_cq_ci"), 1);
        IS(cq(f)->ci, 0);
    }
    recreate(f, 4, true);
    for (i = 0; i < 4; i++) {
        post(f);
    }
    put_ci(f, 4);
    fake_fail_dma(&f->env, 1, false);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    IS(ernic_trace_count("ernic_guest_cq_ci_dma"), 1);
    fake_fail_dma(&f->env, 0, false);
}

/* ---- resize -------------------------------------------------------------- */

/* The new ring, prepared as the contract requires. */
static struct ernic_cmd_cq_create resize_command(Fixture *f, uint32_t depth)
{
    struct ernic_cmd_cq_create cmd = command(f, depth);
    uint64_t ring = le64_to_cpu(cmd.buf.addr);
    uint32_t i;

    cmd.handle = cpu_to_le32(f->cqn);
    cmd.ci_addr = 0;
    cmd.eq = 0;
    for (i = f->seen; i != f->seen + depth; i++) {
        *(uint8_t *)fake_ptr(&f->env, ring + (i & (depth - 1)) * CQE_SIZE +
                             CQE_SIZE - 1, 1) =
            (i / depth) % 2 ? ERNIC_CQE_PHASE : 0;
    }
    return cmd;
}

static void test_resize(Fixture *f, gconstpointer data)
{
    static const uint32_t depths[] = { 8, 2, 16, 4, 4, 64, 8, 2, 32 };
    struct ernic_cmd_cq_create cmd;
    uint32_t start, waiting, got;
    size_t row;

    for (start = 0; start < 9; start++) {
        for (waiting = 0; waiting <= 2; waiting++) {
            recreate(f, 4, false);
            start_at(f, start - 4);
            got = 0;
            for (row = 0; row < ARRAY_SIZE(depths); row++) {
                while (f->posted - got < waiting) {
                    post(f);
                }
                cmd = resize_command(f, depths[row]);
                OK(ernic_cq_resize(&f->e, 0, &cmd));
                f->depth = depths[row];
                f->ring = le64_to_cpu(cmd.buf.addr);
                if (waiting) {
                    expect(f, got++);
                }
                consume(f);
            }
            while (got < f->posted) {
                expect(f, got++);
            }
            expect_none(f);
        }
    }
}

static void test_resize_refused(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_cq_create cmd;
    ErnicCq before;
    uint32_t i;

    for (i = 0; i < 4; i++) {
        post(f);
    }
    f->seen = 1;
    consume(f);
    f->seen = 0;
    before = *cq(f);
    cmd = resize_command(f, 2);             /* three are left */
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_PARAM);
    cmd = resize_command(f, 8);
    cmd.depth = cpu_to_le32(7);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_PARAM);
    cmd.depth = cpu_to_le32(ERNIC_MAX_CQ_DEPTH * 2);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_PARAM);
    cmd = resize_command(f, 8);
    cmd.ci_addr = cpu_to_le64(f->ring);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_RESERVED);
    cmd = resize_command(f, 8);
    cmd.eq = cpu_to_le32(f->eqn);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_RESERVED);
    cmd = resize_command(f, 8);
    cmd.buf.reserved[1] = 1;
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_RESERVED);
    g_assert_cmpmem(&before, sizeof(before), cq(f), sizeof(before));

    cmd = resize_command(f, 4);             /* exactly sufficient */
    OK(ernic_cq_resize(&f->e, 0, &cmd));
    post(f);
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
    cmd = resize_command(f, 8);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_STATE);
}

/* Whichever access fails, the old ring stays in use. */
static void test_resize_fails(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_cq_create cmd;
    uint32_t nth, pages = f->e.num_pages;

    post(f);
    post(f);
    post(f);
    for (nth = 1; ; nth++) {
        cmd = resize_command(f, 8);
        fake_fail_dma(&f->env, nth, false);
        if (ernic_cq_resize(&f->e, 0, &cmd) == ERNIC_OK) {
            break;
        }
        IS(f->env.refused, 1);
        IS(cq(f)->depth, 4);
        IS(f->e.num_pages, pages);
    }
    IS(nth, 3);           /* one read, one write for all */
    fake_fail_dma(&f->env, 0, false);
    f->depth = 8;
    f->ring = le64_to_cpu(cmd.buf.addr);
    post(f);
    for (nth = 0; nth < 4; nth++) {
        expect(f, nth);
    }
}

/* The counter in memory frees more room than the doorbells did. */
static void test_resize_reads_ci(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_cq_create cmd;
    uint32_t i;

    recreate(f, 8, true);
    for (i = 0; i < 8; i++) {
        post(f);
    }
    cmd = resize_command(f, 2);
    IS(ernic_cq_resize(&f->e, 0, &cmd), ERNIC_ERR_PARAM);
    f->seen = 7;
    put_ci(f, 7);
    cmd = resize_command(f, 2);
    OK(ernic_cq_resize(&f->e, 0, &cmd));
    f->depth = 2;
    f->ring = le64_to_cpu(cmd.buf.addr);
    expect(f, 7);
    expect_none(f);
}

TESTS(add_tests)
{
    CQ_TEST("/cq/create-refused", test_create_refused);
    CQ_TEST("/cq/handles", test_handles);
    CQ_TEST("/cq/fields", test_fields);
    CQ_TEST("/cq/wrap", test_wrap);
    CQ_TEST("/cq/overrun", test_overrun);
    CQ_TEST("/cq/overwrites", test_overwrites);
    CQ_TEST("/cq/overrun-without-eq", test_overrun_without_eq);
    CQ_TEST("/cq/overrun-own-eq", test_overrun_own_eq);
    CQ_TEST("/cq/overrun-masked", test_overrun_masked);
    CQ_TEST("/cq/write-fails", test_write_fails);
    CQ_TEST("/cq/ci-in-memory", test_ci_in_memory);
    CQ_TEST("/cq/ci-in-memory-wrong", test_ci_in_memory_wrong);
    CQ_TEST("/cq/resize", test_resize);
    CQ_TEST("/cq/resize-refused", test_resize_refused);
    CQ_TEST("/cq/resize-fails", test_resize_fails);
    CQ_TEST("/cq/resize-reads-ci", test_resize_reads_ci);
}
