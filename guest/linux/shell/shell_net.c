// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The net device.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include "shell.h"

/* The shells have no interrupt for the link. */
#define LINK_PERIOD	(HZ / 4)
/* Queues that fail again begin anew after twice the time, but all is forgotten later. */
#define RESTART_LIMIT	(64 * HZ)
#define RESTART_FORGET	(256 * HZ)
/* A frame may wait for the network, but not for ever. */
#define TX_LIMIT	(30 * HZ)

static void check_link(struct work_struct *work)
{
	struct shell *s = container_of(to_delayed_work(work), struct shell, link);

	if (READ_ONCE(s->failed)) {
		if (time_after_eq(jiffies, s->restart_at))
			schedule_work(&s->restart);
	} else if (shell_ops(s)->link(s)) {
		netif_carrier_on(s->netdev);
	} else {
		netif_carrier_off(s->netdev);
	}
	schedule_delayed_work(&s->link, LINK_PERIOD);
}

/* The first @count queues, of which nobody polls one. */
static void close_queues(struct shell *s, u32 count)
{
	while (count)
		shell_rings_close(&s->queue[--count]);
}

/* An interrupt that came while it was off has not scheduled it, and may not come again. */
static void start_poll(struct napi_struct *napi)
{
	napi_enable(napi);
	local_bh_disable();
	napi_schedule(napi);
	local_bh_enable();
}

static int shell_net_open(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	u32 i;
	int err;

	if (!s->pdev->is_busmaster)
		return -EIO;		/* a queue did not end: only a reset helps */
	WRITE_ONCE(s->failed, false);
	for (i = 0; i < s->queues; i++) {
		err = shell_rings_open(&s->queue[i]);
		if (err) {
			close_queues(s, i);
			return err;
		}
	}
	/* A sender that sees it sees the rings. */
	smp_store_release(&s->open, true);
	for (i = 0; i < s->queues; i++)
		start_poll(&s->queue[i].napi);
	shell_ops(s)->mac(s, true, true);
	netif_tx_wake_all_queues(nd);	/* frames may wait since before a restart */
	schedule_delayed_work(&s->link, 0);
	return 0;
}

int shell_net_stop(struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	u32 i;

	cancel_delayed_work_sync(&s->link);
	if (!s->open)
		return 0;		/* it did not begin anew */
	WRITE_ONCE(s->open, false);
	netif_tx_disable(nd);
	netif_carrier_off(nd);
	shell_ops(s)->mac(s, false, true);
	for (i = 0; i < s->queues; i++)
		napi_disable(&s->queue[i].napi);
	close_queues(s, s->queues);
	shell_ops(s)->mac(s, false, false);
	return 0;
}

/* The number of queues, while there are no rings. */
int shell_net_queues(struct shell *s, u32 queues)
{
	int err = netif_set_real_num_queues(s->netdev, queues, queues);
	u32 i;

	if (err)
		return err;
	s->queues = queues;
	for (i = 0; !netif_is_rxfh_configured(s->netdev) && i < SHELL_TABLE_SIZE; i++)
		s->table[i] = ethtool_rxfh_indir_default(i, queues);
	return 0;
}

/* Under RTNL, of an interface that is up: opens the queues, or tries it again later. */
int shell_net_begin(struct shell *s)
{
	int err = shell_net_open(s->netdev);

	if (!err)
		return 0;
	netdev_err(s->netdev, "the queues do not begin anew: %d\n", err);
	WRITE_ONCE(s->failed, true);
	schedule_delayed_work(&s->link, LINK_PERIOD);
	return err;
}

/* An error that stays must not keep others from RTNL. */
static void restart(struct work_struct *work)
{
	struct shell *s = container_of(work, struct shell, restart);

	rtnl_lock();
	if (netif_running(s->netdev) && s->works && READ_ONCE(s->failed)) {
		if (time_after(jiffies, s->restart_at + RESTART_FORGET))
			s->restart_pause = 0;
		s->restart_pause = clamp_t(unsigned long, 2 * s->restart_pause, LINK_PERIOD,
					   RESTART_LIMIT);
		s->restart_at = jiffies + s->restart_pause;
		shell_net_stop(s->netdev);
		shell_net_begin(s);
	}
	rtnl_unlock();
}

static void shell_net_timeout(struct net_device *nd, unsigned int queue)
{
	struct shell *s = netdev_priv(nd);

	nd->stats.tx_errors++;
	shell_rings_failed(s);
}

/* Otherwise the frame is freed. */
static bool post(struct shell_queue *q, struct sk_buff *skb)
{
	struct device *dev = &q->s->pdev->dev;
	dma_addr_t bus = dma_map_single(dev, skb->data, skb->len, DMA_TO_DEVICE);

	if (dma_mapping_error(dev, bus)) {
		dev_kfree_skb_any(skb);
		return false;
	}
	skb_tx_timestamp(skb);
	shell_tx_post(q, skb, bus, skb->len);
	return true;
}

