// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queue pairs: their queues and their attributes.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

static const u8 ernic_qp_types[] = {
	[IB_QPT_RC] = ERNIC_QPT_RC,
	[IB_QPT_UC] = ERNIC_QPT_UC,
	[IB_QPT_UD] = ERNIC_QPT_UD,
	[IB_QPT_GSI] = ERNIC_QPT_GSI,
	[IB_QPT_XRC_INI] = ERNIC_QPT_XRC_INI,
	[IB_QPT_XRC_TGT] = ERNIC_QPT_XRC_TGT,
	[IB_QPT_RAW_PACKET] = ERNIC_QPT_RAW,
};

static const struct {
	u32 ib;
	u32 ernic;
} ernic_qp_masks[] = {
	{ IB_QP_STATE, ERNIC_QPA_STATE },
	{ IB_QP_CUR_STATE, ERNIC_QPA_CUR_STATE },
	{ IB_QP_EN_SQD_ASYNC_NOTIFY, ERNIC_QPA_SQD_NOTIFY },
	{ IB_QP_ACCESS_FLAGS, ERNIC_QPA_ACCESS },
	{ IB_QP_PKEY_INDEX, ERNIC_QPA_PKEY_INDEX },
	{ IB_QP_PORT, ERNIC_QPA_PORT },
	{ IB_QP_QKEY, ERNIC_QPA_QKEY },
	{ IB_QP_AV, ERNIC_QPA_AV },
	{ IB_QP_PATH_MTU, ERNIC_QPA_PATH_MTU },
	{ IB_QP_TIMEOUT, ERNIC_QPA_TIMEOUT },
	{ IB_QP_RETRY_CNT, ERNIC_QPA_RETRY_CNT },
	{ IB_QP_RNR_RETRY, ERNIC_QPA_RNR_RETRY },
	{ IB_QP_RQ_PSN, ERNIC_QPA_RQ_PSN },
	{ IB_QP_MAX_QP_RD_ATOMIC, ERNIC_QPA_MAX_RD_ATOMIC },
	{ IB_QP_MIN_RNR_TIMER, ERNIC_QPA_MIN_RNR_TIMER },
	{ IB_QP_SQ_PSN, ERNIC_QPA_SQ_PSN },
	{ IB_QP_MAX_DEST_RD_ATOMIC, ERNIC_QPA_MAX_DEST_RD_ATOMIC },
	{ IB_QP_DEST_QPN, ERNIC_QPA_DEST_QPN },
	{ IB_QP_RATE_LIMIT, ERNIC_QPA_RATE_LIMIT },
};
static_assert(ARRAY_SIZE(ernic_qp_masks) == ERNIC_QPA_COUNT);
static_assert((int)IB_QPS_RESET == (int)ERNIC_QPS_RESET);
static_assert((int)IB_QPS_ERR == (int)ERNIC_QPS_ERR);

#define ERNIC_QP_FLUSH	(ERNIC_ACCESS_FLUSH_GLOBAL | \
			 ERNIC_ACCESS_FLUSH_PERSISTENT)

/* The access rights that verbs ask for, as far as the device knows them. */
static u32 ernic_qp_access(struct ernic_dev *dev, int flags)
{
	u32 access = flags & ERNIC_ACCESS_QP;

	return ernic_has_flush(dev) ? access : access & ~ERNIC_QP_FLUSH;
}

static bool ernic_qp_has_rq(const struct ib_qp_init_attr *init)
{
	return !init->srq && init->qp_type != IB_QPT_XRC_INI;
}

static int ernic_qp_user_sq(struct ernic_dev *dev, struct ernic_qp *qp,
			    struct ernic_user_ring *ring,
			    struct ernic_qp_init *init,
			    struct ernic_pages *pages)
{
	int ret;

	ring->max_depth = le32_to_cpu(dev->attr.max_qp_wr);
	ring->max_stride = ERNIC_SQ_STRIDE_MAX;
	init->sq_depth = cpu_to_le32(ring->depth);
	init->sq_stride = ring->stride;
	ret = ernic_ring_get(dev, ring, &init->sq_buf, pages, &qp->sq_umem);
	if (ret)
		return ret;
	return ernic_record_get(dev, ring->record, &qp->sq_record,
				&init->sq_record);
}

/* Bytes of a send request: its SGEs, or inline data in their place. */
static size_t ernic_wqe_bytes(const struct ib_qp_cap *cap)
{
	return sizeof(struct ernic_wqe) +
	       max_t(size_t, cap->max_inline_data,
		     (size_t)cap->max_send_sge * sizeof(struct ernic_sge));
}

