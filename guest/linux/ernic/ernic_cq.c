// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion queues, of processes and of the kernel.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

int ernic_cq_ring(struct ernic_dev *dev, u64 addr, u32 depth, u32 cqe,
		  struct ernic_buf_desc *desc, struct ernic_pages *pages,
		  struct ib_umem **umem)
{
	struct ernic_user_ring ring = {
		.addr = addr,
		.depth = depth,
		.stride = sizeof(struct ernic_cqe) / 64,
		.least = cqe,
		.max_depth = le32_to_cpu(dev->attr.max_cqe),
		.entry = sizeof(struct ernic_cqe),
		.max_stride = sizeof(struct ernic_cqe) / 64,
	};

	return ernic_ring_get(dev, &ring, desc, pages, umem);
}

/* A queue of a process, as the process describes it. */
static int ernic_cq_user(struct ernic_dev *dev, struct ernic_cq *cq,
			 const struct ib_cq_init_attr *a,
			 struct ib_udata *udata, struct ernic_cmd *cmd,
			 struct ernic_pages *pages)
{
	struct ernic_create_cq_req req;
	int ret;

	ret = ernic_request(udata, &req, depth, depth);
	if (ret)
		return ret;
	cq->uctx = ernic_udata_uctx(udata);
	ret = ernic_cq_ring(dev, req.buf_addr, req.depth, a->cqe,
			    &cmd->cq_create.buf, pages, &cq->umem);
	if (ret)
		return ret;
	cmd->cq_create.depth = cpu_to_le32(req.depth);
	return ernic_word_get(dev, req.ci_addr, sizeof(__le32), &cq->ci_umem,
			      &cmd->cq_create.ci_addr);
}

/* A queue of the kernel. dma_alloc_coherent() clears the ring for the device. */
static int ernic_cq_kernel(struct ernic_dev *dev, struct ernic_cq *cq,
			   const struct ib_cq_init_attr *a,
			   struct ernic_cmd *cmd)
{
	u32 depth = roundup_pow_of_two(max_t(u32, a->cqe, 2));
	int ret;

	if (depth > le32_to_cpu(dev->attr.max_cqe))
		return -EINVAL;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->wqs);
	ret = ernic_ring_init(dev, &cq->ring,
			      (size_t)depth * sizeof(struct ernic_cqe));
	if (ret)
		return ret;
	ret = ernic_ring_init(dev, &cq->ci_word, sizeof(__le32));
	cmd->cq_create.buf.addr = cpu_to_le64(cq->ring.dma);
	cmd->cq_create.ci_addr = cpu_to_le64(cq->ci_word.dma);
	cmd->cq_create.depth = cpu_to_le32(depth);
	return ret;
}

static void ernic_cq_release(struct ernic_dev *dev, struct ernic_cq *cq)
{
	ib_umem_release(cq->ci_umem);
	ib_umem_release(cq->umem);
	ernic_ring_fini(dev, &cq->ci_word);
	ernic_ring_fini(dev, &cq->ring);
}

/*
 * Every completion has a timestamp. The device detects an overrun even with
 * IGNORE_OVERRUN, which promises that there is none.
 */
#define ERNIC_CQ_FLAGS	(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | \
			 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

int ernic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *a,
		    struct ernic_create_cq_arg *arg)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_CREATE };
	struct ib_udata *udata = ernic_cq_udata(arg);
	struct ernic_cq *cq = to_cq(ibcq);
	struct ernic_create_cq_resp resp = {};
	struct ernic_pages pages = {};
	int ret;

	if (a->flags & ~ERNIC_CQ_FLAGS)
		return -EOPNOTSUPP;
	mutex_init(&cq->resize_lock);
	cq->eq = ernic_comp_eq(dev, a->comp_vector);
	ret = udata ? ernic_cq_user(dev, cq, a, udata, &cmd, &pages) :
		      ernic_cq_kernel(dev, cq, a, &cmd);
	if (!ret) {
		cmd.uctx = cpu_to_le32(cq->uctx);
		cmd.cq_create.eq = cpu_to_le32(cq->eq->eqn);
		ret = ernic_cmd_create(dev, &cmd, &cq->cqn);
	}
	ernic_pages_fini(dev, &pages);
	if (ret) {
		ernic_cq_release(dev, cq);
		return ret;
	}
	ibcq->cqe = le32_to_cpu(cmd.cq_create.depth);
	resp.cqn = cq->cqn;
	resp.depth = ibcq->cqe;
	ret = ernic_table_add(&dev->cqs, cq->cqn, &cq->ref);
	if (!ret)
		ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_destroy_cq(ibcq, udata);
	return ret;
}

int ernic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	int ret;

	mutex_lock(&dev->number_lock);
	ret = ernic_destroy(dev, ERNIC_CMD_CQ_DESTROY, cq->uctx, cq->cqn);
	if (!ret) {
		/* the next queue of this number must not get them */
		ernic_eq_read(cq->eq);
		ernic_eq_read(&dev->async_eq);
		ernic_table_erase(&dev->cqs, cq->cqn);
	}
	mutex_unlock(&dev->number_lock);
	if (ret)
		return ret;
	ernic_ref_wait(&cq->ref);
	ernic_cq_release(dev, cq);
	return 0;
}
