/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Accesses to guest memory, and to the memory of the device.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "device/dma.h"
#include "device/memory.h"
#include "hw/rdma-ernic/trace.h"

/* Only RAM: an access to a device would need the BQL and is refused. */
#define DMA_ATTRS ((MemTxAttrs) { .memory = 1 })

/*
 * Without the BQL, an access must never reach a device or write to ROM, because
 * the memory core would take the BQL for that. The guest may change the memory
 * layout at any time; only a mapping keeps its meaning. Reduces *@len to what can
 * be mapped at once. NULL: not RAM.
 */
static void *map_ram(ErnicPci *d, uint64_t addr, hwaddr *len, bool write)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(d));
    hwaddr xlat, n = *len;
    ram_addr_t offset;
    void *map;

    if (!memory_access_is_direct(
            address_space_translate(as, addr, &xlat, &n, write, DMA_ATTRS),
            write, DMA_ATTRS)) {
        return NULL;
    }
    map = address_space_map(as, addr, len, write, DMA_ATTRS);
    if (map && !memory_region_from_host(map, &offset)) {
        /* No longer RAM: this is a bounce buffer, which is not written back. */
        address_space_unmap(as, map, *len, write, 0);
        map = NULL;
    }
    return map;
}

static void unmap_ram(ErnicPci *d, void *map, hwaddr len, bool write)
{
    address_space_unmap(pci_get_address_space(PCI_DEVICE(d)), map, len, write,
                        write ? len : 0);
}

static bool copy(ErnicPci *d, uint64_t addr, uint8_t *buf, uint64_t len,
                     bool write)
{
    hwaddr n;
    void *map;

    smp_mb();                   /* keep accesses in the order of the calls */
    for (; len; addr += n, buf += n, len -= n) {
        n = len;
        map = map_ram(d, addr, &n, write);
        if (!map) {
            return false;
        }
        memcpy(write ? map : buf, write ? buf : map, n);
        unmap_ram(d, map, n, write);
    }
    return true;
}

static bool access_ram(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                       bool write)
{
    if (d->thread || !bql_locked()) {   /* the ERNIC of a second port may have a thread */
        return copy(d, addr, buf, len, write);
    }
    return pci_dma_rw(PCI_DEVICE(d), addr, buf, len,
                      write ? DMA_DIRECTION_FROM_DEVICE
                            : DMA_DIRECTION_TO_DEVICE, DMA_ATTRS) == MEMTX_OK;
}

bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write)
{
    RCU_READ_LOCK_GUARD();

    if (ernic_pci_gone(d)) {
        return false;           /* it has no address space any more */
    }
    if (addr >= ERNIC_ADDR_MEMORY) {
        return ernic_pci_mem_rw(d, addr, buf, len, write);
    }
    if (addr + len < addr || !access_ram(d, addr, buf, len, write)) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), addr, len, write);
        return false;
    }
    return true;
}

static uint64_t atomic_result(ErnicAtomicOp op, uint64_t old, uint64_t arg,
                              uint64_t compare)
{
    if (op == ERNIC_ATOMIC_FETCH_ADD) {
        return old + arg;
    }
    return op == ERNIC_ATOMIC_WRITE || old == compare ? arg : old;
}

/* Works on the host's memory, so that it is atomic for guest processors too. */
static uint64_t atomic_on(uint64_t *word, ErnicAtomicOp op, uint64_t arg,
                          uint64_t compare)
{
    uint64_t seen, was;

    smp_mb();
    was = qatomic_read(word);
    do {
        seen = was;
        was = qatomic_cmpxchg(word, seen,
                              cpu_to_le64(atomic_result(op, le64_to_cpu(seen),
                                                        arg, compare)));
    } while (was != seen);
    return le64_to_cpu(was);
}

bool ernic_pci_dma_atomic(ErnicPci *d, uint64_t addr, ErnicAtomicOp op, uint64_t arg,
                          uint64_t compare, uint64_t *old)
{
    hwaddr len = sizeof(*old);
    uint64_t *word;

    RCU_READ_LOCK_GUARD();
    if (ernic_pci_gone(d)) {
        return false;
    }
    if (addr >= ERNIC_ADDR_MEMORY) {
        word = ernic_pci_mem_word(d, addr);
        if (word) {
            *old = atomic_on(word, op, arg, compare);
            ernic_pci_mem_dirty(d, addr, sizeof(*word));
        }
        return word;
    }
    word = map_ram(d, addr, &len, true);
    if (!word || len < sizeof(*old)) {
        trace_ernic_pci_dma_failed(ernic_pci_id(d), addr, sizeof(*old), true);
        if (word) {
            unmap_ram(d, word, len, true);
        }
        return false;
    }
    *old = atomic_on(word, op, arg, compare);
    unmap_ram(d, word, len, true);
    return true;
}
