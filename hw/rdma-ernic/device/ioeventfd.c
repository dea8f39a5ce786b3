/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages that ring by an eventfd. The engine says which pages could; a bottom
 * half of the main loop gives some of them an event, with the BQL and without the
 * device's lock. Until then, and always for the other pages, the device executes the
 * store (doorbells.c). Both ways are right at any time.
 *
 * Nothing is lost: a page that loses its event is rung once more, and when the device
 * starts to work, all pages are (ernic_pages_rung()). So events are not part of a saved
 * state.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bitmap.h"
#include "qemu/event_notifier.h"
#include "qemu/main-loop.h"
#include "system/kvm.h"
#include "compat/qemu.h"
#include "device/clock.h"
#include "device/interface.h"
#include "device/mutex.h"
#include "device/ioeventfd.h"
#include "hw/rdma-ernic/trace.h"

#define PAGE            4096u
/* Pages that get an event in one run: KVM takes some time for each address. */
#define BATCH           8
/* Stands in place of a page. */
#define NONE            ERNIC_PCI_PAGES

QEMU_BUILD_BUG_ON(ERNIC_PCI_PAGES * PAGE != ERNIC_MLX5_BAR);
QEMU_BUILD_BUG_ON(ERNIC_PCI_PAGES < ERNIC_LIM_UCTX);

typedef struct ErnicPageEvent {
    EventNotifier notifier;
    ErnicPci *d;
    uint32_t page;              /* atomic; NONE: it waits for a page */
} ErnicPageEvent;

/* ---- rung pages ------------------------------------------------------------- */

static void mark_rung(ErnicPci *d, uint32_t page)
{
    trace_ernic_pci_page_rung(ernic_pci_id(d), page);
    set_bit_atomic(page, d->events.rung);
    ernic_pci_kick(d);
}

/*
 * The page is read last: if it is no longer the one that was rung, that one is rung by
 * take_events().
 */
static void signalled(EventNotifier *notifier)
{
    ErnicPageEvent *event = container_of(notifier, ErnicPageEvent, notifier);
    uint32_t page;

    if (event_notifier_test_and_clear(notifier)) {
        page = qatomic_read(&event->page);
        if (page != NONE) {
            mark_rung(event->d, page);
        }
    }
}

static void run_batch(ErnicPci *d, uint64_t now)
{
    ErnicPageEvents *events = &d->events;
    uint32_t page;

    while (ernic_slice_left(d->engine) &&
           (page = find_first_bit(events->batch, ERNIC_PCI_PAGES)) < ERNIC_PCI_PAGES) {
        clear_bit(page, events->batch);
        ernic_page_rung(d->engine, now, page);
    }
}

/* Whether nothing is left of the batch: then those follow that have been rung since. */
static bool next_batch(ErnicPageEvents *events)
{
    uint32_t i;

    if (find_first_bit(events->batch, ERNIC_PCI_PAGES) < ERNIC_PCI_PAGES) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(events->rung); i++) {
        if (qatomic_read(&events->rung[i])) {
            events->batch[i] = qatomic_xchg(&events->rung[i], 0);
        }
    }
    return true;
}

/*
 * Half of each slice, of its time as well as of its units, is left to the commands that
 * follow, also if many pages are rung again and again.
 */
bool ernic_pci_ioeventfd_run(ErnicPci *d, uint64_t now)
{
    ErnicPageEvents *events = &d->events;
    uint32_t units = ernic_slice_rest(d->engine);
    bool all;

    assert(ernic_pci_locked(d));
    if (!events->bh) {
        return true;
    }
    all = next_batch(events);
    ernic_slice_of(d->engine, units / 2);
    run_batch(d, now);
    ernic_slice_of(d->engine, units - units / 2);
    return all && find_first_bit(events->batch, ERNIC_PCI_PAGES) == ERNIC_PCI_PAGES;
}

/* ---- events of pages -------------------------------------------------------- */

void ernic_pci_page_event(void *env, uint32_t page, bool on)
{
    ErnicPci *d = env;

    if (!d->events.bh) {
        return;
    }
    if (on) {
        set_bit_atomic(page, d->events.wanted);
    } else {
        clear_bit_atomic(page, d->events.wanted);
    }
    if (!ernic_pci_gone(d)) {
        qemu_bh_schedule(d->events.bh);
    }
}

static void register_event(ErnicPci *d, ErnicPageEvent *event, uint32_t page, bool on)
{
    const ErnicPciInterfaceOps *ops = d->interface;
    uint32_t at = ops->page_event.base + page * PAGE, off;

    trace_ernic_pci_page_event(ernic_pci_id(d), page, on);
    for (off = ops->page_event.first; off < PAGE; off += ops->page_event.step) {
        /* Length 0: a store of any size, and the cheapest exit of KVM. */
        if (on) {
            memory_region_add_eventfd(&d->bar, at + off, 0, false, 0, &event->notifier);
        } else {
            memory_region_del_eventfd(&d->bar, at + off, 0, false, 0, &event->notifier);
        }
    }
}

