/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The choice of the thread that runs the engines. Runs that have to be repeatable need
 * the main loop.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pci/engine_thread.h"
#include "system/replay.h"
/* The header's place depends on the version of QEMU. */
#if __has_include("exec/icount.h")
#include "exec/icount.h"
#else
#include "system/cpu-timers.h"
#endif

/* Why the engine cannot have a thread; NULL: it can. */
static const char *obstacle(const ErnicPci *d)
{
    if (icount_enabled()) {
        return "-icount";
    }
    if (replay_mode != REPLAY_MODE_NONE) {
        return "record and replay";
    }
    if (d->timing) {
        return "timing=on";
    }
    if (d->net.wire) {
        return "wire=";
    }
    return NULL;
}

bool ernic_pci_engine_thread_open(ErnicPci *d, Error **errp)
{
    static unsigned count;
    const char *why = obstacle(d);
    g_autofree char *name = NULL;

    if (d->iothread && d->engine_thread == ON_OFF_AUTO_OFF) {
        error_setg(errp, "iothread= and engine-thread=off exclude each other");
        return false;
    }
    if (d->engine_thread == ON_OFF_AUTO_ON && why) {
        error_setg(errp, "engine-thread=on and %s exclude each other", why);
        return false;
    }
    d->thread = d->iothread;
    if (d->thread || d->engine_thread == ON_OFF_AUTO_OFF || why) {
        return true;
    }
    name = g_strdup_printf("ernic%u", count++);
    d->own_thread = d->thread = iothread_create(name, errp);
    return d->thread;
}

void ernic_pci_engine_thread_close(ErnicPci *d)
{
    d->thread = NULL;
    if (d->own_thread) {
        iothread_destroy(d->own_thread);
        d->own_thread = NULL;
    }
}
