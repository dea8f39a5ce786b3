// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Posting: conversion of the kernel's work requests to the device's format. bad_wr is
 * written only on failure, as some upper layers expect.
 */
#include <linux/log2.h>
#include "ernic_verbs.h"

#define ERNIC_REG_ACCESS (ERNIC_ACCESS_FLAGS & ~ERNIC_ACCESS_ZERO_BASED)

/* The device's opcode plus 1; 0: the device has no such request. */
static const u8 ernic_send_opcodes[] = {
	[IB_WR_SEND] = ERNIC_WR_SEND + 1,
	[IB_WR_SEND_WITH_IMM] = ERNIC_WR_SEND_IMM + 1,
	[IB_WR_SEND_WITH_INV] = ERNIC_WR_SEND_INV + 1,
	[IB_WR_RDMA_WRITE] = ERNIC_WR_WRITE + 1,
	[IB_WR_RDMA_WRITE_WITH_IMM] = ERNIC_WR_WRITE_IMM + 1,
	[IB_WR_RDMA_READ] = ERNIC_WR_READ + 1,
	[IB_WR_ATOMIC_CMP_AND_SWP] = ERNIC_WR_CMP_SWAP + 1,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = ERNIC_WR_FETCH_ADD + 1,
	[IB_WR_LOCAL_INV] = ERNIC_WR_LOCAL_INV + 1,
	[IB_WR_REG_MR] = ERNIC_WR_REG_MR + 1,
};

static const struct {
	u32 ib;
	u8 ernic;
} ernic_send_flags[] = {
	{ IB_SEND_SIGNALED, ERNIC_WR_SIGNALED },
	{ IB_SEND_SOLICITED, ERNIC_WR_SOLICITED },
	{ IB_SEND_FENCE, ERNIC_WR_FENCE },
	{ IB_SEND_INLINE, ERNIC_WR_INLINE },
};

/* The free slot for the next request, cleared up to its SGEs; NULL: full. */
static void *ernic_slot(struct ernic_wq *wq, u32 head)
{
	void *slot;

	/* pairs with the release in ernic_wq_complete(), which reads wr_ids */
	if (wq->pi - smp_load_acquire(&wq->ci) >= wq->depth)
		return NULL;
	slot = wq->ring.buf + (size_t)(wq->pi & (wq->depth - 1)) * wq->stride;
	memset(slot, 0, head);
	return slot;
}

/* Counts the request in the slot as posted. The doorbell comes later. */
static void ernic_slot_done(struct ernic_wq *wq, u64 wr_id)
{
	wq->wr_ids[wq->pi & (wq->depth - 1)] = wr_id;
	WRITE_ONCE(wq->pi, wq->pi + 1);
}

/* The device finds receive requests in the record. False: it needs a doorbell. */
static bool ernic_recorded(struct ernic_wq *wq)
{
	struct ernic_record *record = wq->record.buf;

	if (!record)
		return false;
	/* after this the device may read the requests */
	virt_store_release(&record->pi, cpu_to_le32(wq->pi));
	return true;
}

/*
 * The same for send requests from the counter before on. Without a doorbell, the device
 * looks at the record again before it stops: it writes wake and then reads pi.
 */
static bool ernic_recorded_send(struct ernic_wq *wq, u32 before)
{
	struct ernic_record *record = wq->record.buf;

	if (!ernic_recorded(wq))
		return false;
	/* mfence on x86: TCG orders nothing by a locked instruction of a single processor */
	mb();
	return le32_to_cpu(READ_ONCE(record->wake)) - before >= wq->pi - before;
}

/*
 * Hands posted requests to the device; if it is dead, the driver flushes them. False:
 * they need no doorbell.
 */
static bool ernic_posted(struct ernic_dev *dev, bool recorded)
{
	if (ernic_dead(dev)) {
		schedule_work(&dev->flush_work);
		return false;
	}
	return !recorded;
}

