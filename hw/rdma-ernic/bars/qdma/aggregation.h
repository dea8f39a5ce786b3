/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Aggregated ("indirect") interrupts: queues share a ring, which says which of them have
 * something to report, and a vector.
 */
#ifndef ERNIC_BARS_QDMA_AGGREGATION_H
#define ERNIC_BARS_QDMA_AGGREGATION_H

#include "bars/qdma/qdma.h"
#include "compat/qemu.h"

/* A part of the context of a ring. */
FIELD(INT0, VALID, 0, 1)

/* Parts of the status in an entry, and in the status of a completion ring. */
#define QDMA_STATUS_COLOR_SHIFT 32
#define QDMA_STATUS_STATE_SHIFT 33
#define QDMA_STATUS_ERROR_SHIFT 35

/* Writes an entry to @ring, and raises its interrupt unless one is outstanding. */
void qdma_aggregate(ErnicPci *d, uint32_t ring, uint32_t number, uint8_t dir,
                    uint64_t status);
/* Software has read a ring: the doorbell has its number and the index. */
void qdma_aggregation_doorbell(ErnicPci *d, uint32_t value);

/* The rings of a function are no more. */
void qdma_aggregation_reset(ErnicQdma *q, uint32_t function);

#endif /* ERNIC_BARS_QDMA_AGGREGATION_H */