static bool is_wanted(ErnicPci *d, uint32_t page)
{
    return qatomic_read(&d->events.wanted[BIT_WORD(page)]) & BIT_MASK(page);
}

/*
 * Frees the events of pages that are not wanted, or of all. A transaction of its own:
 * QEMU adds events before it removes others, and KVM refuses two at one address.
 */
static void take_events(ErnicPci *d, bool all)
{
    uint32_t pages[ERNIC_PCI_PAGE_EVENTS], n = 0, i;

    memory_region_transaction_begin();
    for (i = 0; i < ERNIC_PCI_PAGE_EVENTS && d->events.event[i]; i++) {
        ErnicPageEvent *event = d->events.event[i];

        if (event->page != NONE && (all || !is_wanted(d, event->page))) {
            register_event(d, event, event->page, false);
            pages[n++] = event->page;
            clear_bit(event->page, d->events.have);
            qatomic_set(&event->page, NONE);
        }
    }
    memory_region_transaction_commit();
    for (i = 0; i < n; i++) {
        mark_rung(d, pages[i]);
    }
}

/* An event that no page uses; NULL: there are as many as there may be, or no eventfd. */
static ErnicPageEvent *free_event(ErnicPci *d)
{
    ErnicPageEvent *event;
    uint32_t i;

    for (i = 0; i < ERNIC_PCI_PAGE_EVENTS && d->events.event[i]; i++) {
        if (d->events.event[i]->page == NONE) {
            return d->events.event[i];
        }
    }
    if (i == ERNIC_PCI_PAGE_EVENTS) {
        return NULL;
    }
    event = g_new0(ErnicPageEvent, 1);
    event->d = d;
    event->page = NONE;
    if (event_notifier_init(&event->notifier, 0)) {
        g_free(event);
        return NULL;
    }
    aio_set_event_notifier(d->fd_ctx, &event->notifier, signalled, NULL, NULL);
    d->events.event[i] = event;
    return event;
}

/* True: there are more pages than one run gives an event to. */
static bool give_events(ErnicPci *d)
{
    ErnicPageEvent *event = NULL;
    uint32_t page, given = 0;

    memory_region_transaction_begin();
    for (page = 0; page < ERNIC_PCI_PAGES && given < BATCH; page++) {
        if (!is_wanted(d, page) || test_bit(page, d->events.have)) {
            continue;
        }
        event = free_event(d);
        if (!event) {
            break;
        }
        qatomic_set(&event->page, page);
        set_bit(page, d->events.have);
        register_event(d, event, page, true);
        given++;
    }
    memory_region_transaction_commit();
    return given == BATCH;
}

/*
 * The BAR may come to where another function's is, or leave it, with events at the same
 * addresses: in the same way as above.
 */
void ernic_pci_ioeventfd_move(ErnicPci *d)
{
    assert(bql_locked());
    if (d->events.bh) {
        take_events(d, true);
        qemu_bh_schedule(d->events.bh);
    }
}

static void update(void *opaque)
{
    ErnicPci *d = opaque;

    take_events(d, false);
    if (give_events(d)) {
        qemu_bh_schedule(d->events.bh);
    }
}

/* ---- life ------------------------------------------------------------------- */

/* A thread needs no BQL to take an event; the main loop gains nothing by it. */
void ernic_pci_ioeventfd_init(ErnicPci *d)
{
    if (d->interface->page_event.step &&
        (d->ioeventfd == ON_OFF_AUTO_ON ||
         (d->ioeventfd == ON_OFF_AUTO_AUTO && d->thread && kvm_enabled()))) {
        d->events.bh = qemu_bh_new(update, d);
    }
}

static void drained(void *opaque)
{
}

/* The handlers of a thread may still run after they were removed. */
void ernic_pci_ioeventfd_stop(ErnicPci *d)
{
    ErnicPageEvent **event = d->events.event;
    uint32_t i;

    assert(bql_locked());
    g_clear_pointer(&d->events.bh, qemu_bh_delete);
    take_events(d, true);
    for (i = 0; i < ERNIC_PCI_PAGE_EVENTS && event[i]; i++) {
        aio_set_event_notifier(d->fd_ctx, &event[i]->notifier, NULL, NULL, NULL);
    }
    if (d->thread && event[0]) {
        aio_wait_bh_oneshot(d->ctx, drained, d);
    }
    for (i = 0; i < ERNIC_PCI_PAGE_EVENTS && event[i]; i++) {
        event_notifier_cleanup(&event[i]->notifier);
        g_clear_pointer(&event[i], g_free);
    }
}
