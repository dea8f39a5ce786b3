/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The netdev link: RoCEv2 packets as frames between devices of one machine,
 * their VLANs, a cable that is pulled, and other cards on the same wire.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "ernic-card.h"

static void *with_hub(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, " -netdev hubport,id=h0,hubid=0"
                    " -netdev hubport,id=h1,hubid=0"
                    " -device ernic,id=net0,addr=06.0,netdev=h0"
                    " -device ernic,id=net1,addr=07.0,netdev=h1 ");
    return arg;
}

static void link_of(QPCIBus *bus, QGuestAllocator *alloc)
{
    QErnic a, b;

    qernic_init(&a, "net0", bus, QPCI_DEVFN(6, 0), alloc);
    qernic_init(&b, "net1", bus, QPCI_DEVFN(7, 0), alloc);
    qernic_setup(&a, 1);
    qernic_setup(&b, 2);
    qernic_transfers(&a, &b);
    qernic_multicast(&a, &b);
    /* Pull the cable: the port reports it. */
    qtest_qmp_assert_success(a.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'h0', 'up': false } }");
    g_assert_cmphex(qernic_reg(&a, status), ==, ERNIC_STATUS_ENABLED);
    g_assert_cmphex(qernic_reg(&b, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qtest_qmp_assert_success(a.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'h0', 'up': true } }");
    g_assert_cmphex(qernic_reg(&a, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_transfers(&b, &a);
    qernic_crowd(&a, &b);
    qernic_fini(&a);
    qernic_fini(&b);
}

static void test_netdev_link(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj;

    link_of(any->dev.bus, alloc);
}

/* The same with engines in threads of their own, or in one iothread. */
static void test_netdev_thread(const void *more)
{
    g_autofree char *args = g_strdup_printf(
        " -object iothread,id=io0"
        " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
        " -device ernic,id=net0,addr=06.0,netdev=h0%s"
        " -device ernic,id=net1,addr=07.0,netdev=h1%s",
        (const char *)more, (const char *)more);
    CardMachine m;

    card_machine_open(&m, args);
    link_of(m.bus, &m.alloc);
    card_machine_close(&m);
}

/*
 * The engine of @y receives packets of @x with these VLANs if @comes is true. The engines
 * have threads: one that comes has seconds, and one that must not has 50 ms.
 */
static void send_in_vlan(QErnicQp *x, QErnicQp *y, uint16_t from, uint16_t to, bool comes)
{
    uint64_t before = qernic_stat(y->q, "rx_packets"), deadline = 0;

    qernic_set_gid(x->q, 0, from);
    qernic_set_gid(y->q, 0, to);
    qernic_post_recv(y, 0, 1024);
    qernic_datagram(x, y);
    while (comes && qernic_stat(y->q, "rx_packets") == before) {
        qernic_wait(x->q, &deadline);
    }
    g_usleep(comes ? 0 : 50000);
    g_assert_cmpuint(qernic_stat(y->q, "rx_packets") - before, ==, comes);
}

/* The same address in two VLANs is two addresses. */
static void test_vlan(void *obj, void *data, QGuestAllocator *alloc)
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
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };
    QErnic *any = obj, a, b;
    QErnicQp x, y;
    struct ernic_cqe cqe;
    uint64_t deadline = 0;

    qernic_init(&a, "net0", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_init(&b, "net1", any->dev.bus, QPCI_DEVFN(7, 0), alloc);
    qernic_setup(&a, 1);
    qernic_setup(&b, 2);
    qernic_qp_create(&a, &x, ERNIC_QPT_UD);
    qernic_qp_create(&b, &y, ERNIC_QPT_UD);
    qernic_qp_connect(&x, &y);
    qernic_qp_connect(&y, &x);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_test_message("%04x to %04x", rows[i].from, rows[i].to);
        send_in_vlan(&x, &y, rows[i].from, rows[i].to, rows[i].comes);
    }
    /* The peer's address is in both VLANs, its connection in one of them. */
    qernic_set_gid(&a, 0, 5);
    qernic_set_gid(&b, 0, 0xffff);
    qernic_set_gid(&b, 1, 5);
    qernic_qp_create(&a, &x, ERNIC_QPT_RC);
    qernic_qp_create(&b, &y, ERNIC_QPT_RC);
    qernic_qp_connect(&x, &y);
    qernic_qp_connect(&y, &x);
    qernic_post_recv(&y, 0, 1024);
    qernic_post_send(&x, &wqe, 1024, 64);
    while (!qernic_stat(&b, "drops.address")) {
        qernic_wait(&b, &deadline);
    }
    g_assert_false(qernic_has_cqe(&y));
    qernic_set_gid(&b, 0, 5);
    while (!qernic_has_cqe(&x)) {
        qtest_clock_step(a.qts, 10000000);
    }
    qernic_poll(&x, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    g_assert_true(qernic_has_cqe(&y));
    qernic_fini(&a);
    qernic_fini(&b);
}

static void link_to(QErnic *q, bool up)
{
    qtest_qmp_assert_success(q->qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'h0', 'up': %i } }", up);
}

