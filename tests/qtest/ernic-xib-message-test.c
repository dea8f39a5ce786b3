/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages of MSI and frames of the xib shell that reach, while it works, the controller
 * of its slot, whose registers no guard protects, or its own work from inside.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-eth.h"
#include "ernic-xib.h"

/* A descriptor that is not memory. */
#define NOWHERE     0x80000000000ull

/* ---- messages that eject the function ---------------------------------------------- */

static void slot_open(Xib *x, const char *more)
{
    *x = (Xib) { };
    x->m = qernic_machine("-M q35" QERNIC_SLOT
                          " -netdev socket,id=sock0,fd=%d -device ernic,id=ernic0,"
                          "bus=slot0,addr=01.0,shell=xib,netdev=sock0%s",
                          qernic_cable(&x->fd), more);
    qernic_slot_open(x->m);
    x->mmio = x->m->bus->mmio_alloc_ptr;
    x->q = g_new(QErnic, 1);
    g_test_queue_free(x->q);
    qernic_init(x->q, "ernic0", x->m->bus, QERNIC_SLOT_DEVFN, &x->m->alloc);
    xib_map(x);
}

/* Both channels have an error. */
static void raise_both(Xib *x)
{
    uint8_t frame[100];

    for (int ch = 0; ch < 2; ch++) {
        xib_put_address(x, ch, XIB_CUR, NOWHERE);
        xib_put_channel(x, ch, XIB_CR, PG332_DMACR_RUN | PG332_DMA_IRQS);
        xib_put_address(x, ch, XIB_TAIL, NOWHERE);
    }
    qnet_frame(frame, sizeof(frame), 1, 1);
    qernic_to_wire(x->fd, frame, sizeof(frame));
    for (int ch = 0; ch < 2; ch++) {
        qernic_wait_while(x->m->qts, !(xib_channel(x, ch, XIB_SR) & PG332_DMASR_HALTED));
    }
    qernic_pass(x->m->qts, 20, 1000);
}

/*
 * The first of two messages that a write of the configuration space sets free ejects the
 * function: MSI is enabled with two vectors raised, both are unmasked, or Bus Master set.
 */
enum { ENABLED, UNMASKED, MASTER, WAYS };

