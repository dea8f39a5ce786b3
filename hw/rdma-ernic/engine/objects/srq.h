/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared receive queues, those of XRC among them, and their limit.
 */
#ifndef ERNIC_OBJECTS_SRQ_H
#define ERNIC_OBJECTS_SRQ_H

#include "objects/wq.h"

struct ErnicSrq {
    bool used;
    bool error;                 /* the ring could not be read */
    uint32_t uctx;
    uint32_t pd;
    uint32_t limit;             /* 0: disarmed */
    uint32_t refs;              /* queue pairs */
    uint32_t xrcd;              /* XRC domain, a PD of context 0; 0: none */
    uint32_t cq;                /* with xrcd */
    ErnicWq wq;
    ErnicEvents events;
};

/* A new SRQ, as the interface describes it after its checks. */
typedef struct ErnicSrqInit {
    uint32_t uctx, pd;
    uint32_t limit;             /* at most the depth; 0: disarmed */
    uint32_t xrcd, cq;          /* XRC only; else 0 */
} ErnicSrqInit;

/*
 * Create SRQ *@srqn with the ring @wq, whose pages it owns from now on.
 * ERNIC_ERR_NO_RESOURCE: all numbers are used, and the pages of @wq are free.
 */
uint8_t ernic_srq_add(Ernic *e, const ErnicSrqInit *init, ErnicWq *wq, uint32_t *srqn);
/* Arm the limit of SRQ @srqn, which has @left requests; the event may follow at once. */
void ernic_srq_set_limit(Ernic *e, uint32_t srqn, uint32_t limit, uint32_t left);

uint8_t ernic_srq_create(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd, uint32_t *srqn);
/* Change the limit or, if a depth is given, the ring. */
uint8_t ernic_srq_modify(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd);
uint8_t ernic_srq_destroy(Ernic *e, uint32_t uctx, uint32_t srqn);
ErnicSrq *ernic_srq_get(Ernic *e, uint32_t uctx, uint32_t srqn);
/* Whether @srqn is an SRQ in XRC domain @xrcd. */
bool ernic_srq_in_domain(const Ernic *e, uint32_t srqn, uint32_t xrcd);
/*
 * Raise the limit event, once, if @left, the number of requests of SRQ @srqn, is
 * below its limit. An interface calls it after taking a request and on arming the limit.
 */
void ernic_srq_check_limit(Ernic *e, uint32_t srqn, uint32_t left);
/*
 * The ring of SRQ @srqn could not be read: raise SRQ_ERR; it is not used again. Each
 * queue pair that needs a request of it from now on goes to Error.
 */
void ernic_srq_fail(Ernic *e, uint32_t srqn);
/*
 * The same as ernic_rq_take(), for an SRQ. Falling below the limit raises SRQ_LIMIT,
 * once. A ring that cannot be read raises SRQ_ERR and is not used again. So does a
 * record. The result of an SRQ that failed is false, and recv->fault is set.
 */
bool ernic_srq_take(Ernic *e, uint32_t srqn, ErnicRecv *recv);

#endif /* ERNIC_OBJECTS_SRQ_H */
