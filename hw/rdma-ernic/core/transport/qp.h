/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What every role does to a queue pair: state changes, completions, flushing,
 * its path and its deadline.
 */
#ifndef ERNIC_QP_H
#define ERNIC_QP_H

#include "base/device.h"
#include "base/fault.h"
#include "base/wc.h"
#include "objects/qp.h"
#include "wire/headers.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* ---- the context's life (qp_commands.c) ---------------------------------- */

/*
 * The context of @qpn, which is not in use, in Reset, with these rings, whose
 * pages it owns from now on; all else of it is 0.
 */
ErnicQp *ernic_qp_open(Ernic *e, uint32_t qpn, uint8_t type,
                       const ErnicWq *sq, const ErnicWq *rq);
/* Back to not in use. */
void ernic_qp_close(Ernic *e, ErnicQp *qp);
/*
 * Forget all that a queue pair has done and was told, as on the way to Reset:
 * queues are empty, attributes gone, type 2 windows unbound. Completions that
 * were written stay: their ring is the guest's, and its driver skips those of
 * a queue pair that it resets.
 */
void ernic_qp_reset_context(Ernic *e, ErnicQp *qp);

/* ---- qp.c: what every role does to a queue pair -------------------------- */

uint32_t ernic_qp_mtu(const ErnicQp *qp);       /* bytes */
/* Headers of a path; false: @av names no valid GID of this port. */
bool ernic_qp_path(Ernic *e, const ErnicQp *qp, const ErnicAv *av,
                   ErnicPath *path);
void ernic_qp_event(Ernic *e, ErnicQp *qp, uint8_t type);
/* The only place that changes the state: traces, marks work. */
void ernic_qp_set_state(Ernic *e, ErnicQp *qp, uint8_t state);
/* To Error by @fault: event, and both queues are flushed in later steps. */
void ernic_qp_error(Ernic *e, ErnicQp *qp, ErnicFault fault);
/* Flush up to @budget requests of both queues; true: more are left. */
bool ernic_qp_flush_step(Ernic *e, ErnicQp *qp, uint32_t budget);
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
/*
 * Carry out what the fault table says of a fault in an inbound message: the
 * taken receive request completes in error, the state changes.
 */
void ernic_qp_recv_fault(Ernic *e, ErnicQp *qp, ErnicFault fault);
/*
 * An access for @qp was ABSENT, as e->absent has it: ask software, unless it is
 * being asked already for what @qp met before. True: to be tried again when it
 * has answered; false: it has, and the page will not be there.
 */
bool ernic_qp_page_fault(Ernic *e, ErnicQp *qp);
/* Is an answer of software's still to come? */
static inline bool ernic_qp_page_asked(const ErnicQp *qp)
{
    return qp->events.page.state == ERNIC_PAGE_ASKED;
}
/* There is nobody left to answer: what waits for pages tries again, and finds out. */
void ernic_qp_pages_orphaned(Ernic *e);
/* Software's answer; one to what was not asked, or not so, changes nothing. */
uint8_t ernic_qp_page_resume(Ernic *e,
                             const struct ernic_cmd_page_resume *cmd);
/* Software has brought pages: of these none is failed any more. */
void ernic_qp_pages_came(Ernic *e, const struct ernic_cmd_mr_pages *cmd);
/* The earliest of the queue pair's deadlines has changed. */
void ernic_qp_timer(Ernic *e, ErnicQp *qp);
/* When an ACK timeout that begins now is over, ns; ERNIC_NEVER: there is none. */
uint64_t ernic_qp_ack_deadline(const Ernic *e, const ErnicQp *qp);
/* Ask the requester to go back to @psn (IBTA 9.7.5.1). */
void ernic_qp_rewind(Ernic *e, ErnicQp *qp, uint32_t psn);

/* Decode the next request into its slot of the window; false: there is none. */
bool ernic_sq_fetch(Ernic *e, ErnicQp *qp);
/* The oldest request, @wqe, has ended: its units are free. */
void ernic_sq_retire(ErnicSendQueue *sq, const ErnicWqe *wqe);

#endif /* ERNIC_QP_H */
