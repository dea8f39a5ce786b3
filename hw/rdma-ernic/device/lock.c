/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Around calls into an engine: the lock, the wake-up timer and the interrupts.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "device/clock.h"
#include "device/irq.h"
#include "device/irqfd.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/mutex.h"
#include "hw/rdma-ernic/trace.h"

uint64_t ernic_pci_enter(ErnicPci *d)
{
    ernic_pci_lock(d);
    return ernic_pci_now();
}

/*
 * @at: UINT64_MAX: no timer is needed. Setting it wakes the thread whose timer it is, if
 * another one does so: nothing is done for the same time again.
 */
static void set_timer(ErnicPci *d, uint64_t at)
{
    if (at == d->timer_at) {
        return;
    }
    d->timer_at = at;
    trace_ernic_pci_timer(ernic_pci_id(d), at);
    if (at == UINT64_MAX) {
        timer_del(&d->timer);
    } else {
        timer_mod_ns(&d->timer, MIN(at, (uint64_t)INT64_MAX));
    }
}

/*
 * Arms the timer here, once for all changes made with the lock held. @ran: the device's
 * work has just run.
 */
static void leave(ErnicPci *d, bool ran)
{
    uint64_t wake = ernic_pci_links_wait(d) ? 0 : MIN(d->wake, d->pg332.wake);

    if (!ernic_pci_working(d) || wake == UINT64_MAX) {
        set_timer(d, UINT64_MAX);
    } else if (wake <= ernic_pci_now()) {
        if (ran) {
            ernic_pci_continue(d, &d->kick, d->bh);
        } else if (!timer_pending(&d->kick)) {
            ernic_pci_kick(d);
        }
    } else {
        set_timer(d, wake);
    }
    if (!ran && d->card->unsent(d)) {
        ernic_pci_kick(d);
    }
    ernic_pci_links_changed(d);
    ernic_pci_irqfd_raise(d);
    ernic_pci_unlock(d);
    if (ernic_pci_irq_at_once(d) && ernic_pci_working(d)) {
        ernic_pci_guarded(d, ernic_pci_send_irqs);
    }
}

void ernic_pci_leave(ErnicPci *d)
{
    leave(d, false);
}

void ernic_pci_leave_run(ErnicPci *d)
{
    leave(d, true);
}
