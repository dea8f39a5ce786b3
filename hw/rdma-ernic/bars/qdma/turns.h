/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queues that have work for an engine, which serves them in turn.
 */
#ifndef ERNIC_BARS_QDMA_TURNS_H
#define ERNIC_BARS_QDMA_TURNS_H

#include "bars/qdma/qdma.h"

void qdma_turns_set(ErnicQdmaTurns *t, uint32_t number, bool has_work);
bool qdma_turns_has(const ErnicQdmaTurns *t, uint32_t number);
/* The queue whose turn it is; false: none has work. */
bool qdma_turns_next(ErnicQdmaTurns *t, uint32_t *number);

#endif /* ERNIC_BARS_QDMA_TURNS_H */
