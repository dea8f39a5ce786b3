/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A connection between an engine with the timing model and one without.
 */
#ifndef TIMED_PAIR_H
#define TIMED_PAIR_H

#include "fake_verbs.h"
#include "hand_profile.h"
#include "test.h"

#define ALL_RIGHTS \
    (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_READ | \
     ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_ATOMIC | \
     ERNIC_ACCESS_MW_BIND | ERNIC_ACCESS_FLUSH_GLOBAL)

/* A timed engine, @e, and its peer, an engine without the timing model. */
typedef struct Pair {
    FakeEnv env, peer_env;
    Ernic *e, *peer;
    FakeEq eq;
    FakeCq cq, peer_cq;
    FakeQp qp, peer_qp;
    uint64_t mem, peer_mem;
    uint32_t key, peer_key;
    uint64_t start;             /* the times of a test begin here */
    ErnicProfile profile;       /* of the timed engine */
} Pair;

/* Let the timed engine live until @ns after the start. */
static inline void until(Pair *p, uint64_t ns)
{
    g_assert_cmpuint(p->start + ns, >=, p->env.now);
    fake_advance(p->e, p->start + ns - p->env.now);
    p->peer_env.now = p->env.now;
    /* Take the next train of the timed engine, which must be sent at @ns. */
    fake_run(p->e);
}

/* When the next train left the timed engine. */
static inline uint64_t next_left(Pair *p)
{
    FakeTrain *t = fake_take_train(&p->env);
    uint64_t now = t->now;

    fake_train_free(t);
    return now;
}

static inline void open_pair(Pair *p, const ErnicProfile *profile, uint8_t type)
{
    uint32_t pd, peer_pd;

    memset(p, 0, sizeof(*p));
    p->profile = *profile;
    p->e = fake_ernic_timed(&p->env, &p->profile);
    p->peer = fake_ernic_new(&p->peer_env);
    fake_set_gid(p->peer, 0, 2);
    pd = fake_create_pd(p->e);
    peer_pd = fake_create_pd(p->peer);
    fake_create_eq(p->e, &p->eq, 16, 3, false);
    fake_create_cq(p->e, &p->cq, 64, p->eq.eqn);
    fake_create_cq(p->peer, &p->peer_cq, 64, FAKE_NONE);
    fake_create_qp(p->e, &p->qp, type, pd, p->cq.cqn, p->cq.cqn, FAKE_NONE);
    fake_create_qp(p->peer, &p->peer_qp, type, peer_pd, p->peer_cq.cqn,
                   p->peer_cq.cqn, FAKE_NONE);
    fake_connect_mtu(p->e, &p->qp, p->peer_qp.qpn, 2, 5);
    fake_connect_mtu(p->peer, &p->peer_qp, p->qp.qpn, 1, 5);
    p->mem = fake_alloc(&p->env, 65536, 4096);
    p->peer_mem = fake_alloc(&p->peer_env, 65536, 4096);
    p->key = fake_reg_mr(p->e, pd, p->mem, 65536, ALL_RIGHTS);
    p->peer_key = fake_reg_mr(p->peer, peer_pd, p->peer_mem, 65536, ALL_RIGHTS);
    fake_advance(p->e, 1000000);        /* what setting up left behind */
    p->start = p->peer_env.now = p->env.now;
}

static inline void close_pair(Pair *p)
{
    fake_ernic_done(&p->env, p->e);
    fake_ernic_done(&p->peer_env, p->peer);
}

static inline void post(Pair *p, uint32_t len)
{
    fake_send(p->e, &p->qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, p->mem, len, p->key);
}

/* RDMA between the two regions, by the timed engine and by the peer. */
static inline void post_rdma(Pair *p, FakeQp *qp, uint8_t opcode, uint32_t len)
{
    fake_rdma(p->e, qp, opcode, 0, p->mem, len, p->key, p->peer_mem, p->peer_key);
}

static inline void peer_rdma(Pair *p, uint8_t opcode, uint32_t len)
{
    fake_rdma(p->peer, &p->peer_qp, opcode, 0, p->peer_mem, len, p->peer_key, p->mem,
              p->key);
}

/* All that the peer has posted arrives at the timed engine. */
static inline void peer_sends(Pair *p)
{
    fake_run(p->peer);
    fake_deliver(p->peer, p->e);
}

/*
 * The head of a test of a Pair *p of the profile "hand", which the statements after @type
 * change as `profile`.
 */
#define PAIR_TEST(path, fn, type, ...)                                      \
    WORLD_TEST(path, fn, Pair, p,                                           \
               ({ ErnicProfile profile = hand; __VA_ARGS__;                 \
                  open_pair(p, &profile, ERNIC_QPT_##type); }), close_pair(p))

#endif /* TIMED_PAIR_H */
