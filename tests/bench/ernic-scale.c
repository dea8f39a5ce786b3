/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages between queue pairs of one engine, with many objects or few, and between two
 * ports of a lab with many others or few. test_scale.py counts the instructions of
 * run_messages() and run_trains(): they may not depend on how many there are.
 *
 * usage: ernic-scale queue-pairs|regions|completions|contexts|ports NUMBER
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "shm_fixture.h"

#define MEMORY      (1ull << 30)
#define MESSAGES    2000
#define LEN         8
#define RIGHTS      (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)
#define CQ_DEPTH    (1u << 20)

typedef struct Scale {
    FakeEnv env;
    Ernic *e;
    FakeCq cq;
    uint32_t pd, num_qp, num_keys, posted;
    FakeQp *qp;
    uint32_t *key;
    uint64_t from, to;
    bool poll;
} Scale;

static void open_scale(Scale *s)
{
    ErnicConfig cfg;

    *s = (Scale) { .poll = true, .num_qp = 2, .num_keys = 1 };
    fake_env_init_sized(&s->env, MEMORY);
    fake_config(&cfg);
    cfg.max_qp = 16384;
    cfg.max_mr = 131072;
    cfg.max_uctx = 512;
    s->e = ernic_new(&cfg, &fake_env_ops, &s->env);
    fake_set_gid(s->e, 0, 1);
    s->pd = fake_create_pd(s->e);
    fake_create_cq(s->e, &s->cq, CQ_DEPTH, FAKE_NONE);
    s->from = fake_alloc(&s->env, LEN, 64);
    s->to = fake_alloc(&s->env, LEN, 64);
}

/* Pairs that send to each other: 2i and 2i + 1. */
static void connect_all(Scale *s)
{
    uint32_t i;

    s->qp = g_new0(FakeQp, s->num_qp);
    for (i = 0; i < s->num_qp; i++) {
        fake_create_deep_qp(s->e, &s->qp[i], ERNIC_QPT_RC, s->pd, s->cq.cqn, s->cq.cqn,
                            16);
    }
    for (i = 0; i < s->num_qp; i++) {
        fake_connect(s->e, &s->qp[i], s->qp[i ^ 1].qpn, 1);
    }
    s->key = g_new0(uint32_t, s->num_keys);
    for (i = 0; i < s->num_keys; i++) {
        s->key[i] = fake_reg_mr(s->e, s->pd, s->to, LEN, RIGHTS);
    }
}

static void message(Scale *s, uint32_t lkey)
{
    FakeQp *qp = &s->qp[s->posted % s->num_qp];
    struct ernic_cqe cqe;

    fake_rdma(s->e, qp, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, s->from, LEN, lkey, s->to,
              s->key[s->posted % s->num_keys]);
    s->posted++;
    fake_run(s->e);
    if (s->poll) {
        g_assert_true(fake_poll_cq(s->e, &s->cq, &cqe));
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
        fake_ring_cq(s->e, &s->cq);
    }
}

/* test_scale.py counts its instructions. */
static void __attribute__((noinline)) run_messages(Scale *s, uint32_t lkey)
{
    uint32_t i;

    for (i = 0; i < MESSAGES; i++) {
        message(s, lkey);
    }
}

static void more_contexts(Scale *s, uint32_t num)
{
    while (num--) {
        fake_create_uctx(s->e);
    }
}

/* ---- a lab ------------------------------------------------------------------- */

/* Each train wakes the other port, which sleeps again. */
static void __attribute__((noinline)) run_trains(Lab *l, const ErnicTrain *out)
{
    ErnicTrain in;
    uint32_t i;

    for (i = 0; i < MESSAGES; i++) {
        g_assert_true(ernic_shm_send(l->port[0], out));
        ernic_shm_serve(l->port[1]);
        g_assert_true(ernic_shm_recv(l->port[1], &in));
        g_assert_cmpuint(in.len, ==, out->len);
        g_assert_true(ernic_shm_sleep(l->port[1]));
    }
}

/* @others have joined beside the two ports that exchange trains. */
static void lab_messages(uint32_t others)
{
    static const uint8_t data[LEN];
    ErnicTrain train;
    Lab l;

    lab_open(&l, 2 + others);
    train = lab_train(&l, 0, 1, data, LEN, LEN);
    g_assert_true(ernic_shm_sleep(l.port[1]));
    run_trains(&l, &train);
    lab_close(&l);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    uint32_t number = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, lkey, i;
    Scale s;

    if (!number) {
        fprintf(stderr, "usage: ernic-scale queue-pairs|regions|completions|contexts"
                "|ports NUMBER\n");
        return 2;
    }
    if (g_str_equal(what, "ports")) {
        lab_messages(number);
        printf("%u messages\n", MESSAGES);
        return 0;
    }
    open_scale(&s);
    if (g_str_equal(what, "queue-pairs")) {
        s.num_qp = number * 2;
    } else if (g_str_equal(what, "regions")) {
        s.num_keys = number;
    } else if (g_str_equal(what, "contexts")) {
        more_contexts(&s, number);
    }
    connect_all(&s);
    lkey = fake_reg_mr(s.e, s.pd, s.from, LEN, RIGHTS);
    fake_run(s.e);                      /* a turn of each queue pair, which is new */
    s.poll = !g_str_equal(what, "completions");
    for (i = 0; !s.poll && i < number; i++) {
        message(&s, lkey);              /* their completions are not read */
    }
    run_messages(&s, lkey);
    printf("%u messages\n", MESSAGES);
    return 0;
}
