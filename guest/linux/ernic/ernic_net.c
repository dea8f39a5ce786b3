// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data path of the network card: a ring of descriptors for each direction, served
 * by one NAPI; starting, stopping and resizing the rings.
 */
#include <linux/crc32.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include "ernic_net.h"

#define ERNIC_NET_RX_SIZE	4096
/* descriptors of the longest frame that the stack sends */
#define ERNIC_NET_TX_MAX	(MAX_SKB_FRAGS + 1)
static_assert(ERNIC_NET_TX_MAX < 1 << ERNIC_NET_SHIFT_MIN);
/* buffers of the longest frame that the device receives */
#define ERNIC_NET_RX_MAX	DIV_ROUND_UP(ERNIC_ETH_FRAME_MAX, ERNIC_NET_RX_SIZE)
static_assert(ERNIC_NET_RX_MAX < 1 << ERNIC_NET_SHIFT_MIN);

static u32 ernic_net_tx_free(struct ernic_net *net)
{
	return (1u << net->ring.tx_shift) - (net->tx_pi - READ_ONCE(net->tx_ci));
}

static void ernic_net_unmap_tx(struct ernic_net *net, struct ernic_net_tx *tx)
{
	struct device *d = &net->dev->pdev->dev;

	if (tx->page)
		dma_unmap_page(d, tx->dma, tx->len, DMA_TO_DEVICE);
	else
		dma_unmap_single(d, tx->dma, tx->len, DMA_TO_DEVICE);
}

static void ernic_net_put_tx(struct ernic_net *net, u32 k, dma_addr_t dma,
			     u32 len, bool page)
{
	struct ernic_eth_txd *txd = &net->ring.txd[ernic_net_tx_slot(net, k)];
	struct ernic_net_tx *tx = &net->ring.tx[ernic_net_tx_slot(net, k)];

	*tx = (struct ernic_net_tx) { .dma = dma, .len = len, .page = page };
	memset(txd, 0, sizeof(*txd));
	txd->addr = cpu_to_le64(dma);
	txd->len = cpu_to_le16(len);
}

static int ernic_net_map(struct ernic_net *net, struct sk_buff *skb, u32 *pi)
{
	struct device *d = &net->dev->pdev->dev;
	dma_addr_t dma;
	u32 k = net->tx_pi;
	int i;

	dma = dma_map_single(d, skb->data, skb_headlen(skb), DMA_TO_DEVICE);
	if (dma_mapping_error(d, dma))
		return -ENOMEM;
	ernic_net_put_tx(net, k++, dma, skb_headlen(skb), false);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];
		u32 len = skb_frag_size(frag);

		dma = skb_frag_dma_map(d, frag, 0, len, DMA_TO_DEVICE);
		if (dma_mapping_error(d, dma))
			goto err;
		ernic_net_put_tx(net, k++, dma, len, true);
	}
	*pi = k;
	return 0;

err:
	while (k-- != net->tx_pi)
		ernic_net_unmap_tx(net, &net->ring.tx[ernic_net_tx_slot(net, k)]);
	return -ENOMEM;
}

/* Bytes of the headers of a large packet. */
static u32 ernic_net_head_len(const struct sk_buff *skb)
{
	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
		return skb_transport_offset(skb) + sizeof(struct udphdr);
	return skb_tcp_all_headers(skb);
}
/* IPv4 or IPv6, and TCP, with one tag */
static_assert(VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + 60 <= ERNIC_ETH_LSO_HEAD_MAX);

/* The last descriptor says what the device does with the frame. */
static void ernic_net_offload(struct ernic_eth_txd *txd,
			      const struct sk_buff *skb)
{
	txd->flags = ERNIC_ETH_EOP;
	if (skb_is_gso(skb)) {
		txd->flags |= ERNIC_ETH_LSO;
		txd->head_len = cpu_to_le16(ernic_net_head_len(skb));
		txd->mss = cpu_to_le16(skb_shinfo(skb)->gso_size);
	} else if (skb->ip_summed == CHECKSUM_PARTIAL) {
		txd->flags |= ERNIC_ETH_CSUM;
		txd->csum_start = cpu_to_le16(skb_checksum_start_offset(skb));
		txd->csum_offset = cpu_to_le16(skb->csum_offset);
	}
}

