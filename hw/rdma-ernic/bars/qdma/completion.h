/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion rings of C2H streams: entries, and when status and interrupt report them.
 */
#ifndef ERNIC_BARS_QDMA_COMPLETION_H
#define ERNIC_BARS_QDMA_COMPLETION_H

#include "engine/base/budget.h"
#include "bars/qdma/qdma.h"
#include "compat/qemu.h"

/* A part of the context, whose other fields the completions alone use. */
FIELD(CMPT3, VALID, 28, 1)

/* Whether queue @number can complete a packet: a valid context that its function has. */
bool qdma_cmpt_valid(ErnicQdma *q, uint32_t number);
/*
 * A packet of @len bytes is in memory, or, with @error, will never be. False: there
 * is no completion for it.
 */
bool qdma_cmpt_post(ErnicPci *d, uint32_t number, uint32_t len, bool error);
/* Whether software can have read the entries of a valid ring up to index @ci. */
bool qdma_cmpt_may_read(ErnicQdma *q, uint32_t number, uint32_t ci);
/* Software has read entries, and may arm the interrupt. */
void qdma_cmpt_doorbell(ErnicPci *d, uint32_t number, uint32_t value);
/* The consumer index, as the doorbell has it. */
uint32_t qdma_cmpt_cidx(ErnicQdma *q, uint32_t number);
/* The index of its ring's size in the table of sizes. */
uint32_t qdma_cmpt_size(ErnicQdma *q, uint32_t number);
/* The function of the context. */
uint32_t qdma_cmpt_function(ErnicQdma *q, uint32_t number);
/* Software writes the context, or cancels the timer. */
void qdma_cmpt_timer_ends(ErnicQdma *q, uint32_t number);
/* Reports of the timers that have ended; the first of the others is set. */
void qdma_cmpt_timers(ErnicPci *d, ErnicBudget *work);

#endif /* ERNIC_BARS_QDMA_COMPLETION_H */
