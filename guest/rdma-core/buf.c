// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The memory of queues: pages of the process that the kernel pins.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ernic.h"

/* Bytes between two records */
#define RECORD_STEP 64

static_assert(sizeof(((struct ernic_wq *)0)->record[0]) ==
		      offsetof(struct ernic_record, wake),
	      "wake follows pi");

/* The allocator of a parent domain; 0: buf has its memory. */
static int take_from(struct ernic_buf *buf, struct ernic_pd *pd, size_t page)
{
	void *addr;

	if (!pd || !pd->alloc)
		return EAGAIN;
	addr = pd->alloc(&pd->ibv_pd, pd->pd_context, buf->size, page,
			 buf->type);
	if (addr == IBV_ALLOCATOR_USE_DEFAULT)
		return EAGAIN;
	if (!addr)
		return ENOMEM;
	memset(addr, 0, buf->size);
	buf->addr = addr;
	buf->from = pd;
	return 0;
}

/* Returns 0 or an error number. pd: whose allocator to ask, or NULL. */
int ernic_buf_alloc(struct ernic_buf *buf, struct ernic_pd *pd,
		    enum ernic_resource type, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int ret;

	*buf = (struct ernic_buf){ .type = type };
	buf->size = (size + page - 1) & ~(page - 1);
	ret = take_from(buf, pd, page);
	if (ret == EAGAIN) {
		buf->addr = mmap(NULL, buf->size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ret = buf->addr == MAP_FAILED ? ENOMEM : 0;
	}
	if (!ret && ibv_dontfork_range(buf->addr, buf->size)) {
		ret = ENOMEM;
		if (buf->from)
			pd->free(&pd->ibv_pd, pd->pd_context, buf->addr, type);
		else
			munmap(buf->addr, buf->size);
	}
	if (ret)
		buf->addr = NULL;
	return ret;
}

/* Does nothing for a buffer that was not allocated. */
void ernic_buf_free(struct ernic_buf *buf)
{
	struct ernic_pd *pd = buf->from;

	if (!buf->addr)
		return;
	ibv_dofork_range(buf->addr, buf->size);
	if (pd)
		pd->free(&pd->ibv_pd, pd->pd_context, buf->addr, buf->type);
	else
		munmap(buf->addr, buf->size);
	buf->addr = NULL;
}

/*
 * A ring has so many entries, or as many as fill a page, if that is more: programs that
 * poll once for an event may lag a little, as with other adapters.
 */
uint32_t ernic_depth(uint32_t entries, size_t bytes)
{
	uint64_t fill = 1ull << (ilog64(sysconf(_SC_PAGESIZE) / bytes) - 1);
	uint64_t depth = roundup_pow_of_two(entries ? entries : 1);

	return depth > fill ? depth : fill;
}

/* A ring for so many requests of at most slot bytes each. */
int ernic_wq_init(struct ernic_wq *wq, struct ernic_pd *pd,
		  enum ernic_resource type, uint32_t wrs, size_t slot)
{
	wq->stride = (slot + 63) / 64 * 64;
	wq->depth = ernic_depth(wrs, wq->stride);
	ernic_lock_init(&wq->lock, !pd || !pd->td);
	return ernic_buf_alloc(&wq->buf, pd, type,
			       (size_t)wq->depth * wq->stride);
}

/*
 * Memory for the records of one or (second not NULL) two queues, in cache lines of their
 * own, if the context has records. Returns 0 or an error number.
 */
int ernic_records_alloc(struct ernic_buf *buf, struct ernic_context *ctx,
			struct ernic_pd *pd, enum ernic_resource type,
			struct ernic_wq *first, struct ernic_wq *second)
{
	int ret;

	if (!ctx->records)
		return 0;
	ret = ernic_buf_alloc(buf, pd, type, 2 * RECORD_STEP);
	if (ret)
		return ret;
	first->record = buf->addr;
	if (second)
		second->record = (void *)((uint8_t *)buf->addr + RECORD_STEP);
	return 0;
}

void ernic_wq_fini(struct ernic_wq *wq)
{
	ernic_buf_free(&wq->buf);
	ernic_lock_fini(&wq->lock);
}

/* The same as the device does when the queue pair enters RESET. */
void ernic_wq_reset(struct ernic_wq *wq)
{
	wq->pi = 0;
	atomic_store_explicit(&wq->ci, 0, memory_order_release);
	if (wq->record) {
		atomic_store(&wq->record[0], 0);
		atomic_store(&wq->record[1], 0);
	}
}
