// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On-demand regions: pages are mapped when the device asks for them, and the device
 * loses them before they leave the process. An implicit region, of a whole address
 * space, consists of chunks, which are set up at their first use.
 */
#include "ernic_verbs.h"

#ifdef ERNIC_HAS_ODP

/* The device reads entries of the core's page lists unchanged. */
static_assert(ODP_READ_ALLOWED_BIT == ERNIC_PAGE_READ);
static_assert(ODP_WRITE_ALLOWED_BIT == ERNIC_PAGE_WRITE);
static_assert(sizeof(dma_addr_t) == sizeof(u64));

/* Size of the chunks of an implicit region; also the most that one fault maps. */
#define ERNIC_ODP_CHUNK		SZ_2M
/* Addresses of a process are smaller. */
#define ERNIC_IMPLICIT_BYTES	BIT_ULL(57)
/* With so many advices waiting, of all processes, the next one runs at once. */
#define ERNIC_ADVICES		64

static struct ib_umem_odp *ernic_mr_odp(struct ernic_mr *mr)
{
	return to_ib_umem_odp(mr->umem);
}

/* The device's number of the first page of a part of the region. */
static u64 ernic_odp_base(struct ernic_mr *mr, struct ib_umem_odp *part)
{
	return mr->implicit ? ib_umem_start(part) >> part->page_shift : 0;
}

/* Sets pages [first, first + n) of a part from list, or (NULL) as absent. */
static int ernic_odp_set(struct ernic_mr *mr, struct ib_umem_odp *part,
			  u64 first, u64 n, const dma_addr_t *list)
{
	struct ernic_dev *dev = to_dev(mr->ibmr.device);
	struct ernic_cmd cmd = {
		.opcode = ERNIC_CMD_MR_PAGES,
		.uctx = cpu_to_le32(mr->uctx),
	};

	cmd.mr_pages.list = cpu_to_le64(list ? ernic_com_buf(dev) : 0);
	cmd.mr_pages.first = cpu_to_le64(ernic_odp_base(mr, part) + first);
	cmd.mr_pages.npages = cpu_to_le64(n);
	cmd.mr_pages.key = cpu_to_le32(mr->ibmr.lkey);
	return ernic_com_exec(dev, &cmd, NULL, list,
			      list ? n * sizeof(*list) : 0, NULL, 0);
}

/*
 * Pages leave the process: when this returns, the device does not use them any
 * more. Neither does a device that is dead or has forgotten the region.
 */