/* The queues of a process, as the process describes them. */
static int ernic_qp_user(struct ernic_dev *dev, struct ernic_qp *qp,
			 struct ib_qp_init_attr *attr, struct ib_udata *udata,
			 struct ernic_qp_init *init, struct ernic_pages *sq,
			 struct ernic_pages *rq)
{
	const struct ib_qp_cap *cap = &attr->cap;
	struct ernic_create_qp_req req;
	int ret;

	ret = ernic_request(udata, &req, rq_stride, rq_record_addr);
	if (ret)
		return ret;
	if (memchr_inv(req.reserved, 0, sizeof(req.reserved)))
		return -EOPNOTSUPP;
	if (cap->max_send_sge > dev->attr.max_sge ||
	    cap->max_inline_data > le16_to_cpu(dev->attr.max_inline))
		return -EINVAL;
	ret = ernic_qp_user_sq(dev, qp, &(struct ernic_user_ring) {
		.addr = req.sq_addr,
		.depth = req.sq_depth,
		.stride = req.sq_stride,
		.least = cap->max_send_wr,
		.entry = ernic_wqe_bytes(cap),
		.record = req.sq_record_addr,
	}, init, sq);
	if (ret)
		return ret;
	if (!ernic_qp_has_rq(attr))
		return req.rq_depth || req.rq_addr || req.rq_record_addr ?
			-EINVAL : 0;
	if (cap->max_recv_sge > dev->attr.max_sge)
		return -EINVAL;
	return ernic_qp_user_rq(dev, qp, &(struct ernic_user_ring) {
		.addr = req.rq_addr,
		.depth = req.rq_depth,
		.stride = req.rq_stride,
		.least = cap->max_recv_wr,
		.entry = ernic_rwqe_bytes(cap->max_recv_sge),
		.record = req.rq_record_addr,
	}, init, rq);
}

static int ernic_qp_kernel(struct ernic_dev *dev, struct ernic_qp *qp,
			   struct ib_qp_init_attr *attr,
			   struct ernic_qp_init *init)
{
	const struct ib_qp_cap *cap = &attr->cap;
	u32 max = le32_to_cpu(dev->attr.max_qp_wr), depth;
	int ret;

	if (cap->max_send_wr > max || cap->max_recv_wr > max ||
	    cap->max_send_sge > dev->attr.max_sge ||
	    cap->max_recv_sge > dev->attr.max_sge ||
	    cap->max_inline_data > le16_to_cpu(dev->attr.max_inline))
		return -EINVAL;
	init->sq_stride = DIV_ROUND_UP(ernic_wqe_bytes(cap), 64);
	depth = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	init->sq_depth = cpu_to_le32(depth);
	ret = ernic_wq_init(dev, &qp->sq, depth, init->sq_stride * 64,
			    &init->sq_buf, &init->sq_record);
	if (ret || attr->srq)
		return ret;
	init->rq_stride = DIV_ROUND_UP(ernic_rwqe_bytes(cap->max_recv_sge), 64);
	depth = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	init->rq_depth = cpu_to_le32(depth);
	return ernic_wq_init(dev, &qp->rq, depth, init->rq_stride * 64,
			     &init->rq_buf, &init->rq_record);
}

static void ernic_qp_release(struct ernic_dev *dev, struct ernic_qp *qp)
{
	ib_umem_release(qp->rq_record);
	ib_umem_release(qp->sq_record);
	ib_umem_release(qp->rq_umem);
	ib_umem_release(qp->sq_umem);
	ernic_wq_fini(dev, &qp->rq);
	ernic_wq_fini(dev, &qp->sq);
}

static int ernic_qp_cmd(struct ernic_dev *dev, struct ernic_qp *qp,
			const struct ib_qp_init_attr *attr,
			struct ernic_qp_init *init)
{
	init->srq = cpu_to_le32(attr->srq ? to_srq(attr->srq)->srqn :
					    ERNIC_NONE);
	init->type = ernic_qp_types[attr->qp_type];
	if (attr->qp_type == IB_QPT_XRC_TGT) {
		init->pd = cpu_to_le32(to_xrcd(attr->xrcd)->pdn);
	} else {
		init->pd = cpu_to_le32(to_pd(qp->ibqp.pd)->pdn);
		init->send_cq = cpu_to_le32(to_cq(attr->send_cq)->cqn);
		if (attr->sq_sig_type == IB_SIGNAL_ALL_WR)
			init->flags = ERNIC_QPF_SQ_SIG_ALL;
		if (attr->qp_type != IB_QPT_XRC_INI)
			init->recv_cq = cpu_to_le32(to_cq(attr->recv_cq)->cqn);
	}
	return ernic_qp_make(dev, qp, init);
}

/*
 * XRC and raw packets are for processes. The core creates XRC targets, as they are
 * shared, and checks that the process may send raw packets.
 */
