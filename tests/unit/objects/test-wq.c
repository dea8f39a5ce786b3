/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive requests and shared receive queues: malformed requests, a change of
 * size, and refused commands.
 */
#include "qemu/osdep.h"
#include "fake_env.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "test.h"
#include "trace-mark.h"

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
    uint32_t eqn, pd, srqn;
    uint64_t eq_ring, ring;
    uint32_t depth, stride;     /* bytes */
    uint32_t posted;
    uint32_t events;            /* entries of the event queue that were read */
    ErnicRecv recv;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
    struct ernic_cmd_eq_create cmd = { .depth = cpu_to_le32(64), .async = 1 };

    fake_bare_init(&f->e, &f->env);
    f->eq_ring = fake_alloc(&f->env, 64 * sizeof(struct ernic_eqe), 4096);
    cmd.buf.addr = cpu_to_le64(f->eq_ring);
    OK(ernic_eq_create(&f->e, 0, &cmd, &f->eqn));
    OK(ernic_pd_alloc(&f->e, 0, &f->pd));
}

static void teardown(Fixture *f, gconstpointer data)
{
    if (f->srqn) {
        OK(ernic_srq_destroy(&f->e, 0, f->srqn));
    }
    IS(f->e.srq_ids.count, f->e.srq_ids.size - 1);
    OK(ernic_pd_free(&f->e, 0, f->pd));
    OK(ernic_eq_destroy(&f->e, 0, f->eqn));
    IS(f->e.num_pages, 0);
    fake_bare_fini(&f->e);
}

static struct ernic_cmd_srq command(Fixture *f, uint32_t depth, uint16_t units)
{
    struct ernic_cmd_srq cmd = {
        .buf.addr = cpu_to_le64(fake_alloc(&f->env, depth * units * 64, 64)),
        .pd = cpu_to_le32(f->pd), .depth = cpu_to_le32(depth),
        .stride = cpu_to_le16(units),
    };

    return cmd;
}

static void create(Fixture *f, uint32_t depth, uint16_t units, uint32_t limit)
{
    struct ernic_cmd_srq cmd = command(f, depth, units);

    cmd.limit = cpu_to_le32(limit);
    f->ring = le64_to_cpu(cmd.buf.addr);
    f->depth = depth;
    f->stride = units * 64;
    OK(ernic_srq_create(&f->e, 0, &cmd, &f->srqn));
}

static ErnicSrq *srq(Fixture *f)
{
    return &f->e.srq[f->srqn];
}

static uint8_t *slot(Fixture *f, uint32_t index)
{
    return fake_ptr(&f->env, f->ring + (index & (f->depth - 1)) * f->stride, f->stride);
}

/* Post @n requests of no SGE, whose wr_id counts up. */
static void post(Fixture *f, uint32_t n)
{
    uint32_t pi = srq(f)->wq.pi;

    for (; n; n--, pi++) {
        memset(slot(f, pi), 0, f->stride);
        stq_le_p(slot(f, pi), f->posted++);
    }
    OK(ernic_wq_produce(&srq(f)->wq, srq(f)->wq.ci, pi));
}

static bool take(Fixture *f)
{
    memset(&f->recv, 0xa5, sizeof(f->recv));
    return ernic_srq_take(&f->e, f->srqn, &f->recv);
}

/* Number of events since the last call; all are of @type. */
static uint32_t events(Fixture *f, uint8_t type)
{
    uint32_t n = 0;

    for (; f->events != f->e.eq[f->eqn].pi; f->events++, n++) {
        struct ernic_eqe *eqe =
            fake_ptr(&f->env, f->eq_ring + f->events % 64 * sizeof(*eqe),
                     sizeof(*eqe));

        IS(eqe->type, type);
        IS(le32_to_cpu(eqe->element), f->srqn);
    }
    return n;
}

/* More room than 32 bits can count is sufficient. */
FIXTURE_TEST("/rq/huge", test_huge)
{
    create(f, 2, 5, 0);
    post(f, 1);
    stw_le_p(slot(f, 0) + 8, 3);
    stl_le_p(slot(f, 0) + 16 + 8, 0xffffffff);
    stl_le_p(slot(f, 0) + 32 + 8, 0xffffffff);
    stl_le_p(slot(f, 0) + 48 + 8, 2);
    g_assert_true(take(f));
    IS(f->recv.fault, 0);
    IS(f->recv.len, 0xffffffff);
}

