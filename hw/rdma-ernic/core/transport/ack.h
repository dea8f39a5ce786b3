/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Acknowledge generation: sends the responses, ACKs, NAKs and CNPs that a queue
 * pair owes.
 */
#ifndef ERNIC_TRANSPORT_ACK_H
#define ERNIC_TRANSPORT_ACK_H

#include "base/device.h"
#include "base/fault.h"

/* Send responses, ACKs and NAKs; true: there is more to do at once. */
bool ernic_ack_step(Ernic *e, ErnicQp *qp);
/* Owe nothing; with stop, an acknowledgement that was noted by last() is still sent. */
void ernic_ack_reset(ErnicQp *qp);
void ernic_ack_stop(ErnicQp *qp);
/* Owe an ACK of all that is served, at once or within @delay ns (or ERNIC_NEVER). */
void ernic_ack_owe(Ernic *e, ErnicQp *qp);
void ernic_ack_owe_within(Ernic *e, ErnicQp *qp, uint64_t delay);
/* Owe a NAK of the expected PSN; @fault, or none, takes effect after it has left. */
void ernic_ack_owe_nak(Ernic *e, ErnicQp *qp, uint8_t syndrome, ErnicFault fault);
/* The packet that was missing has come: no NAK is owed any more. */
void ernic_ack_cancel_nak(ErnicQp *qp);
/* Owe a CNP: a packet came with a mark of congestion. */
void ernic_ack_owe_cnp(Ernic *e, ErnicQp *qp);
/* The fault whose NAK has left, once; NONE: there is none. */
ErnicFault ernic_ack_take_fault(ErnicQp *qp);
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
