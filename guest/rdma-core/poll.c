// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Polling completions, with ibv_poll_cq() and entry by entry.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "ernic.h"

static const uint8_t wc_opcodes[ERNIC_WC_OPCODE_COUNT] = {
	[ERNIC_WC_SEND] = IBV_WC_SEND,
	[ERNIC_WC_WRITE] = IBV_WC_RDMA_WRITE,
	[ERNIC_WC_READ] = IBV_WC_RDMA_READ,
	[ERNIC_WC_CMP_SWAP] = IBV_WC_COMP_SWAP,
	[ERNIC_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[ERNIC_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[ERNIC_WC_REG_MR] = IBV_WC_DRIVER1,
	[ERNIC_WC_BIND_MW] = IBV_WC_BIND_MW,
	[ERNIC_WC_RECV] = IBV_WC_RECV,
	[ERNIC_WC_RECV_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
	[ERNIC_WC_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
#ifdef ERNIC_HAVE_wr_flush
	[ERNIC_WC_FLUSH] = IBV_WC_FLUSH,
#endif
};
static_assert((int)ERNIC_WC_REM_ACCESS_ERR == (int)IBV_WC_REM_ACCESS_ERR &&
		      (int)ERNIC_WC_GENERAL_ERR == (int)IBV_WC_GENERAL_ERR,
	      "statuses are verbs' own");

static enum ibv_wc_opcode wc_opcode(const struct ernic_cqe *cqe)
{
	return cqe->opcode < ERNIC_WC_OPCODE_COUNT ? wc_opcodes[cqe->opcode] :
						     IBV_WC_DRIVER1;
}

static unsigned int wc_flags(const struct ernic_cqe *cqe)
{
	return (cqe->flags & ERNIC_CQE_GRH ? IBV_WC_GRH : 0) |
	       (cqe->flags & ERNIC_CQE_IMM ? IBV_WC_WITH_IMM : 0) |
	       (cqe->flags & ERNIC_CQE_INV ? IBV_WC_WITH_INV : 0);
}

/* Immediate data as received, or the key in the byte order of the host. */
static __be32 wc_imm(const struct ernic_cqe *cqe)
{
	uint32_t imm;

	memcpy(&imm, cqe->imm, sizeof(imm));
	if (cqe->flags & ERNIC_CQE_INV)
		imm = le32toh(imm);
	return (__force __be32)imm;
}

struct ernic_cqe *ernic_cq_entry(struct ernic_cq *cq, uint32_t counter)
{
	struct ernic_cqe *cqe = (struct ernic_cqe *)cq->buf.addr +
				(counter & (cq->depth - 1));
	uint8_t phase = counter & cq->depth ? 0 : ERNIC_CQE_PHASE;
	uint8_t flags = *(volatile uint8_t *)&cqe->flags;

	if ((flags & ERNIC_CQE_PHASE) != phase)
		return NULL;
	udma_from_device_barrier();
	return cqe;
}

/* The queue that the request was posted to; NULL: it has been destroyed. */
static struct ernic_wq *cqe_wq(struct ernic_context *ctx,
			       const struct ernic_cqe *cqe,
			       struct ernic_qp **last)
{
	uint32_t qpn = le32toh(cqe->qpn);

	if (!*last || (*last)->vqp.qp.qp_num != qpn)
		*last = ernic_table_find(&ctx->qps, qpn);
	if (!*last)
		return NULL;
	if (!(cqe->flags & ERNIC_CQE_RQ))
		return &(*last)->sq;
	return (*last)->srq ? &(*last)->srq->wq : &(*last)->rq;
}

static struct ernic_wq *cqe_wq_xrc(struct ernic_context *ctx,
				   const struct ernic_cqe *cqe)
{
	struct ernic_srq *srq =
		ernic_table_find(&ctx->srqs, le32toh(cqe->src_qp));

	return srq ? &srq->wq : NULL;
}

/* The source of a datagram. For XRC the field is the number of the SRQ. */
static uint32_t wc_src_qp(const struct ernic_cqe *cqe)
{
	return cqe->flags & ERNIC_CQE_XRC ? 0 : le32toh(cqe->src_qp);
}

/*
 * Consumes the next entry and frees the slots of its request; NULL: there is none.
 * *last caches the queue pair of the previous entry.
 */
static struct ernic_cqe *cq_next(struct ernic_cq *cq, struct ernic_qp **last)
{
	struct ernic_context *ctx = to_ernic_context(cq->vcq.cq.context);
	struct ernic_cqe *cqe;
	struct ernic_wq *wq;

	while ((cqe = ernic_cq_entry(cq, cq->ci))) {
		cq->ci++;
		wq = cqe->flags & ERNIC_CQE_XRC ? cqe_wq_xrc(ctx, cqe) :
						  cqe_wq(ctx, cqe, last);
		if (!wq)
			continue; /* its queue has been destroyed */
		ernic_wq_done(wq, le32toh(cqe->index));
		return cqe;
	}
	return NULL;
}

static void fill_wc(struct ibv_wc *wc, const struct ernic_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = le64toh(cqe->wr_id),
		.status = cqe->status,
		.opcode = wc_opcode(cqe),
		.vendor_err = le32toh(cqe->vendor_err),
		.byte_len = le32toh(cqe->byte_len),
		.imm_data = wc_imm(cqe),
		.qp_num = le32toh(cqe->qpn),
		.src_qp = wc_src_qp(cqe),
		.wc_flags = wc_flags(cqe),
		.pkey_index = le16toh(cqe->pkey_index),
	};
}

int ernic_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct ernic_cq *cq = to_ernic_cq(ibcq);
	struct ernic_qp *qp = NULL;
	struct ernic_cqe *cqe;
	uint32_t seen;
	int i;

	ernic_lock(&cq->lock);
	seen = cq->ci;
	for (i = 0; i < n; i++) {
		cqe = cq_next(cq, &qp);
		if (!cqe)
			break;
		fill_wc(&wc[i], cqe);
	}
	if (cq->ci != seen)
		ernic_cq_consumed(cq);
	ernic_unlock(&cq->lock);
	return i;
}

/*
 * Counter of the entries in the ring, polled or not: the event is for the entry after
 * them. If the device writes it before it is armed, arming raises the event.
 */
static uint32_t cq_seen(struct ernic_cq *cq)
{
	uint32_t ci = le32toh(atomic_load_explicit(cq->ci_word,
						   memory_order_acquire));

	/* Too old: any number of entries may have been consumed since. */
	if (cq->seen - ci > cq->depth)
		cq->seen = ci;
	while (cq->seen - ci < cq->depth && ernic_cq_entry(cq, cq->seen))
		cq->seen++;
	return cq->seen;
}

int ernic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct ernic_cq *cq = to_ernic_cq(ibcq);
	enum ernic_db_kind kind = solicited_only ? ERNIC_DB_CQ_ARM_SOLICITED :
						   ERNIC_DB_CQ_ARM;

	/*
	 * A lock of its own: a program may arm between start_poll and end_poll,
	 * and indices have to reach the device in order.
	 */
	ernic_lock(&cq->arm_lock);
	ernic_ring(ibcq->context, ERNIC_DB(kind, cq->cqn, cq_seen(cq)));
	ernic_unlock(&cq->arm_lock);
	return 0;
}

/* ---- entry by entry ------------------------------------------------------ */

static struct ernic_cq *ex_to_cq(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct ernic_cq, vcq.cq_ex);
}

