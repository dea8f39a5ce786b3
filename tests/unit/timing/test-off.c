/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Without a profile no function of the timing model runs: the compiler puts a
 * call into each function of its files (timing_off_sources in meson.build), which
 * is counted here. The same work with a profile makes them run.
 *
 * retry_buffer.c is none of them: the requester calls it, and it asks for a model itself.
 */
#include "qemu/osdep.h"
#include "hand_profile.h"
#include "pg332_card.h"

#define LEN     65536

static uint64_t calls;

/* The functions that code of gcc and clang calls, on entry and on return. */
void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

void __cyg_profile_func_enter(void *fn, void *site)
{
    calls++;
}

void __cyg_profile_func_exit(void *fn, void *site)
{
}

/* An engine that sends to itself: every kind of request of a connection. */
static uint64_t verbs(const ErnicProfile *profile)
{
    struct ernic_wqe inv = { .opcode = ERNIC_WR_LOCAL_INV, .flags = ERNIC_WR_SIGNALED };
    struct ernic_cqe cqe;
    uint32_t pd, key, n = 0;
    uint64_t mem, before;
    FakeEnv env;
    FakeEq eq;
    FakeCq cq;
    FakeQp qp;
    Ernic *e = fake_ernic_timed(&env, profile);

    pd = fake_create_pd(e);
    fake_create_eq(e, &eq, 16, 3, false);
    fake_create_cq(e, &cq, 64, eq.eqn);
    fake_create_qp(e, &qp, ERNIC_QPT_RC, pd, cq.cqn, cq.cqn, FAKE_NONE);
    fake_connect(e, &qp, qp.qpn, 1);
    mem = fake_alloc(&env, LEN, 4096);
    key = fake_reg_mr(e, pd, mem, LEN, ERNIC_ACCESS_LOCAL_WRITE |
                      ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_WRITE |
                      ERNIC_ACCESS_REMOTE_ATOMIC);
    fake_advance(e, 1000000);
    before = calls;
    fake_arm_cq(e, &cq, false);
    fake_recv(e, &qp, mem + LEN / 2, LEN / 2, key);
    fake_send(e, &qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, mem, 3000, key);
    fake_rdma(e, &qp, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, mem, 3000, key,
              mem + LEN / 2, key);
    fake_rdma(e, &qp, ERNIC_WR_READ, ERNIC_WR_SIGNALED, mem, 3000, key,
              mem + LEN / 2, key);
    fake_atomic(e, &qp, ERNIC_WR_FETCH_ADD, ERNIC_WR_SIGNALED, mem, key,
                mem + LEN / 2, key, 1, 0);
    fake_advance(e, 1000000);
    /* The key may not be invalidated: the attempt is enough. */
    fake_post_send(e, &qp, &inv, NULL);
    fake_ring_sq(e, &qp);
    fake_advance(e, 1000000);
    before = calls - before;
    while (fake_poll_cq(e, &cq, &cqe)) {
        IS(cqe.status == ERNIC_WC_SUCCESS, n < 5);
        n++;
    }
    IS(n, 6);
    fake_ernic_done(&env, e);
    return before;
}

/* Two cards with the registers of PG332. */
static uint64_t registers(const ErnicProfile *profile)
{
    Card *card = &cards[0];
    uint64_t before;

    card_timing = profile;
    setup(PG332_V3_1);
    before = calls;
    POST(card, SEND, 64, .laddr = card->mem);
    settle();
    POST(card, WRITE, 6000, .laddr = card->mem, .rkey = KEY, .raddr = VA);
    settle();
    POST(card, READ, 6000, .laddr = card->mem, .rkey = KEY, .raddr = VA);
    settle();
    before = calls - before;
    IS(card->e->stats.tx_messages, 3);
    IS(card->e->stats.completions, 3);
    teardown();
    card_timing = NULL;
    return before;
}

TEST("/timing-off/verbs", test_verbs)
{
    IS(verbs(NULL), 0);
    g_assert_cmpuint(verbs(&hand), >, 100);
}

TEST("/timing-off/registers", test_registers)
{
    IS(registers(NULL), 0);
    g_assert_cmpuint(registers(&hand), >, 100);
}
