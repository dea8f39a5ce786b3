/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands that Linux's mlx5 drivers send from probe to RDMA traffic.
 */
#include "qemu/osdep.h"
#include "mlx5_commands.h"

/* Messages of the command @name; IN, OUT: the other one has no fields of its own. */
#define PAIR(name) &ernic_mlx5_##name##_in.self, &ernic_mlx5_##name##_out.self
#define IN(name)   &ernic_mlx5_##name##_in.self, &ernic_mlx5_plain_out.self
#define OUT(name)  &ernic_mlx5_plain_in.self, &ernic_mlx5_##name##_out.self

const Mlx5Command mlx5_commands[] = {
    { 0x100, "QUERY_HCA_CAP", PAIR(query_hca_cap) },
    { 0x101, "QUERY_ADAPTER", OUT(query_adapter) },
    { 0x102, "INIT_HCA", IN(init_hca) },
    { 0x103, "TEARDOWN_HCA", IN(teardown_hca) },
    { 0x104, "ENABLE_HCA", PAIR(enable_hca) },
    { 0x105, "DISABLE_HCA", PAIR(disable_hca) },
    { 0x107, "QUERY_PAGES", PAIR(query_pages) },
    { 0x108, "MANAGE_PAGES", IN(manage_pages) },
    { 0x109, "SET_HCA_CAP", IN(set_hca_cap) },
    { 0x10a, "QUERY_ISSI", OUT(query_issi) },
    { 0x10b, "SET_ISSI", IN(set_issi) },
    { 0x10d, "SET_DRIVER_VERSION", IN(set_driver_version) },
    { 0x200, "CREATE_MKEY", PAIR(create_mkey) },
    { 0x201, "QUERY_MKEY", PAIR(query_mkey) },
    { 0x202, "DESTROY_MKEY", IN(destroy_mkey) },
    { 0x203, "QUERY_SPECIAL_CONTEXTS", OUT(query_special_contexts) },
    { 0x301, "CREATE_EQ", PAIR(create_eq) },
    { 0x302, "DESTROY_EQ", IN(destroy_eq) },
    { 0x303, "QUERY_EQ", PAIR(query_eq) },
    { 0x400, "CREATE_CQ", PAIR(create_cq) },
    { 0x401, "DESTROY_CQ", IN(destroy_cq) },
    { 0x402, "QUERY_CQ", PAIR(query_cq) },
    { 0x403, "MODIFY_CQ", IN(modify_cq) },
    { 0x500, "CREATE_QP", PAIR(create_qp) },
    { 0x501, "DESTROY_QP", IN(destroy_qp) },
    { 0x502, "RST2INIT_QP", IN(rst2init_qp) },
    { 0x503, "INIT2RTR_QP", IN(init2rtr_qp) },
    { 0x504, "RTR2RTS_QP", IN(rtr2rts_qp) },
    { 0x505, "RTS2RTS_QP", IN(rts2rts_qp) },
    { 0x506, "SQERR2RTS_QP", IN(sqerr2rts_qp) },
    { 0x507, "2ERR_QP", IN(qp_2err) },
    { 0x50a, "2RST_QP", IN(qp_2rst) },
    { 0x50b, "QUERY_QP", PAIR(query_qp) },
    { 0x50c, "SQD_RTS_QP", IN(sqd2rts_qp) },
    { 0x50e, "INIT2INIT_QP", IN(init2init_qp) },
    { 0x705, "CREATE_XRC_SRQ", PAIR(create_xrc_srq) },
    { 0x706, "DESTROY_XRC_SRQ", IN(destroy_xrc_srq) },
    { 0x707, "QUERY_XRC_SRQ", PAIR(query_xrc_srq) },
    { 0x708, "ARM_XRC_SRQ", IN(arm_xrc_srq) },
    { 0x750, "QUERY_VPORT_STATE", PAIR(query_vport_state) },
    { 0x751, "MODIFY_VPORT_STATE", IN(modify_vport_state) },
    { 0x754, "QUERY_NIC_VPORT_CONTEXT", PAIR(query_nic_vport_context) },
    { 0x755, "MODIFY_NIC_VPORT_CONTEXT", IN(modify_nic_vport_context) },
    { 0x761, "SET_ROCE_ADDRESS", IN(set_roce_address) },
    { 0x765, "QUERY_HCA_VPORT_PKEY", PAIR(query_hca_vport_pkey) },
    { 0x76f, "QUERY_VNIC_ENV", PAIR(query_vnic_env) },
    { 0x770, "QUERY_VPORT_COUNTER", PAIR(query_vport_counter) },
    { 0x771, "ALLOC_Q_COUNTER", OUT(alloc_q_counter) },
    { 0x772, "DEALLOC_Q_COUNTER", IN(dealloc_q_counter) },
    { 0x773, "QUERY_Q_COUNTER", PAIR(query_q_counter) },
    { 0x800, "ALLOC_PD", OUT(alloc_pd) },
    { 0x801, "DEALLOC_PD", IN(dealloc_pd) },
    { 0x802, "ALLOC_UAR", OUT(alloc_uar) },
    { 0x803, "DEALLOC_UAR", IN(dealloc_uar) },
    { 0x805, "ACCESS_REG", PAIR(access_register) },
    { 0x806, "ATTACH_TO_MCG", IN(attach_to_mcg) },
    { 0x807, "DETACH_FROM_MCG", IN(detach_from_mcg) },
    { 0x80e, "ALLOC_XRCD", OUT(alloc_xrcd) },
    { 0x80f, "DEALLOC_XRCD", IN(dealloc_xrcd) },
    { 0x816, "ALLOC_TRANSPORT_DOMAIN", OUT(alloc_transport_domain) },
    { 0x817, "DEALLOC_TRANSPORT_DOMAIN", IN(dealloc_transport_domain) },
    { 0x900, "CREATE_TIR", PAIR(create_tir) },
    { 0x901, "MODIFY_TIR", IN(modify_tir) },
    { 0x902, "DESTROY_TIR", IN(destroy_tir) },
    { 0x904, "CREATE_SQ", PAIR(create_sq) },
    { 0x905, "MODIFY_SQ", IN(modify_sq) },
    { 0x906, "DESTROY_SQ", IN(destroy_sq) },
    { 0x907, "QUERY_SQ", PAIR(query_sq) },
    { 0x908, "CREATE_RQ", PAIR(create_rq) },
    { 0x909, "MODIFY_RQ", IN(modify_rq) },
    { 0x90a, "DESTROY_RQ", IN(destroy_rq) },
    { 0x90b, "QUERY_RQ", PAIR(query_rq) },
    { 0x90c, "CREATE_RMP", PAIR(create_rmp) },
    { 0x90d, "MODIFY_RMP", IN(modify_rmp) },
    { 0x90e, "DESTROY_RMP", IN(destroy_rmp) },
    { 0x90f, "QUERY_RMP", PAIR(query_rmp) },
    { 0x912, "CREATE_TIS", PAIR(create_tis) },
    { 0x913, "MODIFY_TIS", IN(modify_tis) },
    { 0x914, "DESTROY_TIS", IN(destroy_tis) },
    { 0x916, "CREATE_RQT", PAIR(create_rqt) },
    { 0x917, "MODIFY_RQT", IN(modify_rqt) },
    { 0x918, "DESTROY_RQT", IN(destroy_rqt) },
    { 0x92f, "SET_FLOW_TABLE_ROOT", IN(set_flow_table_root) },
    { 0x930, "CREATE_FLOW_TABLE", PAIR(create_flow_table) },
    { 0x931, "DESTROY_FLOW_TABLE", IN(destroy_flow_table) },
    { 0x933, "CREATE_FLOW_GROUP", PAIR(create_flow_group) },
    { 0x934, "DESTROY_FLOW_GROUP", IN(destroy_flow_group) },
    { 0x936, "SET_FLOW_TABLE_ENTRY", IN(set_fte) },
    { 0x938, "DELETE_FLOW_TABLE_ENTRY", IN(delete_fte) },
    { 0x939, "ALLOC_FLOW_COUNTER", PAIR(alloc_flow_counter) },
    { 0x93a, "DEALLOC_FLOW_COUNTER", IN(dealloc_flow_counter) },
    { 0x93b, "QUERY_FLOW_COUNTER", IN(query_flow_counter) },
    { 0x93c, "MODIFY_FLOW_TABLE", IN(modify_flow_table) },
};
const uint32_t mlx5_num_commands = ARRAY_SIZE(mlx5_commands);

const Mlx5Command *mlx5_command_find(uint16_t opcode)
{
    for (uint32_t i = 0; i < mlx5_num_commands; i++) {
        if (mlx5_commands[i].opcode == opcode) {
            return &mlx5_commands[i];
        }
    }
    return NULL;
}
