/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Polling of the engine's thread. After its work, a bottom half that schedules itself
 * keeps the thread's event loop from sleeping. The loop looks at all descriptors in each
 * turn, and the bottom half at the memory of the link and at records of queues.
 *
 * A thread that polls on a busy processor takes the time of the thread that it waits for.
 * So it offers its processor in each turn, and if others have taken it for long, polling
 * pauses.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include <time.h>
#include "qemu/event_notifier.h"
#include "qemu/main-loop.h"
#include "compat/qemu.h"
#include "device/clock.h"
#include "device/link.h"
#include "device/mutex.h"
#include "device/polling.h"
#include "hw/rdma-ernic/trace.h"

/* The first window that is not 0; ns, as all times here. */
#define WINDOW_MIN      4000
/* Others may take so much of the processor while the thread polls, or half of it. */
#define BUSY            20000
#define PAUSE_MIN       SCALE_MS
#define PAUSE_MAX       NANOSECONDS_PER_SECOND

/* The time for which this thread has had a processor. */
static int64_t used(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NANOSECONDS_PER_SECOND + t.tv_nsec;
}

/*
 * As QEMU's iothreads do: the window grows while events come sooner than the greatest
 * window, and closes when one does not.
 */
static void adapt(ErnicPolling *p, int64_t idle)
{
    int64_t most = p->max_us * SCALE_US;

    if (idle > most) {
        p->window = 0;
    } else if (idle > p->window) {
        p->window = MIN(MAX(2 * p->window, WINDOW_MIN), most);
    }
}

/* Each pause is twice as long, unless the last one is over for as long as it was. */
static void pause_polling(ErnicPci *d, int64_t now)
{
    ErnicPolling *p = &d->polling;
    bool again = now - p->paused_until < p->pause;

    p->pause = again ? MIN(2 * p->pause, PAUSE_MAX) : PAUSE_MIN;
    p->paused_until = now + p->pause;
    trace_ernic_pci_poll_pause(ernic_pci_id(d), p->pause);
}

/*
 * Looks at the link and at records, and releases the lock. Whether there is something for
 * the device's work, which is then scheduled. A machine that has stopped does it later.
 * The work arms the timer.
 */
static bool look_locked(ErnicPci *d)
{
    bool on = d->polling.on && ernic_pci_working(d), posted;
    bool found = d->link->poll && d->link->poll(d);

    ernic_slice(d->engine);
    posted = ernic_poll(d->engine, ernic_pci_now(), on);
    if (found || posted) {
        qemu_bh_schedule(d->bh);
    }
    ernic_pci_unlock(d);
    return found || posted;
}

/* A thread that has the lock may schedule the work itself. The next turn looks, too. */
static void look(ErnicPci *d)
{
    if (ernic_pci_trylock(d)) {
        look_locked(d);
    }
}

static void begin(ErnicPci *d)
{
    trace_ernic_pci_poll(ernic_pci_id(d), true);
    d->polling.on = true;
    qemu_bh_schedule(d->polling.bh);
}

/*
 * The work that the last look schedules is no event: peers and software are asked to wake
 * the thread up.
 */
static void end(ErnicPci *d)
{
    trace_ernic_pci_poll(ernic_pci_id(d), false);
    ernic_pci_lock(d);
    d->polling.on = false;
    d->polling.ended = look_locked(d);
}

/* False: it is time to sleep. */
static bool wait_a_turn(ErnicPci *d)
{
    ErnicPolling *p = &d->polling;
    int64_t now = get_clock(), taken;

    if (now >= p->until || !ernic_pci_working(d)) {
        return false;
    }
    sched_yield();
    now = get_clock();
    taken = now - p->idle_at - (used() - p->idle_used);
    if (taken > MAX(BUSY, (now - p->idle_at) / 2)) {
        pause_polling(d, now);
        return false;
    }
    return true;
}

/* One turn without work may have come just before the work of the same turn. */
static void turn(void *opaque)
{
    ErnicPci *d = opaque;

    look(d);
    if (d->polling.turns++ == 0 || wait_a_turn(d)) {
        qemu_bh_schedule(d->polling.bh);
    } else {
        end(d);
    }
}

void ernic_pci_polling_event(ErnicPci *d)
{
    ErnicPolling *p = &d->polling;

    if (p->bh && !p->ended) {
        adapt(p, get_clock() - p->idle_at);
    }
}

void ernic_pci_polling_idle(ErnicPci *d)
{
    ErnicPolling *p = &d->polling;

    if (!p->bh) {
        return;
    }
    if (p->ended) {
        p->ended = false;
        return;
    }
    p->idle_at = get_clock();
    p->idle_used = used();
    p->until = p->idle_at + p->window;
    p->turns = 0;
    if (!p->on && p->window && p->idle_at >= p->paused_until) {
        begin(d);
    }
}

/* ---- life ------------------------------------------------------------------- */

static void never(EventNotifier *notifier)
{
}

/*
 * The notifier is never signalled. QEMU looks at no descriptor without waiting if all of
 * them, those of other devices of an iothread, can be polled.
 */
void ernic_pci_polling_open(ErnicPci *d)
{
    ErnicPolling *p = &d->polling;

    if (!p->max_us || !d->thread || event_notifier_init(&p->notifier, 0) < 0) {
        return;
    }
    aio_set_event_notifier(d->ctx, &p->notifier, never, NULL, NULL);
    p->bh = aio_bh_new(d->ctx, turn, d);
}

/* In the thread, which schedules the bottom half again and again. */
static void stop(void *opaque)
{
    ErnicPci *d = opaque;

    g_clear_pointer(&d->polling.bh, qemu_bh_delete);
    if (d->polling.on) {
        end(d);
    }
    d->polling.ended = false;
    aio_set_event_notifier(d->ctx, &d->polling.notifier, NULL, NULL, NULL);
}

void ernic_pci_polling_close(ErnicPci *d)
{
    assert(bql_locked());
    if (d->polling.bh) {
        aio_wait_bh_oneshot(d->ctx, stop, d);
        event_notifier_cleanup(&d->polling.notifier);
    }
}
