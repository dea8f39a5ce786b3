/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Short names for access to a field: GET(bytes, cqc.uar_page).
 */
#ifndef ERNIC_INTERFACES_MLX5_ACCESS_H
#define ERNIC_INTERFACES_MLX5_ACCESS_H

#include "interfaces/mlx5/layout/fields.h"

#define GET(bytes, field)       ernic_mlx5_get(bytes, &ernic_mlx5_##field)
#define PUT(bytes, field, v)    ernic_mlx5_put(bytes, &ernic_mlx5_##field, v)
/* The bytes of a field that begins with one, and where they are. */
#define PART(bytes, field)      ((bytes) + BYTE(field))
#define BYTE(field)             (ernic_mlx5_##field.offset / 8)

#endif /* ERNIC_INTERFACES_MLX5_ACCESS_H */
