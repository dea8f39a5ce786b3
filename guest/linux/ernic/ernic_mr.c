// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of processes: pinned, listed for the device, and registered.
 */
#include <rdma/iter.h>
#include "ernic_verbs.h"

static_assert(IB_ACCESS_LOCAL_WRITE == ERNIC_ACCESS_LOCAL_WRITE);
static_assert(IB_ACCESS_REMOTE_WRITE == ERNIC_ACCESS_REMOTE_WRITE);
static_assert(IB_ACCESS_REMOTE_READ == ERNIC_ACCESS_REMOTE_READ);
static_assert(IB_ACCESS_REMOTE_ATOMIC == ERNIC_ACCESS_REMOTE_ATOMIC);
static_assert(IB_ACCESS_MW_BIND == ERNIC_ACCESS_MW_BIND);

#define ERNIC_MR_ACCESS (ERNIC_ACCESS_FLAGS & ~ERNIC_ACCESS_ZERO_BASED)

/*
 * The list is one piece of DMA memory (one level): a region of more than 2 GiB
 * in pages of 4 KiB does not get one, and fails with ENOMEM.
 */
int ernic_pages_init(struct ernic_dev *dev, struct ib_umem *umem,
		     unsigned long pgsz, struct ernic_buf_desc *desc,
		     struct ernic_pages *pages)
{
	size_t n = ib_umem_num_dma_blocks(umem, pgsz);
	struct ib_block_iter biter;
	__le64 *next;

	pages->bytes = n * sizeof(*pages->list);
	pages->list = dma_alloc_coherent(&dev->pdev->dev, pages->bytes,
					 &pages->dma,
					 GFP_KERNEL | __GFP_NOWARN);
	if (!pages->list)
		return -ENOMEM;
	next = pages->list;
	rdma_umem_for_each_dma_block(umem, &biter, pgsz)
		*next++ = cpu_to_le64(rdma_block_iter_dma_address(&biter));

	memset(desc, 0, sizeof(*desc));
	desc->addr = cpu_to_le64(pages->dma);
	desc->npages = cpu_to_le32(n);
	desc->page_shift = __ffs(pgsz);
	desc->levels = 1;
	return 0;
}

void ernic_pages_fini(struct ernic_dev *dev, struct ernic_pages *pages)
{
	if (pages->list)
		dma_free_coherent(&dev->pdev->dev, pages->bytes, pages->list,
				  pages->dma);
}

/* A queue in page-aligned memory of the process. */
struct ib_umem *ernic_queue_get(struct ernic_dev *dev, u64 addr, u64 bytes,
				struct ernic_buf_desc *desc,
				struct ernic_pages *pages)
{
	struct ib_umem *umem;
	int ret;

	if (!PAGE_ALIGNED(addr))
		return ERR_PTR(-EINVAL);
	umem = ib_umem_get(&dev->ibdev, addr, bytes, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return umem;
	ret = ernic_pages_init(dev, umem, PAGE_SIZE, desc, pages);
	if (ret) {
		ib_umem_release(umem);
		return ERR_PTR(ret);
	}
	return umem;
}

static int ernic_mr_cmd(struct ernic_dev *dev, struct ernic_pd *pd,
			struct ernic_mr *mr, u64 iova, int access)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };
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
	cmd.mr_reg.iova = cpu_to_le64(iova);
	cmd.mr_reg.length = cpu_to_le64(mr->umem->length);
	cmd.mr_reg.pd = cpu_to_le32(pd->pdn);
	cmd.mr_reg.access = cpu_to_le32(access & ERNIC_MR_ACCESS);
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

	if (access & ~(ERNIC_MR_ACCESS | IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->uctx = to_pd(ibpd)->uctx;
	mr->umem = ib_umem_get(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto err_mr;
	}
	ret = ernic_mr_cmd(dev, to_pd(ibpd), mr, iova, access);
	if (ret)
		goto err_umem;
	return &mr->ibmr;

err_umem:
	ib_umem_release(mr->umem);
err_mr:
	kfree(mr);
	return ERR_PTR(ret);
}

int ernic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ernic_mr *mr = to_mr(ibmr);
	int ret = ernic_cmd_free(to_dev(ibmr->device), ERNIC_CMD_MR_FREE,
				 mr->uctx, ibmr->lkey);

	if (ret == -EBUSY)
		return ret;
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}
