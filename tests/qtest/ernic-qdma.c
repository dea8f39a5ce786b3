/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the QDMA of RecoNIC's shell.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-qdma.h"

#define DATA    0x804
#define COMMAND 0x844

void qdma_map(Qdma *x)
{
    x->bar = qpci_iomap(&x->q->dev, 0, NULL);
    x->user = qpci_iomap(&x->q->dev, 2, NULL);
    if (qpci_config_readl(&x->q->dev, PCI_BASE_ADDRESS_4)) {
        x->card = qpci_iomap(&x->q->dev, 4, NULL);
    }
    x->q->bar = x->user;                         /* qernic_init() mapped it elsewhere */
    qpci_device_enable(&x->q->dev);
}

void qdma_open(Qdma *x, const char *more)
{
    *x = (Qdma) { .m = qernic_machine("%s%s", QDMA_OPTIONS, more),
                  .opennic = strstr(more, "shell=opennic") };
    x->mmio = x->m->bus->mmio_alloc_ptr;
    x->q = qernic_at(x->m, "ernic0", 4);
    qdma_map(x);
}

void qdma_migrate(Qdma *x, const char *more)
{
    g_autofree char *args = g_strconcat(QDMA_OPTIONS, more, NULL);

    qernic_migrate_as(x->q, args);
}

void qdma_reset(Qdma *x, int kind)
{
    if (kind < 2) {
        qpci_io_writel(&x->q->dev, x->user, kind ? 0x4 : 0xc, 1);
    } else {
        qernic_flr(&x->q->dev);
        x->m->bus->mmio_alloc_ptr = x->mmio;
        qdma_map(x);
    }
}

uint32_t qdma_get(Qdma *x, uint32_t off)
{
    return qpci_io_readl(&x->q->dev, x->bar, off);
}

void qdma_put(Qdma *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->q->dev, x->bar, off, value);
}

uint32_t qdma_user(Qdma *x, uint32_t off)
{
    return qpci_io_readl(&x->q->dev, x->user, off);
}

void qdma_put_user(Qdma *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->q->dev, x->user, off, value);
}

void qdma_command(Qdma *x, uint32_t selector, uint32_t number, uint32_t op)
{
    qdma_put(x, COMMAND, number << 7 | op << 5 | selector << 1);
    g_assert_cmphex(qdma_get(x, COMMAND) & 1, ==, 0);
}

void qdma_write_context(Qdma *x, uint32_t selector, uint32_t number,
                        const uint32_t words[8])
{
    uint32_t data[16];

    for (int i = 0; i < 8; i++) {
        data[i] = cpu_to_le32(words[i]);
        data[8 + i] = 0xffffffff;               /* of the mask, which follows */
    }
    qpci_memwrite(&x->q->dev, x->bar, DATA, data, sizeof(data));
    qdma_command(x, selector, number, QDMA_WRITE);
}

void qdma_read_context(Qdma *x, uint32_t selector, uint32_t number, uint32_t words[8])
{
    qdma_command(x, selector, number, QDMA_READ);
    qpci_memread(&x->q->dev, x->bar, DATA, words, 32);
    for (int i = 0; i < 8; i++) {
        words[i] = le32_to_cpu(words[i]);
    }
}

#define VECTORS     17
#define RING_SIZES  0x204

void qdma_aim(Qdma *x, uint32_t vectors)
{
    if (!x->messages) {
        x->messages = guest_alloc(&x->m->alloc, 4096);
    }
    if (x->q->dev.msix_enabled) {
        qpci_msix_disable(&x->q->dev);
    }
    qpci_msix_enable(&x->q->dev);
    x->bar = x->q->dev.msix_table_bar;           /* libqos has mapped it again */
    qtest_memset(x->m->qts, x->messages, 0, 4096);
    for (uint32_t i = 0; i < vectors; i++) {
        qernic_aim(&x->q->dev, i, x->messages + i * 4, 1);
    }
}

void qdma_start_mac(Qdma *x, uint32_t at, uint32_t reset)
{
    static const uint32_t pause[][2] = {
        { 0x84, 0x3dff }, { 0x88, 0x1c631 }, { 0x48, ~0 }, { 0x4c, ~0 }, { 0x50, ~0 },
        { 0x54, ~0 }, { 0x58, 0xffff }, { 0x34, ~0 }, { 0x38, ~0 }, { 0x3c, ~0 },
        { 0x40, ~0 }, { 0x44, 0xffff }, { 0x30, 0x1ff },
    };

    qdma_put_user(x, 0xc, reset);
    qernic_wait_while(x->m->qts, !(qdma_user(x, 0x10) & reset));
    qdma_put_user(x, at + 0x107c, 3);
    qdma_put_user(x, at + 0x1000, 7);
    qdma_put_user(x, at + 0x14, 1);
    qdma_put_user(x, at + 0xc, 0x10);
    qdma_user(x, at + 0x204);
    g_assert_cmphex(qdma_user(x, at + 0x204), ==, 3);
    qdma_put_user(x, at + 0xc, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(pause); i++) {
        qdma_put_user(x, at + pause[i][0], pause[i][1]);
    }
}

