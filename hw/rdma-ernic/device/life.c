/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of the device: its states, the handlers of a device that is gone, and the
 * reference that keeps it until nobody uses it.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "device/device.h"
#include "device/life.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

static const char *const names[ERNIC_PCI_LIVES] = {
    [ERNIC_PCI_UNREALIZED] = "unrealized",
    [ERNIC_PCI_STOPPED] = "stopped",
    [ERNIC_PCI_WORKING] = "working",
    [ERNIC_PCI_GONE] = "gone",
};

/* The states that may follow each state, as bits. */
static const uint8_t after[ERNIC_PCI_LIVES] = {
    [ERNIC_PCI_UNREALIZED] = BIT(ERNIC_PCI_STOPPED),
    [ERNIC_PCI_STOPPED] = BIT(ERNIC_PCI_STOPPED) | BIT(ERNIC_PCI_WORKING) |
                          BIT(ERNIC_PCI_GONE),
    [ERNIC_PCI_WORKING] = BIT(ERNIC_PCI_STOPPED) | BIT(ERNIC_PCI_WORKING) |
                          BIT(ERNIC_PCI_GONE),
    [ERNIC_PCI_GONE] = 0,
};

void ernic_pci_life_set(ErnicPci *d, ErnicPciLife life)
{
    ErnicPciLife was = ernic_pci_life(d);

    assert(bql_locked());
    assert(ernic_pci_locked(d));
    if (!(after[was] & BIT(life))) {
        return;                 /* GONE is the end */
    }
    if (was != life) {
        trace_ernic_pci_life(ernic_pci_id(d), names[was], names[life]);
    }
    qatomic_set(&d->life, life);
}

bool ernic_pci_powered(const ErnicPci *d)
{
    const ErnicPci *function = ernic_pci_function(d);
    const PCIDevice *pci = &function->parent_obj;

    return !ernic_pci_gone(d) && !ernic_pci_gone(function) &&
           !(pci_get_word(pci->config + pci->pm_cap + PCI_PM_CTRL) &
             PCI_PM_CTRL_STATE_MASK);
}

/* ---- a device that is gone ------------------------------------------------ */

static uint64_t gone_read(void *opaque, hwaddr off, unsigned size)
{
    MemoryRegion *mr = opaque;

    trace_ernic_pci_gone_read(memory_region_name(mr), off, size);
    return UINT64_MAX;
}

static void gone_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    MemoryRegion *mr = opaque;

    trace_ernic_pci_gone_write(memory_region_name(mr), off, size, value);
}

static const MemoryRegionOps gone_ops = {
    .read = gone_read,
    .write = gone_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

void ernic_pci_life_detach(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    MemoryRegion *handled[] = {
        &d->bar, &d->msix_bar, &d->pg332.bar,
        &pci->msix_table_mmio, &pci->msix_pba_mmio,
    };
    MemoryRegion *inner[] = { &d->mem, &d->pg332.bar, &d->shell.card };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(handled); i++) {
        if (handled[i]->terminates) {           /* neither a container nor unused */
            handled[i]->opaque = handled[i];
            handled[i]->ops = &gone_ops;
        }
    }
    for (i = 0; i < ARRAY_SIZE(inner); i++) {
        if (inner[i]->container) {
            memory_region_del_subregion(inner[i]->container, inner[i]);
        }
    }
}

/* ---- the last reference --------------------------------------------------- */

typedef struct Keep {
    struct rcu_head rcu;
    Object *obj;
} Keep;

static void drop(Keep *keep)
{
    object_unref(keep->obj);
    g_free(keep);
}

void ernic_pci_life_keep(ErnicPci *d)
{
    Keep *keep = g_new0(Keep, 1);

    keep->obj = object_ref(OBJECT(d));
    call_rcu(keep, drop, rcu);
}