MACHINE_KINDS("/ernic-xib-message/slot", test_slot, { "", "" },
              { "-thread", ",engine-thread=on" }, { "-timing", ",timing=on" })
{
    for (int way = 0; way < WAYS; way++) {
        QPCIDevice *dev;
        uint8_t at;
        Xib x;

        slot_open(&x, more);
        dev = &x.q->dev;
        at = qpci_find_capability(dev, PCI_CAP_ID_MSI, 0);
        qpci_config_writel(dev, at + PCI_MSI_ADDRESS_LO, QERNIC_SLOT_COMMAND);
        qpci_config_writel(dev, at + PCI_MSI_ADDRESS_HI, 0);
        qpci_config_writew(dev, at + PCI_MSI_DATA_64, QERNIC_SLOT_EJECT);
        if (way == UNMASKED) {
            xib_mask(&x, 3);
        }
        if (way != ENABLED) {
            qpci_config_writew(dev, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE | 2 << 4);
        }
        qernic_set_master(dev, way != MASTER);
        raise_both(&x);
        if (way == UNMASKED) {
            g_assert_cmphex(xib_pending(&x), ==, 3);
            xib_mask(&x, 0);
        } else if (way == ENABLED) {
            qpci_config_writew(dev, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
        } else {
            qernic_set_master(dev, true);
        }
        qernic_wait_while(x.m->qts, qpci_config_readl(dev, PCI_VENDOR_ID) != ~0u);
        qtest_qmp_eventwait(x.m->qts, "DEVICE_DELETED");
        qernic_pass(x.m->qts, 20, 1000);
        qtest_qmp_assert_success(x.m->qts, "{ 'execute': 'query-status' }");
        close(x.fd);
    }
}

/* ---- work from inside ------------------------------------------------------------- */

#define Q35_PCIEXBAR    0x60
#define ECAM        0xb0000000ull
#define CARD_BAR    0xe8000000
#define CARD_DESCS  64
#define PART        256
#define SLEEPS      12
#define PARTS       (2 + 2 * SLEEPS + 1)
#define PIECES      4
#define D3HOT       3

/*
 * The last 4 of PART bytes are the power state of a function, and those before it what
 * is there already. Returns where they are to be written to.
 */
static uint64_t power_part(QPCIDevice *dev, uint8_t *part, uint32_t state)
{
    uint8_t at = qpci_find_capability(dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
    uint8_t *config = part + PART - 4 - at;

    memset(part, 0, PART);
    for (uint32_t i = 0; i <= at; i += 4) {
        stl_le_p(config + i, qpci_config_readl(dev, i));
    }
    stw_le_p(config + PCI_STATUS, 0);
    stl_le_p(config + at, state);
    return ECAM + ((uint64_t)dev->devfn << 12) + at + 4 - PART;
}

/*
 * The first parts of our frame put us into D3hot and back into D0, which schedules the
 * channels, and another function into D3hot, which waits for its thread and may poll the
 * bottom halves of the main loop meanwhile. The rest of the frame is still in use.
 */
MACHINE_KINDS("/ernic-xib-message/nested", test_nested, { "", ",engine-thread=off" },
              { "-thread", ",engine-thread=on" })
{
    uint8_t frame[PART * PARTS], is[PART], expected[PART];
    uint64_t bufs[CARD_DESCS], memory;
    QPCIDevice *other, *card;
    Xib x = { };

    x.m = qernic_machine("-M q35 -object iothread,id=io0"
                         " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
                         " -device ernic,id=ernic0,addr=04.0,shell=xib,netdev=h0%s"
                         " -device e1000,addr=05.0,netdev=h1"
                         VERBS_NIC ",id=ernic1,addr=06.0,iothread=io0"
                         ",roce-udp=127.0.0.1:0", more);
    qtest_outl(x.m->qts, 0xcf8, 0x80000000 | Q35_PCIEXBAR);
    qtest_outl(x.m->qts, 0xcfc, ECAM | 1);
    xib_attach(&x);
    other = qpci_device_find(x.m->bus, QPCI_DEVFN(6, 0));
    qpci_device_enable(other);
    memory = guest_alloc(&x.m->alloc, CARD_DESCS * PART);
    for (uint32_t i = 0; i < CARD_DESCS; i++) {
        bufs[i] = memory + i * PART;
    }
    bufs[0] = power_part(&x.q->dev, frame, D3HOT);
    memset(frame, 0xff, 6);             /* in the page of the function before it */
    bufs[1] = power_part(&x.q->dev, frame + PART, 0);
    for (uint32_t i = 2; i < PARTS - 1; i++) {
        bufs[i] = power_part(other, frame + i * PART, i & 1 ? 0 : D3HOT);
    }
    memset(frame + (PARTS - 1) * PART, 0xaa, PART);
    card = qpci_device_find(x.m->bus, QPCI_DEVFN(5, 0));
    x.m->bus->mmio_alloc_ptr = CARD_BAR;
    qeth_e1000_to(card, &x.m->alloc, bufs, CARD_DESCS, true);
    g_free(card);
    xib_begin(&x, XIB_MM2S, XIB_TX_CR);
    xib_post(&x, frame, sizeof(frame), PIECES);
    memset(frame + 6, 0xbb, sizeof(frame) - 6);
    xib_post(&x, frame, sizeof(frame), PIECES);
    qernic_stop(x.m->qts);                      /* one slice has both */
    xib_ring(&x);
    qernic_cont(x.m->qts);
    qernic_wait_while(x.m->qts, !xib_status(&x, XIB_MM2S, 2 * PIECES - 1));
    qernic_pass(x.m->qts, 20, 1000);
    /* The end of this frame, and all but the beginning of the next one. */
    for (uint32_t i = PARTS - 1; i < 2 * PARTS; i++) {
        memset(expected, i == PARTS - 1 ? 0xaa : 0xbb, PART);
        memset(expected, 0xff, i == PARTS ? 6 : 0);
        qtest_bufread(x.m->qts, bufs[i], is, PART);
        g_assert_cmpmem(is, PART, expected, PART);
    }
    g_free(other);
}
