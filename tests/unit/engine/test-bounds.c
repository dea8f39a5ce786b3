/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work whose size is the number of objects: with the greatest limits, every call ends
 * after its slice, and the rest follows in later slices.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/job.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "raw_fixture.h"
#include "transport/sched.h"
#include "transport/tx.h"

/* The work of a call may exceed its slice by one step, usually no more than this. */
#define STEP    64
#define QPS     (ERNIC_LIM_QP - 1)
#define CQS     (ERNIC_LIM_CQ - 1)

typedef struct Bounds {
    FakeEnv env;
    Ernic *e;
    uint32_t step;              /* work by which a run may exceed its slice */
} Bounds;

static void open_device(Bounds *b)
{
    b->step = STEP;
    b->e = FAKE_ERNIC(&b->env, cfg.max_qp = ERNIC_LIM_QP; cfg.max_cq = ERNIC_LIM_CQ);
    ernic_set_link(b->e, b->env.now, true);
    fake_set_gid(b->e, 0, 1);
}

/* One run of the engine; false: it needs no other now. */
static bool run(Bounds *b)
{
    uint64_t before = b->e->work.done;

    b->env.wake = UINT64_MAX;
    ernic_run(b->e, b->env.now);
    g_assert_cmpuint(b->e->work.done - before, <=, ERNIC_WORK_SLICE + b->step);
    g_array_set_size(b->env.wakes, 0);
    return b->env.wake <= b->env.now;
}

/* Runs until it needs no other; returns how often. */
static uint32_t run_all(Bounds *b)
{
    uint32_t runs = 1;

    while (run(b)) {
        runs++;
    }
    return runs;
}

#define BOUNDS_TEST(path, fn)                                               \
    WORLD_TEST(path, fn, Bounds, b, open_device(b),                         \
               fake_ernic_done(&b->env, b->e))

/* Fill the ring with events of one completion queue; then all of them wait. */
static void fill_eq(Bounds *b, FakeEq *eq)
{
    uint64_t mark;
    FakeCq cq;

    fake_create_eq(b->e, eq, CQS + 1, 0, true);
    mark = b->env.next;
    for (uint32_t i = 1; i <= CQS; i++) {
        b->env.next = mark;             /* no entry is written to these */
        fake_create_cq(b->e, &cq, 2, FAKE_NONE);
        IS(cq.cqn, i);
    }
    for (uint32_t i = 0; i < eq->depth; i++) {
        ernic_event_raise(b->e, eq->eqn, ERNIC_EVC_CQ, 1, &b->e->cq[1].events,
                          ERNIC_EV_COMPLETION, 0);
    }
    for (uint32_t i = 1; i <= CQS; i++) {
        ernic_event_raise(b->e, eq->eqn, ERNIC_EVC_CQ, i, &b->e->cq[i].events,
                          ERNIC_EV_CQ_ERR, 0);
    }
    IS(b->e->eq[eq->eqn].line_count, CQS);
    eq->ci = eq->depth;
    g_array_set_size(b->env.wakes, 0);
}

