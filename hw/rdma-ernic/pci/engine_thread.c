/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The choice of the thread that runs the engines. Runs that have to be repeatable need
 * the main loop. So does a function behind an IOMMU: a translation may fail, and then the
 * IOMMU raises an interrupt, which needs the BQL.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "system/replay.h"
#include "system/system.h"
#include "compat/qemu.h"
#include "pci/engine_thread.h"
#include "pci/work.h"

/* A region that translates may be switched off until the guest asks for it. */
static bool translates(MemoryRegion *mr)
{
    MemoryRegion *sub;

    if (memory_region_is_iommu(mr)) {
        return true;
    }
    QTAILQ_FOREACH(sub, &mr->subregions, subregions_link) {
        if (translates(sub)) {
            return true;
        }
    }
    return false;
}

/* A vfio-user server gives each device an address space, too, but of RAM alone. */
static bool behind_iommu(ErnicPci *d)
{
    AddressSpace *as = pci_device_iommu_address_space(PCI_DEVICE(d));

    return as != &address_space_memory && translates(as->root);
}

/* Why runs have to be repeatable; NULL: they need not be. */
static const char *repeatable(const ErnicPci *d)
{
    return icount_enabled() ? "-icount" :
           replay_mode != REPLAY_MODE_NONE ? "record and replay" :
           d->timing ? "timing=on" : NULL;
}

/* Why the engine cannot have a thread; NULL: it can. */
static const char *obstacle(ErnicPci *d)
{
    if (repeatable(d)) {
        return repeatable(d);
    }
    if (d->net.wire && (d->cfg.mlx5 || d->link == d->card)) {
        return "wire=";         /* RoCE's only link */
    }
    if (behind_iommu(d)) {
        return "an IOMMU";
    }
    return NULL;
}

/*
 * A netdev belongs to the main loop: with an engine in a thread, each burst of frames
 * would need two more wake-ups.
 */
static bool is_better_without(const ErnicPci *d)
{
    return d->link == d->card && d->net.conf.peers.ncs[0];
}

/* The property that asks for a thread; NULL: the device may choose. */
static const char *request(const ErnicPci *d)
{
    return d->iothread ? "iothread=" :
           d->engine_thread == ON_OFF_AUTO_ON ? "engine-thread=on" : NULL;
}

/* Makes the device a thread of its own; false: an error. */
static bool make_thread(ErnicPci *d, Error **errp)
{
    static unsigned count;
    g_autofree char *name = g_strdup_printf("ernic%u", count++);

    d->own_thread = d->thread = iothread_create(name, errp);
    return d->thread;
}

bool ernic_pci_engine_thread_open(ErnicPci *d, Error **errp)
{
    const char *why = obstacle(d), *asked = request(d);

    if (d->iothread && d->engine_thread == ON_OFF_AUTO_OFF) {
        error_setg(errp, "iothread= and engine-thread=off exclude each other");
        return false;
    }
    if (d->ioeventfd == ON_OFF_AUTO_ON && repeatable(d)) {
        error_setg(errp, "ioeventfd=on and %s exclude each other", repeatable(d));
        return false;
    }
    if (asked && why) {
        error_setg(errp, "%s and %s exclude each other", asked, why);
        return false;
    }
    d->thread = d->iothread;
    if (!d->thread && d->engine_thread != ON_OFF_AUTO_OFF && !why &&
        (asked || !is_better_without(d))) {
        return make_thread(d, errp);
    }
    if (!d->thread && d->polling.max_us) {
        warn_report("ernic %s: engine-poll-us has no effect without a thread",
                    ernic_pci_id(d));
    }
    return true;
}

/*
 * All devices of the command line exist: an IOMMU, too. Nothing has run yet, so the
 * engine can still move.
 */
static void machine_done(Notifier *n, void *unused)
{
    ErnicPci *d = container_of(n, ErnicPci, machine_done);

    if (!d->thread || !behind_iommu(d)) {
        return;
    }
    if (request(d) || d->polling.max_us) {
        warn_report("ernic %s: %s has no effect behind an IOMMU", ernic_pci_id(d),
                    request(d) ?: "engine-poll-us=");
    }
    ernic_pci_work_to_main(d);
    ernic_pci_engine_thread_close(d);
}

void ernic_pci_engine_thread_start(ErnicPci *d)
{
    d->machine_done.notify = machine_done;
    qemu_add_machine_init_done_notifier(&d->machine_done);
}

void ernic_pci_engine_thread_stop(ErnicPci *d)
{
    qemu_remove_machine_init_done_notifier(&d->machine_done);
}

void ernic_pci_engine_thread_close(ErnicPci *d)
{
    d->thread = NULL;
    if (d->own_thread) {
        iothread_destroy(d->own_thread);
        d->own_thread = NULL;
    }
}
