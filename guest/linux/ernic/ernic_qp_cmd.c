// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Creating and destroying the device's queue pairs: those of verbs, and receive work
 * queues, which are queue pairs for the device.
 */
#include "ernic_verbs.h"

int ernic_qp_user_rq(struct ernic_dev *dev, struct ernic_qp *qp,
		     struct ernic_user_ring *ring, struct ernic_qp_init *init,
		     struct ernic_pages *pages)
{
	int ret;

	ring->max_depth = le32_to_cpu(dev->attr.max_qp_wr);
	ring->max_stride = ERNIC_RQ_STRIDE_MAX;
	init->rq_depth = cpu_to_le32(ring->depth);
	init->rq_stride = ring->stride;
	ret = ernic_ring_get(dev, ring, &init->rq_buf, pages, &qp->rq_umem);
	if (ret)
		return ret;
	return ernic_record_get(dev, ring->record, &qp->rq_record,
				&init->rq_record);
}

int ernic_qp_make(struct ernic_dev *dev, struct ernic_qp *qp,
		  const struct ernic_qp_init *init)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };
	int ret;

	cmd.uctx = cpu_to_le32(qp->uctx);
	mutex_lock(&dev->number_lock);
	ret = ernic_cmd_attr(dev, &cmd, &qp->ibqp.qp_num, init, sizeof(*init));
	mutex_unlock(&dev->number_lock);
	return ret;
}

int ernic_qp_add(struct ernic_dev *dev, struct ernic_qp *qp)
{
	INIT_WORK(&qp->fault_work, ernic_odp_work);
	spin_lock_init(&qp->fault_lock);
	return ernic_table_add(&dev->qps, qp->ibqp.qp_num, &qp->ref);
}

int ernic_qp_remove(struct ernic_dev *dev, struct ernic_qp *qp,
		    void (*gone)(struct ernic_qp *qp))
{
	int ret;

	mutex_lock(&dev->number_lock);
	ret = ernic_destroy(dev, ERNIC_CMD_QP_DESTROY, qp->uctx,
			    qp->ibqp.qp_num);
	if (!ret) {
		if (gone)
			gone(qp);
		ernic_eq_read(&dev->async_eq);
		ernic_table_erase(&dev->qps, qp->ibqp.qp_num);
	}
	mutex_unlock(&dev->number_lock);
	if (ret)
		return ret;
	/* handlers first: they queue the work */
	ernic_ref_wait(&qp->ref);
	cancel_work_sync(&qp->fault_work);
	return 0;
}
