/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The netdev link: RoCEv2 packets as frames between devices of one machine, their VLANs,
 * a cable that is pulled, and other cards on the same wire. And the UDP link.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "ernic-eth.h"

#define HUB(more) \
    " -object iothread,id=io0" \
    " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
    VERBS_NIC ",id=net0,addr=06.0,netdev=h0" more \
    VERBS_NIC ",id=net1,addr=07.0,netdev=h1" more

/* Engines in threads of their own, in the main loop, or in one iothread. */
MACHINE_KINDS("/ernic-", test_netdev_link, { "netdev-link", HUB(",engine-thread=on") },
              { "link/main-loop", HUB(",engine-thread=off") },
              { "link/iothread", HUB(",iothread=io0") })
{
    QErnicMachine *m = qernic_machine("%s", more);
    QErnic *a = qernic_host(m, "net0", 6, 1), *b = qernic_host(m, "net1", 7, 2);

    qernic_transfers(a, b);
    qernic_multicast(a, b);
    /* Pull the cable: the port reports it. */
    qernic_set_link(m->qts, "h0", false);
    g_assert_cmphex(qernic_reg(a, status), ==, ERNIC_STATUS_ENABLED);
    g_assert_cmphex(qernic_reg(b, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_set_link(m->qts, "h0", true);
    g_assert_cmphex(qernic_reg(a, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_transfers(b, a);
    qernic_crowd(a, b);
}

/* Addresses of this process, as another one may run the same test. */
#define UDP_END(id, addr, end) VERBS_NIC ",id=" id ",addr=" addr ",roce-udp=127.%s." end \
    ",roce-peers=10.0.0.1=127.%s.1+10.0.0.2=127.%s.2"

MACHINE_KINDS("/ernic-udp/link", test_udp, { "", "" }, { "-iothread", ",iothread=io0" })
{
    uint16_t own = getpid();
    g_autofree char *net = g_strdup_printf("%u.%u", own >> 8, own & 0xff);
    QErnicMachine *m = qernic_machine(
        " -object iothread,id=io0" UDP_END("udp0", "04.0", "1") "%s"
        UDP_END("udp1", "05.0", "2") "%s", net, net, net, more, net, net, net, more);
    QErnic *a = qernic_host(m, "udp0", 4, 1), *b = qernic_host(m, "udp1", 5, 2);

    qernic_transfers(a, b);
    qernic_multicast(a, b);
    qernic_crowd(a, b);
}

static bool set_peer(QTestState *qts, const char *property, const char *value)
{
    g_autoptr(QDict) rsp = qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                                     " 'path': 'udp0', 'property': %s, 'value': %s } }",
                                     property, value);

    return qdict_haskey(rsp, "return");
}

/* A property adds one peer, or none: a list is refused as a whole. */
MACHINE_TEST("/ernic-udp/peers", test_peers)
{
    QTestState *qts = qernic_machine(VERBS_NIC ",id=udp0,roce-udp=127.0.0.1:0")->qts;

    g_assert_false(set_peer(qts, "add-peer", "10.0.0.1=127.0.0.1+10.0.0.2"));
    g_assert_false(set_peer(qts, "remove-peer", "10.0.0.1"));
    g_assert_true(set_peer(qts, "add-peer", "10.0.0.1=127.0.0.1"));
    g_assert_true(set_peer(qts, "remove-peer", "10.0.0.1"));
}

#define END(i, own, its) \
    " -netdev dgram,id=n,local.type=unix,local.path=%s" own ",remote.type=unix," \
    "remote.path=%s" its VERBS_NIC ",id=net" i ",addr=06.0,netdev=n,engine-thread=%s"

/* Frames to a machine that is stopped wait for it in its socket. */
MACHINE_KINDS("/ernic-link/stopped-", test_stopped, { "main-loop", "off" },
              { "thread", "on" })
{
    const char *path = qernic_temp();
    QErnicMachine *m[] = {
        qernic_machine(END("0", ".0", ".1"), path, path, more),
        qernic_machine(END("1", ".1", ".0"), path, path, more),
    };

    qernic_stopped(qernic_host(m[0], "net0", 6, 1), qernic_host(m[1], "net1", 6, 2));
    for (int i = 0; i < 2; i++) {
        g_autofree char *socket = g_strdup_printf("%s.%d", path, i);

        qernic_machine_end(m[i]);
        g_unlink(socket);
    }
}

/*
 * The engine of @y receives packets of @x with these VLANs if @comes is true. The engines
 * have threads: one that comes has seconds, and one that must not has 50 ms.
 */
static void send_in_vlan(QErnicQp *x, QErnicQp *y, uint16_t from, uint16_t to, bool comes)
{
    uint64_t before = qernic_stat(y->q, "rx_packets");

    qernic_set_gid(x->q, 0, from);
    qernic_set_gid(y->q, 0, to);
    qernic_post_recv(y, 0, 1024);
    qernic_datagram(x, y);
    qernic_wait_while(x->q->qts, comes && qernic_stat(y->q, "rx_packets") == before);
    g_usleep(comes ? 0 : 50000);
    g_assert_cmpuint(qernic_stat(y->q, "rx_packets") - before, ==, comes);
}

/* The same address in two VLANs is two addresses. */
MACHINE_TEST("/ernic-netdev-vlan", test_vlan)
{
    static const struct {
        uint16_t from, to;
        bool comes;
    } rows[] = {
        { 0xffff, 0xffff, true }, { 5, 5, true }, { 5, 6, false },
        { 5, 0xffff, false }, { 0xffff, 5, false },
        /* A priority tag (VLAN ID 0) is the same as no VLAN. */
        { 0, 0xffff, true }, { 0xffff, 0, true }, { 0, 5, false },
    };
    QErnicMachine *m = qernic_machine(HUB(""));
    QErnic *a = qernic_host(m, "net0", 6, 1), *b = qernic_host(m, "net1", 7, 2);
    QErnicQp x, y;

    qernic_pair(a, b, &x, &y, ERNIC_QPT_UD);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_test_message("%04x to %04x", rows[i].from, rows[i].to);
        send_in_vlan(&x, &y, rows[i].from, rows[i].to, rows[i].comes);
    }
    /* The peer's address is in both VLANs, its connection in one of them. */
    qernic_set_gid(a, 0, 5);
    qernic_set_gid(b, 0, 0xffff);
    qernic_set_gid(b, 1, 5);
    qernic_pair(a, b, &x, &y, ERNIC_QPT_RC);
    qernic_post_recv(&y, 0, 1024);
    qernic_send(&x, 1024, 64);
    qernic_wait_while(m->qts, !qernic_stat(b, "drops.address"));
    g_assert_false(qernic_has_cqe(&y));
    qernic_set_gid(b, 0, 5);
    while (!qernic_has_cqe(&x)) {
        qtest_clock_step(m->qts, 10000000);
    }
    qernic_done(&x);
    g_assert_true(qernic_has_cqe(&y));
}

static uint8_t first_event(QErnic *q)
{
    struct ernic_eqe eqe;

    qtest_memread(q->qts, q->eq_ring, &eqe, sizeof(eqe));
    return eqe.phase ? eqe.type : 0;
}

/* The device does not write to the memory of a stopped machine. */
MACHINE_TEST("/ernic-netdev-link-stopped", test_link_while_stopped)
{
    QErnicMachine *m = qernic_machine(HUB(""));
    QErnic *q = qernic_host(m, "net0", 6, 1);

    qernic_stop(m->qts);
    qernic_set_link(m->qts, "h0", false);
    g_assert_cmpuint(first_event(q), ==, 0);
    qernic_cont(m->qts);
    qernic_wait_while(m->qts, !first_event(q));
    g_assert_cmpuint(first_event(q), ==, ERNIC_EV_PORT_ERR);
}

/* The e1000 writes the device's frames to the device's registers by DMA. */
MACHINE_TEST("/ernic-netdev-other-card", test_other_card)
{
    const uint32_t payload = 64, frame = 14 + 20 + 8 + 12 + payload + 4;
    uint64_t at;
    QErnicMachine *m = qernic_machine(
        " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
        VERBS_NIC ",id=net0,addr=06.0,netdev=h0"
        " -device e1000,id=net1,addr=07.0,netdev=h1");
    QPCIDevice *card = qpci_device_find(m->bus, QPCI_DEVFN(7, 0));
    QErnic *q = qernic_host(m, "net0", 6, 1);
    QErnicQp qp;

    g_assert_nonnull(card);
    qernic_qp_create(q, &qp, ERNIC_QPT_RC);
    qernic_qp_connect(&qp, &qernic_nobody);
    /* The last four bytes, the ICRC, go to the control register; most reset it. */
    at = q->bar.addr + offsetof(struct ernic_regs, control) + 4 - frame;
    qeth_e1000(card, q->alloc, at, at);
    for (int i = 0; i < 10; i++) {
        qernic_send(&qp, 0, payload);
        qtest_clock_step(m->qts, 1000);
    }
    g_assert_cmphex(qernic_reg(q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_nop(q);
    g_free(card);
}
