/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The polling of device/polling.c, with a clock and a processor of the test's own, an
 * engine and a link that only count. Which look finds something is exact here, as it is
 * not in a machine.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "device/link.h"
#include "hw/rdma-ernic/trace.h"

#define TURN            1000            /* ns, of a look and an offer of the processor */
#define MOST            (50 * SCALE_US)

static struct {
    int64_t now, used;                  /* of the host, and of the thread; ns */
    int64_t taken;                      /* by others in each turn */
    uint32_t looks, last_looks;         /* at records, while polling and after it */
    uint32_t works;                     /* runs of the device's work */
    bool link_on, link_last;            /* the link has something, while and after */
    bool record_on, record_last;
} host;

static int64_t fake_clock(void)
{
    return host.now;
}

static int fake_thread_time(clockid_t id, struct timespec *t)
{
    g_assert_cmpint(id, ==, CLOCK_THREAD_CPUTIME_ID);
    t->tv_sec = host.used / NANOSECONDS_PER_SECOND;
    t->tv_nsec = host.used % NANOSECONDS_PER_SECOND;
    return 0;
}

static int fake_yield(void)
{
    host.now += TURN + host.taken;
    host.used += TURN;
    return 0;
}

static bool fake_bql(void)
{
    return true;
}

#define bql_locked      fake_bql
#define get_clock       fake_clock
#define clock_gettime   fake_thread_time
#define sched_yield     fake_yield
#include "device/polling.c"

/* ---- what polling.c calls ---------------------------------------------------- */

uint64_t ernic_pci_now(void)
{
    return host.now;
}

void ernic_slice(Ernic *e)
{
}

bool ernic_poll(Ernic *e, uint64_t now, bool on)
{
    if (on) {
        host.looks++;
        return host.record_on;
    }
    host.last_looks++;
    return host.record_last;
}

static bool link_poll(ErnicPci *d)
{
    g_assert_true(d->held);
    return d->polling.on ? host.link_on : host.link_last;
}

static const ErnicPciLinkOps link_ops = { .name = "test", .poll = link_poll };

/* ---- the device --------------------------------------------------------------- */

static void work(void *opaque)
{
    ErnicPci *d = opaque;

    host.works++;
    ernic_pci_polling_event(d);
    ernic_pci_polling_idle(d);
}

static void turns(ErnicPci *d, int n)
{
    while (n--) {
        aio_poll(d->ctx, false);
    }
}

/* The thread has worked; its next event comes @ns later. */
static void event_after(ErnicPci *d, int64_t ns)
{
    host.now += ns;
    work(d);
}

static ErnicPci *device(void)
{
    static IOThread thread;
    ErnicPci *d = g_new0(ErnicPci, 1);

    memset(&host, 0, sizeof(host));
    host.now = NANOSECONDS_PER_SECOND;
    d->ctx = qemu_get_aio_context();
    d->thread = &thread;
    d->link = &link_ops;
    d->life = ERNIC_PCI_WORKING;
    d->polling.max_us = MOST / SCALE_US;
    qemu_mutex_init(&d->next);
    qemu_mutex_init(&d->lock);
    d->bh = aio_bh_new(d->ctx, work, d);
    ernic_pci_polling_open(d);
    return d;
}

static void device_free(ErnicPci *d)
{
    ernic_pci_polling_close(d);
    qemu_bh_delete(d->bh);
    turns(d, 1);
    qemu_mutex_destroy(&d->lock);
    qemu_mutex_destroy(&d->next);
    g_free(d);
}

/* A device that polls, with the greatest window. */
static ErnicPci *polling(void)
{
    ErnicPci *d = device();

    for (int i = 0; i < 10 && d->polling.window < MOST; i++) {
        event_after(d, d->polling.window + 1);
    }
    g_assert_cmpint(d->polling.window, ==, MOST);
    event_after(d, 1);
    g_assert_true(d->polling.on);
    host.looks = host.last_looks = host.works = 0;
    return d;
}