static int ernic_qp_attr_check(struct ernic_dev *dev,
			       const struct ib_qp_init_attr *init, bool kernel)
{
	if (init->create_flags)
		return -EOPNOTSUPP;
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return init->send_cq && init->recv_cq ? 0 : -EINVAL;
	case IB_QPT_GSI:
		if (!kernel)
			return -EOPNOTSUPP;
		return init->send_cq && init->recv_cq ? 0 : -EINVAL;
	case IB_QPT_RAW_PACKET:
		if (kernel || !ernic_has_raw(dev))
			return -EOPNOTSUPP;
		return init->send_cq && init->recv_cq ? 0 : -EINVAL;
	case IB_QPT_XRC_INI:
		if (kernel)
			return -EOPNOTSUPP;
		return init->send_cq ? 0 : -EINVAL;
	case IB_QPT_XRC_TGT:
		return kernel && init->xrcd ? 0 : -EINVAL;
	default:
		return -EOPNOTSUPP;
	}
}

/* The queues that the type has. */
static int ernic_qp_queues(struct ernic_dev *dev, struct ernic_qp *qp,
			   struct ib_qp_init_attr *attr,
			   struct ib_udata *udata, struct ernic_qp_init *init,
			   struct ernic_pages *sq, struct ernic_pages *rq)
{
	if (attr->qp_type == IB_QPT_XRC_TGT)
		return 0;
	qp->uctx = to_pd(qp->ibqp.pd)->uctx;
	return udata ? ernic_qp_user(dev, qp, attr, udata, init, sq, rq) :
		       ernic_qp_kernel(dev, qp, attr, init);
}

int ernic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_create_qp_resp resp = {};
	struct ernic_pages sq = {}, rq = {};
	struct ernic_qp *qp = to_qp(ibqp);
	struct ernic_qp_init init = {};
	int ret;

	if (attr->rwq_ind_tbl)
		return ernic_create_rss(ibqp, attr, udata);
	ret = ernic_qp_attr_check(dev, attr, !udata);
	if (ret)
		return ret;
	qp->sig_type = attr->sq_sig_type;
	ret = ernic_qp_queues(dev, qp, attr, udata, &init, &sq, &rq);
	if (!ret)
		ret = ernic_qp_cmd(dev, qp, attr, &init);
	ernic_pages_fini(dev, &rq);
	ernic_pages_fini(dev, &sq);
	if (ret) {
		ernic_qp_release(dev, qp);
		return ret;
	}
	attr->cap.max_send_wr = le32_to_cpu(init.sq_depth);
	if (ernic_qp_has_rq(attr))
		attr->cap.max_recv_wr = le32_to_cpu(init.rq_depth);
	qp->cap = attr->cap;
	ernic_flush_know(qp, true);
	resp.qpn = ibqp->qp_num;
	ret = ernic_qp_add(dev, qp);
	if (!ret)
		ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_destroy_qp(ibqp, udata);
	return ret;
}

/* Removes the completions, as the device has forgotten the requests. */
static void ernic_qp_forget(struct ernic_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_XRC_TGT)
		return;		/* its completions belong to the SRQs */
	ernic_cq_clean(qp->ibqp.send_cq, qp);
	if (qp->ibqp.recv_cq && qp->ibqp.recv_cq != qp->ibqp.send_cq)
		ernic_cq_clean(qp->ibqp.recv_cq, qp);
}

/*
 * Sets the state that posting checks. For the queue pairs of processes the device
 * alone knows it.
 */
static void ernic_qp_set_state(struct ernic_qp *qp, u8 state)
{
	struct ernic_wq *wqs[] = { &qp->sq, &qp->rq };
	unsigned long flags;
	int i;

	for (i = 0; i < ARRAY_SIZE(wqs); i++) {
		if (!wqs[i]->ring.buf)
			continue;
		spin_lock_irqsave(&wqs[i]->lock, flags);
		qp->state = state;
		if (state == IB_QPS_RESET)
			ernic_wq_reset(wqs[i]);
		spin_unlock_irqrestore(&wqs[i]->lock, flags);
	}
}

static int ernic_qp_rate(struct ib_qp *ibqp, const struct ib_qp_attr *attr,
			 struct ib_udata *udata, struct ernic_qp_attr *a)
{
	struct ernic_modify_qp_req req = {};
	u32 max = ernic_rate_limit_max(to_dev(ibqp->device));
	int ret;

	if (!max)
		return -EOPNOTSUPP;
	if (udata && udata->inlen) {
		ret = ernic_request(udata, &req, rate_burst, rate_burst);
		if (ret)
			return ret;
	}
	if (attr->rate_limit > max ||
	    (req.rate_burst && !attr->rate_limit))
		return -EINVAL;
	a->rate_limit = cpu_to_le32(attr->rate_limit);
	a->rate_burst = cpu_to_le32(req.rate_burst);
	return 0;
}

