// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rings of the kernel's own queues: their memory, counters and completions.
 */
#include <linux/slab.h>
#include "ernic_verbs.h"

int ernic_ring_init(struct ernic_dev *dev, struct ernic_ring *ring,
		    size_t bytes)
{
	ring->buf = dma_alloc_coherent(&dev->pdev->dev, bytes, &ring->dma,
				       GFP_KERNEL | __GFP_NOWARN);
	if (!ring->buf)
		return -ENOMEM;
	ring->bytes = bytes;
	return 0;
}

void ernic_ring_fini(struct ernic_dev *dev, struct ernic_ring *ring)
{
	if (ring->buf)
		dma_free_coherent(&dev->pdev->dev, ring->bytes, ring->buf,
				  ring->dma);
	ring->buf = NULL;
}

int ernic_wq_init(struct ernic_dev *dev, struct ernic_wq *wq, u32 depth,
		  u32 stride, struct ernic_buf_desc *desc, __le64 *record)
{
	int ret;

	spin_lock_init(&wq->lock);
	wq->depth = depth;
	wq->stride = stride;
	wq->wr_ids = kvcalloc(depth, sizeof(*wq->wr_ids), GFP_KERNEL);
	if (!wq->wr_ids)
		return -ENOMEM;
	ret = ernic_ring_init(dev, &wq->ring, (size_t)depth * stride);
	/* dma_alloc_coherent() clears it */
	if (!ret && dev->records)
		ret = ernic_ring_init(dev, &wq->record,
				      sizeof(struct ernic_record));
	if (ret) {
		ernic_wq_fini(dev, wq);
		return ret;
	}
	desc->addr = cpu_to_le64(wq->ring.dma);
	*record = cpu_to_le64(wq->record.dma);
	return 0;
}

void ernic_wq_fini(struct ernic_dev *dev, struct ernic_wq *wq)
{
	ernic_ring_fini(dev, &wq->record);
	ernic_ring_fini(dev, &wq->ring);
	kvfree(wq->wr_ids);
	wq->wr_ids = NULL;
}

/* Empties the queue, as the device does in a reset of the queue pair. */
void ernic_wq_reset(struct ernic_wq *wq)
{
	wq->pi = 0;
	wq->ci = 0;
	if (wq->record.buf)
		memset(wq->record.buf, 0, sizeof(struct ernic_record));
}

/*
 * The wr_id of the completed request. All requests up to it are done, and their
 * slots become free. False: no request with this index is outstanding.
 */
bool ernic_wq_complete(struct ernic_wq *wq, u32 index, u64 *wr_id)
{
	u32 ci = wq->ci;

	if (index - ci >= READ_ONCE(wq->pi) - ci)
		return false;
	*wr_id = wq->wr_ids[index & (wq->depth - 1)];
	/* pairs with the acquire in ernic_slot(), which reuses the slot */
	smp_store_release(&wq->ci, index + 1);
	return true;
}

struct ernic_cqe *ernic_cqe(struct ernic_cq *cq, u32 index)
{
	struct ernic_cqe *ring = cq->ring.buf;
	u32 depth = cq->ibcq.cqe;
	struct ernic_cqe *cqe = &ring[index & (depth - 1)];
	bool phase = !(index & depth);

	if (!!(READ_ONCE(cqe->flags) & ERNIC_CQE_PHASE) != phase)
		return NULL;
	dma_rmb();
	return cqe;
}
