/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules for each field of the contexts of RDMA objects. A field that selects a feature
 * without its capability has to be 0, so that software learns of it.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/lists.h"

#define USED(layout, name)      { &ernic_mlx5_##layout.name, ERNIC_MLX5_USED },
#define ZERO(layout, name)      { &ernic_mlx5_##layout.name, ERNIC_MLX5_ZERO },
#define IGNORED(layout, name)   { &ernic_mlx5_##layout.name, ERNIC_MLX5_IGNORED },
#define ANSWERED(layout, name)  { &ernic_mlx5_##layout.name, ERNIC_MLX5_ANSWERED },
#define RULES(layout, list) { &ernic_mlx5_##layout.self, list, ARRAY_SIZE(list) }

static const ErnicMlx5FieldRule mkey_rows[] = {
    USED(mkc, free)
    USED(mkc, access_mode_4_2)
    IGNORED(mkc, relaxed_ordering_write)
    IGNORED(mkc, small_fence_on_rdma_read_response)
    USED(mkc, umr_en)
    USED(mkc, a)
    USED(mkc, rw)
    USED(mkc, rr)
    USED(mkc, lw)
    IGNORED(mkc, lr)
    USED(mkc, access_mode_1_0)
    ZERO(mkc, ma_translation_mode)
    USED(mkc, qpn)
    USED(mkc, mkey_7_0)
    USED(mkc, length64)
    ZERO(mkc, bsf_en)
    ZERO(mkc, sync_umr)
    ZERO(mkc, expected_sigerr_count)
    USED(mkc, en_rinval)
    USED(mkc, pd)
    USED(mkc, start_addr)
    USED(mkc, len)
    ZERO(mkc, bsf_octword_size)
    ZERO(mkc, crossing_target_vhca_id)
    USED(mkc, translations_octword_size)
    IGNORED(mkc, relaxed_ordering_read)
    USED(mkc, log_page_size)
};
const ErnicMlx5Rules ernic_mlx5_rules_mkey = RULES(mkc, mkey_rows);

static const ErnicMlx5FieldRule cq_rows[] = {
    ANSWERED(cqc, status)
    ZERO(cqc, dbr_umem_valid)
    ZERO(cqc, apu_cq)
    USED(cqc, cqe_sz)
    ZERO(cqc, cc)
    IGNORED(cqc, scqe_break_moderation_en)
    USED(cqc, oi)
    IGNORED(cqc, cq_period_mode)
    IGNORED(cqc, cqe_comp_en)
    IGNORED(cqc, mini_cqe_res_format)
    ANSWERED(cqc, st)
    IGNORED(cqc, cqe_compression_layout)
    USED(cqc, page_offset)
    USED(cqc, log_cq_size)
    USED(cqc, uar_page)
    USED(cqc, cq_period)
    USED(cqc, cq_max_count)
    USED(cqc, c_eqn_or_apu_element)
    USED(cqc, log_page_size)
    ANSWERED(cqc, last_notified_index)
    ANSWERED(cqc, last_solicit_index)
    ANSWERED(cqc, consumer_counter)
    ANSWERED(cqc, producer_counter)
    USED(cqc, dbr_addr)
};
const ErnicMlx5Rules ernic_mlx5_rules_cq = RULES(cqc, cq_rows);

