/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * DMA of the ERNIC interface: card memory, and guest memory, with a shell
 * through the windows of its QDMA (PG302).
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "bars/shell.h"
#include "bars/shell_dma.h"
#include "device/card.h"
#include "device/dma.h"
#include "hw/rdma-ernic/trace.h"

/* The window table; the words of an entry (PG302). */
#define WINDOW_SHIFT        37          /* address bits 39:37 select the window */
enum { WIN_LOW, WIN_HIGH, WIN_PASID, WIN_FUNCTION, WIN_CONTROL };
#define WIN_READ            BIT(31)
#define WIN_WRITE           BIT(30)
#define WIN_ERROR           BIT(29)
#define WIN_PAGES           0x03ffffff

/* Translates @addr to a bus address; reduces *@len to the end of the window. */
static bool window(ErnicPci *d, uint64_t addr, uint64_t *bus, uint64_t *len,
                   bool write)
{
    uint32_t *w = &d->shell.regs[(addr >> WINDOW_SHIFT) % ERNIC_SHELL_WINDOWS *
                               ERNIC_SHELL_WINDOW_WORDS];
    uint64_t at = addr & MAKE_64BIT_MASK(0, WINDOW_SHIFT);
    uint32_t control = qatomic_read(&w[WIN_CONTROL]);
    uint64_t size = (uint64_t)(control & WIN_PAGES) << 12;

    size = MIN(size, 1ull << WINDOW_SHIFT);
    if (!(control & (write ? WIN_WRITE : WIN_READ)) || at >= size) {
        qatomic_or(&w[WIN_CONTROL], WIN_ERROR);
        trace_ernic_guest_no_window(ernic_pci_id(d), addr, write);
        ernic_pci_guest_error(d, "no window to %s 0x%" PRIx64,
                              write ? "write" : "read", addr);
        return false;
    }
    *bus = (((uint64_t)qatomic_read(&w[WIN_HIGH]) << 32) |
            qatomic_read(&w[WIN_LOW])) + at;
    *len = MIN(*len, size - at);
    return true;
}

bool ernic_pci_shell_dma(ErnicPci *self, uint64_t addr, void *buf, uint64_t len,
                         bool write)
{
    ErnicPci *d = ernic_pci_first(self);
    uint64_t bus, n, done;

    if (self->shell.parted) {
        return false;
    }
    if (d->shell.card_size && addr >> ERNIC_CARD_TAG_SHIFT == ERNIC_CARD_TAG) {
        return ernic_pci_card_rw(d, addr & MAKE_64BIT_MASK(0, ERNIC_CARD_TAG_SHIFT), buf,
                                 len, write);
    }
    if (!ernic_pci_shell_row(d)->qdma) {
        return ernic_pci_dma(d, addr, buf, len, write);
    }
    for (done = 0; done < len; done += n) {
        n = len - done;
        if (!window(d, addr + done, &bus, &n, write) ||
            !ernic_pci_dma(d, bus, (uint8_t *)buf + done, n, write)) {
            return false;
        }
    }
    return true;
}
