/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register accesses of a driver for the xib shell. Every wait of it is a loop here.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-xib.h"

#define MESSAGE     0x5a0       /* the data of vector 0 */

uint32_t xib_get(Xib *x, uint32_t off)
{
    return qpci_io_readl(&x->q->dev, x->bar, off);
}

void xib_put(Xib *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->q->dev, x->bar, off, value);
}

static uint32_t channel_at(int ch, uint32_t reg)
{
    return XIB_DMA + ch * 0x30 + reg;
}

uint32_t xib_channel(Xib *x, int ch, uint32_t reg)
{
    return xib_get(x, channel_at(ch, reg));
}

void xib_put_channel(Xib *x, int ch, uint32_t reg, uint32_t value)
{
    xib_put(x, channel_at(ch, reg), value);
}

void xib_put_address(Xib *x, int ch, uint32_t reg, uint64_t value)
{
    qpci_io_writeq(&x->q->dev, x->bar, channel_at(ch, reg), value);
}

/* ---- the machine ------------------------------------------------------------------ */

char *xib_cable(Xib *x, const char *more)
{
    return g_strdup_printf("-device ernic,id=ernic0,addr=04.0,shell=xib,netdev=sock0%s"
                           " -netdev socket,fd=%d,id=sock0", more, qernic_cable(&x->fd));
}

void xib_map(Xib *x)
{
    x->m->bus->mmio_alloc_ptr = x->mmio;
    x->bar = qpci_iomap(&x->q->dev, ERNIC_XIB_BAR, NULL);
    qpci_device_enable(&x->q->dev);
}

void xib_attach(Xib *x)
{
    x->mmio = x->m->bus->mmio_alloc_ptr;
    x->q = qernic_at(x->m, "ernic0", 4);
    x->ring[XIB_MM2S] = qernic_zeroed(x->q, XIB_TX_RING * XIB_STRIDE);
    x->ring[XIB_S2MM] = qernic_zeroed(x->q, XIB_RX_RING * XIB_STRIDE);
    x->buf[XIB_MM2S] = guest_alloc(&x->m->alloc, XIB_TX_RING * XIB_BUFFER);
    x->buf[XIB_S2MM] = guest_alloc(&x->m->alloc, XIB_RX_RING * XIB_BUFFER);
    x->messages = qernic_zeroed(x->q, 4096);
    xib_map(x);
}

void xib_open(Xib *x, const char *more)
{
    g_autofree char *args = NULL;

    *x = (Xib) { };
    args = xib_cable(x, more);
    x->m = qernic_machine("%s", args);
    xib_attach(x);
}

void xib_start(Xib *x, const char *more)
{
    xib_open(x, more);
    xib_probe(x);
    xib_up(x);
}

static uint8_t msi_at(Xib *x, uint8_t off)
{
    return qpci_find_capability(&x->q->dev, PCI_CAP_ID_MSI, 0) + off;
}

void xib_mask(Xib *x, uint32_t vectors)
{
    qpci_config_writel(&x->q->dev, msi_at(x, PCI_MSI_MASK_64), vectors);
}

uint32_t xib_pending(Xib *x)
{
    return qpci_config_readl(&x->q->dev, msi_at(x, PCI_MSI_PENDING_64));
}

void xib_messages(Xib *x, uint32_t log)
{
    QPCIDevice *dev = &x->q->dev;
    uint8_t at = msi_at(x, 0);
    uint16_t flags = qpci_config_readw(dev, at + PCI_MSI_FLAGS);

    qtest_writel(x->m->qts, x->messages, 0);
    qpci_config_writel(dev, at + PCI_MSI_ADDRESS_LO, x->messages);
    qpci_config_writel(dev, at + PCI_MSI_ADDRESS_HI, x->messages >> 32);
    qpci_config_writew(dev, at + PCI_MSI_DATA_64, MESSAGE);
    qpci_config_writew(dev, at + PCI_MSI_FLAGS, (flags & ~PCI_MSI_FLAGS_QSIZE) |
                       log << 4 | PCI_MSI_FLAGS_ENABLE);
}

int xib_message(Xib *x)
{
    uint32_t data;

    qtest_clock_step(x->m->qts, 1000);
    data = qtest_readl(x->m->qts, x->messages);
    qtest_writel(x->m->qts, x->messages, 0);
    return data ? (int)(data - MESSAGE) : -1;
}

/* ---- probe, interface up and down -------------------------------------------------- */

void xib_probe(Xib *x)
{
    QPCIDevice *dev = &x->q->dev;

    g_assert_cmphex(qpci_config_readl(dev, PCI_VENDOR_ID), ==, 0x903810ee);
    g_assert_cmphex(xib_get(x, XIB_MAC), !=, 0xffffffff);
    xib_messages(x, 2);
}

static void reset_channels(Xib *x)
{
    for (int ch = 0; ch < 2; ch++) {
        xib_put_channel(x, ch, XIB_CR, PG332_DMACR_RESET);
        qernic_wait_while(x->m->qts, xib_channel(x, ch, XIB_CR) & PG332_DMACR_RESET);
    }
}

/* The control word is read and changed; the channel runs when it has a descriptor. */
void xib_begin(Xib *x, int ch, uint32_t cr)
{
    uint32_t value = xib_channel(x, ch, XIB_CR) & 0xffff;

    xib_put_channel(x, ch, XIB_CR, value | cr);
    xib_put_address(x, ch, XIB_CUR, xib_desc(x, ch, ch == XIB_MM2S ? x->tx : x->rx));
    xib_put_channel(x, ch, XIB_CR, xib_channel(x, ch, XIB_CR) | PG332_DMACR_RUN);
}

