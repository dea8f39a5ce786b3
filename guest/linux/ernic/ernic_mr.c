// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pinned memory of processes, registered.
 */
#include "ernic_verbs.h"

/* The driver uses huge pages wherever it finds them. */
#define ERNIC_MR_KNOWN	(ERNIC_ACCESS_FLAGS | IB_ACCESS_HUGETLB | \
			 IB_ACCESS_OPTIONAL)

/* Describes the region's memory for a command, after which pages are freed. */
static int ernic_mr_trans(struct ernic_dev *dev, struct ib_umem *umem,
			  u64 iova, bool zero, struct ernic_cmd_mr_reg *reg,
			  struct ernic_pages *pages)
{
	unsigned long pgsz;
	int ret;

	if (zero)
		iova = umem->address;
	pgsz = ib_umem_find_best_pgsz(umem,
				      le64_to_cpu(dev->attr.page_size_mask),
				      iova);
	if (!pgsz)
		return -EINVAL;
	ret = ernic_pages_init(dev, umem, pgsz, &reg->buf, pages);
	if (ret)
		return ret;
	reg->iova = cpu_to_le64(zero ? 0 : iova);
	reg->length = cpu_to_le64(umem->length);
	reg->offset = cpu_to_le32(iova & (pgsz - 1));
	return 0;
}

static int ernic_mr_cmd(struct ernic_dev *dev, struct ernic_pd *pd,
			struct ernic_mr *mr)
{
	struct ernic_pages pages = {};
	struct ernic_cmd cmd = {};
	int ret;

	ret = ernic_mr_trans(dev, mr->umem, mr->iova,
			     mr->access & IB_ZERO_BASED, &cmd.mr_reg, &pages);
	if (ret)
		return ret;
	ret = ernic_region_register(dev, mr, pd, &cmd);
	ernic_pages_fini(dev, &pages);
	return ret;
}

struct ib_mr *ernic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access,
				ERNIC_DMAH_PARAM struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_mr *mr;
	int ret = ernic_no_request(udata);

	if (ret)
		return ERR_PTR(ret);
	if (access & ~(ERNIC_MR_KNOWN | IB_ACCESS_ON_DEMAND))
		return ERR_PTR(-EOPNOTSUPP);
	if (access & IB_ACCESS_ON_DEMAND)
		return ernic_odp_reg(ibpd, start, length, iova, access);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->uctx = to_pd(ibpd)->uctx;
	mr->iova = iova;
	mr->access = access;
	mr->umem = ib_umem_get_va(ibpd->device, start, length, access);
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

/* With a umem, the region's memory becomes that; with IB_MR_REREG_ACCESS its rights. */
static int ernic_rereg_cmd(struct ernic_dev *dev, struct ernic_mr *mr,
			   int flags, struct ib_umem *umem, u64 iova,
			   int access, struct ernic_pd *pd)
{
	struct ernic_cmd cmd = {
		.opcode = ERNIC_CMD_MR_REREG,
		.uctx = cpu_to_le32(mr->uctx),
	};
	struct ernic_pages pages = {};
	int ret;

	cmd.mr_reg.key = cpu_to_le32(mr->ibmr.lkey);
	cmd.mr_reg.flags = cpu_to_le32(flags);
	if (flags & IB_MR_REREG_TRANS) {
		ret = ernic_mr_trans(dev, umem, iova, access & IB_ZERO_BASED,
				     &cmd.mr_reg, &pages);
		if (ret)
			return ret;
	}
	if (flags & IB_MR_REREG_PD)
		cmd.mr_reg.pd = cpu_to_le32(pd->pdn);
	if (flags & IB_MR_REREG_ACCESS)
		cmd.mr_reg.access = cpu_to_le32(access & ERNIC_ACCESS_FLAGS);
	ret = ernic_cmd_exec(dev, &cmd, NULL);
	ernic_pages_fini(dev, &pages);
	return ret;
}

/*
 * Changes the region in place: the key stays, and a failure changes nothing. Pages
 * are pinned again if they are different ones, or become writable. A change of
 * IB_ZERO_BASED changes the translation as well.
 */
struct ib_mr *ernic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ernic_mr *mr = to_mr(ibmr);
	struct ib_umem *umem = NULL;
	int ret = ernic_no_request(udata);

	if (ret)
		return ERR_PTR(ret);
	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	/* device memory and on-demand regions cannot change */
	if (!mr->umem || mr->umem->is_odp)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (access & ~ERNIC_MR_KNOWN)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->umem->length;
		iova = mr->iova;
		if ((ib_access_writable(access) && !mr->umem->writable) ||
		    ((access ^ mr->access) & IB_ZERO_BASED))
			flags |= IB_MR_REREG_TRANS;
	}
	if (flags & IB_MR_REREG_TRANS) {
		umem = ib_umem_get_va(ibmr->device, start, length, access);
		if (IS_ERR(umem))
			return ERR_CAST(umem);
	}
	ret = ernic_rereg_cmd(to_dev(ibmr->device), mr, flags, umem, iova,
			      access, to_pd(ibpd));
	if (ret) {
		ib_umem_release(umem);
		return ERR_PTR(ret);
	}
	if (umem) {
		ib_umem_release(mr->umem);
		mr->umem = umem;
		mr->iova = iova;
	}
	mr->access = access;
	return NULL;
}

int ernic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibmr->device);
	struct ernic_mr *mr = to_mr(ibmr);
	int ret;

	if (mr->umem && mr->umem->is_odp)
		return ernic_odp_dereg(dev, mr);
	ret = ernic_destroy(dev, ERNIC_CMD_MR_FREE, mr->uctx, ibmr->lkey);
	if (!ret)
		ernic_region_release(dev, mr);
	return ret;
}
