/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of the verbs layer. Each knows the context that owns it, which
 * the device demands again with every command on it.
 */
#ifndef ERNIC_VERBS_H
#define ERNIC_VERBS_H

#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include "ernic.h"
#include "ernic-abi.h"

struct ernic_ucontext {
	struct ib_ucontext ibuctx;
	u32 uctx;
};

struct ernic_pd {
	struct ib_pd ibpd;
	u32 uctx;
	u32 pdn;
};

struct ernic_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;
	u64 iova;
	int access;		/* IB_ACCESS_* */
	u32 uctx;
};

struct ernic_cq {
	struct ib_cq ibcq;
	struct ib_umem *umem;
	struct ib_umem *ci_umem;
	u32 uctx;
	u32 cqn;
};

struct ernic_srq {
	struct ib_srq ibsrq;
	struct ib_umem *umem;
	u32 uctx;
	u32 srqn;
};

struct ernic_qp {
	struct ib_qp ibqp;
	struct ib_umem *sq_umem;
	struct ib_umem *rq_umem;
	struct ib_qp_cap cap;
	u32 uctx;
};

struct ernic_ah {
	struct ib_ah ibah;
};

/* Addresses in DMA memory */
struct ernic_list {
	__le64 *entry;
	dma_addr_t dma;
};

/* A list of pages in DMA memory, for the time of one command. */
struct ernic_pages {
	struct ernic_list *leaves;
	struct ernic_list root;		/* with more than one leaf */
	size_t num_leaves;
};

#define ERNIC_OBJ(type, ib) \
	static inline struct ernic_##type *to_##type(struct ib_##type *p) \
	{ return container_of(p, struct ernic_##type, ib); }
ERNIC_OBJ(pd, ibpd)
ERNIC_OBJ(mr, ibmr)
ERNIC_OBJ(cq, ibcq)
ERNIC_OBJ(srq, ibsrq)
ERNIC_OBJ(qp, ibqp)

static inline struct ernic_dev *to_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct ernic_dev, ibdev);
}

static inline u32 ernic_udata_uctx(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct ernic_ucontext,
					 ibuctx)->uctx;
}

/* Copies what fits of an answer to the process, which may be older. */
static inline int ernic_respond(struct ib_udata *udata, const void *resp,
				size_t len)
{
	return ib_copy_to_udata(udata, (void *)resp, min(len, udata->outlen));
}

/* ernic_addr.c */
void ernic_av_from_ah(struct ernic_av *av, const struct rdma_ah_attr *ah);
int ernic_add_gid(const struct ib_gid_attr *attr, void **context);
int ernic_del_gid(const struct ib_gid_attr *attr, void **context);
int ernic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int ernic_destroy_ah(struct ib_ah *ibah, u32 flags);

/*
 * ernic_pages.c: the list of umem's blocks of pgsz bytes in DMA memory, and the
 * description of the buffer for a command. Free after the command, as well when
 * pages is all 0. 0, -ENOMEM, -EINVAL.
 */
int ernic_pages_init(struct ernic_dev *dev, struct ib_umem *umem,
		     unsigned long pgsz, struct ernic_buf_desc *desc,
		     struct ernic_pages *pages);
void ernic_pages_fini(struct ernic_dev *dev, struct ernic_pages *pages);
struct ib_umem *ernic_queue_get(struct ernic_dev *dev, u64 addr, u64 bytes,
				struct ernic_buf_desc *desc,
				struct ernic_pages *pages);

/* ernic_mr.c */
struct ib_mr *ernic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
struct ib_mr *ernic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
int ernic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* ernic_cq.c */
int ernic_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *a,
			 struct ib_udata *udata);
int ernic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);

/* ernic_srq.c */
int ernic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int ernic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int ernic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int ernic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ernic_qp.c */
int ernic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int ernic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int ernic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int ernic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

#endif /* ERNIC_VERBS_H */
