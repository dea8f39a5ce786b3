/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * libernic: the objects of a process, on top of the rings and doorbells of
 * ernic_abi.h. Counters of rings are free-running, like those of the device.
 */
#ifndef ERNIC_H
#define ERNIC_H

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <ccan/array_size.h>
#include <infiniband/driver.h>
#include <util/mmio.h>
#include <util/udma_barrier.h>
#include <util/util.h>

#include <rdma/ernic-abi.h>
#include "ernic_abi.h"

/*
 * Verbs that return an error number leave it in errno as well, as their manual pages
 * say. Those of the library do; errors of this provider pass through here.
 */
static inline int ernic_error(int error)
{
	if (error)
		errno = error;
	return error;
}

/* The same for verbs that return a new object, of which obj (or NULL) was the memory. */
static inline void *ernic_create_failed(void *obj, int error)
{
	free(obj);
	errno = error;
	return NULL;
}

/* A lock that a thread domain makes needless. */
struct ernic_lock {
	pthread_spinlock_t spin;
	bool needed;
};

static inline void ernic_lock(struct ernic_lock *lock)
{
	if (lock->needed)
		pthread_spin_lock(&lock->spin);
}

static inline void ernic_unlock(struct ernic_lock *lock)
{
	if (lock->needed)
		pthread_spin_unlock(&lock->spin);
}

static inline void ernic_lock_init(struct ernic_lock *lock, bool needed)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	lock->needed = needed;
}

