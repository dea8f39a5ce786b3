/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device's own memory: RAM behind the doorbell pages of BAR 2, which the
 * engine reaches by addresses of its own, whatever the BAR is set to.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "pci/device.h"
#include "pci/memory.h"
#include "hw/rdma-ernic/trace.h"

/* What guests map it in. */
#define MEM_PAGE    (4 * KiB)
#define MEM_MAX     (1 * GiB)

/* Right behind the other parts of the BAR, which stays small enough to hot-plug. */
uint64_t ernic_pci_mem_offset(const ErnicPci *d)
{
    return d->mem_size ? ernic_pci_regs_size(d) : 0;
}

bool ernic_pci_mem_open(ErnicPci *d, Error **errp)
{
    if (d->mem_size > MEM_MAX || d->mem_size % MEM_PAGE) {
        error_setg(errp, "device-memory is %" PRIu64 ", not a multiple of %u"
                   " up to %" PRIu64, d->mem_size, (unsigned)MEM_PAGE,
                   (uint64_t)MEM_MAX);
        return false;
    }
    return !d->mem_size ||
           memory_region_init_ram(&d->mem, OBJECT(d), "ernic-memory",
                                  d->mem_size, errp);
}

/* Into the BAR, which exists. */
void ernic_pci_mem_start(ErnicPci *d)
{
    if (d->mem_size) {
        memory_region_add_subregion(&d->bar, ernic_pci_mem_offset(d), &d->mem);
    }
}

/*
 * The BAR, if this identity has one, would keep the device alive by it; its
 * block is free when RCU is, and the name of that has to be before: another
 * device may come to this slot at once.
 */
void ernic_pci_mem_close(ErnicPci *d)
{
    if (d->mem_size) {
        if (memory_region_is_mapped(&d->mem)) {
            memory_region_del_subregion(&d->bar, &d->mem);
        }
        vmstate_unregister_ram(&d->mem, DEVICE(d));
    }
}

/* NULL: not all of it is there. */
static uint8_t *mem_at(ErnicPci *d, uint64_t addr, uint64_t len)
{
    uint64_t off = addr - ERNIC_ADDR_MEMORY;

    if (off > d->mem_size || len > d->mem_size - off) {
        trace_ernic_pci_mem_failed(ernic_pci_id(d), off, len);
        return NULL;
    }
    return (uint8_t *)memory_region_get_ram_ptr(&d->mem) + off;
}

bool ernic_pci_mem_rw(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                      bool write)
{
    uint8_t *at = mem_at(d, addr, len);

    if (!at) {
        return false;
    }
    smp_mb();                   /* in the order of the calls */
    if (write) {
        memcpy(at, buf, len);
        memory_region_set_dirty(&d->mem, addr - ERNIC_ADDR_MEMORY, len);
    } else {
        memcpy(buf, at, len);
    }
    return true;
}

uint64_t *ernic_pci_mem_word(ErnicPci *d, uint64_t addr)
{
    uint64_t *word = (uint64_t *)mem_at(d, addr, sizeof(*word));

    if (word) {
        memory_region_set_dirty(&d->mem, addr - ERNIC_ADDR_MEMORY,
                                sizeof(*word));
    }
    return word;
}
