/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion queues: overrun, failed writes, the counter in memory, resize.
 */
#include "qemu/osdep.h"
#include "cq_fixture.h"

FIXTURE_TEST("/cq/create-refused", test_create_refused)
{
    uint32_t cqn = 77, left = f->e.cq_ids.count;

    IS(CREATE(f, 0, &cqn, 4, cmd.depth = 0), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &cqn, 4, cmd.depth = cpu_to_le32(1)), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &cqn, 4, cmd.depth = cpu_to_le32(6)), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &cqn, 4, cmd.depth = cpu_to_le32(ERNIC_MAX_CQ_DEPTH * 2)),
       ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &cqn, 4, cmd.ci_addr = cpu_to_le64(0x1002)), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &cqn, 4, cmd.handle = cpu_to_le32(1)), ERNIC_ERR_RESERVED);
    IS(CREATE(f, 0, &cqn, 4, cmd.eq = 0), ERNIC_ERR_HANDLE);
    IS(CREATE(f, 0, &cqn, 4, cmd.eq = cpu_to_le32(8)), ERNIC_ERR_HANDLE);
    IS(CREATE(f, 0, &cqn, 4, cmd.eq = cpu_to_le32(9)), ERNIC_ERR_HANDLE);
    IS(CREATE(f, 0, &cqn, 4, cmd.eq = cpu_to_le32(0xfffffffe)), ERNIC_ERR_HANDLE);
    IS(CREATE(f, 0, &cqn, 4, cmd.buf.levels = 3), ERNIC_ERR_PARAM);
    /* The kernel's event queues are for all contexts, others for their owner only. */
    f->e.eq[f->eqn].uctx = 1;
    IS(CREATE(f, 2, &cqn, 4), ERNIC_ERR_PERM);
    f->e.eq[f->eqn].uctx = 0;
    IS(cqn, 77);
    IS(f->e.cq_ids.count, left);
    IS(f->e.eq[f->eqn].refs, 1);
    OK(CREATE(f, 2, &cqn, 4));
    OK(ernic_cq_destroy(&f->e, 2, cqn));
}

