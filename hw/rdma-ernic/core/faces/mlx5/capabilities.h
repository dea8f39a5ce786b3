/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The capability profile of the mlx5 interface: everything that QUERY_HCA_CAP reports.
 */
#ifndef ERNIC_FACES_MLX5_CAPABILITIES_H
#define ERNIC_FACES_MLX5_CAPABILITIES_H

#include "faces/mlx5/fields.h"

/* A capability that is not 0. */
typedef struct ErnicMlx5Capability {
    uint8_t group;
    const ErnicMlx5Field *part;         /* of the group's layout; NULL: the group */
    const ErnicMlx5Field *field;        /* of the part, or of the group */
    uint32_t value;                     /* after a reset */
    uint32_t max;                       /* software may set 0 to @max; 0: nothing */
} ErnicMlx5Capability;

extern const ErnicMlx5Capability ernic_mlx5_profile[];
extern const uint32_t ernic_mlx5_num_capabilities;

#define ERNIC_MLX5_MAX_CAPABILITIES 128

/* The current values, by number of the row. */
typedef struct ErnicMlx5Capabilities {
    uint32_t value[ERNIC_MLX5_MAX_CAPABILITIES];
} ErnicMlx5Capabilities;

void ernic_mlx5_capabilities_reset(ErnicMlx5Capabilities *caps);

/*
 * Write the maximum or the current values of @group into @data, which is 0 and as large
 * as the layout. False: the group does not exist.
 */
bool ernic_mlx5_capabilities_get(const ErnicMlx5Capabilities *caps, uint32_t group,
                                 bool max, uint8_t *data);

/*
 * Software sets all values of @group, which exists. NULL: done. Otherwise nothing has
 * changed, and the result is the first field whose value is not allowed.
 */
const ErnicMlx5Field *
ernic_mlx5_capabilities_set(ErnicMlx5Capabilities *caps, uint32_t group,
                            const uint8_t *data);

#endif /* ERNIC_FACES_MLX5_CAPABILITIES_H */
