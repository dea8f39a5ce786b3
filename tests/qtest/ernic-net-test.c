/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet face: registers, rings, filter, checksums, interrupts, and the choice
 * of the face that receives a frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/iov.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"

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

/* Ends the machine too: the next test has other file descriptors. */
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
    qernic_init(&e->q, "eth0", any->dev.bus, QPCI_DEVFN(6, 0), alloc);
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

/* Sends a frame in pieces of at most @piece bytes. */
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

/* Waits for a frame; returns its length and the flags of its last descriptor. */
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
    /* A frame without an end is not sent, nor is one that is too long. */
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
    /* Frames that need several buffers, and short frames that are padded. */
    for (i = 0; i < 4; i++) {
        post_rx(&e, 256);
    }
    to_wire(&e, frame, FRAME);
    g_assert_cmpuint(receive(&e, got, &flags), ==, FRAME);
    g_assert_cmpmem(got, FRAME, frame, FRAME);
    post_rx(&e, BUFFER);
    to_wire(&e, frame, 20);
    g_assert_cmpuint(receive(&e, got, &flags), ==, 60);
    /* A frame without room is dropped and counted, and uses no buffer. */
    post_rx(&e, 256);
    to_wire(&e, frame, FRAME);
    while (get(&e, OFF(rx_no_buffer)) == 0) {
        qernic_wait(&e.q, &deadline);
    }
    to_wire(&e, frame, 100);
    g_assert_cmpuint(receive(&e, got, &flags), ==, 100);
    finish(&e, data);
}

/*
 * Whether a frame to address @to is received. The broadcast frame sent after it is
 * always received, and so shows that the first one was processed.
 */
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
    /* Use up the second buffer too. */
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

/* UDP over IPv4, 10.0.0.1 to 10.0.0.2; the device inserts the checksum. */
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
    /* The sum of the pseudo header, as software provides it. */
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
    /* On receive, the device accepts its own checksum and no other. */
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
    /* A checksum outside of the frame is refused. */
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

/* Invalid rings, and writes that the registers refuse. */
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
    size_t i;

    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        if (regs[i].off == off) {
            return true;
        }
    }
    return false;
}

static void test_registers(void *obj, void *data, QGuestAllocator *alloc)
{
    uint32_t off, holes = 0;
    size_t i;
    Eth e;

    start(&e, obj, data, alloc, 0);
    qernic_set_reg(&e.q, control, ERNIC_CONTROL_RESET);
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        off = eth_off(regs[i].off);
        g_test_message("%s", regs[i].name);
        g_assert_cmphex(get(&e, off), ==, regs[i].reset);
        set(&e, off, ~0u);
        g_assert_cmphex(get(&e, off), ==, regs[i].reset | regs[i].rw);
        qpci_io_writew(&e.q.dev, e.q.bar, off, 0);
        qpci_io_writeb(&e.q.dev, e.q.bar, off + 3, 0);
        g_assert_cmphex(get(&e, off), ==, regs[i].reset | regs[i].rw);
        g_assert_cmphex(qpci_io_readw(&e.q.dev, e.q.bar, off), ==, 0);
        set(&e, off, 0);
        g_assert_cmphex(get(&e, off), ==, regs[i].reset & ~regs[i].rw);
    }
    for (off = 0; off < sizeof(struct ernic_eth_regs); off += 4) {
        if (!is_register(off)) {
            set(&e, eth_off(off), ~0u);
            g_assert_cmphex(get(&e, eth_off(off)), ==, 0);
            holes++;
        }
    }
    g_assert_cmpuint(holes, ==, 2);             /* reserved, reserved2 */
    finish(&e, data);
}

