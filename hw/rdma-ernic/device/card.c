/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory of the card that PG332 and its shell are on.
 */
#include "qemu/osdep.h"
#include "device/card.h"
#include "hw/rdma-ernic/trace.h"

bool ernic_pci_card_rw(ErnicPci *d, uint64_t at, void *buf, uint64_t len, bool write)
{
    uint8_t *card;

    if (at > d->shell.card_size || len > d->shell.card_size - at) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), at, len, write);
        return false;
    }
    card = (uint8_t *)memory_region_get_ram_ptr(&d->shell.card) + at;
    smp_mb();                   /* keep accesses in the order of the calls */
    memcpy(write ? card : buf, write ? buf : card, len);
    if (write && len) {
        memory_region_set_dirty(&d->shell.card, at, len);
    }
    return true;
}
