/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive requests: a queue pair's own ring, and shared receive queues with
 * their limit.
 */
#ifndef ERNIC_OBJECTS_WQ_H
#define ERNIC_OBJECTS_WQ_H

#include "objects/buf.h"
#include "objects/dma.h"
#include "objects/eq.h"
#include "hw/rdma-ernic/ernic_abi.h"

/*
 * A ring of requests in guest memory, and its free-running counters. They count
 * units, as the interface defines them: whole requests, or the blocks of requests.
 */
typedef struct ErnicWq {
    ErnicBuf buf;
    uint32_t depth;             /* units, a power of two; 0: none */
    uint32_t stride;            /* bytes of a unit */
    uint64_t record;            /* address of its struct ernic_record (verbs); 0: none */
    uint32_t pi;                /* written by the doorbell, or from the record */
    uint32_t ci;                /* receive: the next unit to take; send: the
                                   oldest incomplete request, in requests */
} ErnicWq;

/*
 * Store a producer counter from the guest. It is at least pi and at most @done plus
 * the depth; otherwise ERNIC_ERR_FULL, and the old one stays.
 */
uint8_t ernic_wq_produce(ErnicWq *wq, uint32_t done, uint32_t pi);

/* The result of a look at a record. */
typedef enum ErnicLook {
    ERNIC_LOOK_NOTHING,
    ERNIC_LOOK_MORE,            /* pi has grown */
    ERNIC_LOOK_BAD,             /* the index is not valid, and pi stays */
    ERNIC_LOOK_DMA,             /* the record cannot be read */
} ErnicLook;

/* Take the producer counter of the record of @wq, which has one. */
ErnicLook ernic_wq_look(Ernic *e, ErnicWq *wq);
/*
 * Ask software, in that record, to ring for the request after those that are known.
 * Requests that it posts meanwhile may need another look. False: the DMA has failed.
 */
bool ernic_wq_ask_ring(Ernic *e, const ErnicWq *wq);
/* Whether a command may name @record as the address of a record, or 0; a status. */
uint8_t ernic_wq_check_record(const Ernic *e, uint64_t record);

/*
 * SGEs of a request, at most: those of the mlx5 interface. ERNIC_MAX_SGE: verbs
 * interface.
 */
#define ERNIC_RECV_SGE  32

/* One receive request, private copy. */
struct ErnicRecv {
    uint64_t wr_id;
    uint32_t index;
    uint32_t len;               /* bytes of all SGEs */
    uint8_t num_sge;
    uint8_t fault;              /* ErnicFault found on fetch */
    ErnicSge sge[ERNIC_RECV_SGE];
};

/*
 * Take the oldest request; false: none is posted. A bad request is consumed too,
 * with recv->fault set and without SGEs.
 */
bool ernic_rq_take(Ernic *e, ErnicWq *wq, ErnicRecv *recv);

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
/* The ring of SRQ @srqn could not be read: raise SRQ_ERR; it is not used again. */
void ernic_srq_fail(Ernic *e, uint32_t srqn);
/*
 * The same as ernic_rq_take(), for an SRQ. Falling below the limit raises SRQ_LIMIT,
 * once. A ring that cannot be read raises SRQ_ERR and is not used again. So does a
 * record: then the result is false, and recv->fault is set.
 */
bool ernic_srq_take(Ernic *e, uint32_t srqn, ErnicRecv *recv);

#endif /* ERNIC_OBJECTS_WQ_H */
