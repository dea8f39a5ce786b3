/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stream engines of the QDMA: packets between queues and the Ethernet ports.
 */
#ifndef ERNIC_BARS_QDMA_STREAM_H
#define ERNIC_BARS_QDMA_STREAM_H

#include "engine/base/budget.h"
#include "bars/qdma/qdma.h"

/* The result of a step of the H2C engine. */
typedef enum QdmaStep {
    QDMA_IDLE,                  /* nothing to do */
    QDMA_WORKED,
    QDMA_GONE,                  /* the function was reset or ejected meanwhile */
} QdmaStep;

/* Sends one packet on @port, of the queue whose turn it is. */
QdmaStep qdma_h2c_step(ErnicPci *d, uint32_t port, ErnicBudget *work);
/* The queue ends: its descriptor at CIDX will not be executed. */
void qdma_h2c_ends(ErnicPci *d, const QdmaRing *r);
/*
 * A frame arrives at @port: from ourselves, in the slice of @work, or (NULL) from its
 * cable.
 */
void qdma_c2h_packet(ErnicPci *d, uint32_t port, const uint8_t *frame, uint32_t len,
                     ErnicBudget *work);

#endif /* ERNIC_BARS_QDMA_STREAM_H */
