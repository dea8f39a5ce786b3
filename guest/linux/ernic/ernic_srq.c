// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared receive queues, of processes and of the kernel.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

bool ernic_srq_complete(struct ernic_srq *srq, u64 tag, u64 *wr_id)
{
	struct ernic_wq *wq = &srq->wq;
	unsigned long flags;

	if (!tag || tag > wq->depth)
		return false;
	spin_lock_irqsave(&wq->lock, flags);
	*wr_id = wq->wr_ids[tag - 1];
	wq->wr_ids[tag - 1] = srq->free_tag;
	srq->free_tag = tag - 1;
	wq->ci++;
	spin_unlock_irqrestore(&wq->lock, flags);
	return true;
}

static int ernic_srq_ring(struct ernic_dev *dev, u64 addr, u32 depth,
			  u32 stride, const struct ib_srq_attr *attr,
			  struct ernic_buf_desc *desc,
			  struct ernic_pages *pages, struct ib_umem **umem)
{
	struct ernic_user_ring ring = {
		.addr = addr,
		.depth = depth,
		.stride = stride,
		.least = attr->max_wr,
		.max_depth = le32_to_cpu(dev->attr.max_srq_wr),
		.entry = ernic_rwqe_bytes(attr->max_sge),
		.max_stride = ERNIC_RQ_STRIDE_MAX,
	};

	return ernic_ring_get(dev, &ring, desc, pages, umem);
}

/* A queue of a process, as the process describes it. */
static int ernic_srq_user(struct ernic_dev *dev, struct ernic_srq *srq,
			  const struct ib_srq_attr *attr,
			  struct ib_udata *udata, struct ernic_cmd_srq *cmd,
			  struct ernic_pages *pages)
{
	struct ernic_create_srq_req req;
	int ret;

	ret = ernic_request(udata, &req, stride, record_addr);
	if (ret)
		return ret;
	if (req.reserved)
		return -EOPNOTSUPP;
	ret = ernic_srq_ring(dev, req.buf_addr, req.depth, req.stride, attr,
			     &cmd->buf, pages, &srq->umem);
	if (!ret)
		ret = ernic_record_get(dev, req.record_addr, &srq->record,
				       &cmd->record);
	if (ret)
		return ret;
	srq->stride = req.stride;
	cmd->depth = cpu_to_le32(req.depth);
	cmd->stride = cpu_to_le16(req.stride);
	return 0;
}

static int ernic_srq_kernel(struct ernic_dev *dev, struct ernic_srq *srq,
			    const struct ib_srq_attr *attr,
			    struct ernic_cmd_srq *cmd)
{
	u32 stride = DIV_ROUND_UP(ernic_rwqe_bytes(attr->max_sge), 64);
	u32 depth, i;
	int ret;

	if (attr->max_wr > le32_to_cpu(dev->attr.max_srq_wr) ||
	    attr->max_sge > dev->attr.max_sge)
		return -EINVAL;
	depth = roundup_pow_of_two(max(attr->max_wr, 1U));
	ret = ernic_wq_init(dev, &srq->wq, depth, stride * 64, &cmd->buf,
			    &cmd->record);
	if (ret)
		return ret;
	for (i = 0; i < depth; i++)
		srq->wq.wr_ids[i] = i + 1;
	cmd->depth = cpu_to_le32(depth);
	cmd->stride = cpu_to_le16(stride);
	return 0;
}

static void ernic_srq_release(struct ernic_dev *dev, struct ernic_srq *srq)
{
	ib_umem_release(srq->record);
	ib_umem_release(srq->umem);
	ernic_wq_fini(dev, &srq->wq);
}

