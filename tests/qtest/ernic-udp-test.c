/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link between two devices of one machine.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "ernic-card.h"

#define PEERS "10.0.0.1=127.77.0.1+10.0.0.2=127.77.0.2"

static void test_link(const void *more)
{
    g_autofree char *args = g_strdup_printf(
        " -object iothread,id=io0"
        " -device ernic,id=udp0,addr=04.0,roce-udp=127.77.0.1,roce-peers=" PEERS
        " -device ernic,id=udp1,addr=05.0,roce-udp=127.77.0.2,roce-peers=" PEERS
        "%s", (const char *)more);
    CardMachine m;
    QErnic a, b;

    card_machine_open(&m, args);
    qernic_init(&a, "udp0", m.bus, QPCI_DEVFN(4, 0), &m.alloc);
    qernic_init(&b, "udp1", m.bus, QPCI_DEVFN(5, 0), &m.alloc);
    qernic_setup(&a, 1);
    qernic_setup(&b, 2);
    qernic_transfers(&a, &b);
    qernic_multicast(&a, &b);
    qernic_crowd(&a, &b);
    qernic_fini(&a);
    qernic_fini(&b);
    card_machine_close(&m);
}

static void register_tests(void)
{
    qtest_add_data_func("/ernic-udp/link", "", test_link);
    qtest_add_data_func("/ernic-udp/link-iothread", ",iothread=io0", test_link);
}

libqos_init(register_tests);
