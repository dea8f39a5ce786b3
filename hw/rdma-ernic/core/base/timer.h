/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deadlines: a heap over small numbers, one deadline each. The cost of all
 * calls is logarithmic in the number of deadlines that are set. What fires
 * first depends on the deadlines alone: of equal ones the smaller number.
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

/* For the numbers 1 to @size - 1. */
ErnicTimers *ernic_timers_new(uint32_t size);
void ernic_timers_free(ErnicTimers *t);
/* Set, move or (ERNIC_NEVER) clear the deadline of @id. */
void ernic_timer_set(ErnicTimers *t, uint32_t id, uint64_t due);
/* The earliest deadline, or ERNIC_NEVER. */
uint64_t ernic_timers_next(const ErnicTimers *t);
/* Take a number that is due at @now off the heap; 0: none is. */
uint32_t ernic_timers_pop(ErnicTimers *t, uint64_t now);

#endif /* ERNIC_BASE_TIMER_H */
