/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Delay FIFO: a queue of records, each with the earliest time at which it may leave.
 * The timing model delays doorbells, packets and completions with it. All space is
 * allocated on creation. A level counts things without storing them.
 */
#ifndef ERNIC_TIMING_DELAY_FIFO_H
#define ERNIC_TIMING_DELAY_FIFO_H

#include "base/timer.h"

typedef struct ErnicDelayFifo {
    uint8_t *slot;
    uint64_t *due;              /* ns; never decreases from record to record */
    uint32_t size;              /* bytes of a record */
    uint32_t slots, head, count;
    uint32_t peak;              /* of count */
    uint64_t area;              /* ns that all records spent in it until @at */
    uint64_t at;                /* ns */
} ErnicDelayFifo;

void ernic_delay_fifo_init(ErnicDelayFifo *l, uint32_t slots, uint32_t size);
void ernic_delay_fifo_fini(ErnicDelayFifo *l);

static inline bool ernic_delay_fifo_full(const ErnicDelayFifo *l)
{
    return l->count == l->slots;
}

/* Add a record at @now; the caller has checked for room and fills the record in. */
void *ernic_delay_fifo_add(ErnicDelayFifo *l, uint64_t now, uint64_t due);
/* Record @n from the head, and the time at which it is due. */
void *ernic_delay_fifo_at(const ErnicDelayFifo *l, uint32_t n, uint64_t *due);
/* The time at which the record at the head is due; ERNIC_NEVER: there is none. */
static inline uint64_t ernic_delay_fifo_due(const ErnicDelayFifo *l)
{
    return l->count ? l->due[l->head] : ERNIC_NEVER;
}
/* The record at the head if it is due, else NULL; valid until popped. */
void *ernic_delay_fifo_peek(const ErnicDelayFifo *l, uint64_t now);
void ernic_delay_fifo_pop(ErnicDelayFifo *l, uint64_t now);
/* ns that all records have spent in it by @now; wraps. */
static inline uint64_t ernic_delay_fifo_area(const ErnicDelayFifo *l, uint64_t now)
{
    return l->area + (now > l->at ? (now - l->at) * l->count : 0);
}

/* A number of things that are not in a delay FIFO, and its statistics. */
typedef struct ErnicLevel {
    uint64_t size;              /* greatest possible count */
    uint32_t count, peak;
    uint64_t area;              /* ns: integral of count until @at */
    uint64_t at;                /* ns */
} ErnicLevel;

/* Set the count from @now on. */
void ernic_level_set(ErnicLevel *l, uint64_t now, uint32_t count);
/* ns: integral of the count until @now; wraps. */
static inline uint64_t ernic_level_area(const ErnicLevel *l, uint64_t now)
{
    return l->area + (now > l->at ? (now - l->at) * l->count : 0);
}

#endif /* ERNIC_TIMING_DELAY_FIFO_H */
