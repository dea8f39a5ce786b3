/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of queue pairs: each queue pair counts in one counter, which other queue
 * pairs may share. A counter outlives its queue pairs.
 */
#ifndef ERNIC_OBJECTS_COUNTER_H
#define ERNIC_OBJECTS_COUNTER_H

#include "base/device.h"

/* Rows of ERNIC_QP_STATS_LIST. */
typedef struct ErnicQpStats {
#define X(name) uint64_t name;
    ERNIC_QP_STATS_LIST(X)
#undef X
} ErnicQpStats;

/* One of ERNIC_LIM_COUNTER + 1; number 0 is for queue pairs bound to no other. */
struct ErnicCounter {
    bool used;
    ErnicQpStats stats;
    uint64_t served_writes, served_reads, served_atomics;   /* requests of the peer */
};

/* Count an event @name of @qp, for the device and in the counter of @qp. */
#define ERNIC_COUNT(e, qp, name)                                            \
    ((e)->stats.name++, (e)->counter[(qp)->counter].stats.name++)

uint8_t ernic_counter_alloc(Ernic *e, uint32_t *number);
/* The responder has served a request of class @cls (ERNIC_CL_*). */
void ernic_counter_served(Ernic *e, const ErnicQp *qp, uint8_t cls);
/* ERNIC_ERR_BUSY while queue pairs are bound to it. */
uint8_t ernic_counter_free(Ernic *e, uint32_t number);
/* From now on queue pair @qpn, of any context, counts in @number. */
uint8_t ernic_counter_bind(Ernic *e, uint32_t qpn, uint32_t number);
/* From now on the queue pairs of @number count in 0. */
void ernic_counter_unbind(Ernic *e, uint32_t number);
/* Set all counts of @number, which exists, to 0. */
void ernic_counter_clear(Ernic *e, uint32_t number);
/* NULL: there is none. */
const ErnicCounter *ernic_counter_get(const Ernic *e, uint32_t number);

#endif /* ERNIC_OBJECTS_COUNTER_H */
