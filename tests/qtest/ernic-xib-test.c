/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The xib shell: identity, its driver, messages, coalescing, the MAC, and the ERNIC.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-card.h"
#include "ernic-xib.h"

#define KINDS   { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" }
#define ONE     { "", "" }

/* One BAR, four messages of MSI, and the values at reset. */
WORLD_KINDS("/ernic-xib/identity", test_identity, Xib, x, xib_open, ONE)
{
    static const struct {
        uint32_t at, value;
        uint32_t stored;                /* these bits; the others cannot be written */
    } words[] = {
        { 0, 0 }, { 0x2000, 0 }, { 0x3000, 0 }, { XIB_MAC, 0, ~0 },
        { XIB_MAC + 4, 0, ~0 }, { XIB_MAC + 8, 0, ~0 }, { XIB_TX_CONF, 0x3003, ~0 },
        { XIB_RX_CONF, 0x33, ~0 }, { XIB_RX_MTU, 9600 << 16 | 64, ~0 },
        { XIB_TICK, 0 }, { XIB_MAC + 0x24, 0x104 }, { XIB_MAC + 0x400, 0 },
        { XIB_MAC + 0x404, 1 }, { XIB_LOCK, 1 }, { XIB_MAC + 0x700, 0 },
        { XIB_MAC + 0x904, 0 }, { XIB_MAC + 0xc8, 0 }, { XIB_DMA + 4, 0x10009 },
        { XIB_DMA + 8, 0, ~0x3f }, { XIB_DMA + 0xc, 0, ~0 }, { XIB_DMA + 0x18, 0 },
        { XIB_DMA + 0x34, 0x10009 }, { XIB_DMA + 0x60, 0 },
    };
    QPCIDevice *dev = &x->q->dev;
    uint8_t msi = qpci_find_capability(dev, PCI_CAP_ID_MSI, 0);
    uint64_t size = 0;

    g_assert_cmphex(qpci_config_readl(dev, PCI_SUBSYSTEM_VENDOR_ID), ==, 0x903810ee);
    g_assert_cmphex(qpci_config_readw(dev, PCI_CLASS_DEVICE), ==, 0x0280);
    g_assert_cmphex(qpci_config_readb(dev, PCI_INTERRUPT_PIN), ==, 0);
    g_assert_cmphex(qpci_find_capability(dev, PCI_CAP_ID_MSIX, 0), ==, 0);
    g_assert_cmphex(qpci_config_readw(dev, msi + PCI_MSI_FLAGS), ==,
                    PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT | 2 << 1);
    for (uint32_t at = PCI_BASE_ADDRESS_2; at <= PCI_BASE_ADDRESS_5; at += 4) {
        g_assert_cmphex(qpci_config_readl(dev, at), ==, 0);
    }
    x->m->bus->mmio_alloc_ptr = x->mmio;
    qpci_iomap(dev, 0, &size);
    g_assert_cmphex(size, ==, 4 << 20);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        g_test_message("offset %x", words[i].at);
        g_assert_cmphex(xib_get(x, words[i].at), ==, words[i].value);
        xib_put(x, words[i].at, ~words[i].value);
        g_assert_cmphex(xib_get(x, words[i].at), ==, words[i].value ^ words[i].stored);
        xib_put(x, words[i].at, words[i].value);
    }
    g_assert_cmphex(qpci_io_readq(dev, x->bar, XIB_DMA), ==, 0x1000900010002);
    qernic_set_link(x->m->qts, "ernic0", false);
    g_assert_cmphex(xib_get(x, XIB_LOCK), ==, 0);
    g_assert_cmphex(xib_get(x, XIB_MAC + 0x404), ==, 0xc0);
    qernic_set_link(x->m->qts, "ernic0", true);
    g_assert_cmphex(xib_get(x, XIB_LOCK), ==, 1);
}

/* The driver's interface, up and down and up again, with frames of all lengths. */
WORLD_KINDS("/ernic-xib/driver", test_driver, Xib, x, xib_start, KINDS)
{
    uint8_t frame[QNET_FRAME];
    uint32_t sent = 0;

    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 2 * XIB_TX_RING; i++, sent++) {
            qnet_frame(frame, 60 + i * 10, i, round);
            xib_transmit(x, frame, 60 + i * 10, 1 + i % 3);
        }
        for (uint32_t i = 0; i < XIB_RX_RING + 20; i++) {
            xib_receive(x, 60 + i * 9, i);
        }
        xib_down(x);
        xib_up(x);
    }
    /* A jumbo frame needs more descriptors, or longer ones. */
    qnet_frame(frame, 9000, 1, 1);
    xib_transmit(x, frame, 9000, 5);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.mm2s_packets"), ==, sent + 1);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.s2mm_packets"), ==,
                     3 * (XIB_RX_RING + 20));
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.errors"), ==, 0);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.s2mm_dropped"), ==, 0);
    xib_down(x);
    g_assert_cmphex(xib_channel(x, XIB_S2MM, XIB_SR), ==, 0x10009);
}

