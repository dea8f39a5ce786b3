/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The header fields of an Ethernet frame, for rules and hashes.
 */
#ifndef ERNIC_STEERING_FLOW_KEY_H
#define ERNIC_STEERING_FLOW_KEY_H

#include "hw/rdma-ernic/ernic_abi.h"

/* Fill in @key from @len bytes of @frame, without FCS. Returns its ERNIC_LAYER_*. */
uint16_t ernic_flow_key(struct ernic_flow_key *key, const uint8_t *frame,
                        uint32_t len);

#endif /* ERNIC_STEERING_FLOW_KEY_H */
