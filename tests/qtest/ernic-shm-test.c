/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link between two devices of one machine, and between two machines.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "ernic-mlx5.h"

static QDict *statistics(QTestState *qts, const char *id)
{
    return qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                     " 'path': %s, 'property': 'statistics' } }", id);
}

static uint64_t counter_of(QTestState *qts, const char *id, const char *name)
{
    QDict *rsp = statistics(qts, id);
    QDict *shm = qdict_get_qdict(qdict_get_qdict(rsp, "return"), "shm");
    uint64_t value = qdict_get_int(shm, name);

    qobject_unref(rsp);
    return value;
}

static uint64_t counter(QErnic *q, const char *name)
{
    return counter_of(q->qts, q->id, name);
}

/* Packets to addresses that nobody has. */
static uint64_t unknown(QErnic *q)
{
    QDict *rsp = statistics(q->qts, q->id);
    QDict *shm = qdict_get_qdict(qdict_get_qdict(rsp, "return"), "shm");
    uint64_t value = qdict_get_int(qdict_get_qdict(shm, "drops"), "unknown_destination");

    qobject_unref(rsp);
    return value;
}

static void await_peers_of(QTestState *qts, const char *id, uint64_t num)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    while (counter_of(qts, id, "peers") != num) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
}

static void await_peers(QErnic *q, uint64_t num)
{
    await_peers_of(q->qts, q->id, num);
}

/* Two machines with a device each, which know each other. */
typedef struct Pair {
    char *folder, *args;
    CardMachine m[2];
    QErnic q[2];
} Pair;

static void open_pair(Pair *p)
{
    p->folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    p->args = g_strdup_printf(" -device ernic,id=shm0,addr=04.0,roce-shm=%s", p->folder);
    for (int i = 0; i < 2; i++) {
        card_machine_open(&p->m[i], p->args);
        qernic_init(&p->q[i], "shm0", p->m[i].bus, QPCI_DEVFN(4, 0), &p->m[i].alloc);
        qernic_setup(&p->q[i], i + 1);
    }
    await_peers(&p->q[0], 1);
    await_peers(&p->q[1], 1);
}

static void close_pair(Pair *p)
{
    for (int i = 0; i < 2; i++) {
        qernic_fini(&p->q[i]);
        card_machine_close(&p->m[i]);
    }
    g_assert_cmpint(g_rmdir(p->folder), ==, 0);
    g_free(p->folder);
    g_free(p->args);
}

