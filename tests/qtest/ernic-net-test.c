/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet face and the netdev link: rings, filter, checksums, and the fork
 * between frames of the engine and frames of the network.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/iov.h"
#include "qemu/module.h"
#include "ernic.h"

#define SHIFT       3
#define ENTRIES     (1u << SHIFT)
#define BUFFER      2048
#define FRAME       1000

static const uint8_t own_mac[6] = { 0x52, 0x54, 0, 0, 0, 0x42 };

typedef struct Eth {
    QErnic q;
    int fd;                     /* the other end of the backend */
    uint64_t tx, rx, state, buf;
    uint32_t tx_pi, rx_pi, rx_ci;
} Eth;

static uint64_t eth_off(size_t off)
{
    return ERNIC_ETH_OFFSET + off;
}

#define OFF(name) eth_off(offsetof(struct ernic_eth_regs, name))

static uint32_t get(Eth *e, uint64_t off)
{
    return qernic_read(&e->q, off);
}

static void set(Eth *e, uint64_t off, uint32_t value)
{
    qernic_write(&e->q, off, value);
}

static uint64_t tx_buffer(Eth *e, uint32_t i)
{
    return e->buf + i % ENTRIES * BUFFER;
}

static uint64_t rx_buffer(Eth *e, uint32_t i)
{
    return e->buf + (ENTRIES + i % ENTRIES) * BUFFER;
}

/* ---- setting up ----------------------------------------------------------- */

static void *with_socket(GString *cmd_line, void *arg)
{
    int *fds = g_new(int, 2);

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    g_string_append_printf(cmd_line, " -netdev socket,fd=%d,id=sock0"
                           " -device ernic,id=eth0,addr=06.0,netdev=sock0,"
                           "mac=52:54:00:00:00:42 ", fds[1]);
    return fds;
}

/* The next test has other descriptors, and so a machine of its own. */
static void finish(Eth *e, int *fds)
{
    qernic_fini(&e->q);
    close(fds[0]);
    close(fds[1]);
    g_free(fds);
    qos_invalidate_command_line();
}

static void start(Eth *e, QErnic *any, int *fds, QGuestAllocator *alloc,
                  uint32_t ctrl)
{
    *e = (Eth) { .fd = fds[0] };
    qernic_init(&e->q, any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    e->tx = guest_alloc(alloc, 4096);
    e->rx = e->tx + 1024;
    e->state = e->tx + 2048;
    e->buf = guest_alloc(alloc, 2 * ENTRIES * BUFFER);
    qtest_memset(e->q.qts, e->tx, 0, 4096);
    qernic_write64(&e->q, OFF(tx_addr), e->tx);
    qernic_write64(&e->q, OFF(rx_addr), e->rx);
    qernic_write64(&e->q, OFF(state_addr), e->state);
    set(e, OFF(tx_shift), SHIFT);
    set(e, OFF(rx_shift), SHIFT);
    set(e, OFF(ctrl), ctrl);
    g_assert_cmphex(get(e, OFF(ctrl)), ==, ctrl);
}

static void fill(uint8_t *frame, uint32_t len, const uint8_t *to)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        frame[i] = i * 3 + (i >> 8);
    }
    memcpy(frame, to, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x88\xb5", 8);
}

/* ---- rings ---------------------------------------------------------------- */

static void post(Eth *e, const struct ernic_eth_txd *desc)
{
    qtest_memwrite(e->q.qts, e->tx + e->tx_pi % ENTRIES * sizeof(*desc), desc,
                   sizeof(*desc));
    e->tx_pi++;
}

static void wait_tx(Eth *e)
{
    uint64_t deadline = 0;

    set(e, OFF(tx_pi), e->tx_pi);
    while (qtest_readl(e->q.qts, e->state) != e->tx_pi) {
        qernic_wait(&e->q, &deadline);
    }
    g_assert_cmpuint(get(e, OFF(tx_ci)), ==, e->tx_pi);
}

