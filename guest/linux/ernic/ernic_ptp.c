// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PTP clock: a time that can be set and steered, relative to the device's clock,
 * a free-running counter of 64 bits of ns. The counter does not wrap, so that no
 * timecounter is needed. Processes map the page that relates the clocks, and convert
 * the timestamps of completions with it.
 */
#include <linux/ptp_clock_kernel.h>
#include "ernic_verbs.h"

#define ERNIC_PTP_MAX_ADJ	100000000	/* 10 %, in 10^-9 */

struct ernic_ptp {
	struct ernic_dev *dev;
	struct ptp_clock_info info;
	struct ptp_clock *clock;
	spinlock_t lock;		/* of the page */
	struct ernic_clock_page *page;
};

static struct ernic_ptp *to_ptp(struct ptp_clock_info *info)
{
	return container_of(info, struct ernic_ptp, info);
}

/* -ENODEV: the registers of a removed device read as ones. */
static int ernic_ptp_device_time(struct ernic_ptp *ptp, u64 *now,
				 struct ptp_system_timestamp *sts)
{
	ptp_read_system_prets(sts);
	*now = readq(ernic_reg(ptp->dev, time));
	ptp_read_system_postts(sts);
	return *now == U64_MAX || ernic_dead(ptp->dev) ? -ENODEV : 0;
}

/* Under the lock, or before the clock is registered. */
static void ernic_ptp_relate(struct ernic_ptp *ptp, u64 device, u64 time,
			     s32 rate)
{
	struct ernic_clock_page *page = ptp->page;

	WRITE_ONCE(page->seq, page->seq + 1);
	smp_wmb();
	page->device = device;
	page->time = time;
	page->rate = rate;
	smp_wmb();
	WRITE_ONCE(page->seq, page->seq + 1);
}

/*
 * The PTP clock's time, in ns, when the device's clock shows or showed device. Rounds
 * down to whole ns, so that a later time never gives less.
 */
static u64 ernic_ptp_time(const struct ernic_clock_page *page, u64 device)
{
	s64 passed = device - page->device;
	s64 whole = (passed >> 32) * page->rate;
	s64 part = ((passed & 0xffffffff) * page->rate) >> 32;

	return page->time + passed + whole + part;
}

static int ernic_ptp_gettimex(struct ptp_clock_info *info,
			      struct timespec64 *ts,
			      struct ptp_system_timestamp *sts)
{
	struct ernic_ptp *ptp = to_ptp(info);
	u64 now;
	int ret;

	spin_lock(&ptp->lock);
	ret = ernic_ptp_device_time(ptp, &now, sts);
	*ts = ns_to_timespec64(ernic_ptp_time(ptp->page, now));
	spin_unlock(&ptp->lock);
	return ret;
}

static int ernic_ptp_settime(struct ptp_clock_info *info,
			     const struct timespec64 *ts)
{
	struct ernic_ptp *ptp = to_ptp(info);
	u64 now;
	int ret;

	spin_lock(&ptp->lock);
	ret = ernic_ptp_device_time(ptp, &now, NULL);
	if (!ret)
		ernic_ptp_relate(ptp, now, timespec64_to_ns(ts),
				 ptp->page->rate);
	spin_unlock(&ptp->lock);
	return ret;
}

static int ernic_ptp_adjtime(struct ptp_clock_info *info, s64 delta)
{
	struct ernic_ptp *ptp = to_ptp(info);

	spin_lock(&ptp->lock);
	ernic_ptp_relate(ptp, ptp->page->device, ptp->page->time + delta,
			 ptp->page->rate);
	spin_unlock(&ptp->lock);
	return 0;
}

/* The new rate applies from now on: the time does not jump. */
static int ernic_ptp_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	struct ernic_ptp *ptp = to_ptp(info);
	u64 now;
	int ret;

	spin_lock(&ptp->lock);
	ret = ernic_ptp_device_time(ptp, &now, NULL);
	if (!ret)
		/* 2^-16 of 10^-6 to 2^-32 */
		ernic_ptp_relate(ptp, now, ernic_ptp_time(ptp->page, now),
				 div_s64((s64)scaled_ppm << 16, 1000000));
	spin_unlock(&ptp->lock);
	return ret;
}

/* The core calls it for a pulse per second even if the clock has none. */
static int ernic_ptp_enable(struct ptp_clock_info *info,
			    struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static const struct ptp_clock_info ernic_ptp_info = {
	.owner = THIS_MODULE,
	.name = "ernic",
	.max_adj = ERNIC_PTP_MAX_ADJ,
	.adjfine = ernic_ptp_adjfine,
	.adjtime = ernic_ptp_adjtime,
	.gettimex64 = ernic_ptp_gettimex,
	.settime64 = ernic_ptp_settime,
	.enable = ernic_ptp_enable,
};

static int ernic_ptp_register(struct ernic_ptp *ptp)
{
	u64 now;
	int ret = ernic_ptp_device_time(ptp, &now, NULL);

	if (ret)
		return ret;
	/* starts with the system's time */
	ernic_ptp_relate(ptp, now, ktime_get_real_ns(), 0);
	ptp->clock = ptp_clock_register(&ptp->info, &ptp->dev->pdev->dev);
	/* NULL: the kernel is built without PTP clocks */
	return PTR_ERR_OR_ZERO(ptp->clock) ?: ptp->clock ? 0 : -EOPNOTSUPP;
}

void ernic_ptp_init(struct ernic_dev *dev)
{
	struct ernic_ptp *ptp = kzalloc(sizeof(*ptp), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!ptp)
		goto err;
	ptp->dev = dev;
	ptp->info = ernic_ptp_info;
	spin_lock_init(&ptp->lock);
	ptp->page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!ptp->page)
		goto err;
	ret = ernic_ptp_register(ptp);
	if (ret)
		goto err;
	dev->ptp = ptp;
	return;

err:
	if (ret != -EOPNOTSUPP)
		dev_warn(&dev->pdev->dev, "no PTP clock: %d\n", ret);
	if (ptp)
		free_page((unsigned long)ptp->page);
	kfree(ptp);
}

void ernic_ptp_fini(struct ernic_dev *dev)
{
	struct ernic_ptp *ptp = dev->ptp;

	if (!ptp)
		return;
	dev->ptp = NULL;
	ptp_clock_unregister(ptp->clock);
	/* existing mappings keep the page */
	free_page((unsigned long)ptp->page);
	kfree(ptp);
}

int ernic_ptp_index(struct ernic_dev *dev)
{
	return dev->ptp ? ptp_clock_index(dev->ptp->clock) : -1;
}

int ernic_ptp_mmap(struct ernic_dev *dev, struct vm_area_struct *vma)
{
	if (!dev->ptp || vma->vm_end - vma->vm_start != PAGE_SIZE ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYWRITE);
	return vm_insert_page(vma, vma->vm_start, virt_to_page(dev->ptp->page));
}
