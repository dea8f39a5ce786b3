// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contexts of processes and their mappings; protection and XRC domains.
 */
#include "ernic_verbs.h"

void ernic_ucontext_resp(struct ernic_dev *dev, u32 uctx,
			 struct ernic_alloc_ucontext_resp *resp)
{
	*resp = (struct ernic_alloc_ucontext_resp) {
		.db_mmap_size = PAGE_SIZE,
		.uctx = uctx,
		.max_sq_wr = le32_to_cpu(dev->attr.max_qp_wr),
		.max_rq_wr = le32_to_cpu(dev->attr.max_qp_wr),
		.max_srq_wr = le32_to_cpu(dev->attr.max_srq_wr),
		.max_cqe = le32_to_cpu(dev->attr.max_cqe),
		.max_inline = le16_to_cpu(dev->attr.max_inline),
		.max_sge = dev->attr.max_sge,
		.sq_stride_max = ERNIC_SQ_STRIDE_MAX,
		.rq_stride_max = ERNIC_RQ_STRIDE_MAX,
		.db_time_offset = ERNIC_DB_TIME,
	};
	resp->rate_limit_max = ernic_rate_limit_max(dev);
	if (dev->records)
		resp->flags |= ERNIC_UCTX_RECORDS;
	if (dev->sq_db)
		resp->flags |= ERNIC_UCTX_DB_RECORD;
	if (dev->ptp)
		resp->clock_mmap_offset = ERNIC_MMAP_CLOCK * PAGE_SIZE;
}

int ernic_alloc_ucontext(struct ib_ucontext *ibuctx, struct ib_udata *udata)
{
	struct ernic_ucontext *u = to_ucontext(ibuctx);
	struct ernic_dev *dev = to_dev(ibuctx->device);
	struct ernic_alloc_ucontext_resp resp;
	int ret = ernic_no_request(udata);

	if (ret)
		return ret;
	ret = ernic_cmd_alloc(dev, ERNIC_CMD_UCTX_ALLOC, 0, &u->uctx);
	if (ret)
		return ret;
	ernic_ucontext_resp(dev, u->uctx, &resp);
	ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_cmd_free(dev, ERNIC_CMD_UCTX_FREE, 0, u->uctx);
	return ret;
}

void ernic_dealloc_ucontext(struct ib_ucontext *ibuctx)
{
	struct ernic_ucontext *u = to_ucontext(ibuctx);

	/* its objects went first; if not, the device keeps the number in use */
	ernic_destroy(to_dev(ibuctx->device), ERNIC_CMD_UCTX_FREE, 0, u->uctx);
}

int ernic_mmap(struct ib_ucontext *ibuctx, struct vm_area_struct *vma)
{
	struct ernic_ucontext *u = to_ucontext(ibuctx);
	struct ernic_dev *dev = to_dev(ibuctx->device);
	phys_addr_t page = dev->db_phys + ((u64)u->uctx << dev->db_shift);

	if (vma->vm_pgoff == ERNIC_MMAP_CLOCK)
		return ernic_ptp_mmap(dev, vma);
	if (vma->vm_pgoff)
		return ernic_dm_mmap(ibuctx, vma);
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	return rdma_user_mmap_io(ibuctx, vma, page >> PAGE_SHIFT, PAGE_SIZE,
				 pgprot_noncached(vma->vm_page_prot), NULL);
}

/* The core removes the mappings; a reset makes the device forget the rest. */
void ernic_disassociate(struct ib_ucontext *ibuctx)
{
}

int ernic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_pd *pd = to_pd(ibpd);
	struct ernic_alloc_pd_resp resp = {};
	int ret = ernic_no_request(udata);

	if (ret)
		return ret;
	pd->uctx = udata ? ernic_udata_uctx(udata) : 0;
	ret = ernic_cmd_alloc(dev, ERNIC_CMD_PD_ALLOC, pd->uctx, &pd->pdn);
	if (ret)
		return ret;
	resp.pdn = pd->pdn;
	ret = ernic_respond(udata, &resp, sizeof(resp));
	if (ret)
		ernic_cmd_free(dev, ERNIC_CMD_PD_FREE, pd->uctx, pd->pdn);
	return ret;
}

int ernic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ernic_pd *pd = to_pd(ibpd);

	return ernic_destroy(to_dev(ibpd->device), ERNIC_CMD_PD_FREE, pd->uctx,
			     pd->pdn);
}

int ernic_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibxrcd->device);
	int ret = ernic_no_request(udata);

	if (ret)
		return ret;
	if (!(readl(ernic_reg(dev, features)) & ERNIC_FEATURE_XRC))
		return -EOPNOTSUPP;
	return ernic_cmd_alloc(dev, ERNIC_CMD_PD_ALLOC, 0,
			       &to_xrcd(ibxrcd)->pdn);
}

int ernic_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return ernic_destroy(to_dev(ibxrcd->device), ERNIC_CMD_PD_FREE, 0,
			     to_xrcd(ibxrcd)->pdn);
}
