/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Selection of the receive queue of a frame.
 */
#ifndef ERNIC_INTERFACES_MLX5_HASH_H
#define ERNIC_INTERFACES_MLX5_HASH_H

#include "interfaces/mlx5/eth/match.h"
#include "interfaces/mlx5/eth/objects.h"

/*
 * The hash of a frame with @headers, and what it covers in *@type: rss_hash_type of a
 * completion entry. Both are 0 if @tir hashes no frames of this kind.
 */
uint32_t ernic_mlx5_hash(const ErnicMlx5Tir *tir, const ErnicMlx5Headers *headers,
                         uint8_t *type);
/* The number of the receive queue for a frame with @hash. */
uint32_t ernic_mlx5_receive_queue(const Ernic *e, const ErnicMlx5Tir *tir, uint32_t hash);

#endif /* ERNIC_INTERFACES_MLX5_HASH_H */