static void set_power(QErnic *q, uint16_t state)
{
    uint8_t at = qpci_find_capability(&q->dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;

    qpci_config_writew(&q->dev, at, state);
}

/* A frame that arrives in D3hot is lost; the rings keep their state. */
static void test_power(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t frame[FRAME], got[BUFFER], flags;
    Eth e;
    int i;

    start(&e, obj, data, alloc, ERNIC_ETH_RX | ERNIC_ETH_TX);
    fill(frame, FRAME, own_mac);
    post_rx(&e, BUFFER);
    set_power(&e.q, 3);
    to_wire(&e, frame, FRAME);
    for (i = 0; i < 100; i++) {
        qtest_clock_step(e.q.qts, 1000);
    }
    g_assert_cmpuint(qernic_stat(&e.q, "eth.rx_packets"), ==, 0);
    set_power(&e.q, 0);
    to_wire(&e, frame, 100);
    g_assert_cmpuint(receive(&e, got, &flags), ==, 100);
    transmit(&e, frame, 60, 60, &(struct ernic_eth_txd) { });
    g_assert_cmpuint(from_wire(&e, got, sizeof(got)), ==, 60);
    finish(&e, data);
}

/* Unplugs the device while frames wait in the backend, which then takes them. */
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
    /* The peer does not read, so the device has to wait in the end. */
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

/* The same with RoCE packets, to a peer that never responds. */
static void test_unplug_roce(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *any = obj, peer = { .gid = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
    QErnicQp qp[4], far = { .q = &peer, .qpn = 7, .type = ERNIC_QPT_RC };
    uint8_t junk[BUFFER];
    uint64_t sent = 0;
    int i, quiet = 0;
    Eth e;

    if (any->dev.bus->not_hotpluggable) {
        g_test_skip("pci bus does not support hotplug");
        return;
    }
    start(&e, obj, data, alloc, 0);
    qernic_setup(&e.q, 1);
    for (i = 0; i < 4; i++) {
        struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND };

        qernic_qp_create(&e.q, &qp[i], ERNIC_QPT_RC);
        qernic_qp_connect(&qp[i], &far);
        qernic_post_send(&qp[i], &wqe, 0, QERNIC_BUF);
    }
    /* The peer does not read, so the engine has to wait in the end. */
    while (quiet < 20) {
        qtest_clock_step(e.q.qts, 1000);
        quiet = qernic_stat(&e.q, "tx_packets") == sent ? quiet + 1 : 0;
        sent = qernic_stat(&e.q, "tx_packets");
    }
    g_assert_cmpuint(sent, >, 0);
    g_assert_cmpuint(sent, <, 4 * QERNIC_BUF / 1024);
    qpci_unplug_acpi_device_test(e.q.qts, "eth0", 0x06);
    for (i = 0; i < 1000; i++) {
        if (recv(e.fd, junk, sizeof(junk), MSG_DONTWAIT) < 0) {
            qtest_clock_step(e.q.qts, 1000);
        }
    }
    finish(&e, data);
}

/* ---- which face receives a frame? -------------------------------------------- */

#define ROCE_LEN    (14 + 20 + 8 + 12 + 4)

/* Frames to 10.0.0.1: RoCEv2 or other, well-formed or malformed. */
enum { GOOD, SHORT_UDP, EMPTY_UDP, OTHER_ADDRESS, OTHER_PORT };

static void roce_frame(uint8_t frame[ROCE_LEN], int kind)
{
    static const uint8_t ip[20] = {
        0x45, 0, 0, ROCE_LEN - 14, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbf,
        10, 0, 0, 2, 10, 0, 0, 1,
    };
    uint8_t *udp = frame + 34;

    memset(frame, 0, ROCE_LEN);
    memcpy(frame, own_mac, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x08\x00", 8);
    memcpy(frame + 14, ip, sizeof(ip));
    if (kind == OTHER_ADDRESS) {
        frame[33]++;
        frame[25]--;                            /* correct the header's checksum */
    } else if (kind == EMPTY_UDP) {
        frame[17] = 20 + 8;
        frame[25] += 12 + 4;
    }
    stw_be_p(udp, 22222);
    stw_be_p(udp + 2, kind == OTHER_PORT ? 4790 : 4791);
    stw_be_p(udp + 4, kind == EMPTY_UDP ? 8 : 8 + 12 + 4 - (kind == SHORT_UDP));
    udp[8] = 4;                                 /* SEND Only, to queue pair 2 */
    udp[15] = 2;
}

typedef struct Taken {
    uint64_t eth, pg332, verbs;
} Taken;

static Taken taken(Eth *e)
{
    return (Taken) {
        .eth = qernic_stat(&e->q, "eth.rx_packets"),
        .pg332 = qernic_stat(&e->q, "pg332.rx_packets"),
        .verbs = qernic_stat(&e->q, "rx_packets") +
                 qernic_stat(&e->q, "drops.bad_length") +
                 qernic_stat(&e->q, "drops.too_short"),
    };
}

/* A frame of @kind arrives; only the face in @whose receives and counts it. */
static void comes(Eth *e, int kind, Taken whose)
{
    Taken was = taken(e), is = was;
    uint8_t frame[ROCE_LEN];
    uint64_t deadline = 0;

    roce_frame(frame, kind);
    post_rx(e, BUFFER);
    to_wire(e, frame, sizeof(frame));
    while (memcmp(&is, &was, sizeof(is)) == 0) {
        qernic_wait(&e->q, &deadline);
        is = taken(e);
    }
    g_test_message("kind %d: Ethernet %" PRIu64 ", ERNIC %" PRIu64 ", verbs %"
                   PRIu64, kind, is.eth, is.pg332, is.verbs);
    g_assert_cmpuint(is.eth - was.eth, ==, whose.eth);
    g_assert_cmpuint(is.pg332 - was.pg332, ==, whose.pg332);
    g_assert_cmpuint(is.verbs - was.verbs, ==, whose.verbs);
}

#define TO_ETH      ((Taken) { .eth = 1 })
#define TO_PG332    ((Taken) { .pg332 = 1 })
#define TO_VERBS    ((Taken) { .verbs = 1 })

static void registers_say(Eth *e, bool enable)
{
    QPCIBar bar = qpci_iomap(&e->q.dev, ERNIC_BAR_PG332, NULL);

    qpci_io_writel(&e->q.dev, bar, PG332_V3_GLOBAL + PG332_IPv4XADD, 0x0a000001);
    qpci_io_writel(&e->q.dev, bar, PG332_V3_GLOBAL + PG332_XRNICCONF,
                   22222u << 16 | 0x0820 | enable);
}

/* A frame that no engine is enabled for goes to the Ethernet face, malformed or not. */
static void test_whose(void)
{
    int fds[2], i;
    g_autofree char *args = NULL;
    QErnic any = { };
    CardMachine m;
    Eth e;

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    args = g_strdup_printf("-netdev socket,fd=%d,id=sock0"
                           " -device ernic,id=eth0,addr=06.0,netdev=sock0,"
                           "mac=52:54:00:00:00:42,ernic-version=3.1", fds[1]);
    card_machine_open(&m, args);
    any.dev.bus = m.bus;
    start(&e, &any, fds, &m.alloc, ERNIC_ETH_RX);
    for (i = GOOD; i <= OTHER_PORT; i++) {
        comes(&e, i, TO_ETH);
    }
    registers_say(&e, false);                   /* an address, but not enabled */
    for (i = GOOD; i <= OTHER_PORT; i++) {
        comes(&e, i, TO_ETH);
    }
    registers_say(&e, true);
    comes(&e, GOOD, TO_PG332);
    comes(&e, SHORT_UDP, TO_PG332);
    comes(&e, EMPTY_UDP, TO_PG332);
    comes(&e, OTHER_ADDRESS, TO_ETH);
    comes(&e, OTHER_PORT, TO_ETH);
    qernic_enable(&e.q);                        /* the verbs face has no address */
    comes(&e, GOOD, TO_PG332);
    comes(&e, SHORT_UDP, TO_PG332);
    comes(&e, EMPTY_UDP, TO_PG332);
    comes(&e, OTHER_ADDRESS, TO_ETH);
    registers_say(&e, false);
    comes(&e, GOOD, TO_ETH);
    comes(&e, SHORT_UDP, TO_VERBS);
    comes(&e, EMPTY_UDP, TO_VERBS);
    comes(&e, OTHER_PORT, TO_ETH);
    qernic_fini(&e.q);
    card_machine_close(&m);
    close(fds[0]);
    close(fds[1]);
}

static void register_tests(void)
{
    QOSGraphTestOptions eth = { .before = with_socket };

    qos_add_test("eth-tx", "ernic", test_tx, &eth);
    qos_add_test("eth-rx", "ernic", test_rx, &eth);
    qos_add_test("eth-filter", "ernic", test_filter, &eth);
    qos_add_test("eth-checksum", "ernic", test_checksum, &eth);
    qos_add_test("eth-interrupt", "ernic", test_interrupt, &eth);
    qos_add_test("eth-bad", "ernic", test_bad, &eth);
    qos_add_test("eth-registers", "ernic", test_registers, &eth);
    qos_add_test("eth-power", "ernic", test_power, &eth);
    qos_add_test("eth-unplug", "ernic", test_unplug, &eth);
    qos_add_test("eth-unplug-roce", "ernic", test_unplug_roce, &eth);
    /* Has its own machine, because libqos's graph is full. */
    qtest_add_func("/ernic-net/whose", test_whose);
}

libqos_init(register_tests);