static void ernic_put_sges(struct ernic_sge *to, const struct ib_sge *from,
			   int n)
{
	int i;

	for (i = 0; i < n; i++) {
		to[i].addr = cpu_to_le64(from[i].addr);
		to[i].length = cpu_to_le32(from[i].length);
		to[i].lkey = cpu_to_le32(from[i].lkey);
	}
}

/* The SGEs of inline data contain virtual addresses of the kernel. */
static int ernic_put_inline(u8 *to, const struct ib_send_wr *wr, u32 max)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > max - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	return len;
}

static void ernic_put_ud(struct ernic_wqe_ud *to, const struct ib_ud_wr *wr,
			 bool gsi)
{
	to->qkey = cpu_to_le32(wr->remote_qkey);
	to->dest_qpn = cpu_to_le32(wr->remote_qpn);
	if (gsi)
		to->pkey_index = cpu_to_le16(wr->pkey_index);
	to->av = to_ah(wr->ah)->av;
}

static void ernic_put_reg_mr(struct ernic_wqe_reg_mr *to,
			     const struct ib_reg_wr *wr)
{
	const struct ernic_mr *mr = to_mr(wr->mr);

	to->key = cpu_to_le32(wr->key);
	to->access = cpu_to_le32(wr->access & ERNIC_REG_ACCESS);
	to->iova = cpu_to_le64(mr->ibmr.iova);
	to->length = cpu_to_le64(mr->ibmr.length);
	to->list_addr = cpu_to_le64(mr->list_dma);
	to->npages = cpu_to_le32(mr->npages);
	to->page_shift = ilog2(mr->ibmr.page_size);
}

/* Sets the operands of the opcode. */
static void ernic_put_operand(struct ernic_wqe *wqe,
			      const struct ib_send_wr *wr, enum ib_qp_type type)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->rdma.raddr = cpu_to_le64(rdma_wr(wr)->remote_addr);
		wqe->rdma.rkey = cpu_to_le32(rdma_wr(wr)->rkey);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.raddr = cpu_to_le64(atomic_wr(wr)->remote_addr);
		wqe->atomic.rkey = cpu_to_le32(atomic_wr(wr)->rkey);
		wqe->atomic.compare_add =
			cpu_to_le64(atomic_wr(wr)->compare_add);
		wqe->atomic.swap = cpu_to_le64(atomic_wr(wr)->swap);
		break;
	case IB_WR_REG_MR:
		ernic_put_reg_mr(&wqe->reg_mr, reg_wr(wr));
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		if (type == IB_QPT_UD || type == IB_QPT_GSI)
			ernic_put_ud(&wqe->ud, ud_wr(wr), type == IB_QPT_GSI);
		break;
	default:
		break;
	}
}

/* Sets the immediate data or the key to invalidate. */
static void ernic_put_imm(struct ernic_wqe *wqe, const struct ib_send_wr *wr)
{
	__le32 key;

	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		memcpy(wqe->imm, &wr->ex.imm_data, sizeof(wqe->imm));
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		key = cpu_to_le32(wr->ex.invalidate_rkey);
		memcpy(wqe->imm, &key, sizeof(wqe->imm));
		break;
	default:
		break;
	}
}

