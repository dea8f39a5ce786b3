// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions of the kernel: the whole memory, and regions for REG_MR requests.
 */
#include <linux/slab.h>
#include "ernic_verbs.h"

/* The whole memory, for the kernel. */
struct ib_mr *ernic_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_cmd cmd = {};
	struct ernic_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access & ERNIC_ACCESS_FLAGS;
	cmd.mr_reg.length = dev->attr.max_mr_size;
	ret = ernic_region_register(dev, mr, to_pd(ibpd), &cmd);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

struct ib_mr *ernic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_ALLOC };
	struct ernic_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg ||
	    max_num_sg > le32_to_cpu(dev->attr.max_fast_reg_pages))
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_num_sg;
	mr->list = dma_alloc_coherent(&dev->pdev->dev,
				      max_num_sg * sizeof(*mr->list),
				      &mr->list_dma, GFP_KERNEL);
	if (!mr->list)
		goto err;
	cmd.mr_alloc.pd = cpu_to_le32(to_pd(ibpd)->pdn);
	cmd.mr_alloc.max_pages = cpu_to_le32(max_num_sg);
	ret = ernic_region_create(dev, mr, &cmd);
	if (ret)
		goto err;
	return &mr->ibmr;

err:
	ernic_region_release(dev, mr);
	return ERR_PTR(ret);
}

static int ernic_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct ernic_mr *mr = to_mr(ibmr);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->list[mr->npages++] = cpu_to_le64(addr);
	return 0;
}

int ernic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset)
{
	to_mr(ibmr)->npages = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, ernic_set_page);
}