void qdma_start(Qdma *x)
{
    static const uint32_t functions[8] = { 0, 68 };

    qdma_aim(x, VECTORS);
    qdma_write_context(x, QDMA_FMAP, 0, functions);
    qdma_put(x, 0x1004, 1);
    qdma_put(x, 0x1204, 1);
}

void qdma_begin(Qdma *x, const char *more)
{
    qdma_open(x, more);
    qdma_start(x);
}

bool qdma_interrupted(Qdma *x, uint32_t vector)
{
    uint64_t at = x->messages + vector * 4;
    bool yes;

    qtest_clock_step(x->m->qts, 1000);
    yes = qtest_readl(x->m->qts, at);
    qtest_writel(x->m->qts, at, 0);
    return yes;
}

void qdma_arm_errors(Qdma *x)
{
    static const uint32_t masks[][2] = {
        { 0x24c, 0xffffffff }, { 0x258, 0x1f9037e }, { 0x268, 0xb3 }, { 0xaf4, 0x3f6df },
        { 0xe04, 0x3f }, { 0xb04, 1 << 24 | QDMA_ERROR_VECTOR << 12 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        qdma_put(x, masks[i][0], masks[i][1]);
    }
}

void qdma_queue_context(QdmaQueue *k, uint32_t set, uint32_t clear)
{
    uint32_t size = k->number % 16, words[8] = {
        1 << 16,
        (1u << 31 | 1 << 30 | 1 << 21 | 1 << 20 | 2 << 16 | size << 12 |
         (k->dir == QDMA_H2C ? 0xd : 1) | set) & ~clear,
        k->ring, k->ring >> 32, k->number % 16,
    };

    qdma_put(k->x, RING_SIZES + size * 4, k->entries + 1);
    qdma_command(k->x, QDMA_HW + k->dir, k->number, QDMA_CLEAR);
    qdma_command(k->x, QDMA_CREDIT + k->dir, k->number, QDMA_CLEAR);
    qdma_write_context(k->x, QDMA_SW + k->dir, k->number, words);
    qtest_memset(k->x->m->qts, k->ring, 0, (k->entries + 1) * 32);
    k->pi = 0;
}

void qdma_queue_open(Qdma *x, QdmaQueue *k, uint32_t number, int dir, uint32_t entries)
{
    *k = (QdmaQueue) { .x = x, .number = number, .dir = dir, .entries = entries };
    k->ring = guest_alloc(&x->m->alloc, (entries + 1) * 32);
    qdma_queue_context(k, 0, 0);
}

void qdma_post(QdmaQueue *k, uint64_t bus, uint64_t card, uint32_t len)
{
    uint8_t desc[32] = { };

    stq_le_p(desc, k->dir == QDMA_H2C ? bus : card);
    stl_le_p(desc + 8, len | 7u << 28);
    stq_le_p(desc + 16, k->dir == QDMA_H2C ? card : bus);
    qtest_memwrite(k->x->m->qts, k->ring + k->pi * 32, desc, sizeof(desc));
    k->pi = (k->pi + 1) % k->entries;
}

void qdma_ring(QdmaQueue *k, bool arm)
{
    qdma_put(k->x, QDMA_DOORBELLS + k->number * 16 + (k->dir == QDMA_H2C ? 4 : 8),
             k->pi | arm << 16);
}

uint64_t qdma_status(QdmaQueue *k)
{
    return qtest_readq(k->x->m->qts, k->ring + k->entries * 32);
}

void qdma_wait(QdmaQueue *k)
{
    qernic_wait_while(k->x->q->qts, extract64(qdma_status(k), 16, 16) != k->pi);
    g_assert_cmphex(extract64(qdma_status(k), 0, 2), ==, 0);
}

void qdma_move(QdmaQueue *k, uint64_t bus, uint64_t card, uint32_t len)
{
    qdma_post(k, bus, card, len);
    qdma_ring(k, true);
    qdma_wait(k);
}
