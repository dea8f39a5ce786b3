/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Acknowledge generation: sends the responses, ACKs, NAKs and CNPs that a queue
 * pair owes.
 */
#ifndef ERNIC_TRANSPORT_ACK_H
#define ERNIC_TRANSPORT_ACK_H

#include "base/device.h"

/* Send responses, ACKs and NAKs; true: there is more to do at once. */
bool ernic_ack_step(Ernic *e, ErnicQp *qp);
/* An ACK whose deadline has passed is owed. */
void ernic_ack_due(Ernic *e, ErnicQp *qp);
/*
 * @qp is about to stop responding. An acknowledgement of everything that it has
 * served is noted, to be sent in its next turn, in Error: a peer that repeats
 * its requests would get no answer. If the context is @going away, the packet
 * is put into the device's own queue instead (tx.h).
 */
void ernic_ack_last(Ernic *e, ErnicQp *qp, bool going);
/* Send the packets of that queue, as far as the link takes them. */
void ernic_ack_left(Ernic *e);

#endif /* ERNIC_TRANSPORT_ACK_H */
