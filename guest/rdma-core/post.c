// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Posting: conversion of work requests to the device's format, into the rings.
 */
#include <errno.h>
#include <string.h>

#include "ernic.h"

/* ---- the parts of a request ---------------------------------------------- */

void ernic_wqe_head(struct ernic_wqe *wqe, uint8_t opcode, uint64_t wr_id,
		    unsigned int send_flags)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->opcode = opcode;
	wqe->flags = (send_flags & IBV_SEND_SIGNALED ? ERNIC_WR_SIGNALED : 0) |
		     (send_flags & IBV_SEND_SOLICITED ? ERNIC_WR_SOLICITED : 0) |
		     (send_flags & IBV_SEND_FENCE ? ERNIC_WR_FENCE : 0);
	wqe->wr_id = htole64(wr_id);
}

void ernic_wqe_rdma(struct ernic_wqe *wqe, uint64_t raddr, uint32_t rkey)
{
	wqe->rdma.raddr = htole64(raddr);
	wqe->rdma.rkey = htole32(rkey);
}

void ernic_wqe_atomic(struct ernic_wqe *wqe, uint64_t raddr, uint32_t rkey,
		      uint64_t compare_add, uint64_t swap)
{
	wqe->atomic.raddr = htole64(raddr);
	wqe->atomic.rkey = htole32(rkey);
	wqe->atomic.compare_add = htole64(compare_add);
	wqe->atomic.swap = htole64(swap);
}

/* An address handle is valid in its protection domain only (IBTA 10.2.2.2). */
int ernic_wqe_ud(struct ernic_qp *qp, struct ernic_wqe *wqe, struct ibv_ah *ah,
		 uint32_t qpn, uint32_t qkey)
{
	/* Parent domains and imported ones share the handle. */
	if (ah->pd->handle != qp->pd->ibv_pd.handle)
		return EINVAL;
	wqe->ud.qkey = htole32(qkey);
	wqe->ud.dest_qpn = htole32(qpn);
	wqe->ud.av = to_ernic_ah(ah)->av;
	return 0;
}

/* The peer's SRQ, for an XRC initiator: at the same offset in every request. */
void ernic_wqe_xrc(struct ernic_wqe *wqe, uint32_t srqn)
{
	wqe->send.xrc_srq = htole32(srqn);
}

/* The key to invalidate, in the place of immediate data. */
void ernic_wqe_key(struct ernic_wqe *wqe, uint32_t key)
{
	uint32_t imm = htole32(key);

	memcpy(wqe->imm, &imm, sizeof(wqe->imm));
}