/*
 * Whether a large packet has plain headers. Those with options or extensions may have more
 * than the device takes, as the tag of a VLAN may follow, or a route that it does not know.
 */
static bool ernic_net_plain(const struct sk_buff *skb)
{
	switch (vlan_get_protocol(skb)) {
	case htons(ETH_P_IP):
		return skb_network_header_len(skb) == sizeof(struct iphdr);
	case htons(ETH_P_IPV6):
		return skb_network_header_len(skb) == sizeof(struct ipv6hdr);
	default:
		return false;
	}
}

/* The stack divides the others. */
netdev_features_t ernic_net_features_check(struct sk_buff *skb,
					   struct net_device *nd,
					   netdev_features_t features)
{
	features = vlan_features_check(skb, features);
	if (skb_is_gso(skb) && !ernic_net_plain(skb))
		features &= ~NETIF_F_GSO_MASK;
	return features;
}

netdev_tx_t ernic_net_xmit(struct sk_buff *skb, struct net_device *nd)
{
	struct ernic_net *net = netdev_priv(nd);
	u32 pi;

	if (ernic_net_map(net, skb, &pi)) {
		nd->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	ernic_net_offload(&net->ring.txd[ernic_net_tx_slot(net, pi - 1)], skb);
	net->ring.tx[ernic_net_tx_slot(net, pi - 1)].skb = skb;
	skb_tx_timestamp(skb);
	WRITE_ONCE(net->tx_pi, pi);

	if (ernic_net_tx_free(net) < ERNIC_NET_TX_MAX) {
		netif_stop_queue(nd);
		/* pairs with the barrier in ernic_net_clean_tx() */
		smp_mb();
		if (ernic_net_tx_free(net) >= ERNIC_NET_TX_MAX)
			netif_start_queue(nd);
	}
	writel(pi, ernic_eth_reg(net->dev, tx_pi));
	return NETDEV_TX_OK;
}

/*
 * Counts the frames of a packet, each of which has the headers. The number in gso_segs is
 * not the device's if another machine has made the packet.
 */
static void ernic_net_count_tx(struct ernic_net *net, const struct sk_buff *skb)
{
	struct net_device_stats *stats = &net->dev->netdev->stats;
	u32 frames = 1;

	if (skb_is_gso(skb)) {
		u32 head = ernic_net_head_len(skb);

		frames = DIV_ROUND_UP(skb->len - head, skb_shinfo(skb)->gso_size);
		stats->tx_bytes += (frames - 1) * head;
		net->tx_tso_packets++;
	}
	stats->tx_packets += frames;
	stats->tx_bytes += skb->len;
}

static void ernic_net_clean_tx(struct ernic_net *net, u32 done, int budget)
{
	struct net_device *nd = net->dev->netdev;
	u32 ci = net->tx_ci;

	for (; ci != done; ci++) {
		struct ernic_net_tx *tx =
			&net->ring.tx[ernic_net_tx_slot(net, ci)];

		ernic_net_unmap_tx(net, tx);
		if (!tx->skb)
			continue;
		ernic_net_count_tx(net, tx->skb);
		napi_consume_skb(tx->skb, budget);
		tx->skb = NULL;
	}
	WRITE_ONCE(net->tx_ci, ci);
	/* pairs with the barrier in ernic_net_xmit() */
	smp_mb();
	if (netif_queue_stopped(nd) &&
	    ernic_net_tx_free(net) >= ERNIC_NET_TX_MAX)
		netif_wake_queue(nd);
}

/*
 * False: a long frame does not fit. The device drops it without an interrupt, so that
 * nothing might ever refill the ring.
 */
static bool ernic_net_refill(struct ernic_net *net)
{
	struct device *d = &net->dev->pdev->dev;
	u32 k = net->rx_pi;

	for (; k - net->rx_ci < 1u << net->ring.rx_shift; k++) {
		u32 slot = ernic_net_rx_slot(net, k);
		struct page *page = dev_alloc_page();
		dma_addr_t dma;

		if (!page)
			break;
		dma = dma_map_page(d, page, 0, ERNIC_NET_RX_SIZE,
				   DMA_FROM_DEVICE);
		if (dma_mapping_error(d, dma)) {
			__free_page(page);
			break;
		}
		net->ring.rx[slot].page = page;
		net->ring.rx[slot].dma = dma;
		memset(&net->ring.rxd[slot], 0, sizeof(net->ring.rxd[slot]));
		net->ring.rxd[slot].addr = cpu_to_le64(dma);
		net->ring.rxd[slot].size = cpu_to_le16(ERNIC_NET_RX_SIZE);
	}
	if (k != net->rx_pi) {
		net->rx_pi = k;
		writel(k, ernic_eth_reg(net->dev, rx_pi));
	}
	return k - net->rx_ci >= ERNIC_NET_RX_MAX;
}

/* Receives one frame. The device counts whole frames: its last part is there. */
static void ernic_net_rx_frame(struct ernic_net *net, u32 done)
{
	struct device *d = &net->dev->pdev->dev;
	struct net_device *nd = net->dev->netdev;
	struct sk_buff *skb = napi_get_frags(&net->napi);
	u8 flags = 0;

	while (net->rx_ci != done && !(flags & ERNIC_ETH_EOP)) {
		u32 slot = ernic_net_rx_slot(net, net->rx_ci++);
		u32 len = min_t(u32, le16_to_cpu(net->ring.rxd[slot].len),
				ERNIC_NET_RX_SIZE);

		flags = net->ring.rxd[slot].flags;
		dma_unmap_page(d, net->ring.rx[slot].dma, ERNIC_NET_RX_SIZE,
			       DMA_FROM_DEVICE);
		if (skb && skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS)
			skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags,
					net->ring.rx[slot].page, 0, len, PAGE_SIZE);
		else
			__free_page(net->ring.rx[slot].page);
		net->ring.rx[slot].page = NULL;
	}
	if (!skb) {
		nd->stats.rx_dropped++;
		return;
	}
	if ((flags & ERNIC_ETH_CSUM_OK) && (nd->features & NETIF_F_RXCSUM))
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	nd->stats.rx_packets++;
	nd->stats.rx_bytes += skb->len;
	napi_gro_frags(&net->napi);
}

