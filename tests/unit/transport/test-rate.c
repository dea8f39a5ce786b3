/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rate limit of a raw packet queue pair: when each frame leaves, to the ns.
 */
#include "qemu/osdep.h"
#include "interfaces/verbs/commands.h"
#include "transport/rate.h"
#include "raw_fixture.h"

#define LEN     1000
#define KBPS    5000
#define FRAME   1600000         /* ns that LEN bytes take at KBPS */
#define COUNT   20

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;
    uint64_t buf;
    FakeCq cq;
    FakeQp qp, other;
} Fixture;

static void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    f->pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &f->cq, 256, FAKE_NONE);
    raw_open(f->e, &f->qp, f->pd, f->cq.cqn);
    raw_open(f->e, &f->other, f->pd, f->cq.cqn);
    f->buf = fake_alloc(&f->env, 4096, 4096);
    f->key = fake_reg_mr(f->e, f->pd, f->buf, 4096, ERNIC_ACCESS_LOCAL_WRITE);
    fake_advance(f->e, 1000000000);
}

static uint8_t limit(Fixture *f, uint32_t kbps, uint32_t burst)
{
    struct ernic_qp_attr attr = {
        .rate_limit = cpu_to_le32(kbps), .rate_burst = cpu_to_le32(burst),
    };

    return fake_modify_qp(f->e, f->qp.qpn, ERNIC_QPA_RATE_LIMIT, 0, &attr);
}

static void send(Fixture *f, FakeQp *qp, uint32_t count)
{
    while (count--) {
        raw_send(f->e, qp, f->buf, LEN, f->key);
    }
    fake_run(f->e);
    raw_whole(f->e);
}

/* Frames sent since the last call; they are complete. */
static uint32_t sent(Fixture *f)
{
    uint32_t n = 0, done = 0;
    struct ernic_cqe cqe;
    FakeTrain *train;

    while ((train = fake_take_train(&f->env))) {
        IS(train->train.len, LEN);
        fake_train_free(train);
        n++;
    }
    while (fake_poll_cq(f->e, &f->cq, &cqe)) {
        IS(cqe.status, ERNIC_WC_SUCCESS);
        done++;
    }
    IS(done, n);
    return n;
}

/* Send @count frames at @kbps; the first leaves at once. */
static void begin(Fixture *f, uint32_t kbps, uint32_t count)
{
    OK(limit(f, kbps, 0));
    send(f, &f->qp, count);
    IS(sent(f), 1);
}

/* @count frames are sent, the first in @wait ns, the others FRAME apart. */
static void paced(Fixture *f, uint64_t wait, uint32_t count)
{
    for (; count; count--, wait = FRAME) {
        fake_advance(f->e, wait - 1);
        IS(sent(f), 0);
        fake_advance(f->e, 1);
        IS(sent(f), 1);
        raw_whole(f->e);
    }
}

/* The first at once; due to the slack, the second may leave that much early. */
ENGINE_TEST("/rate/pace", test_pace)
{
    begin(f, KBPS, COUNT);
    paced(f, FRAME - ERNIC_RATE_SLACK_NS, COUNT - 1);
    fake_advance(f->e, 100 * FRAME);
    IS(sent(f), 0);
    /* After a pause the same: unused time is not saved up. */
    send(f, &f->qp, 3);
    IS(sent(f), 1);
    paced(f, FRAME - ERNIC_RATE_SLACK_NS, 2);
}

/* Waiting frames use the new rate at once, and another queue pair never waits. */
ENGINE_TEST("/rate/change", test_change)
{
    begin(f, 1, 6);      /* 8 s a frame */
    send(f, &f->other, 5);
    IS(sent(f), 5);
    fake_advance(f->e, 1000000000);
    IS(sent(f), 0);
    OK(limit(f, KBPS, 0));
    fake_run(f->e);
    IS(sent(f), 1);
    paced(f, FRAME - ERNIC_RATE_SLACK_NS, 1);
    OK(limit(f, 0, 0));
    fake_run(f->e);
    IS(sent(f), 3);
    send(f, &f->qp, COUNT);
    IS(sent(f), COUNT);
}

/* In Error waiting frames are flushed at once. */
ENGINE_TEST("/rate/error", test_error)
{
    struct ernic_cqe cqe;
    uint32_t n = 0;

    begin(f, 1, 6);
    OK(fake_modify_qp(f->e, f->qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    fake_run(f->e);
    while (fake_poll_cq(f->e, &f->cq, &cqe)) {
        IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
        n++;
    }
    IS(n, 5);
}