/* rkey: the new key of a window of type 2; the device steps that of type 1. */
int ernic_wqe_bind(struct ernic_wqe *wqe, struct ibv_mw *ibmw, uint32_t rkey,
		   const struct ibv_mw_bind_info *info)
{
	struct ernic_mw *mw = to_ernic_mw(ibmw);

	if (info->mw_access_flags &
	    ~(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED |
	      IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	wqe->bind_mw.rkey = htole32(mw->rkey);
	if (ibmw->type == IBV_MW_TYPE_2)
		wqe->bind_mw.new_rkey = htole32(rkey);
	wqe->bind_mw.lkey = htole32(info->mr ? info->mr->lkey : 0);
	wqe->bind_mw.access =
		htole32(info->mw_access_flags & ~IBV_ACCESS_LOCAL_WRITE);
	wqe->bind_mw.addr = htole64(info->addr);
	wqe->bind_mw.length = htole64(info->length);
	return 0;
}

static void put_sges(void *at, const struct ibv_sge *sge, size_t n)
{
	struct ernic_sge *to = at;
	size_t i;

	for (i = 0; i < n; i++) {
		to[i].addr = htole64(sge[i].addr);
		to[i].length = htole32(sge[i].length);
		to[i].lkey = htole32(sge[i].lkey);
	}
}

int ernic_wqe_sges(struct ernic_qp *qp, struct ernic_wqe *wqe,
		   const struct ibv_sge *sge, size_t n)
{
	if (n > qp->sq.max_sge)
		return EINVAL;
	put_sges(wqe + 1, sge, n);
	wqe->count = htole16(n);
	return 0;
}

int ernic_wqe_inline(struct ernic_qp *qp, struct ernic_wqe *wqe,
		     const struct ibv_data_buf *buf, size_t n)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	size_t i, len = 0;

	for (i = 0; i < n; i++) {
		if (buf[i].length > qp->max_inline - len)
			return EINVAL;
		memcpy(to + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	wqe->flags |= ERNIC_WR_INLINE;
	wqe->count = htole16(len);
	return 0;
}

/* The 8 bytes of ATOMIC WRITE. They fit, as every slot has room for one SGE. */
void ernic_wqe_word(struct ernic_wqe *wqe, const void *value)
{
	memcpy(wqe + 1, value, 8);
	wqe->flags |= ERNIC_WR_INLINE;
	wqe->count = htole16(8);
}

static int wqe_data(struct ernic_qp *qp, struct ernic_wqe *wqe,
		    const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buf[ERNIC_MAX_SGE];
	int i;

	if (wr->num_sge < 0 || wr->num_sge > ERNIC_MAX_SGE)
		return EINVAL;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return ernic_wqe_sges(qp, wqe, wr->sg_list, wr->num_sge);
	for (i = 0; i < wr->num_sge; i++) {
		buf[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		buf[i].length = wr->sg_list[i].length;
	}
	return ernic_wqe_inline(qp, wqe, buf, wr->num_sge);
}

/* ---- sending ------------------------------------------------------------- */

enum operand { OP_NONE, OP_RDMA, OP_ATOMIC, OP_BIND };

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)
#define XRC (1u << IBV_QPT_XRC_SEND)
#define RAW (1u << IBV_QPT_RAW_PACKET)
#define ACKED (RC | XRC)
#define CONN (RC | UC | XRC)

static const struct {
	uint8_t opcode; /* enum ernic_wr_opcode */
	uint16_t types;	/* of queue pairs; 0: no such request */
	uint8_t operand;
	bool inlines;
	bool imm;
	bool key; /* to invalidate */
} send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { ERNIC_WR_WRITE, CONN, OP_RDMA, true },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { ERNIC_WR_WRITE_IMM, CONN, OP_RDMA,
					 true, .imm = true },
	[IBV_WR_SEND] = { ERNIC_WR_SEND, CONN | UD | RAW, OP_NONE, true },
	[IBV_WR_SEND_WITH_IMM] = { ERNIC_WR_SEND_IMM, CONN | UD, OP_NONE,
				   true, .imm = true },
	[IBV_WR_RDMA_READ] = { ERNIC_WR_READ, ACKED, OP_RDMA },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { ERNIC_WR_CMP_SWAP, ACKED, OP_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { ERNIC_WR_FETCH_ADD, ACKED, OP_ATOMIC },
	[IBV_WR_LOCAL_INV] = { ERNIC_WR_LOCAL_INV, CONN, OP_NONE,
			       .key = true },
	[IBV_WR_BIND_MW] = { ERNIC_WR_BIND_MW, CONN, OP_BIND },
	[IBV_WR_SEND_WITH_INV] = { ERNIC_WR_SEND_INV, ACKED, OP_NONE, true,
				   .key = true },
	[IBV_WR_ATOMIC_WRITE] = { ERNIC_WR_ATOMIC_WRITE, RC, OP_RDMA, true },
};

static int wqe_operand(struct ernic_qp *qp, struct ernic_wqe *wqe,
		       const struct ibv_send_wr *wr, enum operand operand)
{
	switch (operand) {
	case OP_RDMA:
		ernic_wqe_rdma(wqe, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		return 0;
	case OP_ATOMIC:
		ernic_wqe_atomic(wqe, wr->wr.atomic.remote_addr,
				 wr->wr.atomic.rkey, wr->wr.atomic.compare_add,
				 wr->wr.atomic.swap);
		return 0;
	case OP_BIND:
		return ernic_wqe_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
				      &wr->bind_mw.bind_info);
	case OP_NONE:
		if (qp->vqp.qp.qp_type != IBV_QPT_UD)
			return 0;
		return ernic_wqe_ud(qp, wqe, wr->wr.ud.ah,
				    wr->wr.ud.remote_qpn,
				    wr->wr.ud.remote_qkey);
	}
	return EINVAL;
}

/* Fills a slot; 0 or an error number. */
static int wqe_build(struct ernic_qp *qp, struct ernic_wqe *wqe,
		     const struct ibv_send_wr *wr)
{
	int ret;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) ||
	    !(send_ops[wr->opcode].types & (1u << qp->vqp.qp.qp_type)) ||
	    ((wr->send_flags & IBV_SEND_INLINE) &&
	     !send_ops[wr->opcode].inlines))
		return EINVAL;
	ernic_wqe_head(wqe, send_ops[wr->opcode].opcode, wr->wr_id,
		       wr->send_flags);
	if (send_ops[wr->opcode].imm)
		memcpy(wqe->imm, &wr->imm_data, sizeof(wqe->imm));
	else if (send_ops[wr->opcode].key)
		ernic_wqe_key(wqe, wr->invalidate_rkey);
	ret = wqe_operand(qp, wqe, wr, send_ops[wr->opcode].operand);
	if (ret || send_ops[wr->opcode].operand == OP_BIND ||
	    wr->opcode == IBV_WR_LOCAL_INV)
		return ret;
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		ernic_wqe_xrc(wqe, wr->qp_type.xrc.remote_srqn);
	return wqe_data(qp, wqe, wr);
}

/* Requests posted later use this key of the window. */
static void mw_posted(const struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_BIND_MW &&
	    wr->bind_mw.mw->type == IBV_MW_TYPE_2)
		to_ernic_mw(wr->bind_mw.mw)->rkey = wr->bind_mw.rkey;
}

