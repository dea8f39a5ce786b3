/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BAR 0 of the xib shell, without the ERNIC: the MAC and the AXI DMA. The bridge has no
 * register. Only the parts that drivers use are implemented (docs/ernic-interface.md).
 */
#include "qemu/osdep.h"
#include "bars/xib/channels.h"
#include "bars/xib/registers.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

/* Blocks, and the distance of the channels. */
#define MAC             0x100000
#define DMA             0x200000
#define CHANNEL_SIZE    0x30

/* Registers of the MAC that are not stored. */
enum {
    MAC_TICK = 0x20, MAC_REVISION = 0x24, MAC_TX_STATUS = 0x400, MAC_RX_STATUS = 0x404,
    MAC_BLOCK_LOCK = 0x40c, MAC_TX_COUNT = 0x700, MAC_RX_COUNT = 0x808,
};
#define COUNTER_BYTES   (8 * ERNIC_MAC_COUNTERS)
#define REVISION        0x00000104      /* 4.1 */
/* Bits of the status: the link is up; local faults, two of which say the same. */
#define RX_UP           0x1
#define RX_FAULT        0xc0

/* Registers of the MAC that are stored. */
static const struct {
    const char *name;
    uint32_t at, reset;
} mac_regs[XIB_MAC_WORDS] = {
    [XIB_GT_RESET] = { "gt-reset", 0x0, 0 },
    [XIB_RESET] = { "reset", 0x4, 0 },
    [XIB_MODE] = { "mode", 0x8, 0 },
    [XIB_TX] = { "tx", 0xc, 12 << 10 | XIB_TX_ENABLE | XIB_TX_ADD_FCS },
    [XIB_RX] = { "rx", 0x14, 0x30 | XIB_RX_ENABLE | XIB_RX_CUT_FCS },
    [XIB_RX_MTU] = { "rx-mtu", 0x18, 9600 << 16 | 64 },
};

void xib_mac_reset(ErnicXib *x)
{
    uint32_t i;

    for (i = 0; i < XIB_MAC_WORDS; i++) {
        x->regs[i] = mac_regs[i].reset;
    }
}

static uint32_t *stored(ErnicXib *x, uint32_t at)
{
    uint32_t i;

    for (i = 0; i < XIB_MAC_WORDS; i++) {
        if (mac_regs[i].at == at) {
            return &x->regs[i];
        }
    }
    return NULL;
}

/* RoCEv2 may have a link beside the cable of the frames. */
static bool is_up(ErnicPci *d)
{
    bool up;

    ernic_pci_enter(d);
    up = ernic_pci_link(d) && d->card->is_up(d);
    ernic_pci_leave(d);
    return up;
}

/* False: there is no such register. */
static bool mac_read(ErnicPci *d, uint32_t at, uint32_t *value)
{
    ErnicXib *x = d->shell.xib;
    const uint32_t *word = stored(x, at);

    if (word) {
        *value = *word;
    } else if (at == MAC_TICK || at == MAC_TX_STATUS) {
        *value = 0;
    } else if (at == MAC_REVISION) {
        *value = REVISION;
    } else if (at == MAC_RX_STATUS) {
        *value = is_up(d) ? RX_UP : RX_FAULT;
    } else if (at == MAC_BLOCK_LOCK) {
        *value = is_up(d);
    } else if (at - MAC_TX_COUNT < COUNTER_BYTES) {
        *value = ernic_mac_counter(&x->mac[XIB_MM2S], (at - MAC_TX_COUNT) / 4);
    } else if (at - MAC_RX_COUNT < COUNTER_BYTES) {
        *value = ernic_mac_counter(&x->mac[XIB_S2MM], (at - MAC_RX_COUNT) / 4);
    } else {
        return false;
    }
    return true;
}

static bool mac_write(ErnicPci *d, uint32_t at, uint32_t value)
{
    ErnicXib *x = d->shell.xib;
    uint32_t *word = stored(x, at), ch;

    if (word) {
        *word = value;
    }
    for (ch = 0; at == MAC_TICK && value & 1 && ch < XIB_CHANNELS; ch++) {
        ernic_mac_tick(&x->mac[ch]);
    }
    return word || at == MAC_TICK;
}

/* ---- the BAR --------------------------------------------------------------------- */

static bool is_dma(uint32_t off)
{
    return off >= DMA && off - DMA < XIB_CHANNELS * CHANNEL_SIZE &&
           (off - DMA) % CHANNEL_SIZE < ERNIC_AXI_END;
}

static uint32_t read_word(ErnicPci *d, uint32_t off)
{
    uint32_t value = 0;

    if (is_dma(off)) {
        value = ernic_axi_dma_read(&d->shell.xib->dma[(off - DMA) / CHANNEL_SIZE],
                                   (off - DMA) % CHANNEL_SIZE);
    } else if (off < MAC || off >= DMA || !mac_read(d, off - MAC, &value)) {
        ernic_guest_bad_read(d, off, 4);
        return 0;
    }
    trace_ernic_xib_read(ernic_pci_id(d), off, value);
    return value;
}

static void write_word(ErnicPci *d, uint32_t off, uint32_t value)
{
    trace_ernic_xib_write(ernic_pci_id(d), off, value);
    if (is_dma(off)) {
        xib_channel_write(d, (off - DMA) / CHANNEL_SIZE, (off - DMA) % CHANNEL_SIZE,
                          value);
    } else if (off < MAC || off >= DMA || !mac_write(d, off - MAC, value)) {
        ernic_guest_bad_write(d, off, 4, value);
    }
}

/* An access of 64 bits is two; a read has the words in their order. */
static uint64_t xib_read(void *opaque, hwaddr off, unsigned size)
{
    uint64_t value = read_word(opaque, off);

    if (size == 8) {
        value |= (uint64_t)read_word(opaque, off + 4) << 32;
    }
    return value;
}

/* One that writes all of a tail starts the channel once. */
static void xib_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    if (size == 8 && is_dma(off) && (off - DMA) % CHANNEL_SIZE == ERNIC_AXI_TAIL) {
        trace_ernic_xib_write(ernic_pci_id(opaque), off, value);
        xib_channel_tail(opaque, (off - DMA) / CHANNEL_SIZE, value);
        return;
    }
    write_word(opaque, off, value);
    if (size == 8) {
        write_word(opaque, off + 4, value >> 32);
    }
}

const MemoryRegionOps ernic_xib_ops = {
    .read = xib_read,
    .write = xib_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