/* The reason is as the trace reports it; NULL: accepted. */
static void malformed(Fixture *f, const char *why, uint16_t num_sge, uint16_t units,
                      uint8_t at, uint8_t to)
{
    create(f, 2, units, 0);
    f->posted = 0;
    post(f, 2);
    stw_le_p(slot(f, 0) + 8, num_sge);
    if (at) {
        slot(f, 0)[at] = to;
    }
    stq_le_p(slot(f, 0), 0x99);
    ernic_trace_reset();
    g_assert_true(take(f));
    IS(f->recv.wr_id, 0x99);
    IS(ernic_trace_count("ernic_guest_rwqe"), !!why);
    IS(f->recv.fault, why ? ERNIC_FAULT_RECV_WQE : ERNIC_FAULT_NONE);
    IS(f->recv.num_sge, why ? 0 : num_sge);
    g_assert_true(!why || (f->recv.len == 0 && strstr(ernic_trace_line(0), why)));
    /* The bad request is gone, and the next one is valid. */
    g_assert_true(take(f));
    IS(f->recv.wr_id, 1);
    IS(f->recv.index, 1);
    IS(f->recv.fault, 0);
    g_assert_false(take(f));
    OK(ernic_srq_destroy(&f->e, 0, f->srqn));
    f->srqn = 0;
}

FIXTURE_TEST("/rq/malformed", test_malformed)
{
    malformed(f, "reserved field", 0, 1, 10, 1);
    malformed(f, "reserved field", 0, 1, 15, 0x80);
    malformed(f, "too many SGEs", 17, 5, 0, 0);
    malformed(f, "too many SGEs", 0xffff, 5, 0, 0);
    malformed(f, "too many SGEs", 0x1000, 1, 0, 0);     /* * 16 is 0 in 16 bits */
    malformed(f, "SGEs beyond the slot", 4, 1, 0, 0);
    malformed(f, "SGEs beyond the slot", 8, 2, 0, 0);
    malformed(f, "SGEs beyond the slot", 16, 4, 0, 0);
    malformed(f, NULL, 3, 1, 0, 0);
    malformed(f, NULL, 7, 2, 0, 0);
    malformed(f, NULL, 15, 4, 0, 0);
    malformed(f, NULL, 16, 5, 0, 0);
}

FIXTURE_TEST("/rq/srq-dma", test_srq_dma)
{
    create(f, 4, 1, 0);
    post(f, 2);
    fake_fail_dma(&f->env, 1, false);
    g_assert_true(take(f));
    IS(f->recv.fault, ERNIC_FAULT_RECV_DMA);
    IS(events(f, ERNIC_EV_SRQ_ERR), 1);
    fake_fail_dma(&f->env, 0, false);
    g_assert_false(take(f));
    IS(events(f, ERNIC_EV_SRQ_ERR), 0);
}

/* The answer of the device with these changes of a command for 4 requests. */
#define CREATE(f, UCTX, SRQN, ...)                                          \
    ({ struct ernic_cmd_srq cmd = command(f, 4, 1); __VA_ARGS__;            \
       ernic_srq_create(&(f)->e, UCTX, &cmd, SRQN); })

FIXTURE_TEST("/rq/srq-create-refused", test_create_refused)
{
    static const uint32_t depths[] = { 0, 3, ERNIC_MAX_WQ_DEPTH * 2 };
    static const uint16_t strides[] = { 0, ERNIC_RQ_STRIDE_MAX + 1, 0xffff };
    uint32_t srqn = 77;

    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        IS(CREATE(f, 0, &srqn, cmd.depth = cpu_to_le32(depths[i])), ERNIC_ERR_PARAM);
        IS(CREATE(f, 0, &srqn, cmd.stride = cpu_to_le16(strides[i])), ERNIC_ERR_PARAM);
    }
    IS(CREATE(f, 0, &srqn, cmd.limit = cpu_to_le32(5)), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &srqn, cmd.limit = cpu_to_le32(UINT32_MAX)), ERNIC_ERR_PARAM);
    IS(CREATE(f, 0, &srqn, cmd.handle = cpu_to_le32(1)), ERNIC_ERR_RESERVED);
    IS(CREATE(f, 0, &srqn, cmd.pd = cpu_to_le32(f->pd + 1)), ERNIC_ERR_HANDLE);
    IS(CREATE(f, 1, &srqn), ERNIC_ERR_HANDLE);         /* the PD is the kernel's */
    IS(CREATE(f, 0, &srqn, cmd.buf.reserved[0] = 1), ERNIC_ERR_RESERVED);
    IS(srqn, 77);
    IS(f->e.pd[f->pd].refs, 0);
}

FIXTURE_TEST("/rq/srq-create-all", test_create_all)
{
    struct ernic_cmd_srq cmd = command(f, 1, 1);
    uint32_t srqn[64], last, n = 0;

    while (ernic_srq_create(&f->e, 0, &cmd, &srqn[n]) == ERNIC_OK) {
        n++;
    }
    IS(n, f->e.srq_ids.size - 1);
    IS(ernic_srq_create(&f->e, 0, &cmd, &last), ERNIC_ERR_NO_RESOURCE);
    IS(f->e.pd[f->pd].refs, n);
    while (n--) {
        OK(ernic_srq_destroy(&f->e, 0, srqn[n]));
    }
}

