// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Receive work queues, tables of them, and the queue pairs that spread frames over
 * a table. For the device a work queue is a queue pair that only receives.
 */
#include "ernic_verbs.h"

static bool ernic_has_rss(struct ernic_dev *dev)
{
	return le32_to_cpu(dev->attr.raw) & ERNIC_RAW_RSS;
}

/* ---- work queues --------------------------------------------------------- */

static int ernic_rwq_ring(struct ernic_dev *dev, struct ernic_qp *qp,
			  const struct ib_wq_init_attr *attr,
			  struct ib_udata *udata, struct ernic_qp_init *init,
			  struct ernic_pages *pages)
{
	struct ernic_create_wq_req req;
	int ret;

	ret = ernic_request(udata, &req, stride, record_addr);
	if (ret)
		return ret;
	if (req.reserved)
		return -EOPNOTSUPP;
	if (attr->max_sge > dev->attr.max_sge)
		return -EINVAL;
	return ernic_qp_user_rq(dev, qp, &(struct ernic_user_ring) {
		.addr = req.buf_addr,
		.depth = req.depth,
		.stride = req.stride,
		.least = attr->max_wr,
		.entry = ernic_rwqe_bytes(attr->max_sge),
		.record = req.record_addr,
	}, init, pages);
}

struct ib_wq *ernic_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *attr,
			      struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_pages pages = {};
	struct ernic_qp_init init = {
		.pd = cpu_to_le32(to_pd(ibpd)->pdn),
		.recv_cq = cpu_to_le32(to_cq(attr->cq)->cqn),
		.srq = cpu_to_le32(ERNIC_NONE),
		.type = ERNIC_QPT_RWQ,
	};
	struct ernic_rwq *rwq;
	struct ernic_qp *qp;
	int ret;

	if (!udata || !ernic_has_rss(dev) || attr->wq_type != IB_WQT_RQ ||
	    attr->create_flags)
		return ERR_PTR(-EOPNOTSUPP);
	rwq = kzalloc(sizeof(*rwq), GFP_KERNEL);
	if (!rwq)
		return ERR_PTR(-ENOMEM);
	qp = &rwq->qp;
	qp->uctx = to_pd(ibpd)->uctx;
	qp->ibqp.device = ibpd->device;
	qp->ibqp.pd = ibpd;
	qp->ibqp.qp_type = IB_QPT_RAW_PACKET;
	qp->ibwq = &rwq->ibwq;
	rwq->ibwq.event_handler = attr->event_handler;
	rwq->ibwq.wq_context = attr->wq_context;
	ret = ernic_rwq_ring(dev, qp, attr, udata, &init, &pages);
	if (!ret)
		ret = ernic_qp_make(dev, qp, &init);
	ernic_pages_fini(dev, &pages);
	if (ret)
		goto err;
	ret = ernic_qp_add(dev, qp);
	if (ret) {
		if (ernic_qp_remove(dev, qp, NULL))
			return ERR_PTR(ret);	/* the device still uses its memory */
		goto err;
	}
	attr->max_wr = le32_to_cpu(init.rq_depth);
	rwq->ibwq.wq_num = qp->ibqp.qp_num;
	rwq->ibwq.state = IB_WQS_RESET;
	return &rwq->ibwq;

err:
	ib_umem_release(qp->rq_record);
	ib_umem_release(qp->rq_umem);
	kfree(rwq);
	return ERR_PTR(ret);
}

static int ernic_rwq_to(struct ernic_dev *dev, struct ernic_qp *qp, u8 state)
{
	struct ernic_qp_attr a = {
		.mask = cpu_to_le32(ERNIC_QPA_STATE), .state = state,
	};

	if (state == ERNIC_QPS_INIT) {
		a.mask |= cpu_to_le32(ERNIC_QPA_PORT);
		a.port = 1;
	}
	return ernic_cmd_qp_modify(dev, qp->uctx, qp->ibqp.qp_num, &a);
}

/*
 * The state of the work queue; Ready is the device's RTR. The queue may have gone to
 * Error by itself.
 */
static int ernic_rwq_state(struct ernic_dev *dev, struct ernic_qp *qp,
			   enum ib_wq_state *state)
{
	struct ernic_qp_attr a = {};
	int ret = ernic_cmd_query(dev, ERNIC_CMD_QP_QUERY, qp->uctx,
				  qp->ibqp.qp_num, &a, sizeof(a));

	if (!ret)
		*state = a.state == ERNIC_QPS_RTR ? IB_WQS_RDY :
			 a.state == ERNIC_QPS_ERR ? IB_WQS_ERR : IB_WQS_RESET;
	return ret;
}

