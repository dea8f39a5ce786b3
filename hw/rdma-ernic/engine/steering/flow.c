/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow rules in one table, which is searched. A rule is a value and a mask of the key
 * that is made of the headers, so that matching needs no field names.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "objects/qp.h"
#include "steering/flow.h"
#include "steering/flow_key.h"
#include "steering/rss.h"
#include "trace.h"

#define IP  (ERNIC_LAYER_IPV4 | ERNIC_LAYER_IPV6)
#define L4  (ERNIC_LAYER_TCP | ERNIC_LAYER_UDP)
#define FIELD(f, layers_) \
    { #f, offsetof(struct ernic_flow_key, f), \
      sizeof_field(struct ernic_flow_key, f), layers_ }

const ErnicFlowField ernic_flow_fields[] = {
    FIELD(dmac, 0), FIELD(smac, 0), FIELD(ethertype, 0),
    FIELD(vlan, ERNIC_LAYER_VLAN),
    FIELD(src_ip, IP), FIELD(dst_ip, IP), FIELD(ip_proto, IP),
    FIELD(tclass, IP), FIELD(hop_limit, IP),
    FIELD(ip_flags, ERNIC_LAYER_IPV4), FIELD(flow_label, ERNIC_LAYER_IPV6),
    FIELD(src_port, L4), FIELD(dst_port, L4),
};
const uint32_t ernic_flow_num_fields = G_N_ELEMENTS(ernic_flow_fields);

void ernic_flow_set_number(Ernic *e, uint32_t rules)
{
    e->num_flows = rules;
    if (e->cfg.flow_rules) {
        __atomic_store_n(e->cfg.flow_rules, rules, __ATOMIC_RELAXED);
    }
}

uint8_t ernic_flow_check(uint16_t layers, const struct ernic_flow_key *value,
                         const struct ernic_flow_key *mask)
{
    const uint8_t *v = (const uint8_t *)value, *m = (const uint8_t *)mask;
    uint32_t i;

    if (layers & ~(ERNIC_LAYER_VLAN | IP | L4)) {
        return ERNIC_ERR_RESERVED;
    }
    /* No frame has both layers, and only IP has a layer 4. */
    if ((layers & IP) == IP || (layers & L4) == L4 ||
        ((layers & L4) && !(layers & IP))) {
        return ERNIC_ERR_PARAM;
    }
    for (i = 0; i < sizeof(*mask); i++) {
        if (v[i] & ~m[i]) {
            return ERNIC_ERR_PARAM;
        }
    }
    for (i = 0; i < ernic_flow_num_fields; i++) {
        const ErnicFlowField *f = &ernic_flow_fields[i];

        if (f->layers && !(f->layers & layers) &&
            !ernic_all_zero(m + f->offset, f->size)) {
            return ERNIC_ERR_PARAM;
        }
    }
    return ERNIC_OK;
}

uint8_t ernic_flow_create(Ernic *e, uint32_t uctx,
                          const struct ernic_flow_rule *rule, uint32_t *handle)
{
    uint32_t qpn = le32_to_cpu(rule->qpn), i;
    uint16_t layers = le16_to_cpu(rule->layers);
    ErnicQp *qp = ernic_qp_get(e, uctx, qpn);
    uint8_t status;

    if (!qp && !ernic_rss_get(e, uctx, qpn)) {
        return ERNIC_ERR_HANDLE;
    }
    if (qp && qp->type != ERNIC_QPT_RAW) {
        return ERNIC_ERR_PARAM;
    }
    status = ernic_flow_check(layers, &rule->value, &rule->mask);
    if (status) {
        return status;
    }
    for (i = 1; i <= ERNIC_LIM_FLOW && e->flow[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_FLOW) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->flow[i] = (ErnicFlow) {
        .used = true, .uctx = uctx, .qpn = qpn, .layers = layers,
        .priority = le16_to_cpu(rule->priority),
        .value = rule->value, .mask = rule->mask,
    };
    ernic_flow_set_number(e, e->num_flows + 1);
    *handle = i;
    trace_ernic_flow_create(i, qpn, e->flow[i].priority, layers);
    return ERNIC_OK;
}

static void flow_remove(Ernic *e, uint32_t handle)
{
    trace_ernic_flow_destroy(handle, e->flow[handle].qpn);
    memset(&e->flow[handle], 0, sizeof(e->flow[handle]));
    ernic_flow_set_number(e, e->num_flows - 1);
}

uint8_t ernic_flow_destroy(Ernic *e, uint32_t uctx, uint32_t handle)
{
    if (handle == 0 || handle > ERNIC_LIM_FLOW || !e->flow[handle].used ||
        e->flow[handle].uctx != uctx) {
        return ERNIC_ERR_HANDLE;
    }
    flow_remove(e, handle);
    return ERNIC_OK;
}

void ernic_flow_forget(Ernic *e, uint32_t qpn)
{
    uint32_t i;

    for (i = 1; i <= ERNIC_LIM_FLOW && e->num_flows; i++) {
        if (e->flow[i].used && e->flow[i].qpn == qpn) {
            flow_remove(e, i);
        }
    }
}

bool ernic_flow_match(const ErnicFlow *flow, const struct ernic_flow_key *key,
                      uint16_t layers)
{
    const uint8_t *value = (const uint8_t *)&flow->value;
    const uint8_t *mask = (const uint8_t *)&flow->mask;
    const uint8_t *is = (const uint8_t *)key;
    uint8_t differ = 0;
    uint32_t i;

    if (flow->layers & ~layers) {
        return false;
    }
    for (i = 0; i < sizeof(*key); i++) {
        differ |= (is[i] ^ value[i]) & mask[i];
    }
    return !differ;
}

uint32_t ernic_flow_find(const Ernic *e, const uint8_t *frame, uint32_t len)
{
    const ErnicFlow *best = NULL;
    struct ernic_flow_key key;
    uint16_t layers;
    uint32_t i;

    if (!e->num_flows) {
        return 0;
    }
    layers = ernic_flow_key(&key, frame, len);
    for (i = 1; i <= ERNIC_LIM_FLOW; i++) {
        const ErnicFlow *flow = &e->flow[i];

        if (flow->used && (!best || flow->priority < best->priority) &&
            ernic_flow_match(flow, &key, layers)) {
            best = flow;
        }
    }
    return best ? best->qpn : 0;
}
