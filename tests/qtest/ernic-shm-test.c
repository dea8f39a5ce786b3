/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link between two devices of one machine, and between two machines.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "ernic.h"

static uint64_t counter(QErnic *q, const char *name)
{
    g_autofree char *path = g_strconcat("shm.", name, NULL);

    return qernic_stat(q, path);
}

/* Packets to addresses that nobody has. */
static uint64_t unknown(QErnic *q)
{
    return counter(q, "drops.unknown_destination");
}

static void await_peers(QErnic *q, uint64_t num)
{
    qernic_wait_while(q->qts, counter(q, "peers") != num);
}

#define ONE_DEVICE  VERBS_NIC ",id=shm0,addr=04.0,roce-shm=%s"

/* Two machines with a device each, which know each other. */
typedef struct Pair {
    const char *folder;
    QErnic *a, *b;
} Pair;

static void open_pair(Pair *p, const char *more)
{
    p->folder = qernic_folder();
    p->a = qernic_host(qernic_machine(ONE_DEVICE "%s", p->folder, more), "shm0", 4, 1);
    p->b = qernic_host(qernic_machine(ONE_DEVICE "%s", p->folder, more), "shm0", 4, 2);
    await_peers(p->a, 1);
    await_peers(p->b, 1);
}

/* @more: further properties of both devices. */
MACHINE_KINDS("/ernic-shm/link", test_link, { "", "" }, { "-iothread", ",iothread=io0" },
              { "-icrc", ",icrc=on" }, { "-timing", ",timing=on" })
{
    const char *folder = qernic_folder();
    QErnicMachine *m = qernic_machine(
        " -object iothread,id=io0"
        VERBS_NIC ",id=shm0,addr=04.0,roce-shm=%s%s"
        VERBS_NIC ",id=shm1,addr=05.0,roce-shm=%s%s", folder, more, folder, more);
    QErnic *a = qernic_host(m, "shm0", 4, 1), *b = qernic_host(m, "shm1", 5, 2);

    await_peers(a, 1);
    await_peers(b, 1);
    qernic_transfers(a, b);
    qernic_multicast(a, b);
    qernic_crowd(a, b);
    g_assert_cmpuint(counter(a, "tx_packets"), >, 0);
    g_assert_cmpuint(counter(b, "rx_packets"), >, 0);
    g_assert_cmpuint(counter(a, "broken") + counter(b, "broken"), ==, 0);
}

/* Packets to a machine that is stopped wait for it in its ring. */
WORLD_KINDS("/ernic-shm/stopped", test_stopped, Pair, p, open_pair, { "", "" })
{
    qernic_stopped(p->a, p->b);
}

/* The addresses move to the destination, and the queue pairs go on there. */
WORLD_KINDS("/ernic-shm/migrate", test_migrate, Pair, p, open_pair, { "", "" })
{
    g_autofree char *args = NULL;
    QTestState *from;

    args = g_strdup_printf(ONE_DEVICE, p->folder);
    qernic_transfers(p->a, p->b);
    from = qernic_copy(p->b, args, 0);
    await_peers(p->a, 2);
    g_assert_cmpuint(unknown(p->a), ==, 0);
    qernic_transfers(p->a, p->b);
    g_assert_cmpuint(unknown(p->a), ==, 0);
    g_assert_cmpuint(counter(p->a, "duplicates"), ==, 0);
    qernic_quit(from);
    await_peers(p->a, 1);
}

/* Migrate from a link without ICRC to one with it, and back; a message waits. */
MACHINE_KINDS("/ernic-shm/migrate-", test_migrate_icrc, { "to-icrc" },
              { "from-icrc", "on" })
{
    const char *folder = qernic_folder();
    g_autofree char *inner = g_build_filename(folder, "on", NULL);
    g_autofree char *off = g_strdup_printf(ONE_DEVICE, folder);
    g_autofree char *on = g_strdup_printf(ONE_DEVICE ",icrc=on", inner);
    QErnicMachine *m = qernic_machine("%s", more ? on : off);
    QErnic *q = qernic_host(m, "shm0", 4, 1);
    QErnicQp x, y;

    qernic_begin(q, &x, &y);
    qernic_migrate_as(q, more ? off : on);
    qernic_end(&x, &y);
    qernic_transfers(q, q);
    g_assert_cmpuint(qernic_stat(q, "drops.bad_icrc"), ==, 0);
    qernic_machine_end(m);
    g_assert_cmpint(g_rmdir(inner), ==, 0);
}

/* A function in D3hot, and one after a reset, has no address: nobody waits for it. */
WORLD_KINDS("/ernic-shm/power", test_power, Pair, p, open_pair, { "", "" })
{
    QErnicQp from, to;

    qernic_pair(p->a, p->b, &from, &to, ERNIC_QPT_UD);
    qernic_power(&p->b->dev, 3);
    for (int i = 0; i < 3; i++) {
        qernic_datagram(&from, &to);
    }
    g_assert_cmpuint(unknown(p->a), ==, 3);
    qernic_power(&p->b->dev, 0);
    qernic_datagram(&from, &to);
    g_assert_cmpuint(unknown(p->a), ==, 3);
    qernic_set_reg(p->b, control, ERNIC_CONTROL_RESET);
    qernic_datagram(&from, &to);
    g_assert_cmpuint(unknown(p->a), ==, 4);
    qernic_setup(p->b, 2);
    qernic_transfers(p->a, p->b);
    g_assert_cmpuint(unknown(p->a), ==, 4);
}