void xib_up(Xib *x)
{
    xib_put(x, XIB_MAC, xib_get(x, XIB_MAC) | 1);
    qtest_clock_step(x->m->qts, 1000000);
    xib_put(x, XIB_MAC, xib_get(x, XIB_MAC) & ~1);
    reset_channels(x);
    x->tx = x->rx = 0;
    for (uint32_t i = 0; i < XIB_RX_RING; i++) {
        xib_set_desc(x, XIB_S2MM, i, x->buf[XIB_S2MM] + i * XIB_BUFFER, XIB_LENGTH);
    }
    for (uint32_t i = 0; i < XIB_TX_RING; i++) {
        xib_set_desc(x, XIB_MM2S, i, 0, 0);
    }
    xib_begin(x, XIB_S2MM, XIB_RX_CR);
    xib_give(x, XIB_RX_RING - 1);
    xib_begin(x, XIB_MM2S, XIB_TX_CR);
    g_assert_cmphex(xib_get(x, XIB_LOCK) & 1, ==, 1);
    xib_put(x, XIB_RX_CONF, xib_get(x, XIB_RX_CONF) | 3);
    xib_put(x, XIB_TX_CONF, xib_get(x, XIB_TX_CONF) | 3);
}

void xib_down(Xib *x)
{
    xib_put(x, XIB_RX_CONF, 0);
    xib_put(x, XIB_TX_CONF, xib_get(x, XIB_TX_CONF) & ~1);
    for (int ch = 0; ch < 2; ch++) {
        xib_put_channel(x, ch, XIB_CR, xib_channel(x, ch, XIB_CR) & ~PG332_DMACR_RUN);
        qernic_wait_while(x->m->qts, !(xib_channel(x, ch, XIB_SR) & PG332_DMASR_HALTED));
    }
    reset_channels(x);
}

/* ---- descriptors ------------------------------------------------------------------- */

uint64_t xib_desc(const Xib *x, int ch, uint32_t n)
{
    return x->ring[ch] + n % (ch == XIB_MM2S ? XIB_TX_RING : XIB_RX_RING) * XIB_STRIDE;
}

void xib_set_desc(Xib *x, int ch, uint32_t n, uint64_t buf, uint32_t control)
{
    uint8_t desc[0x40] = { };

    stq_le_p(desc, xib_desc(x, ch, n + 1));
    stq_le_p(desc + 8, buf);
    stl_le_p(desc + PG332_DESC_CONTROL, control);
    qtest_bufwrite(x->m->qts, xib_desc(x, ch, n), desc, sizeof(desc));
}

uint32_t xib_status(Xib *x, int ch, uint32_t n)
{
    return qtest_readl(x->m->qts, xib_desc(x, ch, n) + PG332_DESC_STATUS);
}

void xib_give(Xib *x, uint32_t last)
{
    xib_put_address(x, XIB_S2MM, XIB_TAIL, xib_desc(x, XIB_S2MM, last));
}

void xib_ring(Xib *x)
{
    xib_put_address(x, XIB_MM2S, XIB_TAIL, xib_desc(x, XIB_MM2S, x->tx - 1));
}

void xib_post(Xib *x, const uint8_t *frame, uint32_t len, uint32_t pieces)
{
    uint32_t pos = 0, n;

    for (uint32_t i = 0; i < pieces; i++, pos += n, x->tx++) {
        uint64_t buf = x->buf[XIB_MM2S] + x->tx % XIB_TX_RING * XIB_BUFFER;

        n = i + 1 < pieces ? len / pieces : len - pos;
        g_assert_cmpuint(n, <=, XIB_BUFFER);
        qtest_bufwrite(x->m->qts, buf, frame + pos, n);
        xib_set_desc(x, XIB_MM2S, x->tx, buf, n | (i ? 0 : XIB_SOF) |
                     (i + 1 < pieces ? 0 : XIB_EOF));
    }
}

void xib_transmit(Xib *x, const uint8_t *frame, uint32_t len, uint32_t pieces)
{
    uint32_t first = x->tx;

    xib_post(x, frame, len, pieces);
    xib_ring(x);
    qnet_arrives(x->fd, frame, len);
    for (; first != x->tx; first++) {
        qernic_wait_while(x->m->qts, !xib_status(x, XIB_MM2S, first));
        g_assert_cmphex(xib_status(x, XIB_MM2S, first) >> 26, ==, 0x20);
    }
}

void xib_take(Xib *x, const uint8_t *frame, uint32_t len)
{
    uint8_t is[XIB_BUFFER];

    qernic_wait_while(x->m->qts, !xib_status(x, XIB_S2MM, x->rx));
    g_assert_cmphex(xib_status(x, XIB_S2MM, x->rx), ==, XIB_DONE | len);
    qtest_bufread(x->m->qts, x->buf[XIB_S2MM] + x->rx % XIB_RX_RING * XIB_BUFFER, is,
                  len);
    qnet_same(is, len, frame, len);
    xib_set_desc(x, XIB_S2MM, x->rx,
                 x->buf[XIB_S2MM] + x->rx % XIB_RX_RING * XIB_BUFFER, XIB_LENGTH);
    xib_give(x, x->rx);
    x->rx++;
}

void xib_receive(Xib *x, uint32_t len, uint16_t seed)
{
    uint8_t frame[QNET_FRAME];

    qnet_frame(frame, len, seed, 9);
    qernic_to_wire(x->fd, frame, len);
    xib_take(x, frame, len);
}
