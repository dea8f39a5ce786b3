/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How busy each stage of the timing model was, in windows of time.
 *
 * Times are kept as the number of a window and ps within it, so that nothing
 * overflows.
 */
#include "qemu/osdep.h"
#include "capture/timing_usage.h"

#define WINDOW_NS   (ERNIC_USAGE_WINDOW_US * 1000)
#define WINDOW_PS   (WINDOW_NS * 1000ull)

typedef struct At {
    uint64_t window, ps;
} At;

static At at(uint64_t epoch, uint64_t ps)
{
    uint64_t ns = epoch + ps / 1000;

    return (At) { ns / WINDOW_NS, ns % WINDOW_NS * 1000 + ps % 1000 };
}

static void next(ErnicUsage *u, ErnicStage stage, ErnicUsageEmit *emit,
                 void *opaque)
{
    emit(opaque, stage, u->window * ERNIC_USAGE_WINDOW_US, u->ps);
    memset(u->ps, 0, sizeof(u->ps));
    u->done = 0;
    u->window++;
}

/* Account for the time until @to as spent on @use. */
static void spend(ErnicUsage *u, ErnicStage stage, ErnicUse use, At to,
                  ErnicUsageEmit *emit, void *opaque)
{
    while (u->window < to.window) {
        bool idle = use == ERNIC_USE_IDLE && u->done == 0;

        u->ps[use] += WINDOW_PS - u->done;
        next(u, stage, emit, opaque);
        if (idle) {
            u->window = to.window;
        }
    }
    u->ps[use] += to.ps - u->done;
    u->done = to.ps;
}

void ernic_usage_pass(ErnicUsage *u, const ErnicPassage *p,
                      ErnicUsageEmit *emit, void *opaque)
{
    At start = at(p->epoch, p->start);

    if (!u->begun) {
        *u = (ErnicUsage) { .begun = true, .window = start.window };
    }
    spend(u, p->stage, ERNIC_USE_IDLE, start, emit, opaque);
    spend(u, p->stage, ERNIC_USE_BUSY, at(p->epoch, p->start + p->work), emit,
          opaque);
    spend(u, p->stage, ERNIC_USE_STALLED, at(p->epoch, p->end), emit, opaque);
}

void ernic_usage_end(ErnicUsage *u, ErnicStage stage, ErnicUsageEmit *emit,
                     void *opaque)
{
    if (u->begun) {
        u->ps[ERNIC_USE_IDLE] += WINDOW_PS - u->done;
        next(u, stage, emit, opaque);
        u->begun = false;
    }
}