int ernic_net_poll(struct napi_struct *napi, int budget)
{
	struct ernic_net *net = container_of(napi, struct ernic_net, napi);
	u32 rx_done = le32_to_cpu(READ_ONCE(net->ring.state->rx_ci));
	u32 tx_done = le32_to_cpu(READ_ONCE(net->ring.state->tx_ci));
	int work = 0;

	dma_rmb();
	ernic_net_clean_tx(net, tx_done, budget);
	while (work < budget && net->rx_ci != rx_done) {
		ernic_net_rx_frame(net, rx_done);
		work++;
	}
	if (!ernic_net_refill(net))
		return budget;
	if (work < budget && napi_complete_done(napi, work)) {
		/* interrupts at once if more has come since the counters were read */
		writel(net->tx_ci, ernic_eth_reg(net->dev, tx_arm));
		writel(net->rx_ci, ernic_eth_reg(net->dev, rx_arm));
	}
	return work;
}

static void ernic_net_carrier(struct ernic_net *net)
{
	struct net_device *nd = net->dev->netdev;
	bool up = readl(ernic_eth_reg(net->dev, link)) & 1;

	if (up == netif_carrier_ok(nd))
		return;
	if (up)
		netif_carrier_on(nd);
	else
		netif_carrier_off(nd);
}

static irqreturn_t ernic_net_irq(int irq, void *arg)
{
	struct ernic_net *net = arg;

	ernic_net_carrier(net);
	napi_schedule_irqoff(&net->napi);
	return IRQ_HANDLED;
}

