// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of a queue: rings, pages of the receive ring and frames of the transmit ring. A
 * buffer of the receive ring is a page, and a frame takes as many as it needs.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include "shell.h"

/* Frames that are on their way have this long when the interface goes down. */
#define DRAIN_MS	200

/* ---- memory ------------------------------------------------------------------------ */

/* A place more than @entries: for the status of the QDMA. */
static int alloc_ring(struct shell *s, struct shell_ring *ring, u32 entries, size_t bytes)
{
	ring->pidx = 0;
	ring->cidx = 0;
	if (!bytes)
		return 0;
	ring->bytes = (entries + 1) * bytes;
	ring->at = dma_alloc_coherent(&s->pdev->dev, ring->bytes, &ring->bus, GFP_KERNEL);
	return ring->at ? 0 : -ENOMEM;
}

static void free_ring(struct shell *s, struct shell_ring *ring)
{
	if (ring->at)
		dma_free_coherent(&s->pdev->dev, ring->bytes, ring->at, ring->bus);
	ring->at = NULL;
}

static void free_pages_of(struct shell_queue *q)
{
	struct shell_rx *rx = &q->rx;
	int i;

	for (i = 0; i < SHELL_DESCS; i++) {
		if (!rx->page[i])
			continue;
		dma_unmap_page(&q->s->pdev->dev, rx->bus[i], PAGE_SIZE, DMA_FROM_DEVICE);
		__free_page(rx->page[i]);
		rx->page[i] = NULL;
	}
}

static void free_frames(struct shell_queue *q)
{
	struct shell_tx *tx = &q->tx;
	int i;

	for (i = 0; i < SHELL_DESCS; i++) {
		if (!tx->skb[i])
			continue;
		dma_unmap_single(&q->s->pdev->dev, tx->bus[i], tx->skb[i]->len,
				 DMA_TO_DEVICE);
		dev_kfree_skb(tx->skb[i]);
		tx->skb[i] = NULL;
	}
}

static void free_rings(struct shell_queue *q)
{
	free_frames(q);
	free_pages_of(q);
	free_ring(q->s, &q->tx.ring);
	free_ring(q->s, &q->rx.ring);
	free_ring(q->s, &q->rx.report);
}

/* A page for place @i of the receive ring; what was there belongs to the caller. */
static bool put_page_at(struct shell_queue *q, u32 i, gfp_t gfp)
{
	struct device *dev = &q->s->pdev->dev;
	struct page *page = __dev_alloc_page(gfp);
	dma_addr_t bus;

	if (!page)
		return false;
	bus = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, bus)) {
		__free_page(page);
		return false;
	}
	q->rx.page[i] = page;
	q->rx.bus[i] = bus;
	shell_ops(q->s)->rx_post(q, i);
	return true;
}

static int alloc_rings(struct shell_queue *q)
{
	const struct shell_ops *ops = shell_ops(q->s);
	u32 i;

	if (alloc_ring(q->s, &q->tx.ring, SHELL_DESCS, ops->tx_bytes) ||
	    alloc_ring(q->s, &q->rx.ring, SHELL_DESCS, ops->rx_bytes) ||
	    alloc_ring(q->s, &q->rx.report, ops->reports, ops->report_bytes))
		return -ENOMEM;
	for (i = 0; i < SHELL_DESCS; i++) {
		if (!put_page_at(q, i, GFP_KERNEL))
			return -ENOMEM;
	}
	return 0;
}

/* ---- transmit -------------------------------------------------------------------------- */

bool shell_tx_full(const struct shell_queue *q)
{
	return shell_after(q->tx.ring.pidx, SHELL_DESCS) == READ_ONCE(q->tx.ring.cidx);
}

/* The engine does not know of it yet. */
void shell_tx_post(struct shell_queue *q, struct sk_buff *skb, dma_addr_t bus, u32 len)
{
	struct shell_tx *tx = &q->tx;
	u32 i = tx->ring.pidx;

	shell_ops(q->s)->tx_post(q, i, bus, len);
	tx->skb[i] = skb;
	tx->bus[i] = bus;
	tx->ring.pidx = shell_after(i, SHELL_DESCS);
}

