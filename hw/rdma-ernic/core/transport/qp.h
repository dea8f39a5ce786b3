/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What every role needs of a queue pair: its path, its completions, its deadline.
 */
#ifndef ERNIC_TRANSPORT_QP_H
#define ERNIC_TRANSPORT_QP_H

#include "base/device.h"
#include "base/fault.h"
#include "base/wc.h"
#include "objects/qp.h"
#include "wire/headers.h"
#include "hw/rdma-ernic/ernic_abi.h"

uint32_t ernic_qp_mtu(const ErnicQp *qp);       /* bytes */
/* Headers of a path; false: @av names no valid GID of this port. */
bool ernic_qp_path(Ernic *e, const ErnicQp *qp, const ErnicAv *av,
                   ErnicPath *path);
/*
 * The protection domain of memory that peers name: that of the queue pair; for
 * an XRC target that of SRQ @xrc_srq. False: the SRQ is not of its domain (A14).
 */
bool ernic_qp_remote_pd(const Ernic *e, const ErnicQp *qp, uint32_t xrc_srq,
                        uint32_t *pd);
void ernic_qp_event(Ernic *e, ErnicQp *qp, uint8_t type);
/* Counts @fault; the status of the completion that tells of it. */
uint8_t ernic_qp_fault_status(Ernic *e, ErnicFault fault);
/* A fault was found in @pkt (NULL: in none): what the face will call it. */
void ernic_qp_note_fault(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                         ErnicFault fault);
/* The P_Key of the packets that @qp sends. */
uint16_t ernic_qp_pkey(const Ernic *e, const ErnicQp *qp);
/* One request has ended: its completion, as the face has it. */
void ernic_qp_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                            ErnicFault fault);
void ernic_qp_complete_recv(Ernic *e, ErnicQp *qp, ErnicWc *wc,
                            ErnicFault fault);
/*
 * The face's post() of @wc: now, or under the timing model when it has come to
 * its place, which is not before @after.
 */
void ernic_qp_post(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                   ErnicTimedAfter after);
/* Timing model: post the completions that are due by @until. */
void ernic_qp_post_due(Ernic *e, uint64_t until);
/* Take the next receive request from the RQ or SRQ into rq.recv. */
bool ernic_qp_take_recv(Ernic *e, ErnicQp *qp);
/* Forget it: its SRQ is gone. */
void ernic_qp_drop_recv(ErnicQp *qp);
/* The earliest of the queue pair's deadlines has changed. */
void ernic_qp_timer(Ernic *e, ErnicQp *qp);
/* The deadline that was set has passed, or is none any more. */
void ernic_qp_timer_expired(ErnicQp *qp);
/* When an ACK timeout that begins now is over, ns; ERNIC_NEVER: there is none. */
uint64_t ernic_qp_ack_deadline(const Ernic *e, const ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_QP_H */
