/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deadlines: a heap over small numbers, with one deadline each. The cost of a call is
 * logarithmic in the number of deadlines that are set. Only the deadlines define the
 * order: the earliest first, of equal ones the smallest number.
 */
#ifndef ERNIC_BASE_TIMER_H
#define ERNIC_BASE_TIMER_H

#include "base/types.h"

typedef struct ErnicTimers {
    uint32_t *heap;             /* numbers, earliest first */
    uint32_t *pos;              /* by number: 1 + place in heap, 0: not set */
    uint64_t *due;              /* by number, ns */
    uint32_t size, count;
} ErnicTimers;

/* Timers of the numbers 1 to @size - 1. */
ErnicTimers *ernic_timers_new(uint32_t size);
void ernic_timers_free(ErnicTimers *t);
/* Set, move or (ERNIC_NEVER) clear the deadline of @id. */
void ernic_timer_set(ErnicTimers *t, uint32_t id, uint64_t due);
/* The earliest deadline, or ERNIC_NEVER. */
uint64_t ernic_timers_next(const ErnicTimers *t);
/* Remove a number that is due at @now from the heap and return it; 0: none is due. */
uint32_t ernic_timers_pop(ErnicTimers *t, uint64_t now);

#endif /* ERNIC_BASE_TIMER_H */