static const ErnicMlx5FieldRule qp_rows[] = {
    ANSWERED(qpc, state)
    IGNORED(qpc, lag_tx_port_affinity)
    USED(qpc, st)
    ZERO(qpc, isolate_vl_tc)
    IGNORED(qpc, pm_state)
    ZERO(qpc, req_e2e_credit_mode)
    ZERO(qpc, offload_type)
    IGNORED(qpc, end_padding_mode)
    ZERO(qpc, wq_signature)
    IGNORED(qpc, block_lb_mc)
    ZERO(qpc, atomic_like_write_en)
    IGNORED(qpc, latency_sensitive)
    ZERO(qpc, drain_sigerr)
    USED(qpc, pd)
    USED(qpc, mtu)
    IGNORED(qpc, log_msg_max)
    USED(qpc, log_rq_size)
    USED(qpc, log_rq_stride)
    USED(qpc, no_sq)
    USED(qpc, log_sq_size)
    IGNORED(qpc, retry_mode)
    IGNORED(qpc, ts_format)
    IGNORED(qpc, rlky)
    ZERO(qpc, ulp_stateless_offload_mode)
    USED(qpc, counter_set_id)
    USED(qpc, uar_page)
    USED(qpc, user_index)
    USED(qpc, log_page_size)
    USED(qpc, remote_qpn)
    USED(qpc, primary_address_path)
    IGNORED(qpc, secondary_address_path)
    IGNORED(qpc, log_ack_req_freq)
    USED(qpc, log_sra_max)
    USED(qpc, retry_count)
    USED(qpc, rnr_retry)
    USED(qpc, fre)
    ANSWERED(qpc, cur_rnr_retry)
    ANSWERED(qpc, cur_retry_count)
    USED(qpc, next_send_psn)
    ZERO(qpc, log_num_dci_stream_channels)
    USED(qpc, cqn_snd)
    ZERO(qpc, log_num_dci_errored_streams)
    ZERO(qpc, deth_sqpn)
    ANSWERED(qpc, last_acked_psn)
    ANSWERED(qpc, ssn)
    USED(qpc, log_rra_max)
    IGNORED(qpc, atomic_mode)
    USED(qpc, rre)
    USED(qpc, rwe)
    USED(qpc, rae)
    USED(qpc, page_offset)
    ZERO(qpc, cd_slave_receive)
    ZERO(qpc, cd_slave_send)
    ZERO(qpc, cd_master)
    USED(qpc, min_rnr_nak)
    USED(qpc, next_rcv_psn)
    USED(qpc, xrcd)
    USED(qpc, cqn_rcv)
    USED(qpc, dbr_addr)
    USED(qpc, q_key)
    USED(qpc, rq_type)
    USED(qpc, srqn_rmpn_xrqn)
    IGNORED(qpc, rmsn)
    ANSWERED(qpc, hw_sq_wqebb_counter)
    ANSWERED(qpc, sw_sq_wqebb_counter)
    ANSWERED(qpc, hw_rq_counter)
    ANSWERED(qpc, sw_rq_counter)
    ZERO(qpc, cgs)
    IGNORED(qpc, cs_req)
    IGNORED(qpc, cs_res)
    ZERO(qpc, dc_access_key)
    ZERO(qpc, dbr_umem_valid)
};
const ErnicMlx5Rules ernic_mlx5_rules_qp = RULES(qpc, qp_rows);

static const ErnicMlx5FieldRule path_rows[] = {
    IGNORED(ads, fl)
    IGNORED(ads, free_ar)
    USED(ads, pkey_index)
    IGNORED(ads, plane_index)
    IGNORED(ads, grh)
    IGNORED(ads, mlid)
    IGNORED(ads, rlid)
    USED(ads, ack_timeout)
    USED(ads, src_addr_index)
    IGNORED(ads, stat_rate)
    USED(ads, hop_limit)
    USED(ads, tclass)
    USED(ads, flow_label)
    USED(ads, rgid_rip)
    IGNORED(ads, f_dscp)
    IGNORED(ads, f_ecn)
    IGNORED(ads, f_eth_prio)
    IGNORED(ads, ecn)
    IGNORED(ads, dscp)
    USED(ads, udp_sport)
    IGNORED(ads, dei_cfi)
    USED(ads, eth_prio)
    IGNORED(ads, sl)
    USED(ads, vhca_port_num)
    USED(ads, rmac_47_32)
    USED(ads, rmac_31_0)
};
const ErnicMlx5Rules ernic_mlx5_rules_path = RULES(ads, path_rows);

static const ErnicMlx5FieldRule rmp_rows[] = {
    USED(rmpc, state)
    ZERO(rmpc, basic_cyclic_rcv_wqe)
    USED(rmpc, wq)
};
const ErnicMlx5Rules ernic_mlx5_rules_rmp = RULES(rmpc, rmp_rows);

