// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The net device.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include "shell.h"

/* RecoNIC's shell has no interrupt for the link. */
#define LINK_PERIOD	(HZ / 4)

static void check_link(struct work_struct *work)
{
	struct shell *s = container_of(to_delayed_work(work), struct shell, link);
	bool up;

	shell_read(s, SHELL_MAC_LINK);		/* latched: what was */
	up = shell_read(s, SHELL_MAC_LINK) == SHELL_MAC_LINK_UP && !READ_ONCE(s->failed);
	if (up)
		netif_carrier_on(s->netdev);
	else
		netif_carrier_off(s->netdev);
	schedule_delayed_work(&s->link, LINK_PERIOD);
}

static void enable_mac(struct shell *s, bool on)
{
	if (on) {
		shell_write(s, SHELL_MAC_FEC_MODE, 3);
		shell_write(s, SHELL_MAC_FEC, 7);
	}
	shell_write(s, SHELL_MAC_RX, on);
	shell_write(s, SHELL_MAC_TX, on);
}

/* One queue, to which all entries of the table lead. */
static void enable_queue(struct shell *s, bool on)
{
	int i;

	for (i = 0; i < SHELL_TABLE_SIZE; i++)
		shell_write(s, SHELL_TABLE(i), 0);
	shell_write(s, SHELL_QUEUES, SHELL_QUEUE << 16 | on);
}

int shell_net_open(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	int err;

	WRITE_ONCE(s->failed, false);
	err = shell_rings_open(s);
	if (err)
		return err;
	WRITE_ONCE(s->open, true);
	napi_enable(&s->napi);
	enable_queue(s, true);
	enable_mac(s, true);
	netif_start_queue(nd);
	schedule_delayed_work(&s->link, 0);
	return 0;
}

int shell_net_stop(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);

	if (!s->open)
		return 0;		/* it did not come up after a reset */
	WRITE_ONCE(s->open, false);
	netif_tx_disable(nd);
	cancel_delayed_work_sync(&s->link);
	netif_carrier_off(nd);
	shell_write(s, SHELL_MAC_RX, 0);
	napi_disable(&s->napi);
	shell_rings_close(s);
	enable_mac(s, false);
	enable_queue(s, false);
	return 0;
}

static netdev_tx_t shell_net_xmit(struct sk_buff *skb, struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	dma_addr_t bus;

	bus = dma_map_single(&s->pdev->dev, skb->data, skb->len, DMA_TO_DEVICE);
	if (dma_mapping_error(&s->pdev->dev, bus)) {
		nd->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
	} else {
		skb_tx_timestamp(skb);
		shell_tx_post(s, skb, bus, skb->len);
	}
	if (shell_tx_full(s))
		netif_stop_queue(nd);
	if (!netdev_xmit_more() || netif_queue_stopped(nd))
		shell_tx_ring(s);
	return NETDEV_TX_OK;
}

/* Both directions: an interrupt of either leads here. */
static int shell_net_poll(struct napi_struct *napi, int budget)
{
	struct shell *s = container_of(napi, struct shell, napi);
	struct netdev_queue *queue = netdev_get_tx_queue(s->netdev, 0);
	int done;

	__netif_tx_lock(queue, smp_processor_id());
	shell_tx_clean(s, budget);
	if (netif_tx_queue_stopped(queue) && READ_ONCE(s->open) && !shell_tx_full(s))
		netif_tx_wake_queue(queue);
	__netif_tx_unlock(queue);
	done = shell_rx_poll(s, budget);
	/* Before another processor may poll, as its doorbells would overtake these. */
	shell_rx_return(s, done < budget);
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static u64 read_counter(struct shell *s, u32 reg)
{
	return shell_read(s, reg) | (u64)shell_read(s, reg + 4) << 32;
}

/* The driver counts frames, the shell's adapter those that it lost. */
static void shell_net_stats(struct net_device *nd, struct rtnl_link_stats64 *stats)
{
	struct shell *s = netdev_priv(nd);

	netdev_stats_to_stats64(stats, &nd->stats);
	stats->tx_dropped += read_counter(s, SHELL_TX_LOST);
	stats->rx_missed_errors += read_counter(s, SHELL_RX_LOST);
}

static const struct net_device_ops ops = {
	.ndo_open = shell_net_open,
	.ndo_stop = shell_net_stop,
	.ndo_start_xmit = shell_net_xmit,
	.ndo_get_stats64 = shell_net_stats,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

int shell_net_register(struct shell *s)
{
	struct net_device *nd = s->netdev;
	int err;

	nd->netdev_ops = &ops;
	nd->ethtool_ops = &shell_ethtool_ops;
	nd->max_mtu = SHELL_FRAME_MAX - VLAN_ETH_HLEN;
	nd->priv_flags |= IFF_LIVE_ADDR_CHANGE;		/* the shell does not filter */
	eth_hw_addr_random(nd);				/* nor has it an address */
	INIT_DELAYED_WORK(&s->link, check_link);
	netif_napi_add(nd, &s->napi, shell_net_poll);
	netif_carrier_off(nd);
	err = register_netdev(nd);
	if (err)
		netif_napi_del(&s->napi);
	return err;
}

void shell_net_unregister(struct shell *s)
{
	unregister_netdev(s->netdev);
	netif_napi_del(&s->napi);
}
