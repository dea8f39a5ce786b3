/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Methods that an interface may share with others: what they do for verbs, or nothing.
 * interfaces/interface.h has their contracts.
 */
#ifndef ERNIC_INTERFACES_COMMON_DEFAULTS_H
#define ERNIC_INTERFACES_COMMON_DEFAULTS_H

#include "interfaces/interface.h"

/* Takes the address vector of the request; the whole message is payload. */
ErnicFault ernic_default_datagram(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                       ErnicPath *path, ErnicPkt *pkt, uint32_t *off);
/* Reads through the keys of the gather list. */
ErnicFault ernic_default_gather(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                     uint64_t off, const ErnicPkt *pkt, uint8_t *to);
/* No limit but the window. */
uint32_t ernic_default_outstanding(const ErnicQp *qp);
/* Never. */
bool ernic_default_retry_forever(const Ernic *e, const ErnicQp *qp);
/*
 * For complete_send(): post a completion of @wqe, with the @index and @opcode given.
 * That of a successful request waits for its event (ErnicTimedAfter).
 */
void ernic_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe, uint32_t index,
                         uint8_t opcode, ErnicFault fault);
/* Posts to the completion queue of the queue pair, or (XRC) of the message's SRQ. */
void ernic_default_complete_recv(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                                      ErnicWc *wc, ErnicFault fault);
/* After an overrun, the completion queue takes no more: the queue pair fails. */
void ernic_default_post(Ernic *e, uint32_t cqn, const ErnicWc *wc);
/* The 40 bytes of a GRH. */
uint32_t ernic_default_recv_head(const ErnicPkt *pkt, const ErnicTrain *train,
                                      uint32_t ib_len, uint8_t *head);
/* The ACK is due at once if the packet asks for one, else never. */
uint64_t ernic_default_ack_delay(const Ernic *e, const ErnicPkt *pkt);
/* The port's P_Key table: the entry of the queue pair; of QP1, any entry. */
uint16_t ernic_default_pkey(const Ernic *e, const ErnicQp *qp);
bool ernic_default_pkey_ok(const Ernic *e, const ErnicQp *qp, uint16_t pkey);
/* Form, ICRC and number, each with its reason to drop the packet. */
ErnicVerdict ernic_default_check_packet(Ernic *e, const ErnicArrival *a);
/* Owe a CNP; cut the rate (DCQCN). */
void ernic_default_marked(Ernic *e, ErnicQp *qp);
void ernic_default_cnp(Ernic *e, ErnicQp *qp);
/* 0. */
uint8_t ernic_default_fault_code(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                                      ErnicFault fault);
/* Send the last ACK, unless software missed completions: a CQ has overrun. */
void ernic_default_fatal(Ernic *e, ErnicQp *qp, ErnicFault fault);
/* Nothing. */
void ernic_default_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
void ernic_default_came(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
void ernic_default_pressed(Ernic *e);
void ernic_default_refused(Ernic *e, const ErnicArrival *a, const ErnicVerdict *v);

/* Methods that the tables of the verbs and of the mlx5 interface have in common. */
#define ERNIC_VERBS_METHODS \
    .keys = &ernic_mr_keys, \
    .recv_requests = true, \
    .send_queue_error = true, \
    .datagram = ernic_default_datagram, \
    .gather = ernic_default_gather, \
    .outstanding = ernic_default_outstanding, \
    .retry_forever = ernic_default_retry_forever, \
    .complete_recv = ernic_default_complete_recv, \
    .recv_head = ernic_default_recv_head, \
    .ack_delay = ernic_default_ack_delay, \
    .post = ernic_default_post, \
    .pkey = ernic_default_pkey, \
    .pkey_ok = ernic_default_pkey_ok, \
    .sent = ernic_default_sent, \
    .pressed = ernic_default_pressed, \
    .check_packet = ernic_default_check_packet, \
    .came = ernic_default_came, \
    .refused = ernic_default_refused, \
    .marked = ernic_default_marked, \
    .cnp = ernic_default_cnp, \
    .fault_code = ernic_default_fault_code, \
    .fatal = ernic_default_fatal

#endif /* ERNIC_INTERFACES_COMMON_DEFAULTS_H */
