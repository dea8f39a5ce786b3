/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Errors of the QDMA: status registers, the error interrupt, and queues that stop.
 */
#ifndef ERNIC_BARS_QDMA_ERRORS_H
#define ERNIC_BARS_QDMA_ERRORS_H

#include "bars/qdma/queue.h"

typedef enum QdmaError {
    QDMA_ERR_FETCH,             /* a descriptor that is not in memory */
    QDMA_ERR_PARAM,             /* a kind of queue that does not exist here */
    QDMA_ERR_DMA,               /* data that are not in memory */
    QDMA_ERR_PIDX,              /* an index beyond the ring */
    QDMA_ERR_CANCEL,            /* a queue that is disabled or ends with work left */
    QDMA_ERR_QUEUE,             /* a queue that no function has */
    QDMA_ERR_CONTEXT,           /* a command for a context that does not exist */
    QDMA_ERRORS
} QdmaError;

/* Reports an error without a queue that stops; @r may be NULL. */
void qdma_error(ErnicPci *d, QdmaError error, const QdmaRing *r);
/* The same, and the queue does nothing until its context is written again. */
void qdma_queue_fails(ErnicPci *d, QdmaError error, const QdmaRing *r);
/* Raises the error interrupt if it is armed and there is a cause. */
void qdma_error_interrupt(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_ERRORS_H */