BOUNDS_TEST("/bounds/events", test_events)
{
    uint32_t slices;
    struct ernic_eqe eqe;
    uint64_t before;
    FakeEq eq;

    fill_eq(b, &eq);
    ernic_slice(b->e);
    before = b->e->work.done;
    fake_ring_eq(b->e, &eq);
    g_assert_cmpuint(b->e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
    g_assert_cmpuint(b->e->eq[eq.eqn].line_count, >, CQS / 2);
    g_assert_true(ernic_check(b->e, NULL));
    slices = run_all(b);
    g_assert_cmpuint(slices, >, 4);
    for (uint32_t i = 1; i <= CQS; i++) {
        g_assert_true(fake_poll_eq(b->e, &eq, &eqe));
        IS(eqe.element, i);
        IS(eqe.type, ERNIC_EV_CQ_ERR);
    }
    g_assert_false(fake_poll_eq(b->e, &eq, &eqe));
}

/* A state that is saved between two slices has the rest of the events. */
BOUNDS_TEST("/bounds/events-saved", test_events_saved)
{
    struct ernic_eqe eqe;
    uint32_t n = 0;
    FakeEq eq;

    fill_eq(b, &eq);
    ernic_slice(b->e);
    fake_ring_eq(b->e, &eq);
    RELOAD(b->e, b->env.now);
    run_all(b);
    while (fake_poll_eq(b->e, &eq, &eqe)) {
        n++;
    }
    IS(n, CQS);
}

/* All queue pairs wait for their train to leave; none has anything else to do. */
static void wait_all(Bounds *b, uint64_t serial)
{
    for (uint32_t i = 1; i <= QPS; i++) {
        b->e->qp[i].qpn = i;
        b->e->qp[i].used = true;
        b->e->qp[i].timer_due = ERNIC_NEVER;
        b->e->qp[i].sq.ack_due = b->e->qp[i].sq.rnr_due = ERNIC_NEVER;
        b->e->qp[i].sq.tx_serial = serial;
        ernic_sched_add(b->e, &b->e->qp[i], ERNIC_RING_DEPARTURE);
    }
}

static void forget_all(Bounds *b)
{
    for (uint32_t i = 1; i <= QPS; i++) {
        ernic_sched_forget(b->e, &b->e->qp[i]);
        memset(&b->e->qp[i], 0, sizeof(b->e->qp[i]));
    }
    g_assert_false(b->e->departing.head || b->e->departing.tail);
}

BOUNDS_TEST("/bounds/departure", test_departure)
{
    uint32_t slices;

    wait_all(b, 5);
    b->e->tx->serial = b->e->tx->taken = 5;
    b->env.tx_kept = 5;                  /* none has left */
    b->e->tx->departed = UINT64_MAX;
    slices = run_all(b);
    g_assert_cmpuint(slices, >, QPS / ERNIC_WORK_SLICE);
    IS(b->e->departing.count, QPS);
    b->env.tx_kept = 0;                  /* all have */
    g_assert_true(run(b));
    g_assert_nonnull(GUINT_TO_POINTER(b->e->departing.head));
    run_all(b);
    IS(b->e->departing.head, 0);
    forget_all(b);
}

/* To take the last one out of a ring costs no more than to take the first. */
BOUNDS_TEST("/bounds/forget", test_forget)
{
    uint64_t before;

    wait_all(b, 5);
    before = b->e->work.done;
    ernic_sched_forget(b->e, &b->e->qp[QPS]);
    ernic_sched_forget(b->e, &b->e->qp[QPS / 2]);
    ernic_sched_forget(b->e, &b->e->qp[1]);
    g_assert_cmpuint(b->e->work.done - before, <, STEP);
    IS(b->e->departing.head, 2);
    IS(b->e->departing.tail, QPS - 1);
    IS(b->e->departing.count, QPS - 3);
    forget_all(b);
}

/* The records of all queues of a page are read in many slices, and each of them once. */
BOUNDS_TEST("/bounds/settle", test_settle)
{
    uint64_t mark, before, reads;
    uint32_t pd = fake_create_pd(b->e), slices = 0;
    bool done = false;
    FakeCq cq;
    FakeQp qp;

    fake_use_records(b->e, true);
    fake_create_cq(b->e, &cq, 64, FAKE_NONE);
    mark = b->env.next;
    for (uint32_t i = ERNIC_QPN_GSI + 1; i <= QPS; i++) {
        b->env.next = mark;             /* nothing is posted to these */
        fake_create_deep_qp(b->e, &qp, ERNIC_QPT_UD, pd, cq.cqn, cq.cqn, 16);
        fake_connect(b->e, &qp, 0, 1);
    }
    run_all(b);
    for (reads = b->env.reads; !done; slices++) {
        ernic_slice(b->e);
        before = b->e->work.done;
        done = ernic_page_settle(b->e, b->env.now, 0);
        g_assert_cmpuint(b->e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
    }
    IS(b->env.reads - reads, QPS - ERNIC_QPN_GSI);
    g_assert_cmpuint(slices, >, QPS / ERNIC_WORK_SLICE);
}

/* A list is not set to zero before its pages are read: the host has not provided them. */
TEST("/bounds/no-zeros", test_no_zeros)
{
    enum { PAGES = 1 << 18 };
    long page = sysconf(_SC_PAGESIZE);
    struct ernic_cmd cmd;
    struct ernic_rsp rsp;
    uint8_t resident;
    uintptr_t last;
    Bounds b;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("the allocator of the sanitizer fills what it allocates");
        return;
    }
    open_device(&b);
    cmd = fake_reg_list(fake_create_pd(b.e), fake_alloc(&b.env, PAGES * 8, 4096), PAGES,
                        1);
    ernic_slice(b.e);
    g_assert_false(ernic_cmd(b.e, b.env.now, &cmd, &rsp));
    g_assert_true(b.e->job->filling);
    last = (uintptr_t)&b.e->job->buf.page[PAGES - 1] & ~(page - 1);
    IS(mincore((void *)last, page, &resident), 0);
    IS(resident & 1, 0);
    ernic_reset(b.e);
    fake_ernic_done(&b.env, b.e);
}

/* A bind between two slices of MR_FREE finds no region, so MR_FREE never fails late. */
BOUNDS_TEST("/bounds/free-bind", test_free_bind)
{
    enum { CHUNKS = 4096 };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_FREE };
    struct ernic_wqe_bind_mw wr = { .length = 4096 };
    struct ernic_rsp rsp;
    uint32_t pd = fake_create_pd(b->e);
    uint64_t page = fake_alloc(&b->env, 4096, 4096);

    wr.rkey = wr.new_rkey = fake_alloc_mw(b->e, pd, 1);
    wr.lkey = fake_reg_demand(b->e, pd, 0, (uint64_t)CHUNKS * ERNIC_PAGES_MAX << 12,
                              ERNIC_ACCESS_MW_BIND | ERNIC_ACCESS_LOCAL_WRITE);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        OK(fake_set_pages(b->e, wr.lkey, (uint64_t)i * ERNIC_PAGES_MAX, 1, page,
                          ERNIC_PAGE_READ));
    }
    cmd.handle.handle = cpu_to_le32(wr.lkey);
    ernic_slice(b->e);
    g_assert_false(ernic_cmd(b->e, b->env.now, &cmd, &rsp));
    IS(ernic_mw_bind(b->e, pd, 0, &wr), ERNIC_FAULT_MW_BIND);
    do {
        ernic_slice(b->e);
    } while (!ernic_cmd(b->e, b->env.now, &cmd, &rsp));
    OK(rsp.status);
}

