// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared receive queues of processes.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

static int ernic_srq_cmd(struct ernic_dev *dev, struct ernic_srq *srq, u32 pdn,
			 const struct ernic_create_srq_req *req, u32 limit)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_CREATE };
	struct ernic_pages pages = {};
	struct ernic_rsp rsp;
	int ret;

	srq->umem = ernic_queue_get(dev, req->buf_addr,
				    (u64)req->depth * req->stride * 64,
				    &cmd.srq.buf, &pages);
	if (IS_ERR(srq->umem))
		return PTR_ERR(srq->umem);
	cmd.uctx = cpu_to_le32(srq->uctx);
	cmd.srq.pd = cpu_to_le32(pdn);
	cmd.srq.depth = cpu_to_le32(req->depth);
	cmd.srq.limit = cpu_to_le32(limit);
	cmd.srq.stride = cpu_to_le16(req->stride);
	ret = ernic_com_exec(dev, &cmd, &rsp, NULL, 0, NULL, 0);
	ernic_pages_fini(dev, &pages);
	if (ret)
		ib_umem_release(srq->umem);
	else
		srq->srqn = le32_to_cpu(rsp.handle);
	return ret;
}

int ernic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_pd *pd = to_pd(ibsrq->pd);
	struct ernic_srq *srq = to_srq(ibsrq);
	struct ernic_create_srq_resp resp = {};
	struct ernic_create_srq_req req;
	int ret;

	if (!udata || init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (udata->inlen < sizeof(req))
		return -EINVAL;
	ret = ib_copy_from_udata(&req, udata, sizeof(req));
	if (ret)
		return ret;
	if (!is_power_of_2(req.depth) || !req.stride || req.reserved ||
	    req.depth < init->attr.max_wr ||
	    req.depth > le32_to_cpu(dev->attr.max_srq_wr) ||
	    req.stride > ERNIC_RQ_STRIDE_MAX ||
	    req.stride * 64 < sizeof(struct ernic_rwqe) +
			init->attr.max_sge * sizeof(struct ernic_sge))
		return -EINVAL;
	srq->uctx = pd->uctx;
	ret = ernic_srq_cmd(dev, srq, pd->pdn, &req, init->attr.srq_limit);
	if (ret)
		return ret;
	init->attr.max_wr = req.depth;
	ret = xa_err(xa_store_irq(&dev->srqs, srq->srqn, srq, GFP_KERNEL));
	if (ret)
		goto err;
	resp.srqn = srq->srqn;
	ret = ernic_respond(udata, &resp, sizeof(resp));
	if (!ret)
		return 0;
err:
	ernic_destroy_srq(ibsrq, udata);
	return ret;
}

int ernic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct ernic_srq *srq = to_srq(ibsrq);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_MODIFY };
	struct ernic_rsp rsp;

	if (mask != IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	cmd.uctx = cpu_to_le32(srq->uctx);
	cmd.srq.handle = cpu_to_le32(srq->srqn);
	cmd.srq.limit = cpu_to_le32(attr->srq_limit);
	return ernic_com_exec(to_dev(ibsrq->device), &cmd, &rsp, NULL, 0,
			      NULL, 0);
}

int ernic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct ernic_srq *srq = to_srq(ibsrq);
	struct ernic_srq_attr a = {};
	int ret = ernic_cmd_query(to_dev(ibsrq->device), ERNIC_CMD_SRQ_QUERY,
				  srq->uctx, srq->srqn, &a, sizeof(a));

	if (ret)
		return ret;
	attr->max_wr = le32_to_cpu(a.depth);
	attr->max_sge = to_dev(ibsrq->device)->attr.max_sge;
	attr->srq_limit = le32_to_cpu(a.limit);
	return 0;
}

int ernic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_srq *srq = to_srq(ibsrq);
	int ret = ernic_cmd_free(dev, ERNIC_CMD_SRQ_DESTROY, srq->uctx,
				 srq->srqn);

	if (ret == -EBUSY)
		return ret;
	ernic_table_erase(dev, &dev->srqs, srq->srqn);
	ib_umem_release(srq->umem);
	return 0;
}