/* In pieces of at most @piece bytes. */
static void transmit(Eth *e, const uint8_t *frame, uint32_t len, uint32_t piece,
                     const struct ernic_eth_txd *last)
{
    struct ernic_eth_txd desc;
    uint32_t pos, n;

    for (pos = 0; pos < len; pos += n) {
        n = MIN(piece, len - pos);
        qtest_memwrite(e->q.qts, tx_buffer(e, e->tx_pi), frame + pos, n);
        desc = (struct ernic_eth_txd) { };
        if (pos + n == len) {
            desc = *last;
            desc.flags |= ERNIC_ETH_EOP;
        }
        desc.addr = cpu_to_le64(tx_buffer(e, e->tx_pi));
        desc.len = cpu_to_le16(n);
        post(e, &desc);
    }
    wait_tx(e);
}

static uint32_t from_wire(Eth *e, uint8_t *frame, uint32_t size)
{
    uint32_t len;

    g_assert_cmpint(recv(e->fd, &len, sizeof(len), MSG_WAITALL), ==, 4);
    len = be32_to_cpu(len);
    g_assert_cmpuint(len, <=, size);
    g_assert_cmpint(recv(e->fd, frame, len, MSG_WAITALL), ==, len);
    return len;
}

static void to_wire(Eth *e, const uint8_t *frame, uint32_t len)
{
    uint32_t be = cpu_to_be32(len);
    struct iovec iov[] = { { &be, sizeof(be) }, { (void *)frame, len } };

    g_assert_cmpint(iov_send(e->fd, iov, 2, 0, len + sizeof(be)), ==,
                    len + sizeof(be));
}

static void post_rx(Eth *e, uint16_t size)
{
    struct ernic_eth_rxd desc = {
        .addr = cpu_to_le64(rx_buffer(e, e->rx_pi)),
        .size = cpu_to_le16(size),
    };

    qtest_memwrite(e->q.qts, e->rx + e->rx_pi % ENTRIES * sizeof(desc), &desc,
                   sizeof(desc));
    set(e, OFF(rx_pi), ++e->rx_pi);
}

/* Collect one frame; returns its length, and the flags of its end. */
static uint32_t receive(Eth *e, uint8_t *frame, uint8_t *flags)
{
    struct ernic_eth_rxd desc;
    uint64_t deadline = 0;
    uint32_t len = 0;

    while (qtest_readl(e->q.qts, e->state + 4) == e->rx_ci) {
        qernic_wait(&e->q, &deadline);
    }
    do {
        qtest_memread(e->q.qts, e->rx + e->rx_ci % ENTRIES * sizeof(desc),
                      &desc, sizeof(desc));
        qtest_memread(e->q.qts, le64_to_cpu(desc.addr), frame + len,
                      le16_to_cpu(desc.len));
        len += le16_to_cpu(desc.len);
        e->rx_ci++;
    } while (!(desc.flags & ERNIC_ETH_EOP));
    *flags = desc.flags;
    return len;
}

/* ---- tests ---------------------------------------------------------------- */

static void test_tx(void *obj, void *data, QGuestAllocator *alloc)
{
    struct ernic_eth_txd plain = { };
    uint8_t frame[FRAME], got[BUFFER];
    uint32_t piece, i;
    Eth e;

    start(&e, obj, data, alloc, ERNIC_ETH_TX);
    fill(frame, FRAME, own_mac);
    for (piece = FRAME; piece > FRAME / ENTRIES; piece /= 2) {
        transmit(&e, frame, FRAME, piece, &plain);
        memset(got, 0xa5, sizeof(got));
        g_assert_cmpuint(from_wire(&e, got, sizeof(got)), ==, FRAME);
        g_assert_cmpmem(got, FRAME, frame, FRAME);
    }
    /* Neither a frame without end nor one that is too long leaves. */
    for (i = 0; i < ENTRIES; i++) {
        plain.addr = cpu_to_le64(e.buf);
        plain.len = cpu_to_le16(10);
        post(&e, &plain);
    }
    wait_tx(&e);
    for (i = 0; i < ENTRIES; i++) {
        plain.len = cpu_to_le16(2048);
        plain.flags = i + 1 == ENTRIES ? ERNIC_ETH_EOP : 0;
        post(&e, &plain);
    }
    wait_tx(&e);
    g_assert_cmpuint(get(&e, OFF(tx_errors)), ==, 2);
    set(&e, OFF(tx_pi), e.tx_pi + ENTRIES + 1);
    g_assert_cmpuint(get(&e, OFF(tx_pi)), ==, e.tx_pi);
    transmit(&e, frame, 60, 60, &(struct ernic_eth_txd) { });
    g_assert_cmpuint(from_wire(&e, got, sizeof(got)), ==, 60);
    finish(&e, data);
}

