// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion queues of the kernel: converting the device's entries to ib_wc, and
 * asking for events.
 */
#include <linux/if_vlan.h>
#include "ernic_verbs.h"

static_assert((int)ERNIC_WC_WR_FLUSH_ERR == (int)IB_WC_WR_FLUSH_ERR);
static_assert((int)ERNIC_WC_REM_ACCESS_ERR == (int)IB_WC_REM_ACCESS_ERR);
static_assert((int)ERNIC_WC_RNR_RETRY_EXC_ERR == (int)IB_WC_RNR_RETRY_EXC_ERR);
static_assert((int)ERNIC_WC_GENERAL_ERR == (int)IB_WC_GENERAL_ERR);

static const u8 ernic_wc_opcodes[ERNIC_WC_OPCODE_COUNT] = {
	[ERNIC_WC_SEND] = IB_WC_SEND,
	[ERNIC_WC_WRITE] = IB_WC_RDMA_WRITE,
	[ERNIC_WC_READ] = IB_WC_RDMA_READ,
	[ERNIC_WC_CMP_SWAP] = IB_WC_COMP_SWAP,
	[ERNIC_WC_FETCH_ADD] = IB_WC_FETCH_ADD,
	[ERNIC_WC_LOCAL_INV] = IB_WC_LOCAL_INV,
	[ERNIC_WC_REG_MR] = IB_WC_REG_MR,
	[ERNIC_WC_RECV] = IB_WC_RECV,
	[ERNIC_WC_RECV_WRITE_IMM] = IB_WC_RECV_RDMA_WITH_IMM,
};

/* The wr_id of the completed request, whose slot becomes free. */
static bool ernic_cqe_take(struct ernic_qp *qp, const struct ernic_cqe *cqe,
			   u64 *wr_id)
{
	u32 index = le32_to_cpu(cqe->index);

	if (!(cqe->flags & ERNIC_CQE_RQ))
		return ernic_wq_complete(&qp->sq, index, wr_id);
	if (qp->ibqp.srq)
		return ernic_srq_complete(to_srq(qp->ibqp.srq),
					  le64_to_cpu(cqe->wr_id), wr_id);
	return ernic_wq_complete(&qp->rq, index, wr_id);
}

static void ernic_fill_wc(struct ib_wc *wc, const struct ernic_cqe *cqe,
			  struct ernic_qp *qp)
{
	u8 flags = cqe->flags;

	wc->qp = &qp->ibqp;
	wc->status = cqe->status;
	wc->vendor_err = le32_to_cpu(cqe->vendor_err);
	wc->opcode = cqe->opcode < ERNIC_WC_OPCODE_COUNT ?
			     ernic_wc_opcodes[cqe->opcode] : IB_WC_SEND;
	wc->byte_len = le32_to_cpu(cqe->byte_len);
	wc->src_qp = le32_to_cpu(cqe->src_qp);
	wc->pkey_index = le16_to_cpu(cqe->pkey_index);
	wc->port_num = 1;
	if (flags & ERNIC_CQE_IMM) {
		memcpy(&wc->ex.imm_data, cqe->imm, sizeof(cqe->imm));
		wc->wc_flags |= IB_WC_WITH_IMM;
	}
	if (flags & ERNIC_CQE_INV) {
		memcpy(&wc->ex.invalidate_rkey, cqe->imm, sizeof(cqe->imm));
		le32_to_cpus(&wc->ex.invalidate_rkey);
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
	}
	if (flags & ERNIC_CQE_GRH) {
		memcpy(wc->smac, cqe->smac, sizeof(wc->smac));
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_SMAC;
	}
	if (flags & ERNIC_CQE_VLAN) {
		u16 vlan = le16_to_cpu(cqe->vlan);

		wc->vlan_id = vlan & VLAN_VID_MASK;
		wc->sl = vlan >> VLAN_PRIO_SHIFT;
		wc->wc_flags |= IB_WC_WITH_VLAN;
	}
}

