/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link between two devices of one machine.
 */
#include "qemu/osdep.h"
#include "ernic.h"

#define PEERS "10.0.0.1=127.77.0.1+10.0.0.2=127.77.0.2"

MACHINE_KINDS("/ernic-udp/link", test_link, { "", "" }, { "-iothread", ",iothread=io0" })
{
    QErnicMachine *m = qernic_machine(
        " -object iothread,id=io0"
        VERBS_NIC ",id=udp0,addr=04.0,roce-udp=127.77.0.1,roce-peers=" PEERS
        VERBS_NIC ",id=udp1,addr=05.0,roce-udp=127.77.0.2,roce-peers=" PEERS
        "%s", more);
    QErnic *a = qernic_host(m, "udp0", 4, 1), *b = qernic_host(m, "udp1", 5, 2);

    qernic_transfers(a, b);
    qernic_multicast(a, b);
    qernic_crowd(a, b);
}