/* The window grows while events come soon, and closes when one comes late. */
static void test_window(void)
{
    ErnicPci *d = device();
    int64_t last = 0;

    ernic_pci_polling_idle(d);
    g_assert_false(d->polling.on);
    event_after(d, 1);
    g_assert_cmpint(d->polling.window, ==, WINDOW_MIN);
    while (d->polling.window < MOST) {
        last = d->polling.window;
        event_after(d, last);           /* it was long enough */
        g_assert_cmpint(d->polling.window, ==, last);
        event_after(d, last + 1);
        g_assert_cmpint(d->polling.window, ==, MIN(2 * last, MOST));
    }
    event_after(d, MOST);
    g_assert_cmpint(d->polling.window, ==, MOST);
    event_after(d, MOST + 1);
    g_assert_cmpint(d->polling.window, ==, 0);
    device_free(d);
}

/* A look in each turn of the window; then one more, after peers have to wake us. */
static void test_looks(void)
{
    ErnicPci *d = polling();

    turns(d, 2 * MOST / TURN);
    g_assert_false(d->polling.on);
    /* The turn at the window's end looks, too, and the first one does not wait. */
    g_assert_cmpuint(host.looks, ==, MOST / TURN + 2);
    g_assert_cmpuint(host.last_looks, ==, 1);
    g_assert_cmpuint(host.works, ==, 0);
    device_free(d);
}

/* A look that finds something is an event: the device works, and polls on. */
static void test_found(void)
{
    bool *const finds[] = { &host.link_on, &host.record_on };

    for (int i = 0; i < ARRAY_SIZE(finds); i++) {
        ErnicPci *d = polling();

        turns(d, MOST / TURN / 2);
        *finds[i] = true;
        turns(d, 1);
        *finds[i] = false;
        turns(d, 1);
        g_assert_cmpuint(host.works, ==, 1);
        g_assert_true(d->polling.on);
        g_assert_cmpint(d->polling.until, >=, host.now + MOST - 2 * TURN);
        g_assert_cmpint(d->polling.window, ==, MOST);
        device_free(d);
    }
}

/*
 * The last look comes after the thread asks for wake-ups again, and finds what came since
 * the look of the turn. Its work is no event.
 */
static void test_last_look(void)
{
    bool *const finds[] = { &host.link_last, &host.record_last };

    for (int i = 0; i < ARRAY_SIZE(finds); i++) {
        ErnicPci *d = polling();
        int64_t window = d->polling.window, idle_at = d->polling.idle_at;

        *finds[i] = true;
        host.taken = 1;                 /* as an event it would come too late */
        turns(d, 2 * MOST / TURN);
        g_assert_cmpuint(host.works, ==, 1);
        g_assert_cmpuint(host.last_looks, ==, 1);
        g_assert_false(d->polling.on);
        g_assert_false(d->polling.ended);
        g_assert_cmpint(d->polling.window, ==, window);
        g_assert_cmpint(d->polling.idle_at, ==, idle_at);
        device_free(d);
    }
}

/* Others may have half of the processor, and a little more for a short time. */
static void test_share(void)
{
    ErnicPci *d = polling();

    host.taken = TURN;
    turns(d, MOST / TURN);
    g_assert_false(d->polling.on);
    g_assert_cmpuint(host.looks, ==, MOST / TURN / 2 + 2);
    g_assert_cmpint(d->polling.paused_until, ==, 0);
    device_free(d);

    d = polling();
    host.taken = BUSY;
    turns(d, 2);
    g_assert_true(d->polling.on);
    turns(d, 1);
    g_assert_false(d->polling.on);
    g_assert_cmpint(d->polling.paused_until, ==, host.now + PAUSE_MIN);
    device_free(d);
}

/* The thread goes idle at @ns, and would poll for the greatest window. */
static void idle_at(ErnicPci *d, int64_t ns)
{
    host.now = ns;
    d->polling.window = MOST;
    ernic_pci_polling_idle(d);
}

