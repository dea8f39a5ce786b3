/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rings of requests, their records, and receive requests.
 */
#ifndef ERNIC_OBJECTS_WQ_H
#define ERNIC_OBJECTS_WQ_H

#include "objects/buf.h"
#include "objects/dma.h"
#include "objects/eq.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* Strides of the verbs interface have this unit, in bytes. */
#define ERNIC_SLOT_UNIT 64

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

#endif /* ERNIC_OBJECTS_WQ_H */