/*
 * The handler of S2MM masks causes in the control word; polling clears the status, reads
 * it again and unmasks them. A frame that comes in between is not forgotten.
 */
WORLD_KINDS("/ernic-xib/poll", test_poll, Xib, x, xib_start, KINDS)
{
    const uint32_t causes = PG332_DMA_IOC_IRQ | PG332_DMA_DELAY_IRQ;
    uint32_t cr;

    for (uint32_t i = 0; i < 20; i++) {
        xib_receive(x, 100, i);
        g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
        cr = xib_channel(x, XIB_S2MM, XIB_CR);
        xib_put_channel(x, XIB_S2MM, XIB_CR, cr & ~causes);
        xib_put_channel(x, XIB_S2MM, XIB_SR, xib_channel(x, XIB_S2MM, XIB_SR) & causes);
        g_assert_cmphex(xib_channel(x, XIB_S2MM, XIB_SR) & causes, ==, 0);
        xib_receive(x, 100, i);
        g_assert_cmpint(xib_message(x), ==, -1);
        xib_put_channel(x, XIB_S2MM, XIB_CR, cr);
        g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
        xib_put_channel(x, XIB_S2MM, XIB_SR, causes);
        g_assert_cmpint(xib_message(x), ==, -1);
    }
}

/* Interrupts of MM2S: after 24 frames, or some time after the last one. */
WORLD_KINDS("/ernic-xib/coalescing", test_coalescing, Xib, x, xib_start, ONE)
{
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    for (uint32_t i = 0; i < 23; i++) {
        xib_transmit(x, frame, sizeof(frame), 1);
    }
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 254u << 24 | 1 << 16 | 0xa);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_transmit(x, frame, sizeof(frame), 1);
    g_assert_cmpint(xib_message(x), ==, XIB_MM2S);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0xfe18100a);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);      /* there is nothing to report */
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0xfe18100a);
    xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_IRQS);
    g_assert_cmpint(xib_message(x), ==, -1);
    for (uint32_t i = 0; i < 2; i++) {                  /* the delay begins again */
        xib_transmit(x, frame, sizeof(frame), 1);
        qtest_clock_step(x->m->qts, XIB_DELAY_NS - 20000);
        g_assert_cmpint(xib_message(x), ==, -1);
    }
    qtest_clock_step(x->m->qts, 20000);
    g_assert_cmpint(xib_message(x), ==, XIB_MM2S);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0xfe18200a);
    /* Both causes: clearing one of them sends the message again. */
    for (uint32_t i = 0; i < 24; i++) {
        xib_transmit(x, frame, sizeof(frame), 1);
    }
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_DELAY_IRQ);
    g_assert_cmpint(xib_message(x), ==, XIB_MM2S);
    xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_IOC_IRQ);
    g_assert_cmpint(xib_message(x), ==, -1);
    /* A new threshold counts from its value; 0 is none. */
    xib_put_channel(x, XIB_MM2S, XIB_CR, 2 << 16 | 0x7001);
    xib_put_channel(x, XIB_MM2S, XIB_CR, 0x7001);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_CR), ==, 0x27003);
    xib_transmit(x, frame, sizeof(frame), 3);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_transmit(x, frame, sizeof(frame), 1);
    g_assert_cmpint(xib_message(x), ==, XIB_MM2S);
}