/* One queue pair is in all groups, and the first in half of them. */
BOUNDS_TEST("/bounds/members", test_members)
{
    enum { OTHERS = ERNIC_LIM_MCAST_ATTACH / ERNIC_LIM_MCAST_GROUP - 1 };
    FakeQp qp[OTHERS + 1];
    uint32_t pd = fake_create_pd(b->e), i, pos;
    ErnicGid gid;
    FakeCq cq;

    fake_create_cq(b->e, &cq, 64, FAKE_NONE);
    for (i = 0; i <= OTHERS; i++) {
        fake_create_qp(b->e, &qp[i], ERNIC_QPT_UD, pd, cq.cqn, cq.cqn, FAKE_NONE);
    }
    for (uint32_t g = 0; g < ERNIC_LIM_MCAST_GROUP; g++) {
        gid = (ErnicGid) { { 0xff, 0x0e, [15] = g } };
        for (i = 0; i <= OTHERS; i++) {
            OK(fake_mcast(b->e, ERNIC_CMD_MCAST_ATTACH, gid.raw,
                          qp[(i + g % 2) % (OTHERS + 1)].qpn));
        }
    }
    OK(fake_destroy(b->e, ERNIC_CMD_QP_DESTROY, qp[0].qpn));
    g_assert_true(ernic_check(b->e, NULL));
    IS(b->e->num_groups, ERNIC_LIM_MCAST_GROUP);
    for (uint32_t g = 0; g < ERNIC_LIM_MCAST_GROUP; g++) {
        gid = (ErnicGid) { { 0xff, 0x0e, [15] = g } };
        for (i = pos = 0; ernic_mcast_next(b->e, &gid, &pos); i++) {
        }
        IS(i, OTHERS);
    }
    for (i = 1; i <= OTHERS; i++) {
        OK(fake_destroy(b->e, ERNIC_CMD_QP_DESTROY, qp[i].qpn));
    }
    IS(b->e->num_groups, 0);
}