/* False: the entry belongs to a destroyed queue pair, or to no request. */
static bool ernic_poll_one(struct ernic_dev *dev, const struct ernic_cqe *cqe,
			   struct ib_wc *wc)
{
	u32 qpn = le32_to_cpu(cqe->qpn);
	struct ernic_ref *ref;
	struct ernic_qp *qp;

	if (qpn == ERNIC_NONE)
		return false;
	/* its destruction removes the entry first: ernic_cq_clean() */
	ref = xa_load(&dev->qps, qpn);
	qp = ref ? ref_to_qp(ref) : NULL;
	memset(wc, 0, sizeof(*wc));
	if (!qp || !ernic_cqe_take(qp, cqe, &wc->wr_id)) {
		dev_warn_ratelimited(&dev->pdev->dev,
				     "completion of no request, QP %u\n", qpn);
		return false;
	}
	ernic_fill_wc(wc, cqe, qp);
	return true;
}

int ernic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	/* read first, so that what the device has completed precedes the rest */
	bool dead = ernic_dead(dev);
	struct ernic_cqe *cqe;
	unsigned long flags;
	u32 seen;
	int n = 0;

	if (!cq->ring.buf)
		return -EINVAL;		/* the process polls its queues itself */
	spin_lock_irqsave(&cq->lock, flags);
	seen = cq->ci;
	while (n < num) {
		cqe = ernic_cqe(cq, cq->ci);
		if (!cqe)
			break;
		if (ernic_poll_one(dev, cqe, &wc[n]))
			n++;
		cq->ci++;
	}
	/* after this the device may overwrite the entries */
	if (cq->ci != seen)
		virt_store_release((__le32 *)cq->ci_word.buf,
				   cpu_to_le32(cq->ci));
	if (dead)
		n += ernic_flush_poll(cq, num - n, wc + n);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* Counter of the entries in the ring, polled or not. */
static u32 ernic_cq_seen(struct ernic_cq *cq)
{
	u32 depth = cq->ibcq.cqe;

	if (cq->seen - cq->ci > depth)		/* smaller than ci */
		cq->seen = cq->ci;
	while (cq->seen - cq->ci < depth && ernic_cqe(cq, cq->seen))
		cq->seen++;
	return cq->seen;
}

/*
 * Asks for an event for the first entry that is not in the ring yet, however late the
 * doorbell arrives. With IB_CQ_REPORT_MISSED_EVENTS returns 1 if there are entries to
 * poll.
 */
int ernic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct ernic_dev *dev = to_dev(ibcq->device);
	struct ernic_cq *cq = to_cq(ibcq);
	u32 kind = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ?
			   ERNIC_DB_CQ_ARM_SOLICITED : ERNIC_DB_CQ_ARM;
	unsigned long irq;
	int missed = 0;

	if (!cq->ring.buf)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, irq);
	cq->armed = true;
	if (ernic_dead(dev))
		schedule_work(&dev->flush_work);
	else
		ernic_doorbell(dev, ERNIC_DB(kind, cq->cqn, ernic_cq_seen(cq)));
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = ernic_cqe(cq, cq->ci) ||
			 (ernic_dead(dev) && ernic_flush_pending(cq));
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

void ernic_cq_clean(struct ib_cq *ibcq, struct ernic_qp *qp)
{
	struct ernic_cq *cq = to_cq(ibcq);
	struct ernic_cqe *cqe;
	unsigned long flags;
	u64 wr_id;
	u32 i;

	if (!cq->ring.buf)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (i = cq->ci; (cqe = ernic_cqe(cq, i)); i++) {
		if (le32_to_cpu(cqe->qpn) != qp->ibqp.qp_num)
			continue;
		ernic_cqe_take(qp, cqe, &wr_id);
		cqe->qpn = cpu_to_le32(ERNIC_NONE);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}
