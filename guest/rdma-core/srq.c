// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Shared receive queues.
 */
#include <errno.h>
#include <stdlib.h>

#include "ernic.h"
#include "ernic_cmd.h"

static int srq_command(struct ibv_pd *ibpd, struct ernic_srq *srq,
		       struct ibv_srq_init_attr *attr)
{
	struct uernic_create_srq_resp resp = {};
	struct uernic_create_srq cmd = {};
	int ret;

	cmd.drv_payload.buf_addr = (uintptr_t)srq->wq.buf.addr;
	cmd.drv_payload.depth = srq->wq.depth;
	cmd.drv_payload.stride = srq->wq.stride / 64;
	ret = ibv_cmd_create_srq(ibpd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	srq->vsrq.srq_num = resp.drv_payload.srqn;
	srq->wq.db = ERNIC_DB(ERNIC_DB_SRQ, resp.drv_payload.srqn, 0);
	return ret;
}

struct ibv_srq *ernic_create_srq(struct ibv_pd *ibpd,
				 struct ibv_srq_init_attr *attr)
{
	const struct ernic_alloc_ucontext_resp *caps =
		&to_ernic_context(ibpd->context)->caps;
	struct ernic_srq *srq;
	int ret;

	if (!attr->attr.max_wr || attr->attr.max_wr > caps->max_srq_wr ||
	    attr->attr.max_sge > caps->max_sge) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->pd = to_ernic_pd(ibpd);
	srq->wq.max_sge = attr->attr.max_sge ? attr->attr.max_sge : 1;
	ret = ernic_wq_init(&srq->wq, srq->pd, ERNIC_RES_SRQ,
			    attr->attr.max_wr,
			    sizeof(struct ernic_rwqe) +
				    srq->wq.max_sge * sizeof(struct ernic_sge));
	if (ret)
		goto err;
	ret = srq_command(ibpd, srq, attr);
	if (ret)
		goto err_wq;
	ernic_pd_ref(srq->pd);
	return &srq->vsrq.srq;

err_wq:
	ernic_wq_fini(&srq->wq);
err:
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *ernic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct ibv_srq *srq;

	if ((attr->comp_mask &
	     ~(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD)) ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = ernic_create_srq(attr->pd, &basic);
	attr->attr = basic.attr;
	return srq;
}

int ernic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask)
{
	struct ibv_modify_srq cmd;

	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int ernic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int ernic_destroy_srq(struct ibv_srq *ibsrq)
{
	struct ernic_srq *srq = to_ernic_srq(ibsrq);
	int ret = ibv_cmd_destroy_srq(ibsrq);

	if (ret)
		return ret;
	ernic_wq_fini(&srq->wq);
	ernic_pd_unref(srq->pd);
	free(srq);
	return 0;
}
