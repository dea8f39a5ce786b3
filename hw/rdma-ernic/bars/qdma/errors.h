/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Errors of the QDMA: status registers and the error interrupt.
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
    QDMA_ERR_C2H_DESC,          /* a packet whose descriptors cannot be used */
    QDMA_ERR_C2H_COUNT,         /* a packet that needs too many buffers */
    QDMA_ERR_C2H_PORT,          /* a packet of another port than the queue's */
    QDMA_ERR_CMPT_QUEUE,        /* a doorbell of a completion ring that is not valid */
    QDMA_ERR_CMPT_FULL,         /* a completion without a place */
    QDMA_ERR_CMPT_CIDX,         /* a consumer index beyond what was written */
    QDMA_ERR_INTERRUPT,         /* an interrupt ring that cannot be written */
    QDMA_ERRORS
} QdmaError;

/* Reports an error; @r may be NULL. */
void qdma_error(ErnicPci *d, QdmaError error, const QdmaRing *r);
/* The error that the queue shows, if it stops. */
uint32_t qdma_error_of_queue(QdmaError error);
/* Raises the error interrupt if it is armed and there is a cause. */
void qdma_error_interrupt(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_ERRORS_H */