static void test_rx(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t frame[FRAME], got[BUFFER], flags;
    uint64_t deadline = 0;
    int i;
    Eth e;

    start(&e, obj, data, alloc, ERNIC_ETH_RX);
    fill(frame, FRAME, own_mac);
    for (i = 0; i < 3 * ENTRIES; i++) {
        post_rx(&e, BUFFER);
        to_wire(&e, frame, FRAME);
        g_assert_cmpuint(receive(&e, got, &flags), ==, FRAME);
        g_assert_cmpmem(got, FRAME, frame, FRAME);
        g_assert_cmphex(flags, ==, ERNIC_ETH_EOP);
    }
    /* Over several buffers, and padded to the least length. */
    for (i = 0; i < 4; i++) {
        post_rx(&e, 256);
    }
    to_wire(&e, frame, FRAME);
    g_assert_cmpuint(receive(&e, got, &flags), ==, FRAME);
    g_assert_cmpmem(got, FRAME, frame, FRAME);
    post_rx(&e, BUFFER);
    to_wire(&e, frame, 20);
    g_assert_cmpuint(receive(&e, got, &flags), ==, 60);
    /* Without room a frame is lost and counted, and takes no buffer. */
    post_rx(&e, 256);
    to_wire(&e, frame, FRAME);
    while (get(&e, OFF(rx_no_buffer)) == 0) {
        qernic_wait(&e.q, &deadline);
    }
    to_wire(&e, frame, 100);
    g_assert_cmpuint(receive(&e, got, &flags), ==, 100);
    finish(&e, data);
}

/* A frame that has to come behind those that may or may not: a fence. */
static bool arrives(Eth *e, const uint8_t *to)
{
    uint8_t frame[64], got[BUFFER], flags;
    bool came;

    post_rx(e, BUFFER);
    post_rx(e, BUFFER);
    fill(frame, sizeof(frame), to);
    frame[20] = 0xee;
    to_wire(e, frame, sizeof(frame));
    memset(frame, 0xff, 6);
    frame[20] = 0xdd;
    to_wire(e, frame, sizeof(frame));
    receive(e, got, &flags);
    came = got[20] == 0xee;
    if (came) {
        receive(e, got, &flags);
    }
    g_assert_cmphex(got[20], ==, 0xdd);
    /* The second buffer is free again only if it was used. */
    if (!came) {
        to_wire(e, frame, sizeof(frame));
        receive(e, got, &flags);
    }
    return came;
}

static void test_filter(void *obj, void *data, QGuestAllocator *alloc)
{
    static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 0, 0, 1 };
    static const uint8_t other[6] = { 0x52, 0x54, 0, 0, 0, 0x43 };
    int bit, passed = 0;
    Eth e;

    start(&e, obj, data, alloc, ERNIC_ETH_RX);
    g_assert_true(arrives(&e, own_mac));
    g_assert_false(arrives(&e, other));
    g_assert_false(arrives(&e, group));
    for (bit = 0; bit < 64; bit++) {
        qernic_write64(&e.q, OFF(mc_hash), 1ull << bit);
        passed += arrives(&e, group);
    }
    g_assert_cmpint(passed, ==, 1);
    qernic_write64(&e.q, OFF(mc_hash), 0);
    set(&e, OFF(ctrl), ERNIC_ETH_RX | ERNIC_ETH_ALLMULTI);
    g_assert_true(arrives(&e, group));
    g_assert_false(arrives(&e, other));
    set(&e, OFF(ctrl), ERNIC_ETH_RX | ERNIC_ETH_PROMISC);
    g_assert_true(arrives(&e, other));
    set(&e, OFF(ctrl), ERNIC_ETH_RX);
    set(&e, OFF(mac_lo), 0x00005452);
    set(&e, OFF(mac_hi), 0x4300);
    g_assert_true(arrives(&e, other));
    g_assert_false(arrives(&e, own_mac));
    finish(&e, data);
}

