/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder: serves request packets of the peer.
 */
#ifndef ERNIC_TRANSPORT_RESPONDER_H
#define ERNIC_TRANSPORT_RESPONDER_H

#include "base/device.h"
#include "base/fault.h"
#include "wire/headers.h"

/* Serve one inbound request packet, which came in @train. */
void ernic_responder_packet(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            const ErnicTrain *train);
/* Act on @fault, which the interface has found in request @pkt. */
void ernic_responder_refuse(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            ErnicFault fault);
/* No message is open; the next packet has PSN @psn; @msn messages have been served. */
void ernic_responder_reset(ErnicQp *qp);
void ernic_responder_expect(ErnicQp *qp, uint32_t psn);
void ernic_responder_count_from(ErnicQp *qp, uint32_t msn);
/* Answer the next gap with a NAK, even if one has been sent. */
void ernic_responder_allow_nak(ErnicQp *qp);
/* SRQ @srqn is destroyed: drop the open messages of XRC targets that use it. */
void ernic_responder_forget_srq(Ernic *e, uint32_t srqn);
/* The NAK of a fault that ends the queue pair has left: the fault takes effect. */
void ernic_responder_nak_sent(Ernic *e, ErnicQp *qp);
/*
 * Whether First, Middle, Last and Only packets come in order (9.7.4.1.4 and 9.8.2.2.4).
 */
bool ernic_responder_in_sequence(const ErnicQp *qp, const ErnicPkt *pkt);
/*
 * Whether the payload has the length that the path MTU and its segment require, and
 * whether it is within the length of the RETH (9.7.4.1.6).
 */
bool ernic_responder_payload_fits(const ErnicQp *qp, const ErnicPkt *pkt);
bool ernic_responder_length_fits(const ErnicQp *qp, const ErnicPkt *pkt);

#endif /* ERNIC_TRANSPORT_RESPONDER_H */