static inline void ernic_lock_fini(struct ernic_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

/* Objects by their number of 24 bits, in two levels; table.c. */
#define ERNIC_TABLE_STEP 4096

struct ernic_table_page {
	void *obj[ERNIC_TABLE_STEP];
};

struct ernic_table {
	struct ernic_table_page *page[(1 << 24) / ERNIC_TABLE_STEP];
};

struct ernic_context {
	struct verbs_context ibv_ctx;
	void *db; /* doorbell page */
	/* NULL: no PTP clock */
	const volatile struct ernic_clock_page *clock;
	struct ernic_alloc_ucontext_resp caps;
	bool records; /* queues have records */
	uint32_t record_db; /* offset in db of the doorbells of those that send */
	pthread_mutex_t table_lock; /* guards changes of both */
	pthread_cond_t table_left;  /* an object has left one of them */
	struct ernic_table qps;
	struct ernic_table srqs; /* of XRC */
};

struct ernic_td {
	struct ibv_td ibv_td;
	atomic_int refs; /* parent domains */
};

/* A domain, or a parent domain over one. */
struct ernic_pd {
	struct ibv_pd ibv_pd;
	struct ernic_pd *inner; /* of a parent domain */
	struct ernic_td *td;	/* of a parent domain, or NULL */
	atomic_int refs;	/* parent domains, and objects created in one */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

/* The purpose of memory, for the allocator of a parent domain. */
enum ernic_resource {
	ERNIC_RES_CQ = 1,
	ERNIC_RES_SRQ,
	ERNIC_RES_SQ,
	ERNIC_RES_RQ,
};

/* Memory of a queue: whole pages, cleared, not shared with a forked child. */
struct ernic_buf {
	void *addr;
	size_t size;
	enum ernic_resource type;
	struct ernic_pd *from; /* its allocator gave the memory, or NULL */
};

/* A ring of requests. Posting holds the lock. */
struct ernic_wq {
	struct ernic_lock lock;
	struct ernic_buf buf;
	uint32_t depth;	 /* power of two */
	uint32_t stride; /* bytes */
	uint32_t max_sge;
	uint32_t pi;	 /* requests posted */
	atomic_uint ci;	 /* requests known to be done, by completions */
	uint64_t db;	 /* doorbell, less the index */
	/* struct ernic_record: pi, and then wake; NULL: none */
	_Atomic(__le32) *record;
};

struct ernic_srq {
	struct verbs_srq vsrq;
	struct ernic_pd *pd;
	struct ernic_cq *cq; /* XRC, else NULL */
	struct ernic_wq wq;
	struct ernic_buf record_buf;
};

struct ernic_cq {
	struct verbs_cq vcq;
	struct ernic_lock lock;	    /* for taking entries */
	struct ernic_lock arm_lock; /* for arming */
	struct ernic_pd *pd;	    /* parent domain, or NULL */
	struct ernic_buf buf;
	struct ernic_buf ci_buf;
	uint32_t depth; /* power of two */
	uint32_t cqn;
	uint32_t ci;		/* entries consumed */
	_Atomic(__le32) *ci_word; /* the same for the device */
	uint32_t seen;		/* entries in the ring when it was last armed */
	struct ernic_cqe *cur;	/* between start_poll and end_poll */
	struct ernic_qp *cur_qp;
};

struct ernic_qp {
	struct verbs_qp vqp;
	struct ernic_pd *pd;
	struct ernic_srq *srq; /* or NULL */
	struct ernic_cq *send_cq; /* NULL: an XRC target */
	struct ernic_cq *recv_cq; /* NULL: XRC */
	bool over_table; /* uses nothing below: the queues of its table receive */
	uint32_t max_inline;
	struct ernic_wq sq;
	struct ernic_wq rq; /* unused with an SRQ, and of XRC */
	struct ernic_buf record_buf; /* of both */

	/* between wr_start and wr_complete; under the lock of sq */
	uint32_t wr_pi;
	int wr_err;
	struct ernic_wqe *wr_cur;
};

/* A receive work queue; completions name it like a queue pair, qp. */
struct ernic_rwq {
	struct ibv_wq ibv_wq;
	struct ernic_qp qp;
};

struct ernic_dm {
	struct verbs_dm vdm;
	void *addr;
	size_t length;
};

struct ernic_mw {
	struct ibv_mw ibv_mw;
	uint32_t rkey; /* the key after all posted binds */
};

struct ernic_ah {
	struct ibv_ah ibv_ah;
	struct ernic_pd *pd;
	struct ernic_av av;
};

#define ERNIC_TO(type, ibv, memb)                                              \
	static inline struct ernic_##type *to_ernic_##type(struct ibv *p)      \
	{                                                                      \
		return container_of(p, struct ernic_##type, memb);             \
	}
ERNIC_TO(context, ibv_context, ibv_ctx.context)
ERNIC_TO(td, ibv_td, ibv_td)
ERNIC_TO(pd, ibv_pd, ibv_pd)
ERNIC_TO(cq, ibv_cq, vcq.cq)
ERNIC_TO(srq, ibv_srq, vsrq.srq)
ERNIC_TO(qp, ibv_qp, vqp.qp)
ERNIC_TO(mw, ibv_mw, ibv_mw)
ERNIC_TO(ah, ibv_ah, ibv_ah)
ERNIC_TO(dm, ibv_dm, vdm.dm)
ERNIC_TO(rwq, ibv_wq, ibv_wq)

/* The slot of the request with this counter. */
static inline void *ernic_wq_slot(const struct ernic_wq *wq, uint32_t counter)
{
	return (uint8_t *)wq->buf.addr +
	       (size_t)(counter & (wq->depth - 1)) * wq->stride;
}

static inline bool ernic_wq_full(struct ernic_wq *wq, uint32_t pi)
{
	return pi - atomic_load_explicit(&wq->ci, memory_order_acquire) >=
	       wq->depth;
}

/*
 * The completion of the request index means that the device has copied it and all
 * earlier ones from the ring; their slots are free. Completions of a shared queue
 * arrive in any order.
 */
static inline void ernic_wq_done(struct ernic_wq *wq, uint32_t index)
{
	unsigned int ci = atomic_load_explicit(&wq->ci, memory_order_relaxed);

	while ((int32_t)(index + 1 - ci) > 0 &&
	       !atomic_compare_exchange_weak_explicit(&wq->ci, &ci, index + 1,
						      memory_order_release,
						      memory_order_relaxed))
		;
}

/* One store of 64 bits, visible to the device after all earlier stores. */
static inline void ernic_ring_at(struct ibv_context *ibctx, uint32_t offset,
				 uint64_t value)
{
	udma_to_device_barrier();
	mmio_write64_le((uint8_t *)to_ernic_context(ibctx)->db + offset,
			htole64(value));
}

static inline void ernic_ring(struct ibv_context *ibctx, uint64_t value)
{
	ernic_ring_at(ibctx, 0, value);
}

/* Hands receive requests up to pi to the device: by the record, or by a doorbell. */
static inline void ernic_posted_recv(struct ibv_context *ibctx,
				     struct ernic_wq *wq)
{
	if (!wq->record) {
		ernic_ring(ibctx, wq->db | wq->pi);
		return;
	}
	udma_to_device_barrier();
	atomic_store_explicit(&wq->record[0], htole32(wq->pi),
			      memory_order_relaxed);
}

/*
 * Orders stores before loads. Compilers prefer a locked instruction to mfence, but QEMU's
 * TCG orders nothing by it in a machine with a single processor.
 */
static inline void ernic_full_barrier(void)
{
#ifdef __x86_64__
	__asm__ volatile("mfence" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/*
 * The same for send requests from first on. The device writes wake before it reads pi
 * for the last time; so either it sees these requests, or wake is one of them.
 */
static inline void ernic_posted_send(struct ibv_context *ibctx,
				     struct ernic_wq *wq, uint32_t first)
{
	uint32_t offset = 0, wake;

	if (wq->record) {
		ernic_posted_recv(ibctx, wq);
		ernic_full_barrier();
		wake = le32toh(atomic_load_explicit(&wq->record[1],
						    memory_order_relaxed));
		if (wake - first >= wq->pi - first)
			return;
		offset = to_ernic_context(ibctx)->record_db;
	}
	ernic_ring_at(ibctx, offset, wq->db | wq->pi);
}

/* table.c */
/* Needs no lock: an entry of the object is being polled, so that it stays. */
static inline void *ernic_table_find(const struct ernic_table *table,
				     uint32_t n)
{
	const struct ernic_table_page *page =
		table->page[(n & 0xffffff) / ERNIC_TABLE_STEP];

	return page ? page->obj[n % ERNIC_TABLE_STEP] : NULL;
}

/*
 * Adds an object, which the kernel has created, before a completion can name it. The
 * kernel may have reused the number of one whose entries are still being removed: waits
 * until that one has left. 0 or ENOMEM.
 */
int ernic_table_add(struct ernic_context *ctx, struct ernic_table *table,
		    uint32_t n, void *obj);
/* Under the lock. Pages stay until the context is freed. */
void ernic_table_remove(struct ernic_context *ctx, struct ernic_table *table,
			uint32_t n);
void ernic_table_fini(struct ernic_table *table);

/* clock.c */
int ernic_clock(struct ibv_context *ibctx, uint64_t *ns);
int ernic_ptp_time(struct ibv_context *ibctx, uint64_t device, uint64_t *ns);

/* buf.c */
int ernic_buf_alloc(struct ernic_buf *buf, struct ernic_pd *pd,
		    enum ernic_resource type, size_t size);
void ernic_buf_free(struct ernic_buf *buf);
uint32_t ernic_depth(uint32_t entries, size_t bytes);
int ernic_wq_init(struct ernic_wq *wq, struct ernic_pd *pd,
		  enum ernic_resource type, uint32_t wrs, size_t slot);
void ernic_wq_fini(struct ernic_wq *wq);
int ernic_records_alloc(struct ernic_buf *buf, struct ernic_context *ctx,
			struct ernic_pd *pd, enum ernic_resource type,
			struct ernic_wq *first, struct ernic_wq *second);
/* The address of the record, for the kernel; 0: none. */
static inline uintptr_t ernic_wq_record(const struct ernic_wq *wq)
{
	return (uintptr_t)wq->record;
}
void ernic_wq_reset(struct ernic_wq *wq);

/* mem.c */
struct ibv_pd *ernic_alloc_pd(struct ibv_context *ibctx);
struct ibv_pd *ernic_import_pd(struct ibv_context *ibctx, uint32_t handle);
void ernic_unimport_pd(struct ibv_pd *ibpd);
int ernic_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *ernic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr);
int ernic_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *
ernic_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr);
int ernic_advise_mr(struct ibv_pd *ibpd, enum ibv_advise_mr_advice advice,
		    uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_mr *ernic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length,
			    uint64_t iova, int access);
int ernic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		   void *addr, size_t length, int access);
struct ibv_mr *ernic_import_mr(struct ibv_pd *ibpd, uint32_t handle);
void ernic_unimport_mr(struct ibv_mr *ibmr);
int ernic_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *ernic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type);
int ernic_dealloc_mw(struct ibv_mw *ibmw);
struct ibv_ah *ernic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr);
int ernic_destroy_ah(struct ibv_ah *ibah);

