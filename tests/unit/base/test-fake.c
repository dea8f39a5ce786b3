/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fake environment and its guest software, tested on two engines: each of their
 * checks must be able to fail.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fake_verbs.h"
#include "test.h"

#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC)
#define LEN 5000

/* One guest on one device. */
typedef struct Node {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;
    uint64_t buf;
    FakeEq eq;
    FakeCq cq;
    FakeQp qp;
} Node;

typedef struct Fixture {
    Node a, b;
} Fixture;

static void node_init(Node *n, uint8_t host, uint8_t type)
{
    fake_env_init(&n->env);
    n->e = fake_ernic_new(&n->env);
    fake_set_gid(n->e, 0, host);
    n->pd = fake_create_pd(n->e);
    n->buf = fake_alloc(&n->env, 2 * LEN, 4096);
    n->key = fake_reg_mr(n->e, n->pd, n->buf, 2 * LEN, ALL);
    fake_create_eq(n->e, &n->eq, 64, host, true);
    fake_create_cq(n->e, &n->cq, 64, n->eq.eqn);
    fake_create_qp(n->e, &n->qp, type, n->pd, n->cq.cqn, n->cq.cqn, FAKE_NONE);
}

static void node_fini(Node *n)
{
    ernic_free(n->e);
    fake_env_fini(&n->env);
}

static void setup(Fixture *f, gconstpointer type)
{
    node_init(&f->a, 1, GPOINTER_TO_UINT(type));
    node_init(&f->b, 2, GPOINTER_TO_UINT(type));
    fake_connect(f->a.e, &f->a.qp, f->b.qp.qpn, 2);
    fake_connect(f->b.e, &f->b.qp, f->a.qp.qpn, 1);
}

static void teardown(Fixture *f, gconstpointer data)
{
    node_fini(&f->a);
    node_fini(&f->b);
}

static void check(Node *n)
{
    g_autoptr(GString) why = g_string_new(NULL);

    if (!ernic_check(n->e, why)) {
        g_error("%s", why->str);
    }
}

/* Let packets pass until none is left. */
static void settle(Fixture *f)
{
    uint32_t moved, rounds = 0;

    fake_run(f->a.e);
    fake_run(f->b.e);
    do {
        moved = fake_deliver(f->a.e, f->b.e) + fake_deliver(f->b.e, f->a.e);
        g_assert_cmpuint(++rounds, <, 1000);
    } while (moved);
    check(&f->a);
    check(&f->b);
}

static void expect_cqe(Node *n, uint64_t wr_id, uint8_t opcode, uint32_t len)
{
    struct ernic_cqe cqe;

    g_assert_true(fake_poll_cq(n->e, &n->cq, &cqe));
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    g_assert_cmpuint(cqe.wr_id, ==, wr_id);
    g_assert_cmpuint(cqe.opcode, ==, opcode);
    g_assert_cmpuint(cqe.qpn, ==, n->qp.qpn);
    g_assert_cmpuint(cqe.byte_len, ==, len);
    fake_ring_cq(n->e, &n->cq);
}

static void fill(Node *n, uint64_t at, uint32_t len)
{
    uint8_t *p = fake_ptr(&n->env, at, len);

    while (len--) {
        *p++ = g_test_rand_int();
    }
}

static void test_messages(Fixture *f, gconstpointer data)
{
    uint8_t *from = fake_ptr(&f->a.env, f->a.buf, LEN);
    uint8_t *to = fake_ptr(&f->b.env, f->b.buf, LEN);
    struct ernic_cqe cqe;
    uint32_t i;

    for (i = 0; i < 200; i++) {         /* around every ring */
        fill(&f->a, f->a.buf, LEN);
        fake_recv(f->b.e, &f->b.qp, f->b.buf, LEN, f->b.key);
        fake_send(f->a.e, &f->a.qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED,
                  f->a.buf, LEN, f->a.key);
        settle(f);
        expect_cqe(&f->b, i, ERNIC_WC_RECV, LEN);
        expect_cqe(&f->a, i, ERNIC_WC_SEND, LEN);
        g_assert_cmpmem(from, LEN, to, LEN);
    }
    g_assert_false(fake_poll_cq(f->a.e, &f->a.cq, &cqe));
    g_assert_false(fake_poll_cq(f->b.e, &f->b.cq, &cqe));
}

