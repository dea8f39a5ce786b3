/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the device, in the order of the list that the guest uses as well, drops
 * by reason, and faults by number.
 */
#ifndef ERNIC_BASE_STATS_H
#define ERNIC_BASE_STATS_H

#include "hw/rdma-ernic/ernic_counters.h"
#include "base/drop.h"
#include "base/fault.h"

typedef struct ErnicStats {
#define X(name) uint64_t name;
    ERNIC_STATS_LIST(X)
#undef X
    uint64_t drop[ERNIC_DROP_COUNT];
    uint64_t fault[ERNIC_FAULT_COUNT];
} ErnicStats;

#endif /* ERNIC_BASE_STATS_H */
