/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the timing model has counted, as everybody reads it: QUERY_TIMING, the
 * words behind the registers of PG332, the monitor, tests. Rows are those of
 * ERNIC_TIMING_STAGES and ERNIC_TIMING_QUEUES. Work counts when it is given to
 * a stage, so that a stage's counters may reach beyond the present. Everything
 * in ps wraps (2^64 ps are 213 days): differences are what is meant.
 */
#ifndef ERNIC_TIMING_COUNT_H
#define ERNIC_TIMING_COUNT_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_counters.h"
#include "timing/timing_trace.h"

/* busy + stalled + idle = the time from @since to now, or to the work's end. */
typedef struct ErnicStageCount {
    uint64_t items;             /* that have passed */
    uint64_t busy;              /* ps, at work */
    uint64_t stalled;           /* ps, held up by a tail that came late */
    uint64_t idle;              /* ps, with nothing to do */
    uint64_t waited;            /* ps, that things stood in front of it */
} ErnicStageCount;

typedef struct ErnicQueueCount {
    uint64_t size, count, peak; /* room; at present; at the most */
    uint64_t area;              /* ps, of all that was in it: mean * time */
} ErnicQueueCount;

typedef struct ErnicTimingCount {
    uint64_t since, now;        /* ns */
    ErnicStageCount stage[ERNIC_STAGE_COUNT];
    ErnicQueueCount queue[ERNIC_TIMED_QUEUES];
} ErnicTimingCount;

/* As they are at @now, ns. False: the model is off, and *@c is as it was. */
bool ernic_timing_count(const Ernic *e, uint64_t now, ErnicTimingCount *c);
/* What was in a queue when the engine was entered last; the model is on. */
uint32_t ernic_timing_queued(const Ernic *e, ErnicTimedQueue queue);
/* The answer to QUERY_TIMING, as of then; all 0 if the model is off. */
void ernic_timing_info(const Ernic *e, struct ernic_timing_info *info);
/* Word @offset of that answer; 0 behind its end. */
uint32_t ernic_timing_word(const Ernic *e, uint32_t offset);

#endif /* ERNIC_TIMING_COUNT_H */
