/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues: each event written once and in order, none lost while the ring
 * is full, the entry before the interrupt.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/cq.h"
#include "fake_env.h"
#include "test.h"
#include "transport/qp.h"
#include "trace-mark.h"

#define EQE_SIZE sizeof(struct ernic_eqe)

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
    uint64_t ring;
    uint32_t eqn, depth, seen;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
    fake_bare_init(&f->e, &f->env);
    f->depth = 4;
}

static void teardown(Fixture *f, gconstpointer data)
{
    if (f->eqn) {
        OK(ernic_eq_destroy(&f->e, 0, f->eqn));
    }
    IS(f->e.num_pages, 0);
    IS(f->e.eq_ids.count, f->e.eq_ids.size - 1);
    fake_bare_fini(&f->e);
}

static struct ernic_cmd_eq_create command(Fixture *f)
{
    struct ernic_cmd_eq_create cmd = {
        .depth = cpu_to_le32(f->depth), .vector = cpu_to_le16(3), .async = 1,
    };

    f->ring = fake_alloc(&f->env, f->depth * EQE_SIZE, 4096);
    cmd.buf.addr = cpu_to_le64(f->ring);
    return cmd;
}

static void create(Fixture *f)
{
    struct ernic_cmd_eq_create cmd = command(f);

    OK(ernic_eq_create(&f->e, 0, &cmd, &f->eqn));
    IS(f->e.async_eq, f->eqn);
}

static void raise_qp(Fixture *f, uint32_t qpn, uint8_t type, uint32_t detail)
{
    ernic_event_raise(&f->e, f->eqn, ERNIC_EVC_QP, qpn, &f->e.qp[qpn].events, type,
                      detail);
}

/* Raise events of the queue pairs from @qpn on, below @end. */
static void raise_many(Fixture *f, uint32_t qpn, uint32_t end, uint8_t type)
{
    while (qpn < end) {
        raise_qp(f, qpn++, type, 0);
    }
}

/* The next entry, if its phase marks it as new. */
static bool poll(Fixture *f, struct ernic_eqe *eqe)
{
    uint32_t slot = f->seen & (f->depth - 1);

    memcpy(eqe, fake_ptr(&f->env, f->ring + slot * EQE_SIZE, EQE_SIZE), EQE_SIZE);
    if (eqe->phase != ((f->seen / f->depth + 1) & 1)) {
        return false;
    }
    eqe->element = le32_to_cpu(eqe->element);
    eqe->detail = le32_to_cpu(eqe->detail);
    eqe->timestamp = le64_to_cpu(eqe->timestamp);
    f->seen++;
    return true;
}

static void expect(Fixture *f, uint32_t element, uint8_t type)
{
    struct ernic_eqe eqe;

    g_assert_true(poll(f, &eqe));
    IS(eqe.element, element);
    IS(eqe.type, type);
}

static void expect_none(Fixture *f)
{
    g_assert_false(poll(f, &(struct ernic_eqe) { }));
}

static void consume(Fixture *f)
{
    ernic_work_start(&f->e);
    OK(ernic_eq_consume(&f->e, f->eqn, f->seen));
}

/* The answer of the device with these changes of the command. */
#define CREATE(f, UCTX, EQN, ...)                                           \
    ({ struct ernic_cmd_eq_create cmd = command(f); __VA_ARGS__;            \
       ernic_eq_create(&(f)->e, UCTX, &cmd, EQN); })

FIXTURE_TEST("/eq/create-refused", test_create_refused)
{
    static const uint32_t depths[] = { 0, 1, 3, ERNIC_MAX_EQ_DEPTH * 2, 0x80000000u };
    uint32_t eqn = 77;

    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        IS(CREATE(f, 0, &eqn, cmd.depth = cpu_to_le32(depths[i])), ERNIC_ERR_PARAM);
    }
    IS(CREATE(f, 0, &eqn, cmd.vector = cpu_to_le16(8)), ERNIC_ERR_PARAM);     /* 0 to 7 */
    IS(CREATE(f, 0, &eqn, cmd.async = 2), ERNIC_ERR_PARAM);
    IS(CREATE(f, 5, &eqn), ERNIC_ERR_PERM);
    IS(CREATE(f, 0, &eqn, cmd.buf.reserved[0] = 1), ERNIC_ERR_RESERVED);
    IS(eqn, 77);
    IS(f->e.async_eq, 0);
    create(f);
    IS(CREATE(f, 0, &eqn), ERNIC_ERR_STATE);
    IS(f->e.async_eq, f->eqn);
}

FIXTURE_TEST("/eq/destroy-refused", test_destroy_refused)
{
    create(f);
    IS(ernic_eq_destroy(&f->e, 0, 0), ERNIC_ERR_HANDLE);
    IS(ernic_eq_destroy(&f->e, 0, f->eqn + 1), ERNIC_ERR_HANDLE);
    IS(ernic_eq_destroy(&f->e, 0, 0xffffffff), ERNIC_ERR_HANDLE);
    IS(ernic_eq_destroy(&f->e, 1, f->eqn), ERNIC_ERR_PERM);
    f->e.eq[f->eqn].refs++;
    IS(ernic_eq_destroy(&f->e, 0, f->eqn), ERNIC_ERR_BUSY);
    f->e.eq[f->eqn].refs--;
}

/*
 * Events without room wait in the backlog, in order, and raise an interrupt when
 * written.
 */