static void test_rdma(Fixture *f, gconstpointer data)
{
    uint8_t *from = fake_ptr(&f->a.env, f->a.buf, LEN);
    uint8_t *back = fake_ptr(&f->a.env, f->a.buf + LEN, LEN);
    uint8_t *to = fake_ptr(&f->b.env, f->b.buf, LEN);

    fill(&f->a, f->a.buf, LEN);
    fake_rdma(f->a.e, &f->a.qp, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, f->a.buf,
              LEN, f->a.key, f->b.buf, f->b.key);
    settle(f);
    expect_cqe(&f->a, 0, ERNIC_WC_WRITE, LEN);
    g_assert_cmpmem(from, LEN, to, LEN);
    fake_rdma(f->a.e, &f->a.qp, ERNIC_WR_READ, ERNIC_WR_SIGNALED,
              f->a.buf + LEN, LEN, f->a.key, f->b.buf, f->b.key);
    settle(f);
    expect_cqe(&f->a, 1, ERNIC_WC_READ, LEN);
    g_assert_cmpmem(back, LEN, to, LEN);

    fake_put64(&f->b.env, f->b.buf, 40);
    fake_atomic(f->a.e, &f->a.qp, ERNIC_WR_FETCH_ADD, ERNIC_WR_SIGNALED,
                f->a.buf, f->a.key, f->b.buf, f->b.key, 2, 0);
    settle(f);
    expect_cqe(&f->a, 2, ERNIC_WC_FETCH_ADD, 8);
    g_assert_cmpuint(fake_get64(&f->a.env, f->a.buf), ==, 40);
    g_assert_cmpuint(fake_get64(&f->b.env, f->b.buf), ==, 42);
}

static void test_datagram(Fixture *f, gconstpointer data)
{
    uint8_t *from = fake_ptr(&f->a.env, f->a.buf, LEN);
    uint8_t *to = fake_ptr(&f->b.env, f->b.buf + 40, LEN);

    fill(&f->a, f->a.buf, 1000);
    fake_recv(f->b.e, &f->b.qp, f->b.buf, LEN, f->b.key);
    fake_send_ud(f->a.e, &f->a.qp, ERNIC_WR_SIGNALED, f->a.buf, 1000,
                 f->a.key, f->b.qp.qpn, 0x11111111, 2);
    settle(f);
    expect_cqe(&f->b, 0, ERNIC_WC_RECV, 1040);
    expect_cqe(&f->a, 0, ERNIC_WC_SEND, 1000);
    g_assert_cmpmem(from, 1000, to, 1000);
}

/* Arm, event, interrupt on the vector of the event queue. */
static void test_event(Fixture *f, gconstpointer data)
{
    struct ernic_eqe eqe;
    bool seen = false;

    fake_arm_cq(f->a.e, &f->a.cq, false);
    g_array_set_size(f->a.env.irqs, 0);
    fake_recv(f->b.e, &f->b.qp, f->b.buf, LEN, f->b.key);
    fake_send(f->a.e, &f->a.qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, f->a.buf,
              10, f->a.key);
    settle(f);
    g_assert_cmpuint(f->a.env.irqs->len, >=, 1);
    g_assert_cmpuint(g_array_index(f->a.env.irqs, uint16_t, 0), ==, 1);
    while (fake_poll_eq(f->a.e, &f->a.eq, &eqe)) {
        seen |= eqe.type == ERNIC_EV_COMPLETION &&
                eqe.element == f->a.cq.cqn;
    }
    g_assert_true(seen);
    fake_ring_eq(f->a.e, &f->a.eq);
    expect_cqe(&f->a, 0, ERNIC_WC_SEND, 10);
}

/* A lost train is sent again when its timeout expires. */
static void test_time(Fixture *f, gconstpointer data)
{
    FakeTrain *lost;

    fake_recv(f->b.e, &f->b.qp, f->b.buf, LEN, f->b.key);
    fake_send(f->a.e, &f->a.qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, f->a.buf,
              10, f->a.key);
    fake_run(f->a.e);
    lost = fake_take_train(&f->a.env);
    g_assert_nonnull(lost);
    fake_train_free(lost);
    g_assert_null(fake_take_train(&f->a.env));
    g_assert_cmpuint(f->a.env.wake, !=, UINT64_MAX);
    fake_advance(f->a.e, 100000000);     /* timeout 14: 67 ms */
    settle(f);
    expect_cqe(&f->a, 0, ERNIC_WC_SEND, 10);
    expect_cqe(&f->b, 0, ERNIC_WC_RECV, 10);
}

