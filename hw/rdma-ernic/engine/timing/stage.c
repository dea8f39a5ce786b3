/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A stage stores only the time until which it is busy: the host time to compute a
 * passage does not depend on the simulated time that the passage takes.
 */
#include "qemu/osdep.h"
#include "timing/stage.h"

void ernic_stage_pass(ErnicStageState *s, ErnicSpan *span, uint64_t work,
                      uint64_t latency, bool whole)
{
    uint64_t in = whole ? span->tail : span->head;
    uint64_t start = MAX(in, s->free);
    uint64_t end = ernic_sat_add(start, work);

    /* The input may arrive more slowly than the stage could process it. */
    if (end < span->tail) {
        s->stalled += span->tail - end;
        end = span->tail;
    }
    s->items++;
    s->idle += start - s->free;
    s->busy += work;
    s->waited += start - in;
    s->free = end;
    span->head = ernic_sat_add(start, latency);
    span->tail = ernic_sat_add(end, latency);
    s->last = span->tail;
}

void ernic_limit_init(ErnicLimit *l, uint32_t size)
{
    g_assert(size > 0 && size <= ERNIC_LIM_UNDER_WAY);
    memset(l, 0, sizeof(*l));
    l->size = size;
}

/* The end of the oldest among the last @count pieces of work. */
static uint64_t limit_oldest(const ErnicLimit *l, uint32_t count)
{
    return l->end[(l->next + l->size - count) % l->size];
}

static uint32_t limit_ending(const ErnicLimit *l, uint64_t at)
{
    uint32_t n = l->count;

    while (n && limit_oldest(l, n) <= at) {
        n--;
    }
    return n;
}

uint32_t ernic_limit_count(const ErnicLimit *l, uint64_t at)
{
    return limit_ending(l, at) + l->held;
}

/* count + held never exceed size: older pieces of work have ended by @begin. */
void ernic_limit_begin(ErnicLimit *l, uint64_t begin)
{
    l->count = limit_ending(l, begin);
    l->held++;
    l->peak = MAX(l->peak, l->count + l->held);
}

void ernic_limit_end(ErnicLimit *l, uint64_t begin, uint64_t end)
{
    l->held--;
    l->count++;
    l->area += end - begin;
    l->end[l->next] = end;
    l->next = (l->next + 1) % l->size;
}

void ernic_limit_take(ErnicLimit *l, uint64_t begin, uint64_t end)
{
    ernic_limit_begin(l, begin);
    ernic_limit_end(l, begin, end);
}

static uint64_t rebased(uint64_t at, uint64_t by)
{
    return at > by ? at - by : 0;
}

void ernic_stage_rebase(ErnicStageState *s, uint64_t by)
{
    s->idle += by - MIN(by, s->free);
    s->free = rebased(s->free, by);
    s->last = rebased(s->last, by);
}

void ernic_limit_rebase(ErnicLimit *l, uint64_t by)
{
    uint32_t i;

    for (i = 0; i < l->size; i++) {
        l->end[i] = rebased(l->end[i], by);
    }
}
