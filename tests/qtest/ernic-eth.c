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
    int fds[2];

    qernic_cable(fds);
    qeth_start(e, qernic_machine("-netdev socket,fd=%d,id=sock0"
                                 VERBS_NIC ",id=eth0,addr=06.0,netdev=sock0,"
                                 "mac=52:54:00:00:00:42%s", fds[1], more), ctrl);
    e->fd = fds[0];
}

void qeth_start(Eth *e, QErnicMachine *m, uint32_t ctrl)
{
    *e = (Eth) { .m = m, .q = qernic_at(m, "eth0", 6) };
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

void qeth_fill(uint8_t *frame, uint32_t len, const uint8_t *to)
{
    for (uint32_t i = 0; i < len; i++) {
        frame[i] = i * 3 + (i >> 8);
    }
    memcpy(frame, to, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x88\xb5", 8);
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
#define NIC_READY   1100000000  /* ns until it receives */
#define NIC_DESCS   16

void qeth_e1000(QPCIDevice *nic, QGuestAllocator *alloc, uint64_t first, uint64_t then)
{
    const uint32_t words[] = { 0, 0, NIC_DESCS * 16, 0, 0, 0, NIC_DESCS - 1 };
    uint64_t ring = guest_alloc(alloc, 4096);
    QTestState *qts = nic->bus->qts;
    QPCIBar bar;

    qpci_device_enable(nic);
    bar = qpci_iomap(nic, 0, NULL);
    qtest_memset(qts, ring, 0, 4096);
    for (int i = 0; i < NIC_DESCS; i++) {
        qtest_writeq(qts, ring + 16 * i, i ? then : first);
    }
    qpci_io_writel(nic, bar, NIC_RCTL, 0);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        qpci_io_writel(nic, bar, NIC_RDBAL + 4 * i, i ? words[i] : ring);
    }
    qpci_io_writel(nic, bar, NIC_RCTL, NIC_ALL);
    qtest_clock_step(qts, NIC_READY);
}
