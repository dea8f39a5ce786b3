/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory-mapped engines of the QDMA, one for each direction.
 */
#ifndef ERNIC_BARS_QDMA_MM_H
#define ERNIC_BARS_QDMA_MM_H

#include "engine/base/budget.h"
#include "bars/qdma/queue.h"

/* Whether their jobs in @q, of a saved state, are possible. */
bool qdma_mm_valid(const ErnicQdma *q);
/* A descriptor, or a part of one, of the engine of direction @dir. False: it has none. */
bool qdma_mm_step(ErnicPci *d, uint8_t dir, ErnicBudget *work);

#endif /* ERNIC_BARS_QDMA_MM_H */
