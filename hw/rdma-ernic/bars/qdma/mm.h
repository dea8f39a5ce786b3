/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines, and the slice of work of all engines of the QDMA.
 */
#ifndef ERNIC_BARS_QDMA_MM_H
#define ERNIC_BARS_QDMA_MM_H

#include "bars/qdma/queue.h"

/* Whether @q, of a saved state, is possible. */
bool qdma_engine_valid(const ErnicQdma *q);
/* Executes descriptors, and timers that have ended, until the slice ends. */
void qdma_engine_run(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_MM_H */
