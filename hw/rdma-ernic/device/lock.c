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

uint64_t ernic_pci_enter(ErnicPci *d)
{
    ernic_pci_lock(d);
    return ernic_pci_now();
}

/*
 * Arms the timer here, once for all changes made with the lock held. @ran: the device's
 * work has just run.
 */
static void leave(ErnicPci *d, bool ran)
{
    uint64_t wake = ernic_pci_links_wait(d) ? 0 : MIN(d->wake, d->pg332.wake);

    if (!ernic_pci_working(d) || wake == UINT64_MAX) {
        timer_del(&d->timer);
    } else if (wake <= ernic_pci_now()) {
        if (ran) {
            ernic_pci_continue(d, &d->kick, d->bh);
        } else if (!timer_pending(&d->kick)) {
            ernic_pci_kick(d);
        }
    } else {
        timer_mod_ns(&d->timer, MIN(wake, (uint64_t)INT64_MAX));
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