/* Masked vectors are pending; without MSI, and in D3hot, interrupts wait. */
WORLD_KINDS("/ernic-xib/messages", test_messages, Xib, x, xib_start, KINDS)
{
    QPCIDevice *dev = &x->q->dev;
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_MSI, 0);
    uint8_t frame[100];

    xib_put_channel(x, XIB_MM2S, XIB_CR, 1 << 16 | 0x7001);
    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_mask(x, 3);
    xib_transmit(x, frame, sizeof(frame), 1);
    xib_receive(x, 200, 1);
    g_assert_cmpint(xib_message(x), ==, -1);
    g_assert_cmphex(xib_pending(x), ==, 3);
    xib_mask(x, 1);
    g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
    g_assert_cmphex(xib_pending(x), ==, 1);
    xib_mask(x, 0);
    g_assert_cmpint(xib_message(x), ==, XIB_MM2S);
    g_assert_cmphex(xib_pending(x), ==, 0);
    /* Both are still raised when MSI is enabled, with one message for both. */
    qpci_config_writew(dev, at + PCI_MSI_FLAGS, 0);
    xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_IRQS);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_messages(x, 0);
    g_assert_cmpint(xib_message(x), ==, 0);
    xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_messages(x, 0);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_messages(x, 2);
    xib_receive(x, 200, 2);
    g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
    xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
    /* The delay ends while the function sleeps. */
    xib_put_channel(x, XIB_S2MM, XIB_CR, 9 << 16 | 254u << 24 | 0x7001);
    xib_receive(x, 200, 3);
    qernic_power(dev, 3);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
    g_assert_cmpint(xib_message(x), ==, -1);
    qernic_power(dev, 0);
    g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
}

/* Messages that are due while bus mastering is off follow when it is on again. */
WORLD_KINDS("/ernic-xib/no-master", test_no_master, Xib, x, xib_start,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" },
            { "-timing", ",timing=on" })
{
    xib_put_channel(x, XIB_S2MM, XIB_CR, 9 << 16 | 254u << 24 | 0x7001);
    xib_receive(x, 200, 1);
    qernic_set_master(&x->q->dev, false);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
    g_assert_cmpint(xib_message(x), ==, -1);
    qernic_set_master(&x->q->dev, true);
    g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
    g_assert_cmpint(xib_message(x), ==, -1);
}

/* A message whose cause software ends while it waits is never sent. */
WORLD_KINDS("/ernic-xib/satisfied", test_satisfied, Xib, x, xib_start, KINDS)
{
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_put_channel(x, XIB_MM2S, XIB_CR, 1 << 16 | 0x7001);
    for (int way = 0; way < 3; way++) {
        xib_mask(x, 3);
        xib_transmit(x, frame, sizeof(frame), 1);
        xib_receive(x, 200, way);
        g_assert_cmpint(xib_message(x), ==, -1);
        g_assert_cmphex(xib_pending(x), ==, 3);
        if (way == 0) {                 /* in the status */
            xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
        } else if (way == 1) {          /* or in the control word */
            xib_put_channel(x, XIB_S2MM, XIB_CR, 1 << 16 | 1);
        } else {                        /* or by the reset of both */
            xib_put_channel(x, XIB_S2MM, XIB_CR, PG332_DMACR_RESET);
        }
        g_assert_cmphex(xib_pending(x), ==, way == 2 ? 0 : 1);
        xib_mask(x, 0);
        g_assert_cmpint(xib_message(x), ==, way == 2 ? -1 : XIB_MM2S);
        xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_IRQS);
        xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
        xib_put_channel(x, XIB_S2MM, XIB_CR, 1 << 16 | 0x7001);
    }
    xib_up(x);
    /* One message for both: it stays while one of them is raised. */
    xib_messages(x, 0);
    xib_mask(x, 1);
    xib_put_channel(x, XIB_MM2S, XIB_CR, 1 << 16 | 0x7001);
    xib_transmit(x, frame, sizeof(frame), 1);
    xib_receive(x, 200, 1);
    g_assert_cmpint(xib_message(x), ==, -1);
    xib_put_channel(x, XIB_MM2S, XIB_SR, PG332_DMA_IRQS);
    g_assert_cmphex(xib_pending(x), ==, 1);
    xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
    g_assert_cmphex(xib_pending(x), ==, 0);
    xib_mask(x, 0);
    /* The same without bus mastering. */
    xib_put_channel(x, XIB_S2MM, XIB_CR, 9 << 16 | 254u << 24 | 0x7001);
    xib_receive(x, 200, 1);
    qernic_set_master(&x->q->dev, false);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
    xib_put_channel(x, XIB_S2MM, XIB_SR, PG332_DMA_IRQS);
    qernic_set_master(&x->q->dev, true);
    g_assert_cmpint(xib_message(x), ==, -1);
}

/* ---- the MAC ----------------------------------------------------------------------- */

static uint64_t counter(Xib *x, uint32_t at)
{
    return qpci_io_readq(&x->q->dev, x->bar, XIB_MAC + at);
}

