/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The attributes of a queue pair in its context, as tables. Which of them a transition
 * needs and may change is the engine's table (transport/qp_transitions.c).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/mlx5/layout/access.h"
#include "interfaces/mlx5/rdma/qp_context.h"
#include "transport/qp_transitions.h"
#include "wire/psn.h"

#define PATH(qpc)       PART(qpc, qpc.primary_address_path)

/* MLX5_QP_OPTPAR_*. Each of the rights is one of three bits. */
enum {
    RRE = 1 << 1, RAE = 1 << 2, RWE = 1 << 3,
    COUNTER_SET = 1 << 25,
};

static const struct {
    uint32_t parameter;
    uint32_t bit;               /* ERNIC_QPA_*; 0: accepted, without an effect */
} parameters[] = {
    { RRE, ERNIC_QPA_ACCESS },
    { RAE, ERNIC_QPA_ACCESS },
    { RWE, ERNIC_QPA_ACCESS },
    { 1 << 4, ERNIC_QPA_PKEY_INDEX },
    { 1 << 5, ERNIC_QPA_QKEY },
    { 1 << 6, ERNIC_QPA_MIN_RNR_TIMER },
    { 1 << 7, ERNIC_QPA_AV },
    { 1 << 8, ERNIC_QPA_MAX_RD_ATOMIC },
    { 1 << 9, ERNIC_QPA_MAX_DEST_RD_ATOMIC },
    { 1 << 10, 0 },             /* PM_STATE: there is one path */
    { 1 << 12, ERNIC_QPA_RETRY_CNT },
    { 1 << 13, ERNIC_QPA_RNR_RETRY },
    { 1 << 14, ERNIC_QPA_TIMEOUT },
    { 1 << 15, 0 },             /* LAG_TX_AFF: there is one port */
    { 1 << 16, ERNIC_QPA_PORT },
    { COUNTER_SET, 0 },
};

/* Numbers that the context has as they are. */
#define AT(member) offsetof(ErnicQpAttr, member), sizeof_field(ErnicQpAttr, member)
static const struct {
    bool path;                  /* in the primary path */
    const ErnicMlx5Field *field;
    uint8_t offset, size;
} numbers[] = {
    { false, &ernic_mlx5_qpc.mtu, AT(path_mtu) },
    { false, &ernic_mlx5_qpc.remote_qpn, AT(dest_qpn) },
    { false, &ernic_mlx5_qpc.retry_count, AT(retry_cnt) },
    { false, &ernic_mlx5_qpc.rnr_retry, AT(rnr_retry) },
    { false, &ernic_mlx5_qpc.next_send_psn, AT(sq_psn) },
    { false, &ernic_mlx5_qpc.next_rcv_psn, AT(rq_psn) },
    { false, &ernic_mlx5_qpc.min_rnr_nak, AT(min_rnr_timer) },
    { false, &ernic_mlx5_qpc.q_key, AT(qkey) },
    { true, &ernic_mlx5_ads.pkey_index, AT(pkey_index) },
    { true, &ernic_mlx5_ads.ack_timeout, AT(timeout) },
    { true, &ernic_mlx5_ads.src_addr_index, AT(av.sgid_index) },
    { true, &ernic_mlx5_ads.hop_limit, AT(av.hop_limit) },
    { true, &ernic_mlx5_ads.tclass, AT(av.tclass) },
    { true, &ernic_mlx5_ads.flow_label, AT(av.flow_label) },
    { true, &ernic_mlx5_ads.eth_prio, AT(av.priority) },
    { true, &ernic_mlx5_ads.udp_sport, AT(av.udp_sport) },
};
#undef AT

static const struct {
    uint32_t parameter;
    const ErnicMlx5Field *field;
    uint32_t access;
} rights[] = {
    { RRE, &ernic_mlx5_qpc.rre, ERNIC_ACCESS_REMOTE_READ },
    { RWE, &ernic_mlx5_qpc.rwe, ERNIC_ACCESS_REMOTE_WRITE },
    { RAE, &ernic_mlx5_qpc.rae, ERNIC_ACCESS_REMOTE_ATOMIC },
};

bool ernic_mlx5_attr_mask(const ErnicQp *qp, uint8_t to, uint32_t optional,
                          uint32_t *mask, bool *counter)
{
    uint32_t required, allowed, i;

    if (!ernic_qp_edge(qp->type, qp->state, to, &required, &allowed)) {
        return false;
    }
    *mask = required | ERNIC_QPA_STATE;
    *counter = optional & COUNTER_SET;
    for (i = 0; i < ARRAY_SIZE(parameters); i++) {
        uint32_t bit = optional & parameters[i].parameter ? parameters[i].bit : 0;

        if (bit & ~(required | allowed)) {
            return false;
        }
        *mask |= bit;
        optional &= ~parameters[i].parameter;
    }
    return !optional;
}