int ernic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct ernic_qp *qp = to_ernic_qp(ibqp);
	struct ernic_wq *sq = &qp->sq;
	uint32_t first;
	int ret = 0;

	ernic_lock(&sq->lock);
	first = sq->pi;
	for (; wr; wr = wr->next) {
		if (ibqp->state < IBV_QPS_RTS)
			ret = EINVAL;
		else if (ernic_wq_full(sq, sq->pi))
			ret = ENOMEM;
		else
			ret = wqe_build(qp, ernic_wq_slot(sq, sq->pi), wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		mw_posted(wr);
		sq->pi++;
	}
	if (sq->pi != first)
		ernic_posted_send(ibqp->context, sq, first);
	ernic_unlock(&sq->lock);
	return ernic_error(ret);
}

/* A window of type 1: the device steps the variant in the key's low byte. */
int ernic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *ibmw,
		  struct ibv_mw_bind *bind)
{
	struct ernic_mw *mw = to_ernic_mw(ibmw);
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = { .mw = ibmw, .bind_info = bind->bind_info },
	};
	struct ibv_send_wr *bad_wr;
	int ret;

	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return ernic_error(EINVAL);
	ret = ernic_post_send(ibqp, &wr, &bad_wr);
	if (!ret) {
		mw->rkey = ibv_inc_rkey(mw->rkey);
		ibmw->rkey = mw->rkey;
	}
	return ret;
}

/* ---- receiving ----------------------------------------------------------- */

static int recv_build(const struct ernic_wq *wq, struct ernic_rwqe *rwqe,
		      const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > wq->max_sge)
		return EINVAL;
	memset(rwqe, 0, sizeof(*rwqe));
	rwqe->wr_id = htole64(wr->wr_id);
	rwqe->num_sge = htole16(wr->num_sge);
	put_sges(rwqe + 1, wr->sg_list, wr->num_sge);
	return 0;
}

static int post_receives(struct ibv_context *ibctx, struct ernic_wq *wq,
			 struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	uint32_t first;
	int ret = 0;

	ernic_lock(&wq->lock);
	first = wq->pi;
	for (; wr; wr = wr->next) {
		if (ernic_wq_full(wq, wq->pi))
			ret = ENOMEM;
		else
			ret = recv_build(wq, ernic_wq_slot(wq, wq->pi), wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		wq->pi++;
	}
	if (wq->pi != first)
		ernic_posted_recv(ibctx, wq);
	ernic_unlock(&wq->lock);
	return ernic_error(ret);
}

int ernic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct ernic_qp *qp = to_ernic_qp(ibqp);

	if (qp->srq || qp->over_table || ibqp->state == IBV_QPS_RESET) {
		*bad_wr = wr;
		return ernic_error(EINVAL);
	}
	return post_receives(ibqp->context, &qp->rq, wr, bad_wr);
}

int ernic_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	if (ibwq->state == IBV_WQS_RESET) {
		*bad_wr = wr;
		return ernic_error(EINVAL);
	}
	return post_receives(ibwq->context, &to_ernic_rwq(ibwq)->qp.rq, wr,
			     bad_wr);
}

int ernic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	return post_receives(ibsrq->context, &to_ernic_srq(ibsrq)->wq, wr,
			     bad_wr);
}
