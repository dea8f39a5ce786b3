// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion queues of processes.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

/* The counter's bus address; the page stays pinned by the queue. */
static int ernic_cq_ci(struct ernic_dev *dev, struct ernic_cq *cq, u64 addr,
		       u64 *dma)
{
	*dma = 0;
	if (!addr)
		return 0;
	if (addr % 4)
		return -EINVAL;
	cq->ci_umem = ib_umem_get(&dev->ibdev, addr, 4, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(cq->ci_umem)) {
		int ret = PTR_ERR(cq->ci_umem);

		cq->ci_umem = NULL;
		return ret;
	}
	*dma = sg_dma_address(cq->ci_umem->sgt_append.sgt.sgl) +
	       ib_umem_offset(cq->ci_umem);
	return 0;
}

static int ernic_cq_cmd(struct ernic_dev *dev, struct ernic_cq *cq,
			const struct ernic_create_cq_req *req,
			unsigned int vector)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_CREATE };
	struct ernic_pages pages = {};
	struct ernic_rsp rsp;
	u64 ci;
	int ret;

	cq->umem = ernic_queue_get(dev, req->buf_addr,
				   (u64)req->depth * sizeof(struct ernic_cqe),
				   &cmd.cq_create.buf, &pages);
	if (IS_ERR(cq->umem))
		return PTR_ERR(cq->umem);
	ret = ernic_cq_ci(dev, cq, req->ci_addr, &ci);
	if (ret)
		goto out;
	cmd.uctx = cpu_to_le32(cq->uctx);
	cmd.cq_create.ci_addr = cpu_to_le64(ci);
	cmd.cq_create.depth = cpu_to_le32(req->depth);
	cmd.cq_create.eq = cpu_to_le32(ernic_comp_eqn(dev, vector));
	ret = ernic_com_exec(dev, &cmd, &rsp, NULL, 0, NULL, 0);
	if (!ret)
		cq->cqn = le32_to_cpu(rsp.handle);
out:
	ernic_pages_fini(dev, &pages);
	if (ret) {
		ib_umem_release(cq->ci_umem);
		ib_umem_release(cq->umem);
	}
	return ret;
}

int ernic_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *a,
			 struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	struct ernic_create_cq_resp resp = {};
	struct ernic_create_cq_req req;
	int ret;

	if (!udata || a->flags)
		return -EOPNOTSUPP;
	if (udata->inlen < sizeof(req))
		return -EINVAL;
	ret = ib_copy_from_udata(&req, udata, sizeof(req));
	if (ret)
		return ret;
	if (!is_power_of_2(req.depth) || req.depth < a->cqe ||
	    req.depth > le32_to_cpu(dev->attr.max_cqe) || req.reserved)
		return -EINVAL;
	cq->uctx = ernic_udata_uctx(udata);
	ret = ernic_cq_cmd(dev, cq, &req, a->comp_vector);
	if (ret)
		return ret;
	ibcq->cqe = req.depth;
	ret = xa_err(xa_store_irq(&dev->cqs, cq->cqn, cq, GFP_KERNEL));
	if (ret)
		goto err;
	resp.cqn = cq->cqn;
	resp.depth = req.depth;
	ret = ernic_respond(udata, &resp, sizeof(resp));
	if (!ret)
		return 0;
err:
	ernic_destroy_cq(ibcq, udata);
	return ret;
}

int ernic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	int ret = ernic_cmd_free(dev, ERNIC_CMD_CQ_DESTROY, cq->uctx, cq->cqn);

	if (ret == -EBUSY)
		return ret;
	ernic_table_erase(dev, &dev->cqs, cq->cqn);
	ib_umem_release(cq->ci_umem);
	ib_umem_release(cq->umem);
	return 0;
}
