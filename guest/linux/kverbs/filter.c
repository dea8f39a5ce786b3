// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes the receive filter of the net device "netdev" over and over, without RTNL,
 * as newer kernels do when they join IPv6 groups. Ends when it is unloaded.
 */
#include <linux/etherdevice.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>

static char *netdev;
module_param(netdev, charp, 0444);

static unsigned long changes;
module_param(changes, ulong, 0444);
MODULE_PARM_DESC(changes, "number of changes until now");

static struct net_device *filter_dev;
static struct task_struct *filter_task;

static int filter_run(void *unused)
{
	static const u8 group[ETH_ALEN] = { 0x33, 0x33, 0, 0, 0x12, 0x34 };

	while (!kthread_should_stop()) {
		dev_mc_add(filter_dev, group);
		dev_mc_del(filter_dev, group);
		WRITE_ONCE(changes, changes + 2);
		cond_resched();
	}
	return 0;
}

static int __init filter_init(void)
{
	if (!netdev)
		return -EINVAL;
	filter_dev = dev_get_by_name(&init_net, netdev);
	if (!filter_dev)
		return -ENODEV;
	filter_task = kthread_run(filter_run, NULL, "filter");
	if (IS_ERR(filter_task)) {
		dev_put(filter_dev);
		return PTR_ERR(filter_task);
	}
	return 0;
}

static void __exit filter_exit(void)
{
	kthread_stop(filter_task);
	dev_put(filter_dev);
}

module_init(filter_init);
module_exit(filter_exit);
MODULE_DESCRIPTION("changes of a receive filter");
MODULE_LICENSE("GPL");