/* The answer of the device if a command has this change. */
#define MODIFY(f, CHANGE)                                                   \
    ({ struct ernic_cmd_srq cmd = { .handle = cpu_to_le32((f)->srqn) };     \
       CHANGE; ernic_srq_modify(&(f)->e, 0, &cmd); })

static uint8_t modify(Fixture *f, uint32_t limit)
{
    return MODIFY(f, cmd.limit = cpu_to_le32(limit));
}

FIXTURE_TEST("/rq/srq-modify-refused", test_modify_refused)
{
    create(f, 4, 1, 0);
    IS(MODIFY(f, cmd.buf.addr = cpu_to_le64(1); cmd.limit = 1), ERNIC_ERR_RESERVED);
    IS(MODIFY(f, cmd.pd = cpu_to_le32(1); cmd.limit = 1), ERNIC_ERR_RESERVED);
    IS(MODIFY(f, cmd.stride = cpu_to_le16(1); cmd.limit = 1), ERNIC_ERR_RESERVED);
    IS(modify(f, 5), ERNIC_ERR_PARAM);
    IS(modify(f, 0xffffffff), ERNIC_ERR_PARAM);
    IS(srq(f)->limit, 0);
    IS(events(f, ERNIC_EV_SRQ_LIMIT), 0);
}

/* Resize to a ring of @depth with the posted requests; if refused, nothing changes. */
static uint8_t resize(Fixture *f, uint32_t depth)
{
    struct ernic_cmd_srq cmd = command(f, depth, f->stride / 64);
    Fixture old = *f;
    uint8_t status;

    cmd.handle = cpu_to_le32(f->srqn);
    cmd.pd = 0;
    cmd.stride = 0;
    f->ring = le64_to_cpu(cmd.buf.addr);
    f->depth = depth;
    for (uint32_t i = srq(f)->wq.ci; i != srq(f)->wq.pi; i++) {
        memcpy(slot(f, i), slot(&old, i), f->stride);
    }
    status = ernic_srq_modify(&f->e, 0, &cmd);
    if (status != ERNIC_OK) {
        f->ring = old.ring;
        f->depth = old.depth;
    }
    return status;
}

/* Requests keep their order in every ring; then it is full. */
FIXTURE_TEST("/rq/srq-resize", test_resize)
{
    static const uint32_t depths[] = { 8, 32, 4, 4, 16 };
    uint64_t next = 0;

    create(f, 4, 2, 0);
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        post(f, 4);
        g_assert_true(take(f));
        IS(f->recv.wr_id, next++);
        OK(resize(f, depths[i]));
        IS(srq(f)->wq.depth, depths[i]);
        post(f, 1);
        while (take(f)) {
            IS(f->recv.fault, ERNIC_FAULT_NONE);
            IS(f->recv.wr_id, next++);
        }
        IS(next, f->posted);
    }
    IS(ernic_wq_produce(&srq(f)->wq, srq(f)->wq.ci, srq(f)->wq.pi + 17), ERNIC_ERR_FULL);
    post(f, 16);
    IS(ernic_trace_count("ernic_srq_resize"), ARRAY_SIZE(depths));
}

FIXTURE_TEST("/rq/srq-resize-refused", test_resize_refused)
{
    create(f, 8, 1, 0);
    post(f, 5);
    OK(modify(f, 3));
    IS(resize(f, 4), ERNIC_ERR_PARAM);        /* 5 posted */
    g_assert_true(take(f));
    OK(resize(f, 4));
    g_assert_true(take(f) && take(f));
    IS(events(f, ERNIC_EV_SRQ_LIMIT), 1);
    OK(modify(f, 2));
    IS(resize(f, 1), ERNIC_ERR_PARAM);        /* the limit */
    IS(resize(f, 3), ERNIC_ERR_PARAM);
    IS(resize(f, 2 * ERNIC_MAX_WQ_DEPTH), ERNIC_ERR_PARAM);

    IS(MODIFY(f, cmd.depth = cpu_to_le32(8); cmd.limit = 1), ERNIC_ERR_RESERVED);
    IS(MODIFY(f, cmd.depth = cpu_to_le32(8); cmd.buf.reserved[0] = 1),
       ERNIC_ERR_RESERVED);
    fake_fail_dma(&f->env, 1, false);
    g_assert_true(take(f));
    fake_fail_dma(&f->env, 0, false);
    IS(resize(f, 8), ERNIC_ERR_STATE);        /* SRQ_ERR */
    IS(srq(f)->wq.depth, 4);
}

/* An event in the backlog is removed with its queue. */
FIXTURE_TEST("/rq/srq-destroy-with-event", test_destroy_with_event)
{
    ErnicEq *eq = &f->e.eq[f->eqn];

    create(f, 8, 1, 0);
    eq->ci = eq->pi - eq->depth;
    OK(modify(f, 8));
    IS(eq->line_count, 1);
    OK(ernic_srq_destroy(&f->e, 0, f->srqn));
    IS(eq->line_count, 0);
    f->srqn = 0;
}
