// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends a frame by the queue "queue" of the net device "netdev", without a look at how
 * many are in use. So does a packet socket without queueing (PACKET_QDISC_BYPASS) if its
 * queue has gone since it chose that. Then the module fails to load.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>

static char *netdev;
module_param(netdev, charp, 0444);

static ushort queue;
module_param(queue, ushort, 0444);

static int direct_send(struct net_device *nd)
{
	struct sk_buff *skb;
	struct ethhdr *head;

	if (queue >= nd->num_tx_queues)
		return -EINVAL;
	skb = alloc_skb(ETH_ZLEN, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_put_zero(skb, ETH_ZLEN);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	head = eth_hdr(skb);
	eth_broadcast_addr(head->h_dest);
	ether_addr_copy(head->h_source, nd->dev_addr);
	head->h_proto = htons(ETH_P_802_EX1);
	skb->protocol = head->h_proto;
	skb->dev = nd;
	dev_direct_xmit(skb, queue);
	return -ECANCELED;
}

static int __init direct_init(void)
{
	struct net_device *nd = netdev ? dev_get_by_name(&init_net, netdev) : NULL;
	int ret;

	if (!nd)
		return -ENODEV;
	ret = direct_send(nd);
	dev_put(nd);
	return ret;
}

module_init(direct_init);
MODULE_DESCRIPTION("a frame by any queue");
MODULE_LICENSE("GPL");
