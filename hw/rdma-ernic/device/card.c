/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The card that PG332 and its shell are on: its memory, and the worker of its engines.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "device/card.h"
#include "device/clock.h"
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

/* ---- engines --------------------------------------------------------------------- */

static void run_by_timer(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_pci_guarded(d, d->shell.worker.run);
}

void ernic_pci_card_open(ErnicPci *d, QEMUBHFunc *run, QEMUTimerCB *delay)
{
    ErnicShellWorker *w = &d->shell.worker;

    w->run = run;
    w->bh = qemu_bh_new_guarded(run, d, &DEVICE(d)->mem_reentrancy_guard);
    timer_init_ns(&w->kick, QEMU_CLOCK_VIRTUAL, run_by_timer, d);
    timer_init_ns(&w->paced, QEMU_CLOCK_VIRTUAL, run_by_timer, d);
    timer_init_ns(&w->delay, QEMU_CLOCK_VIRTUAL, delay ?: run_by_timer, d);
}

void ernic_pci_card_stop(ErnicPci *d)
{
    ErnicShellWorker *w = &d->shell.worker;

    if (w->bh) {
        timer_del(&w->kick);
        timer_del(&w->paced);
        timer_del(&w->delay);
        g_clear_pointer(&w->bh, qemu_bh_delete);
    }
}

void ernic_pci_card_kick(ErnicPci *d)
{
    ErnicShellWorker *w = &ernic_pci_first(d)->shell.worker;

    if (w->bh) {
        ernic_pci_schedule(ernic_pci_first(d), &w->kick, w->bh);
    }
}

void ernic_pci_card_continue(ErnicPci *d)
{
    ernic_pci_continue(d, &d->shell.worker.kick, d->shell.worker.bh);
}
