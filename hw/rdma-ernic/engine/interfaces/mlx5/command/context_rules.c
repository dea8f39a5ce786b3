/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Fields of contexts that have to be 0: each selects a feature without its capability, so
 * that software learns of it.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/lists.h"

#define ZERO(layout, name) &ernic_mlx5_##layout.name

const ErnicMlx5Field *const ernic_mlx5_zero_mkc[] = {
    ZERO(mkc, ma_translation_mode), ZERO(mkc, bsf_en), ZERO(mkc, sync_umr),
    ZERO(mkc, expected_sigerr_count), ZERO(mkc, bsf_octword_size),
    ZERO(mkc, crossing_target_vhca_id), NULL,
};

const ErnicMlx5Field *const ernic_mlx5_zero_cqc[] = {
    ZERO(cqc, dbr_umem_valid), ZERO(cqc, apu_cq), ZERO(cqc, cc), NULL,
};

const ErnicMlx5Field *const ernic_mlx5_zero_qpc[] = {
    ZERO(qpc, isolate_vl_tc), ZERO(qpc, req_e2e_credit_mode), ZERO(qpc, offload_type),
    ZERO(qpc, wq_signature), ZERO(qpc, atomic_like_write_en), ZERO(qpc, drain_sigerr),
    ZERO(qpc, ulp_stateless_offload_mode), ZERO(qpc, log_num_dci_stream_channels),
    ZERO(qpc, log_num_dci_errored_streams), ZERO(qpc, deth_sqpn),
    ZERO(qpc, cd_slave_receive), ZERO(qpc, cd_slave_send), ZERO(qpc, cd_master),
    ZERO(qpc, cgs), ZERO(qpc, dc_access_key), ZERO(qpc, dbr_umem_valid), NULL,
};

const ErnicMlx5Field *const ernic_mlx5_zero_rmpc[] = {
    ZERO(rmpc, basic_cyclic_rcv_wqe), NULL,
};

const ErnicMlx5Field *const ernic_mlx5_zero_wq[] = {
    ZERO(wq, wq_type), ZERO(wq, wq_signature), ZERO(wq, cd_slave),
    ZERO(wq, hds_skip_first_sge), ZERO(wq, log2_hds_buf_size),
    ZERO(wq, dbr_umem_valid), ZERO(wq, wq_umem_valid), ZERO(wq, two_byte_shift_en),
    ZERO(wq, shampo_enable), NULL,
};

const ErnicMlx5Field *const ernic_mlx5_zero_xrc_srqc[] = {
    ZERO(xrc_srqc, wq_signature), ZERO(xrc_srqc, cont_srq),
    ZERO(xrc_srqc, basic_cyclic_rcv_wqe), ZERO(xrc_srqc, dbr_umem_valid), NULL,
};

bool ernic_mlx5_zero_ok(const ErnicMlx5Field *const *fields, const uint8_t *context)
{
    for (; *fields; fields++) {
        if (ernic_mlx5_get(context, *fields)) {
            return false;
        }
    }
    return true;
}
