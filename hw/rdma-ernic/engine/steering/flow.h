/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow rules: software selects which Ethernet frames a queue pair receives.
 */
#ifndef ERNIC_STEERING_FLOW_H
#define ERNIC_STEERING_FLOW_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicFlow {
    bool used;
    uint32_t uctx, qpn;
    uint16_t priority;          /* the lowest number comes first */
    uint16_t layers;            /* ERNIC_LAYER_*, which a frame has to have */
    struct ernic_flow_key value, mask;
};

/* A field of the key, and the layers that a frame needs for it. */
typedef struct ErnicFlowField {
    const char *name;
    uint8_t offset, size;       /* in struct ernic_flow_key */
    uint16_t layers;            /* one of these; 0: any frame has it */
} ErnicFlowField;

extern const ErnicFlowField ernic_flow_fields[];
extern const uint32_t ernic_flow_num_fields;

/* There are that many rules now. */
void ernic_flow_set_number(Ernic *e, uint32_t rules);
/* The rule is for a queue pair of @uctx of type ERNIC_QPT_RAW, or for an RSS of @uctx. */
uint8_t ernic_flow_create(Ernic *e, uint32_t uctx,
                          const struct ernic_flow_rule *rule, uint32_t *handle);
uint8_t ernic_flow_destroy(Ernic *e, uint32_t uctx, uint32_t handle);
/* Queue pair or RSS @qpn is destroyed: drop its rules. */
void ernic_flow_forget(Ernic *e, uint32_t qpn);
/*
 * The queue pair or RSS that receives @frame: of the rules that match, the one with the
 * lowest priority, then with the lowest handle. 0: no rule matches.
 */
uint32_t ernic_flow_find(const Ernic *e, const uint8_t *frame, uint32_t len);
/* Whether @flow matches this key and these layers. */
bool ernic_flow_match(const ErnicFlow *flow, const struct ernic_flow_key *key,
                      uint16_t layers);
/* Check a rule of any context: ERNIC_OK, or the error. */
uint8_t ernic_flow_check(uint16_t layers, const struct ernic_flow_key *value,
                         const struct ernic_flow_key *mask);

#endif /* ERNIC_STEERING_FLOW_H */