/* UDP over IPv4, 10.0.0.1 to 10.0.0.2, its checksum left to the device. */
static void udp_frame(uint8_t *frame, uint32_t payload)
{
    static const uint8_t head[] = {
        0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0,
        10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0x04, 0xd2,
    };
    uint32_t sum = 0;
    int i;

    fill(frame, 42 + payload, own_mac);
    memcpy(frame + 12, head, sizeof(head));
    stw_be_p(frame + 16, 28 + payload);
    for (i = 14; i < 34; i += 2) {
        sum += lduw_be_p(frame + i);
    }
    stw_be_p(frame + 24, ~(sum + (sum >> 16)));
    stw_be_p(frame + 38, 8 + payload);
    /* The pseudo header, as software leaves it. */
    sum = 0x0a00 + 1 + 0x0a00 + 2 + 17 + 8 + payload;
    stw_be_p(frame + 40, sum);
}

static void test_checksum(void *obj, void *data, QGuestAllocator *alloc)
{
    struct ernic_eth_txd desc = {
        .flags = ERNIC_ETH_CSUM, .csum_start = cpu_to_le16(34),
        .csum_offset = cpu_to_le16(6),
    };
    uint8_t frame[200], got[BUFFER], flags;
    Eth e;

    start(&e, obj, data, alloc, ERNIC_ETH_TX | ERNIC_ETH_RX);
    udp_frame(frame, 101);
    transmit(&e, frame, 143, 143, &desc);
    g_assert_cmpuint(from_wire(&e, got, sizeof(got)), ==, 143);
    g_assert_cmphex(lduw_be_p(got + 40), !=, lduw_be_p(frame + 40));
    /* What the device computed, the device finds right; and only that. */
    memcpy(frame, got, 143);
    post_rx(&e, BUFFER);
    to_wire(&e, frame, 143);
    receive(&e, got, &flags);
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP | ERNIC_ETH_CSUM_OK);
    frame[100] ^= 1;
    post_rx(&e, BUFFER);
    to_wire(&e, frame, 143);
    receive(&e, got, &flags);
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP);
    /* Outside of the frame there is no place for it. */
    desc.csum_start = cpu_to_le16(143);
    transmit(&e, frame, 143, 143, &desc);
    g_assert_cmpuint(get(&e, OFF(tx_errors)), ==, 1);
    finish(&e, data);
}

static void test_interrupt(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t frame[FRAME];
    uint64_t deadline = 0;
    Eth e;

    start(&e, obj, data, alloc, 0);
    set(&e, OFF(vector), 3);
    set(&e, OFF(ctrl), ERNIC_ETH_TX | ERNIC_ETH_RX);
    set(&e, OFF(vector), 4);
    g_assert_cmpuint(get(&e, OFF(vector)), ==, 3);
    qpci_msix_enable(&e.q.dev);
    fill(frame, FRAME, own_mac);
    transmit(&e, frame, FRAME, FRAME, &(struct ernic_eth_txd) { });
    g_assert_false(qpci_msix_pending(&e.q.dev, 3));
    set(&e, OFF(rx_arm), 0);
    g_assert_false(qpci_msix_pending(&e.q.dev, 3));
    post_rx(&e, BUFFER);
    to_wire(&e, frame, FRAME);
    while (!qpci_msix_pending(&e.q.dev, 3)) {
        qernic_wait(&e.q, &deadline);
    }
    qpci_msix_disable(&e.q.dev);
    finish(&e, data);
}

