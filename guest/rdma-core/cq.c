// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Completion queues: creation, resizing, removal of a queue pair's completions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ernic.h"
#include "ernic_cmd.h"

#define ERNIC_CQ_FLAGS                                                         \
	(IBV_CREATE_CQ_ATTR_SINGLE_THREADED |                                  \
	 IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

static int cq_attr_check(struct ernic_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask &
	    ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (attr->wc_flags & ~(uint64_t)ERNIC_WC_FLAGS)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~ERNIC_CQ_FLAGS))
		return EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > ctx->caps.max_cqe)
		return EINVAL;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    !to_ernic_pd(attr->parent_domain)->inner)
		return EINVAL;
	return 0;
}

static int cq_buffers(struct ernic_cq *cq, uint32_t cqe)
{
	int ret;

	cq->depth = ernic_depth(cqe, sizeof(struct ernic_cqe));
	ret = ernic_buf_alloc(&cq->buf, cq->pd, ERNIC_RES_CQ,
			      (size_t)cq->depth * sizeof(struct ernic_cqe));
	if (ret)
		return ret;
	ret = ernic_buf_alloc(&cq->ci_buf, cq->pd, ERNIC_RES_CQ,
			      sizeof(*cq->ci_word));
	if (ret)
		ernic_buf_free(&cq->buf);
	else
		cq->ci_word = cq->ci_buf.addr;
	return ret;
}

static int cq_command(struct ibv_context *ibctx,
		      struct ibv_cq_init_attr_ex *attr, struct ernic_cq *cq)
{
	struct uernic_create_cq_ex_resp resp = {};
	struct uernic_create_cq_ex cmd = {};
	int ret;

	cmd.drv_payload.buf_addr = (uintptr_t)cq->buf.addr;
	cmd.drv_payload.ci_addr = (uintptr_t)cq->ci_buf.addr;
	cmd.drv_payload.depth = cq->depth;
	/* Every entry has a timestamp, whatever the kernel knows. */
	ret = ibv_cmd_create_cq_ex(ibctx, attr,
#ifdef ERNIC_HAVE_verbs_create_cq_prov_attr
				   NULL,
#endif
				   &cq->vcq, &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp),
				   CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	cq->cqn = resp.drv_payload.cqn;
	return ret;
}

struct ibv_cq_ex *ernic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct ernic_cq *cq = NULL;
	bool single = false;
	int ret = cq_attr_check(to_ernic_context(ibctx), attr);

	if (ret)
		goto err;
	ret = ENOMEM;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		goto err;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		single = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->pd = to_ernic_pd(attr->parent_domain);
	ret = cq_buffers(cq, attr->cqe);
	if (ret)
		goto err;
	ret = cq_command(ibctx, attr, cq);
	if (ret)
		goto err_buf;
	ernic_lock_init(&cq->lock, !single);
	ernic_lock_init(&cq->arm_lock, !single);
	ernic_pd_ref(cq->pd);
	ernic_cq_init_ex(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_buf:
	ernic_buf_free(&cq->ci_buf);
	ernic_buf_free(&cq->buf);
err:
	return ernic_create_failed(cq, ret);
}

