/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Services of a queue pair for all roles: its path, its completions, its deadline.
 */
#ifndef ERNIC_TRANSPORT_QP_H
#define ERNIC_TRANSPORT_QP_H

#include "base/device.h"
#include "base/fault.h"
#include "base/wc.h"
#include "objects/qp.h"
#include "wire/headers.h"
#include "wire/ib_tables.h"

/* The path MTU in bytes. */
static inline uint32_t ernic_qp_mtu(const ErnicQp *qp)
{
    return ernic_mtu_bytes(qp->attr.path_mtu);
}

/* Fill in the headers of a path; false: @av names no valid GID of this port. */
bool ernic_qp_path(Ernic *e, const ErnicQp *qp, const ErnicAv *av,
                   ErnicPath *path);
/*
 * The protection domain of memory that the peer names: that of the queue pair, or for
 * an XRC target that of SRQ @xrc_srq. False: the SRQ is not in its XRC domain (A14).
 */
bool ernic_qp_remote_pd(const Ernic *e, const ErnicQp *qp, uint32_t xrc_srq,
                        uint32_t *pd);
void ernic_qp_event(Ernic *e, ErnicQp *qp, uint8_t type);
/* Count @fault; returns the status of the completion that reports it. */
uint8_t ernic_qp_fault_status(Ernic *e, ErnicFault fault);
/* Note the interface's number of @fault, found in @pkt (NULL: in no packet). */
void ernic_qp_note_fault(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                         ErnicFault fault);
/* The P_Key of the packets that @qp sends. */
uint16_t ernic_qp_pkey(const Ernic *e, const ErnicQp *qp);
/* A request has ended: write its completion in the format of the interface. */
void ernic_qp_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                            ErnicFault fault);
void ernic_qp_complete_recv(Ernic *e, ErnicQp *qp, ErnicWc *wc,
                            ErnicFault fault);
/*
 * Pass @wc to the interface: at once, or under the timing model when it is through, and
 * not before @after.
 */
void ernic_qp_post(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                   ErnicTimedAfter after);
/* Timing model: post the completions that are due by @until. */
void ernic_qp_post_due(Ernic *e, uint64_t until);
/* Take the next receive request from the RQ or SRQ into rq.recv. */
bool ernic_qp_take_recv(Ernic *e, ErnicQp *qp);
/* Drop it: its SRQ is destroyed. */
void ernic_qp_drop_recv(ErnicQp *qp);
/* Update the timer: a deadline of the queue pair has changed. */
void ernic_qp_timer(Ernic *e, ErnicQp *qp);
/* No deadline is set any more: it has fired, or is not needed. */
void ernic_qp_timer_expired(ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_QP_H */
