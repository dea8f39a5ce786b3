/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules of software's that give Ethernet frames to queue pairs.
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

/* What a frame has to have for a field of the key to mean something. */
typedef struct ErnicFlowField {
    const char *name;
    uint8_t offset, size;       /* in struct ernic_flow_key */
    uint16_t layers;            /* one of these; 0: any frame has it */
} ErnicFlowField;

extern const ErnicFlowField ernic_flow_fields[];
extern const uint32_t ernic_flow_num_fields;

/* The rule is for a queue pair of @uctx, of ERNIC_QPT_RAW, or for RSS of its. */
uint8_t ernic_flow_create(Ernic *e, uint32_t uctx,
                          const struct ernic_flow_rule *rule, uint32_t *handle);
uint8_t ernic_flow_destroy(Ernic *e, uint32_t uctx, uint32_t handle);
/* Queue pair or RSS @qpn is going: its rules go with it. */
void ernic_flow_forget(Ernic *e, uint32_t qpn);
/*
 * The queue pair, or RSS, that gets @frame: that of the rule of the lowest
 * priority, among equals of the lowest handle. 0: no rule wants it.
 */
uint32_t ernic_flow_find(const Ernic *e, const uint8_t *frame, uint32_t len);
/* Does @flow want what this key and these layers are of? */
bool ernic_flow_match(const ErnicFlow *flow, const struct ernic_flow_key *key,
                      uint16_t layers);
/* What is wrong with a rule, whosever it is: ERNIC_OK: nothing. */
uint8_t ernic_flow_check(uint16_t layers, const struct ernic_flow_key *value,
                         const struct ernic_flow_key *mask);

#endif /* ERNIC_STEERING_FLOW_H */