/* Under the address lock of the net device, which guards net->on as well. */
void ernic_net_set_rx_mode(struct net_device *nd)
{
	struct ernic_net *net = netdev_priv(nd);
	struct netdev_hw_addr *ha;
	u32 ctrl = 0;
	u64 hash = 0;

	if (net->on)
		ctrl |= ERNIC_ETH_TX | ERNIC_ETH_RX;
	if (nd->flags & IFF_PROMISC)
		ctrl |= ERNIC_ETH_PROMISC;
	if (nd->flags & IFF_ALLMULTI)
		ctrl |= ERNIC_ETH_ALLMULTI;
	netdev_for_each_mc_addr(ha, nd)
		hash |= BIT_ULL(ether_crc_le(ETH_ALEN, ha->addr) & 63);
	writeq(hash, ernic_eth_reg(net->dev, mc_hash));
	writel(ctrl, ernic_eth_reg(net->dev, ctrl));
}

/*
 * Starts or stops the device's use of the rings. The stack may change the filter at
 * any time, which must not start a device whose rings are about to change.
 */
static void ernic_net_enable(struct ernic_net *net, bool on)
{
	struct net_device *nd = net->dev->netdev;

	netif_addr_lock_bh(nd);
	net->on = on;
	ernic_net_set_rx_mode(nd);
	netif_addr_unlock_bh(nd);
	/* the write has arrived when the read returns */
	readl(ernic_eth_reg(net->dev, ctrl));
}

/* The device does not use the rings any more. */
static void ernic_net_drop(struct ernic_net *net)
{
	struct device *d = &net->dev->pdev->dev;

	for (; net->tx_ci != net->tx_pi; net->tx_ci++) {
		u32 slot = ernic_net_tx_slot(net, net->tx_ci);
		struct ernic_net_tx *tx = &net->ring.tx[slot];

		ernic_net_unmap_tx(net, tx);
		dev_kfree_skb_any(tx->skb);
		tx->skb = NULL;
	}
	for (; net->rx_ci != net->rx_pi; net->rx_ci++) {
		u32 slot = ernic_net_rx_slot(net, net->rx_ci);

		dma_unmap_page(d, net->ring.rx[slot].dma, ERNIC_NET_RX_SIZE,
			       DMA_FROM_DEVICE);
		__free_page(net->ring.rx[slot].page);
		net->ring.rx[slot].page = NULL;
	}
}

/* Keeps the sizes. */
static void ernic_net_free_rings(struct device *d, struct ernic_net_rings *r)
{
	if (r->txd)
		dma_free_coherent(d, sizeof(*r->txd) << r->tx_shift, r->txd,
				  r->txd_dma);
	if (r->rxd)
		dma_free_coherent(d, sizeof(*r->rxd) << r->rx_shift, r->rxd,
				  r->rxd_dma);
	if (r->state)
		dma_free_coherent(d, sizeof(*r->state), r->state, r->state_dma);
	r->txd = NULL;
	r->rxd = NULL;
	r->state = NULL;
	kvfree(r->tx);
	kvfree(r->rx);
	r->tx = NULL;
	r->rx = NULL;
}

/* Allocates rings of the sizes in r. */
static int ernic_net_alloc_rings(struct device *d, struct ernic_net_rings *r)
{
	r->txd = dma_alloc_coherent(d, sizeof(*r->txd) << r->tx_shift,
				    &r->txd_dma, GFP_KERNEL);
	r->rxd = dma_alloc_coherent(d, sizeof(*r->rxd) << r->rx_shift,
				    &r->rxd_dma, GFP_KERNEL);
	r->state = dma_alloc_coherent(d, sizeof(*r->state), &r->state_dma,
				      GFP_KERNEL);
	r->tx = kvcalloc(1 << r->tx_shift, sizeof(*r->tx), GFP_KERNEL);
	r->rx = kvcalloc(1 << r->rx_shift, sizeof(*r->rx), GFP_KERNEL);
	if (r->txd && r->rxd && r->state && r->tx && r->rx)
		return 0;
	ernic_net_free_rings(d, r);
	return -ENOMEM;
}

static void ernic_net_setup(struct ernic_net *net)
{
	struct ernic_dev *dev = net->dev;

	net->tx_pi = 0;
	net->tx_ci = 0;
	net->rx_pi = 0;
	net->rx_ci = 0;
	memset(net->ring.state, 0, sizeof(*net->ring.state));
	writeq(net->ring.txd_dma, ernic_eth_reg(dev, tx_addr));
	writeq(net->ring.rxd_dma, ernic_eth_reg(dev, rx_addr));
	writeq(net->ring.state_dma, ernic_eth_reg(dev, state_addr));
	writel(net->ring.tx_shift, ernic_eth_reg(dev, tx_shift));
	writel(net->ring.rx_shift, ernic_eth_reg(dev, rx_shift));
	writel(ERNIC_VEC_ETH, ernic_eth_reg(dev, vector));
}

