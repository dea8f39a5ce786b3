// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ethtool operations: the identity, a test of the path of errors, the queues and how
 * frames are spread over them.
 */
#include <linux/delay.h>
#include <linux/ethtool.h>
#include <linux/version.h>
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

/* ---- counters ---------------------------------------------------------------------- */

static int get_sset_count(struct net_device *nd, int set)
{
	struct shell *s = netdev_priv(nd);

	return set == ETH_SS_TEST ? ARRAY_SIZE(tests) :
	       set == ETH_SS_STATS ? 2 * s->queues_max : -EOPNOTSUPP;
}

static void get_strings(struct net_device *nd, u32 set, u8 *data)
{
	struct shell *s = netdev_priv(nd);
	u32 i;

	if (set == ETH_SS_TEST)
		memcpy(data, tests, sizeof(tests));
	for (i = 0; set == ETH_SS_STATS && i < s->queues_max; i++) {
		ethtool_sprintf(&data, "tx%u_packets", i);
		ethtool_sprintf(&data, "rx%u_packets", i);
	}
}

static void get_stats(struct net_device *nd, struct ethtool_stats *stats, u64 *data)
{
	struct shell *s = netdev_priv(nd);
	struct shell_counts counts;
	u32 i;

	for (i = 0; i < s->queues_max; i++) {
		shell_net_counts(&s->queue[i].tx.counts, &counts);
		*data++ = counts.packets;
		shell_net_counts(&s->queue[i].rx.counts, &counts);
		*data++ = counts.packets;
	}
}

/* ---- the test ---------------------------------------------------------------------- */

/* A descriptor of a frame that is nowhere in memory: the queue stops, and says so. */
static bool error_is_reported(struct shell *s)
{
	struct shell_queue *q = &s->queue[0];
	bool full;
	int i;

	netif_tx_lock_bh(s->netdev);
	full = shell_tx_full(q);
	if (!full) {
		shell_tx_post(q, NULL, DMA_BIT_MASK(52) & PAGE_MASK, ETH_ZLEN);
		shell_ops(s)->tx_ring(q);
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
	if (shell_net_begin(s))
		data[0] = 1;
	if (data[0])
		test->flags |= ETH_TEST_FL_FAILED;
}

/* ---- queues ------------------------------------------------------------------------ */

static void get_channels(struct net_device *nd, struct ethtool_channels *channels)
{
	struct shell *s = netdev_priv(nd);

	channels->max_combined = s->queues_max;
	channels->combined_count = s->queues;
}

/* ethtool's core has compared the number with the greatest one, and with the table. */
static int set_channels(struct net_device *nd, struct ethtool_channels *channels)
{
	struct shell *s = netdev_priv(nd);
	int err, ret;

	if (netif_running(nd))
		shell_net_stop(nd);
	ret = shell_net_queues(s, channels->combined_count);
	err = netif_running(nd) ? shell_net_begin(s) : 0;
	return ret ? ret : err;
}

static u32 get_table_size(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);

	return shell_ops(s)->spread ? SHELL_TABLE_SIZE : 0;
}

static u32 get_key_size(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);

	return shell_ops(s)->spread ? sizeof(s->key) : 0;
}

static int get_spread(struct shell *s, u32 *table, u8 *key)
{
	if (!shell_ops(s)->spread)
		return -EOPNOTSUPP;
	if (table)
		memcpy(table, s->table, sizeof(s->table));
	if (key)
		memcpy(key, s->key, sizeof(s->key));
	return 0;
}

static int set_spread(struct shell *s, const u32 *table, const u8 *key)
{
	if (!shell_ops(s)->spread)
		return -EOPNOTSUPP;
	if (table)
		memcpy(s->table, table, sizeof(s->table));
	if (key)
		memcpy(s->key, key, sizeof(s->key));
	if (s->open)
		shell_ops(s)->spread(s);
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
static int get_rxfh(struct net_device *nd, u32 *table, u8 *key, u8 *function)
{
	if (function)
		*function = ETH_RSS_HASH_TOP;
	return get_spread(netdev_priv(nd), table, key);
}

static int set_rxfh(struct net_device *nd, const u32 *table, const u8 *key, u8 function)
{
	if (function != ETH_RSS_HASH_NO_CHANGE && function != ETH_RSS_HASH_TOP)
		return -EOPNOTSUPP;
	return set_spread(netdev_priv(nd), table, key);
}
#else
static int get_rxfh(struct net_device *nd, struct ethtool_rxfh_param *p)
{
	p->hfunc = ETH_RSS_HASH_TOP;
	return get_spread(netdev_priv(nd), p->indir, p->key);
}

static int set_rxfh(struct net_device *nd, struct ethtool_rxfh_param *p,
		    struct netlink_ext_ack *extack)
{
	if (p->hfunc != ETH_RSS_HASH_NO_CHANGE && p->hfunc != ETH_RSS_HASH_TOP)
		return -EOPNOTSUPP;
	return set_spread(netdev_priv(nd), p->indir, p->key);
}
#endif

static int get_rxnfc(struct net_device *nd, struct ethtool_rxnfc *info, u32 *rules)
{
	struct shell *s = netdev_priv(nd);

	if (info->cmd != ETHTOOL_GRXRINGS)
		return -EOPNOTSUPP;
	info->data = s->queues;
	return 0;
}

const struct ethtool_ops shell_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
	.get_ts_info = ethtool_op_get_ts_info,
	.self_test = self_test,
	.get_channels = get_channels,
	.set_channels = set_channels,
	.get_rxnfc = get_rxnfc,
	.get_rxfh_indir_size = get_table_size,
	.get_rxfh_key_size = get_key_size,
	.get_rxfh = get_rxfh,
	.set_rxfh = set_rxfh,
};
