// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes to completion queues: another ring, event moderation.
 */
#include "ernic_verbs.h"

static int ernic_cq_resize_cmd(struct ernic_dev *dev, struct ernic_cq *cq,
			       const struct ernic_resize_cq_req *req, u32 cqe)
{
	struct ernic_cmd cmd = {
		.opcode = ERNIC_CMD_CQ_RESIZE,
		.uctx = cpu_to_le32(cq->uctx),
	};
	struct ernic_pages pages = {};
	struct ib_umem *umem;
	int ret;

	ret = ernic_cq_ring(dev, req->buf_addr, req->depth, cqe,
			    &cmd.cq_create.buf, &pages, &umem);
	if (ret)
		return ret;
	cmd.cq_create.depth = cpu_to_le32(req->depth);
	cmd.cq_create.handle = cpu_to_le32(cq->cqn);
	ret = ernic_cmd_exec(dev, &cmd, NULL);
	ernic_pages_fini(dev, &pages);
	if (!ret)
		swap(cq->umem, umem);
	ib_umem_release(umem);
	return ret;
}

int ernic_resize_cq(struct ib_cq *ibcq, ernic_resize_arg cqe,
		    struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	struct ernic_resize_cq_req req;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	ret = ernic_request(udata, &req, depth, depth);
	if (ret)
		return ret;
	if (cqe < 1)
		return -EINVAL;
	/* releases the ring that the device has just left, no other */
	mutex_lock(&cq->resize_lock);
	ret = ernic_cq_resize_cmd(dev, cq, &req, cqe);
	if (!ret)
		ibcq->cqe = req.depth;
	mutex_unlock(&cq->resize_lock);
	return ret;
}

int ernic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct ernic_cq *cq = to_cq(ibcq);
	struct ernic_cmd cmd = {
		.opcode = ERNIC_CMD_CQ_MODERATE,
		.uctx = cpu_to_le32(cq->uctx),
	};

	cmd.cq_moderate.handle = cpu_to_le32(cq->cqn);
	cmd.cq_moderate.count = cpu_to_le16(count);
	cmd.cq_moderate.period_us = cpu_to_le16(period);
	return ernic_cmd_exec(to_dev(ibcq->device), &cmd, NULL);
}
