/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Helpers of the commands of RDMA objects: contexts, lists of pages, numbers.
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
