// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A dead device completes no requests. For the kernel its queue pairs are in Error:
 * this file flushes all requests that were or will be posted, so that draining ends.
 */
#include "ernic_verbs.h"

static void ernic_flush_set(struct ib_cq *ibcq, struct ernic_wq *wq,
			    struct ib_qp *ibqp, bool on)
{
	struct ernic_cq *cq = to_cq(ibcq);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	wq->qp = ibqp;
	if (on)
		list_add_tail(&wq->of_cq, &cq->wqs);
	else
		list_del(&wq->of_cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}

void ernic_flush_know(struct ernic_qp *qp, bool on)
{
	struct ib_qp *ibqp = &qp->ibqp;

	if (qp->sq.ring.buf)
		ernic_flush_set(ibqp->send_cq, &qp->sq, ibqp, on);
	if (qp->rq.ring.buf)
		ernic_flush_set(ibqp->recv_cq, &qp->rq, ibqp, on);
}

/* Completes the oldest outstanding request; false: there is none. */
static bool ernic_flush_one(struct ernic_wq *wq, struct ib_wc *wc)
{
	bool found;

	memset(wc, 0, sizeof(*wc));
	spin_lock(&wq->lock);
	found = ernic_wq_complete(wq, wq->ci, &wc->wr_id);
	spin_unlock(&wq->lock);
	if (!found)
		return false;
	wc->qp = wq->qp;
	wc->status = IB_WC_WR_FLUSH_ERR;
	wc->opcode = wq == &to_qp(wq->qp)->rq ? IB_WC_RECV : IB_WC_SEND;
	wc->port_num = 1;
	return true;
}

int ernic_flush_poll(struct ernic_cq *cq, int num, struct ib_wc *wc)
{
	struct ernic_wq *wq;
	int n = 0;

	list_for_each_entry(wq, &cq->wqs, of_cq)
		while (n < num && ernic_flush_one(wq, &wc[n]))
			n++;
	return n;
}

bool ernic_flush_pending(struct ernic_cq *cq)
{
	struct ernic_wq *wq;
	bool found = false;

	list_for_each_entry(wq, &cq->wqs, of_cq) {
		spin_lock(&wq->lock);
		found = found || wq->ci != wq->pi;
		spin_unlock(&wq->lock);
	}
	return found;
}

/*
 * Whether the queue's owner has to look. Posting or arming after this check, which takes
 * the same locks, sees that the device is dead and schedules the work again.
 */
static bool ernic_flush_take(struct ernic_cq *cq)
{
	unsigned long flags;
	bool notify;

	if (!cq->ring.buf)
		return false;
	spin_lock_irqsave(&cq->lock, flags);
	notify = cq->armed &&
		 (ernic_cqe(cq, cq->ci) || ernic_flush_pending(cq));
	if (notify)
		cq->armed = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	return notify;
}

void ernic_flush_cqs(struct ernic_dev *dev)
{
	struct ernic_ref *ref;
	struct ernic_cq *cq;
	unsigned long n;

	ernic_table_for_each(&dev->cqs, n, ref) {
		cq = ref_to_cq(ref);
		if (ernic_flush_take(cq) && cq->ibcq.comp_handler)
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	}
}