static const ErnicMlx5FieldRule wq_rows[] = {
    ZERO(wq, wq_type)
    ZERO(wq, wq_signature)
    IGNORED(wq, end_padding_mode)
    ZERO(wq, cd_slave)
    ZERO(wq, hds_skip_first_sge)
    ZERO(wq, log2_hds_buf_size)
    USED(wq, page_offset)
    USED(wq, lwm)
    USED(wq, pd)
    IGNORED(wq, uar_page)
    USED(wq, dbr_addr)
    ANSWERED(wq, hw_counter)
    ANSWERED(wq, sw_counter)
    USED(wq, log_wq_stride)
    USED(wq, log_wq_pg_sz)
    USED(wq, log_wq_sz)
    ZERO(wq, dbr_umem_valid)
    ZERO(wq, wq_umem_valid)
    IGNORED(wq, log_hairpin_num_packets)
    IGNORED(wq, log_hairpin_data_sz)
    IGNORED(wq, log_wqe_num_of_strides)
    ZERO(wq, two_byte_shift_en)
    IGNORED(wq, log_wqe_stride_size)
    IGNORED(wq, dbr_umem_id)
    IGNORED(wq, wq_umem_id)
    IGNORED(wq, wq_umem_offset)
    IGNORED(wq, headers_mkey)
    ZERO(wq, shampo_enable)
    IGNORED(wq, log_reservation_size)
    IGNORED(wq, log_max_num_of_packets_per_reservation)
    IGNORED(wq, log_headers_entry_size)
    IGNORED(wq, log_headers_buffer_entry_num)
    USED(wq, pas)
};
const ErnicMlx5Rules ernic_mlx5_rules_wq = RULES(wq, wq_rows);

static const ErnicMlx5FieldRule xrc_srq_rows[] = {
    ANSWERED(xrc_srqc, state)
    USED(xrc_srqc, log_xrc_srq_size)
    ZERO(xrc_srqc, wq_signature)
    ZERO(xrc_srqc, cont_srq)
    IGNORED(xrc_srqc, rlky)
    ZERO(xrc_srqc, basic_cyclic_rcv_wqe)
    USED(xrc_srqc, log_rq_stride)
    USED(xrc_srqc, xrcd)
    USED(xrc_srqc, page_offset)
    ZERO(xrc_srqc, dbr_umem_valid)
    USED(xrc_srqc, cqn)
    IGNORED(xrc_srqc, user_index_equal_xrc_srqn)
    USED(xrc_srqc, log_page_size)
    USED(xrc_srqc, user_index)
    USED(xrc_srqc, pd)
    USED(xrc_srqc, lwm)
    ANSWERED(xrc_srqc, wqe_cnt)
    USED(xrc_srqc, db_record_addr_h)
    USED(xrc_srqc, db_record_addr_l)
};
const ErnicMlx5Rules ernic_mlx5_rules_xrc_srq = RULES(xrc_srqc, xrc_srq_rows);

static const ErnicMlx5FieldRule gid_rows[] = {
    USED(roce_addr_layout, source_l3_address)
    USED(roce_addr_layout, vlan_valid)
    USED(roce_addr_layout, vlan_id)
    USED(roce_addr_layout, source_mac_47_32)
    USED(roce_addr_layout, source_mac_31_0)
    USED(roce_addr_layout, roce_l3_type)
    USED(roce_addr_layout, roce_version)
};
const ErnicMlx5Rules ernic_mlx5_rules_gid = RULES(roce_addr_layout, gid_rows);

const ErnicMlx5Rules *const ernic_mlx5_rules[] = {
    &ernic_mlx5_rules_mkey,
    &ernic_mlx5_rules_cq,
    &ernic_mlx5_rules_qp,
    &ernic_mlx5_rules_path,
    &ernic_mlx5_rules_rmp,
    &ernic_mlx5_rules_wq,
    &ernic_mlx5_rules_xrc_srq,
    &ernic_mlx5_rules_gid,
    NULL,
};
