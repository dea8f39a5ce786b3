// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The net device.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/interrupt.h>
#include <linux/rtnetlink.h>
#include "shell.h"

/* RecoNIC's shell has no interrupt for the link. */
#define LINK_PERIOD	(HZ / 4)
/* A frame may wait for the network, but not for ever. */
#define TX_LIMIT	(30 * HZ)

/* The carrier shows it; the queue begins anew when the interface comes up. */
void shell_net_failed(struct shell *s)
{
	WRITE_ONCE(s->failed, true);
	netif_carrier_off(s->netdev);
}

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
	/* An error of the queue that has ended does not stop the next one. */
	synchronize_irq(pci_irq_vector(s->pdev, SHELL_VECTOR_ERROR));
	enable_mac(s, false);
	enable_queue(s, false);
	return 0;
}

static void restart(struct work_struct *work)
{
	struct shell *s = container_of(work, struct shell, restart);

	rtnl_lock();
	if (netif_running(s->netdev) && netif_device_present(s->netdev)) {
		shell_net_stop(s->netdev);
		if (shell_net_open(s->netdev))
			netdev_err(s->netdev, "the queue does not begin anew\n");
	}
	rtnl_unlock();
}

static void shell_net_timeout(struct net_device *nd, unsigned int queue)
{
	struct shell *s = netdev_priv(nd);

	nd->stats.tx_errors++;
	schedule_work(&s->restart);
}

static netdev_tx_t shell_net_xmit(struct sk_buff *skb, struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	dma_addr_t bus;

	if (shell_tx_full(s)) {
		netif_stop_queue(nd);
		shell_tx_ring(s);
		return NETDEV_TX_BUSY;
	}
	if (eth_skb_pad(skb)) {
		nd->stats.tx_dropped++;
		return NETDEV_TX_OK;
	}
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

/* Under the lock of @queue. */
static void clean(struct shell *s, struct netdev_queue *queue, int budget)
{
	shell_tx_clean(s, budget);
	if (netif_tx_queue_stopped(queue) && READ_ONCE(s->open) && !shell_tx_full(s))
		netif_tx_wake_queue(queue);
}

/* Both directions: an interrupt of either leads here. */
static int shell_net_poll(struct napi_struct *napi, int budget)
{
	struct shell *s = container_of(napi, struct shell, napi);
	struct netdev_queue *queue = netdev_get_tx_queue(s->netdev, 0);
	int done;

	if (!budget) {
		/* netpoll: it may hold the lock, and the interrupt must stay armed. */
		if (__netif_tx_trylock(queue)) {
			clean(s, queue, 0);
			__netif_tx_unlock(queue);
		}
		return 0;
	}
	__netif_tx_lock(queue, smp_processor_id());
	clean(s, queue, budget);
	__netif_tx_unlock(queue);
	done = shell_rx_poll(s, budget);
	/* Before another processor may poll, as its doorbells would overtake these. */
	if (!READ_ONCE(s->failed))
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
	if (!netif_device_present(nd))
		return;				/* its registers must not be read */
	stats->tx_dropped += read_counter(s, SHELL_TX_LOST);
	stats->rx_missed_errors += read_counter(s, SHELL_RX_LOST);
}

static const struct net_device_ops ops = {
	.ndo_open = shell_net_open,
	.ndo_stop = shell_net_stop,
	.ndo_start_xmit = shell_net_xmit,
	.ndo_tx_timeout = shell_net_timeout,
	.ndo_get_stats64 = shell_net_stats,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

void shell_net_init(struct shell *s)
{
	struct net_device *nd = s->netdev;

	nd->netdev_ops = &ops;
	nd->ethtool_ops = &shell_ethtool_ops;
	nd->watchdog_timeo = TX_LIMIT;
	nd->max_mtu = SHELL_FRAME_MAX - VLAN_ETH_HLEN;
	nd->priv_flags |= IFF_LIVE_ADDR_CHANGE;		/* the shell does not filter */
	eth_hw_addr_random(nd);				/* nor has it an address */
	INIT_DELAYED_WORK(&s->link, check_link);
	INIT_WORK(&s->restart, restart);
	netif_napi_add(nd, &s->napi, shell_net_poll);
	netif_carrier_off(nd);
}

/* free_netdev() deletes the NAPI, after the interrupts have gone. */
int shell_net_register(struct shell *s)
{
	return register_netdev(s->netdev);
}

void shell_net_unregister(struct shell *s)
{
	unregister_netdev(s->netdev);
	cancel_work_sync(&s->restart);
}
