// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Queue pairs: creation, modification, destruction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ernic.h"
#include "ernic_cmd.h"

/* ---- creation ------------------------------------------------------------ */

static bool has_rq(const struct ibv_qp_init_attr_ex *attr)
{
	return !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND;
}

static int qp_attr_check(const struct ernic_alloc_ucontext_resp *caps,
			 const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if ((attr->comp_mask &
	     ~(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
	       IBV_QP_INIT_ATTR_CREATE_FLAGS)) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	     attr->create_flags))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_XRC_SEND &&
	    attr->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (!attr->send_cq ||
	    (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND) ||
	    cap->max_send_wr > caps->max_sq_wr ||
	    cap->max_send_sge > caps->max_sge ||
	    cap->max_inline_data > caps->max_inline)
		return EINVAL;
	if (has_rq(attr) && (cap->max_recv_wr > caps->max_rq_wr ||
			   cap->max_recv_sge > caps->max_sge))
		return EINVAL;
	return 0;
}

/*
 * Allocates both queues and sets cap to the capacity of their slots: some programs send
 * inline data without having asked for it.
 */
static int qp_rings(struct ernic_qp *qp, bool rq, struct ibv_qp_cap *cap,
		    const struct ernic_alloc_ucontext_resp *caps)
{
	size_t sges, data;
	int ret;

	sges = (cap->max_send_sge ? cap->max_send_sge : 1) *
	       sizeof(struct ernic_sge);
	data = sges > cap->max_inline_data ? sges : cap->max_inline_data;
	ret = ernic_wq_init(&qp->sq, qp->pd, ERNIC_RES_SQ, cap->max_send_wr,
			    sizeof(struct ernic_wqe) + data);
	if (ret)
		return ret;
	data = qp->sq.stride - sizeof(struct ernic_wqe);
	qp->max_inline = data < caps->max_inline ? data : caps->max_inline;
	qp->sq.max_sge = data / sizeof(struct ernic_sge);
	if (qp->sq.max_sge > caps->max_sge)
		qp->sq.max_sge = caps->max_sge;
	cap->max_inline_data = qp->max_inline;
	cap->max_send_sge = qp->sq.max_sge;
	if (!rq)
		return 0;
	qp->rq.max_sge = cap->max_recv_sge ? cap->max_recv_sge : 1;
	sges = qp->rq.max_sge * sizeof(struct ernic_sge);
	ret = ernic_wq_init(&qp->rq, qp->pd, ERNIC_RES_RQ, cap->max_recv_wr,
			    sizeof(struct ernic_rwqe) + sges);
	if (ret)
		ernic_wq_fini(&qp->sq);
	return ret;
}

static void qp_queues_fini(struct ernic_qp *qp)
{
	ernic_buf_free(&qp->record_buf);
	if (qp->rq.depth)
		ernic_wq_fini(&qp->rq);
	ernic_wq_fini(&qp->sq);
}

static int qp_queues(struct ernic_qp *qp, bool rq, struct ibv_qp_cap *cap,
		     struct ernic_context *ctx)
{
	int ret = qp_rings(qp, rq, cap, &ctx->caps);

	if (ret)
		return ret;
	ret = ernic_records_alloc(&qp->record_buf, ctx, qp->pd, ERNIC_RES_SQ,
				  &qp->sq, rq ? &qp->rq : NULL);
	if (ret)
		qp_queues_fini(qp);
	return ret;
}

