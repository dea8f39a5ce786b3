/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of the timing model: stages, each busy until a time, and limits on
 * work in progress. All times are in ps from one origin; sums saturate. There are no
 * events here: a passage is computed completely when it begins.
 */
#ifndef ERNIC_TIMING_STAGE_H
#define ERNIC_TIMING_STAGE_H

/* The greatest size of an ErnicLimit. */
#define ERNIC_LIM_UNDER_WAY 256

/* The times at which the first and the last byte of a piece of work arrive. */
typedef struct ErnicSpan {
    uint64_t head, tail;
} ErnicSpan;

/*
 * A stage, which works on one thing at a time. Its counters are in ps and wrap after
 * 213 days; busy + stalled + idle is the time from the first origin to free.
 */
typedef struct ErnicStageState {
    uint64_t free;              /* accepts nothing new before this time */
    uint64_t last;              /* time at which the last passage has left it */
    uint64_t items;
    uint64_t busy;              /* working */
    uint64_t stalled;           /* waiting for the tail of its input */
    uint64_t idle;              /* no input */
    uint64_t waited;            /* time that work waited for the stage */
} ErnicStageState;

/*
 * A limit on the pieces of work in progress at once. It stores the end times of the
 * last pieces; a slot becomes free at its end time, in the order of the ends.
 */
typedef struct ErnicLimit {
    uint64_t end[ERNIC_LIM_UNDER_WAY];
    uint32_t size, next;        /* next: the oldest slot, the next to be reused */
    uint32_t count;             /* slots that end after the last begin */
    uint32_t held;              /* begun, with an end not yet known */
    uint32_t peak;
    uint64_t area;              /* sum of durations in ps; wraps */
} ErnicLimit;

static inline uint64_t ernic_sat_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Pass @span through @s, which works on it for @work and adds @latency. @whole: work
 * starts only once the last byte has arrived (store and forward).
 */
void ernic_stage_pass(ErnicStageState *s, ErnicSpan *span, uint64_t work,
                      uint64_t latency, bool whole);

/* Allow @size pieces of work at once, 1 to ERNIC_LIM_UNDER_WAY; none is in progress. */
void ernic_limit_init(ErnicLimit *l, uint32_t size);
/*
 * The earliest time from @at on at which one more piece of work may begin; fewer than
 * @size are held.
 */
static inline uint64_t ernic_limit_at(const ErnicLimit *l, uint64_t at)
{
    uint32_t i = l->next + l->held;

    return MAX(at, l->end[i < l->size ? i : i - l->size]);
}
/* One piece begins at @begin, which is not before ernic_limit_at(). */
void ernic_limit_begin(ErnicLimit *l, uint64_t begin);
/* One piece that began at @begin ends at @end. */
void ernic_limit_end(ErnicLimit *l, uint64_t begin, uint64_t end);
/* ernic_limit_begin() and ernic_limit_end() together. */
void ernic_limit_take(ErnicLimit *l, uint64_t begin, uint64_t end);
/* The number of pieces of work in progress at @at. */
uint32_t ernic_limit_count(const ErnicLimit *l, uint64_t at);

/* Move the origin forward by @by; times before the new origin become 0. */
void ernic_stage_rebase(ErnicStageState *s, uint64_t by);
void ernic_limit_rebase(ErnicLimit *l, uint64_t by);

#endif /* ERNIC_TIMING_STAGE_H */
