/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue as its engine uses it: the next descriptor, and reports to software, status and
 * interrupt, also of an error.
 */
#ifndef ERNIC_BARS_QDMA_REPORT_H
#define ERNIC_BARS_QDMA_REPORT_H

#include "bars/qdma/errors.h"
#include "bars/qdma/queue.h"

/*
 * Reads the descriptor at CIDX, of @len bytes, for the engine of memory or of streams in
 * whose @turns the queue waits. False: there is none that the engine can execute; the
 * queue does not wait any more.
 */
bool qdma_ring_fetch(ErnicPci *d, const QdmaRing *r, ErnicQdmaTurns *turns, bool mm,
                     void *desc, uint32_t len);
/* The descriptor at CIDX is complete: advances, reports it if that is due. */
void qdma_ring_complete(ErnicPci *d, const QdmaRing *r);
/* Raises an interrupt that waits for being armed. */
void qdma_ring_armed(ErnicPci *d, const QdmaRing *r);
/* Reports an error; the queue does nothing until its context is written again. */
void qdma_queue_fails(ErnicPci *d, QdmaError error, const QdmaRing *r);

#endif /* ERNIC_BARS_QDMA_REPORT_H */