/* Its counters, after a tick: those of MM2S are at 700, of S2MM at 808. */
WORLD_KINDS("/ernic-xib/counters", test_counters, Xib, x, xib_start, ONE)
{
    uint8_t frame[QNET_FRAME];

    for (uint32_t i = 0; i < 10; i++) {
        qnet_frame(frame, 100, i, 1);
        xib_transmit(x, frame, 100, 1);
        xib_receive(x, 300, i);
    }
    memset(frame, 0xff, 6);
    xib_transmit(x, frame, 100, 1);
    g_assert_cmpuint(counter(x, 0x700), ==, 0);
    xib_put(x, XIB_TICK, 0);
    g_assert_cmpuint(counter(x, 0x700), ==, 0);
    xib_put(x, XIB_TICK, 1);
    g_assert_cmpuint(counter(x, 0x700), ==, 11);
    g_assert_cmpuint(counter(x, 0x708), ==, 11);
    g_assert_cmpuint(counter(x, 0x710), ==, 11 * 104);
    g_assert_cmpuint(counter(x, 0x728), ==, 11);        /* 65 to 127 bytes */
    g_assert_cmpuint(counter(x, 0x7d0), ==, 10);        /* unicast */
    g_assert_cmpuint(counter(x, 0x7e0), ==, 1);         /* broadcast */
    g_assert_cmpuint(counter(x, 0x808), ==, 10);
    g_assert_cmpuint(counter(x, 0x818), ==, 10 * 304);
    g_assert_cmpuint(counter(x, 0x840), ==, 10);        /* 256 to 511 bytes */
    g_assert_cmpuint(counter(x, 0x8d8), ==, 10);
    xib_put(x, XIB_TICK, 1);
    g_assert_cmpuint(counter(x, 0x700) | counter(x, 0x808), ==, 0);
}

static void wait_dropped(Xib *x, const char *which, uint32_t n)
{
    g_autofree char *name = g_strdup_printf("axi_dma.%s_dropped", which);

    qernic_wait_while(x->m->qts, qernic_stat(x->q, name) < n);
    g_assert_cmpuint(qernic_stat(x->q, name), ==, n);
}

/* Frames that the MAC does not pass: of a direction that is off, or a length. */
WORLD_KINDS("/ernic-xib/mac", test_mac, Xib, x, xib_start, KINDS)
{
    uint8_t frame[QNET_FRAME + 8];

    qnet_frame(frame, 1000, 1, 1);
    xib_put(x, XIB_TX_CONF, 0x3002);
    xib_post(x, frame, 1000, 1);
    xib_ring(x);
    wait_dropped(x, "mm2s", 1);
    g_assert_cmphex(xib_status(x, XIB_MM2S, 0), ==, PG332_DESC_COMPLETE | 1000);
    xib_put(x, XIB_TX_CONF, 0x3003);
    xib_post(x, frame, 13, 1);
    xib_post(x, frame, 9597, 5);
    xib_ring(x);
    wait_dropped(x, "mm2s", 3);
    qnet_frame(frame, 9596, 1, 1);
    xib_transmit(x, frame, 9596, 5);
    /* Short frames get their padding. */
    memset(frame + 20, 0, 40);
    xib_post(x, frame, 20, 1);
    xib_ring(x);
    qnet_arrives(x->fd, frame, 60);
    /* Arriving ones. */
    qnet_frame(frame, 1000, 1, 1);
    xib_put(x, XIB_RX_MTU, 1003 << 16 | 64);
    qernic_to_wire(x->fd, frame, 1000);
    wait_dropped(x, "s2mm", 1);
    xib_put(x, XIB_RX_MTU, 1004 << 16 | 104);
    xib_receive(x, 1000, 1);
    xib_receive(x, 100, 1);
    qernic_to_wire(x->fd, frame, 99);
    wait_dropped(x, "s2mm", 2);
    xib_put(x, XIB_TICK, 1);
    g_assert_cmpuint(counter(x, 0x808), ==, 4);
    g_assert_cmpuint(counter(x, 0x810), ==, 2);
    g_assert_cmpuint(counter(x, 0x898), ==, 1);         /* undersize */
    g_assert_cmpuint(counter(x, 0x8a8), ==, 1);         /* oversize */
    g_assert_cmpuint(counter(x, 0x8b0), ==, 1);         /* too long */
    xib_put(x, XIB_RX_CONF, 2);
    qernic_to_wire(x->fd, frame, 1000);
    qernic_pass(x->m->qts, 20, 1000);
    xib_put(x, XIB_RX_CONF, 3);
    xib_receive(x, 500, 2);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.s2mm_dropped"), ==, 2);
}

