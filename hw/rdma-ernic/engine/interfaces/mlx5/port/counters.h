/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the port and of the virtual network interface.
 */
#ifndef ERNIC_INTERFACES_MLX5_PORT_COUNTERS_H
#define ERNIC_INTERFACES_MLX5_PORT_COUNTERS_H

#include "interfaces/mlx5/command/function.h"

/* Register PPCNT: a group of counters; @in and @out are ppcnt_reg. */
ErnicMlx5Refusal ernic_mlx5_access_ppcnt(ErnicMlx5Function *f, const uint8_t *in,
                                         bool write, uint8_t *out);

/* Frames and packets that were received and dropped. */
uint64_t ernic_mlx5_receive_errors(const ErnicStats *stats);

#endif /* ERNIC_INTERFACES_MLX5_PORT_COUNTERS_H */
