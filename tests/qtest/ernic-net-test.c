/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet interface: registers, rings, filter, checksums, interrupts.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-eth.h"

ETH_TEST("/ernic-eth-tx", test_tx, ERNIC_ETH_TX)
{
    struct ernic_eth_txd plain = { };
    uint8_t frame[FRAME], got[BUFFER];

    qeth_fill(frame, FRAME, own_mac);
    for (uint32_t piece = FRAME; piece > FRAME / ENTRIES; piece /= 2) {
        qeth_transmit(e, frame, FRAME, piece, &plain);
        memset(got, 0xa5, sizeof(got));
        g_assert_cmpuint(qernic_from_wire(e->fd, got, sizeof(got)), ==, FRAME);
        g_assert_cmpmem(got, FRAME, frame, FRAME);
    }
    /* A frame without an end is not sent, nor is one that is too long. */
    for (uint32_t i = 0; i < ENTRIES; i++) {
        plain.addr = cpu_to_le64(e->buf);
        plain.len = cpu_to_le16(10);
        qeth_post(e, &plain);
    }
    qeth_wait_tx(e);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        plain.len = cpu_to_le16(2048);
        plain.flags = i + 1 == ENTRIES ? ERNIC_ETH_EOP : 0;
        qeth_post(e, &plain);
    }
    qeth_wait_tx(e);
    qeth_is(e, OFF(tx_errors), 2);
    qeth_set(e, OFF(tx_pi), e->tx_pi + ENTRIES + 1);
    qeth_is(e, OFF(tx_pi), e->tx_pi);
    qeth_transmit(e, frame, 60, 60, &(struct ernic_eth_txd) { });
    g_assert_cmpuint(qernic_from_wire(e->fd, got, sizeof(got)), ==, 60);
}

ETH_TEST("/ernic-eth-rx", test_rx, ERNIC_ETH_RX)
{
    uint8_t frame[FRAME], got[BUFFER], flags;

    qeth_fill(frame, FRAME, own_mac);
    for (int i = 0; i < 3 * ENTRIES; i++) {
        qeth_post_rx(e, BUFFER);
        qernic_to_wire(e->fd, frame, FRAME);
        g_assert_cmpuint(qeth_receive(e, got, &flags), ==, FRAME);
        g_assert_cmpmem(got, FRAME, frame, FRAME);
        g_assert_cmphex(flags, ==, ERNIC_ETH_EOP);
    }
    /* Frames that need several buffers, and short frames that are padded. */
    for (int i = 0; i < 4; i++) {
        qeth_post_rx(e, 256);
    }
    qernic_to_wire(e->fd, frame, FRAME);
    g_assert_cmpuint(qeth_receive(e, got, &flags), ==, FRAME);
    g_assert_cmpmem(got, FRAME, frame, FRAME);
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, 20);
    g_assert_cmpuint(qeth_receive(e, got, &flags), ==, 60);
    /* A frame without room is dropped and counted, and uses no buffer. */
    qeth_post_rx(e, 256);
    qernic_to_wire(e->fd, frame, FRAME);
    qernic_wait_while(e->q->qts, qeth_get(e, OFF(rx_no_buffer)) == 0);
    qernic_to_wire(e->fd, frame, 100);
    g_assert_cmpuint(qeth_receive(e, got, &flags), ==, 100);
}

/*
 * Whether a frame to address @to is received. The broadcast frame sent after it is
 * always received, and so shows that the first one was processed.
 */
static bool arrives(Eth *e, const uint8_t *to)
{
    uint8_t frame[64], got[BUFFER], flags;
    bool came;

    qeth_post_rx(e, BUFFER);
    qeth_post_rx(e, BUFFER);
    qeth_fill(frame, sizeof(frame), to);
    frame[20] = 0xee;
    qernic_to_wire(e->fd, frame, sizeof(frame));
    memset(frame, 0xff, 6);
    frame[20] = 0xdd;
    qernic_to_wire(e->fd, frame, sizeof(frame));
    qeth_receive(e, got, &flags);
    came = got[20] == 0xee;
    if (came) {
        qeth_receive(e, got, &flags);
    }
    g_assert_cmphex(got[20], ==, 0xdd);
    /* Use up the second buffer too. */
    if (!came) {
        qernic_to_wire(e->fd, frame, sizeof(frame));
        qeth_receive(e, got, &flags);
    }
    return came;
}