/* Frames keep their FCS if software asks for it, in each direction. */
WORLD_KINDS("/ernic-xib/fcs", test_fcs, Xib, x, xib_start, ONE)
{
    uint8_t frame[1004];
    uint32_t sum = ~0u;

    qnet_frame(frame, 1000, 1, 1);
    for (uint32_t i = 0; i < 1000; i++) {       /* IEEE 802.3, 3.2.9 */
        sum ^= frame[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
        }
    }
    stl_le_p(frame + 1000, ~sum);
    xib_put(x, XIB_RX_CONF, 1);
    qernic_to_wire(x->fd, frame, 1000);
    xib_take(x, frame, 1004);
    xib_put(x, XIB_TX_CONF, 1);
    xib_post(x, frame, 1004, 2);
    xib_ring(x);
    qnet_arrives(x->fd, frame, 1000);
}

/* ---- the ERNIC --------------------------------------------------------------------- */

/* It has the map of 3.1 at 300000, all of memory without windows, and vector 0. */
MACHINE_KINDS("/ernic-xib/ernic", test_ernic, KINDS)
{
    g_autofree char *args = g_strconcat(",roce-udp=127.0.0.1:0", more, NULL);
    Card c;
    Xib x;

    xib_start(&x, args);
    c = (Card) { .q = x.q, .version = PG332_V3_1, .bar = x.bar };
    c.bar.addr += XIB_ERNIC;
    card_open_in(&c, 1, 0, 0);
    card_open_qp(&c, 1, CARD_QPN);
    card_put(&c, PG332_INTEN, PG332_INT_COMPLETION);
    card_transfers(&c, &c);
    g_assert_cmpint(xib_message(&x), ==, 0);
    g_assert_cmphex(card_get(&c, PG332_INTSTS) & PG332_INT_COMPLETION, !=, 0);
    /* A message that waits for its mask ends with its cause. */
    xib_mask(&x, 1);
    card_put(&c, PG332_INTEN, 0);
    card_put(&c, PG332_INTEN, PG332_INT_COMPLETION);
    g_assert_cmpint(xib_message(&x), ==, -1);
    g_assert_cmphex(xib_pending(&x), ==, 1);
    card_put(&c, PG332_INTEN, 0);
    g_assert_cmphex(xib_pending(&x), ==, 0);
    xib_mask(&x, 0);
    g_assert_cmpint(xib_message(&x), ==, -1);
    card_put(&c, PG332_INTEN, PG332_INT_COMPLETION);
    g_assert_cmpint(xib_message(&x), ==, 0);
    /* It is a level when MSI is enabled. */
    qpci_config_writew(&x.q->dev, qpci_find_capability(&x.q->dev, PCI_CAP_ID_MSI, 0) +
                       PCI_MSI_FLAGS, 0);
    xib_messages(&x, 2);
    g_assert_cmpint(xib_message(&x), ==, 0);
    card_put(&c, PG332_INTSTS, PG332_INT_ALL);
    xib_messages(&x, 2);
    g_assert_cmpint(xib_message(&x), ==, -1);
    xib_receive(&x, 100, 1);            /* beside frames */
    g_assert_cmpint(xib_message(&x), ==, XIB_S2MM);
    /* No side stream follows its window. */
    g_assert_cmphex(xib_get(&x, XIB_ERNIC + 0x40034), ==, 0);
}

/* Two machines whose functions name one lab: frames to all, and to one. */
MACHINE_TEST("/ernic-xib/lab", test_lab)
{
    const char *folder = qernic_folder();
    uint8_t frame[700];
    Xib x[2] = { };

    for (int i = 0; i < 2; i++) {
        x[i].m = qernic_machine("-device ernic,id=ernic0,addr=04.0,shell=xib,lab=%s"
                                ",mac=52:54:00:00:00:4%d", folder, i);
        xib_attach(&x[i]);
        xib_probe(&x[i]);
        xib_up(&x[i]);
    }
    for (int i = 0; i < 2; i++) {
        qernic_wait_while(x[i].m->qts, qernic_stat(x[i].q, "shm.peers") != 1);
    }
    for (int i = 0; i < 6; i++) {
        Xib *from = &x[i % 2], *to = &x[1 - i % 2];

        qnet_frame(frame, sizeof(frame), i, 3);
        memcpy(frame, "\x52\x54\0\0\0\x40", 6);
        frame[5] += 1 - i % 2;
        if (i < 2) {
            memset(frame, 0xff, 6);
        }
        xib_post(from, frame, sizeof(frame), 1 + i / 2);
        xib_ring(from);
        xib_take(to, frame, sizeof(frame));
    }
}
