// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of processes: pinned and registered.
 */
#include "ernic_verbs.h"

static_assert(IB_ACCESS_LOCAL_WRITE == ERNIC_ACCESS_LOCAL_WRITE);
static_assert(IB_ACCESS_REMOTE_WRITE == ERNIC_ACCESS_REMOTE_WRITE);
static_assert(IB_ACCESS_REMOTE_READ == ERNIC_ACCESS_REMOTE_READ);
static_assert(IB_ACCESS_REMOTE_ATOMIC == ERNIC_ACCESS_REMOTE_ATOMIC);
static_assert(IB_ACCESS_MW_BIND == ERNIC_ACCESS_MW_BIND);
static_assert(IB_ZERO_BASED == ERNIC_ACCESS_ZERO_BASED);

/* Huge pages are used wherever they are. */
#define ERNIC_MR_KNOWN	(ERNIC_ACCESS_FLAGS | IB_ACCESS_HUGETLB | \
			 IB_ACCESS_OPTIONAL)

static int ernic_mr_cmd(struct ernic_dev *dev, struct ernic_pd *pd,
			struct ernic_mr *mr)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };
	bool zero = mr->access & IB_ZERO_BASED;
	u64 iova = zero ? mr->umem->address : mr->iova;
	struct ernic_pages pages = {};
	struct ernic_rsp rsp;
	unsigned long pgsz;
	int ret;

	pgsz = ib_umem_find_best_pgsz(mr->umem,
				      le64_to_cpu(dev->attr.page_size_mask),
				      iova);
	if (!pgsz)
		return -EINVAL;
	ret = ernic_pages_init(dev, mr->umem, pgsz, &cmd.mr_reg.buf, &pages);
	if (ret)
		return ret;
	cmd.uctx = cpu_to_le32(pd->uctx);
	cmd.mr_reg.iova = cpu_to_le64(zero ? 0 : iova);
	cmd.mr_reg.length = cpu_to_le64(mr->umem->length);
	cmd.mr_reg.pd = cpu_to_le32(pd->pdn);
	cmd.mr_reg.access = cpu_to_le32(mr->access & ERNIC_ACCESS_FLAGS);
	cmd.mr_reg.offset = cpu_to_le32(iova & (pgsz - 1));
	ret = ernic_com_exec(dev, &cmd, &rsp, NULL, 0, NULL, 0);
	ernic_pages_fini(dev, &pages);
	if (ret)
		return ret;
	mr->ibmr.lkey = le32_to_cpu(rsp.handle);
	mr->ibmr.rkey = mr->ibmr.lkey;
	return 0;
}

struct ib_mr *ernic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_mr *mr;
	int ret;

	if (access & ~ERNIC_MR_KNOWN)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->uctx = to_pd(ibpd)->uctx;
	mr->iova = iova;
	mr->access = access;
	mr->umem = ib_umem_get(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto err_mr;
	}
	ret = ernic_mr_cmd(dev, to_pd(ibpd), mr);
	if (ret)
		goto err_umem;
	return &mr->ibmr;

err_umem:
	ib_umem_release(mr->umem);
err_mr:
	kfree(mr);
	return ERR_PTR(ret);
}

/*
 * A new region with a new key, which has what is not changed from the old one.
 * The core destroys the old one behind it.
 */
struct ib_mr *ernic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ernic_mr *mr = to_mr(ibmr);

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->umem->length;
		iova = mr->iova;
	}
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	return ernic_reg_user_mr(ibpd, start, length, iova, access, udata);
}

void ernic_mr_release(struct ernic_dev *dev, struct ernic_mr *mr)
{
	ib_umem_release(mr->umem);
	if (mr->list)
		dma_free_coherent(&dev->pdev->dev,
				  mr->max_pages * sizeof(*mr->list), mr->list,
				  mr->list_dma);
	kfree(mr);
}

int ernic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibmr->device);
	struct ernic_mr *mr = to_mr(ibmr);
	int ret = ernic_destroy(dev, ERNIC_CMD_MR_FREE, mr->uctx, ibmr->lkey);

	if (!ret)
		ernic_mr_release(dev, mr);
	return ret;
}
