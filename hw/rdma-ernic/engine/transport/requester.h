/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester: sends the requests of a queue pair.
 */
#ifndef ERNIC_TRANSPORT_REQUESTER_H
#define ERNIC_TRANSPORT_REQUESTER_H

#include "objects/qp.h"
#include "wire/headers.h"

/* Result of one step of the requester. */
typedef enum ErnicReqStep {
    ERNIC_REQ_SENT,             /* a packet was built */
    ERNIC_REQ_LOCAL,            /* a local operation was executed: complete it */
    ERNIC_REQ_PART,             /* the same, but it is not complete yet */
    ERNIC_REQ_AGAIN,            /* progress without a packet */
    ERNIC_REQ_STOP,             /* blocked; see blocked_on */
    ERNIC_REQ_FAULT,            /* the same, by a faulty request: complete it after all
                                   before it */
    ERNIC_REQ_IDLE,             /* the queue pair may not send at all */
} ErnicReqStep;

/* Send, fetch, start or skip one request. */
ErnicReqStep ernic_requester_step(Ernic *e, ErnicQp *qp);
/* Fill in the fields of @pkt, a request packet of @wqe, that all operations share. */
void ernic_requester_fill(Ernic *e, const ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicPkt *pkt);
/* No request is fetched; the first packet that is sent has PSN @psn. */
void ernic_requester_reset(ErnicQp *qp);
void ernic_requester_begin(ErnicQp *qp, uint32_t psn);
/* The state does not permit sending. */
void ernic_requester_stop(ErnicQp *qp);
/* Send nothing until the page fault of @qp is resumed. */
void ernic_requester_wait_page(ErnicQp *qp);
/* The oldest request that is not complete, fetched if necessary; NULL: none. */
ErnicWqe *ernic_requester_oldest(Ernic *e, ErnicQp *qp);
/* wq.ci has advanced: advance all counters to it. */
void ernic_requester_passed(ErnicQp *qp);
/* Fetch again from wq.ci on. The caller flushes the requests that were fetched. */
void ernic_requester_restart(ErnicQp *qp);
/* Go back to rewind_psn, but not before una_psn. */
void ernic_requester_rewind(ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_REQUESTER_H */
