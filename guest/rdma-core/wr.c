// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Posting with ibv_wr_start(), requests and their data, ibv_wr_complete(). After the
 * first error nothing is posted.
 */
#include <errno.h>
#include <string.h>

#include "ernic.h"

static struct ernic_qp *ex_to_qp(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct ernic_qp, vqp.qp_ex);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	ernic_lock(&qp->sq.lock);
	qp->wr_pi = qp->sq.pi;
	qp->wr_err = ex->qp_base.state < IBV_QPS_RTS ? EINVAL : 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct ernic_qp *qp = ex_to_qp(ex);
	uint32_t first = qp->sq.pi;
	int ret = qp->wr_err;

	if (!ret && qp->wr_pi != first) {
		qp->sq.pi = qp->wr_pi;
		ernic_posted_send(ex->qp_base.context, &qp->sq, first);
	}
	ernic_unlock(&qp->sq.lock);
	return ernic_error(ret);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	ernic_unlock(&ex_to_qp(ex)->sq.lock);
}

/* The next slot with the head filled in; NULL: there was an error. */
static struct ernic_wqe *wr_next(struct ibv_qp_ex *ex, uint8_t opcode)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!qp->wr_err && ernic_wq_full(&qp->sq, qp->wr_pi))
		qp->wr_err = ENOMEM;
	if (qp->wr_err)
		return NULL;
	qp->wr_cur = ernic_wq_slot(&qp->sq, qp->wr_pi++);
	ernic_wqe_head(qp->wr_cur, opcode, ex->wr_id, ex->wr_flags);
	return qp->wr_cur;
}

/* ---- requests ------------------------------------------------------------ */

static void wr_imm(struct ernic_wqe *wqe, __be32 imm)
{
	if (wqe)
		memcpy(wqe->imm, &imm, sizeof(wqe->imm));
}

static void wr_rdma(struct ernic_wqe *wqe, uint32_t rkey, uint64_t raddr)
{
	if (wqe)
		ernic_wqe_rdma(wqe, raddr, rkey);
}

static void wr_key(struct ernic_wqe *wqe, uint32_t key)
{
	if (wqe)
		ernic_wqe_key(wqe, key);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_next(ex, ERNIC_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	wr_imm(wr_next(ex, ERNIC_WR_SEND_IMM), imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wr_key(wr_next(ex, ERNIC_WR_SEND_INV), rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	wr_rdma(wr_next(ex, ERNIC_WR_WRITE), rkey, raddr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t raddr, __be32 imm)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_WRITE_IMM);

	wr_rdma(wqe, rkey, raddr);
	wr_imm(wqe, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	wr_rdma(wr_next(ex, ERNIC_WR_READ), rkey, raddr);
}

static void wr_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr,
		       uint64_t compare, uint64_t swap)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_CMP_SWAP);

	if (wqe)
		ernic_wqe_atomic(wqe, raddr, rkey, compare, swap);
}

static void wr_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr,
			 uint64_t add)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_FETCH_ADD);

	if (wqe)
		ernic_wqe_atomic(wqe, raddr, rkey, add, 0);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey,
			    uint64_t raddr, const void *value)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_ATOMIC_WRITE);

	wr_rdma(wqe, rkey, raddr);
	if (wqe)
		ernic_wqe_word(wqe, value);
}

#ifdef ERNIC_HAVE_wr_flush
static_assert((int)IBV_FLUSH_GLOBAL == ERNIC_FLUSH_GLOBAL &&
		      (int)IBV_FLUSH_PERSISTENT == ERNIC_FLUSH_PERSISTENT &&
		      (int)IBV_FLUSH_MR == ERNIC_FLUSH_MR,
	      "of a flush, type and level");

/* For a whole region, address and length are ignored. */
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_FLUSH);

	if (!wqe)
		return;
	if (len > UINT32_MAX && level == IBV_FLUSH_RANGE) {
		ex_to_qp(ex)->wr_err = EINVAL;
		return;
	}
	wqe->flush = (struct ernic_wqe_flush) {
		.raddr = htole64(raddr), .rkey = htole32(rkey),
		.length = htole32(len), .type = type, .level = level,
	};
}
#endif

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	wr_key(wr_next(ex, ERNIC_WR_LOCAL_INV), key);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct ernic_wqe *wqe = wr_next(ex, ERNIC_WR_BIND_MW);
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!wqe)
		return;
	qp->wr_err = ernic_wqe_bind(wqe, mw, rkey, info);
	if (!qp->wr_err && mw->type == IBV_MW_TYPE_2)
		to_ernic_mw(mw)->rkey = rkey;
}

/* ---- their data ---------------------------------------------------------- */

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn,
			uint32_t qkey)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!qp->wr_err)
		qp->wr_err = ernic_wqe_ud(qp, qp->wr_cur, ah, qpn, qkey);
}

static void set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!qp->wr_err)
		ernic_wqe_xrc(qp->wr_cur, srqn);
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t n,
			 const struct ibv_sge *sge)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!qp->wr_err)
		qp->wr_err = ernic_wqe_sges(qp, qp->wr_cur, sge, n);
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		    uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	set_sge_list(ex, 1, &sge);
}

static void set_inline_data_list(struct ibv_qp_ex *ex, size_t n,
				 const struct ibv_data_buf *buf)
{
	struct ernic_qp *qp = ex_to_qp(ex);

	if (!qp->wr_err)
		qp->wr_err = ernic_wqe_inline(qp, qp->wr_cur, buf, n);
}

static void set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	set_inline_data_list(ex, 1, &buf);
}

#define OPS_RAW IBV_QP_EX_WITH_SEND
#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                 \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE |                                  \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV |       \
	 IBV_QP_EX_WITH_BIND_MW)
#define OPS_XRC                                                                \
	(OPS_UC | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |    \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                                   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#ifdef ERNIC_HAVE_wr_flush
#define OPS_FLUSH IBV_QP_EX_WITH_FLUSH
#else
#define OPS_FLUSH 0
#endif
#define OPS_RC (OPS_XRC | IBV_QP_EX_WITH_ATOMIC_WRITE | OPS_FLUSH)

/* Returns 0, or EOPNOTSUPP: the type does not have all of send_ops. */
int ernic_qp_init_ex(struct ernic_qp *qp, enum ibv_qp_type type,
		     uint64_t send_ops)
{
	uint64_t ops = type == IBV_QPT_RC ? OPS_RC :
		       type == IBV_QPT_XRC_SEND ? OPS_XRC :
		       type == IBV_QPT_UC ? OPS_UC :
		       type == IBV_QPT_RAW_PACKET ? OPS_RAW :
						    OPS_UD;
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (send_ops & ~ops)
		return EOPNOTSUPP;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_xrc_srqn = set_xrc_srqn;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_set_inline_data = set_inline_data;
	ex->wr_set_inline_data_list = set_inline_data_list;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_cmp_swp;
	ex->wr_atomic_fetch_add = wr_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
#ifdef ERNIC_HAVE_wr_flush
	ex->wr_flush = wr_flush;
#endif
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	return 0;
}