static void test_busy_link(Fixture *f, gconstpointer data)
{
    f->a.env.tx_busy = true;
    fake_recv(f->b.e, &f->b.qp, f->b.buf, LEN, f->b.key);
    fake_send(f->a.e, &f->a.qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, f->a.buf,
              10, f->a.key);
    settle(f);
    g_assert_null(fake_take_train(&f->a.env));
    f->a.env.tx_busy = false;
    ernic_tx_ready(f->a.e, f->a.env.now);
    settle(f);
    expect_cqe(&f->a, 0, ERNIC_WC_SEND, 10);
}

static void test_objects(Fixture *f, gconstpointer data)
{
    struct ernic_sge sge = fake_sge(f->b.buf, LEN, f->b.key);
    Ernic *e = f->b.e;
    FakeSrq srq;
    FakeQp qp;

    fake_create_srq(e, &srq, f->b.pd, 16, 0);
    fake_create_qp(e, &qp, ERNIC_QPT_RC, f->b.pd, f->b.cq.cqn, f->b.cq.cqn,
                   srq.srqn);
    fake_post_srq(e, &srq, 99, &sge, 1);
    g_assert_cmpuint(fake_ring_srq(e, &srq), ==, ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_SRQ_DESTROY, srq.srqn), ==,
                     ERNIC_ERR_BUSY);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_QP_DESTROY, qp.qpn), ==,
                     ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_SRQ_DESTROY, srq.srqn), ==,
                     ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_MW_FREE,
                                  fake_alloc_mw(e, f->b.pd, 2)), ==, ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_MR_FREE,
                                  fake_alloc_mr(e, f->b.pd, 8)), ==, ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_PD_FREE, f->b.pd), ==,
                     ERNIC_ERR_BUSY);

    /* Objects made in a context belong to it. */
    f->b.env.uctx = fake_create_uctx(e);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_PD_FREE, f->b.pd), !=, ERNIC_OK);
    g_assert_cmpuint(fake_destroy(e, ERNIC_CMD_PD_FREE, fake_create_pd(e)), ==,
                     ERNIC_OK);
}

/* fake_fail_dma() fails the selected access, and only that. */
static void test_knob(Fixture *f, gconstpointer data)
{
    const ErnicEnvOps *ops = f->a.e->ops;
    uint8_t byte;
    int i;

    fake_fail_dma(&f->a.env, 3, false);
    for (i = 1; i <= 6; i++) {
        g_assert_cmpint(ops->dma_read(&f->a.env, f->a.buf, &byte, 1), ==,
                        i != 3);
    }
    g_assert_cmpuint(f->a.env.refused, ==, 1);
    fake_fail_dma(&f->a.env, 3, true);
    for (i = 1; i <= 6; i++) {
        g_assert_cmpint(ops->dma_write(&f->a.env, f->a.buf, &byte, 1), ==,
                        i < 3);
    }
    g_assert_cmpuint(f->a.env.refused, ==, 4);
    fake_fail_dma(&f->a.env, 0, false);
    g_assert_true(ops->dma_read(&f->a.env, FAKE_MEM_BASE, &byte, 1));
    g_assert_false(ops->dma_read(&f->a.env, FAKE_MEM_BASE - 1, &byte, 1));
    g_assert_false(ops->dma_read(&f->a.env, FAKE_MEM_BASE + FAKE_MEM_SIZE,
                                 &byte, 1));
    g_assert_false(ops->dma_read(&f->a.env, UINT64_MAX, &byte, 2));
}

#define ADD(name, type, fn)                                             \
    g_test_add("/fake/" name, Fixture, GUINT_TO_POINTER(ERNIC_QPT_##type), \
               setup, fn, teardown)

TESTS(add_tests)
{
    ADD("rc/messages", RC, test_messages);
    ADD("uc/messages", UC, test_messages);
    ADD("rdma", RC, test_rdma);
    ADD("datagram", UD, test_datagram);
    ADD("event", RC, test_event);
    ADD("time", RC, test_time);
    ADD("busy-link", RC, test_busy_link);
    ADD("objects", RC, test_objects);
    ADD("knob", RC, test_knob);
}