int ernic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_qp_attr a = {};
	struct ernic_qp *qp = to_qp(ibqp);
	u32 known = 0, set = 0;
	int i, ret;

	/* a queue pair over a table has no state of its own */
	if (ibqp->rwq_ind_tbl)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(ernic_qp_masks); i++) {
		known |= ernic_qp_masks[i].ib;
		if (mask & ernic_qp_masks[i].ib)
			set |= ernic_qp_masks[i].ernic;
	}
	if (mask & ~known)
		return -EOPNOTSUPP;
	ret = mask & IB_QP_RATE_LIMIT ?
		      ernic_qp_rate(ibqp, attr, udata, &a) :
		      ernic_no_request(udata);
	if (ret)
		return ret;
	a.mask = cpu_to_le32(set);
	if (mask & IB_QP_STATE)
		a.state = attr->qp_state;
	if (mask & IB_QP_CUR_STATE)
		a.cur_state = attr->cur_qp_state;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		a.sqd_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_ACCESS_FLAGS)
		a.access = cpu_to_le32(ernic_qp_access(to_dev(ibqp->device),
						       attr->qp_access_flags));
	if (mask & IB_QP_PKEY_INDEX)
		a.pkey_index = cpu_to_le16(attr->pkey_index);
	if (mask & IB_QP_PORT)
		a.port = attr->port_num;
	if (mask & IB_QP_QKEY)
		a.qkey = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_AV)
		ernic_av_from_ah(&a.av, &attr->ah_attr);
	if (mask & IB_QP_PATH_MTU)
		a.path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		a.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		a.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		a.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		a.rq_psn = cpu_to_le32(attr->rq_psn & 0xffffff);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		a.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		a.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_SQ_PSN)
		a.sq_psn = cpu_to_le32(attr->sq_psn & 0xffffff);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		a.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_DEST_QPN)
		a.dest_qpn = cpu_to_le32(attr->dest_qp_num);
	ret = ernic_cmd_qp_modify(dev, qp->uctx, ibqp->qp_num, &a);
	/* a dead device's queue pairs are in Error: the kernel drains them next */
	if (ret && ernic_dead(dev) && qp->sq.ring.buf && mask == IB_QP_STATE &&
	    attr->qp_state == IB_QPS_ERR)
		ret = 0;
	if (!ret && (mask & IB_QP_STATE)) {
		if (attr->qp_state == IB_QPS_RESET)
			ernic_qp_forget(qp);
		ernic_qp_set_state(qp, attr->qp_state);
	}
	return ret;
}

int ernic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct ernic_qp *qp = to_qp(ibqp);
	struct ernic_qp_attr a = {};
	int ret;

	if (ibqp->rwq_ind_tbl)
		return ernic_query_rss(ibqp, attr, init);
	ret = ernic_cmd_query(to_dev(ibqp->device), ERNIC_CMD_QP_QUERY,
			      qp->uctx, ibqp->qp_num, &a, sizeof(a));
	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = a.state;
	attr->cur_qp_state = a.state;
	attr->path_mtu = a.path_mtu;
	attr->qp_access_flags = le32_to_cpu(a.access);
	attr->qkey = le32_to_cpu(a.qkey);
	attr->rq_psn = le32_to_cpu(a.rq_psn);
	attr->sq_psn = le32_to_cpu(a.sq_psn);
	attr->dest_qp_num = le32_to_cpu(a.dest_qpn);
	attr->pkey_index = le16_to_cpu(a.pkey_index);
	attr->port_num = 1;
	attr->timeout = a.timeout;
	attr->retry_cnt = a.retry_cnt;
	attr->rnr_retry = a.rnr_retry;
	attr->min_rnr_timer = a.min_rnr_timer;
	attr->max_rd_atomic = a.max_rd_atomic;
	attr->max_dest_rd_atomic = a.max_dest_rd_atomic;
	attr->sq_draining = a.sq_draining;
	attr->rate_limit = le32_to_cpu(a.rate_limit);
	ernic_av_to_ah(&a.av, &attr->ah_attr);
	attr->cap = qp->cap;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sig_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	return 0;
}

/* Afterwards, polling does not meet the queue pair any more. */
static void ernic_qp_gone(struct ernic_qp *qp)
{
	ernic_flush_know(qp, false);
	ernic_qp_forget(qp);
}

int ernic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_qp *qp = to_qp(ibqp);
	int ret;

	if (ibqp->rwq_ind_tbl)
		return ernic_destroy_rss(ibqp);
	ret = ernic_qp_remove(dev, qp, ernic_qp_gone);
	if (!ret)
		ernic_qp_release(dev, qp);
	return ret;
}