/* A parent domain that objects refer to; NULL is allowed. */
void ernic_pd_ref(struct ernic_pd *pd);
void ernic_pd_unref(struct ernic_pd *pd);

/* cq.c */
struct ibv_cq *ernic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *ernic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr);
int ernic_resize_cq(struct ibv_cq *ibcq, int cqe);
int ernic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int ernic_destroy_cq(struct ibv_cq *ibcq);
/* Removes the completions of an SRQ of XRC; the caller holds the lock. */
void ernic_cq_clean_xrc(struct ernic_cq *cq, uint32_t srqn);
/* Removes the completions of a queue pair from its completion queues. */
void ernic_qp_clean_cqs(struct ernic_qp *qp);
/* Reports the entries before ci as consumed, without a doorbell. */
static inline void ernic_cq_consumed(struct ernic_cq *cq)
{
	atomic_store_explicit(cq->ci_word, htole32(cq->ci),
			      memory_order_release);
}

/* poll.c */
int ernic_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
int ernic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void ernic_cq_init_ex(struct ernic_cq *cq, uint64_t wc_flags);
/* The entry with this counter if the device has written it, else NULL. */
struct ernic_cqe *ernic_cq_entry(struct ernic_cq *cq, uint32_t counter);
/* Fields that polling can return: flags of ibv_create_cq_ex(). */
#define ERNIC_WC_FLAGS                                                         \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |         \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* dm.c */
struct ibv_dm *ernic_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr);
int ernic_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *ernic_import_dm(struct ibv_context *ibctx, uint32_t handle);
void ernic_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *ernic_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t length,
			       unsigned int access);