struct ibv_cq *ernic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq_ex *cq;

	if (cqe <= 0)
		return ernic_create_failed(NULL, EINVAL);
	cq = ernic_create_cq_ex(ibctx, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/* Each slot gets the phase that the entry expected there will not have. */
static void cq_prepare(struct ernic_cqe *ring, uint32_t depth, uint32_t ci)
{
	uint32_t n, counter;

	for (n = 0; n < depth; n++) {
		counter = ci + n;
		ring[counter & (depth - 1)].flags =
			counter & depth ? ERNIC_CQE_PHASE : 0;
	}
}

static int cq_resize_locked(struct ernic_cq *cq, uint32_t depth)
{
	struct ib_uverbs_resize_cq_resp resp = {};
	struct uernic_resize_cq cmd = {};
	struct ernic_buf buf;
	int ret;

	ret = ernic_buf_alloc(&buf, cq->pd, ERNIC_RES_CQ,
			      (size_t)depth * sizeof(struct ernic_cqe));
	if (ret)
		return ret;
	cq_prepare(buf.addr, depth, cq->ci);
	/* The device moves all entries that it does not know to be consumed. */
	ernic_ring(cq->vcq.cq.context,
		   ERNIC_DB(ERNIC_DB_CQ, cq->cqn, cq->ci));
	cmd.drv_payload.buf_addr = (uintptr_t)buf.addr;
	cmd.drv_payload.depth = depth;
	ret = ibv_cmd_resize_cq(&cq->vcq.cq, depth, &cmd.ibv_cmd, sizeof(cmd),
				&resp, sizeof(resp));
	if (ret) {
		ernic_buf_free(&buf);
		return ret;
	}
	ernic_buf_free(&cq->buf);
	cq->buf = buf;
	cq->depth = depth;
	return 0;
}

int ernic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct ernic_cq *cq = to_ernic_cq(ibcq);
	int ret;

	if (cqe <= 0 ||
	    cqe > to_ernic_context(ibcq->context)->caps.max_cqe)
		return ernic_error(EINVAL);
	/* No larger than requested: a smaller ring is to free memory. */
	ernic_lock(&cq->lock);
	/* An older index that arrives after the new ring would not arm it. */
	ernic_lock(&cq->arm_lock);
	ret = cq_resize_locked(cq, cqe < 2 ? 2 : roundup_pow_of_two(cqe));
	ernic_unlock(&cq->arm_lock);
	ernic_unlock(&cq->lock);
	return ernic_error(ret);
}

int ernic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int ernic_destroy_cq(struct ibv_cq *ibcq)
{
	struct ernic_cq *cq = to_ernic_cq(ibcq);
	int ret = ibv_cmd_destroy_cq(ibcq);

	if (ret)
		return ret;
	ernic_buf_free(&cq->ci_buf);
	ernic_buf_free(&cq->buf);
	ernic_pd_unref(cq->pd);
	ernic_lock_fini(&cq->arm_lock);
	ernic_lock_fini(&cq->lock);
	free(cq);
	return 0;
}

/* Completions of XRC belong to their SRQ, others to their queue pair. */
static bool is_of(const struct ernic_cqe *cqe, bool xrc, uint32_t n)
{
	if (!(cqe->flags & ERNIC_CQE_XRC))
		return !xrc && le32toh(cqe->qpn) == n;
	return xrc && le32toh(cqe->src_qp) == n;
}

/*
 * Goes from the newest entry back and moves the others over the removed ones. Each slot
 * keeps its phase, which belongs to the round and not to the entry.
 */
static void cq_clean(struct ernic_cq *cq, bool xrc, uint32_t n,
		     struct ernic_srq *srq)
{
	struct ernic_cqe *from, *to;
	uint32_t end = cq->ci, gone = 0;
	uint8_t phase;

	while (end - cq->ci < cq->depth && ernic_cq_entry(cq, end))
		end++;
	while (end-- != cq->ci) {
		from = ernic_cq_entry(cq, end);
		if (is_of(from, xrc, n)) {
			if (srq && (from->flags & ERNIC_CQE_RQ))
				ernic_wq_done(&srq->wq, le32toh(from->index));
			gone++;
		} else if (gone) {
			to = ernic_cq_entry(cq, end + gone);
			phase = to->flags & ERNIC_CQE_PHASE;
			*to = *from;
			to->flags = (to->flags & ~ERNIC_CQE_PHASE) | phase;
		}
	}
	if (gone) {
		cq->ci += gone;
		ernic_cq_consumed(cq);
	}
}

void ernic_cq_clean_xrc(struct ernic_cq *cq, uint32_t srqn)
{
	cq_clean(cq, true, srqn, NULL);
}

static void cq_clean_locked(struct ernic_cq *cq, uint32_t qpn,
			    struct ernic_srq *srq)
{
	ernic_lock(&cq->lock);
	cq_clean(cq, false, qpn, srq);
	ernic_unlock(&cq->lock);
}

/* One queue after the other; both may be the same. */
void ernic_qp_clean_cqs(struct ernic_qp *qp)
{
	struct ernic_cq *a = qp->send_cq, *b = qp->recv_cq;
	uint32_t qpn = qp->vqp.qp.qp_num;

	if (a)
		cq_clean_locked(a, qpn, qp->srq);
	if (b && b != a)
		cq_clean_locked(b, qpn, qp->srq);
}
