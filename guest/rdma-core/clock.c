// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The clocks: the device's in the doorbell page, the PTP clock in a page of its own.
 */
#include <errno.h>

#include "ernic.h"

/* Returns 0 and the device's clock in ns, or EOPNOTSUPP: the driver shows none. */
int ernic_clock(struct ibv_context *ibctx, uint64_t *ns)
{
	struct ernic_context *ctx = to_ernic_context(ibctx);

	if (!ctx->caps.db_time_offset)
		return EOPNOTSUPP;
	*ns = mmio_read64((uint8_t *)ctx->db + ctx->caps.db_time_offset);
	return 0;
}

/*
 * The PTP clock's time, in ns, when the device's clock shows or showed device. Rounds
 * down to whole ns, so that a later time never gives less.
 */
static uint64_t clock_at(const struct ernic_clock_page *page, uint64_t device)
{
	int64_t passed = (int64_t)(device - page->device);
	int64_t whole = (passed >> 32) * page->rate;
	int64_t part = ((passed & 0xffffffff) * page->rate) >> 32;

	return page->time + (uint64_t)passed + (uint64_t)whole + (uint64_t)part;
}

/* Returns 0 and the PTP clock's time in ns, or EOPNOTSUPP: there is no such clock. */
int ernic_ptp_time(struct ibv_context *ibctx, uint64_t device, uint64_t *ns)
{
	const volatile struct ernic_clock_page *page =
		to_ernic_context(ibctx)->clock;
	struct ernic_clock_page now;

	if (!page)
		return EOPNOTSUPP;
	do {
		now.seq = page->seq;
		atomic_thread_fence(memory_order_acquire);
		now.rate = page->rate;
		now.device = page->device;
		now.time = page->time;
		atomic_thread_fence(memory_order_acquire);
	} while ((now.seq & 1) || now.seq != page->seq);
	*ns = clock_at(&now, device);
	return 0;
}