/* Starts both directions. After an error the device is stopped. */
static int ernic_net_start(struct net_device *nd)
{
	const u32 on = ERNIC_ETH_TX | ERNIC_ETH_RX;
	struct ernic_net *net = netdev_priv(nd);
	struct ernic_dev *dev = net->dev;
	int ret = 0;

	ernic_net_setup(net);
	ernic_net_enable(net, true);
	if ((readl(ernic_eth_reg(dev, ctrl)) & on) != on)
		ret = -EIO;
	else if (!ernic_net_refill(net))
		ret = -ENOMEM;
	if (ret) {
		ernic_net_enable(net, false);
		ernic_net_drop(net);
		return ret;
	}
	/* not before: a poll, which a change of the link starts, refills too */
	napi_enable(&net->napi);
	ernic_net_carrier(net);
	/* frames may be waiting since the rings were stopped */
	netif_wake_queue(nd);
	writel(0, ernic_eth_reg(dev, tx_arm));
	writel(0, ernic_eth_reg(dev, rx_arm));
	return 0;
}

/* Stops both directions and empties the rings. */
static void ernic_net_halt(struct net_device *nd)
{
	struct ernic_net *net = netdev_priv(nd);

	ernic_net_enable(net, false);
	napi_disable(&net->napi);
	/* not before: a poll could wake the queue again */
	netif_tx_disable(nd);
	ernic_net_drop(net);
}

int ernic_net_open(struct net_device *nd)
{
	struct ernic_net *net = netdev_priv(nd);
	struct pci_dev *pdev = net->dev->pdev;
	int irq = pci_irq_vector(pdev, ERNIC_VEC_ETH);
	int ret;

	ret = ernic_net_alloc_rings(&pdev->dev, &net->ring);
	if (ret)
		return ret;
	ret = request_irq(irq, ernic_net_irq, 0, nd->name, net);
	if (ret)
		goto err_rings;
	ret = ernic_net_start(nd);
	if (ret)
		goto err_irq;
	return 0;

err_irq:
	free_irq(irq, net);
err_rings:
	ernic_net_free_rings(&pdev->dev, &net->ring);
	return ret;
}

/* Releases the interrupt and the rings after ernic_net_halt(). */
static void ernic_net_close(struct ernic_net *net)
{
	struct pci_dev *pdev = net->dev->pdev;

	free_irq(pci_irq_vector(pdev, ERNIC_VEC_ETH), net);
	ernic_net_free_rings(&pdev->dev, &net->ring);
}

int ernic_net_stop(struct net_device *nd)
{
	struct ernic_net *net = netdev_priv(nd);

	/* closed already if neither old nor new rings could be started */
	if (!net->ring.txd)
		return 0;
	ernic_net_halt(nd);
	ernic_net_close(net);
	return 0;
}

/* Keeps the old rings until the new ones have been started. */
int ernic_net_resize(struct net_device *nd, u8 tx_shift, u8 rx_shift)
{
	struct ernic_net *net = netdev_priv(nd);
	struct device *d = &net->dev->pdev->dev;
	struct ernic_net_rings r = { .tx_shift = tx_shift, .rx_shift = rx_shift };
	int ret;

	if (!netif_running(nd)) {
		net->ring.tx_shift = tx_shift;
		net->ring.rx_shift = rx_shift;
		return 0;
	}
	ret = ernic_net_alloc_rings(d, &r);
	if (ret)
		return ret;
	ernic_net_halt(nd);
	swap(net->ring, r);
	ret = ernic_net_start(nd);
	if (ret) {
		swap(net->ring, r);
		if (ernic_net_start(nd)) {
			ernic_net_close(net);
			netif_device_detach(nd);
		}
	}
	ernic_net_free_rings(d, &r);
	return ret;
}