/* A queue that ignores overruns loses its oldest entries, and reports nothing. */
FIXTURE_TEST("/cq/overwrites", test_overwrites)
{
    uint32_t ahead = 3, n = 3 * f->depth + 1;

    cq(f)->overwrites = true;
    for (uint32_t i = 0; i < n; i++) {
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
    expect_many(f, f->seen, n);
    consume(f);
    arm(f, false);
    IS(events(f), 0);
    post(f);
    IS(events_of_type(f, ERNIC_EV_COMPLETION), 1);
    expect(f, n);
    /* An entry that cannot be written is an error also here. */
    post_many(f, f->depth);
    fake_fail_dma(&f->env, 1, false);
    post_fails(f);
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
}

/* Replace the queue by one of @depth with an event queue of its own; returns that. */
static uint32_t own_eq(Fixture *f, uint32_t depth, uint32_t eq_depth, uint64_t *ring)
{
    struct ernic_cmd_eq_create eq = { .depth = cpu_to_le32(eq_depth) };
    uint32_t eqn;

    *ring = fake_alloc(&f->env, eq_depth * sizeof(struct ernic_eqe), 64);
    eq.buf.addr = cpu_to_le64(*ring);
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    OK(ernic_eq_create(&f->e, 0, &eq, &eqn));
    OK(CREATE(f, 0, &f->cqn, depth, cmd.eq = cpu_to_le32(eqn)));
    return eqn;
}

static void own_eq_gone(Fixture *f, uint32_t eqn)
{
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    OK(ernic_eq_destroy(&f->e, 0, eqn));
    f->cqn = 0;
}

/* That one gets all events and the asynchronous one none. */
FIXTURE_TEST("/cq/overrun-own-eq", test_overrun_own_eq)
{
    uint64_t ring;
    uint32_t eqn = own_eq(f, 2, 8, &ring);
    struct ernic_eqe *eqe = fake_ptr(&f->env, ring, 2 * sizeof(*eqe));

    IS(ernic_eq_destroy(&f->e, 0, eqn), ERNIC_ERR_BUSY);
    arm(f, false);
    post_many(f, 2);
    post_fails(f);
    IS(f->e.eq[eqn].pi, 2);
    IS(eqe[0].type, ERNIC_EV_COMPLETION);
    IS(eqe[1].type, ERNIC_EV_CQ_ERR);
    IS(f->e.eq[f->eqn].pi, 0);
    own_eq_gone(f, eqn);
}

/*
 * Where the own event queue has completions only, the asynchronous one gets the error.
 * While it waits there, a notification is dropped.
 */
FIXTURE_TEST("/cq/overrun-masked", test_overrun_masked)
{
    ErnicEq *async = &f->e.eq[f->eqn], *own;
    uint64_t ring;

    own = &f->e.eq[own_eq(f, 4, 2, &ring)];
    own->masked = ~(1u << ERNIC_EV_COMPLETION);
    for (uint32_t i = 0; i < 4; i++) {
        arm(f, false);
        post(f);
    }
    IS(own->pi, 2);
    IS(own->line_count, 1);
    IS(events(f), 0);
    async->ci -= async->depth;                      /* full */
    post_fails(f);
    arm(f, false);
    IS(own->line_count, 0);
    IS(async->line_count, 1);
    OK(ernic_eq_consume(&f->e, f->eqn, async->pi));
    IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
    arm(f, false);
    IS(own->line_count, 1);
    IS(async->line_count, 0);
    own_eq_gone(f, own - f->e.eq);
}

/* An entry that cannot be written to memory is an overrun, whichever part fails. */
FIXTURE_TEST("/cq/write-fails", test_write_fails)
{
    for (uint32_t nth = 1; nth <= 2; nth++) {
        recreate(f, 4, false);
        post(f);
        fake_fail_dma(&f->env, nth, false);
        post_fails(f);
        IS(f->env.refused, 1);
        IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
        fake_fail_dma(&f->env, 0, false);
        post_fails(f);
        expect(f, 0);
        expect_none(f);
        IS(f->e.stats.cq_overruns, nth);
    }
}

FIXTURE_TEST("/cq/ci-in-memory", test_ci_in_memory)
{
    uint64_t reads;

    recreate(f, 4, true);
    start_at(f, 0xfffffffc);
    put_ci(f, f->seen);
    reads = f->env.reads;
    post_many(f, 4);
    IS(f->env.reads, reads);      /* only when it is full */
    for (uint32_t i = 0; i < 20; i++) {
        expect(f, i);
        put_ci(f, f->seen);
        post(f);
    }
    post_fails(f);
}

FIXTURE_TEST("/cq/ci-in-memory-wrong", test_ci_in_memory_wrong)
{
    static const int32_t wrong[] = { 5, 6, 1000, INT32_MAX, INT32_MIN, -1000 };

    for (size_t row = 0; row < ARRAY_SIZE(wrong); row++) {
        ernic_trace_reset();
        recreate(f, 4, true);
        post_many(f, 4);
        put_ci(f, wrong[row]);
        post_fails(f);
        IS(events_of_type(f, ERNIC_EV_CQ_ERR), 1);
        IS(ernic_trace_count("ernic_guest_cq_ci"), 1);
        IS(cq(f)->ci, 0);
    }
    recreate(f, 4, true);
    post_many(f, 4);
    put_ci(f, 4);
    fake_fail_dma(&f->env, 1, false);
    post_fails(f);
    IS(ernic_trace_count("ernic_guest_cq_ci_dma"), 1);
    fake_fail_dma(&f->env, 0, false);
}

/* The new ring, prepared as the contract requires. */
static struct ernic_cmd_cq_create resize_command(Fixture *f, uint32_t depth)
{
    struct ernic_cmd_cq_create cmd = command(f, depth);
    uint64_t ring = le64_to_cpu(cmd.buf.addr);

    cmd.handle = cpu_to_le32(f->cqn);
    cmd.ci_addr = 0;
    cmd.eq = 0;
    for (uint32_t i = f->seen; i != f->seen + depth; i++) {
        *(uint8_t *)fake_ptr(&f->env, ring + (i & (depth - 1)) * CQE_SIZE +
                             CQE_SIZE - 1, 1) =
            (i / depth) % 2 ? ERNIC_CQE_PHASE : 0;
    }
    return cmd;
}

/* The answer of the device with these changes of a command for a ring of @DEPTH. */
#define RESIZE(f, DEPTH, CHANGE)                                            \
    ({ struct ernic_cmd_cq_create cmd = resize_command(f, DEPTH); CHANGE;   \
       ernic_cq_resize(&(f)->e, 0, &cmd); })

static uint8_t resize(Fixture *f, uint32_t depth)
{
    uint64_t ring = 0;
    uint8_t status = RESIZE(f, depth, ring = le64_to_cpu(cmd.buf.addr));

    if (status == ERNIC_OK) {
        f->depth = depth;
        f->ring = ring;
    }
    return status;
}

FIXTURE_TEST("/cq/resize", test_resize)
{
    static const uint32_t depths[] = { 8, 2, 16, 4, 4, 64, 8, 2, 32 };
    uint32_t got;

    for (uint32_t start = 0; start < 9; start++) {
        for (uint32_t waiting = 0; waiting <= 2; waiting++) {
            recreate(f, 4, false);
            start_at(f, start - 4);
            got = 0;
            for (size_t row = 0; row < ARRAY_SIZE(depths); row++) {
                post_many(f, waiting - (f->posted - got));
                OK(resize(f, depths[row]));
                if (waiting) {
                    expect(f, got++);
                }
                consume(f);
            }
            expect_many(f, got, f->posted);
            expect_none(f);
        }
    }
}

FIXTURE_TEST("/cq/resize-refused", test_resize_refused)
{
    ErnicCq before;

    post_many(f, 4);
    f->seen = 1;
    consume(f);
    f->seen = 0;
    before = *cq(f);
    IS(resize(f, 2), ERNIC_ERR_PARAM);              /* three are left */
    IS(RESIZE(f, 8, cmd.depth = cpu_to_le32(7)), ERNIC_ERR_PARAM);
    IS(RESIZE(f, 8, cmd.depth = cpu_to_le32(ERNIC_MAX_CQ_DEPTH * 2)), ERNIC_ERR_PARAM);
    IS(RESIZE(f, 8, cmd.ci_addr = cpu_to_le64(f->ring)), ERNIC_ERR_RESERVED);
    IS(RESIZE(f, 8, cmd.eq = cpu_to_le32(f->eqn)), ERNIC_ERR_RESERVED);
    IS(RESIZE(f, 8, cmd.buf.reserved[1] = 1), ERNIC_ERR_RESERVED);
    g_assert_cmpmem(&before, sizeof(before), cq(f), sizeof(before));
    OK(resize(f, 4));                               /* exactly sufficient */
    post(f);
    post_fails(f);
    IS(resize(f, 8), ERNIC_ERR_STATE);
}

/* Whichever access fails, the old ring stays in use. */
FIXTURE_TEST("/cq/resize-fails", test_resize_fails)
{
    uint32_t nth = 1, pages = f->e.num_pages;

    post_many(f, 3);
    for (fake_fail_dma(&f->env, nth, false); resize(f, 8) != ERNIC_OK;
         fake_fail_dma(&f->env, ++nth, false)) {
        IS(f->env.refused, 1);
        IS(cq(f)->depth, 4);
        IS(f->e.num_pages, pages);
    }
    IS(nth, 3);                         /* one read, one write for all */
    fake_fail_dma(&f->env, 0, false);
    post(f);
    expect_many(f, 0, 4);
}

/* The counter in memory frees more room than the doorbells did. */
FIXTURE_TEST("/cq/resize-reads-ci", test_resize_reads_ci)
{
    recreate(f, 8, true);
    post_many(f, 8);
    IS(resize(f, 2), ERNIC_ERR_PARAM);
    f->seen = 7;
    put_ci(f, 7);
    OK(resize(f, 2));
    expect(f, 7);
    expect_none(f);
}
