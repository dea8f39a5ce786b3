/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The use of a stage by window of time. The parts of each window add up to the
 * window, whatever the passages. Meant for drawing.
 */
#ifndef ERNIC_CAPTURE_TIMING_USAGE_H
#define ERNIC_CAPTURE_TIMING_USAGE_H

#include "engine/timing/timing_trace.h"

#define ERNIC_USAGE_WINDOW_US   10

typedef enum ErnicUse {
    ERNIC_USE_BUSY, ERNIC_USE_STALLED, ERNIC_USE_IDLE, ERNIC_USE_COUNT
} ErnicUse;

typedef struct ErnicUsage {
    bool begun;
    uint64_t window;            /* number of the window that is being filled */
    uint64_t done;              /* ps of it that are accounted for */
    uint64_t ps[ERNIC_USE_COUNT];
} ErnicUsage;

/*
 * The window from @us on is complete. Of several idle windows in a row only the
 * first is reported.
 */
typedef void ErnicUsageEmit(void *opaque, ErnicStage stage, uint64_t us,
                            const uint64_t ps[ERNIC_USE_COUNT]);

/* Add a passage of the stage; passages come in their order. */
void ernic_usage_pass(ErnicUsage *u, const ErnicPassage *p,
                      ErnicUsageEmit *emit, void *opaque);
/* There are no more passages: the last window is idle from here on. */
void ernic_usage_end(ErnicUsage *u, ErnicStage stage, ErnicUsageEmit *emit,
                     void *opaque);

#endif /* ERNIC_CAPTURE_TIMING_USAGE_H */
