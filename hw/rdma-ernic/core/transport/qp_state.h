/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Changes of a queue pair's state, and the faults that cause them.
 */
#ifndef ERNIC_TRANSPORT_QP_STATE_H
#define ERNIC_TRANSPORT_QP_STATE_H

#include "base/fault.h"
#include "objects/qp.h"

/* Enter @state; ends what it does not allow, and marks the queue pair as ready. */
void ernic_qp_set_state(Ernic *e, ErnicQp *qp, uint8_t state);
/* In SQD: nothing is in flight any more; raises the event that was asked for. */
void ernic_qp_drained(Ernic *e, ErnicQp *qp);
/* To Error by @fault: raise the event; later turns flush both queues. */
void ernic_qp_error(Ernic *e, ErnicQp *qp, ErnicFault fault);
/*
 * Carry out what the fault table says of a fault in an inbound message: the
 * receive request that was taken completes in error, the state changes.
 */
void ernic_qp_recv_fault(Ernic *e, ErnicQp *qp, ErnicFault fault);

#endif /* ERNIC_TRANSPORT_QP_STATE_H */