static int ernic_put_send(struct ernic_qp *qp, const struct ib_send_wr *wr)
{
	struct ernic_wqe *wqe;
	int i, count;

	if (wr->opcode >= ARRAY_SIZE(ernic_send_opcodes) ||
	    !ernic_send_opcodes[wr->opcode] ||
	    wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	wqe = ernic_slot(&qp->sq, sizeof(*wqe));
	if (!wqe)
		return -ENOMEM;
	wqe->opcode = ernic_send_opcodes[wr->opcode] - 1;
	for (i = 0; i < ARRAY_SIZE(ernic_send_flags); i++)
		if (wr->send_flags & ernic_send_flags[i].ib)
			wqe->flags |= ernic_send_flags[i].ernic;
	ernic_put_operand(wqe, wr, qp->ibqp.qp_type);
	ernic_put_imm(wqe, wr);
	count = wr->num_sge;
	if (wr->send_flags & IB_SEND_INLINE)
		count = ernic_put_inline((u8 *)(wqe + 1), wr,
					 qp->cap.max_inline_data);
	else
		ernic_put_sges((struct ernic_sge *)(wqe + 1), wr->sg_list,
			       wr->num_sge);
	if (count < 0)
		return count;
	wqe->count = cpu_to_le16(count);
	ernic_slot_done(&qp->sq, wr->wr_id);
	return 0;
}

int ernic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	u32 pi;

	if (!qp->sq.ring.buf) {		/* the process posts its requests itself */
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->sq.lock, flags);
	if (qp->state < IB_QPS_RTS)
		ret = -EINVAL;
	pi = qp->sq.pi;
	while (wr && !ret) {
		ret = ernic_put_send(qp, wr);
		if (!ret)
			wr = wr->next;
	}
	if (ret)
		*bad_wr = wr;
	if (qp->sq.pi != pi &&
	    ernic_posted(dev, ernic_recorded_send(&qp->sq, pi)))
		ernic_send_doorbell(dev, ERNIC_DB(ERNIC_DB_SQ, ibqp->qp_num,
						  qp->sq.pi));
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return ret;
}

static int ernic_put_recv(struct ernic_wq *wq, const struct ib_recv_wr *wr,
			  u32 max_sge, u64 tag)
{
	struct ernic_rwqe *rwqe;

	if (wr->num_sge > max_sge)
		return -EINVAL;
	rwqe = ernic_slot(wq, sizeof(*rwqe));
	if (!rwqe)
		return -ENOMEM;
	rwqe->wr_id = cpu_to_le64(tag);
	rwqe->num_sge = cpu_to_le16(wr->num_sge);
	ernic_put_sges((struct ernic_sge *)(rwqe + 1), wr->sg_list,
		       wr->num_sge);
	return 0;
}

int ernic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	u32 pi;

	if (!qp->rq.ring.buf) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq.lock, flags);
	if (qp->state == IB_QPS_RESET)
		ret = -EINVAL;
	pi = qp->rq.pi;
	while (wr && !ret) {
		ret = ernic_put_recv(&qp->rq, wr, qp->cap.max_recv_sge, 0);
		if (!ret) {
			ernic_slot_done(&qp->rq, wr->wr_id);
			wr = wr->next;
		}
	}
	if (ret)
		*bad_wr = wr;
	if (qp->rq.pi != pi && ernic_posted(dev, ernic_recorded(&qp->rq)))
		ernic_doorbell(dev, ERNIC_DB(ERNIC_DB_RQ, ibqp->qp_num, qp->rq.pi));
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	return ret;
}

/*
 * The device copies requests in order. After depth posted requests, the completion of
 * any one means that the oldest slot is free, and a tag as well.
 */
static int ernic_srq_put(struct ernic_srq *srq, const struct ib_recv_wr *wr)
{
	u32 tag = srq->free_tag;
	int ret;

	ret = ernic_put_recv(&srq->wq, wr, srq->max_sge, tag + 1);
	if (ret)
		return ret;
	srq->free_tag = srq->wq.wr_ids[tag];
	srq->wq.wr_ids[tag] = wr->wr_id;
	srq->wq.pi++;
	return 0;
}

int ernic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct ernic_dev *dev = to_dev(ibsrq->device);
	struct ernic_srq *srq = to_srq(ibsrq);
	struct ernic_wq *wq = &srq->wq;
	unsigned long flags;
	int ret = ernic_dead(dev) ? -EIO : 0;
	u32 pi;

	if (!wq->ring.buf) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&wq->lock, flags);
	pi = wq->pi;
	while (wr && !ret) {
		ret = ernic_srq_put(srq, wr);
		if (!ret)
			wr = wr->next;
	}
	if (ret)
		*bad_wr = wr;
	if (wq->pi != pi && !ernic_recorded(wq))
		ernic_doorbell(dev, ERNIC_DB(ERNIC_DB_SRQ, srq->srqn, wq->pi));
	spin_unlock_irqrestore(&wq->lock, flags);
	return ret;
}
