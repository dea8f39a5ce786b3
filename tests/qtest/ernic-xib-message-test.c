/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages of MSI of the xib shell that reach the controller of its slot, whose registers
 * no guard protects.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-xib.h"

/* A descriptor that is not memory. */
#define NOWHERE     0x80000000000ull

/* ---- messages that eject the function ---------------------------------------------- */

static void slot_open(Xib *x, const char *more)
{
    int fds[2];

    *x = (Xib) { };
    qernic_cable(fds);
    x->fd = fds[0];
    x->m = qernic_machine("-M q35 -nodefaults" QERNIC_SLOT
                          " -netdev socket,id=sock0,fd=%d -device ernic,id=ernic0,"
                          "bus=slot0,addr=01.0,shell=xib,netdev=sock0%s", fds[1], more);
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
 * The first of two messages that a write of the MSI capability sets free ejects the
 * function: two vectors are unmasked, or MSI is enabled with both raised.
 */
MACHINE_KINDS("/ernic-xib-message/slot", test_slot, { "", "" },
              { "-thread", ",engine-thread=on" }, { "-timing", ",timing=on" })
{
    for (int unmask = 0; unmask < 2; unmask++) {
        QPCIDevice *dev;
        uint8_t at;
        Xib x;

        slot_open(&x, more);
        dev = &x.q->dev;
        at = qpci_find_capability(dev, PCI_CAP_ID_MSI, 0);
        qpci_config_writel(dev, at + PCI_MSI_ADDRESS_LO, QERNIC_SLOT_COMMAND);
        qpci_config_writel(dev, at + PCI_MSI_ADDRESS_HI, 0);
        qpci_config_writew(dev, at + PCI_MSI_DATA_64, QERNIC_SLOT_EJECT);
        if (unmask) {
            qpci_config_writel(dev, at + PCI_MSI_MASK_64, 3);
            qpci_config_writew(dev, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE | 2 << 4);
        }
        raise_both(&x);
        if (unmask) {
            g_assert_cmphex(qpci_config_readl(dev, at + PCI_MSI_PENDING_64), ==, 3);
            qpci_config_writel(dev, at + PCI_MSI_MASK_64, 0);
        } else {
            qpci_config_writew(dev, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
        }
        qernic_wait_while(x.m->qts, qpci_config_readl(dev, PCI_VENDOR_ID) != ~0u);
        qtest_qmp_eventwait(x.m->qts, "DEVICE_DELETED");
        qernic_pass(x.m->qts, 20, 1000);
        qtest_qmp_assert_success(x.m->qts, "{ 'execute': 'query-status' }");
        close(x.fd);
    }
}
