/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slot with a hot-plug controller whose registers are in memory (SHPC).
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "ernic.h"

#define SLOT_WINDOW     0xe0000000
/* The first slot is off, its LED blinks. */
#define SLOT_STAYS      (1 << 8 | 2 << 2 | 3)

void qernic_slot_open(QErnicMachine *m)
{
    QPCIDevice *bridge = qpci_device_find(m->bus, QPCI_DEVFN(5, 0));

    qpci_config_writel(bridge, PCI_PRIMARY_BUS, 1 << 16 | 1 << 8);
    qpci_config_writel(bridge, PCI_MEMORY_BASE,
                       SLOT_WINDOW | 0xf00000 | SLOT_WINDOW >> 16);
    m->bus->mmio_alloc_ptr = QERNIC_SLOT_COMMAND & ~0xfff;
    qpci_iomap(bridge, 0, NULL);
    qpci_device_enable(bridge);
    g_free(bridge);
    qtest_writel(m->qts, QERNIC_SLOT_COMMAND, SLOT_STAYS);
    m->bus->mmio_alloc_ptr = SLOT_WINDOW;
}