ETH_TEST("/ernic-eth-filter", test_filter, ERNIC_ETH_RX)
{
    static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 0, 0, 1 };
    static const uint8_t other[6] = { 0x52, 0x54, 0, 0, 0, 0x43 };
    int bit, passed = 0;

    g_assert_true(arrives(e, own_mac));
    g_assert_false(arrives(e, other));
    g_assert_false(arrives(e, group));
    for (bit = 0; bit < 64; bit++) {
        qernic_write64(e->q, OFF(mc_hash), 1ull << bit);
        passed += arrives(e, group);
    }
    g_assert_cmpint(passed, ==, 1);
    qernic_write64(e->q, OFF(mc_hash), 0);
    qeth_set(e, OFF(ctrl), ERNIC_ETH_RX | ERNIC_ETH_ALLMULTI);
    g_assert_true(arrives(e, group));
    g_assert_false(arrives(e, other));
    qeth_set(e, OFF(ctrl), ERNIC_ETH_RX | ERNIC_ETH_PROMISC);
    g_assert_true(arrives(e, other));
    qeth_set(e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_set(e, OFF(mac_lo), 0x00005452);
    qeth_set(e, OFF(mac_hi), 0x4300);
    g_assert_true(arrives(e, other));
    g_assert_false(arrives(e, own_mac));
}

/* UDP over IPv4, 10.0.0.1 to 10.0.0.2; the device inserts the checksum. */
static void udp_frame(uint8_t *frame, uint32_t payload)
{
    static const uint8_t head[] = {
        0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0,
        10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0x04, 0xd2,
    };
    uint32_t sum = 0;

    qeth_fill(frame, 42 + payload, own_mac);
    memcpy(frame + 12, head, sizeof(head));
    stw_be_p(frame + 16, 28 + payload);
    for (int i = 14; i < 34; i += 2) {
        sum += lduw_be_p(frame + i);
    }
    stw_be_p(frame + 24, ~(sum + (sum >> 16)));
    stw_be_p(frame + 38, 8 + payload);
    /* The sum of the pseudo header, as software provides it. */
    sum = 0x0a00 + 1 + 0x0a00 + 2 + 17 + 8 + payload;
    stw_be_p(frame + 40, sum);
}

ETH_TEST("/ernic-eth-checksum", test_checksum, ERNIC_ETH_TX | ERNIC_ETH_RX)
{
    struct ernic_eth_txd desc = {
        .flags = ERNIC_ETH_CSUM, .csum_start = cpu_to_le16(34),
        .csum_offset = cpu_to_le16(6),
    };
    uint8_t frame[200], got[BUFFER], flags;

    udp_frame(frame, 101);
    qeth_transmit(e, frame, 143, 143, &desc);
    g_assert_cmpuint(qernic_from_wire(e->fd, got, sizeof(got)), ==, 143);
    g_assert_cmphex(lduw_be_p(got + 40), !=, lduw_be_p(frame + 40));
    /* On receive, the device accepts its own checksum and no other. */
    memcpy(frame, got, 143);
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, 143);
    qeth_receive(e, got, &flags);
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP | ERNIC_ETH_CSUM_OK);
    frame[100] ^= 1;
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, 143);
    qeth_receive(e, got, &flags);
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP);
    /* A VLAN tag changes no checksum. */
    frame[100] ^= 1;
    memmove(frame + 16, frame + 12, 131);
    stl_be_p(frame + 12, 0x81000005);
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, 147);
    qeth_receive(e, got, &flags);
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP | ERNIC_ETH_CSUM_OK);
    /* A checksum outside of the frame is refused. */
    desc.csum_start = cpu_to_le16(143);
    qeth_transmit(e, frame, 143, 143, &desc);
    qeth_is(e, OFF(tx_errors), 1);
}

