/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the device, one list: guest hw_counters, monitor and tests read
 * them by this order and these names. Drops by reason are counted beside them.
 */
#ifndef ERNIC_STATS_H
#define ERNIC_STATS_H

#include "drop.h"
#include "fault.h"

#define ERNIC_STATS_LIST(X)                                                 \
    X(tx_packets) X(tx_bytes) X(tx_trains) X(rx_packets) X(rx_bytes)        \
    X(rx_trains) X(tx_messages) X(rx_messages) X(tx_acks) X(rx_acks)        \
    X(tx_naks) X(rx_naks) X(tx_rnr_naks) X(rx_rnr_naks) X(rx_duplicates)    \
    X(rx_out_of_sequence) X(implied_naks) X(retransmits) X(ack_timeouts)    \
    X(tx_cnps) X(rx_cnps) X(rx_ecn_marked) X(rate_cuts) X(window_cuts)      \
    X(loopback_drops) X(bad_doorbells) X(bad_commands) X(commands)          \
    X(completions) X(flushed) X(cq_overruns) X(events) X(interrupts)

typedef struct ErnicStats {
#define X(name) uint64_t name;
    ERNIC_STATS_LIST(X)
#undef X
    uint64_t drop[ERNIC_DROP_COUNT];
    uint64_t fault[ERNIC_FAULT_COUNT];
} ErnicStats;

#endif /* ERNIC_STATS_H */