int ernic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_CREATE };
	struct ernic_pd *pd = to_pd(ibsrq->pd);
	struct ernic_srq *srq = to_srq(ibsrq);
	struct ernic_create_srq_resp resp = {};
	struct ernic_pages pages = {};
	int ret;

	/* only processes can have XRC */
	if (init->srq_type != IB_SRQT_BASIC &&
	    (init->srq_type != IB_SRQT_XRC || !udata))
		return -EOPNOTSUPP;
	mutex_init(&srq->resize_lock);
	srq->uctx = pd->uctx;
	srq->max_sge = init->attr.max_sge;
	ret = udata ? ernic_srq_user(dev, srq, &init->attr, udata, &cmd.srq,
				     &pages) :
		      ernic_srq_kernel(dev, srq, &init->attr, &cmd.srq);
	if (!ret) {
		cmd.uctx = cpu_to_le32(srq->uctx);
		cmd.srq.pd = cpu_to_le32(pd->pdn);
		cmd.srq.limit = cpu_to_le32(init->attr.srq_limit);
		if (init->srq_type == IB_SRQT_XRC) {
			cmd.srq.xrcd = cpu_to_le32(to_xrcd(init->ext.xrc.xrcd)->pdn);
			cmd.srq.cq = cpu_to_le32(to_cq(init->ext.cq)->cqn);
		}
		ret = ernic_cmd_create(dev, &cmd, &srq->srqn);
	}
	ernic_pages_fini(dev, &pages);
	if (ret) {
		ernic_srq_release(dev, srq);
		return ret;
	}
	if (init->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->srqn;
	init->attr.max_wr = le32_to_cpu(cmd.srq.depth);
	resp.srqn = srq->srqn;
	ret = ernic_table_add(&dev->srqs, srq->srqn, &srq->ref);
	if (!ret)
		ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_destroy_srq(ibsrq, udata);
	return ret;
}

static int ernic_srq_set_limit(struct ernic_dev *dev, struct ernic_srq *srq,
			       u32 limit)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_MODIFY };

	cmd.uctx = cpu_to_le32(srq->uctx);
	cmd.srq.handle = cpu_to_le32(srq->srqn);
	cmd.srq.limit = cpu_to_le32(limit);
	return ernic_cmd_exec(dev, &cmd, NULL);
}

/* The process has copied its posted requests into the new ring. */
static int ernic_srq_resize(struct ernic_dev *dev, struct ernic_srq *srq,
			    u32 max_wr, struct ib_udata *udata)
{
	const struct ib_srq_attr attr = {
		.max_wr = max_wr,
		.max_sge = srq->max_sge,
	};
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SRQ_MODIFY };
	struct ernic_resize_srq_req req;
	struct ernic_pages pages = {};
	struct ib_umem *umem;
	int ret;

	if (!(readl(ernic_reg(dev, features)) & ERNIC_FEATURE_SRQ_RESIZE) ||
	    !udata)
		return -EOPNOTSUPP;
	ret = ernic_request(udata, &req, depth, depth);
	if (ret)
		return ret;
	/* releases the ring that the device has just left, no other */
	mutex_lock(&srq->resize_lock);
	ret = ernic_srq_ring(dev, req.buf_addr, req.depth, srq->stride, &attr,
			     &cmd.srq.buf, &pages, &umem);
	if (!ret) {
		cmd.uctx = cpu_to_le32(srq->uctx);
		cmd.srq.handle = cpu_to_le32(srq->srqn);
		cmd.srq.depth = cpu_to_le32(req.depth);
		ret = ernic_cmd_exec(dev, &cmd, NULL);
		ernic_pages_fini(dev, &pages);
		if (!ret)
			swap(srq->umem, umem);
		ib_umem_release(umem);
	}
	mutex_unlock(&srq->resize_lock);
	return ret;
}

int ernic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_srq *srq = to_srq(ibsrq);
	int ret;

	/* one attribute at a time, so that an error means that nothing has changed */
	switch ((int)mask) {
	case IB_SRQ_LIMIT:
		ret = ernic_no_request(udata);
		return ret ?: ernic_srq_set_limit(dev, srq, attr->srq_limit);
	case IB_SRQ_MAX_WR:
		return ernic_srq_resize(dev, srq, attr->max_wr, udata);
	default:
		return -EINVAL;
	}
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
	attr->max_sge = srq->max_sge;
	attr->srq_limit = le32_to_cpu(a.limit);
	return 0;
}

int ernic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_srq *srq = to_srq(ibsrq);
	int ret;

	mutex_lock(&dev->number_lock);
	ret = ernic_destroy(dev, ERNIC_CMD_SRQ_DESTROY, srq->uctx, srq->srqn);
	if (!ret) {
		ernic_eq_read(&dev->async_eq);
		ernic_table_erase(&dev->srqs, srq->srqn);
	}
	mutex_unlock(&dev->number_lock);
	if (ret)
		return ret;
	ernic_ref_wait(&srq->ref);
	ernic_srq_release(dev, srq);
	return 0;
}
