/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link between two devices of one machine, and between two machines.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/module.h"
#include "qobject/qdict.h"
#include "ernic-card.h"

static uint64_t counter(QErnic *q, const char *name)
{
    QDict *rsp = qtest_qmp(q->qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': 'statistics' } }", q->id);
    QDict *shm = qdict_get_qdict(qdict_get_qdict(rsp, "return"), "shm");
    uint64_t value = qdict_get_int(shm, name);

    qobject_unref(rsp);
    return value;
}

static void await_peers(QErnic *q, uint64_t num)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    while (counter(q, "peers") != num) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
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
    int i;

    card_machine_open(&m[0], args);
    qernic_init(&a, "shm0", m[0].bus, QPCI_DEVFN(4, 0), &m[0].alloc);
    for (i = 0; i < 3; i++) {
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
    g_autofree char *folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_autofree char *args = g_strdup_printf(
        " -device ernic,id=shm0,addr=04.0,roce-shm=%s", folder);
    CardMachine m[2];
    QErnic q[2];
    int i;

    for (i = 0; i < 2; i++) {
        card_machine_open(&m[i], args);
        qernic_init(&q[i], "shm0", m[i].bus, QPCI_DEVFN(4, 0), &m[i].alloc);
        qernic_setup(&q[i], i + 1);
    }
    await_peers(&q[0], 1);
    await_peers(&q[1], 1);
    qernic_stopped(&q[0], &q[1]);
    for (i = 0; i < 2; i++) {
        qernic_fini(&q[i]);
        card_machine_close(&m[i]);
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
}

libqos_init(register_tests);
