/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Device memory: RAM that follows the doorbell pages in the register BAR. The
 * engine has its own addresses for it, independent of the BAR's address.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "device/device.h"
#include "device/memory.h"
#include "hw/rdma-ernic/trace.h"

/* Guests map device memory in pages of this size. */
#define MEM_PAGE    (4 * KiB)
#define MEM_MAX     (1 * GiB)

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

void ernic_pci_mem_start(ErnicPci *d, uint64_t offset)
{
    if (d->mem_size) {
        memory_region_add_subregion(&d->bar, offset, &d->mem);
    }
}

/*
 * RAM blocks are freed with the device, but their names have to be free before: another
 * device may be plugged into this slot.
 */
void ernic_pci_mem_close(ErnicPci *d)
{
    MemoryRegion *ram[] = { &d->mem, &d->shell.card };

    for (size_t i = 0; i < ARRAY_SIZE(ram); i++) {
        if (ram[i]->ram_block) {
            vmstate_unregister_ram(ram[i], DEVICE(d));
        }
    }
}

/* The host address; NULL if the range exceeds device memory. */
static uint8_t *mem_at(ErnicPci *d, uint64_t addr, uint64_t len)
{
    uint64_t off = addr - ERNIC_ADDR_MEMORY;

    if (off > d->mem_size || len > d->mem_size - off) {
        trace_ernic_pci_mem_failed(ernic_pci_id(d), off, len);
        return NULL;
    }
    return (uint8_t *)memory_region_get_ram_ptr(&d->mem) + off;
}

void ernic_pci_mem_dirty(ErnicPci *d, uint64_t addr, uint64_t len)
{
    memory_region_set_dirty(&d->mem, addr - ERNIC_ADDR_MEMORY, len);
}

bool ernic_pci_mem_rw(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                      bool write)
{
    uint8_t *at = mem_at(d, addr, len);

    if (!at) {
        return false;
    }
    smp_mb();                   /* keep accesses in the order of the calls */
    if (write) {
        memcpy(at, buf, len);
        ernic_pci_mem_dirty(d, addr, len);
    } else {
        memcpy(buf, at, len);
    }
    return true;
}

uint64_t *ernic_pci_mem_word(ErnicPci *d, uint64_t addr)
{
    return (uint64_t *)mem_at(d, addr, sizeof(uint64_t));
}
