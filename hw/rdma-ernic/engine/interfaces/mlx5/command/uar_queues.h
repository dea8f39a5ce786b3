/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The send queues of each doorbell page. The store that rings a send queue says no more
 * than that: the counter is in the queue's record. So a page with few send queues can
 * ring by an event without a value, which costs a virtual machine less than a store that
 * the device executes; who gets it reads the records of the page (scan.h).
 */
#ifndef ERNIC_INTERFACES_MLX5_UAR_QUEUES_H
#define ERNIC_INTERFACES_MLX5_UAR_QUEUES_H

#include "interfaces/mlx5/command/mlx5.h"

/* The most send queues of a page with an event: to read more records costs too much. */
#define ERNIC_MLX5_UAR_QUEUES   16

typedef struct ErnicMlx5Uar {
    uint16_t count;             /* its send queues */
    bool crowded;               /* they were more than these, since there were none: */
    uint16_t number[ERNIC_MLX5_UAR_QUEUES];
} ErnicMlx5Uar;

/* All of this is derived from the queues. */
typedef struct ErnicMlx5UarQueues {
    ErnicMlx5Uar uar[ERNIC_MLX5_UAR_END];
    uint8_t events[ERNIC_MLX5_UAR_END / 8];     /* pages with an event: bit by number */
    uint32_t next;              /* queue whose record is read next; 0: none (scan.h) */
    bool again;                 /* and then all of them from the first one on */
} ErnicMlx5UarQueues;

/*
 * Send queue @number, which has its doorbell in @page, was created, or is gone. A page
 * that cannot be allocated is ignored.
 */
void ernic_mlx5_uar_add(Ernic *e, uint32_t page, uint32_t number);
void ernic_mlx5_uar_remove(Ernic *e, uint32_t page, uint32_t number);
/* @page was allocated, or deallocated; or all pages were deallocated. */
void ernic_mlx5_uar_changed(Ernic *e, uint32_t page);
void ernic_mlx5_uars_gone(Ernic *e);
/* There is no queue any more. */
void ernic_mlx5_uars_empty(Ernic *e);

#endif /* ERNIC_INTERFACES_MLX5_UAR_QUEUES_H */
