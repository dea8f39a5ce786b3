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

static void open_pair(QErnic *q, QErnicQp *x, QErnicQp *y)
{
    g_assert_true(qernic_reg(q, features) & ERNIC_FEATURE_RECORDS);
    qernic_setup(q, 1);
    qernic_pair_record(q, x, y);
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

/* Records that the device has not looked at when the machine stops to migrate. */
ERNIC_TEST("records/migrate", test_migrate)
{
    QErnicQp x, y;

    open_pair(q, &x, &y);
    qernic_message(&x, &y, LEN);
    qernic_stop(q->qts);
    for (int i = 0; i < 3; i++) {
        qernic_post_recv(&y, IN, LEN);
        qernic_send(&x, OUT, LEN);
    }
    qernic_migrate(q, "");
    qernic_cont(q->qts);
    for (int i = 0; i < 3; i++) {
        qernic_done(&x);
        qernic_done(&y);
    }
    g_assert_cmpuint(qernic_wake(q, x.sq_record), ==, 4);
    qernic_message(&x, &y, LEN);
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
