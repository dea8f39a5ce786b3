// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Device memory: whole pages for a process, which maps them, and regions in them. A
 * page becomes free when its last mapping has gone.
 */
#include <linux/bitmap.h>
#include "ernic_verbs.h"

int ernic_dm_init(struct ernic_dev *dev)
{
	u64 offset = readq(ernic_reg(dev, mem_offset));
	u64 size = readq(ernic_reg(dev, mem_size));

	mutex_init(&dev->dm_lock);
	if (!size)
		return 0;
	if (!PAGE_ALIGNED(offset) || !PAGE_ALIGNED(size) || size > SZ_1G ||
	    offset + size > pci_resource_len(dev->pdev, ERNIC_BAR_REGS)) {
		dev_err(&dev->pdev->dev, "device memory beyond the BAR\n");
		return -ENODEV;
	}
	dev->dm_phys = pci_resource_start(dev->pdev, ERNIC_BAR_REGS) + offset;
	dev->dm_pages = size >> PAGE_SHIFT;
	dev->dm_taken = bitmap_zalloc(dev->dm_pages, GFP_KERNEL);
	return dev->dm_taken ? 0 : -ENOMEM;
}

void ernic_dm_fini(struct ernic_dev *dev)
{
	bitmap_free(dev->dm_taken);
}

u64 ernic_dm_size(struct ernic_dev *dev)
{
	return (u64)dev->dm_pages << PAGE_SHIFT;
}

static phys_addr_t ernic_dm_phys(struct ernic_dev *dev, struct ernic_dm *dm)
{
	return dev->dm_phys + ((u64)dm->first << PAGE_SHIFT);
}

static int ernic_dm_take(struct ernic_dev *dev, struct ernic_dm *dm,
			 unsigned long align)
{
	unsigned long first;

	mutex_lock(&dev->dm_lock);
	first = bitmap_find_next_zero_area(dev->dm_taken, dev->dm_pages, 0,
					   dm->entry.npages, align - 1);
	if (first < dev->dm_pages)
		bitmap_set(dev->dm_taken, first, dm->entry.npages);
	mutex_unlock(&dev->dm_lock);
	dm->first = first;
	return first < dev->dm_pages ? 0 : -ENOMEM;
}

static void ernic_dm_put(struct ernic_dev *dev, struct ernic_dm *dm)
{
	mutex_lock(&dev->dm_lock);
	bitmap_clear(dev->dm_taken, dm->first, dm->pages);
	mutex_unlock(&dev->dm_lock);
	kfree(dm);
}

/* A process must not see what an earlier one has left there. */
static int ernic_dm_clear(struct ernic_dev *dev, struct ernic_dm *dm)
{
	size_t bytes = (size_t)dm->pages << PAGE_SHIFT;
	void __iomem *at = ioremap_wc(ernic_dm_phys(dev, dm), bytes);

	if (!at)
		return -ENOMEM;
	memset_io(at, 0, bytes);
	iounmap(at);
	return 0;
}

struct ib_dm *ernic_alloc_dm(struct ib_device *ibdev,
			     struct ib_ucontext *ibuctx,
			     struct ib_dm_alloc_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct ernic_dev *dev = to_dev(ibdev);
	struct ernic_dm *dm;
	u64 offset;
	int ret;

	if (!attr->length || attr->length > ernic_dm_size(dev) ||
	    attr->alignment > 30 || attr->flags)
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->pages = PFN_UP(attr->length);
	dm->entry.npages = dm->pages;
	ret = ernic_dm_take(dev, dm, max(1UL, BIT(attr->alignment) >>
					      PAGE_SHIFT));
	if (ret) {
		kfree(dm);
		return ERR_PTR(ret);
	}
	ret = ernic_dm_clear(dev, dm);
	if (!ret)
		ret = rdma_user_mmap_entry_insert_range(ibuctx, &dm->entry,
				(size_t)dm->pages << PAGE_SHIFT,
				ERNIC_MMAP_FREE, U32_MAX);
	if (ret) {
		ernic_dm_put(dev, dm);
		return ERR_PTR(ret);
	}
	offset = rdma_user_mmap_get_offset(&dm->entry);
	ret = uverbs_copy_to(attrs, ERNIC_ATTR_ALLOC_DM_OFFSET, &offset,
			     sizeof(offset));
	if (ret) {
		rdma_user_mmap_entry_remove(&dm->entry);
		return ERR_PTR(ret);
	}
	return &dm->ibdm;
}

/* The last mapping frees the memory. */
int ernic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	rdma_user_mmap_entry_remove(&to_dm(ibdm)->entry);
	return 0;
}

void ernic_mmap_free(struct rdma_user_mmap_entry *entry)
{
	ernic_dm_put(to_dev(entry->ucontext->device),
		     container_of(entry, struct ernic_dm, entry));
}

int ernic_dm_mmap(struct ib_ucontext *ibuctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry =
		rdma_user_mmap_entry_get(ibuctx, vma);
	struct ernic_dm *dm;
	int ret;

	if (!entry)
		return -EINVAL;
	dm = container_of(entry, struct ernic_dm, entry);
	ret = rdma_user_mmap_io(ibuctx, vma,
				PHYS_PFN(ernic_dm_phys(to_dev(ibuctx->device),
						       dm)),
				(size_t)dm->pages << PAGE_SHIFT,
				pgprot_writecombine(vma->vm_page_prot), entry);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/* The core has checked that the range is inside the allocation. */
struct ib_mr *ernic_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr,
			      struct uverbs_attr_bundle *attrs)
{
	struct ernic_pd *pd = to_pd(ibpd);
	u64 at = ((u64)to_dm(ibdm)->first << PAGE_SHIFT) + attr->offset;
	struct ernic_cmd cmd = {};
	struct ernic_mr *mr;
	int ret;

	if ((attr->access_flags & ~(ERNIC_ACCESS_FLAGS | IB_ACCESS_OPTIONAL)) ||
	    !(attr->access_flags & IB_ZERO_BASED))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->uctx = pd->uctx;
	mr->access = attr->access_flags;
	cmd.mr_reg.buf.addr = cpu_to_le64(ERNIC_ADDR_MEMORY + at);
	cmd.mr_reg.length = cpu_to_le64(attr->length);
	ret = ernic_region_register(to_dev(ibpd->device), mr, pd, &cmd);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}
