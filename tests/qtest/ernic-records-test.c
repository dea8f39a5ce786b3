/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records (docs/verbs-interface.md): requests that are posted in memory, and the few
 * doorbells that remain.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic.h"

#define LEN     64
#define OUT     0
#define IN      4096

/* A pair of queue pairs of @q with records. */
static void pair(QErnic *q, QErnicQp *x, QErnicQp *y)
{
    qernic_qp_record(q, x, ERNIC_QPT_RC);
    qernic_qp_record(q, y, ERNIC_QPT_RC);
    qernic_qp_connect(x, y);
    qernic_qp_connect(y, x);
}

static void open_pair(QErnic *q, QErnicQp *x, QErnicQp *y)
{
    g_assert_true(qernic_reg(q, features) & ERNIC_FEATURE_RECORDS);
    qernic_setup(q, 1);
    pair(q, x, y);
}

static void message(QErnicQp *x, QErnicQp *y)
{
    qernic_post_recv(y, IN, LEN);
    qernic_send(x, OUT, LEN);
    qernic_done(y);
    qernic_done(x);
}

/* An idle queue rings for each request, and no other does. */
ERNIC_TEST("records/idle", test_idle)
{
    uint64_t none;
    QErnicQp x, y;

    open_pair(q, &x, &y);
    for (uint32_t i = 1; i <= 2 * QERNIC_DEPTH; i++) {
        message(&x, &y);
        g_assert_cmpuint(qernic_wake(q, x.sq_record), ==, i);
        g_assert_cmpuint(qernic_wake(q, y.rq_record), ==, 0);
    }
    /* A record alone, of a queue that has asked for the doorbell, is not looked at. */
    none = x.sq_record;
    qernic_post_recv(&y, IN, LEN);
    x.sq_record = qernic_zeroed(q, sizeof(struct ernic_record));
    qtest_writel(q->qts, x.sq_record + 4, 1000);
    qernic_send(&x, OUT, LEN);
    x.sq_record = none;
    qernic_record(q, x.sq_record, x.sq_pi);
    qernic_pass(q->qts, 10, 1000000);
    g_assert_false(qernic_has_cqe(&x));
    qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_SQ, x.qpn, 0));
    qernic_done(&x);
    qernic_done(&y);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 0);
}

/* While the machine stands still, one doorbell stays for all requests. */
ERNIC_TEST("records/batch", test_batch)
{
    QErnicQp x, y;

    open_pair(q, &x, &y);
    qernic_stop(q->qts);
    for (int i = 0; i < QERNIC_DEPTH; i++) {
        qernic_post_recv(&y, IN, LEN);
        qernic_send(&x, OUT, LEN);
        g_assert_cmpuint(qernic_wake(q, x.sq_record), ==, 0);
    }
    qernic_cont(q->qts);
    for (int i = 0; i < QERNIC_DEPTH; i++) {
        qernic_done(&x);
        qernic_done(&y);
    }
    g_assert_cmpuint(qernic_wake(q, x.sq_record), ==, QERNIC_DEPTH);
}

/* An index that no ring can have is refused as a doorbell would be. */
ERNIC_TEST("records/hostile", test_hostile)
{
    static const uint32_t bad[] = { QERNIC_DEPTH + 2, 0x80000000, UINT32_MAX, 0 };
    QErnicQp x, y;

    open_pair(q, &x, &y);
    message(&x, &y);
    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        qernic_record(q, x.sq_record, bad[i]);
        qernic_doorbell(q, 0, ERNIC_DB(ERNIC_DB_SQ, x.qpn, 0));
        qernic_wait_while(q->qts, qernic_stat(q, "bad_doorbells") != i + 1);
    }
    qernic_record(q, x.sq_record, 1);
    message(&x, &y);
    qernic_record(q, y.rq_record, 1 + QERNIC_DEPTH * 2);
    qernic_send(&x, OUT, LEN);
    qernic_wait_while(q->qts, qernic_stat(q, "bad_doorbells") == ARRAY_SIZE(bad));
    qernic_record(q, y.rq_record, y.rq_pi);
    qernic_post_recv(&y, IN, LEN);
    qernic_done(&x);
    qernic_done(&y);
}

/* Reset: software clears the records, and both sides begin again. */
ERNIC_TEST("records/reset", test_reset)
{
    struct ernic_qp_attr attr = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE), .state = ERNIC_QPS_RESET,
    };
    QErnicQp x, y, *both[] = { &x, &y };

    open_pair(q, &x, &y);
    message(&x, &y);
    message(&x, &y);
    qernic_post_recv(&y, IN, LEN);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpuint(qernic_qp_modify(both[i], &attr), ==, ERNIC_OK);
        qtest_memset(q->qts, both[i]->sq_record, 0, sizeof(struct ernic_record));
        qtest_memset(q->qts, both[i]->rq_record, 0, sizeof(struct ernic_record));
        both[i]->sq_pi = both[i]->rq_pi = 0;
    }
    qernic_qp_connect(&x, &y);
    qernic_qp_connect(&y, &x);
    message(&x, &y);
    message(&y, &x);
    g_assert_cmpuint(qernic_stat(q, "bad_doorbells"), ==, 0);
}

/* Records that the device has not looked at when the machine stops to migrate. */
ERNIC_TEST("records/migrate", test_migrate)
{
    QTestState *from;
    QErnicQp x, y;

    open_pair(q, &x, &y);
    message(&x, &y);
    qernic_stop(q->qts);
    for (int i = 0; i < 3; i++) {
        qernic_post_recv(&y, IN, LEN);
        qernic_send(&x, OUT, LEN);
    }
    from = qernic_migrate(q);
    qernic_cont(q->qts);
    for (int i = 0; i < 3; i++) {
        qernic_done(&x);
        qernic_done(&y);
    }
    g_assert_cmpuint(qernic_wake(q, x.sq_record), ==, 4);
    message(&x, &y);
    qernic_migrate_end(q, from);
}

/* The timing model needs the moment of each doorbell. */
MACHINE_TEST("/ernic-records/timing", test_timing)
{
    struct ernic_qp_init init = { .sq_record = cpu_to_le64(64) };
    QErnic *q = qernic_device(",interface=verbs,timing=on");
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_CREATE,
        .qp = { .length = cpu_to_le32(sizeof(init)) },
    };

    g_assert_false(qernic_reg(q, features) & ERNIC_FEATURE_RECORDS);
    qernic_setup(q, 1);
    cmd.qp.addr = cpu_to_le64(q->scratch);
    qtest_memwrite(q->qts, q->scratch, &init, sizeof(init));
    g_assert_cmpuint(qernic_cmd(q, &cmd, NULL), ==, ERNIC_ERR_RESERVED);
}
