// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Shared receive queues.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ernic.h"
#include "ernic_cmd.h"

static bool is_xrc(const struct ibv_srq_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	       attr->srq_type == IBV_SRQT_XRC;
}

static void srq_request(const struct ernic_srq *srq,
			struct ernic_create_srq_req *req)
{
	req->buf_addr = (uintptr_t)srq->wq.buf.addr;
	req->depth = srq->wq.depth;
	req->stride = srq->wq.stride / 64;
	req->record_addr = ernic_wq_record(&srq->wq);
}

static int srq_command(struct ernic_srq *srq,
		       struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct uernic_create_srq_resp resp = {};
	struct uernic_create_srq cmd = {};
	int ret;

	srq_request(srq, &cmd.drv_payload);
	ret = ibv_cmd_create_srq(attr->pd, &srq->vsrq.srq, &basic, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	attr->attr = basic.attr;
	srq->vsrq.srq_num = resp.drv_payload.srqn;
	return ret;
}

static int srq_command_xrc(struct ernic_context *ctx, struct ernic_srq *srq,
			   struct ibv_srq_init_attr_ex *attr)
{
	struct uernic_create_srq_ex_resp resp = {};
	struct uernic_create_srq_ex cmd = {};
	int ret;

	srq_request(srq, &cmd.drv_payload);
	srq->cq = to_ernic_cq(attr->cq);
	ret = ibv_cmd_create_srq_ex(&ctx->ibv_ctx.context, &srq->vsrq, attr,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
	if (ret)
		return ret;
	ret = ernic_table_add(ctx, &ctx->srqs, srq->vsrq.srq_num, srq);
	if (ret)
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
	return ret;
}

static struct ibv_srq *srq_create(struct ibv_context *ibctx,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct ernic_context *ctx = to_ernic_context(ibctx);
	const struct ernic_alloc_ucontext_resp *caps = &ctx->caps;
	struct ernic_srq *srq;
	int ret;

	if (!attr->attr.max_wr || attr->attr.max_wr > caps->max_srq_wr ||
	    attr->attr.max_sge > caps->max_sge)
		return ernic_create_failed(NULL, EINVAL);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->pd = to_ernic_pd(attr->pd);
	srq->wq.max_sge = attr->attr.max_sge ? attr->attr.max_sge : 1;
	ret = ernic_wq_init(&srq->wq, srq->pd, ERNIC_RES_SRQ,
			    attr->attr.max_wr,
			    sizeof(struct ernic_rwqe) +
				    srq->wq.max_sge * sizeof(struct ernic_sge));
	if (ret)
		goto err;
	ret = ernic_records_alloc(&srq->record_buf, ctx, srq->pd, ERNIC_RES_SRQ,
				  &srq->wq, NULL);
	if (ret)
		goto err_wq;
	ret = is_xrc(attr) ? srq_command_xrc(ctx, srq, attr) :
			     srq_command(srq, attr);
	if (ret)
		goto err_wq;
	srq->wq.db = ERNIC_DB(ERNIC_DB_SRQ, srq->vsrq.srq_num, 0);
	ernic_pd_ref(srq->pd);
	return &srq->vsrq.srq;

err_wq:
	ernic_buf_free(&srq->record_buf);
	ernic_wq_fini(&srq->wq);
err:
	return ernic_create_failed(srq, ret);
}

struct ibv_srq *ernic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t common = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if ((attr->comp_mask & ~(common | xrc)) ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask & xrc) != (is_xrc(attr) ? xrc : 0) ||
	    ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type != IBV_SRQT_BASIC && !is_xrc(attr)))
		return ernic_create_failed(NULL, EOPNOTSUPP);
	return srq_create(ibctx, attr);
}

struct ibv_srq *ernic_create_srq(struct ibv_pd *ibpd,
				 struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = ibpd,
	};
	struct ibv_srq *srq = srq_create(ibpd->context, &ex);

	attr->attr = ex.attr;
	return srq;
}

int ernic_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_ernic_srq(ibsrq)->vsrq.srq_num;
	return 0;
}

/* Copies the posted requests to a new ring, while the lock prevents posting. */
static int srq_resize_locked(struct ernic_srq *srq, struct ibv_srq_attr *attr)
{
	struct uernic_modify_srq cmd = {};
	struct ernic_wq *wq = &srq->wq;
	struct ernic_wq old = *wq;
	uint32_t n = atomic_load(&wq->ci);
	int ret;

	wq->depth = ernic_depth(attr->max_wr, wq->stride);
	ret = wq->pi - n > wq->depth ? EINVAL :
		ernic_buf_alloc(&wq->buf, srq->pd, ERNIC_RES_SRQ,
				(size_t)wq->depth * wq->stride);
	if (!ret) {
		for (; n != wq->pi; n++)
			memcpy(ernic_wq_slot(wq, n), ernic_wq_slot(&old, n),
			       wq->stride);
		cmd.drv_payload.buf_addr = (uintptr_t)wq->buf.addr;
		cmd.drv_payload.depth = wq->depth;
		ret = ibv_cmd_modify_srq(&srq->vsrq.srq, attr,
					 IBV_SRQ_MAX_WR, &cmd.ibv_cmd,
					 sizeof(cmd));
		ernic_buf_free(ret ? &wq->buf : &old.buf);
	}
	if (ret) {
		wq->depth = old.depth;
		wq->buf = old.buf;
	}
	return ret;
}

int ernic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask)
{
	struct ernic_context *ctx = to_ernic_context(ibsrq->context);
	struct ernic_srq *srq = to_ernic_srq(ibsrq);
	struct ibv_modify_srq cmd;
	int ret;

	if (mask & IBV_SRQ_MAX_WR) {
		if (!attr->max_wr || attr->max_wr > ctx->caps.max_srq_wr)
			return ernic_error(EINVAL);
		ernic_lock(&srq->wq.lock);
		ret = srq_resize_locked(srq, attr);
		ernic_unlock(&srq->wq.lock);
		mask &= ~IBV_SRQ_MAX_WR;
		if (ret || !mask)
			return ernic_error(ret);
	}
	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int ernic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int ernic_destroy_srq(struct ibv_srq *ibsrq)
{
	struct ernic_context *ctx = to_ernic_context(ibsrq->context);
	struct ernic_srq *srq = to_ernic_srq(ibsrq);
	int ret;

	/* Without the lock: it waits until the program has acknowledged all events. */
	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	if (srq->cq) {
		pthread_mutex_lock(&ctx->table_lock);
		ernic_lock(&srq->cq->lock);
		ernic_cq_clean_xrc(srq->cq, srq->vsrq.srq_num);
		ernic_table_remove(ctx, &ctx->srqs, srq->vsrq.srq_num);
		ernic_unlock(&srq->cq->lock);
		pthread_mutex_unlock(&ctx->table_lock);
	}
	ernic_buf_free(&srq->record_buf);
	ernic_wq_fini(&srq->wq);
	ernic_pd_unref(srq->pd);
	free(srq);
	return 0;
}
