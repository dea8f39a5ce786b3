/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines of the QDMA, and the doorbells that give them work.
 */
#ifndef ERNIC_BARS_QDMA_ENGINE_H
#define ERNIC_BARS_QDMA_ENGINE_H

#include "bars/qdma/queue.h"

/* Doorbells: four words for each queue. */
#define QDMA_DOORBELLS      0x18000
#define QDMA_DOORBELL_SIZE  16

uint32_t qdma_doorbell_read(ErnicPci *d, uint32_t off);
void qdma_doorbell_write(ErnicPci *d, uint32_t off, uint32_t value);
/* Software writes the context of a queue: what the queue was doing is cancelled. */
void qdma_queue_ends(ErnicPci *d, uint32_t number, uint8_t dir);
/* Whether @q, of a saved state, is possible. */
bool qdma_engine_valid(const ErnicQdma *q);
/* Executes descriptors until the slice ends. */
void qdma_engine_run(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_ENGINE_H */
