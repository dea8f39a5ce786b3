/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reports of a queue to software: status and interrupt, also of an error.
 */
#ifndef ERNIC_BARS_QDMA_REPORT_H
#define ERNIC_BARS_QDMA_REPORT_H

#include "bars/qdma/errors.h"
#include "bars/qdma/queue.h"

/* The descriptor at CIDX is complete: advances, reports it if that is due. */
void qdma_ring_complete(ErnicPci *d, const QdmaRing *r);
/* Raises an interrupt that waits for being armed. */
void qdma_ring_armed(ErnicPci *d, const QdmaRing *r);
/* Reports an error; the queue does nothing until its context is written again. */
void qdma_queue_fails(ErnicPci *d, QdmaError error, const QdmaRing *r);

#endif /* ERNIC_BARS_QDMA_REPORT_H */