static int ex_next(struct ibv_cq_ex *ex)
{
	struct ernic_cq *cq = ex_to_cq(ex);

	cq->cur = cq_next(cq, &cq->cur_qp);
	if (!cq->cur)
		return ENOENT;
	ex->wr_id = le64toh(cq->cur->wr_id);
	ex->status = cq->cur->status;
	return 0;
}

static void ex_end(struct ibv_cq_ex *ex)
{
	struct ernic_cq *cq = ex_to_cq(ex);

	ernic_cq_consumed(cq);
	ernic_unlock(&cq->lock);
}

static int ex_start(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct ernic_cq *cq = ex_to_cq(ex);
	int ret;

	if (attr->comp_mask)
		return ernic_error(EINVAL);
	ernic_lock(&cq->lock);
	cq->cur_qp = NULL;
	ret = ex_next(ex);
	if (ret)
		ex_end(ex);
	return ret;
}

/* ex_NAME(): value, an expression of cqe, the entry that was taken last. */
#define EX_READ(type, name, value)                                             \
	static type ex_##name(struct ibv_cq_ex *ex)                            \
	{                                                                      \
		const struct ernic_cqe *cqe = ex_to_cq(ex)->cur;               \
									       \
		return value;                                                  \
	}
EX_READ(enum ibv_wc_opcode, opcode, wc_opcode(cqe))
EX_READ(unsigned int, wc_flags, wc_flags(cqe))
EX_READ(__be32, imm_data, wc_imm(cqe))
EX_READ(uint32_t, vendor_err, le32toh(cqe->vendor_err))
EX_READ(uint32_t, byte_len, le32toh(cqe->byte_len))
EX_READ(uint32_t, qpn, le32toh(cqe->qpn))
EX_READ(uint32_t, src_qp, wc_src_qp(cqe))
EX_READ(uint64_t, timestamp, le64toh(cqe->timestamp))

/*
 * The PTP clock's time. Without one, the system's time, minus the time that has passed
 * by the device's clock.
 */
static uint64_t ex_wallclock(struct ibv_cq_ex *ex)
{
	struct timespec now;
	uint64_t device, ns;

	if (!ernic_ptp_time(ex->context, ex_timestamp(ex), &ns))
		return ns;
	if (ernic_clock(ex->context, &device) ||
	    clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec -
	       (device - ex_timestamp(ex));
}

/* Fields of InfiniBand, which RoCE does not have. */
static uint32_t ex_slid(struct ibv_cq_ex *ex)
{
	return 0;
}

static uint8_t ex_none(struct ibv_cq_ex *ex)
{
	return 0;
}

void ernic_cq_init_ex(struct ernic_cq *cq, uint64_t flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = ex_start;
	ex->next_poll = ex_next;
	ex->end_poll = ex_end;
	ex->read_opcode = ex_opcode;
	ex->read_vendor_err = ex_vendor_err;
	ex->read_wc_flags = ex_wc_flags;
	if (flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = ex_byte_len;
	if (flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = ex_imm_data;
	if (flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = ex_qpn;
	if (flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = ex_src_qp;
	if (flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = ex_slid;
	if (flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = ex_none;
	if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = ex_none;
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = ex_timestamp;
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = ex_wallclock;
}
