/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of the device, in its AioContext: doorbells, the engines, received packets.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "compat/qemu.h"
#include "device/clock.h"
#include "device/freeing.h"
#include "device/interface.h"
#include "device/ioeventfd.h"
#include "device/irq.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/polling.h"
#include "device/traffic.h"
#include "net/netdev.h"
#include "net/queues.h"
#include "pci/work.h"
#include "hw/rdma-ernic/trace.h"

/*
 * The machine counts as stopped before its devices learn of it. Meanwhile timers may
 * run, and QEMU would queue the frames that are sent and drop them. The work is done
 * when the machine runs again, at the same virtual time. No device learns of S3, in
 * which memory is not to be written either: a thread of the engine looks here, too.
 */
static void run(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);

    if (!runstate_is_running()) {
        trace_ernic_pci_not_running(ernic_pci_id(d), now);
        ernic_pci_unlock(d);
        return;
    }
    if (ernic_pci_working(d)) {
        ernic_pci_netdev_run(d, now);
        ernic_pci_engines_run(d, now);
        ernic_pci_links_run(d, now);
        ernic_pci_netq_deliver(d, now);
    }
    ernic_pci_rx_slice(d);              /* for frames of the netdev, until the next run */
    ernic_pci_leave_run(d);
    if (!d->thread) {
        ernic_pci_netdev_run_main(d);
    }
}

static void work(void *opaque)
{
    ernic_pci_polling_event(opaque);
    ernic_pci_in_context(opaque, run);
    ernic_pci_polling_idle(opaque);
}

static void timer_work(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_pci_lock(d);
    d->timer_at = UINT64_MAX;
    ernic_pci_unlock(d);
    work(d);
}

/*
 * The work of a doorbell would wait until a thread of the host wakes up: that of the
 * engine, or the main loop, which needs the BQL, too. The vCPU that rings has the BQL
 * already, and begins with it: HERE_UNITS of a doorbell, one doorbell each HERE_NS of
 * other time, and HERE_BURST more. If it posts faster than that, the other thread sends
 * its packets in trains; that of the engine does so, too, while a request waits for its
 * acknowledgement. The main loop would wait for the BQL.
 */
#define HERE_UNITS  64
#define HERE_NS     6000
#define HERE_BURST  8

/*
 * Between a thread of the engine and a netdev, frames wait for the main loop anyway. A
 * thread that polls has to see each doorbell. A capture may wait for a disk, and nothing
 * waits for that with the BQL if a thread can.
 */
static bool vcpus_may_work(const ErnicPci *d)
{
    return !d->thread || (d->link != d->card && !d->polling.max_us &&
                          !ernic_pci_link_option(d, "dump"));
}

static bool may_work_here(ErnicPci *d, uint64_t now)
{
    d->here_until = MAX(d->here_until, now);
    if (d->here_until - now > HERE_BURST * HERE_NS || !ernic_pci_trylock(d)) {
        return false;
    }
    if (d->thread && ernic_unacked(d->engine)) {
        ernic_pci_unlock(d);
        return false;
    }
    return true;
}

static bool work_here(ErnicPci *d)
{
    uint64_t start, now, took;

    /* Frames that wait for the netdev's next run would be delivered here, too. */
    if (ernic_pci_virtual_time(d) || d->net.rx_full) {
        return false;
    }
    start = get_clock();
    if (!may_work_here(d, start)) {
        return false;
    }
    now = ernic_pci_now();
    trace_ernic_pci_work_here(ernic_pci_id(d));
    if (ernic_pci_working(d) && runstate_is_running()) {
        ernic_slice_of(d->engine, HERE_UNITS);
        d->interface->run(d, now);
        ernic_run_within(d->engine, now);
    }
    ernic_pci_rx_slice(d);
    ernic_pci_leave_run(d);
    if (!d->thread) {
        ernic_pci_netdev_run_main(d);
    }
    took = get_clock() - start;
    /* Beside a thread, the main loop has other work: it gets the BQL for as long. */
    d->here_until += HERE_NS + (d->thread ? 2 * took : took);
    return true;
}

/* ---- life ----------------------------------------------------------------- */

static void drained(void *opaque)
{
}

void ernic_pci_drain(ErnicPci *d)
{
    assert(bql_locked());
    if (d->thread) {
        aio_wait_bh_oneshot(d->ctx, drained, d);
    }
    ernic_pci_guarded(d, ernic_pci_send_irqs);
}

static void open_context(ErnicPci *d)
{
    if (d->thread) {
        object_ref(OBJECT(d->thread));
        d->ctx = d->fd_ctx = iothread_get_aio_context(d->thread);
        aio_timer_init(d->ctx, &d->timer, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                       timer_work, d);
        aio_timer_init(d->ctx, &d->kick, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                       work, d);
    } else {
        d->ctx = qemu_get_aio_context();
        d->fd_ctx = iohandler_get_aio_context();
        timer_init_ns(&d->timer, QEMU_CLOCK_VIRTUAL, timer_work, d);
        timer_init_ns(&d->kick, QEMU_CLOCK_VIRTUAL, work, d);
    }
    d->timer_at = UINT64_MAX;
    d->bh = aio_bh_new(d->ctx, work, d);
    d->work_here = vcpus_may_work(d) ? work_here : NULL;
    ernic_pci_freeing_wakes(d, d->bh);
    ernic_pci_polling_open(d);
}

static void close_context(ErnicPci *d)
{
    ernic_pci_polling_close(d);
    timer_del(&d->timer);
    timer_del(&d->kick);
    ernic_pci_freeing_wakes(d, NULL);
    g_clear_pointer(&d->bh, qemu_bh_delete);
    ernic_pci_drain(d);
}

void ernic_pci_work_init(ErnicPci *d)
{
    qemu_mutex_init(&d->next);
    qemu_mutex_init(&d->lock);
    qemu_mutex_init(&d->db_lock);
    d->wake = d->pg332.wake = UINT64_MAX;
    ernic_pci_freeing_open(d);
    open_context(d);
    ernic_pci_irq_init(d);
    ernic_pci_ioeventfd_init(d);
}

void ernic_pci_work_to_main(ErnicPci *d)
{
    IOThread *thread = d->thread;

    close_context(d);
    d->thread = NULL;
    open_context(d);
    object_unref(OBJECT(thread));
}

void ernic_pci_work_stop(ErnicPci *d)
{
    ernic_pci_ioeventfd_stop(d);
    close_context(d);
    ernic_pci_irq_stop(d);
}

void ernic_pci_work_fini(ErnicPci *d)
{
    if (d->thread) {
        object_unref(OBJECT(d->thread));
    }
    ernic_pci_freeing_close(d);
    qemu_mutex_destroy(&d->next);
    qemu_mutex_destroy(&d->lock);
    qemu_mutex_destroy(&d->db_lock);
}
