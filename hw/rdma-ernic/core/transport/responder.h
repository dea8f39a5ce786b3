/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder: serves request packets of the peer.
 */
#ifndef ERNIC_TRANSPORT_RESPONDER_H
#define ERNIC_TRANSPORT_RESPONDER_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/dma.h"
#include "wire/headers.h"

/* Serve one inbound request packet, which came in @train. */
void ernic_responder_packet(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            const ErnicTrain *train);
/* Answer a packet that the face's own checks refuse with @fault. */
void ernic_responder_refuse(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            ErnicFault fault);
/* The NAK of a fault that ends the queue pair has left: the fault takes effect. */
void ernic_responder_nak_sent(Ernic *e, ErnicQp *qp);
/* Do First, Middle, Last and Only come in turn (9.7.4.1.4 and 9.8.2.2.4)? */
bool ernic_responder_in_sequence(const ErnicQp *qp, const ErnicPkt *pkt);
/*
 * Is the payload as long as the path MTU and the part of its message ask for;
 * and is it as long as the RETH says too (9.7.4.1.6)?
 */
bool ernic_responder_payload_fits(const ErnicQp *qp, const ErnicPkt *pkt);
bool ernic_responder_length_fits(const ErnicQp *qp, const ErnicPkt *pkt);

#endif /* ERNIC_TRANSPORT_RESPONDER_H */