ETH_TEST("/ernic-eth-interrupt", test_interrupt, 0)
{
    uint8_t frame[FRAME];

    qeth_set(e, OFF(vector), 3);
    qeth_set(e, OFF(ctrl), ERNIC_ETH_TX | ERNIC_ETH_RX);
    qeth_set(e, OFF(vector), 4);
    qeth_is(e, OFF(vector), 3);
    qpci_msix_enable(&e->q->dev);
    qeth_fill(frame, FRAME, own_mac);
    qeth_transmit(e, frame, FRAME, FRAME, &(struct ernic_eth_txd) { });
    g_assert_false(qpci_msix_pending(&e->q->dev, 3));
    qeth_set(e, OFF(rx_arm), 0);
    g_assert_false(qpci_msix_pending(&e->q->dev, 3));
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, FRAME);
    qernic_wait_while(e->q->qts, !qpci_msix_pending(&e->q->dev, 3));
    qpci_msix_disable(&e->q->dev);
}

/* Invalid rings, and writes that the registers refuse. */
ETH_TEST("/ernic-eth-bad", test_bad, 0)
{
    qeth_set(e, OFF(tx_shift), 13);
    qeth_set(e, OFF(ctrl), ERNIC_ETH_TX);
    qeth_is(e, OFF(ctrl), 0);
    qeth_set(e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_is(e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_set(e, OFF(ctrl), 0);
    qernic_write64(e->q, OFF(state_addr), 0);
    qeth_set(e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_is(e, OFF(ctrl), 0);
}

/* Reset values of the registers, and the bits that can be written. */
static const struct {
    const char *name;
    uint16_t off;
    uint32_t reset, rw;
} regs[] = {
#define AT(field, ...) \
    { #field, offsetof(struct ernic_eth_regs, field), __VA_ARGS__ }
#define WIDE(field, rw) \
    AT(field, 0, rw), \
    { #field " high", offsetof(struct ernic_eth_regs, field) + 4, 0, rw }
    AT(ctrl, 0, 0),             /* a write with reserved bits is refused */
    AT(link, 1, 0),
    AT(mtu, ERNIC_ETH_MTU, 0),
    AT(mac_lo, 0x00005452, ~0u),
    AT(mac_hi, 0x4200, 0xffff),
    WIDE(mc_hash, ~0u),
    WIDE(tx_addr, ~0u),
    WIDE(rx_addr, ~0u),
    WIDE(state_addr, ~0u),
    AT(tx_shift, 0, ~0u),
    AT(rx_shift, 0, ~0u),
    AT(vector, 0, ~0u),
    AT(tx_pi, 0, 0),            /* read-only while the ring is disabled */
    AT(rx_pi, 0, 0),
    AT(tx_arm, 0, ~0u),
    AT(rx_arm, 0, ~0u),
    AT(tx_ci, 0, 0),
    AT(rx_ci, 0, 0),
    WIDE(tx_packets, 0),
    WIDE(tx_bytes, 0),
    WIDE(tx_errors, 0),
    WIDE(rx_packets, 0),
    WIDE(rx_bytes, 0),
    WIDE(rx_no_buffer, 0),
    WIDE(rx_errors, 0),
#undef AT
#undef WIDE
};

static bool is_register(uint32_t off)
{
    for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
        if (regs[i].off == off) {
            return true;
        }
    }
    return false;
}

ETH_TEST("/ernic-eth-registers", test_registers, 0)
{
    uint32_t off, holes = 0;

    qernic_set_reg(e->q, control, ERNIC_CONTROL_RESET);
    for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
        off = ERNIC_ETH_OFFSET + regs[i].off;
        g_test_message("%s", regs[i].name);
        qeth_is(e, off, regs[i].reset);
        qeth_set(e, off, ~0u);
        qeth_is(e, off, regs[i].reset | regs[i].rw);
        qpci_io_writew(&e->q->dev, e->q->bar, off, 0);
        qpci_io_writeb(&e->q->dev, e->q->bar, off + 3, 0);
        qeth_is(e, off, regs[i].reset | regs[i].rw);
        g_assert_cmphex(qpci_io_readw(&e->q->dev, e->q->bar, off), ==, 0);
        qeth_set(e, off, 0);
        qeth_is(e, off, regs[i].reset & ~regs[i].rw);
    }
    for (off = 0; off < sizeof(struct ernic_eth_regs); off += 4) {
        if (!is_register(off)) {
            qeth_set(e, ERNIC_ETH_OFFSET + off, ~0u);
            qeth_is(e, ERNIC_ETH_OFFSET + off, 0);
            holes++;
        }
    }
    g_assert_cmpuint(holes, ==, 2);             /* reserved, reserved2 */
}

/* A frame that arrives in D3hot is lost; the rings keep their state. */
ETH_TEST("/ernic-eth-power", test_power, ERNIC_ETH_RX | ERNIC_ETH_TX)
{
    uint8_t frame[FRAME], got[BUFFER], flags;

    qeth_fill(frame, FRAME, own_mac);
    qeth_post_rx(e, BUFFER);
    qernic_power(&e->q->dev, 3);
    qernic_to_wire(e->fd, frame, FRAME);
    qernic_pass(e->q->qts, 100, 1000);
    g_assert_cmpuint(qernic_stat(e->q, "eth.rx_packets"), ==, 0);
    qernic_power(&e->q->dev, 0);
    qernic_to_wire(e->fd, frame, 100);
    g_assert_cmpuint(qeth_receive(e, got, &flags), ==, 100);
    qeth_transmit(e, frame, 60, 60, &(struct ernic_eth_txd) { });
    g_assert_cmpuint(qernic_from_wire(e->fd, got, sizeof(got)), ==, 60);
}

/* The peer reads what there is, and lets time pass. */
static void drain(Eth *e)
{
    uint8_t junk[BUFFER];

    for (int i = 0; i < 1000; i++) {
        if (recv(e->fd, junk, sizeof(junk), MSG_DONTWAIT) < 0) {
            qtest_clock_step(e->q->qts, 1000);
        }
    }
}

/* Unplugs the device while frames wait in the backend, which then takes them. */
ETH_TEST("/ernic-eth-unplug", test_unplug, ERNIC_ETH_TX)
{
    struct ernic_eth_txd desc = { .flags = ERNIC_ETH_EOP, .len = cpu_to_le16(BUFFER) };

    desc.addr = cpu_to_le64(e->buf);
    /* The peer does not read, so the device has to wait in the end. */
    for (int quiet = 0; quiet < 20; quiet++) {
        while (e->tx_pi - qeth_get(e, OFF(tx_ci)) < ENTRIES) {
            qeth_post(e, &desc);
            qeth_set(e, OFF(tx_pi), e->tx_pi);
            quiet = 0;
        }
        qtest_clock_step(e->q->qts, 1000);
    }
    g_assert_cmpuint(e->tx_pi, >, 2 * ENTRIES);
    qpci_unplug_acpi_device_test(e->q->qts, "eth0", 0x06);
    drain(e);
}

/* The same with RoCE packets, to a peer that never responds. */
ETH_TEST("/ernic-eth-unplug-roce", test_unplug_roce, 0)
{
    QErnicQp qp[4];
    uint64_t sent = 0;
    int quiet = 0;

    qernic_setup(e->q, 1);
    for (int i = 0; i < 4; i++) {
        qernic_qp_create(e->q, &qp[i], ERNIC_QPT_RC);
        qernic_qp_connect(&qp[i], &qernic_nobody);
        qernic_send(&qp[i], 0, QERNIC_BUF);
    }
    /* The peer does not read, so the engine has to wait in the end. */
    while (quiet < 20) {
        qtest_clock_step(e->q->qts, 1000);
        quiet = qernic_stat(e->q, "tx_packets") == sent ? quiet + 1 : 0;
        sent = qernic_stat(e->q, "tx_packets");
    }
    g_assert_cmpuint(sent, >, 0);
    g_assert_cmpuint(sent, <, 4 * QERNIC_BUF / 1024);
    qpci_unplug_acpi_device_test(e->q->qts, "eth0", 0x06);
    drain(e);
}