void ernic_mlx5_attr_load(const uint8_t *qpc, const ErnicQp *qp, uint8_t to,
                          uint32_t optional, ErnicQpAttr *attr)
{
    uint32_t required = 0, allowed, i;

    memset(attr, 0, sizeof(*attr));
    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        uint64_t v = ernic_mlx5_get(numbers[i].path ? PATH(qpc) : qpc, numbers[i].field);

        stn_he_p((uint8_t *)attr + numbers[i].offset, numbers[i].size, v);
    }
    attr->max_rd_atomic = 1u << GET(qpc, qpc.log_sra_max);
    attr->max_dest_rd_atomic = 1u << GET(qpc, qpc.log_rra_max);
    memcpy(attr->av.dgid.raw, PART(PATH(qpc), ads.rgid_rip), sizeof(attr->av.dgid.raw));
    memcpy(attr->av.dmac, PART(PATH(qpc), ads.rmac_47_32), sizeof(attr->av.dmac));
    ernic_qp_edge(qp->type, qp->state, to, &required, &allowed);
    for (i = 0; i < ARRAY_SIZE(rights); i++) {
        bool old = !(required & ERNIC_QPA_ACCESS) && !(optional & rights[i].parameter);

        if (old ? qp->attr.access & rights[i].access :
                  ernic_mlx5_get(qpc, rights[i].field)) {
            attr->access |= rights[i].access;
        }
    }
}

uint32_t ernic_mlx5_attr_port(const uint8_t *qpc)
{
    return GET(PATH(qpc), ads.vhca_port_num);
}

/* MLX5_QP_STATE_*. */
static uint8_t state_of(const ErnicQp *qp)
{
    enum { DRAINING = 7 };
    static const uint8_t states[ERNIC_QPS_COUNT] = {
        [ERNIC_QPS_RESET] = 0, [ERNIC_QPS_INIT] = 1, [ERNIC_QPS_RTR] = 2,
        [ERNIC_QPS_RTS] = 3, [ERNIC_QPS_SQE] = 4, [ERNIC_QPS_SQD] = 5,
        [ERNIC_QPS_ERR] = 6,
    };

    return qp->state == ERNIC_QPS_SQD && !qp->sq_drained ? DRAINING : states[qp->state];
}

static uint32_t log_of(uint32_t n)
{
    return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

void ernic_mlx5_attr_store(uint8_t *qpc, const ErnicQp *qp)
{
    const ErnicQpAttr *attr = &qp->attr;
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        ernic_mlx5_put(numbers[i].path ? PATH(qpc) : qpc, numbers[i].field,
                       ldn_he_p((const uint8_t *)attr + numbers[i].offset,
                                numbers[i].size));
    }
    for (i = 0; i < ARRAY_SIZE(rights); i++) {
        ernic_mlx5_put(qpc, rights[i].field, !!(attr->access & rights[i].access));
    }
    PUT(qpc, qpc.log_sra_max, log_of(attr->max_rd_atomic));
    PUT(qpc, qpc.log_rra_max, log_of(attr->max_dest_rd_atomic));
    memcpy(PART(PATH(qpc), ads.rgid_rip), attr->av.dgid.raw, sizeof(attr->av.dgid.raw));
    memcpy(PART(PATH(qpc), ads.rmac_47_32), attr->av.dmac, sizeof(attr->av.dmac));
    /* Drivers write the service level to eth_prio, and ask for it here. */
    PUT(PATH(qpc), ads.sl, attr->av.priority);
    PUT(PATH(qpc), ads.vhca_port_num, qp->state != ERNIC_QPS_RESET);
    PUT(qpc, qpc.state, state_of(qp));
    PUT(qpc, qpc.pd, qp->pd);
    PUT(qpc, qpc.counter_set_id, qp->counter);
    PUT(qpc, qpc.last_acked_psn, ernic_psn_add(qp->sq.una_psn, ERNIC_PSN_MASK));
    PUT(qpc, qpc.hw_sq_wqebb_counter, qp->sq.taken);
    PUT(qpc, qpc.sw_sq_wqebb_counter, qp->sq.wq.pi);
    PUT(qpc, qpc.hw_rq_counter, qp->rq.wq.ci);
    PUT(qpc, qpc.sw_rq_counter, qp->rq.wq.pi);
}