int ernic_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibwq->device);
	struct ernic_qp *qp = &to_rwq(ibwq)->qp;
	u32 to;
	int ret;

	if (mask & ~(IB_WQ_STATE | IB_WQ_CUR_STATE))
		return -EOPNOTSUPP;
	ret = ernic_rwq_state(dev, qp, &ibwq->state);
	if (ret)
		return ret;
	to = mask & IB_WQ_STATE ? attr->wq_state : ibwq->state;
	if (to > IB_WQS_ERR || ((mask & IB_WQ_CUR_STATE) &&
				attr->curr_wq_state != ibwq->state))
		return -EINVAL;
	if (to == ibwq->state)
		return 0;
	switch (to) {
	case IB_WQS_RDY:
		ret = ernic_rwq_to(dev, qp, ERNIC_QPS_INIT);
		if (!ret)
			ret = ernic_rwq_to(dev, qp, ERNIC_QPS_RTR);
		break;
	case IB_WQS_ERR:
		ret = ernic_rwq_to(dev, qp, ERNIC_QPS_ERR);
		break;
	default:
		ret = ernic_rwq_to(dev, qp, ERNIC_QPS_RESET);
	}
	if (!ret)
		ibwq->state = to;
	return ret;
}

int ernic_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	struct ernic_rwq *rwq = to_rwq(ibwq);
	int ret = ernic_qp_remove(to_dev(ibwq->device), &rwq->qp, NULL);

	if (ret)
		return ret;
	ib_umem_release(rwq->qp.rq_record);
	ib_umem_release(rwq->qp.rq_umem);
	kfree(rwq);
	return 0;
}

/* ---- tables, which the device gets with a queue pair --------------------- */

int ernic_create_rwq_ind_table(struct ib_rwq_ind_table *table,
			       struct ib_rwq_ind_table_init_attr *attr,
			       struct ib_udata *udata)
{
	return attr->log_ind_tbl_size > ERNIC_RSS_SHIFT_MAX ? -EINVAL : 0;
}

int ernic_destroy_rwq_ind_table(struct ib_rwq_ind_table *table)
{
	return 0;
}

/* ---- queue pairs over a table -------------------------------------------- */

static int ernic_rss_attr(struct ernic_rss *rss,
			  const struct ib_rwq_ind_table *table,
			  struct ib_udata *udata)
{
	struct ernic_create_rss_req req;
	int i, ret;

	ret = ernic_request(udata, &req, key, key);
	if (ret)
		return ret;
	if (req.function != 1 || req.reserved)
		return -EOPNOTSUPP;
	if (req.key_len != ERNIC_RSS_KEY)
		return -EINVAL;
	rss->fields = cpu_to_le32(req.fields);
	rss->shift = table->log_ind_tbl_size;
	memcpy(rss->key, req.key, sizeof(rss->key));
	for (i = 0; i < 1 << table->log_ind_tbl_size; i++)
		rss->wq[i] = cpu_to_le32(table->ind_tbl[i]->wq_num);
	return 0;
}

int ernic_create_rss(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		     struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_RSS_CREATE };
	struct ernic_qp *qp = to_qp(ibqp);
	struct ernic_create_qp_resp resp = {};
	struct ernic_rss *rss;
	int ret;

	if (!udata || !ernic_has_rss(dev) || attr->create_flags ||
	    attr->qp_type != IB_QPT_RAW_PACKET || attr->send_cq ||
	    attr->cap.max_send_wr)
		return -EOPNOTSUPP;
	rss = kzalloc(sizeof(*rss), GFP_KERNEL);
	if (!rss)
		return -ENOMEM;
	ret = ernic_rss_attr(rss, attr->rwq_ind_tbl, udata);
	if (ret)
		goto out;
	qp->uctx = to_pd(ibqp->pd)->uctx;
	cmd.uctx = cpu_to_le32(qp->uctx);
	ret = ernic_cmd_attr(dev, &cmd, &ibqp->qp_num, rss, sizeof(*rss));
	if (ret)
		goto out;
	resp.qpn = ibqp->qp_num;
	ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_destroy_rss(ibqp);
out:
	kfree(rss);
	return ret;
}

/*
 * It only receives, like its queues. The query has to succeed: rdma(8) shows no
 * queue pair at all if one query fails.
 */
int ernic_query_rss(struct ib_qp *ibqp, struct ib_qp_attr *attr,
		    struct ib_qp_init_attr *init)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IB_QPS_RTR;
	attr->cur_qp_state = IB_QPS_RTR;
	attr->port_num = 1;
	init->qp_type = ibqp->qp_type;
	init->rwq_ind_tbl = ibqp->rwq_ind_tbl;
	return 0;
}

int ernic_destroy_rss(struct ib_qp *ibqp)
{
	return ernic_destroy(to_dev(ibqp->device), ERNIC_CMD_RSS_DESTROY,
			     to_qp(ibqp)->uctx, ibqp->qp_num);
}
