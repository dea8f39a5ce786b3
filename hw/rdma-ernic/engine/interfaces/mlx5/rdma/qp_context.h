/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The attributes of a queue pair in its context (qpc), and those of the engine.
 */
#ifndef ERNIC_INTERFACES_MLX5_QP_CONTEXT_H
#define ERNIC_INTERFACES_MLX5_QP_CONTEXT_H

#include "objects/qp.h"

/*
 * The attributes (ERNIC_QPA_*) that a transition from the state of @qp to @to changes
 * with the optional parameters @optional. Software gives all required ones without naming
 * them. @counter: the counter changes too. False: a parameter that cannot change then.
 */
bool ernic_mlx5_attr_mask(const ErnicQp *qp, uint8_t to, uint32_t optional,
                          uint32_t *mask, bool *counter);
/* The values in @qpc; rights that @optional does not name are those of @qp. */
void ernic_mlx5_attr_load(const uint8_t *qpc, const ErnicQp *qp, uint8_t to,
                          uint32_t optional, ErnicQpAttr *attr);
/* The number of the port in @qpc. */
uint32_t ernic_mlx5_attr_port(const uint8_t *qpc);
/* Store the attributes, the state and the counters of @qp in @qpc. */
void ernic_mlx5_attr_store(uint8_t *qpc, const ErnicQp *qp);

#endif /* ERNIC_INTERFACES_MLX5_QP_CONTEXT_H */
