// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ethtool operations of the network card.
 */
#include <linux/ethtool.h>
#include <linux/log2.h>
#include "ernic_net.h"

#define ERNIC_NET_STATS(X)						\
	X(tx_packets) X(tx_bytes) X(tx_errors) X(rx_packets) X(rx_bytes)	\
	X(rx_no_buffer) X(rx_errors)

/* Counters of the device, and last one of the driver. The stack shows its own elsewhere. */
static const struct {
	char name[ETH_GSTRING_LEN];
	size_t offset;
} ernic_net_stats[] = {
#define ERNIC_NET_STAT(n) { "device_" #n, offsetof(struct ernic_eth_regs, n) },
	ERNIC_NET_STATS(ERNIC_NET_STAT)
#undef ERNIC_NET_STAT
};

#define ERNIC_NET_NUM_STATS	(ARRAY_SIZE(ernic_net_stats) + 1)

static void ernic_get_drvinfo(struct net_device *nd,
			      struct ethtool_drvinfo *info)
{
	struct ernic_net *net = netdev_priv(nd);

	strscpy(info->driver, "ernic", sizeof(info->driver));
	strscpy(info->bus_info, pci_name(net->dev->pdev),
		sizeof(info->bus_info));
	snprintf(info->fw_version, sizeof(info->fw_version), "abi %u",
		 le32_to_cpu(net->dev->attr.abi_version));
}

/* An emulated port has its speed even while the link is down. */
static int ernic_get_link_ksettings(struct net_device *nd,
				    struct ethtool_link_ksettings *cmd)
{
	struct ernic_net *net = netdev_priv(nd);

	ethtool_link_ksettings_zero_link_mode(cmd, supported);
	ethtool_link_ksettings_zero_link_mode(cmd, advertising);
	cmd->base.speed = readl(ernic_reg(net->dev, link_speed));
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static void ernic_get_ringparam(struct net_device *nd,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	struct ernic_net *net = netdev_priv(nd);

	ring->rx_max_pending = 1 << ERNIC_ETH_SHIFT_MAX;
	ring->tx_max_pending = 1 << ERNIC_ETH_SHIFT_MAX;
	ring->rx_pending = 1 << net->ring.rx_shift;
	ring->tx_pending = 1 << net->ring.tx_shift;
}

static u8 ernic_ring_shift(u32 pending)
{
	return max(order_base_2(pending), ERNIC_NET_SHIFT_MIN);
}

/* Sizes are rounded up to a power of two. */
static int ernic_set_ringparam(struct net_device *nd,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	int ret;

	if (ring->rx_mini_pending || ring->rx_jumbo_pending)
		return -EINVAL;
	ret = ernic_net_resize(nd, ernic_ring_shift(ring->tx_pending),
			       ernic_ring_shift(ring->rx_pending));
	if (ret == -ENOMEM)
		NL_SET_ERR_MSG(extack, "no memory for such rings");
	return ret;
}

static int ernic_get_sset_count(struct net_device *nd, int set)
{
	return set == ETH_SS_STATS ? ERNIC_NET_NUM_STATS : -EOPNOTSUPP;
}

static void ernic_get_strings(struct net_device *nd, u32 set, u8 *data)
{
	int i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < ARRAY_SIZE(ernic_net_stats); i++)
		memcpy(data + i * ETH_GSTRING_LEN, ernic_net_stats[i].name,
		       ETH_GSTRING_LEN);
	strscpy_pad(data + i * ETH_GSTRING_LEN, "tx_tso_packets",
		    ETH_GSTRING_LEN);
}

static void ernic_get_ethtool_stats(struct net_device *nd,
				    struct ethtool_stats *stats, u64 *data)
{
	struct ernic_net *net = netdev_priv(nd);
	int i;

	for (i = 0; i < ARRAY_SIZE(ernic_net_stats); i++)
		data[i] = readq(net->dev->regs + ERNIC_ETH_OFFSET +
				ernic_net_stats[i].offset);
	data[i] = READ_ONCE(net->tx_tso_packets);
}

/* Frames get timestamps of the system clock. The PTP clock serves RDMA. */
static int ernic_get_ts_info(struct net_device *nd,
			     struct kernel_ethtool_ts_info *info)
{
	struct ernic_net *net = netdev_priv(nd);

	ethtool_op_get_ts_info(nd, info);
	info->so_timestamping |= SOF_TIMESTAMPING_TX_SOFTWARE;
	info->phc_index = ernic_ptp_index(net->dev);
	return 0;
}

const struct ethtool_ops ernic_ethtool_ops = {
	.get_drvinfo = ernic_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = ernic_get_link_ksettings,
	.get_ringparam = ernic_get_ringparam,
	.set_ringparam = ernic_set_ringparam,
	.get_sset_count = ernic_get_sset_count,
	.get_strings = ernic_get_strings,
	.get_ethtool_stats = ernic_get_ethtool_stats,
	.get_ts_info = ernic_get_ts_info,
};
