/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One completion queue with its event queue, for its tests: the entries that the device
 * posts, seen by software that follows the contract.
 */
#ifndef CQ_FIXTURE_H
#define CQ_FIXTURE_H

#include "objects/cq.h"
#include "fake_env.h"
#include "test.h"
#include "base/timer.h"
#include "trace-mark.h"

#define CQE_SIZE sizeof(struct ernic_cqe)
#define US 1000
#define EQ_DEPTH 64

typedef struct Fixture {
    FakeEnv env;
    Ernic e;
    uint32_t eqn, cqn;
    uint64_t eq_ring, ring, ci_addr;
    uint32_t depth, seen;
    uint32_t posted;            /* next wr_id */
    uint32_t events;            /* entries of the event queue that were read */
} Fixture;

static inline struct ernic_cmd_cq_create command(Fixture *f, uint32_t depth)
{
    struct ernic_cmd_cq_create cmd = {
        .buf.addr = cpu_to_le64(fake_alloc(&f->env, depth * CQE_SIZE, 4096)),
        .depth = cpu_to_le32(depth), .eq = cpu_to_le32(f->eqn),
        .ci_addr = cpu_to_le64(f->ci_addr),
    };

    return cmd;
}

static inline void create(Fixture *f)
{
    struct ernic_cmd_cq_create cmd = command(f, f->depth);

    f->ring = le64_to_cpu(cmd.buf.addr);
    f->seen = f->posted = 0;
    OK(ernic_cq_create(&f->e, 0, &cmd, &f->cqn));
}

static inline void create_eq(Fixture *f, uint32_t depth)
{
    struct ernic_cmd_eq_create cmd = {
        .depth = cpu_to_le32(depth), .vector = cpu_to_le16(2), .async = 1,
    };

    f->eq_ring = fake_alloc(&f->env, depth * sizeof(struct ernic_eqe), 4096);
    cmd.buf.addr = cpu_to_le64(f->eq_ring);
    OK(ernic_eq_create(&f->e, 0, &cmd, &f->eqn));
}

static inline void setup(Fixture *f, gconstpointer data)
{
    fake_bare_init(&f->e, &f->env);
    create_eq(f, EQ_DEPTH);
    f->depth = 4;
    create(f);
}

static inline void teardown(Fixture *f, gconstpointer data)
{
    if (f->cqn) {
        OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    }
    IS(f->e.eq[f->eqn].refs, 0);
    OK(ernic_eq_destroy(&f->e, 0, f->eqn));
    IS(f->e.num_pages, 0);
    IS(f->e.cq_ids.count, f->e.cq_ids.size - 1);
    IS(ernic_timers_next(f->e.cq_timers), ERNIC_NEVER);
    fake_bare_fini(&f->e);
}

/* The answer of the device with these changes of a command for a queue of @DEPTH. */
#define CREATE(f, UCTX, CQN, DEPTH, ...)                                    \
    ({ struct ernic_cmd_cq_create cmd = command(f, DEPTH); __VA_ARGS__;     \
       ernic_cq_create(&(f)->e, UCTX, &cmd, CQN); })

/* Replace the queue of setup() by one of @depth with a counter in memory. */
static inline void recreate(Fixture *f, uint32_t depth, bool with_ci)
{
    OK(ernic_cq_destroy(&f->e, 0, f->cqn));
    f->depth = depth;
    f->ci_addr = with_ci ? fake_alloc(&f->env, 4, 4) : 0;
    create(f);
}

static inline ErnicCq *cq(Fixture *f)
{
    return &f->e.cq[f->cqn];
}

/* ---- the device ---------------------------------------------------------- */

static inline bool post_wc(Fixture *f, uint8_t status, uint8_t flags)
{
    ErnicWc wc = { .wr_id = f->posted++, .status = status, .flags = flags };

    return ernic_cq_post(&f->e, f->cqn, &wc);
}

static inline void post(Fixture *f)
{
    g_assert_true(post_wc(f, ERNIC_WC_SUCCESS, 0));
}

static inline void post_many(Fixture *f, uint32_t n)
{
    while (n--) {
        post(f);
    }
}

/* One too many. */
static inline void post_fails(Fixture *f)
{
    g_assert_false(post_wc(f, ERNIC_WC_SUCCESS, 0));
}

static inline void post_solicited(Fixture *f)
{
    g_assert_true(post_wc(f, ERNIC_WC_SUCCESS, ERNIC_CQE_SOLICITED));
}

static inline void post_error(Fixture *f)
{
    g_assert_true(post_wc(f, ERNIC_WC_WR_FLUSH_ERR, 0));
}

/* ---- the consumer -------------------------------------------------------- */

static inline bool poll(Fixture *f, struct ernic_cqe *cqe)
{
    uint32_t slot = f->seen & (f->depth - 1);

    memcpy(cqe, fake_ptr(&f->env, f->ring + slot * CQE_SIZE, CQE_SIZE), CQE_SIZE);
    if ((cqe->flags & ERNIC_CQE_PHASE) !=
        ((f->seen / f->depth) % 2 ? 0 : ERNIC_CQE_PHASE)) {
        return false;
    }
    f->seen++;
    return true;
}

/* The next entry is the one of request @wr_id. */
static inline void expect(Fixture *f, uint64_t wr_id)
{
    struct ernic_cqe cqe;

    g_assert_true(poll(f, &cqe));
    IS(le64_to_cpu(cqe.wr_id), wr_id);
}

/* Those from @wr_id on, below @end. */
static inline void expect_many(Fixture *f, uint64_t wr_id, uint64_t end)
{
    while (wr_id < end) {
        expect(f, wr_id++);
    }
}

static inline void expect_none(Fixture *f)
{
    struct ernic_cqe cqe;

    g_assert_false(poll(f, &cqe));
}

static inline void consume(Fixture *f)
{
    OK(ernic_cq_consume(&f->e, f->cqn, f->seen));
}

static inline void arm(Fixture *f, bool solicited)
{
    OK(ernic_cq_arm(&f->e, f->cqn, f->seen, solicited));
}

/* Number of events since the last call; all are of @type. */
static inline uint32_t events_of_type(Fixture *f, uint8_t type)
{
    uint32_t n = 0;

    for (; f->events != f->e.eq[f->eqn].pi; f->events++, n++) {
        struct ernic_eqe *eqe = fake_ptr(&f->env, f->eq_ring + f->events %
                                         EQ_DEPTH * sizeof(*eqe), sizeof(*eqe));

        IS(eqe->type, type);
        IS(le32_to_cpu(eqe->element), f->cqn);
    }
    OK(ernic_eq_consume(&f->e, f->eqn, f->events));
    return n;
}

static inline uint32_t events(Fixture *f)
{
    return events_of_type(f, ERNIC_EV_COMPLETION);
}

/*
 * Counters that wrap within the test; the ring holds the phase of the previous round.
 */
static inline void start_at(Fixture *f, uint32_t index)
{
    cq(f)->pi = cq(f)->ci = cq(f)->sol_pi = f->seen = index;
    for (uint32_t i = index; i != index + f->depth; i++) {
        *(uint8_t *)fake_ptr(&f->env, f->ring + (i & (f->depth - 1)) *
                             CQE_SIZE + CQE_SIZE - 1, 1) =
            (i / f->depth) % 2 ? ERNIC_CQE_PHASE : 0;
    }
}

static inline void put_ci(Fixture *f, uint32_t ci)
{
    stl_le_p(fake_ptr(&f->env, f->ci_addr, 4), ci);
}

#endif /* CQ_FIXTURE_H */