FIXTURE_TEST("/eq/full", test_full)
{
    uint32_t irqs;

    create(f);
    for (uint32_t qpn = 10; qpn < 30; qpn++) {
        raise_qp(f, qpn, ERNIC_EV_QP_REQ_ERR, 0);
        /* Raised again before it is written: one event. */
        if (qpn >= 14) {
            raise_qp(f, qpn, ERNIC_EV_QP_REQ_ERR, 0);
        }
    }
    IS(f->env.irqs->len, 4);
    for (uint32_t qpn = 10; qpn < 30; qpn++) {
        expect(f, qpn, ERNIC_EV_QP_REQ_ERR);
        if (f->seen % f->depth == 0) {
            expect_none(f);
            irqs = f->env.irqs->len;
            consume(f);
            IS(f->env.irqs->len, irqs + (qpn < 29));
        }
    }
    expect_none(f);
    IS(f->e.stats.events, 20);
    IS(f->e.eq[f->eqn].line_count, 0);
}

/* Several events of one object: each type once, also across a full ring. */
FIXTURE_TEST("/eq/many-types", test_many_types)
{
    static const uint8_t types[] = {
        ERNIC_EV_QP_FATAL, ERNIC_EV_COMM_EST, ERNIC_EV_SQ_DRAINED,
        ERNIC_EV_LAST_WQE, ERNIC_EV_BAD_DOORBELL,
    };
    uint32_t got = 0;
    struct ernic_eqe eqe;

    create(f);
    raise_many(f, 20, 20 + f->depth - 1, ERNIC_EV_COMM_EST);
    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        raise_qp(f, 40, types[i], i);
    }
    raise_qp(f, 41, ERNIC_EV_COMM_EST, 0);
    for (uint32_t i = 0; i < f->depth - 1; i++) {
        expect(f, 20 + i, ERNIC_EV_COMM_EST);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        consume(f);
        g_assert_true(poll(f, &eqe));
        IS(eqe.element, 40);
        g_assert_false(got & (1u << eqe.type));
        got |= 1u << eqe.type;
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        g_assert_true(got & (1u << types[i]));
    }
    expect(f, 41, ERNIC_EV_COMM_EST);
    expect_none(f);
}

FIXTURE_TEST("/eq/consume-refused", test_consume_refused)
{
    static const int32_t wrong[] = { 3, 4, 5, 1000, INT32_MAX, INT32_MIN, -1, -2, -1000 };
    uint32_t base = 0xfffffffe;         /* the counters wrap in between */

    create(f);
    f->e.eq[f->eqn].pi = f->e.eq[f->eqn].ci = f->seen = base;
    raise_qp(f, 3, ERNIC_EV_COMM_EST, 0);
    raise_qp(f, 4, ERNIC_EV_COMM_EST, 0);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        IS(ernic_eq_consume(&f->e, f->eqn, base + wrong[i]), ERNIC_ERR_FULL);
        IS(f->e.eq[f->eqn].ci, base);
    }
    IS(ernic_trace_count("ernic_guest_eq_ci"), ARRAY_SIZE(wrong));
    OK(ernic_eq_consume(&f->e, f->eqn, base));
    OK(ernic_eq_consume(&f->e, f->eqn, base + 2));
    IS(ernic_eq_consume(&f->e, f->eqn, base + 1), ERNIC_ERR_FULL);
}

FIXTURE_TEST("/eq/forget", test_forget)
{
    create(f);
    raise_many(f, 10, 20, ERNIC_EV_QP_FATAL);
    /* 14 to 19 are in the backlog: remove the first, one in the middle, the last. */
    for (uint32_t qpn = 14; qpn < 20; qpn += qpn == 14 ? 2 : 3) {
        ernic_event_forget(&f->e, f->eqn, ERNIC_EVC_QP, qpn, &f->e.qp[qpn].events);
        g_assert_false(f->e.qp[qpn].events.queued);
    }
    /* This one has no pending events. */
    ernic_event_forget(&f->e, f->eqn, ERNIC_EVC_QP, 40, &f->e.qp[40].events);
    ernic_event_forget(&f->e, 0, ERNIC_EVC_QP, 40, &f->e.qp[40].events);
    for (uint32_t qpn = 10; qpn < 20; qpn++) {
        if (qpn != 14 && qpn != 16 && qpn != 19) {
            expect(f, qpn, ERNIC_EV_QP_FATAL);
            consume(f);
        }
    }
    expect_none(f);
}

FIXTURE_TEST("/eq/broken", test_broken)
{
    for (uint32_t nth = 1; nth <= 2; nth++) {
        f->seen = 0;
        create(f);
        raise_qp(f, 5, ERNIC_EV_QP_FATAL, 0);
        fake_fail_dma(&f->env, nth, false);
        raise_qp(f, 6, ERNIC_EV_QP_FATAL, 0);
        IS(f->env.refused, 1);
        fake_fail_dma(&f->env, 0, false);
        raise_qp(f, 7, ERNIC_EV_QP_FATAL, 0);
        expect(f, 5, ERNIC_EV_QP_FATAL);
        expect_none(f);
        consume(f);
        g_assert_true(f->e.eq[f->eqn].broken);
        IS(f->e.stats.events, nth);
        IS(f->env.irqs->len, nth);
        IS(ernic_trace_count("ernic_guest_eq_broken"), nth);
        OK(ernic_eq_destroy(&f->e, 0, f->eqn));
    }
    f->eqn = 0;
}
