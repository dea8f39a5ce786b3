/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stop and start of the machine, and power states of the function.
 */
#include "qemu/osdep.h"
#include "system/runstate.h"
#include "bars/user_logic.h"
#include "device/card.h"
#include "device/clock.h"
#include "device/irq.h"
#include "device/irqfd.h"
#include "device/life.h"
#include "device/link.h"
#include "device/lock.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "net/transmit.h"
#include "pci/migration.h"
#include "pci/power.h"
#include "pci/timing.h"
#include "pci/work.h"
#include "hw/rdma-ernic/trace.h"

bool ernic_pci_is_master(const PCIDevice *pci)
{
    return pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

/* Looks at records for the last time. */
static void end_polling(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_poll(d->engine, ernic_pci_now(), false);
}

void ernic_pci_set_working(ErnicPci *d, bool working)
{
    uint64_t now = ernic_pci_enter(d);

    ernic_pci_life_set(d, working ? ERNIC_PCI_WORKING : ERNIC_PCI_STOPPED);
    ernic_pci_links_update(d);
    if (working) {
        ernic_pages_hold(d->engine, now, !ernic_pci_is_master(PCI_DEVICE(d)));
        ernic_pages_rung(d->engine, now);       /* meanwhile, or before a migration */
        d->wake = now;
        d->pg332.wake = d->pg332.engine ? now : UINT64_MAX;
    }
    if (!working) {
        ernic_pci_guarded(d, end_polling);
        ernic_pci_timing_flush(d);
    }
    ernic_pci_leave(d);
    ernic_pci_irqfd_update(d);
    if (working) {
        ernic_pci_irqs_later(d);        /* those of D3hot */
        ernic_pci_netdev_report_link(d);
        ernic_pci_netq_kick(d);
        ernic_pci_eth_kick(d);
        ernic_pci_card_kick(d);
        ernic_pci_user_logic_kick(d);
    } else {
        ernic_pci_drain(d);
        if (!ernic_pci_powered(d)) {
            /* Frames that waited for room are lost, and do not block their link. */
            ernic_pci_netdev_resume(d);
        }
    }
}

void ernic_pci_vm_changed(void *opaque, bool running, RunState state)
{
    ErnicPci *d = opaque;

    d->net.started = running;
    if (ernic_pci_exists(d)) {
        if (running) {
            ernic_pci_forget_half(d);
        }
        ernic_pci_set_working(d, running && ernic_pci_powered(d));
    }
}

/*
 * In D3hot the function accesses no memory, raises no interrupt and receives no
 * packet; it keeps its state, and the doorbells and commands that it has not executed.
 */
static void update_power(ErnicPci *d)
{
    bool powered = ernic_pci_powered(d);

    if (!ernic_pci_exists(d) || !runstate_is_running() ||
        ernic_pci_working(d) == powered) {
        return;
    }
    trace_ernic_pci_power(ernic_pci_id(d), powered);
    ernic_pci_set_working(d, powered);
}

void ernic_pci_update_power(ErnicPci *d)
{
    ErnicPci *part;

    update_power(d);
    part = ernic_pci_hidden_part(d);
    if (part) {
        update_power(part);
    }
}

void ernic_pci_resume_irqs(ErnicPci *d)
{
    ErnicPci *part = ernic_pci_hidden_part(d);

    ernic_pci_irqs_resume(d);
    if (part) {
        ernic_pci_irqs_resume(part);
    }
}
