/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The capability profile of the mlx5 interface: everything that QUERY_HCA_CAP reports.
 */
#ifndef ERNIC_INTERFACES_MLX5_CAPABILITIES_H
#define ERNIC_INTERFACES_MLX5_CAPABILITIES_H

#include "base/device.h"
#include "interfaces/mlx5/layout/fields.h"

/* The number of a configuration whose base-2 logarithm bounds a capability. */
typedef enum ErnicMlx5Limit {
    ERNIC_MLX5_LIMIT_NONE,
    ERNIC_MLX5_LIMIT_QP,
    ERNIC_MLX5_LIMIT_CQ,
    ERNIC_MLX5_LIMIT_SRQ,
    ERNIC_MLX5_LIMIT_EQ,
    ERNIC_MLX5_LIMIT_MR,
    ERNIC_MLX5_LIMIT_PD,
    ERNIC_MLX5_LIMITS
} ErnicMlx5Limit;

/* A capability that is not 0. */
typedef struct ErnicMlx5Capability {
    uint8_t group;
    const ErnicMlx5Field *part;         /* of the group's layout; NULL: the group */
    const ErnicMlx5Field *field;        /* of the part, or of the group */
    uint32_t value;                     /* after a reset */
    uint32_t max;                       /* software may set 0 to @max; 0: nothing */
    uint8_t limit;                      /* ErnicMlx5Limit, of value and max */
} ErnicMlx5Capability;

extern const ErnicMlx5Capability ernic_mlx5_profile[];
extern const uint32_t ernic_mlx5_num_capabilities;

#define ERNIC_MLX5_MAX_CAPABILITIES 128

/* The current values, by number of the row. */
typedef struct ErnicMlx5Capabilities {
    const ErnicConfig *limits;          /* of the engine; NULL: those of the profile */
    uint32_t value[ERNIC_MLX5_MAX_CAPABILITIES];
} ErnicMlx5Capabilities;

/* @caps->limits is set. */
void ernic_mlx5_capabilities_reset(ErnicMlx5Capabilities *caps);

/* Where the field of row @i is: a bit of the data of its group. */
uint32_t ernic_mlx5_capability_bit(uint32_t i);
/* The greatest value that row @i can have. */
uint32_t ernic_mlx5_capability_most(const ErnicMlx5Capabilities *caps, uint32_t i);

/*
 * Write the maximum or the current values of @group into @data, which is 0 and as large
 * as the layout. False: the group does not exist.
 */
bool ernic_mlx5_capabilities_get(const ErnicMlx5Capabilities *caps, uint32_t group,
                                 bool max, uint8_t *data);

bool ernic_mlx5_has_capability_group(uint32_t group);

/*
 * Software sets all values of @group, which exists. False: one of them is not allowed,
 * and nothing has changed.
 */
bool ernic_mlx5_capabilities_set(ErnicMlx5Capabilities *caps, uint32_t group,
                                 const uint8_t *data);

#endif /* ERNIC_INTERFACES_MLX5_CAPABILITIES_H */
