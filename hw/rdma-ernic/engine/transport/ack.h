/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Acknowledge generation: sends the responses, ACKs, NAKs and CNPs that a queue pair
 * owes.
 */
#ifndef ERNIC_TRANSPORT_ACK_H
#define ERNIC_TRANSPORT_ACK_H

#include "base/fault.h"
#include "objects/qp.h"

/* Whether @qp owes its peer a packet. */
static inline bool ernic_ack_owes(const ErnicQp *qp)
{
    const ErnicAckState *ack = &qp->ack;

    return ack->owed || ack->rd_pending || ack->nak || ack->cnp_owed ||
           ack->last.owed;
}

/* Send of these packets what fits; true: there is more to do at once. */
bool ernic_ack_step(Ernic *e, ErnicQp *qp);
/* Owe nothing. After stop(), the acknowledgement that last() has noted is still sent. */
void ernic_ack_reset(ErnicQp *qp);
void ernic_ack_stop(ErnicQp *qp);
/* Owe an ACK of everything served: at once, or within @delay ns (ERNIC_NEVER: no ACK). */
void ernic_ack_owe(Ernic *e, ErnicQp *qp);
void ernic_ack_owe_within(Ernic *e, ErnicQp *qp, uint64_t delay);
/* Owe a NAK of the expected PSN. @fault, or none, takes effect after it has left. */
void ernic_ack_owe_nak(Ernic *e, ErnicQp *qp, uint8_t syndrome, ErnicFault fault);
/* No NAK is owed any more: the missing packet has arrived. */
void ernic_ack_cancel_nak(ErnicQp *qp);
/* Owe a CNP: a packet with a congestion mark has arrived. */
void ernic_ack_owe_cnp(Ernic *e, ErnicQp *qp);
/* Whether a NAK has left whose fault takes effect now. */
static inline bool ernic_ack_has_fault(const ErnicQp *qp)
{
    return qp->ack.fault && !qp->ack.nak;
}

/* Return that fault, once. */
ErnicFault ernic_ack_take_fault(ErnicQp *qp);
/* An ACK whose deadline has passed is owed. */
void ernic_ack_due(Ernic *e, ErnicQp *qp);
/*
 * @qp is about to stop responding. Note an acknowledgement of everything that it has
 * served; its next turn, in Error, sends it. Without it, a peer that repeats its
 * requests gets no answer. If the context is @going away, the packet goes into the
 * queue of the device instead (tx.h).
 */
void ernic_ack_last(Ernic *e, ErnicQp *qp, bool going);
/* Send the packets of that queue, as far as the link takes them. */
void ernic_ack_left(Ernic *e);

#endif /* ERNIC_TRANSPORT_ACK_H */