static bool ernic_odp_invalidate(struct mmu_interval_notifier *mni,
				 const struct mmu_notifier_range *range,
				 unsigned long cur_seq)
{
	struct ib_umem_odp *part =
		container_of(mni, struct ib_umem_odp, notifier);
	u64 start, end, first, last;
	int ret;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&part->umem_mutex);
	mmu_interval_set_seq(mni, cur_seq);
	if (part->npages) {
		start = max_t(u64, ib_umem_start(part), range->start);
		end = min_t(u64, ib_umem_end(part), range->end);
		first = (start - ib_umem_start(part)) >> part->page_shift;
		last = (end - 1 - ib_umem_start(part)) >> part->page_shift;
		ret = ernic_odp_set(part->private, part, first,
				    last - first + 1, NULL);
		WARN_ONCE(ret && ret != -EIO && ret != -ENOENT,
			  "ernic: pages stay: %d\n", ret);
		ib_umem_odp_unmap_dma_pages(part, start, end);
	}
	mutex_unlock(&part->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops ernic_odp_mni_ops = {
	.invalidate = ernic_odp_invalidate,
};

/* Maps the pages of [va, va + len) for the device. */
static int ernic_odp_map_part(struct ernic_mr *mr, struct ib_umem_odp *part,
			      u64 va, u64 len, bool write, bool fault)
{
	u64 mask = ODP_READ_ALLOWED_BIT | (write ? ODP_WRITE_ALLOWED_BIT : 0);
	u64 first = (va - ib_umem_start(part)) >> part->page_shift;
	int n, done = 0, ret = 0, now;

	n = ib_umem_odp_map_dma_and_lock(part, va, len, mask, fault);
	if (n < 0)
		return n;
	for (; done < n && !ret; done += now) {
		now = min(n - done, ERNIC_PAGES_MAX);
		ret = ernic_odp_set(mr, part, first + done, now,
				    &part->dma_list[first + done]);
	}
	mutex_unlock(&part->umem_mutex);
	return ret;
}

/* Under chunk_lock. A new chunk is released again if none of it can be mapped. */
static int ernic_odp_map_chunk(struct ernic_mr *mr, u64 va, u64 len,
			       bool write, bool fault)
{
	unsigned long n = va / ERNIC_ODP_CHUNK;
	struct ib_umem_odp *part = xa_load(&mr->chunks, n);
	bool fresh = !part;
	int ret;

	if (fresh) {
		part = ib_umem_odp_alloc_child(ernic_mr_odp(mr),
					       n * ERNIC_ODP_CHUNK,
					       ERNIC_ODP_CHUNK,
					       &ernic_odp_mni_ops);
		if (IS_ERR(part))
			return PTR_ERR(part);
		part->private = mr;
		ret = xa_err(xa_store(&mr->chunks, n, part, GFP_KERNEL));
		if (ret) {
			ib_umem_odp_release(part);
			return ret;
		}
	}
	ret = ernic_odp_map_part(mr, part, va, len, write, fault);
	if (ret && fresh) {
		xa_erase(&mr->chunks, n);
		ib_umem_odp_release(part);
	}
	return ret;
}

/* Bytes in the pages of the region, as the device counts them. */
static u64 ernic_odp_bytes(struct ernic_mr *mr)
{
	struct ib_umem_odp *odp = ernic_mr_odp(mr);

	return mr->implicit ? ERNIC_IMPLICIT_BYTES :
			      ib_umem_end(odp) - ib_umem_start(odp);
}

/* Maps up to len bytes from byte off on; returns their number or an error. */
static s64 ernic_odp_map(struct ernic_mr *mr, u64 off, u64 len, bool write,
			 bool fault)
{
	struct ib_umem_odp *odp = ernic_mr_odp(mr);
	int ret;

	if (off >= ernic_odp_bytes(mr))
		return -EFAULT;
	if (write && !odp->umem.writable)
		return -EPERM;
	len = min(len, ernic_odp_bytes(mr) - off);
	len = min_t(u64, len, ERNIC_ODP_CHUNK - off % ERNIC_ODP_CHUNK);
	if (mr->implicit) {
		mutex_lock(&mr->chunk_lock);
		ret = ernic_odp_map_chunk(mr, off, len, write, fault);
		mutex_unlock(&mr->chunk_lock);
	} else {
		ret = ernic_odp_map_part(mr, odp, ib_umem_start(odp) + off,
					 len, write, fault);
	}
	return ret ? ret : len;
}

/* The region with this key, and a reference to it; NULL: there is none. */
static struct ernic_mr *ernic_odp_get(struct ernic_dev *dev, u32 key)
{
	struct ernic_ref *ref = ernic_table_get(&dev->odps, key >> 8);

	if (!ref || ref_to_mr(ref)->ibmr.lkey == key)
		return ref ? ref_to_mr(ref) : NULL;
	ernic_ref_put(ref);
	return NULL;
}

/* ---- faults -------------------------------------------------------------- */

/* Maps all that the device asks for, or at least the byte that is missing. */
static int ernic_odp_resolve(struct ernic_dev *dev, const struct ernic_eqe *eqe)
{
	bool write = eqe->flags & ERNIC_EQE_WRITE, rights;
	u64 off = le64_to_cpu(eqe->offset);
	struct ernic_mr *mr;
	s64 ret;

	mr = ernic_odp_get(dev, le32_to_cpu(eqe->detail));
	if (!mr)
		return -ENOENT;
	/* without all rights, neighbouring pages would lose the right to write */
	rights = write || ernic_mr_odp(mr)->umem.writable;
	ret = ernic_odp_map(mr, off, le32_to_cpu(eqe->length), rights, true);
	if (ret < 0)
		ret = ernic_odp_map(mr, off, 1, rights, true);
	if (ret < 0 && rights != write)
		ret = ernic_odp_map(mr, off, 1, write, true);
	ernic_ref_put(&mr->ref);
	return min_t(s64, ret, 0);
}

void ernic_odp_work(struct work_struct *work)
{
	struct ernic_qp *qp = container_of(work, struct ernic_qp, fault_work);
	struct ernic_dev *dev = to_dev(qp->ibqp.device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PAGE_RESUME };
	struct ernic_eqe eqe;
	int ret;

	spin_lock_irq(&qp->fault_lock);
	eqe = qp->fault;
	spin_unlock_irq(&qp->fault_lock);

	ret = ernic_odp_resolve(dev, &eqe);
	cmd.page_resume.offset = eqe.offset;
	cmd.page_resume.key = eqe.detail;
	cmd.page_resume.qpn = eqe.element;
	/* after a temporary failure the device asks again */
	cmd.page_resume.failed = ret && ret != -EBUSY && ret != -EAGAIN;
	ernic_cmd_exec(dev, &cmd, NULL);
}

/* Called in an interrupt. A queue pair has one fault at a time. */
void ernic_odp_fault(struct ernic_dev *dev, const struct ernic_eqe *eqe)
{
	struct ernic_ref *ref =
		ernic_table_get(&dev->qps, le32_to_cpu(eqe->element));
	struct ernic_qp *qp;
	unsigned long flags;

	if (!ref)
		return;
	qp = ref_to_qp(ref);
	spin_lock_irqsave(&qp->fault_lock, flags);
	qp->fault = *eqe;
	spin_unlock_irqrestore(&qp->fault_lock, flags);
	queue_work(dev->odp_wq, &qp->fault_work);
	ernic_ref_put(ref);
}

/* ---- advice -------------------------------------------------------------- */

struct ernic_advice {
	struct work_struct work;
	struct ernic_dev *dev;
	u32 pdn;
	u32 uctx;
	bool write;
	bool fault;
	u32 num_sge;
	struct ib_sge sge[];
};

/* Maps the whole range or fails; pages that were mapped before stay. */
static int ernic_odp_prefetch(struct ernic_advice *a, struct ernic_mr *mr,
			      const struct ib_sge *sge, bool map)
{
	u64 off, left = sge->length;
	s64 n;

	if (mr->uctx != a->uctx || to_pd(mr->ibmr.pd)->pdn != a->pdn)
		return -ENOENT;
	off = sge->addr - mr->iova;
	if (sge->addr < mr->iova || off > mr->length || left > mr->length - off)
		return -EFAULT;
	off += mr->offset;
	while (map && left) {
		n = ernic_odp_map(mr, off, left, a->write, a->fault);
		if (n < 0)
			return n;
		off += n;
		left -= n;
	}
	return 0;
}

/* Without map, only checks that the ranges exist. */
static int ernic_odp_advise(struct ernic_advice *a, bool map)
{
	struct ernic_mr *mr;
	int ret = 0;
	u32 i;

	for (i = 0; i < a->num_sge && !ret; i++) {
		mr = ernic_odp_get(a->dev, a->sge[i].lkey);
		if (!mr)
			return -ENOENT;
		ret = ernic_odp_prefetch(a, mr, &a->sge[i], map);
		ernic_ref_put(&mr->ref);
	}
	return ret;
}

static void ernic_advice_work(struct work_struct *work)
{
	struct ernic_advice *a = container_of(work, struct ernic_advice, work);

	ernic_odp_advise(a, true);
	atomic_dec(&a->dev->advices);
	kfree(a);
}

int ernic_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		    u32 flags, struct ib_sge *sge, u32 num_sge,
		    struct uverbs_attr_bundle *attrs)
{
	struct ernic_advice *a;
	int ret;

	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	a = kzalloc(struct_size(a, sge, num_sge), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	a->dev = to_dev(ibpd->device);
	a->pdn = to_pd(ibpd)->pdn;
	a->uctx = to_pd(ibpd)->uctx;
	a->write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	a->fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	a->num_sge = num_sge;
	memcpy(a->sge, sge, num_sge * sizeof(*sge));
	ret = ernic_odp_advise(a, flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	if (ret || (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		kfree(a);
		return ret;
	}
	INIT_WORK(&a->work, ernic_advice_work);
	if (atomic_inc_return(&a->dev->advices) <= ERNIC_ADVICES)
		queue_work(a->dev->odp_wq, &a->work);
	else
		ernic_advice_work(&a->work);
	return 0;
}

/* ---- regions ------------------------------------------------------------- */

static int ernic_odp_cmd(struct ernic_dev *dev, struct ernic_pd *pd,
			 struct ernic_mr *mr)
{
	struct ernic_cmd cmd = {};

	cmd.mr_reg.buf.page_shift = mr->implicit ? PAGE_SHIFT :
					ernic_mr_odp(mr)->page_shift;
	cmd.mr_reg.iova = cpu_to_le64(mr->iova);
	cmd.mr_reg.length = cpu_to_le64(mr->length);
	cmd.mr_reg.offset = cpu_to_le32(mr->offset);
	return ernic_region_register(dev, mr, pd, &cmd);
}

static int ernic_odp_umem(struct ernic_dev *dev, struct ernic_mr *mr,
			  u64 start, u64 length)
{
	struct ib_umem_odp *odp;

	if (!start && length == U64_MAX) {
		if (mr->iova || (mr->access & IB_ACCESS_HUGETLB))
			return -EINVAL;
		mr->implicit = true;
		mr->length = ERNIC_IMPLICIT_BYTES;
		odp = ib_umem_odp_alloc_implicit(&dev->ibdev, mr->access);
	} else {
		mr->length = length;
		odp = ib_umem_odp_get(&dev->ibdev, start, length, mr->access,
				      &ernic_odp_mni_ops);
	}
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	odp->private = mr;
	mr->umem = &odp->umem;
	if (!mr->implicit)
		mr->offset = start - ib_umem_start(odp);
	return 0;
}

struct ib_mr *ernic_odp_reg(struct ib_pd *ibpd, u64 start, u64 length,
			    u64 iova, int access)
{
	struct ernic_dev *dev = to_dev(ibpd->device);
	struct ernic_mr *mr;
	int ret;

	if (!dev->odp_wq)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->uctx = to_pd(ibpd)->uctx;
	mr->iova = access & IB_ZERO_BASED ? 0 : iova;
	mr->access = access;
	mr->ibmr.device = ibpd->device;
	mr->ibmr.pd = ibpd;
	mutex_init(&mr->chunk_lock);
	xa_init(&mr->chunks);
	ret = ernic_odp_umem(dev, mr, start, length);
	if (ret)
		goto err_mr;
	mutex_lock(&dev->number_lock);
	ret = ernic_odp_cmd(dev, to_pd(ibpd), mr);
	if (!ret) {
		ret = ernic_table_add(&dev->odps, mr->ibmr.lkey >> 8,
				      &mr->ref);
		if (ret)
			ernic_destroy(dev, ERNIC_CMD_MR_FREE, mr->uctx,
				      mr->ibmr.lkey);
	}
	mutex_unlock(&dev->number_lock);
	if (ret)
		goto err_umem;
	return &mr->ibmr;

err_umem:
	ib_umem_release(mr->umem);
err_mr:
	kfree(mr);
	return ERR_PTR(ret);
}

int ernic_odp_dereg(struct ernic_dev *dev, struct ernic_mr *mr)
{
	struct ib_umem_odp *part;
	unsigned long n;
	int ret;

	mutex_lock(&dev->number_lock);
	ret = ernic_destroy(dev, ERNIC_CMD_MR_FREE, mr->uctx, mr->ibmr.lkey);
	if (!ret)
		ernic_table_erase(&dev->odps, mr->ibmr.lkey >> 8);
	mutex_unlock(&dev->number_lock);
	if (ret)
		return ret;
	ernic_ref_wait(&mr->ref);
	xa_for_each(&mr->chunks, n, part)
		ib_umem_odp_release(part);
	xa_destroy(&mr->chunks);
	ernic_region_release(dev, mr);
	return 0;
}

/* ---- the device ---------------------------------------------------------- */

#define ERNIC_ODP_SEND	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_WRITE)

void ernic_odp_caps(struct ernic_dev *dev, struct ib_device_attr *p)
{
	if (!dev->odp_wq)
		return;
	p->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	p->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	p->odp_caps.per_transport_caps.rc_odp_caps =
		ERNIC_ODP_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
	if (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_ATOMIC_WRITE)
		p->odp_caps.per_transport_caps.rc_odp_caps |=
			ERNIC_ODP_ATOMIC_WRITE;
	if (ernic_has_flush(dev))
		p->odp_caps.per_transport_caps.rc_odp_caps |= ERNIC_ODP_FLUSH;
	p->odp_caps.per_transport_caps.xrc_odp_caps =
		ERNIC_ODP_SEND | IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC |
		IB_ODP_SUPPORT_SRQ_RECV;
	p->odp_caps.per_transport_caps.uc_odp_caps = ERNIC_ODP_SEND;
	p->odp_caps.per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND;
}

int ernic_odp_init(struct ernic_dev *dev)
{
	if (!(le32_to_cpu(dev->attr.odp) & ERNIC_ODP_REGION))
		return 0;
	dev->odp_wq = alloc_workqueue("ernic-odp", WQ_UNBOUND, 0);
	return dev->odp_wq ? 0 : -ENOMEM;
}

void ernic_odp_fini(struct ernic_dev *dev)
{
	if (dev->odp_wq)
		destroy_workqueue(dev->odp_wq);
	dev->odp_wq = NULL;
}

#endif /* ERNIC_HAS_ODP */
