/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software of the Ethernet interface for the tests.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-eth.h"

const uint8_t own_mac[6] = { 0x52, 0x54, 0, 0, 0, 0x42 };

uint32_t qeth_get(Eth *e, uint64_t off)
{
    return qernic_read(e->q, off);
}

void qeth_set(Eth *e, uint64_t off, uint32_t value)
{
    qernic_write(e->q, off, value);
}

uint64_t qeth_tx_buffer(Eth *e, uint32_t i)
{
    return e->buf + i % ENTRIES * BUFFER;
}

static uint64_t rx_buffer(Eth *e, uint32_t i)
{
    return e->buf + (ENTRIES + i % ENTRIES) * BUFFER;
}

void qeth_is(Eth *e, uint64_t off, uint32_t value)
{
    g_assert_cmphex(qeth_get(e, off), ==, value);
}

void qeth_open(Eth *e, const char *more, uint32_t ctrl)
{
    int fd;

    qeth_start(e, qernic_machine("-netdev socket,fd=%d,id=sock0"
                                 VERBS_NIC ",id=eth0,addr=06.0,netdev=sock0,"
                                 "mac=52:54:00:00:00:42%s", qernic_cable(&fd), more),
               ctrl);
    e->fd = fd;
}

void qeth_take(Eth *e, QErnicMachine *m, QErnic *q, uint32_t ctrl)
{
    *e = (Eth) { .m = m, .q = q };
    e->tx = guest_alloc(&m->alloc, 4096);
    e->rx = e->tx + 1024;
    e->state = e->tx + 2048;
    e->buf = guest_alloc(&m->alloc, 2 * ENTRIES * BUFFER);
    qtest_memset(e->q->qts, e->tx, 0, 4096);
    qernic_write64(e->q, OFF(tx_addr), e->tx);
    qernic_write64(e->q, OFF(rx_addr), e->rx);
    qernic_write64(e->q, OFF(state_addr), e->state);
    qeth_set(e, OFF(tx_shift), SHIFT);
    qeth_set(e, OFF(rx_shift), SHIFT);
    qeth_set(e, OFF(ctrl), ctrl);
    qeth_is(e, OFF(ctrl), ctrl);
}

void qeth_start(Eth *e, QErnicMachine *m, uint32_t ctrl)
{
    qeth_take(e, m, qernic_at(m, "eth0", 6), ctrl);
}