static netdev_tx_t shell_net_xmit(struct sk_buff *skb, struct net_device *nd)
{
	struct shell *s = netdev_priv(nd);
	u16 number = skb_get_queue_mapping(skb);
	struct netdev_queue *queue = netdev_get_tx_queue(nd, number);
	struct shell_queue *q = &s->queue[number];

	/*
	 * Not stopped are queues that ethtool has just added or taken away. A sender that
	 * bypasses queueing may have chosen its queue before.
	 */
	if (!smp_load_acquire(&s->open) || number >= s->queues) {
		shell_count_dropped(&q->tx.counts);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (shell_tx_full(q)) {
		netif_tx_stop_queue(queue);
		shell_ops(s)->tx_ring(q);
		return NETDEV_TX_BUSY;
	}
	if (eth_skb_pad(skb) || !post(q, skb))
		shell_count_dropped(&q->tx.counts);
	/* Also after a lost frame: those before it may wait for the doorbell. */
	if (shell_tx_full(q))
		netif_tx_stop_queue(queue);
	if (!netdev_xmit_more() || netif_tx_queue_stopped(queue))
		shell_ops(s)->tx_ring(q);
	return NETDEV_TX_OK;
}

/* Under the lock of @queue. */
static void clean(struct shell_queue *q, struct netdev_queue *queue, int budget)
{
	shell_tx_clean(q, budget);
	if (netif_tx_queue_stopped(queue) && READ_ONCE(q->s->open) && !shell_tx_full(q))
		netif_tx_wake_queue(queue);
}

/* Both directions: an interrupt of either leads here. */
static int shell_net_poll(struct napi_struct *napi, int budget)
{
	struct shell_queue *q = container_of(napi, struct shell_queue, napi);
	struct netdev_queue *queue = netdev_get_tx_queue(q->s->netdev, q->number);
	const struct shell_ops *ops = shell_ops(q->s);
	int done;

	if (!budget) {
		/* netpoll: it may hold the lock, and the interrupt must stay armed. */
		if (__netif_tx_trylock(queue)) {
			clean(q, queue, 0);
			__netif_tx_unlock(queue);
		}
		return 0;
	}
	/* Before the rings are read: what comes later must interrupt again. */
	if (ops->ack)
		ops->ack(q);
	__netif_tx_lock(queue, smp_processor_id());
	clean(q, queue, budget);
	__netif_tx_unlock(queue);
	done = shell_rx_poll(q, budget);
	/* Before another processor may poll, as its doorbells would overtake these. */
	if (!READ_ONCE(q->s->failed))
		ops->rx_return(q, done < budget);
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

void shell_net_counts(struct shell_counts *of, struct shell_counts *to)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&of->sync);
		to->packets = of->packets;
		to->bytes = of->bytes;
		to->dropped = of->dropped;
	} while (u64_stats_fetch_retry(&of->sync, start));
}

static void shell_net_stats(struct net_device *nd, struct rtnl_link_stats64 *stats)
{
	struct shell *s = netdev_priv(nd);
	struct shell_counts tx, rx;
	u32 i;

	netdev_stats_to_stats64(stats, &nd->stats);
	for (i = 0; i < SHELL_QUEUES_MAX; i++) {
		shell_net_counts(&s->queue[i].tx.counts, &tx);
		shell_net_counts(&s->queue[i].rx.counts, &rx);
		stats->tx_packets += tx.packets;
		stats->tx_bytes += tx.bytes;
		stats->tx_dropped += tx.dropped;
		stats->rx_packets += rx.packets;
		stats->rx_bytes += rx.bytes;
		stats->rx_dropped += rx.dropped;
	}
	/* Of a device that is not there, registers must not be read. */
	if (netif_device_present(nd) && shell_ops(s)->stats)
		shell_ops(s)->stats(s, stats);
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
	struct shell_queue *q;
	u32 i;

	nd->netdev_ops = &ops;
	nd->watchdog_timeo = TX_LIMIT;
	nd->max_mtu = SHELL_FRAME_MAX - VLAN_ETH_HLEN;
	nd->priv_flags |= IFF_LIVE_ADDR_CHANGE;		/* the shell does not filter */
	eth_hw_addr_random(nd);				/* nor has it an address */
	INIT_DELAYED_WORK(&s->link, check_link);
	INIT_WORK(&s->restart, restart);
	s->restart_at = jiffies;
	for (i = 0; i < SHELL_QUEUES_MAX; i++) {
		q = &s->queue[i];
		q->s = s;
		q->number = i;
		u64_stats_init(&q->tx.counts.sync);
		u64_stats_init(&q->rx.counts.sync);
		netif_napi_add(nd, &q->napi, shell_net_poll);
	}
	netdev_rss_key_fill(s->key, sizeof(s->key));
	netif_carrier_off(nd);
}

/* free_netdev() deletes the NAPI, after the interrupts have gone. */
int shell_net_register(struct shell *s)
{
	int err = shell_net_queues(s, min_t(u32, s->queues_max,
					    netif_get_num_default_rss_queues()));

	return err ? err : register_netdev(s->netdev);
}

void shell_net_unregister(struct shell *s)
{
	unregister_netdev(s->netdev);
	cancel_work_sync(&s->restart);
}