/* @more: further properties of both devices. */
static void test_link(const void *more)
{
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *args = g_strdup_printf(
        " -object iothread,id=io0"
        " -device ernic,id=shm0,addr=04.0,roce-shm=%s%s"
        " -device ernic,id=shm1,addr=05.0,roce-shm=%s%s",
        folder, (const char *)more, folder, (const char *)more);
    CardMachine m;
    QErnic a, b;

    card_machine_open(&m, args);
    qernic_init(&a, "shm0", m.bus, QPCI_DEVFN(4, 0), &m.alloc);
    qernic_init(&b, "shm1", m.bus, QPCI_DEVFN(5, 0), &m.alloc);
    qernic_setup(&a, 1);
    qernic_setup(&b, 2);
    await_peers(&a, 1);
    await_peers(&b, 1);
    qernic_transfers(&a, &b);
    qernic_multicast(&a, &b);
    qernic_crowd(&a, &b);
    g_assert_cmpuint(counter(&a, "tx_packets"), >, 0);
    g_assert_cmpuint(counter(&b, "rx_packets"), >, 0);
    g_assert_cmpuint(counter(&a, "broken") + counter(&b, "broken"), ==, 0);
    qernic_fini(&a);
    qernic_fini(&b);
    card_machine_close(&m);
    /* Both have removed their sockets. */
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* Other icrc=, other packets: the devices refuse each other, and say so. */
static void test_icrc(void)
{
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *args = g_strdup_printf(
        " -device ernic,id=shm0,addr=04.0,roce-shm=%s"
        " -device ernic,id=shm1,addr=05.0,roce-shm=%s,icrc=on", folder, folder);
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    CardMachine m;
    QErnic a, b;

    card_machine_open(&m, args);
    qernic_init(&a, "shm0", m.bus, QPCI_DEVFN(4, 0), &m.alloc);
    qernic_init(&b, "shm1", m.bus, QPCI_DEVFN(5, 0), &m.alloc);
    while (!counter(&a, "refused") || !counter(&b, "refused")) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
    g_assert_cmpuint(counter(&a, "peers") + counter(&b, "peers"), ==, 0);
    qernic_fini(&a);
    qernic_fini(&b);
    card_machine_close(&m);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* Another machine comes and goes three times; this one keeps its socket. */
static void test_machines(void)
{
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *args = g_strdup_printf(
        " -device ernic,id=shm0,addr=04.0,roce-shm=%s", folder);
    CardMachine m[2];
    QErnic a, b;

    card_machine_open(&m[0], args);
    qernic_init(&a, "shm0", m[0].bus, QPCI_DEVFN(4, 0), &m[0].alloc);
    for (int i = 0; i < 3; i++) {
        card_machine_open(&m[1], args);
        qernic_init(&b, "shm0", m[1].bus, QPCI_DEVFN(4, 0), &m[1].alloc);
        await_peers(&a, 1);
        await_peers(&b, 1);
        qernic_fini(&b);
        card_machine_close(&m[1]);
        await_peers(&a, 0);
    }
    qernic_fini(&a);
    card_machine_close(&m[0]);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* Packets to a machine that is stopped wait for it in its ring. */
static void test_stopped(void)
{
    Pair p;

    open_pair(&p);
    qernic_stopped(&p.q[0], &p.q[1]);
    close_pair(&p);
}

/* The addresses move to the destination, and the queue pairs go on there. */
static void test_migrate(void)
{
    QTestState *from;
    QErnic *a, *b;
    Pair p;

    open_pair(&p);
    a = &p.q[0];
    b = &p.q[1];
    qernic_transfers(a, b);
    from = qernic_migrate_as(b, p.args);
    await_peers(a, 2);
    g_assert_cmpuint(unknown(a), ==, 0);
    qernic_transfers(a, b);
    g_assert_cmpuint(unknown(a), ==, 0);
    g_assert_cmpuint(counter(a, "duplicates"), ==, 0);
    qernic_migrate_end(b, from);
    await_peers(a, 1);
    close_pair(&p);
}

/* From a link without ICRC to one with it, and back; a message waits. */
static void test_migrate_icrc(const void *on)
{
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *off_args = g_strdup_printf(
        "-device ernic,id=shm0,addr=04.0,roce-shm=%s", folder);
    g_autofree char *on_args = g_strdup_printf(
        "-device ernic,id=shm0,addr=04.0,roce-shm=%s/on,icrc=on", folder);
    g_autofree char *inner = g_build_filename(folder, "on", NULL);
    QErnicQp x, y;
    QTestState *from;
    CardMachine m;
    QErnic q;

    card_machine_open(&m, on ? on_args : off_args);
    qernic_init(&q, "shm0", m.bus, QPCI_DEVFN(4, 0), &m.alloc);
    qernic_setup(&q, 1);
    qernic_begin(&q, &x, &y);
    from = qernic_migrate_as(&q, on ? off_args : on_args);
    qernic_end(&x, &y);
    qernic_transfers(&q, &q);
    g_assert_cmpuint(qernic_stat(&q, "drops.bad_icrc"), ==, 0);
    qernic_migrate_end(&q, from);
    qernic_fini(&q);
    card_machine_close(&m);
    g_assert_cmpint(g_rmdir(inner), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void set_power(QErnic *q, uint16_t state)
{
    uint8_t pm = qpci_find_capability(&q->dev, PCI_CAP_ID_PM, 0);

    qpci_config_writew(&q->dev, pm + PCI_PM_CTRL, state);
}

/* A function in D3hot, and one after a reset, has no address: nobody waits for it. */
static void test_power(void)
{
    QErnicQp from, to;
    QErnic *a, *b;
    Pair p;

    open_pair(&p);
    a = &p.q[0];
    b = &p.q[1];
    qernic_qp_create(a, &from, ERNIC_QPT_UD);
    qernic_qp_create(b, &to, ERNIC_QPT_UD);
    qernic_qp_connect(&from, &to);
    qernic_qp_connect(&to, &from);
    set_power(b, 3);
    for (int i = 0; i < 3; i++) {
        qernic_datagram(&from, &to);
    }
    g_assert_cmpuint(unknown(a), ==, 3);
    set_power(b, 0);
    qernic_datagram(&from, &to);
    g_assert_cmpuint(unknown(a), ==, 3);
    qernic_set_reg(b, control, ERNIC_CONTROL_RESET);
    qernic_datagram(&from, &to);
    g_assert_cmpuint(unknown(a), ==, 4);
    qernic_setup(b, 2);
    qernic_transfers(a, b);
    g_assert_cmpuint(unknown(a), ==, 4);
    close_pair(&p);
}

/* The mlx5 interface in both machines. */
static void test_mlx5(const void *more)
{
    enum { LEN = 8192 };
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *args = g_strdup_printf(",roce-shm=%s%s", folder, (const char *)more);
    uint8_t out[LEN], in[LEN], cqe[64];
    uint64_t at[2];
    Mlx5Rdma r[2];
    Mlx5 x[2];

    for (int i = 0; i < 2; i++) {
        mlx5_begin(&x[i], args);
        x[i].host = i + 1;
        x[i].peer = 2 - i;
        mlx5_probe(&x[i]);
        mlx5_rdma_open(&x[i], &r[i]);
        at[i] = mlx5_zeroed(&x[i], LEN);
    }
    g_assert_cmphex(r[0].qpn, ==, r[1].qpn);
    for (int i = 0; i < 2; i++) {
        await_peers_of(x[i].m.qts, "ernic0", 1);
    }
    for (int i = 0; i < LEN; i++) {
        out[i] = i * 7;
    }
    for (int i = 0; i < 2; i++) {
        qtest_memwrite(x[i].m.qts, at[i], out, LEN);
        qtest_memset(x[!i].m.qts, at[!i], 0, LEN);
        mlx5_post_recv(&x[!i], &r[!i], at[!i], LEN);
        mlx5_post_send(&x[i], &r[i], at[i], LEN);
        mlx5_ring_sq(&x[i], &r[i]);
        mlx5_completion(&x[!i], &r[!i], cqe);
        mlx5_completion(&x[i], &r[i], cqe);
        qtest_memread(x[!i].m.qts, at[!i], in, LEN);
        g_assert_cmpmem(in, LEN, out, LEN);
        g_assert_cmpuint(counter_of(x[i].m.qts, "ernic0", "tx_packets"), >, 0);
    }
    for (int i = 0; i < 2; i++) {
        mlx5_end(&x[i]);
    }
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void register_tests(void)
{
    qtest_add_data_func("/ernic-shm/link", "", test_link);
    qtest_add_data_func("/ernic-shm/link-iothread", ",iothread=io0", test_link);
    qtest_add_data_func("/ernic-shm/link-icrc", ",icrc=on", test_link);
    qtest_add_data_func("/ernic-shm/link-timing", ",timing=on", test_link);
    qtest_add_func("/ernic-shm/icrc", test_icrc);
    qtest_add_func("/ernic-shm/machines", test_machines);
    qtest_add_func("/ernic-shm/stopped", test_stopped);
    qtest_add_func("/ernic-shm/migrate", test_migrate);
    qtest_add_data_func("/ernic-shm/migrate-to-icrc", NULL, test_migrate_icrc);
    qtest_add_data_func("/ernic-shm/migrate-from-icrc", "on", test_migrate_icrc);
    qtest_add_func("/ernic-shm/power", test_power);
    qtest_add_data_func("/ernic-shm/mlx5", "", test_mlx5);
    qtest_add_data_func("/ernic-shm/mlx5-iothread", ",iothread=io0", test_mlx5);
}

libqos_init(register_tests);
