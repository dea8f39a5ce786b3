/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send queues of Ethernet frames: their turns, and the flushing of queues in error.
 */
#ifndef ERNIC_INTERFACES_MLX5_SEND_H
#define ERNIC_INTERFACES_MLX5_SEND_H

#include "interfaces/mlx5/eth/objects.h"

/*
 * Software has written the doorbell record of send queue @number, and to page @page. A
 * doorbell that is not valid is counted.
 */
void ernic_mlx5_eth_ring(Ernic *e, uint32_t page, uint32_t number);
/* The page with the doorbell of send queue @number; 0: there is no such queue. */
uint32_t ernic_mlx5_sq_page(const Ernic *e, uint32_t number);
/* Send queue @number may have been rung: take what its record announces. */
void ernic_mlx5_eth_take(Ernic *e, uint32_t number);
/*
 * Send queue @q leaves its reset, in which Linux leaves the counter of before in the
 * record. Without a doorbell of this queue it would announce old requests, so the device
 * clears it: nothing is posted.
 */
void ernic_mlx5_eth_ready(Ernic *e, const ErnicMlx5EthQueue *q);

/* Whether there is work that does not wait for the link. */
bool ernic_mlx5_eth_has_work(const Ernic *e);
/*
 * One turn of one queue: one frame, up to a train of a large packet, or some requests to
 * flush. False: there is no work.
 */
bool ernic_mlx5_eth_turn(Ernic *e);

#endif /* ERNIC_INTERFACES_MLX5_SEND_H */
