/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parts of a queue pair's turn that need several roles.
 */
#ifndef ERNIC_TRANSPORT_TURN_H
#define ERNIC_TRANSPORT_TURN_H

#include "objects/qp.h"

/* Flush the requests that are posted now, whatever the state. */
void ernic_turn_flush_posted(ErnicQp *qp);
/* Flush nothing. */
void ernic_turn_reset(ErnicQp *qp);
/* Flush requests of both queues, a share of the slice at most; true: more are left. */
bool ernic_turn_flush(Ernic *e, ErnicQp *qp);
/* Send responses, ACKs and NAKs; true: there is more to do at once. */
bool ernic_turn_respond(Ernic *e, ErnicQp *qp);
/*
 * Send up to one train and complete requests that have left; true: there is more to do
 * at once.
 */
bool ernic_turn_send(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_TURN_H */
