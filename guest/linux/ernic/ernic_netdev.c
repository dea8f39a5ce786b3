// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The network card as a net device: operations, addresses, registration.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include "ernic_net.h"

static void ernic_net_write_mac(struct ernic_net *net, const u8 *mac)
{
	writel(mac[0] | mac[1] << 8 | mac[2] << 16 | (u32)mac[3] << 24,
	       ernic_eth_reg(net->dev, mac_lo));
	writel(mac[4] | mac[5] << 8, ernic_eth_reg(net->dev, mac_hi));
}

static int ernic_net_set_mac(struct net_device *nd, void *addr)
{
	int ret = eth_mac_addr(nd, addr);

	if (!ret)
		ernic_net_write_mac(netdev_priv(nd), nd->dev_addr);
	return ret;
}

/* The device counts losses, the driver frames. */
static void ernic_net_get_stats(struct net_device *nd,
				struct rtnl_link_stats64 *s)
{
	struct ernic_net *net = netdev_priv(nd);

	netdev_stats_to_stats64(s, &nd->stats);
	if (!netif_device_present(nd))
		return;
	s->tx_errors = readq(ernic_eth_reg(net->dev, tx_errors));
	s->rx_errors = readq(ernic_eth_reg(net->dev, rx_errors));
	s->rx_missed_errors = readq(ernic_eth_reg(net->dev, rx_no_buffer));
}

static const struct net_device_ops ernic_net_ops = {
	.ndo_open = ernic_net_open,
	.ndo_stop = ernic_net_stop,
	.ndo_start_xmit = ernic_net_xmit,
	.ndo_features_check = ernic_net_features_check,
	.ndo_set_rx_mode = ernic_net_set_rx_mode,
	.ndo_set_mac_address = ernic_net_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = ernic_net_get_stats,
};

static void ernic_net_read_mac(struct ernic_net *net, struct net_device *nd)
{
	u32 lo = readl(ernic_eth_reg(net->dev, mac_lo));
	u32 hi = readl(ernic_eth_reg(net->dev, mac_hi));
	u8 mac[ETH_ALEN] = { lo, lo >> 8, lo >> 16, lo >> 24, hi, hi >> 8 };

	eth_hw_addr_set(nd, mac);
}

int ernic_netdev_register(struct ernic_dev *dev)
{
	struct ernic_net *net;
	struct net_device *nd;
	u32 features;
	int ret;

	features = readl(ernic_reg(dev, features));
	if (!(features & ERNIC_FEATURE_ETH))
		return -ENODEV;
	nd = alloc_etherdev(sizeof(*net));
	if (!nd)
		return -ENOMEM;
	SET_NETDEV_DEV(nd, &dev->pdev->dev);
	net = netdev_priv(nd);
	net->dev = dev;
	net->ring.tx_shift = ERNIC_NET_SHIFT;
	net->ring.rx_shift = ERNIC_NET_SHIFT;
	dev->netdev = nd;
	ernic_net_read_mac(net, nd);
	nd->netdev_ops = &ernic_net_ops;
	nd->ethtool_ops = &ernic_ethtool_ops;
	nd->min_mtu = ETH_MIN_MTU;
	nd->max_mtu = readl(ernic_eth_reg(dev, mtu));
	nd->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_RXCSUM;
	if (features & ERNIC_FEATURE_ETH_LSO)
		nd->hw_features |= NETIF_F_TSO | NETIF_F_TSO6 |
				   NETIF_F_TSO_ECN | NETIF_F_GSO_UDP_L4;
	nd->features = nd->hw_features;
	nd->vlan_features = nd->hw_features;
	netif_napi_add(nd, &net->napi, ernic_net_poll);
	netif_carrier_off(nd);
	ret = register_netdev(nd);
	if (ret) {
		free_netdev(nd);
		dev->netdev = NULL;
	}
	return ret;
}

void ernic_netdev_unregister(struct ernic_dev *dev)
{
	unregister_netdev(dev->netdev);
	free_netdev(dev->netdev);
	dev->netdev = NULL;
}

void ernic_netdev_fatal(struct ernic_dev *dev)
{
	rtnl_lock();
	netif_device_detach(dev->netdev);
	netif_carrier_off(dev->netdev);
	rtnl_unlock();
}
