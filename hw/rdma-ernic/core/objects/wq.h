/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive requests: a queue pair's own ring, and shared receive queues with
 * their limit.
 */
#ifndef ERNIC_RQ_H
#define ERNIC_RQ_H

#include "objects/buf.h"
#include "objects/dma.h"
#include "objects/eq.h"
#include "hw/rdma-ernic/ernic_abi.h"

/*
 * A ring of requests in guest memory and its counters, which run freely. They count
 * units of the face: one for each request, or the blocks that requests are made of.
 */
typedef struct ErnicWq {
    ErnicBuf buf;
    uint32_t depth;             /* units, a power of two; 0: none */
    uint32_t stride;            /* bytes of a unit */
    uint32_t pi;                /* written by the doorbell */
    uint32_t ci;                /* next to take; send: the oldest request that is
                                   not complete, which counts requests */
} ErnicWq;

/*
 * Store a producer counter that the guest wrote: at least pi, at most @done
 * plus the depth. ERNIC_ERR_FULL else, and the old one stands.
 */
uint8_t ernic_wq_produce(ErnicWq *wq, uint32_t done, uint32_t pi);

/* One receive request, private copy. */
typedef struct ErnicRecv {
    uint64_t wr_id;
    uint32_t index;
    uint32_t len;               /* bytes of all SGEs */
    uint8_t num_sge;
    uint8_t fault;              /* ErnicFault found in fetching */
    ErnicSge sge[ERNIC_MAX_SGE];
} ErnicRecv;

/*
 * Take the oldest request; false: none is posted. It is consumed even if bad,
 * and then has no SGEs and recv->fault.
 */
bool ernic_rq_take(Ernic *e, ErnicWq *wq, ErnicRecv *recv);

struct ErnicSrq {
    bool used;
    bool error;                 /* the ring did not answer */
    uint32_t uctx;
    uint32_t pd;
    uint32_t limit;             /* 0: disarmed */
    uint32_t refs;              /* queue pairs */
    uint32_t xrcd;              /* XRC domain, a PD of context 0; 0: none */
    uint32_t cq;                /* with xrcd */
    ErnicWq wq;
    ErnicEvents events;
};

uint8_t ernic_srq_create(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd, uint32_t *srqn);
/* The limit or, with a depth, the ring. */
uint8_t ernic_srq_modify(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd);
uint8_t ernic_srq_destroy(Ernic *e, uint32_t uctx, uint32_t srqn);
ErnicSrq *ernic_srq_get(Ernic *e, uint32_t uctx, uint32_t srqn);
/* Whether @srqn is an SRQ in XRC domain @xrcd. */
bool ernic_srq_in_domain(const Ernic *e, uint32_t srqn, uint32_t xrcd);
/*
 * The limit event, once, if SRQ @srqn has fewer than its limit of requests, @left.
 * A face calls it after it has taken one, and when software arms the limit.
 */
void ernic_srq_check_limit(Ernic *e, uint32_t srqn, uint32_t left);
/* The queue of SRQ @srqn did not answer: SRQ_ERR; nothing more is taken from it. */
void ernic_srq_fail(Ernic *e, uint32_t srqn);
/*
 * As ernic_rq_take(); falling below the limit raises SRQ_LIMIT, once. A ring
 * that does not answer raises SRQ_ERR; nothing is taken from it thereafter.
 */
bool ernic_srq_take(Ernic *e, uint32_t srqn, ErnicRecv *recv);

#endif /* ERNIC_RQ_H */
