/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queues in the layout of the mlx5 interface: what the interface keeps beside the queue
 * pairs, completion queues and shared receive queues of the engine. The commands that
 * create an object fill in its record; the data path reads it.
 *
 * The engine's own fields have these meanings:
 *  - qp->sq.wq: depth and stride are those of blocks of 64 bytes, the unit of the send
 *    queue. sq.wq.buf is the buffer of the queue pair, with both rings.
 *  - qp->rq.wq: depth and stride are those of the receive ring; rq.wq.buf is empty.
 *    pi is the last value of the record that was read.
 *  - srq->wq: depth and stride of the slots, and their buffer; ci counts the requests
 *    that were taken.
 *  - cq->ci_addr: the doorbell record of the completion queue.
 *  - qp->flags: ERNIC_QPF_SQ_SIG_ALL is not set. Each request says whether it completes
 *    with an entry.
 */
#ifndef ERNIC_INTERFACES_MLX5_QUEUE_H
#define ERNIC_INTERFACES_MLX5_QUEUE_H

#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/layout/sizes.h"

/* Bytes of a block of the send queue, and of a completion entry. */
#define ERNIC_MLX5_BLOCK        64
#define ERNIC_MLX5_CQE          64
/* user_index of an object that has none: completions have the SRQ's number, or 0. */
#define ERNIC_MLX5_NO_INDEX     0xffffffu
/* The key that ends a list of data segments; no region has it. */
#define ERNIC_MLX5_END_KEY      0x100u

/* Values of a queue pair, by its number. */
typedef struct ErnicMlx5Qp {
    uint32_t uar;               /* the page with its doorbells */
    uint32_t user_index;        /* 24 bits, of its completions */
    uint64_t record;            /* address of its doorbell record, 8 bytes */
    /* Bytes of the buffer before each ring. */
    uint32_t sq_offset, rq_offset;
    bool fast_register;         /* fre: the kernel's; it may change regions */
    bool umr;                   /* of the type REG_UMR: regions of any domain */
} ErnicMlx5Qp;

/* Values of a completion queue. */
typedef struct ErnicMlx5Cq {
    uint32_t uar;
    /* Sequence number of the last request to notify, 0 to 3; 4: there was none. */
    uint8_t arm_number;
} ErnicMlx5Cq;

#define ERNIC_MLX5_NOT_ARMED    4

/* Values of a shared receive queue. */
typedef struct ErnicMlx5Srq {
    uint32_t user_index;        /* XRC: of its completions */
    uint64_t record;            /* address of its doorbell record, 4 bytes */
    uint16_t head;              /* slot of the next request: each slot names the one
                                   after it; 0 at first */
} ErnicMlx5Srq;

void ernic_mlx5_queues_init(ErnicMlx5Queues *queues, const ErnicConfig *cfg);
void ernic_mlx5_queues_fini(ErnicMlx5Queues *queues, const ErnicConfig *cfg);
/* The record of an object, whose number is in the range of the table. */
ErnicMlx5Qp *ernic_mlx5_qp(const Ernic *e, uint32_t qpn);
ErnicMlx5Cq *ernic_mlx5_cq(const Ernic *e, uint32_t cqn);
ErnicMlx5Srq *ernic_mlx5_srq(const Ernic *e, uint32_t srqn);

/* Count a doorbell of @kind for queue @number that page @page may not ring. */
void ernic_mlx5_bad_doorbell(Ernic *e, const char *kind, uint32_t page,
                             uint32_t number);
/*
 * A store to a doorbell of page @page; a doorbell that is not valid is counted. Send
 * queue: @value is the first 8 bytes of the last request's control segment, and the
 * producer counter is in the doorbell record. Completion queue: a request to notify.
 */
void ernic_mlx5_ring_sq(Ernic *e, uint32_t page, uint64_t value);
void ernic_mlx5_ring_cq(Ernic *e, uint32_t page, uint64_t value);

/* The page with the doorbell of the send queue of queue pair @qpn; 0: there is none. */
uint32_t ernic_mlx5_qp_page(const Ernic *e, uint32_t qpn);
/*
 * Queue pair @qpn, which has one, may have been rung: take what its record announces. In
 * a state without send requests it is not read, because software may still have to clear
 * it.
 */
void ernic_mlx5_take_sends(Ernic *e, uint32_t qpn);

/* Completion entries (cqe.c). */
extern const ErnicCqeOps ernic_cqe_mlx5;
/*
 * Report to software, in an entry, that the following ones are in another ring. The
 * caller then calls ernic_cq_set_ring(). False: there is no room for the entry.
 */
bool ernic_mlx5_cqe_resize(Ernic *e, uint32_t cqn);

#endif /* ERNIC_INTERFACES_MLX5_QUEUE_H */