/* srq.c */
struct ibv_srq *ernic_create_srq(struct ibv_pd *ibpd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *ernic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr);
int ernic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask);
int ernic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int ernic_destroy_srq(struct ibv_srq *ibsrq);
int ernic_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);

/* xrc.c */
struct ibv_xrcd *ernic_open_xrcd(struct ibv_context *ibctx,
				 struct ibv_xrcd_init_attr *attr);
int ernic_close_xrcd(struct ibv_xrcd *ibxrcd);
struct ibv_qp *ernic_create_tgt(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *ernic_open_qp(struct ibv_context *ibctx,
			     struct ibv_qp_open_attr *attr);
int ernic_destroy_tgt(struct ibv_qp *ibqp);

/* qp.c */
struct ibv_qp *ernic_create_qp(struct ibv_pd *ibpd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *ernic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr);
int ernic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int ernic_modify_qp_rate_limit(struct ibv_qp *ibqp,
			       struct ibv_qp_rate_limit_attr *limit);
int ernic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init);
int ernic_destroy_qp(struct ibv_qp *ibqp);

/* rwq.c */
struct ibv_wq *ernic_create_wq(struct ibv_context *ibctx,
			       struct ibv_wq_init_attr *attr);
int ernic_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int ernic_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *
ernic_create_rwq_ind_table(struct ibv_context *ibctx,
			   struct ibv_rwq_ind_table_init_attr *attr);
int ernic_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/* A queue pair over a table: it receives, and has no queues of its own. */
struct ibv_qp *ernic_create_rss(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr);
int ernic_destroy_rss(struct ibv_qp *ibqp);

/* flow.c */
struct ibv_flow *ernic_create_flow(struct ibv_qp *ibqp,
				   struct ibv_flow_attr *attr);
int ernic_destroy_flow(struct ibv_flow *flow);

/* post.c */
int ernic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int ernic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
int ernic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
int ernic_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr);
int ernic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *ibmw,
		  struct ibv_mw_bind *bind);

/* The head of a request: everything but operand and data. */
void ernic_wqe_head(struct ernic_wqe *wqe, uint8_t opcode, uint64_t wr_id,
		    unsigned int send_flags);
void ernic_wqe_rdma(struct ernic_wqe *wqe, uint64_t raddr, uint32_t rkey);
void ernic_wqe_atomic(struct ernic_wqe *wqe, uint64_t raddr, uint32_t rkey,
		      uint64_t compare_add, uint64_t swap);
int ernic_wqe_ud(struct ernic_qp *qp, struct ernic_wqe *wqe, struct ibv_ah *ah,
		 uint32_t qpn, uint32_t qkey);
void ernic_wqe_xrc(struct ernic_wqe *wqe, uint32_t srqn);
void ernic_wqe_key(struct ernic_wqe *wqe, uint32_t key);
int ernic_wqe_bind(struct ernic_wqe *wqe, struct ibv_mw *ibmw, uint32_t rkey,
		   const struct ibv_mw_bind_info *info);
int ernic_wqe_sges(struct ernic_qp *qp, struct ernic_wqe *wqe,
		   const struct ibv_sge *sge, size_t n);
int ernic_wqe_inline(struct ernic_qp *qp, struct ernic_wqe *wqe,
		     const struct ibv_data_buf *buf, size_t n);
void ernic_wqe_word(struct ernic_wqe *wqe, const void *value);

/* wr.c */
int ernic_qp_init_ex(struct ernic_qp *qp, enum ibv_qp_type type,
		     uint64_t send_ops);

#endif /* ERNIC_H */
