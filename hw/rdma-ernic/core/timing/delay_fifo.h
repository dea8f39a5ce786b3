/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A line of records, each with the time before which it does not leave: what
 * the timing model keeps from view. First in, first out; all space is taken
 * when the line is made. And levels, which only count.
 */
#ifndef ERNIC_LINE_H
#define ERNIC_LINE_H

#include "base/timer.h"

typedef struct ErnicDelayFifo {
    uint8_t *slot;
    uint64_t *due;              /* ns; never less than that of the one before */
    uint32_t size;              /* bytes of a record */
    uint32_t slots, head, count;
    uint32_t peak;              /* of count */
    uint64_t area;              /* ns, of all that stood in it until @at */
    uint64_t at;                /* ns */
} ErnicDelayFifo;

void ernic_delay_fifo_init(ErnicDelayFifo *l, uint32_t slots, uint32_t size);
void ernic_delay_fifo_fini(ErnicDelayFifo *l);

static inline bool ernic_delay_fifo_full(const ErnicDelayFifo *l)
{
    return l->count == l->slots;
}

/* At @now, one more record, to be filled in by the caller; room is there. */
void *ernic_delay_fifo_add(ErnicDelayFifo *l, uint64_t now, uint64_t due);
/* Record @n from the head and when it is due. */
void *ernic_delay_fifo_at(const ErnicDelayFifo *l, uint32_t n, uint64_t *due);
/* When the record at the head is due; ERNIC_NEVER: there is none. */
static inline uint64_t ernic_delay_fifo_due(const ErnicDelayFifo *l)
{
    return l->count ? l->due[l->head] : ERNIC_NEVER;
}
/* The record at the head if it is due, else NULL; valid until popped. */
void *ernic_delay_fifo_peek(const ErnicDelayFifo *l, uint64_t now);
void ernic_delay_fifo_pop(ErnicDelayFifo *l, uint64_t now);
/* ns, of all that has stood in it by @now; wraps. */
static inline uint64_t ernic_delay_fifo_area(const ErnicDelayFifo *l, uint64_t now)
{
    return l->area + (now > l->at ? (now - l->at) * l->count : 0);
}

/* How many there are of what stands in no line of its own. */
typedef struct ErnicLevel {
    uint64_t size;              /* never more than that */
    uint32_t count, peak;
    uint64_t area;              /* ns, of all that was there until @at */
    uint64_t at;                /* ns */
} ErnicLevel;

/* From @now on there are @count. */
void ernic_level_set(ErnicLevel *l, uint64_t now, uint32_t count);
/* ns, of all that has been there by @now; wraps. */
static inline uint64_t ernic_level_area(const ErnicLevel *l, uint64_t now)
{
    return l->area + (now > l->at ? (now - l->at) * l->count : 0);
}

#endif /* ERNIC_LINE_H */