/* A send queue of 2^15 requests, none of which the device has read, in Error. */
BOUNDS_TEST("/bounds/flush", test_flush)
{
    enum { DEPTH = ERNIC_MAX_WQ_DEPTH };
    uint32_t runs, pd, done = 0;
    struct ernic_cqe cqe;
    FakeCq cq;
    FakeQp qp;

    pd = fake_create_pd(b->e);
    fake_create_cq(b->e, &cq, 2 * DEPTH, FAKE_NONE);
    fake_create_deep_qp(b->e, &qp, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, DEPTH);
    fake_connect(b->e, &qp, 5, 0);
    OK(fake_modify_qp(b->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    qp.sq_pi = DEPTH;
    fake_ring_sq(b->e, &qp);
    runs = run_all(b);
    while (fake_poll_cq(b->e, &cq, &cqe)) {
        IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
        done++;
    }
    IS(done, DEPTH);
    g_assert_cmpuint(runs, >=, DEPTH * ERNIC_WORK_COMPLETE / ERNIC_WORK_SLICE);
}

/* The work for a message of @parts SGEs at either end, to the queue pair itself. */
static uint64_t work_of_parts(Bounds *b, FakeQp *qp, FakeCq *cq, uint64_t buf,
                              uint32_t key, uint16_t parts)
{
    enum { LEN = 1024 };
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND, .flags = ERNIC_WR_SIGNALED, .count = parts,
    };
    struct ernic_sge sge[ERNIC_MAX_SGE];
    uint64_t before = b->e->work.done;
    struct ernic_cqe cqe;

    for (uint32_t i = 0; i < parts; i++) {
        sge[i] = fake_sge(buf + i * 4096, LEN / parts, key);
    }
    fake_post_recv(b->e, qp, 0, sge, parts);
    fake_ring_rq(b->e, qp);
    fake_post_send(b->e, qp, &wqe, sge);
    fake_ring_sq(b->e, qp);
    run_all(b);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_true(fake_poll_cq(b->e, cq, &cqe));
        IS(cqe.status, ERNIC_WC_SUCCESS);
    }
    return b->e->work.done - before;
}

/* Each part has a key to check and memory to find. */
BOUNDS_TEST("/bounds/parts", test_parts)
{
    uint32_t pd = fake_create_pd(b->e), key;
    uint64_t buf, one;
    FakeQp qp;
    FakeCq cq;

    fake_create_cq(b->e, &cq, 64, FAKE_NONE);
    fake_create_qp(b->e, &qp, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_connect(b->e, &qp, qp.qpn, 1);
    buf = fake_alloc(&b->env, ERNIC_MAX_SGE * 4096, 4096);
    key = fake_reg_mr(b->e, pd, buf, ERNIC_MAX_SGE * 4096, ERNIC_ACCESS_LOCAL_WRITE);
    one = work_of_parts(b, &qp, &cq, buf, key, 1);
    g_assert_cmpuint(work_of_parts(b, &qp, &cq, buf, key, ERNIC_MAX_SGE) - one, >=,
                     2 * 2 * (ERNIC_MAX_SGE - 1));
}

/* Each frame is compared with all rules that exist, of which the last one is right. */
BOUNDS_TEST("/bounds/rules", test_rules)
{
    enum { FRAMES = 60, RULES = ERNIC_LIM_FLOW, LEN = 60 };
    struct ernic_flow_rule rule = { };
    uint32_t pd = fake_create_pd(b->e), handle;
    uint64_t buf, before;
    FakeQp out, in;
    uint32_t key;
    FakeCq cq;

    fake_create_cq(b->e, &cq, 256, FAKE_NONE);
    raw_open(b->e, &out, pd, cq.cqn);
    raw_open(b->e, &in, pd, cq.cqn);
    rule.qpn = cpu_to_le32(in.qpn);
    for (uint32_t i = 0; i < RULES; i++) {
        OK(fake_create_flow(b->e, &rule, &handle));
    }
    buf = fake_alloc(&b->env, 4096, 4096);
    key = fake_reg_mr(b->e, pd, buf, 4096, ERNIC_ACCESS_LOCAL_WRITE);
    b->step = 8 * STEP;          /* some frames of one turn */
    before = b->e->work.done;
    for (uint32_t i = 0; i < FRAMES; i++) {
        raw_send(b->e, &out, buf, LEN, key);
    }
    run_all(b);
    IS(b->e->stats.rx_frames, FRAMES);
    /* Once when it is sent and once when it arrives. */
    g_assert_cmpuint(b->e->work.done - before, >=, FRAMES * 2 * RULES / 8);
}
