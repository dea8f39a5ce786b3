// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of processes as the device reads it: a list of pages, of one level if it
 * fits 4096 bytes, otherwise of two. The largest contiguous allocation is a 262144th
 * of the region.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <rdma/iter.h>
#include "ernic_verbs.h"

/* Number of addresses in a page of 4096 bytes */
#define ERNIC_LEAF_ENTRIES	512

static int ernic_list_alloc(struct ernic_dev *dev, struct ernic_list *list,
			    size_t entries)
{
	list->entry = dma_alloc_coherent(&dev->pdev->dev,
					 entries * sizeof(*list->entry),
					 &list->dma, GFP_KERNEL | __GFP_NOWARN);
	return list->entry ? 0 : -ENOMEM;
}

static void ernic_list_free(struct ernic_dev *dev, struct ernic_list *list,
			    size_t entries)
{
	if (list->entry)
		dma_free_coherent(&dev->pdev->dev,
				  entries * sizeof(*list->entry), list->entry,
				  list->dma);
	list->entry = NULL;
}

static int ernic_pages_alloc(struct ernic_dev *dev, struct ernic_pages *pages,
			     size_t n)
{
	size_t i;
	int ret;

	pages->num_leaves = DIV_ROUND_UP(n, ERNIC_LEAF_ENTRIES);
	pages->leaves = kvcalloc(pages->num_leaves, sizeof(*pages->leaves),
				 GFP_KERNEL);
	if (!pages->leaves)
		return -ENOMEM;
	for (i = 0; i < pages->num_leaves; i++) {
		ret = ernic_list_alloc(dev, &pages->leaves[i],
				       ERNIC_LEAF_ENTRIES);
		if (ret)
			return ret;
		cond_resched();
	}
	if (pages->num_leaves == 1)
		return 0;
	ret = ernic_list_alloc(dev, &pages->root, pages->num_leaves);
	if (ret)
		return ret;
	for (i = 0; i < pages->num_leaves; i++)
		pages->root.entry[i] = cpu_to_le64(pages->leaves[i].dma);
	return 0;
}

int ernic_pages_init(struct ernic_dev *dev, struct ib_umem *umem,
		     unsigned long pgsz, struct ernic_buf_desc *desc,
		     struct ernic_pages *pages)
{
	size_t n = ib_umem_num_dma_blocks(umem, pgsz), k = 0;
	struct ib_block_iter biter;
	bool tree;
	int ret;

	if (!n || n > U32_MAX)
		return -EINVAL;
	ret = ernic_pages_alloc(dev, pages, n);
	if (ret) {
		ernic_pages_fini(dev, pages);
		return ret;
	}
	rdma_umem_for_each_dma_block(umem, &biter, pgsz) {
		pages->leaves[k / ERNIC_LEAF_ENTRIES]
			.entry[k % ERNIC_LEAF_ENTRIES] =
			cpu_to_le64(rdma_block_iter_dma_address(&biter));
		k++;
	}
	tree = pages->num_leaves > 1;
	memset(desc, 0, sizeof(*desc));
	desc->addr = cpu_to_le64(tree ? pages->root.dma :
					pages->leaves[0].dma);
	desc->npages = cpu_to_le32(n);
	desc->page_shift = __ffs(pgsz);
	desc->levels = tree ? 2 : 1;
	return 0;
}

void ernic_pages_fini(struct ernic_dev *dev, struct ernic_pages *pages)
{
	size_t i;

	if (!pages->leaves)
		return;
	ernic_list_free(dev, &pages->root, pages->num_leaves);
	for (i = 0; i < pages->num_leaves; i++)
		ernic_list_free(dev, &pages->leaves[i], ERNIC_LEAF_ENTRIES);
	kvfree(pages->leaves);
	pages->leaves = NULL;
}

int ernic_ring_get(struct ernic_dev *dev, const struct ernic_user_ring *ring,
		   struct ernic_buf_desc *desc, struct ernic_pages *pages,
		   struct ib_umem **umem)
{
	u64 stride = (u64)ring->stride * 64;
	struct ib_umem *u;
	int ret;

	*umem = NULL;
	if (!PAGE_ALIGNED(ring->addr) || !is_power_of_2(ring->depth) ||
	    ring->depth < ring->least || ring->depth > ring->max_depth ||
	    stride < ring->entry || ring->stride > ring->max_stride)
		return -EINVAL;
	u = ib_umem_get_va(&dev->ibdev, ring->addr, ring->depth * stride,
			   IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(u))
		return PTR_ERR(u);
	ret = ernic_pages_init(dev, u, PAGE_SIZE, desc, pages);
	if (ret)
		ib_umem_release(u);
	else
		*umem = u;
	return ret;
}

int ernic_word_get(struct ernic_dev *dev, u64 addr, u32 size,
		   struct ib_umem **umem, __le64 *dma)
{
	struct ib_umem *u;

	*umem = NULL;
	*dma = 0;
	if (!addr)
		return 0;
	if (addr & (size - 1))
		return -EINVAL;
	u = ib_umem_get_va(&dev->ibdev, addr, size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(u))
		return PTR_ERR(u);
	*umem = u;
	*dma = cpu_to_le64(sg_dma_address(u->sgt_append.sgt.sgl) +
			   ib_umem_offset(u));
	return 0;
}

int ernic_record_get(struct ernic_dev *dev, u64 addr, struct ib_umem **umem,
		     __le64 *dma)
{
	if (addr && !dev->records)
		return -EOPNOTSUPP;
	return ernic_word_get(dev, addr, sizeof(struct ernic_record), umem,
			      dma);
}
