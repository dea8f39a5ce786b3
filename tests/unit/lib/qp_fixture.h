/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of queue pair commands and states: a device with the objects that
 * a queue pair needs, and ways into each state.
 */
#ifndef QP_FIXTURE_H
#define QP_FIXTURE_H

#include "fake_verbs.h"
#include "test.h"
#include "transport/qp.h"
#include "transport/qp_transitions.h"

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;
    uint64_t buf;
    FakeEq eq;
    FakeCq cq;
    FakeSrq srq;
} Fixture;

static inline void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    fake_create_eq(f->e, &f->eq, 64, 0, true);
    f->pd = fake_create_pd(f->e);
    f->buf = fake_alloc(&f->env, 65536, 4096);
    f->key = fake_reg_mr(f->e, f->pd, f->buf, 65536,
                         ERNIC_ACCESS_FLAGS & ~ERNIC_ACCESS_ZERO_BASED);
    fake_create_cq(f->e, &f->cq, 64, FAKE_NONE);
    fake_create_srq(f->e, &f->srq, f->pd, 16, 0);
}

/* All state that a guest could observe, except the counters of commands. */
static inline GByteArray *state_of(Fixture *f)
{
    GByteArray *out = g_byte_array_new();
    ErnicStats now = f->e->stats;

    f->e->stats.commands = f->e->stats.bad_commands = 0;
    f->e->stats.bad_doorbells = 0;
    ernic_save(f->e, out);
    f->e->stats = now;
    return out;
}

static inline void assert_unchanged(Fixture *f, const GByteArray *before)
{
    g_autoptr(GByteArray) after = state_of(f);

    g_assert_cmpmem(before->data, before->len, after->data, after->len);
}

static inline void create(Fixture *f, FakeQp *qp, uint8_t type)
{
    if (type == ERNIC_QPT_XRC_TGT) {
        fake_create_xrc_tgt(f->e, qp, f->pd);
        return;
    }
    fake_create_qp(f->e, qp, type, f->pd, f->cq.cqn,
                   type == ERNIC_QPT_XRC_INI ? 0 : f->cq.cqn, FAKE_NONE);
}

static inline uint8_t state(Fixture *f, const FakeQp *qp)
{
    return f->e->qp[qp->qpn].state;
}

/*
 * Bring a new queue pair of @type into @to; states that only the device can set are
 * reached by its own transitions.
 */
static inline void bring(Fixture *f, FakeQp *qp, uint8_t type, uint8_t to)
{
    struct ernic_qp_attr attr;

    create(f, qp, type);
    fake_qp_attr(&attr, 9, 2);
    fake_qp_to(f->e, qp, MIN(to, ERNIC_QPS_RTS), &attr);
    if (to == ERNIC_QPS_SQE) {
        fake_send_ud(f->e, qp, 0, f->buf, 10, f->key ^ 1, 5, 5, 2);
        fake_run(f->e);
    } else if (to > ERNIC_QPS_RTS) {
        OK(fake_modify_qp(f->e, qp->qpn, ERNIC_QPA_STATE, to, NULL));
        fake_run(f->e);
    }
    g_assert_cmpstr(ernic_qp_state_name(state(f, qp)), ==, ernic_qp_state_name(to));
}

#endif /* QP_FIXTURE_H */
