/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of the verbs layer. Each has the number of the context that owns it:
 * the device wants it with every command on the object.
 */
#ifndef ERNIC_VERBS_H
#define ERNIC_VERBS_H

#include <rdma/ib_umem.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/uverbs_ioctl.h>
#include "ernic.h"
#include "ernic-abi.h"

/* Mappings of a process, by page offset. */
enum ernic_mmap {
	ERNIC_MMAP_DB,
	ERNIC_MMAP_CLOCK,
	ERNIC_MMAP_FREE,	/* device memory: from this offset on */
};

struct ernic_ucontext {
	struct ib_ucontext ibuctx;
	u32 uctx;
};

struct ernic_pd {
	struct ib_pd ibpd;
	u32 uctx;
	u32 pdn;
};

/* For the device it is a protection domain of context 0. */
struct ernic_xrcd {
	struct ib_xrcd ibxrcd;
	u32 pdn;
};

struct ernic_mr {
	struct ib_mr ibmr;
	/* of a process */
	struct ib_umem *umem;
	u64 iova;
	int access;		/* IB_ACCESS_* */
	/* on demand: length, and the offset of its first byte in the first page */
	u64 length;
	u32 offset;
	bool implicit;		/* the whole address space; its chunks by number */
	struct mutex chunk_lock;
	struct xarray chunks;
	struct ernic_ref ref;	/* held by faults and advice */
	u32 uctx;
	/* for REG_MR: the page list, in memory that the device reads */
	__le64 *list;
	dma_addr_t list_dma;
	u32 npages;
	u32 max_pages;
};

struct ernic_dm {
	struct ib_dm ibdm;
	struct rdma_user_mmap_entry entry;
	unsigned long first;	/* page */
	unsigned long pages;
};

struct ernic_mw {
	struct ib_mw ibmw;
	u32 uctx;
};

/* Memory of a queue of the kernel: contiguous for the device. */
struct ernic_ring {
	void *buf;
	dma_addr_t dma;
	size_t bytes;
};

/*
 * A work queue of the kernel. Posting holds the lock and advances pi; polling holds
 * the lock of the completion queue and advances ci. The device gets slot numbers
 * instead of wr_ids, so that it never returns a pointer.
 */
struct ernic_wq {
	spinlock_t lock;	/* of posting */
	struct ernic_ring ring;
	u64 *wr_ids;		/* of the request in each slot */
	u32 depth;		/* slots: a power of two */
	u32 stride;		/* bytes of a slot */
	u32 pi;			/* requests written */
	u32 ci;			/* requests completed */
	struct ernic_ring record;	/* struct ernic_record; may be absent */
	/* not of shared receive queues */
	struct ib_qp *qp;
	struct list_head of_cq;	/* under the lock of the completion queue */
};

struct ernic_cq {
	struct ib_cq ibcq;
	struct ernic_ref ref;	/* held by event handlers */
	struct ib_umem *umem;	/* of a process */
	struct mutex resize_lock;	/* of umem, while the ring changes */
	struct ib_umem *ci_umem;
	struct ernic_eq *eq;	/* of its completion vector */
	u32 uctx;
	u32 cqn;
	/* Queues of the kernel only. The lock is taken before those of work queues. */
	spinlock_t lock;
	struct list_head wqs;		/* work queues that complete here; no SRQs */
	bool armed;			/* and no event since */
	struct ernic_ring ring;
	struct ernic_ring ci_word;	/* the device reads ci here */
	u32 ci;			/* entries consumed */
	u32 seen;		/* entries in the ring when it was last armed */
};

/*
 * Requests complete in any order. A queue of the kernel gives each request a tag,
 * which is in use until its completion; wr_ids links the free tags.
 */
struct ernic_srq {
	struct ib_srq ibsrq;
	struct ernic_ref ref;	/* held by event handlers */
	struct ib_umem *umem;	/* of a process */
	struct ib_umem *record;	/* likewise */
	struct mutex resize_lock;	/* of umem, while the ring changes */
	u32 stride;		/* of a process's ring, in units of 64 bytes */
	u32 uctx;
	u32 srqn;
	struct ernic_wq wq;	/* ci counts completions; all under the lock */
	u32 max_sge;
	u32 free_tag;
};