/* Rings that are not there, and registers that have no right to be written. */
static void test_bad(void *obj, void *data, QGuestAllocator *alloc)
{
    Eth e;

    start(&e, obj, data, alloc, 0);
    g_assert_cmpuint(get(&e, OFF(link)), ==, 1);
    g_assert_cmpuint(get(&e, OFF(mtu)), ==, ERNIC_ETH_MTU);
    g_assert_cmphex(get(&e, OFF(mac_lo)), ==, 0x00005452);
    g_assert_cmphex(get(&e, OFF(mac_hi)), ==, 0x4200);
    set(&e, OFF(tx_pi), 1);
    g_assert_cmpuint(get(&e, OFF(tx_pi)), ==, 0);
    set(&e, OFF(ctrl), 0x10);
    g_assert_cmphex(get(&e, OFF(ctrl)), ==, 0);
    set(&e, OFF(tx_shift), 13);
    set(&e, OFF(ctrl), ERNIC_ETH_TX);
    g_assert_cmphex(get(&e, OFF(ctrl)), ==, 0);
    set(&e, OFF(ctrl), ERNIC_ETH_RX);
    g_assert_cmphex(get(&e, OFF(ctrl)), ==, ERNIC_ETH_RX);
    set(&e, OFF(ctrl), 0);
    qernic_write64(&e.q, OFF(state_addr), 0);
    set(&e, OFF(ctrl), ERNIC_ETH_RX);
    g_assert_cmphex(get(&e, OFF(ctrl)), ==, 0);
    finish(&e, data);
}

/* The device goes while the backend has frames of it, and then takes them. */
static void test_unplug(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj;
    struct ernic_eth_txd desc = {
        .flags = ERNIC_ETH_EOP, .len = cpu_to_le16(BUFFER),
    };
    uint8_t junk[BUFFER];
    int i, quiet;
    Eth e;

    if (any->dev.bus->not_hotpluggable) {
        g_test_skip("pci bus does not support hotplug");
        return;
    }
    start(&e, obj, data, alloc, ERNIC_ETH_TX);
    desc.addr = cpu_to_le64(e.buf);
    /* Nobody reads what leaves: in the end the device waits. */
    for (quiet = 0; quiet < 20; quiet++) {
        while (e.tx_pi - get(&e, OFF(tx_ci)) < ENTRIES) {
            post(&e, &desc);
            set(&e, OFF(tx_pi), e.tx_pi);
            quiet = 0;
        }
        qtest_clock_step(e.q.qts, 1000);
    }
    g_assert_cmpuint(e.tx_pi, >, 2 * ENTRIES);
    qpci_unplug_acpi_device_test(e.q.qts, "eth0", 0x06);
    for (i = 0; i < 1000; i++) {
        if (recv(e.fd, junk, sizeof(junk), MSG_DONTWAIT) < 0) {
            qtest_clock_step(e.q.qts, 1000);
        }
    }
    finish(&e, data);
}

/* ---- the netdev link ------------------------------------------------------ */

static void *with_hub(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, " -netdev hubport,id=h0,hubid=0"
                    " -netdev hubport,id=h1,hubid=0"
                    " -device ernic,id=net0,addr=06.0,netdev=h0"
                    " -device ernic,id=net1,addr=07.0,netdev=h1 ");
    return arg;
}

