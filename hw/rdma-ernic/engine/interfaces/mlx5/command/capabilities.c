/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The profile of a virtual function with one Ethernet port. Fields without a row are 0.
 * Sizes follow from base/limits.h. A row is added with the commands and the behaviour
 * that it announces.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "base/limits.h"
#include "interfaces/mlx5/command/capabilities.h"
#include "interfaces/mlx5/layout/sizes.h"
#include "steering/flow_tables.h"

enum {
    GENERAL = 0x00, ETHERNET = 0x01, PAGING = 0x02, ATOMIC = 0x03, ROCE = 0x04,
    FLOW_TABLE = 0x07, GENERAL_2 = 0x20,
};

/* Bytes of each group that exists. */
static const uint16_t group_bytes[] = {
    [GENERAL] = 256, [ETHERNET] = 256, [PAGING] = 256, [ATOMIC] = 256, [ROCE] = 256,
    [FLOW_TABLE] = 4096, [GENERAL_2] = 256,
};

/* A value that is fixed, and one that software may set. */
#define FIXED(group, layout, field, value) \
    { group, NULL, &ernic_mlx5_##layout.field, value, 0 }
#define HCA(field, value)   FIXED(GENERAL, cmd_hca_cap, field, value)
/* The number of objects of a kind; software may lower it if @max is not 0. */
#define NUMBER(field, value, max, kind) \
    { GENERAL, NULL, &ernic_mlx5_cmd_hca_cap.field, value, max, ERNIC_MLX5_LIMIT_##kind }
#define ETH(field, value) \
    FIXED(ETHERNET, per_protocol_networking_offload_caps, field, value)
#define RX(field, value) \
    { FLOW_TABLE, &ernic_mlx5_flow_table_nic_cap.flow_table_properties_nic_receive, \
      &ernic_mlx5_flow_table_prop_layout.field, value, 0 }

/* Base-2 logarithms of the limits. */
#define LOG_QP      14
#define LOG_CQ      14
#define LOG_SRQ     12
#define LOG_EQ      6
#define LOG_MR      24
#define LOG_PD      14
#define LOG_MCG     8
#define LOG_ETH     8
#define LOG_TIS     6
#define LOG_DEST    2
#define LOG_FLOW    14
#define LOG_RQT     8
#define LOG_EQE     16
#define LOG_CQE     20
#define LOG_WQE     15
#define LOG_RD      4
#define LOG_STRIDE  9
/* Page addresses of a fast registration; its request counts them in 16 bits. */
#define LOG_LIST    16

QEMU_BUILD_BUG_ON(ERNIC_LIM_QP != 1 << LOG_QP || ERNIC_LIM_CQ != 1 << LOG_CQ ||
                  ERNIC_LIM_SRQ != 1 << LOG_SRQ || ERNIC_LIM_EQ != 1 << LOG_EQ ||
                  ERNIC_LIM_MR != 1 << LOG_MR || ERNIC_LIM_PD != 1 << LOG_PD ||
                  ERNIC_LIM_MCAST_GROUP != 1 << LOG_MCG ||
                  ERNIC_LIM_ETH_QUEUE != 1 << LOG_ETH ||
                  ERNIC_LIM_TIR != 1 << LOG_ETH || ERNIC_LIM_RQT != 1 << LOG_ETH ||
                  ERNIC_LIM_TIS != 1 << LOG_TIS || ERNIC_RQT_ENTRIES != 1 << LOG_RQT ||
                  ERNIC_FLOW_DESTS != 1 << LOG_DEST ||
                  ERNIC_LIM_FLOW_TABLE != 1 << 6 ||
                  ERNIC_LIM_FLOW_ENTRY != 1 << LOG_FLOW);
QEMU_BUILD_BUG_ON(ERNIC_MAX_EQ_DEPTH != 1 << LOG_EQE ||
                  ERNIC_MAX_CQ_DEPTH != 1 << LOG_CQE ||
                  ERNIC_MAX_WQ_DEPTH != 1 << LOG_WQE ||
                  ERNIC_MAX_RD_ATOMIC != 1 << LOG_RD ||
                  ERNIC_MLX5_RECV_MAX != 1 << LOG_STRIDE);

const ErnicMlx5Capability ernic_mlx5_profile[] = {
    /* Transport services. Without xrc and roce Linux's mlx5_ib does not start. */
    HCA(rc, 1), HCA(uc, 1), HCA(ud, 1), HCA(xrc, 1), HCA(roce, 1), HCA(atomic, 1),
    HCA(log_max_msg, 30), HCA(log_max_ra_req_qp, LOG_RD), HCA(log_max_ra_res_qp, LOG_RD),
    HCA(local_ca_ack_delay, 16),

    /* Number and size of objects. */
    NUMBER(log_max_qp, LOG_QP, LOG_QP, QP),
    HCA(log_max_qp_sz, LOG_WQE), HCA(max_wqe_sz_sq, ERNIC_MLX5_WQE_MAX),
    HCA(max_wqe_sz_rq, 256),
    NUMBER(log_max_cq, LOG_CQ, 0, CQ), HCA(log_max_cq_sz, LOG_CQE),
    NUMBER(log_max_srq, LOG_SRQ, 0, SRQ), HCA(log_max_srq_sz, LOG_WQE),
    NUMBER(log_max_rmp, LOG_SRQ, 0, SRQ),
    NUMBER(log_max_eq, LOG_EQ, 0, EQ), HCA(log_max_eq_sz, LOG_EQE),
    NUMBER(log_max_mkey, LOG_MR, 0, MR), HCA(log_max_mrw_sz, 46),
    HCA(log_max_klm_list_size, LOG_LIST), HCA(imaicl, 1),
    NUMBER(log_max_pd, LOG_PD, 0, PD), NUMBER(log_max_xrcd, LOG_PD, 0, PD),
    NUMBER(log_max_transport_domain, LOG_PD, 0, PD),
    HCA(log_max_mcg, LOG_MCG), HCA(max_qp_mcg, ERNIC_LIM_MCAST_MEMBER),
    HCA(gid_table_size, 3),                     /* 8 << 3: ERNIC_LIM_GID */

    /*
     * Completion queues. Software may ask for compressed entries, which DPDK does by
     * default; the device may compress, and never does.
     */
    HCA(cqe_version, 1), HCA(cq_resize, 1), HCA(cq_moderation, 1),
    HCA(cq_oi, 1), HCA(cqe_compression, 1), HCA(cqe_compression_max_num, 16),

    /* Counters of queue pairs: several, and the groups that Linux shows. */
    HCA(max_qp_cnt, ERNIC_MLX5_COUNTER_SETS - 1), HCA(out_of_seq_cnt, 1),
    HCA(retransmission_q_counters, 1), HCA(rts2rts_qp_counters_set_id, 1),

    /* Doorbells and commands; 4 KiB pages. */
    HCA(uar_sz, 2), HCA(log_pg_sz, ERNIC_PAGE_SHIFT_MIN), HCA(bf, 1),
    HCA(log_bf_reg_size, 9), HCA(driver_version, 1),

    /* The port. */
    HCA(port_type, 1), HCA(num_ports, 1), HCA(vport_counters, 1),
    HCA(device_frequency_khz, 1000000),
    HCA(disable_local_lb_uc, 1), HCA(disable_local_lb_mc, 1),

    /* Ethernet queues and steering. */
    HCA(eth_net_offloads, 1), HCA(nic_flow_table, 1),
    HCA(log_max_rq, LOG_ETH), HCA(log_max_sq, LOG_ETH), HCA(log_max_tir, LOG_ETH),
    HCA(log_max_tis, LOG_TIS), HCA(log_max_rqt, LOG_ETH), HCA(log_max_rqt_size, LOG_RQT),
    HCA(nic_receive_steering_discard, 1), HCA(vnic_env_cq_overrun, 1),
    HCA(max_flow_counter_15_0, ERNIC_LIM_FLOW_COUNTER),
    HCA(log_max_flow_counter_bulk, 8),
    HCA(basic_cyclic_rcv_wqe, 1), HCA(log_max_wq_sz, LOG_WQE),
    HCA(log_min_stride_sz_rq, 4), HCA(log_max_stride_sz_rq, LOG_STRIDE),
    HCA(log_min_stride_sz_sq, 6), HCA(log_max_stride_sz_sq, 6),
    HCA(log_max_vlan_list, 12), HCA(log_max_current_uc_list, 7),
    HCA(log_max_current_mc_list, 7),

    ETH(csum_cap, 1), ETH(vlan_cap, 1), ETH(wqe_vlan_insert, 1),
    ETH(self_lb_en_modifiable, 1),
    ETH(max_lso_cap, ERNIC_MLX5_LOG_LSO),
    ETH(wqe_inline_mode, 2), ETH(rss_ind_tbl_cap, LOG_RQT),

    FIXED(ATOMIC, atomic_caps, atomic_operations, 3),   /* swap, fetch and add */
    FIXED(ATOMIC, atomic_caps, atomic_size_qp, 8),      /* of 8 bytes */
    /* Results are in the order of the host, without being asked. */
    FIXED(ATOMIC, atomic_caps, atomic_req_8B_endianness_mode, 1),
    FIXED(ATOMIC, atomic_caps, supported_atomic_req_8B_endianness_mode_1, 1),

    FIXED(ROCE, roce_cap, l3_type, 6),                  /* IPv4, IPv6 */
    FIXED(ROCE, roce_cap, roce_version, 4),             /* 2 */
    FIXED(ROCE, roce_cap, r_roce_dest_udp_port, ERNIC_UDP_PORT),
    FIXED(ROCE, roce_cap, r_roce_min_src_udp_port, 0xc000),
    FIXED(ROCE, roce_cap, r_roce_max_src_udp_port, 0xffff),
    FIXED(ROCE, roce_cap, roce_address_table_size, ERNIC_LIM_GID),

    /* Linux makes tables of 2^16 entries. */
    RX(ft_support, 1), RX(flow_counter, 1), RX(flow_modify_en, 1), RX(modify_root, 1),
    RX(identified_miss_table_mode, 1), RX(flow_table_modify, 1),
    RX(log_max_ft_size, 16), RX(max_ft_level, ERNIC_FLOW_LEVEL_MAX),
    RX(log_max_ft_num, 6), RX(log_max_destination, LOG_DEST), RX(log_max_flow, LOG_FLOW),
};
const uint32_t ernic_mlx5_num_capabilities = ARRAY_SIZE(ernic_mlx5_profile);

QEMU_BUILD_BUG_ON(ARRAY_SIZE(ernic_mlx5_profile) > ERNIC_MLX5_MAX_CAPABILITIES);

/* @value of row @i, or less if the engine has fewer objects. */
static uint32_t bounded(const ErnicMlx5Capabilities *caps, uint32_t i, uint32_t value)
{
    const ErnicConfig *cfg = caps->limits;
    const uint32_t number[ERNIC_MLX5_LIMITS] = {
        [ERNIC_MLX5_LIMIT_QP] = cfg ? cfg->max_qp : 0,
        [ERNIC_MLX5_LIMIT_CQ] = cfg ? cfg->max_cq : 0,
        [ERNIC_MLX5_LIMIT_SRQ] = cfg ? cfg->max_srq : 0,
        [ERNIC_MLX5_LIMIT_EQ] = cfg ? cfg->max_eq : 0,
        [ERNIC_MLX5_LIMIT_MR] = cfg ? cfg->max_mr : 0,
        [ERNIC_MLX5_LIMIT_PD] = cfg ? cfg->max_pd : 0,
    };
    uint32_t n = number[ernic_mlx5_profile[i].limit];

    return n ? MIN(value, (uint32_t)g_bit_storage(n) - 1) : value;
}

void ernic_mlx5_capabilities_reset(ErnicMlx5Capabilities *caps)
{
    uint32_t i;

    for (i = 0; i < ernic_mlx5_num_capabilities; i++) {
        caps->value[i] = bounded(caps, i, ernic_mlx5_profile[i].value);
    }
}

uint32_t ernic_mlx5_capability_bit(uint32_t i)
{
    const ErnicMlx5Capability *cap = &ernic_mlx5_profile[i];

    return (cap->part ? cap->part->offset : 0) + cap->field->offset;
}

uint32_t ernic_mlx5_capability_most(const ErnicMlx5Capabilities *caps, uint32_t i)
{
    return bounded(caps, i, MAX(ernic_mlx5_profile[i].value, ernic_mlx5_profile[i].max));
}

bool ernic_mlx5_has_capability_group(uint32_t group)
{
    return group < ARRAY_SIZE(group_bytes) && group_bytes[group];
}

/* Where the field of @cap is in the data of its group. */
static uint8_t *part_of(const ErnicMlx5Capability *cap, uint8_t *data)
{
    return cap->part ? data + cap->part->offset / 8 : data;
}

bool ernic_mlx5_capabilities_get(const ErnicMlx5Capabilities *caps, uint32_t group,
                                 bool max, uint8_t *data)
{
    uint32_t i;

    if (!ernic_mlx5_has_capability_group(group)) {
        return false;
    }
    for (i = 0; i < ernic_mlx5_num_capabilities; i++) {
        const ErnicMlx5Capability *cap = &ernic_mlx5_profile[i];

        if (cap->group == group) {
            ernic_mlx5_put(part_of(cap, data), cap->field,
                           max && cap->max ? bounded(caps, i, cap->max) :
                                             caps->value[i]);
        }
    }
    return true;
}

bool ernic_mlx5_capabilities_set(ErnicMlx5Capabilities *caps, uint32_t group,
                                 const uint8_t *data)
{
    uint32_t len = group_bytes[group], i;
    g_autofree uint8_t *copy = g_memdup2(data, len);
    g_autofree uint8_t *want = g_malloc0(len);
    ErnicMlx5Capabilities next = *caps;

    for (i = 0; i < ernic_mlx5_num_capabilities; i++) {
        const ErnicMlx5Capability *cap = &ernic_mlx5_profile[i];

        if (cap->group == group && cap->max) {
            next.value[i] = ernic_mlx5_get(part_of(cap, copy), cap->field);
            if (next.value[i] > bounded(caps, i, cap->max)) {
                return false;
            }
        } else if (cap->group == group && group == ATOMIC &&
                   cap->field != &ernic_mlx5_atomic_caps.atomic_req_8B_endianness_mode &&
                   !ernic_mlx5_get(part_of(cap, copy), cap->field)) {
            /* Linux writes only the mode here, and 0 to all other fields. */
            ernic_mlx5_put(part_of(cap, copy), cap->field, cap->value);
        }
    }
    ernic_mlx5_capabilities_get(&next, group, false, want);
    if (memcmp(want, copy, len)) {
        return false;
    }
    *caps = next;
    return true;
}
