/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lock of the device. A thread that waits for it gets it before one that has just
 * released it.
 */
#ifndef ERNIC_DEVICE_MUTEX_H
#define ERNIC_DEVICE_MUTEX_H

#include "device/device.h"

/*
 * The engine releases the lock after each slice and takes it again at once, before a
 * thread that waits for it has woken. Such a thread may hold the BQL: it is the next.
 * Use these around changes that need the lock and no call into an engine.
 */
static inline void ernic_pci_lock(ErnicPci *d)
{
    qemu_mutex_lock(&d->next);
    qemu_mutex_lock(&d->lock);
    qemu_mutex_unlock(&d->next);
    qemu_thread_get_self(&d->holder);
    d->held = true;
}

/* The same if no thread has the lock, or waits for it. */
static inline bool ernic_pci_trylock(ErnicPci *d)
{
    bool locked;

    if (qemu_mutex_trylock(&d->next)) {
        return false;
    }
    locked = !qemu_mutex_trylock(&d->lock);
    qemu_mutex_unlock(&d->next);
    if (locked) {
        qemu_thread_get_self(&d->holder);
        d->held = true;
    }
    return locked;
}

static inline void ernic_pci_unlock(ErnicPci *d)
{
    d->held = false;
    qemu_mutex_unlock(&d->lock);
}

/* Whether this thread holds the lock. */
static inline bool ernic_pci_locked(const ErnicPci *d)
{
    return d->held && qemu_thread_is_self((QemuThread *)&d->holder);
}

/*
 * Whether the BQL's thread is in the engine. An IOMMU, with which the engine has no
 * thread of its own, reports a fault of its access to memory of any kind: what the guest
 * does to the function may come from there. QEMU refuses accesses to registers then;
 * other calls look here.
 */
static inline bool ernic_pci_inside(const ErnicPci *d)
{
    return !d->thread && ernic_pci_locked(d);
}

/* The same for any engine of the card. */
static inline bool ernic_pci_inside_card(const ErnicPci *d)
{
    const ErnicPci *first = ernic_pci_first(d), *second = first->shell.second;

    return ernic_pci_inside(d) || ernic_pci_inside(first) ||
           (second && ernic_pci_inside(second));
}

#endif /* ERNIC_DEVICE_MUTEX_H */
