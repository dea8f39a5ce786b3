/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells without a value: the records of send queues say what was posted.
 */
#ifndef ERNIC_INTERFACES_MLX5_SCAN_H
#define ERNIC_INTERFACES_MLX5_SCAN_H

#include "base/device.h"

/*
 * A doorbell of @page was rung: take what the records of its send queues announce, as
 * their own doorbells would.
 */
void ernic_mlx5_page_rung(Ernic *e, uint32_t page);
/* Any doorbell of any page may have been rung: the same for all queues, by and by. */
void ernic_mlx5_scan_all(Ernic *e);
/* Go on with that until the slice of work ends; whether there is more. */
void ernic_mlx5_scan_run(Ernic *e);
bool ernic_mlx5_scan_has_work(const Ernic *e);

/* After loading: which queues each page has. */
void ernic_mlx5_scan_derive(Ernic *e);
/* Whether that is what is known of them. */
bool ernic_mlx5_scan_ok(const Ernic *e);

#endif /* ERNIC_INTERFACES_MLX5_SCAN_H */
