/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester: sends the requests of a queue pair.
 */
#ifndef ERNIC_TRANSPORT_REQUESTER_H
#define ERNIC_TRANSPORT_REQUESTER_H

#include "objects/qp.h"
#include "wire/headers.h"

/* What one step of the requester has come to. */
typedef enum ErnicReqStep {
    ERNIC_REQ_SENT,             /* a packet is on its way */
    ERNIC_REQ_LOCAL,            /* a local operation was executed: complete it */
    ERNIC_REQ_AGAIN,            /* no packet, but there was progress */
    ERNIC_REQ_STOP,             /* blocked_on says why */
    ERNIC_REQ_FAULT,            /* the same: a request is at fault, complete it
                                   after all before it */
    ERNIC_REQ_IDLE,             /* the queue pair may not send at all now */
} ErnicReqStep;

/* Send, fetch, start or pass one request, or stop. */
ErnicReqStep ernic_requester_step(Ernic *e, ErnicQp *qp);
/* Begin @pkt, a request packet of @wqe: all that does not depend on its operation. */
void ernic_requester_fill(Ernic *e, const ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicPkt *pkt);
/* No request is fetched; the first packet that is sent has PSN @psn. */
void ernic_requester_reset(ErnicQp *qp);
void ernic_requester_begin(ErnicQp *qp, uint32_t psn);
/* The state forbids to send. */
void ernic_requester_stop(ErnicQp *qp);
/* Send nothing until the page fault of @qp is resumed. */
void ernic_requester_wait_page(ErnicQp *qp);
/* The oldest request that is not complete, fetched if need be; NULL: none. */
ErnicWqe *ernic_requester_oldest(Ernic *e, ErnicQp *qp);
/* wq.ci has moved: nothing before it is fetched, started or sent any more. */
void ernic_requester_passed(ErnicQp *qp);
/* Fetch anew from wq.ci on: requests that were fetched are flushed. */
void ernic_requester_restart(ErnicQp *qp);
/* Go back to the PSN that was asked for, but not before una_psn. */
void ernic_requester_rewind(ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_REQUESTER_H */
