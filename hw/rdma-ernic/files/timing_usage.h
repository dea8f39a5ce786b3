/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a stage has spent its time on, window by window: each window's parts add up
 * to the window, whatever passes when. For whoever draws it.
 */
#ifndef ERNIC_TIMING_USAGE_H
#define ERNIC_TIMING_USAGE_H

#include "core/timing/timing_trace.h"

#define ERNIC_USAGE_WINDOW_US   10

typedef enum ErnicUse {
    ERNIC_USE_BUSY, ERNIC_USE_STALLED, ERNIC_USE_IDLE, ERNIC_USE_COUNT
} ErnicUse;

typedef struct ErnicUsage {
    bool begun;
    uint64_t window;            /* number of the one that is being filled */
    uint64_t done;              /* ps of it that are accounted for */
    uint64_t ps[ERNIC_USE_COUNT];
} ErnicUsage;

/* The window from @us on is over. All-idle ones behind it are told by the first. */
typedef void ErnicUsageEmit(void *opaque, ErnicStage stage, uint64_t us,
                            const uint64_t ps[ERNIC_USE_COUNT]);

/* Passages of one stage, in their order. */
void ernic_usage_pass(ErnicUsage *u, const ErnicPassage *p,
                      ErnicUsageEmit *emit, void *opaque);
/* There are no more: the last window is idle from here on. */
void ernic_usage_end(ErnicUsage *u, ErnicStage stage, ErnicUsageEmit *emit,
                     void *opaque);

#endif /* ERNIC_TIMING_USAGE_H */
