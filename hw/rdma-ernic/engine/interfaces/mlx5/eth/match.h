/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The key of a frame in flow tables: the fields of fte_match_set_lyr_2_4, of the outer
 * headers.
 */
#ifndef ERNIC_INTERFACES_MLX5_MATCH_H
#define ERNIC_INTERFACES_MLX5_MATCH_H

#include "interfaces/mlx5/layout/fields.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "steering/flow_tables.h"

/* The headers of a frame, for its hash and completion. */
typedef struct ErnicMlx5Headers {
    struct ernic_flow_key key;
    uint16_t layers;            /* ERNIC_LAYER_* */
    bool ipsec;                 /* there is a header of AH or ESP, with @spi */
    uint8_t spi[4];
} ErnicMlx5Headers;

/* Make the key of @len bytes of @frame, and its headers. */
void ernic_mlx5_match_key(const uint8_t *frame, uint32_t len,
                          uint8_t key[ERNIC_FLOW_KEY_BYTES], ErnicMlx5Headers *headers);
/*
 * Take the mask of a group from @param, an fte_match_param of which @enable names the
 * parts that count. False: a bit is set that frames are not matched by.
 */
bool ernic_mlx5_match_mask(const uint8_t *param, uint32_t enable,
                           uint8_t mask[ERNIC_FLOW_KEY_BYTES]);

#endif /* ERNIC_INTERFACES_MLX5_MATCH_H */
