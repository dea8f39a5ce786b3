/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The counters of the timing model, for QUERY_TIMING, the registers after those of
 * PG332, the monitor and tests. Rows are those of ERNIC_TIMING_STAGES and
 * ERNIC_TIMING_QUEUES. Work is counted when it enters a stage, so that the counters of
 * a stage may be ahead of the present. Values in ps wrap (2^64 ps are 213 days): use
 * differences only.
 */
#ifndef ERNIC_TIMING_TIMING_COUNT_H
#define ERNIC_TIMING_TIMING_COUNT_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_counters.h"
#include "timing/timing_trace.h"

/* busy + stalled + idle = time from @since to now, or to the end of its work. */
typedef struct ErnicStageCount {
    uint64_t items;             /* passages */
    uint64_t busy;              /* ps, working */
    uint64_t stalled;           /* ps, waiting for the tail of its input */
    uint64_t idle;              /* ps, without input */
    uint64_t waited;            /* ps that work waited for the stage */
} ErnicStageCount;

typedef struct ErnicQueueCount {
    uint64_t size, count, peak; /* capacity; at present; greatest so far */
    uint64_t area;              /* ps, mean length * time */
} ErnicQueueCount;

typedef struct ErnicTimingCount {
    uint64_t since, now;        /* ns */
    ErnicStageCount stage[ERNIC_STAGE_COUNT];
    ErnicQueueCount queue[ERNIC_TIMED_QUEUES];
} ErnicTimingCount;

/* The counters at @now, ns. False: the model is off, and *@c is unchanged. */
bool ernic_timing_count(const Ernic *e, uint64_t now, ErnicTimingCount *c);
/* The length of a queue at the last call of the engine; the model is on. */
uint32_t ernic_timing_queued(const Ernic *e, ErnicTimedQueue queue);
/* The response to QUERY_TIMING, of the last call; all 0 if the model is off. */
void ernic_timing_info(const Ernic *e, struct ernic_timing_info *info);
/* Word @offset of that response; 0 after its end. */
uint32_t ernic_timing_word(const Ernic *e, uint32_t offset);

#endif /* ERNIC_TIMING_TIMING_COUNT_H */
