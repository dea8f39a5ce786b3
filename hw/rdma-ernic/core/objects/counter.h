/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of queue pairs: each queue pair counts in one, which others may share.
 * A counter outlives its queue pairs.
 */
#ifndef ERNIC_COUNTER_H
#define ERNIC_COUNTER_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* Rows of ERNIC_QP_STATS_LIST. */
typedef struct ErnicQpStats {
#define X(name) uint64_t name;
    ERNIC_QP_STATS_LIST(X)
#undef X
} ErnicQpStats;

/* Of ERNIC_LIM_COUNTER + 1; 0 is that of queue pairs that are bound to no other. */
struct ErnicCounter {
    bool used;
    ErnicQpStats stats;
};

/* One more of @name, which is @qp's doing, for the device and for its counter. */
#define ERNIC_COUNT(e, qp, name)                                            \
    ((e)->stats.name++, (e)->counter[(qp)->counter].stats.name++)

uint8_t ernic_counter_alloc(Ernic *e, uint32_t *number);
/* ERNIC_ERR_BUSY while queue pairs are bound to it. */
uint8_t ernic_counter_free(Ernic *e, uint32_t number);
/* From here on queue pair @qpn, of whatever context, counts in @number. */
uint8_t ernic_counter_bind(Ernic *e, uint32_t qpn, uint32_t number);
/* NULL: there is none. */
const ErnicQpStats *ernic_counter_get(const Ernic *e, uint32_t number);

#endif /* ERNIC_COUNTER_H */
