/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Changes of a queue pair's state, and the faults that cause them.
 */
#ifndef ERNIC_TRANSPORT_QP_STATE_H
#define ERNIC_TRANSPORT_QP_STATE_H

#include "base/fault.h"
#include "objects/qp.h"

/* Enter @state: end all work that it does not allow, and mark the queue pair as ready. */
void ernic_qp_set_state(Ernic *e, ErnicQp *qp, uint8_t state);
/* In SQD nothing is in flight any more: raise the event, if it was requested. */
void ernic_qp_drained(Ernic *e, ErnicQp *qp);
/* Enter Error by @fault and raise its event. Later turns flush both queues. */
void ernic_qp_error(Ernic *e, ErnicQp *qp, ErnicFault fault);
/*
 * Act on a fault in an inbound message by the fault table: complete the taken receive
 * request in error, and change the state.
 */
void ernic_qp_recv_fault(Ernic *e, ErnicQp *qp, ErnicFault fault);

#endif /* ERNIC_TRANSPORT_QP_STATE_H */
