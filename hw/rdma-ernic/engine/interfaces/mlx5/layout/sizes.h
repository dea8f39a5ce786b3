/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sizes of requests and ranges of numbers, which the capabilities announce.
 */
#ifndef ERNIC_INTERFACES_MLX5_SIZES_H
#define ERNIC_INTERFACES_MLX5_SIZES_H

/*
 * Bytes of a segment, and of the longest request, in blocks. Linux's network device
 * needs 16 blocks. Its masks of the field ds have six bits, but mlx5_ib and the provider
 * grant requests of 64 segments and write the number as it is.
 */
#define ERNIC_MLX5_SEGMENT      16
#define ERNIC_MLX5_WQE_MAX      1024
#define ERNIC_MLX5_WQE_SEGMENTS (ERNIC_MLX5_WQE_MAX / ERNIC_MLX5_SEGMENT)
/* Bytes of a slot of a receive queue, at most: all of them may be segments. */
#define ERNIC_MLX5_RECV_MAX     512
/* Base-2 logarithm of the most bytes of a large packet (max_lso_cap). */
#define ERNIC_MLX5_LOG_LSO      19
/* Numbers of counters of queues: 8 bits. */
#define ERNIC_MLX5_COUNTER_SETS 256

#endif /* ERNIC_INTERFACES_MLX5_SIZES_H */