static uint8_t first_event(QErnic *q)
{
    struct ernic_eqe eqe;

    qtest_memread(q->qts, q->eq_ring, &eqe, sizeof(eqe));
    return eqe.phase ? eqe.type : 0;
}

/* The device does not write to the memory of a stopped machine. */
static void test_link_while_stopped(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj, q;
    uint64_t deadline = 0;

    qernic_init(&q, "net0", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_setup(&q, 1);
    qtest_qmp_assert_success(q.qts, "{ 'execute': 'stop' }");
    link_to(&q, false);
    g_assert_cmpuint(first_event(&q), ==, 0);
    qtest_qmp_assert_success(q.qts, "{ 'execute': 'cont' }");
    while (!first_event(&q)) {
        qernic_wait(&q, &deadline);
    }
    g_assert_cmpuint(first_event(&q), ==, ERNIC_EV_PORT_ERR);
    link_to(&q, true);
    qernic_fini(&q);
}

static void *with_other_card(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, " -netdev hubport,id=h0,hubid=0"
                    " -netdev hubport,id=h1,hubid=0"
                    " -device ernic,id=net0,addr=06.0,netdev=h0"
                    " -device e1000,id=net1,addr=07.0,netdev=h1 ");
    return arg;
}

/* Sets an e1000 up to receive all frames, each into the memory at @to. */
static void aim(QPCIDevice *dev, QErnic *q, uint64_t to)
{
    uint64_t ring = guest_alloc(q->alloc, 4096);
    QPCIBar bar;

    qpci_device_enable(dev);
    bar = qpci_iomap(dev, 0, NULL);
    qtest_memset(q->qts, ring, 0, 4096);
    for (int i = 0; i < 64; i++) {
        qtest_writeq(q->qts, ring + i * 16, to);
    }
    qpci_io_writel(dev, bar, 0x2800, ring);             /* RDBAL */
    qpci_io_writel(dev, bar, 0x2808, 64 * 16);          /* RDLEN */
    qpci_io_writel(dev, bar, 0x2818, 63);               /* RDT */
    qpci_io_writel(dev, bar, 0x100, 0x1a);              /* RCTL: EN UPE MPE */
    qpci_iounmap(dev, bar);
    /* The e1000 starts to receive after a second. */
    qtest_clock_step(q->qts, 2000000000);
}

/* The e1000 writes the device's frames to the device's registers by DMA. */
static void test_other_card(void *obj, void *data, QGuestAllocator *alloc)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    const uint32_t payload = 64, frame = 14 + 20 + 8 + 12 + payload + 4;
    QErnic *any = obj, q, peer = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
    QPCIDevice *card = qpci_device_find(any->dev.bus, QPCI_DEVFN(7, 0));
    QErnicQp qp, far = { .q = &peer, .qpn = 7, .type = ERNIC_QPT_RC };

    g_assert_nonnull(card);
    qernic_init(&q, "net0", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_setup(&q, 1);
    qernic_qp_create(&q, &qp, ERNIC_QPT_RC);
    qernic_qp_connect(&qp, &far);
    /* The last four bytes, the ICRC, go to the control register; most reset it. */
    aim(card, &q, q.bar.addr + offsetof(struct ernic_regs, control) + 4 - frame);
    for (int i = 0; i < 10; i++) {
        struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };

        qernic_post_send(&qp, &wqe, 0, payload);
        qtest_clock_step(q.qts, 1000);
    }
    g_assert_cmphex(qernic_reg(&q, status), ==, ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    g_assert_cmpuint(qernic_cmd(&q, &nop, NULL), ==, ERNIC_OK);
    g_free(card);
    qernic_fini(&q);
}

static void register_tests(void)
{
    QOSGraphTestOptions hub = { .before = with_hub };
    QOSGraphTestOptions card = { .before = with_other_card };

    qos_add_test("netdev-link", "ernic", test_netdev_link, &hub);
    qos_add_test("netdev-vlan", "ernic", test_vlan, &hub);
    qos_add_test("netdev-link-stopped", "ernic", test_link_while_stopped, &hub);
    qtest_add_data_func("/ernic-link/main-loop", ",engine-thread=off",
                        test_netdev_thread);
    qtest_add_data_func("/ernic-link/iothread", ",iothread=io0", test_netdev_thread);
    qos_add_test("netdev-other-card", "ernic", test_other_card, &card);
}

libqos_init(register_tests);
