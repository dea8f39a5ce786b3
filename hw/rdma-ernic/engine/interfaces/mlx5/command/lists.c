/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Helpers of the commands of RDMA objects: contexts, lists of pages, numbers, and the
 * fields of contexts that have to be 0.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/command/lists.h"
#include "objects/buf.h"
#include "objects/pd.h"

void ernic_mlx5_contexts_init(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg)
{
    contexts->mkey = ernic_table_new(cfg->max_mr, ERNIC_MLX5_MKC);
    contexts->cq = ernic_table_new(cfg->max_cq, ERNIC_MLX5_CQC);
    contexts->qp = ernic_table_new(cfg->max_qp, ERNIC_MLX5_QPC);
    contexts->srq = ernic_table_new(cfg->max_srq, ERNIC_MLX5_SRQC);
    contexts->eq = g_malloc0_n(cfg->max_eq, ERNIC_MLX5_EQC);
    contexts->eq_events = g_new0(uint64_t, cfg->max_eq);
    contexts->xrcd = g_new0(bool, cfg->max_pd);
    contexts->transport = g_new0(bool, cfg->max_pd);
}

void ernic_mlx5_contexts_fini(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg)
{
    ernic_table_free(contexts->mkey, cfg->max_mr, ERNIC_MLX5_MKC);
    ernic_table_free(contexts->cq, cfg->max_cq, ERNIC_MLX5_CQC);
    ernic_table_free(contexts->qp, cfg->max_qp, ERNIC_MLX5_QPC);
    ernic_table_free(contexts->srq, cfg->max_srq, ERNIC_MLX5_SRQC);
    g_free(contexts->eq);
    g_free(contexts->eq_events);
    g_free(contexts->xrcd);
    g_free(contexts->transport);
    memset(contexts, 0, sizeof(*contexts));
}

void ernic_mlx5_contexts_reset(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg)
{
    memset(contexts->transport, 0, cfg->max_pd * sizeof(bool));
}

ErnicMlx5Refusal ernic_mlx5_read_list(Ernic *e, const ErnicMlx5Request *r,
                                      const ErnicMlx5List *list, ErnicBuf *buf)
{
    uint64_t page = 1ull << MIN(list->page_shift, 63u);
    uint64_t offset = list->offset * (page / 64), npages;

    memset(buf, 0, sizeof(*buf));
    if (!list->bytes) {
        return ERNIC_MLX5_ACCEPTED;
    }
    if (list->page_shift > ERNIC_PAGE_SHIFT_MAX) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    npages = DIV_ROUND_UP(offset + list->bytes, page);
    if (r->in_len < list->at || (r->in_len - list->at) / sizeof(uint64_t) < npages) {
        return ERNIC_MLX5_SHORT_MESSAGE;
    }
    return ernic_mlx5_refusal(ernic_buf_init_pages(e, buf, r->in + list->at, npages,
                                                   list->page_shift, offset,
                                                   list->bytes));
}

bool ernic_mlx5_has_pd(const Ernic *e, uint32_t pd)
{
    return pd < e->cfg.max_pd && e->pd[pd].used && !e->mlx5->contexts.xrcd[pd];
}

bool ernic_mlx5_has_xrcd(const Ernic *e, uint32_t xrcd)
{
    return xrcd < e->cfg.max_pd && e->pd[xrcd].used && e->mlx5->contexts.xrcd[xrcd];
}

bool ernic_mlx5_has_transport_domain(const Ernic *e, uint32_t number)
{
    return number < e->cfg.max_pd && e->mlx5->contexts.transport[number];
}

bool ernic_mlx5_has_uar(const ErnicMlx5Function *f, uint32_t uar)
{
    return uar < ERNIC_MLX5_UAR_END && (f->uars[uar / 8] & 1u << uar % 8);
}

/* ---- fields that have to be 0 ------------------------------------------------ */

/* Each selects a feature without its capability, so that software learns of it. */
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
