/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Acknowledge generation: sends the responses, ACKs, NAKs and CNPs that a queue
 * pair owes.
 */
#ifndef ERNIC_ACK_H
#define ERNIC_ACK_H

#include "base/device.h"

/* Send responses, ACKs and NAKs; true: there is more to do at once. */
bool ernic_ack_step(Ernic *e, ErnicQp *qp);
/* An ACK whose deadline has passed is owed. */
void ernic_ack_due(Ernic *e, ErnicQp *qp);
/*
 * The queue pair stops responding. Acknowledge first what software may have seen
 * complete, unless a train waits for the link: a peer that sends it again would
 * find nobody.
 */
void ernic_ack_last(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_ACK_H */