struct ernic_qp {
	struct ib_qp ibqp;
	struct ernic_ref ref;	/* held by event handlers */
	struct ib_umem *sq_umem;	/* of a process */
	struct ib_umem *rq_umem;
	struct ib_umem *sq_record;
	struct ib_umem *rq_record;
	struct ib_qp_cap cap;
	enum ib_sig_type sig_type;
	u32 uctx;
	struct ernic_wq sq;	/* of the kernel */
	struct ernic_wq rq;	/* likewise, without an SRQ */
	u8 state;		/* as last set, under the locks of both */
	struct ib_wq *ibwq;	/* the work queue that this is for the device, or NULL */
	struct work_struct fault_work;
	spinlock_t fault_lock;
	struct ernic_eqe fault;	/* the last one, under fault_lock */
};

/* A receive work queue. For the device it is a queue pair that only receives. */
struct ernic_rwq {
	struct ib_wq ibwq;
	struct ernic_qp qp;
};

/* The device gets the table with the queue pair over it. */
struct ernic_ind_table {
	struct ib_rwq_ind_table ibtable;
};

/* A rule that steers frames to a raw packet queue pair. */
struct ernic_flow {
	struct ib_flow ibflow;
	u32 uctx;
	u32 handle;
};

struct ernic_ah {
	struct ib_ah ibah;
	struct ernic_av av;
};

/* Addresses in DMA memory */
struct ernic_list {
	__le64 *entry;
	dma_addr_t dma;
};

/* A list of pages in DMA memory, for the duration of one command. */
struct ernic_pages {
	struct ernic_list *leaves;
	struct ernic_list root;		/* with more than one leaf */
	size_t num_leaves;
};

