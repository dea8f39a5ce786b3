/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Time of the device: the virtual clock, and bottom halves or timers that do its work.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "compat/qemu.h"
#include "device/clock.h"

/* -icount: runs at one virtual time, and the time from then on until the next run. */
#define RUNS_AT_ONE_TIME    8
#define RUNS_NS             100000

uint64_t ernic_pci_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/*
 * With the timing model or under -icount, nothing may depend on when the main loop
 * runs. Timers do the work, because -icount runs a timer at the instruction where it
 * is due, and MSI-X messages are sent at once.
 */
bool ernic_pci_virtual_time(const ErnicPci *d)
{
    return d->profile || icount_enabled();
}

static uint64_t host_clock(void)
{
    return get_clock();
}

ErnicClock *ernic_pci_clock(const ErnicPci *d)
{
    return ernic_pci_virtual_time(d) ? NULL : host_clock;
}

/*
 * In virtual time a queue pair fails when its attributes say so: no host is busy there,
 * and the model is compared with hardware. The ERNIC retries as PG332 says.
 */
uint64_t ernic_pci_retry_time(const ErnicPci *d, bool pg332)
{
    bool on = d->adaptive == ON_OFF_AUTO_AUTO ? !pg332 && !ernic_pci_virtual_time(d) :
              d->adaptive == ON_OFF_AUTO_ON;

    return on ? (uint64_t)d->retry_time * SCALE_MS : 0;
}

void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    if (ernic_pci_gone(d)) {
        return;                 /* timers and bottom halves no longer exist */
    }
    if (ernic_pci_virtual_time(d)) {
        timer_mod_ns(timer, ernic_pci_now());
    } else {
        qemu_bh_schedule(bh);
    }
}

/*
 * Under -icount the virtual time stands still while timers run: a timer that sets itself
 * to the current time runs again at once, and the main loop does nothing else. After
 * some runs at one time the next one is therefore later, so that time passes while work
 * is pending.
 */
void ernic_pci_continue(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    int64_t now = ernic_pci_now();

    if (ernic_pci_gone(d)) {
        return;
    }
    if (!ernic_pci_virtual_time(d)) {
        qemu_bh_schedule(bh);
        return;
    }
    if (timer_pending(timer)) {
        return;
    }
    d->runs_here = d->ran_at == now ? d->runs_here + 1 : 0;
    d->ran_at = now;
    if (icount_enabled() && d->runs_here >= RUNS_AT_ONE_TIME) {
        now += RUNS_NS;
    }
    timer_mod_ns(timer, now);
}

void ernic_pci_kick(ErnicPci *d)
{
    ernic_pci_schedule(d, &d->kick, d->bh);
}

void ernic_pci_in_context(ErnicPci *d, QEMUBHFunc *work)
{
    if (d->thread) {
        work(d);
    } else {
        ernic_pci_guarded(d, work);
    }
}

void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work)
{
    MemReentrancyGuard *guard = &DEVICE(d)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    guard->engaged_in_io = true;
    work(d);
    guard->engaged_in_io = engaged;
}