static int qp_command(struct ibv_context *ibctx, struct ernic_qp *qp,
		      struct ibv_qp_init_attr_ex *attr,
		      const struct ibv_qp_cap *cap)
{
	struct uernic_create_qp_resp resp = {};
	struct ibv_qp_init_attr_ex plain = *attr;
	struct uernic_create_qp cmd = {};
	int ret;

	plain.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (attr->qp_type == IBV_QPT_XRC_SEND) {
		plain.recv_cq = NULL;
		plain.srq = NULL;
	}
	plain.cap = *cap;
	cmd.drv_payload.sq_addr = (uintptr_t)qp->sq.buf.addr;
	cmd.drv_payload.sq_depth = qp->sq.depth;
	cmd.drv_payload.sq_stride = qp->sq.stride / 64;
	cmd.drv_payload.sq_record_addr = ernic_wq_record(&qp->sq);
	if (qp->rq.depth) {
		cmd.drv_payload.rq_addr = (uintptr_t)qp->rq.buf.addr;
		cmd.drv_payload.rq_depth = qp->rq.depth;
		cmd.drv_payload.rq_stride = qp->rq.stride / 64;
		cmd.drv_payload.rq_record_addr = ernic_wq_record(&qp->rq);
	}
	ret = ibv_cmd_create_qp_ex(ibctx, &qp->vqp, &plain, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (!ret)
		attr->cap = plain.cap;
	return ret;
}

static int qp_register(struct ernic_context *ctx, struct ernic_qp *qp,
		       struct ibv_qp_init_attr_ex *attr,
		       const struct ibv_qp_cap *cap)
{
	int ret = qp_command(&ctx->ibv_ctx.context, qp, attr, cap);
	uint32_t qpn;

	if (ret)
		return ret;
	qpn = qp->vqp.qp.qp_num;
	qp->sq.db = ERNIC_DB(ERNIC_DB_SQ, qpn, 0);
	qp->rq.db = ERNIC_DB(ERNIC_DB_RQ, qpn, 0);
	ret = ernic_table_add(ctx, &ctx->qps, qpn, qp);
	if (ret)
		ibv_cmd_destroy_qp(&qp->vqp.qp);
	return ret;
}

struct ibv_qp *ernic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct ernic_context *ctx = to_ernic_context(ibctx);
	struct ibv_qp_cap cap = attr->cap;
	struct ernic_qp *qp = NULL;
	int ret;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return ernic_create_tgt(ibctx, attr);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		return ernic_create_rss(ibctx, attr);
	ret = qp_attr_check(&ctx->caps, attr);
	if (ret)
		goto err;
	ret = ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		goto err;
	qp->pd = to_ernic_pd(attr->pd);
	qp->send_cq = to_ernic_cq(attr->send_cq);
	if (attr->qp_type != IBV_QPT_XRC_SEND) {
		qp->srq = attr->srq ? to_ernic_srq(attr->srq) : NULL;
		qp->recv_cq = to_ernic_cq(attr->recv_cq);
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ret = ernic_qp_init_ex(qp, attr->qp_type,
				       attr->send_ops_flags);
		if (ret)
			goto err;
	}
	ret = qp_queues(qp, has_rq(attr), &cap, ctx);
	if (ret)
		goto err;
	ret = qp_register(ctx, qp, attr, &cap);
	if (ret)
		goto err_queues;
	/* The library's function clears flags that it does not know. */
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->vqp.comp_mask |= VERBS_QP_EX;
	ernic_pd_ref(qp->pd);
	return &qp->vqp.qp;

err_queues:
	qp_queues_fini(qp);
err:
	return ernic_create_failed(qp, ret);
}

struct ibv_qp *ernic_create_qp(struct ibv_pd *ibpd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibpd,
	};
	struct ibv_qp *qp = ernic_create_qp_ex(ibpd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/* ---- modification and destruction ---------------------------------------- */

static int modify_with_rate(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			    int mask, uint32_t burst)
{
	struct uernic_modify_qp_resp resp = {};
	struct uernic_modify_qp cmd = {};

	cmd.drv_payload.rate_burst = burst;
	return ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd.ibv_cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
}

/* The device ignores the hint about the size of a typical packet. */
int ernic_modify_qp_rate_limit(struct ibv_qp *ibqp,
			       struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };

	if (limit->comp_mask ||
	    (!limit->rate_limit &&
	     (limit->max_burst_sz || limit->typical_pkt_sz)))
		return ernic_error(EINVAL);
	return modify_with_rate(ibqp, &attr, IBV_QP_RATE_LIMIT,
				limit->max_burst_sz);
}

int ernic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ernic_qp *qp = to_ernic_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret = mask & IBV_QP_RATE_LIMIT ?
			  modify_with_rate(ibqp, attr, mask, 0) :
			  ibv_cmd_modify_qp(ibqp, attr, mask, &cmd,
					    sizeof(cmd));

	if (!ret && (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		ernic_qp_clean_cqs(qp);
		ernic_wq_reset(&qp->sq);
		ernic_wq_reset(&qp->rq);
	}
	return ret;
}

int ernic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, mask, init, &cmd, sizeof(cmd));
}

int ernic_destroy_qp(struct ibv_qp *ibqp)
{
	struct ernic_context *ctx = to_ernic_context(ibqp->context);
	struct ernic_qp *qp = to_ernic_qp(ibqp);
	int ret;

	if (ibqp->qp_type == IBV_QPT_XRC_RECV)
		return ernic_destroy_tgt(ibqp);
	if (qp->over_table)
		return ernic_destroy_rss(ibqp);
	/* Without the lock: it waits until the program has acknowledged all events. */
	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	pthread_mutex_lock(&ctx->table_lock);
	ernic_qp_clean_cqs(qp);
	ernic_table_remove(ctx, &ctx->qps, ibqp->qp_num);
	pthread_mutex_unlock(&ctx->table_lock);
	qp_queues_fini(qp);
	ernic_pd_unref(qp->pd);
	free(qp);
	return 0;
}