void shell_tx_clean(struct shell_queue *q, int budget)
{
	u32 to = shell_ops(q->s)->tx_done(q), i;
	struct shell_tx *tx = &q->tx;
	struct sk_buff *skb;

	for (i = tx->ring.cidx; i != to; i = shell_after(i, SHELL_DESCS)) {
		skb = tx->skb[i];
		if (!skb)
			break;		/* an index that is not ours */
		dma_unmap_single(&q->s->pdev->dev, tx->bus[i], skb->len, DMA_TO_DEVICE);
		shell_count(&tx->counts, skb->len);
		tx->skb[i] = NULL;
		napi_consume_skb(skb, budget);
	}
	WRITE_ONCE(tx->ring.cidx, i);
}

/*
 * The carrier shows it; the queue begins anew when the link is looked at. Handlers may be
 * late, but none has seen the device open that has gone.
 */
void shell_rings_failed(struct shell *s)
{
	WRITE_ONCE(s->failed, true);
	if (READ_ONCE(s->open))
		netif_carrier_off(s->netdev);
}

/* ---- receive ------------------------------------------------------------------------------ */

/*
 * A frame of @len bytes, from the pages that are next in the ring. A page that cannot be
 * replaced stays there, and its frame is lost.
 */
static void receive(struct shell_queue *q, u32 len)
{
	struct sk_buff *skb = napi_get_frags(&q->napi);
	struct shell_rx *rx = &q->rx;
	bool lost = !skb, kept;
	struct page *page;
	u32 n, i, left;
	dma_addr_t bus;

	for (left = len; left; left -= n) {
		n = min_t(u32, left, PAGE_SIZE);
		i = rx->ring.cidx;
		rx->ring.cidx = shell_after(i, SHELL_DESCS);
		page = rx->page[i];
		bus = rx->bus[i];
		kept = lost || !put_page_at(q, i, GFP_ATOMIC | __GFP_NOWARN);
		if (kept) {
			shell_ops(q->s)->rx_post(q, i);
			lost = true;
			continue;
		}
		dma_unmap_page(&q->s->pdev->dev, bus, PAGE_SIZE, DMA_FROM_DEVICE);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, n, PAGE_SIZE);
	}
	if (lost) {
		shell_count_dropped(&rx->counts);
		if (skb)
			napi_free_frags(&q->napi);
		return;
	}
	shell_count(&rx->counts, len);
	skb_record_rx_queue(skb, q->number);
	napi_gro_frags(&q->napi);
}

/*
 * Frames up to @budget; returns their number. One that is not possible stops the queue:
 * armed, it would interrupt again and again, and the pages of later ones are not known.
 */
int shell_rx_poll(struct shell_queue *q, int budget)
{
	int done, len;

	for (done = 0; done < budget && !READ_ONCE(q->s->failed); done++) {
		len = shell_ops(q->s)->rx_next(q);
		if (!len)
			break;
		if (len < ETH_HLEN || len > SHELL_FRAME_MAX) {
			shell_rings_failed(q->s);
			break;
		}
		receive(q, len);
	}
	return done;
}

/* ---- life ----------------------------------------------------------------------------------- */

int shell_rings_open(struct shell_queue *q)
{
	int err = alloc_rings(q);

	if (!err)
		err = shell_ops(q->s)->open(q);
	if (err)
		shell_rings_close(q);
	return err;
}

/* A queue that has failed sends no more. */
static bool sends(struct shell_queue *q)
{
	struct shell_ring *ring = &q->tx.ring;

	return ring->at && ring->cidx != ring->pidx && !READ_ONCE(q->s->failed);
}

/* Nobody polls the queue. */
void shell_rings_close(struct shell_queue *q)
{
	int i;

	for (i = 0; i < DRAIN_MS && sends(q); i++) {
		msleep(1);
		local_bh_disable();		/* as in a poll, for the counters */
		shell_tx_clean(q, 0);
		local_bh_enable();
	}
	if (shell_ops(q->s)->close(q))
		pci_clear_master(q->s->pdev);	/* memory is worth more than the card */
	free_rings(q);
}