void qeth_fill(uint8_t *frame, uint32_t len, const uint8_t *to)
{
    for (uint32_t i = 0; i < len; i++) {
        frame[i] = i * 3 + (i >> 8);
    }
    memcpy(frame, to, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x88\xb5", 8);
}

void qeth_roce(uint8_t frame[ETH_ROCE], int kind)
{
    static const uint8_t ip[20] = {
        0x45, 0, 0, ETH_ROCE - 14, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbf,
        10, 0, 0, 2, 10, 0, 0, 1,
    };
    uint8_t *udp = frame + 34;

    memset(frame, 0, ETH_ROCE);
    memcpy(frame, own_mac, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x08\x00", 8);
    memcpy(frame + 14, ip, sizeof(ip));
    if (kind == ETH_OTHER_ADDRESS) {
        frame[33]++;
        frame[25]--;                            /* correct the header's checksum */
    } else if (kind == ETH_EMPTY_UDP) {
        frame[17] = 20 + 8;
        frame[25] += 12 + 4;
    }
    stw_be_p(udp, 22222);
    stw_be_p(udp + 2, kind == ETH_OTHER_PORT ? 4790 : 4791);
    stw_be_p(udp + 4, kind == ETH_EMPTY_UDP ? 8 : 8 + 12 + 4 - (kind == ETH_SHORT_UDP));
    udp[8] = 4;                                 /* SEND Only, to queue pair 2 */
    udp[15] = 2;
}

void qeth_post(Eth *e, const struct ernic_eth_txd *desc)
{
    qtest_memwrite(e->q->qts, e->tx + e->tx_pi % ENTRIES * sizeof(*desc), desc,
                   sizeof(*desc));
    e->tx_pi++;
}

void qeth_wait_tx(Eth *e)
{
    qeth_set(e, OFF(tx_pi), e->tx_pi);
    qernic_wait_while(e->q->qts, qtest_readl(e->q->qts, e->state) != e->tx_pi);
    g_assert_cmpuint(qeth_get(e, OFF(tx_ci)), ==, e->tx_pi);
}

void qeth_transmit(Eth *e, const uint8_t *frame, uint32_t len, uint32_t piece,
                   const struct ernic_eth_txd *last)
{
    struct ernic_eth_txd desc;
    uint32_t n;

    for (uint32_t pos = 0; pos < len; pos += n) {
        n = MIN(piece, len - pos);
        qtest_memwrite(e->q->qts, qeth_tx_buffer(e, e->tx_pi), frame + pos, n);
        desc = (struct ernic_eth_txd) { };
        if (pos + n == len) {
            desc = *last;
            desc.flags |= ERNIC_ETH_EOP;
        }
        desc.addr = cpu_to_le64(qeth_tx_buffer(e, e->tx_pi));
        desc.len = cpu_to_le16(n);
        qeth_post(e, &desc);
    }
    qeth_wait_tx(e);
}

void qeth_post_rx_at(Eth *e, uint64_t addr, uint16_t size)
{
    struct ernic_eth_rxd desc = { .addr = cpu_to_le64(addr), .size = cpu_to_le16(size) };

    qtest_memwrite(e->q->qts, e->rx + e->rx_pi % ENTRIES * sizeof(desc), &desc,
                   sizeof(desc));
    qeth_set(e, OFF(rx_pi), ++e->rx_pi);
}

void qeth_post_rx(Eth *e, uint16_t size)
{
    qeth_post_rx_at(e, rx_buffer(e, e->rx_pi), size);
}

uint32_t qeth_receive(Eth *e, uint8_t *frame, uint8_t *flags)
{
    struct ernic_eth_rxd desc;
    uint32_t len = 0;

    qernic_wait_while(e->q->qts, qtest_readl(e->q->qts, e->state + 4) == e->rx_ci);
    do {
        qtest_memread(e->q->qts, e->rx + e->rx_ci % ENTRIES * sizeof(desc),
                      &desc, sizeof(desc));
        qtest_memread(e->q->qts, le64_to_cpu(desc.addr), frame + len,
                      le16_to_cpu(desc.len));
        len += le16_to_cpu(desc.len);
        e->rx_ci++;
    } while (!(desc.flags & ERNIC_ETH_EOP));
    *flags = desc.flags;
    return len;
}

#define NIC_RCTL    0x100
#define NIC_RDBAL   0x2800      /* RDBAH, RDLEN, reserved, RDH, reserved, RDT */
#define NIC_ALL     0x0400801a  /* receive, every address, broadcasts, no CRC */
#define NIC_PARTS   0x00030020  /* in these bits: 256 bytes, and long frames */
#define NIC_READY   1100000000  /* ns until it receives */
#define NIC_DESCS   16

void qeth_e1000_to(QPCIDevice *nic, QGuestAllocator *alloc, const uint64_t *to,
                   uint32_t num, bool parts)
{
    const uint32_t words[] = { 0, 0, num * 16, 0, 0, 0, num - 1 };
    uint64_t ring = guest_alloc(alloc, 4096);
    QTestState *qts = nic->bus->qts;
    QPCIBar bar;

    qpci_device_enable(nic);
    bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(qts, ring, 0, 4096);
    for (uint32_t i = 0; i < num; i++) {
        qtest_writeq(qts, ring + 16 * i, to[i]);
    }
    qpci_io_writel(nic, bar, NIC_RCTL, 0);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        qpci_io_writel(nic, bar, NIC_RDBAL + 4 * i, i ? words[i] : ring);
    }
    qpci_io_writel(nic, bar, NIC_RCTL, NIC_ALL | (parts ? NIC_PARTS : 0));
    qtest_clock_step(qts, NIC_READY);
}

void qeth_e1000(QPCIDevice *nic, QGuestAllocator *alloc, uint64_t first, uint64_t then)
{
    uint64_t to[NIC_DESCS] = { first };

    for (int i = 1; i < NIC_DESCS; i++) {
        to[i] = then;
    }
    qeth_e1000_to(nic, alloc, to, NIC_DESCS, false);
}

GArray *qeth_capture(const char *path, uint32_t interfaces)
{
    GArray *frames = g_array_new(false, false, sizeof(EthFrame));
    g_autofree char *data = NULL;
    gsize size, at;
    uint32_t type, len;

    g_assert_true(g_file_get_contents(path, &data, &size, NULL));
    for (at = 0; at < size; at += len) {
        const char *b = data + at;

        g_assert_cmpuint(size - at, >=, 12);
        type = ldl_le_p(b);
        len = ldl_le_p(b + 4);
        g_assert_cmpuint(len, >=, 12);
        g_assert_cmpuint(len, <=, size - at);
        g_assert_cmpuint(ldl_le_p(b + len - 4), ==, len);
        if (type == 6) {
            EthFrame f = {
                .port = ldl_le_p(b + 8),
                .ns = (uint64_t)ldl_le_p(b + 12) << 32 | (uint32_t)ldl_le_p(b + 16),
                .len = ldl_le_p(b + 20), .flags = ldl_le_p(b + len - 12),
            };

            g_assert_cmpuint(ldl_le_p(b + 24), ==, f.len);
            g_array_append_val(frames, f);
        } else {
            g_assert_cmphex(type, ==, at ? 1 : 0x0a0d0d0a);
            interfaces -= at != 0;
        }
    }
    g_assert_cmpuint(interfaces, ==, 0);
    return frames;
}
