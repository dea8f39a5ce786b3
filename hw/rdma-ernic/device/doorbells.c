/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue of doorbells: processors ring, and the device's work executes.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "device/clock.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/lock.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

void ernic_pci_doorbells_drop(ErnicPci *d)
{
    assert(ernic_pci_locked(d));
    qemu_mutex_lock(&d->db_lock);
    qatomic_set(&d->db_count, 0);       /* a processor looks at it without the lock */
    qemu_mutex_unlock(&d->db_lock);
    d->db_pos = d->db_len = 0;
}

/*
 * Processes the current batch, each doorbell after the commands written before it, until
 * the slice ends.
 */
static bool doorbells_read(ErnicPci *d, uint64_t now)
{
    const ErnicDbEntry *db;

    while (d->db_pos < d->db_len) {
        if (!ernic_slice_left(d->engine)) {
            trace_ernic_pci_doorbells_wait(ernic_pci_id(d), d->db_len - d->db_pos);
            return false;
        }
        db = &d->db[!d->db_fill][d->db_pos];
        if (d->interface->commands && !d->interface->commands(d, now, db->cmd_pi)) {
            return false;
        }
        d->interface->doorbell(d, now, db->uctx, db->value);
        d->db_pos++;
    }
    return true;
}

/* Makes the doorbells rung since the last batch the current one. */
static void doorbells_next(ErnicPci *d)
{
    qemu_mutex_lock(&d->db_lock);
    d->db_fill ^= 1;
    d->db_pos = 0;
    d->db_len = d->db_count;
    qatomic_set(&d->db_count, 0);
    qemu_mutex_unlock(&d->db_lock);
}

/* The rest of the last batch, then the doorbells rung since. */
bool ernic_pci_doorbells_run(ErnicPci *d, uint64_t now)
{
    assert(ernic_pci_locked(d));
    if (!doorbells_read(d, now)) {
        return false;
    }
    doorbells_next(d);
    return doorbells_read(d, now);
}

bool ernic_pci_doorbells_wait(const ErnicPci *d)
{
    return d->db_pos < d->db_len || qatomic_load_acquire(&d->db_count);
}

/*
 * The timing model needs the time of the doorbell: the engine takes it at once and
 * delays it by the time of the PCIe transfer. False: earlier commands or doorbells
 * are still pending, so the doorbell has to be queued.
 */
static bool timed_doorbell(ErnicPci *d, uint32_t uctx, uint64_t value)
{
    uint64_t now = ernic_pci_enter(d);
    bool first = ernic_pci_working(d) && d->verbs.cmd_ci == d->verbs.cmd_pi &&
                 !d->db_count && d->db_pos == d->db_len;

    if (first) {
        d->interface->doorbell(d, now, uctx, value);
    }
    ernic_pci_leave(d);
    return first;
}

/*
 * The newer half of the queue is full: the vCPU makes room. It executes the older half
 * and no command, because commands can take long. Those doorbells overtake commands
 * that were written before them (docs/verbs-interface.md). A stopped device executes
 * nothing.
 */
static void doorbells_overtake(ErnicPci *d)
{
    uint64_t now = ernic_pci_enter(d);
    const ErnicDbEntry *db;

    if (ernic_pci_working(d)) {
        trace_ernic_pci_overtake(ernic_pci_id(d), d->db_len - d->db_pos);
        for (; d->db_pos < d->db_len; d->db_pos++) {
            db = &d->db[!d->db_fill][d->db_pos];
            d->interface->doorbell(d, now, db->uctx, db->value);
        }
    }
    if (d->db_pos == d->db_len) {
        doorbells_next(d);
    }
    ernic_pci_leave(d);
}

void ernic_pci_doorbell(ErnicPci *d, uint32_t where, uint64_t value)
{
    ErnicDbEntry db = { where, d->verbs.cmd_pi, value };
    bool queued;

    assert(bql_locked());
    if (d->profile && timed_doorbell(d, where, value)) {
        return;
    }
    if (qatomic_read(&d->db_count) == ERNIC_DB_QUEUE) {
        doorbells_overtake(d);
    }
    qemu_mutex_lock(&d->db_lock);
    queued = d->db_count < ERNIC_DB_QUEUE;
    if (queued) {
        d->db[d->db_fill][d->db_count] = db;
        qatomic_set(&d->db_count, d->db_count + 1);
    }
    qemu_mutex_unlock(&d->db_lock);
    if (!queued) {
        /* No processor runs while the machine is stopped. */
        ernic_guest_not_enabled(d, "doorbell", value);
    }
    if (!d->work_here || !d->work_here(d)) {
        ernic_pci_kick(d);
    }
}
