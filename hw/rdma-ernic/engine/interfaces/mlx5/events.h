/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Event queues of the mlx5 interface.
 */
#ifndef ERNIC_INTERFACES_MLX5_EVENTS_H
#define ERNIC_INTERFACES_MLX5_EVENTS_H

#include "objects/eq.h"

/* The entries of event queues. */
extern const ErnicEqOps ernic_mlx5_eqs;
/* The doorbell page of an event queue that exists. */
uint32_t ernic_mlx5_eq_uar(const Ernic *e, uint32_t eqn);
/* Report completed commands, if the event queue has room. */
void ernic_mlx5_report_commands(Ernic *e);

#endif /* ERNIC_INTERFACES_MLX5_EVENTS_H */