#define ERNIC_OBJ(type, ib) \
	static inline struct ernic_##type *to_##type(struct ib_##type *p) \
	{ return container_of(p, struct ernic_##type, ib); }
ERNIC_OBJ(ucontext, ibuctx)
ERNIC_OBJ(pd, ibpd)
ERNIC_OBJ(mr, ibmr)
ERNIC_OBJ(cq, ibcq)
ERNIC_OBJ(srq, ibsrq)
ERNIC_OBJ(qp, ibqp)
ERNIC_OBJ(xrcd, ibxrcd)
ERNIC_OBJ(ah, ibah)
ERNIC_OBJ(mw, ibmw)
ERNIC_OBJ(dm, ibdm)
ERNIC_OBJ(flow, ibflow)

#define ERNIC_REF(type) \
	static inline struct ernic_##type *ref_to_##type(struct ernic_ref *p) \
	{ return container_of(p, struct ernic_##type, ref); }
ERNIC_REF(cq)
ERNIC_REF(srq)
ERNIC_REF(qp)
ERNIC_REF(mr)

static inline struct ernic_rwq *to_rwq(struct ib_wq *p)
{
	return container_of(p, struct ernic_rwq, ibwq);
}

static inline struct ernic_dev *to_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct ernic_dev, ibdev);
}

static inline bool ernic_has_raw(struct ernic_dev *dev)
{
	return le32_to_cpu(dev->attr.raw) & ERNIC_RAW_PACKET;
}

/* The rate of the link in kb/s, as far as it fits; 0: no rate limits. */
static inline u32 ernic_rate_limit_max(struct ernic_dev *dev)
{
	if (!(le32_to_cpu(dev->attr.raw) & ERNIC_RAW_RATE))
		return 0;
	return min_t(u64, readl(ernic_reg(dev, link_speed)) * 1000ull,
		     U32_MAX);
}

static inline u32 ernic_udata_uctx(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct ernic_ucontext,
					 ibuctx)->uctx;
}

/*
 * Destroys an object of the device. 0: the device has forgotten it and does not
 * touch its memory, also because the device is dead.
 */
static inline int ernic_destroy(struct ernic_dev *dev, u8 opcode, u32 uctx,
				u32 handle)
{
	int ret = ernic_cmd_free(dev, opcode, uctx, handle);

	if (!ret || ernic_dead(dev))
		return 0;
	/* -EBUSY is the user's mistake: other objects refer to this one */
	WARN_ONCE(ret != -EBUSY, "ernic: command %u: %d\n", opcode, ret);
	return ret;
}

/* ---- ernic_udata.c: requests of processes and their responses ------------ */

/*
 * Reads the request of a process into *req. Version 1 of its structure ended with
 * the member v1; the driver knows the members up to last. A shorter request, of an
 * older process, is filled with zeros; the tail of a longer one has to be zero.
 * 0, -EINVAL (too short), -EOPNOTSUPP (tail not zero), -EFAULT.
 */
#define ernic_request(udata, req, v1, last) \
	ernic_request_copy(udata, req, sizeof(*(req)), \
			   offsetofend(typeof(*(req)), v1), \
			   offsetofend(typeof(*(req)), last))
int ernic_request_copy(struct ib_udata *udata, void *req, size_t size,
		       size_t least, size_t known);
/* The same for a command whose request has no structure; the kernel has no udata. */
int ernic_no_request(struct ib_udata *udata);
/*
 * Copies as much of a response as the process, which may be older, expects. The kernel,
 * without udata, gets none.
 */
int ernic_respond(struct ib_udata *udata, const void *resp, size_t len);

/* ---- ernic_addr.c: GIDs, address handles, multicast groups --------------- */

void ernic_av_from_ah(struct ernic_av *av, const struct rdma_ah_attr *ah);
void ernic_av_to_ah(const struct ernic_av *av, struct rdma_ah_attr *ah);
int ernic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int ernic_add_gid(const struct ib_gid_attr *attr, void **context);
int ernic_del_gid(const struct ib_gid_attr *attr, void **context);
int ernic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int ernic_destroy_ah(struct ib_ah *ibah, u32 flags);
int ernic_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int ernic_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* ---- ernic_pages.c: memory of processes, as lists of pages --------------- */

/*
 * Lists the blocks of pgsz bytes of umem in DMA memory and describes the buffer for
 * a command. After the command, ernic_pages_fini(), which accepts zeroed pages too.
 * 0, -ENOMEM, -EINVAL.
 */
int ernic_pages_init(struct ernic_dev *dev, struct ib_umem *umem,
		     unsigned long pgsz, struct ernic_buf_desc *desc,
		     struct ernic_pages *pages);
void ernic_pages_fini(struct ernic_dev *dev, struct ernic_pages *pages);

/* A ring as a process describes it, and its limits. */
struct ernic_user_ring {
	u64 addr;
	u32 depth;
	u32 stride;		/* units of 64 bytes */
	u32 least;		/* minimum of depth */
	u32 max_depth;
	size_t entry;		/* minimum of stride, in bytes */
	u32 max_stride;
	u64 record;		/* struct ernic_record; 0: none */
};

/* Bytes of a receive request with so many SGEs. */
static inline size_t ernic_rwqe_bytes(u32 sges)
{
	return sizeof(struct ernic_rwqe) +
	       (size_t)sges * sizeof(struct ernic_sge);
}

/*
 * Pins the ring. desc and pages are as above; *umem is to be released, and is NULL
 * after an error.
 */
int ernic_ring_get(struct ernic_dev *dev, const struct ernic_user_ring *ring,
		   struct ernic_buf_desc *desc, struct ernic_pages *pages,
		   struct ib_umem **umem);

/*
 * Pins a word of size bytes that the device writes or reads, and sets *dma, or sets it
 * to 0 for address 0. *umem is to be released, and is NULL after an error.
 */
int ernic_word_get(struct ernic_dev *dev, u64 addr, u32 size,
		   struct ib_umem **umem, __le64 *dma);
/* The same for a struct ernic_record; -EOPNOTSUPP: there are none. */
int ernic_record_get(struct ernic_dev *dev, u64 addr, struct ib_umem **umem,
		     __le64 *dma);

/* ---- ernic_region.c: regions of every kind ------------------------------- */

/* Executes a command that creates a region, whose keys it sets. */
int ernic_region_create(struct ernic_dev *dev, struct ernic_mr *mr,
			struct ernic_cmd *cmd);
/* The same with MR_REG; cmd describes the memory. */
int ernic_region_register(struct ernic_dev *dev, struct ernic_mr *mr,
			  struct ernic_pd *pd, struct ernic_cmd *cmd);
/* Frees the region and its memory, after the device has forgotten it. */
void ernic_region_release(struct ernic_dev *dev, struct ernic_mr *mr);

/* ---- ernic_odp.c: on-demand regions -------------------------------------- */

#ifdef ERNIC_HAS_ODP
struct ib_mr *ernic_odp_reg(struct ib_pd *ibpd, u64 start, u64 length,
			    u64 iova, int access);
int ernic_odp_dereg(struct ernic_dev *dev, struct ernic_mr *mr);
int ernic_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		    u32 flags, struct ib_sge *sge, u32 num_sge,
		    struct uverbs_attr_bundle *attrs);
