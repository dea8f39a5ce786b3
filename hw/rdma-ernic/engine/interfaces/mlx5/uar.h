/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages (UAR) of the mlx5 interface.
 */
#ifndef ERNIC_INTERFACES_MLX5_UAR_H
#define ERNIC_INTERFACES_MLX5_UAR_H

#include "base/device.h"

/* A store to byte @offset of doorbell page @page. */
void ernic_mlx5_uar_write(Ernic *e, uint32_t page, uint32_t offset, uint32_t size,
                          uint64_t value);
/* Whether the store is the rest of a request in a BlueFlame buffer. */
bool ernic_mlx5_uar_ignores(uint32_t offset, uint32_t size);

#endif /* ERNIC_INTERFACES_MLX5_UAR_H */
