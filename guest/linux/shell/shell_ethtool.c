// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ethtool operations: the identity, and a test of the path of errors.
 */
#include <linux/delay.h>
#include <linux/ethtool.h>
#include "shell.h"

#define ERROR_MS	1000

static const char tests[][ETH_GSTRING_LEN] = { "descriptor_error (offline)" };

static void get_drvinfo(struct net_device *nd, struct ethtool_drvinfo *info)
{
	struct shell *s = netdev_priv(nd);

	strscpy(info->driver, "ernic_shell", sizeof(info->driver));
	strscpy(info->bus_info, pci_name(s->pdev), sizeof(info->bus_info));
	strscpy(info->fw_version, s->kind->name, sizeof(info->fw_version));
}

static int get_sset_count(struct net_device *nd, int set)
{
	return set == ETH_SS_TEST ? ARRAY_SIZE(tests) : -EOPNOTSUPP;
}

static void get_strings(struct net_device *nd, u32 set, u8 *data)
{
	if (set == ETH_SS_TEST)
		memcpy(data, tests, sizeof(tests));
}

/* A descriptor of a frame that is nowhere in memory: the queue stops, and says so. */
static bool error_is_reported(struct shell *s)
{
	bool full;
	int i;

	netif_tx_lock_bh(s->netdev);
	full = shell_tx_full(&s->queue);
	if (!full) {
		shell_tx_post(&s->queue, NULL, DMA_BIT_MASK(52) & PAGE_MASK, ETH_ZLEN);
		shell_ops(s)->tx_ring(&s->queue);
	}
	netif_tx_unlock_bh(s->netdev);
	if (full)
		return false;
	for (i = 0; i < ERROR_MS && !READ_ONCE(s->failed); i++)
		msleep(1);
	return READ_ONCE(s->failed);
}

/* The interface works again afterwards, because the queue begins anew. */
static void self_test(struct net_device *nd, struct ethtool_test *test, u64 *data)
{
	struct shell *s = netdev_priv(nd);

	data[0] = 0;
	if (!(test->flags & ETH_TEST_FL_OFFLINE) || !netif_running(nd))
		return;
	netif_tx_disable(nd);
	/* It has no rings if it did not begin anew after an earlier test. */
	data[0] = !s->open || !error_is_reported(s);
	shell_net_stop(nd);
	if (shell_net_open(nd)) {
		netdev_err(nd, "the queue does not begin anew\n");
		data[0] = 1;
	}
	if (data[0])
		test->flags |= ETH_TEST_FL_FAILED;
}

const struct ethtool_ops shell_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ts_info = ethtool_op_get_ts_info,
	.self_test = self_test,
};
