/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the QDMA of RecoNIC's shell.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "ernic-qdma.h"

#define DATA    0x804
#define MASK    0x824
#define COMMAND 0x844

/* ---- machines -------------------------------------------------------------- */

void qdma_map(Qdma *x)
{
    x->bar = qpci_iomap(&x->q.dev, 0, NULL);
    x->user = qpci_iomap(&x->q.dev, 2, NULL);
    x->card = qpci_iomap(&x->q.dev, 4, NULL);
    qpci_device_enable(&x->q.dev);
}

void qdma_open(Qdma *x, const char *more)
{
    g_autofree char *args = g_strconcat(QDMA_OPTIONS, more, NULL);

    card_machine_open(&x->m, args);
    qernic_init(&x->q, "ernic0", x->m.bus, QPCI_DEVFN(4, 0), &x->m.alloc);
    qdma_map(x);
}

void qdma_close(Qdma *x)
{
    card_machine_close(&x->m);
}

void qdma_migrate(Qdma *x, const char *more)
{
    g_autofree char *args = g_strconcat(QDMA_OPTIONS, more, NULL);
    QTestState *from = qernic_migrate_as(&x->q, args);

    x->m.qts = x->q.qts;
    qtest_quit(from);
}

void qdma_flr(Qdma *x)
{
    uint8_t pcie = qpci_find_capability(&x->q.dev, PCI_CAP_ID_EXP, 0);

    qpci_config_writew(&x->q.dev, pcie + PCI_EXP_DEVCTL,
                       qpci_config_readw(&x->q.dev, pcie + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    qdma_map(x);
}

/* ---- registers, contexts ------------------------------------------------------ */

uint32_t qdma_get(Qdma *x, uint32_t off)
{
    return qpci_io_readl(&x->q.dev, x->bar, off);
}

void qdma_put(Qdma *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->q.dev, x->bar, off, value);
}

void qdma_command(Qdma *x, uint32_t selector, uint32_t number, uint32_t op)
{
    qdma_put(x, COMMAND, number << 7 | op << 5 | selector << 1);
    g_assert_cmphex(qdma_get(x, COMMAND) & 1, ==, 0);
}

void qdma_write_context(Qdma *x, uint32_t selector, uint32_t number,
                        const uint32_t words[8])
{
    int i;

    for (i = 0; i < 8; i++) {
        qdma_put(x, DATA + i * 4, words[i]);
    }
    for (i = 0; i < 8; i++) {
        qdma_put(x, MASK + i * 4, 0xffffffff);
    }
    qdma_command(x, selector, number, QDMA_WRITE);
}

void qdma_read_context(Qdma *x, uint32_t selector, uint32_t number, uint32_t words[8])
{
    int i;

    qdma_command(x, selector, number, QDMA_READ);
    for (i = 0; i < 8; i++) {
        words[i] = qdma_get(x, DATA + i * 4);
    }
}