void ernic_odp_work(struct work_struct *work);
#else
#define ernic_odp_reg(ibpd, start, length, iova, access) ERR_PTR(-EOPNOTSUPP)
#define ernic_odp_dereg(dev, mr) (-EOPNOTSUPP)
#define ernic_advise_mr NULL
static inline void ernic_odp_work(struct work_struct *work) { }
#endif

/* ---- ernic_mr.c: pinned regions of processes ----------------------------- */

struct ib_mr *ernic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access,
				ERNIC_DMAH_PARAM struct ib_udata *udata);
struct ib_mr *ernic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
int ernic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* ---- ernic_dm.c: device memory ------------------------------------------- */

struct ib_dm *ernic_alloc_dm(struct ib_device *ibdev,
			     struct ib_ucontext *ibuctx,
			     struct ib_dm_alloc_attr *attr,
			     struct uverbs_attr_bundle *attrs);
int ernic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
void ernic_mmap_free(struct rdma_user_mmap_entry *entry);
int ernic_dm_mmap(struct ib_ucontext *ibuctx, struct vm_area_struct *vma);
struct ib_mr *ernic_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr,
			      struct uverbs_attr_bundle *attrs);

/* ---- ernic_uapi.c: methods of uverbs that the driver adds ---------------- */

extern const struct uapi_definition ernic_uapi_defs[];
int ernic_query_ucontext(struct ib_ucontext *ibuctx,
			 struct uverbs_attr_bundle *attrs);

/* ---- ernic_context.c: contexts, mappings, domains ------------------------ */

/* Describes the context with this number to its process. */
void ernic_ucontext_resp(struct ernic_dev *dev, u32 uctx,
			 struct ernic_alloc_ucontext_resp *resp);
int ernic_alloc_ucontext(struct ib_ucontext *ibuctx, struct ib_udata *udata);
void ernic_dealloc_ucontext(struct ib_ucontext *ibuctx);
void ernic_disassociate(struct ib_ucontext *ibuctx);
int ernic_mmap(struct ib_ucontext *ibuctx, struct vm_area_struct *vma);
int ernic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int ernic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int ernic_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int ernic_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* ---- ernic_kmr.c: regions of the kernel ---------------------------------- */

struct ib_mr *ernic_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *ernic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int ernic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);

/* ---- ernic_mw.c: memory windows ------------------------------------------ */

int ernic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int ernic_dealloc_mw(struct ib_mw *ibmw);

/* ---- ernic_wq.c: the rings of the kernel's queues ------------------------ */

int ernic_ring_init(struct ernic_dev *dev, struct ernic_ring *ring,
		    size_t bytes);
void ernic_ring_fini(struct ernic_dev *dev, struct ernic_ring *ring);
/* Describes the ring in *desc, and the record, if there is one, in *record. */
int ernic_wq_init(struct ernic_dev *dev, struct ernic_wq *wq, u32 depth,
		  u32 stride, struct ernic_buf_desc *desc, __le64 *record);
void ernic_wq_fini(struct ernic_dev *dev, struct ernic_wq *wq);
void ernic_wq_reset(struct ernic_wq *wq);
bool ernic_wq_complete(struct ernic_wq *wq, u32 index, u64 *wr_id);
/* The completion with this counter; NULL: the device has not written it yet. */
struct ernic_cqe *ernic_cqe(struct ernic_cq *cq, u32 index);

/* ---- ernic_post.c: posting requests of the kernel ------------------------ */

int ernic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int ernic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int ernic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/* ---- ernic_flush.c: the kernel's requests on a dead device --------------- */

/* Adds the work queues to their completion queues, or takes them out. */
void ernic_flush_know(struct ernic_qp *qp, bool on);
/* Both under the lock of the completion queue, when the device is dead. */
int ernic_flush_poll(struct ernic_cq *cq, int num, struct ib_wc *wc);
bool ernic_flush_pending(struct ernic_cq *cq);