static void test_netdev_link(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj, a, b;

    qernic_init(&a, any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_init(&b, any->dev.bus, QPCI_DEVFN(7, 0), alloc);
    qernic_setup(&a, 1);
    qernic_setup(&b, 2);
    qernic_transfers(&a, &b);
    /* A cable that is pulled: the port says so. */
    qtest_qmp_assert_success(a.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'h0', 'up': false } }");
    g_assert_cmphex(qernic_reg(&a, status), ==, ERNIC_STATUS_ENABLED);
    g_assert_cmphex(qernic_reg(&b, status), ==,
                    ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qtest_qmp_assert_success(a.qts, "{ 'execute': 'set_link', 'arguments': {"
                             " 'name': 'h0', 'up': true } }");
    g_assert_cmphex(qernic_reg(&a, status), ==,
                    ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    qernic_transfers(&b, &a);
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

/* Nothing is written to the memory of a machine that is stopped. */
static void test_link_while_stopped(void *obj, void *data,
                                    QGuestAllocator *alloc)
{
    QErnic *any = obj, q;
    uint64_t deadline = 0;

    qernic_init(&q, any->dev.bus, QPCI_DEVFN(6, 0), alloc);
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

/* An e1000 that receives all frames, each into the memory at @to. */
static void aim(QPCIDevice *dev, QErnic *q, uint64_t to)
{
    uint64_t ring = guest_alloc(q->alloc, 4096);
    QPCIBar bar;
    int i;

    qpci_device_enable(dev);
    bar = qpci_iomap(dev, 0, NULL);
    qtest_memset(q->qts, ring, 0, 4096);
    for (i = 0; i < 64; i++) {
        qtest_writeq(q->qts, ring + i * 16, to);
    }
    qpci_io_writel(dev, bar, 0x2800, ring);             /* RDBAL */
    qpci_io_writel(dev, bar, 0x2808, 64 * 16);          /* RDLEN */
    qpci_io_writel(dev, bar, 0x2818, 63);               /* RDT */
    qpci_io_writel(dev, bar, 0x100, 0x1a);              /* RCTL: EN UPE MPE */
    qpci_iounmap(dev, bar);
    /* It begins a second later. */
    qtest_clock_step(q->qts, 2000000000);
}

/* What the device sends comes back into its registers, as another card's DMA. */
static void test_other_card(void *obj, void *data, QGuestAllocator *alloc)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    const uint32_t payload = 64, frame = 14 + 20 + 8 + 12 + payload + 4;
    QErnic *any = obj, q, peer = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
    QPCIDevice *card = qpci_device_find(any->dev.bus, QPCI_DEVFN(7, 0));
    QErnicQp qp, far = { .q = &peer, .qpn = 7, .type = ERNIC_QPT_RC };
    int i;

    g_assert_nonnull(card);
    qernic_init(&q, any->dev.bus, QPCI_DEVFN(6, 0), alloc);
    qernic_setup(&q, 1);
    qernic_qp_create(&q, &qp, ERNIC_QPT_RC);
    qernic_qp_connect(&qp, &far);
    /* The last four bytes, the ICRC, are a write to control; most are resets. */
    aim(card, &q, q.bar.addr + offsetof(struct ernic_regs, control) + 4 - frame);
    for (i = 0; i < 10; i++) {
        struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };

        qernic_post_send(&qp, &wqe, 0, payload);
        qtest_clock_step(q.qts, 1000);
    }
    g_assert_cmphex(qernic_reg(&q, status), ==,
                    ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
    g_assert_cmpuint(qernic_cmd(&q, &nop, NULL), ==, ERNIC_OK);
    g_free(card);
    qernic_fini(&q);
}

static void register_tests(void)
{
    QOSGraphTestOptions eth = { .before = with_socket };
    QOSGraphTestOptions hub = { .before = with_hub };
    QOSGraphTestOptions card = { .before = with_other_card };

    qos_add_test("eth-tx", "ernic", test_tx, &eth);
    qos_add_test("eth-rx", "ernic", test_rx, &eth);
    qos_add_test("eth-filter", "ernic", test_filter, &eth);
    qos_add_test("eth-checksum", "ernic", test_checksum, &eth);
    qos_add_test("eth-interrupt", "ernic", test_interrupt, &eth);
    qos_add_test("eth-bad", "ernic", test_bad, &eth);
    qos_add_test("eth-unplug", "ernic", test_unplug, &eth);
    qos_add_test("netdev-link", "ernic", test_netdev_link, &hub);
    qos_add_test("netdev-link-stopped", "ernic", test_link_while_stopped,
                 &hub);
    qos_add_test("netdev-other-card", "ernic", test_other_card, &card);
}

libqos_init(register_tests);
