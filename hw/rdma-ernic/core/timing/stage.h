/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of the timing model: servers that are busy until a time, and
 * limits on what may be under way. All times are in ps from one origin; sums
 * saturate. Nothing here runs: a passage is computed when it is entered.
 */
#ifndef ERNIC_SERVER_H
#define ERNIC_SERVER_H

/* At the most as many pieces of work under way as any limit counts. */
#define ERNIC_LIM_UNDER_WAY 256

/* When the first and when the last byte of a piece of work is at a place. */
typedef struct ErnicSpan {
    uint64_t head, tail;
} ErnicSpan;

/*
 * A stage: works on one thing at a time. Its counters are in ps and wrap after
 * 213 days; busy, stalled and idle are all the time from the first origin to free.
 */
typedef struct ErnicStageState {
    uint64_t free;              /* takes nothing new before */
    uint64_t last;              /* what passed last has left it */
    uint64_t items;
    uint64_t busy;              /* at work */
    uint64_t stalled;           /* held up by a tail that came late */
    uint64_t idle;              /* nothing was there for it */
    uint64_t waited;            /* that things stood in front of it */
} ErnicStageState;

/*
 * Work that may be under way at once: when each of the last of them ends. Those
 * of which that is known give their places back in the order of their ends.
 */
typedef struct ErnicLimit {
    uint64_t end[ERNIC_LIM_UNDER_WAY];
    uint32_t size, next;        /* next: the oldest, which gives its place */
    uint32_t count;             /* the last ones, that end after the last began */
    uint32_t held;              /* begun, and nobody knows yet when they end */
    uint32_t peak;
    uint64_t area;              /* ps, of all of them; wraps as a server's */
} ErnicLimit;

static inline uint64_t ernic_sat_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Send @span through @s, which works on it for @work and passes it on @latency
 * later. @whole: not before its last byte is there (store and forward).
 */
void ernic_stage_pass(ErnicStageState *s, ErnicSpan *span, uint64_t work,
                      uint64_t latency, bool whole);

/* At most @size at once, 1 to ERNIC_LIM_UNDER_WAY; none is under way. */
void ernic_limit_init(ErnicLimit *l, uint32_t size);
/*
 * The earliest time from @at on at which one more may begin; fewer than @size are
 * held.
 */
static inline uint64_t ernic_limit_at(const ErnicLimit *l, uint64_t at)
{
    uint32_t i = l->next + l->held;

    return MAX(at, l->end[i < l->size ? i : i - l->size]);
}
/* One begins at @begin, which is no sooner than ernic_limit_at() says. */
void ernic_limit_begin(ErnicLimit *l, uint64_t begin);
/* One that began at @begin ends at @end. */
void ernic_limit_end(ErnicLimit *l, uint64_t begin, uint64_t end);
/* Both. */
void ernic_limit_take(ErnicLimit *l, uint64_t begin, uint64_t end);
/* How many are under way at @at. */
uint32_t ernic_limit_count(const ErnicLimit *l, uint64_t at);

/* The origin moves on by @by: what is before it becomes 0. */
void ernic_stage_rebase(ErnicStageState *s, uint64_t by);
void ernic_limit_rebase(ErnicLimit *l, uint64_t by);

#endif /* ERNIC_SERVER_H */