/* Ends a pause, polls, and has to pause again. */
static void pause_again(ErnicPci *d, int64_t after)
{
    int64_t until = d->polling.paused_until;

    idle_at(d, until - 1);
    g_assert_false(d->polling.on);
    idle_at(d, until + after);
    g_assert_true(d->polling.on);
    turns(d, 3);
    g_assert_false(d->polling.on);
}

/* A pause is twice as long as the one before, unless that is over for long. */
static void test_pause(void)
{
    ErnicPci *d = polling();
    int64_t pause = PAUSE_MIN;

    host.taken = 2 * BUSY;
    turns(d, 3);
    g_assert_cmpint(d->polling.pause, ==, PAUSE_MIN);
    for (int i = 0; i < 12; i++) {
        pause_again(d, 0);
        pause = MIN(2 * pause, PAUSE_MAX);
        g_assert_cmpint(d->polling.pause, ==, pause);
        g_assert_cmpint(d->polling.paused_until, ==, host.now + pause);
    }
    g_assert_cmpint(pause, ==, PAUSE_MAX);
    pause_again(d, PAUSE_MAX);
    g_assert_cmpint(d->polling.pause, ==, PAUSE_MIN);
    device_free(d);
}

/* Polling ends with the work of a machine; the link is looked at, records are not. */
static void test_stop(void)
{
    ErnicPci *d = polling();

    turns(d, 2);
    host.looks = 0;
    d->life = ERNIC_PCI_STOPPED;
    turns(d, 2);
    g_assert_false(d->polling.on);
    g_assert_cmpuint(host.looks, ==, 0);
    device_free(d);
}

/* A turn does not wait for the lock, and nothing is lost by that. */
static void test_locked(void)
{
    ErnicPci *d = polling();

    host.link_on = true;
    ernic_pci_lock(d);
    turns(d, MOST / TURN / 2);
    g_assert_cmpuint(host.looks, ==, 0);
    g_assert_true(d->polling.on);
    ernic_pci_unlock(d);
    turns(d, 1);
    host.link_on = false;
    turns(d, 1);
    g_assert_cmpuint(host.works, ==, 1);
    device_free(d);
}

/* A thread that is given up looks a last time, and stays asleep. */
static void test_close(void)
{
    ErnicPci *d = polling();

    ernic_pci_polling_close(d);
    g_assert_false(d->polling.on);
    g_assert_cmpuint(host.last_looks, ==, 1);
    g_assert_null(d->polling.bh);
    ernic_pci_polling_close(d);
    event_after(d, 1);
    turns(d, 2);
    g_assert_cmpuint(host.last_looks, ==, 1);
    g_assert_cmpuint(host.looks, ==, 0);
    device_free(d);
}

/* Without a thread, or a time, there is no polling. */
static void test_off(void)
{
    ErnicPci *d = device();

    for (int i = 0; i < 2; i++) {
        ernic_pci_polling_close(d);
        if (i == 0) {
            d->thread = NULL;
        } else {
            d->thread = (IOThread *)d->ctx;
            d->polling.max_us = 0;
        }
        ernic_pci_polling_open(d);
        for (int j = 0; j < 5; j++) {
            event_after(d, 1);
        }
        turns(d, 2);
        g_assert_cmpuint(host.looks + host.last_looks, ==, 0);
    }
    device_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qemu_init_main_loop(&error_abort);
    g_test_add_func("/polling/window", test_window);
    g_test_add_func("/polling/looks", test_looks);
    g_test_add_func("/polling/found", test_found);
    g_test_add_func("/polling/last-look", test_last_look);
    g_test_add_func("/polling/share", test_share);
    g_test_add_func("/polling/pause", test_pause);
    g_test_add_func("/polling/stop", test_stop);
    g_test_add_func("/polling/locked", test_locked);
    g_test_add_func("/polling/close", test_close);
    g_test_add_func("/polling/off", test_off);
    return g_test_run();
}
