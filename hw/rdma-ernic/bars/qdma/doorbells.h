/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells of the QDMA, which give its engines work, and how that work ends.
 */
#ifndef ERNIC_BARS_QDMA_DOORBELLS_H
#define ERNIC_BARS_QDMA_DOORBELLS_H

#include "bars/qdma/queue.h"

/* Four words for each queue. */
#define QDMA_DOORBELLS      0x18000
#define QDMA_DOORBELL_SIZE  16

/* @function: whose BAR has it. */
uint32_t qdma_doorbell_read(ErnicPci *d, uint32_t function, uint32_t off);
void qdma_doorbell_write(ErnicPci *d, uint32_t function, uint32_t off, uint32_t value);
/* Software writes the context of a queue: what the queue was doing is cancelled. */
void qdma_queue_ends(ErnicPci *d, uint32_t number, uint8_t dir);

#endif /* ERNIC_BARS_QDMA_DOORBELLS_H */