/* ---- ernic_poll.c: completions of the kernel ----------------------------- */

int ernic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int ernic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/* Removes the completions of a queue pair that was destroyed or reset. */
void ernic_cq_clean(struct ib_cq *ibcq, struct ernic_qp *qp);

/* ---- ernic_cq.c, ernic_cq_resize.c: completion queues -------------------- */

int ernic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *a,
		    struct ernic_create_cq_arg *arg);
int ernic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
/* The same as ernic_ring_get(); cqe: minimum number of entries. */
int ernic_cq_ring(struct ernic_dev *dev, u64 addr, u32 depth, u32 cqe,
		  struct ernic_buf_desc *desc, struct ernic_pages *pages,
		  struct ib_umem **umem);
int ernic_resize_cq(struct ib_cq *ibcq, ernic_resize_arg cqe,
		    struct ib_udata *udata);
int ernic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);

/* ---- ernic_srq.c: shared receive queues ---------------------------------- */

/* The wr_id of the request with this tag, which it frees. False: no such tag. */
bool ernic_srq_complete(struct ernic_srq *srq, u64 tag, u64 *wr_id);
int ernic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int ernic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int ernic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int ernic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ---- ernic_qp_cmd.c: creating and destroying queue pairs of any kind ----- */

/* Pins the receive ring of a process, with its record, and describes it in init. */
int ernic_qp_user_rq(struct ernic_dev *dev, struct ernic_qp *qp,
		     struct ernic_user_ring *ring, struct ernic_qp_init *init,
		     struct ernic_pages *pages);
/* Creates it in the device, and sets its number. */
int ernic_qp_make(struct ernic_dev *dev, struct ernic_qp *qp,
		  const struct ernic_qp_init *init);
/* From here on it gets events and page faults. 0 or -ENOMEM. */
int ernic_qp_add(struct ernic_dev *dev, struct ernic_qp *qp);
/*
 * Destroys it in the device and waits until no event or page fault uses it. gone(),
 * unless NULL, runs in between, before another queue pair can get the number.
 */
int ernic_qp_remove(struct ernic_dev *dev, struct ernic_qp *qp,
		    void (*gone)(struct ernic_qp *qp));

/* ---- ernic_qp.c: queue pairs --------------------------------------------- */

int ernic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int ernic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int ernic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int ernic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* ---- ernic_rwq.c: receive work queues, and queue pairs over tables of them */

struct ib_wq *ernic_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *attr,
			      struct ib_udata *udata);
int ernic_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata);
int ernic_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);
int ernic_create_rwq_ind_table(struct ib_rwq_ind_table *table,
			       struct ib_rwq_ind_table_init_attr *attr,
			       struct ib_udata *udata);
int ernic_destroy_rwq_ind_table(struct ib_rwq_ind_table *table);
int ernic_create_rss(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		     struct ib_udata *udata);
int ernic_destroy_rss(struct ib_qp *ibqp);
int ernic_query_rss(struct ib_qp *ibqp, struct ib_qp_attr *attr,
		    struct ib_qp_init_attr *init);

/* ---- ernic_flow.c: rules that steer frames ------------------------------- */

struct ib_flow *ernic_create_flow(struct ib_qp *ibqp,
				  struct ib_flow_attr *attr,
				  struct ib_udata *udata);
int ernic_destroy_flow(struct ib_flow *ibflow);

/* ---- ernic_info.c: sysfs attributes, and resources as rdma(8) shows them - */

extern const struct attribute_group ernic_attr_group;
void ernic_fw_str(struct ib_device *ibdev, char *str);
int ernic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int ernic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int ernic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);

/* ---- ernic_stats.c: counters of the port and of queue pairs -------------- */

struct rdma_hw_stats *ernic_alloc_stats(struct ib_device *ibdev, u32 port);
int ernic_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		    u32 port, int index);
/* Before the device is registered. */
void ernic_counter_init(struct ernic_dev *dev);
/* value: ERNIC_STATS_FAULTS words of the response to QUERY_STATS */
int ernic_read_stats(struct ernic_dev *dev, __le64 *value);

/* ---- ernic_pma.c: the performance management agent ----------------------- */

int ernic_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

#endif /* ERNIC_VERBS_H */
