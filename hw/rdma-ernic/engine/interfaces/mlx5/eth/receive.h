/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Received Ethernet frames: from the flow tables to receive queues.
 */
#ifndef ERNIC_INTERFACES_MLX5_RECEIVE_H
#define ERNIC_INTERFACES_MLX5_RECEIVE_H

#include "base/device.h"

/*
 * Methods of the interface. All frames of the link are wanted, for the counters; and
 * those of the function itself if they may loop back.
 */
bool ernic_mlx5_wants_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                            const ErnicTrain *own);
void ernic_mlx5_take_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                           const ErnicTrain *own);

#endif /* ERNIC_INTERFACES_MLX5_RECEIVE_H */
