// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The queue: rings of descriptors and completions in memory, contexts that name them, and
 * the doorbells. A buffer of the receive ring is a page, and a frame takes as many as it
 * needs.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include "shell.h"

/* Frames that are on their way have this long when the interface goes down. */
#define DRAIN_MS	200
/* Bytes of a descriptor, an address of a buffer, a completion. */
#define TX_BYTES	sizeof(struct qdma_h2c_desc)
#define RX_BYTES	sizeof(__le64)
#define CMPT_BYTES	sizeof(__le64)

static u32 after(u32 index, u32 entries)
{
	return index + 1 < entries ? index + 1 : 0;
}

/* ---- memory ------------------------------------------------------------------------ */

static int alloc_ring(struct shell *s, struct shell_ring *ring, u32 entries, size_t bytes)
{
	ring->bytes = (entries + 1) * bytes;
	ring->at = dma_alloc_coherent(&s->pdev->dev, ring->bytes, &ring->bus, GFP_KERNEL);
	ring->pidx = 0;
	ring->cidx = 0;
	return ring->at ? 0 : -ENOMEM;
}

static void free_ring(struct shell *s, struct shell_ring *ring)
{
	if (ring->at)
		dma_free_coherent(&s->pdev->dev, ring->bytes, ring->at, ring->bus);
	ring->at = NULL;
}

static void free_pages_of(struct shell *s)
{
	struct shell_rx *rx = &s->rx;
	int i;

	for (i = 0; i < SHELL_DESCS; i++) {
		if (!rx->page[i])
			continue;
		dma_unmap_page(&s->pdev->dev, rx->bus[i], PAGE_SIZE, DMA_FROM_DEVICE);
		__free_page(rx->page[i]);
		rx->page[i] = NULL;
	}
}

static void free_frames(struct shell *s)
{
	struct shell_tx *tx = &s->tx;
	int i;

	for (i = 0; i < SHELL_DESCS; i++) {
		if (!tx->skb[i])
			continue;
		dma_unmap_single(&s->pdev->dev, tx->bus[i], tx->skb[i]->len, DMA_TO_DEVICE);
		dev_kfree_skb(tx->skb[i]);
		tx->skb[i] = NULL;
	}
}

static void free_rings(struct shell *s)
{
	free_frames(s);
	free_pages_of(s);
	free_ring(s, &s->tx.ring);
	free_ring(s, &s->rx.ring);
	free_ring(s, &s->rx.cmpt);
}

/* A page for place @i of the receive ring; what was there belongs to the caller. */
static bool put_page_at(struct shell *s, u32 i)
{
	struct page *page = dev_alloc_page();
	__le64 *desc = s->rx.ring.at;
	dma_addr_t bus;

	if (!page)
		return false;
	bus = dma_map_page(&s->pdev->dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (dma_mapping_error(&s->pdev->dev, bus)) {
		__free_page(page);
		return false;
	}
	s->rx.page[i] = page;
	s->rx.bus[i] = bus;
	desc[i] = cpu_to_le64(bus);
	return true;
}

static int alloc_rings(struct shell *s)
{
	u32 i;

	if (alloc_ring(s, &s->tx.ring, SHELL_DESCS, TX_BYTES) ||
	    alloc_ring(s, &s->rx.ring, SHELL_DESCS, RX_BYTES) ||
	    alloc_ring(s, &s->rx.cmpt, SHELL_CMPTS, CMPT_BYTES))
		return -ENOMEM;
	for (i = 0; i < SHELL_DESCS; i++) {
		if (!put_page_at(s, i))
			return -ENOMEM;
	}
	return 0;
}

/* ---- contexts ------------------------------------------------------------------------ */

/* The contexts that the queue needs, in the order in which they are written. */
static int write_contexts(struct shell *s)
{
	u64 tx = s->tx.ring.bus, rx = s->rx.ring.bus, cmpt = s->rx.cmpt.bus;
	const struct {
		enum qdma_selector selector;
		u32 words[QDMA_CTX_WORDS];
	} contexts[] = {
		{ QDMA_PREFETCH, {
			SHELL_BUF << QDMA_PFCH0_BUF_SHIFT | QDMA_PFCH0_PREFETCH,
			QDMA_PFCH1_VALID } },
		{ QDMA_COMPLETION, {
			QDMA_CMPT0_STATUS | QDMA_CMPT0_IRQ | QDMA_CMPT0_EVERY |
			QDMA_CMPT0_COLOUR | SHELL_RING_CMPT << QDMA_CMPT0_RING_SHIFT,
			cmpt >> 6, cmpt >> 38, QDMA_CMPT3_VALID,
			SHELL_VECTOR_RX << QDMA_CMPT4_VECTOR_SHIFT } },
		{ QDMA_SW_C2H, {
			0, QDMA_SW1_ENABLE | QDMA_SW1_FETCH_CREDIT | QDMA_SW1_DESC_8 |
			SHELL_RING << QDMA_SW1_RING_SHIFT, rx, rx >> 32 } },
		{ QDMA_SW_H2C, {
			0, QDMA_SW1_ENABLE | QDMA_SW1_STATUS_ALL | QDMA_SW1_DESC_16 |
			QDMA_SW1_STATUS | QDMA_SW1_IRQ | QDMA_SW1_NO_MARKER |
			SHELL_RING << QDMA_SW1_RING_SHIFT, tx, tx >> 32,
			SHELL_VECTOR_TX } },
	};
	int i, err;

	for (i = QDMA_SW_C2H; i <= QDMA_PREFETCH; i++) {
		err = qdma_context(s, QDMA_CLEAR, i, SHELL_QUEUE, NULL);
		if (err)
			return err;
	}
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		err = qdma_context(s, QDMA_WRITE, contexts[i].selector, SHELL_QUEUE,
				   contexts[i].words);
		if (err)
			return err;
	}
	return 0;
}

/* The engine reads and writes no ring after this, unless it fails. */
static int invalidate_contexts(struct shell *s)
{
	static const u8 order[] = {
		QDMA_SW_H2C, QDMA_HW_H2C, QDMA_CREDIT_H2C, QDMA_SW_C2H, QDMA_PREFETCH,
		QDMA_COMPLETION, QDMA_HW_C2H, QDMA_CREDIT_C2H,
	};
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		err = qdma_context(s, QDMA_INVALIDATE, order[i], SHELL_QUEUE, NULL) ?: err;
	return err;
}

/* ---- transmit -------------------------------------------------------------------------- */

bool shell_tx_full(const struct shell *s)
{
	return after(s->tx.ring.pidx, SHELL_DESCS) == READ_ONCE(s->tx.ring.cidx);
}

void shell_tx_post(struct shell *s, struct sk_buff *skb, dma_addr_t bus, u32 len)
{
	struct shell_tx *tx = &s->tx;
	u32 i = tx->ring.pidx;

	((struct qdma_h2c_desc *)tx->ring.at)[i] = (struct qdma_h2c_desc) {
		.metadata = cpu_to_le32(len << s->kind->metadata_shift),
		.len = cpu_to_le16(len),
		.addr = cpu_to_le64(bus),
	};
	tx->skb[i] = skb;
	tx->bus[i] = bus;
	tx->ring.pidx = after(i, SHELL_DESCS);
}

/* Each doorbell arms the interrupt: it comes when all is complete. */
void shell_tx_ring(struct shell *s)
{
	qdma_write(s, QDMA_DB_H2C(SHELL_QUEUE), s->tx.ring.pidx | QDMA_DB_ARM);
}

/* The index of the status, which the engine writes after the last place. */
static u32 tx_status(struct shell *s)
{
	struct qdma_h2c_desc *desc = s->tx.ring.at;
	__le32 *status = (__le32 *)&desc[SHELL_DESCS];

	return le32_to_cpu(READ_ONCE(*status)) >> QDMA_STATUS_CIDX_SHIFT;
}

void shell_tx_clean(struct shell *s, int budget)
{
	u32 to = tx_status(s), i;
	struct shell_tx *tx = &s->tx;
	struct sk_buff *skb;

	if (to >= SHELL_DESCS)
		return;
	for (i = tx->ring.cidx; i != to; i = after(i, SHELL_DESCS)) {
		skb = tx->skb[i];
		if (!skb)
			break;		/* a status that is not ours */
		dma_unmap_single(&s->pdev->dev, tx->bus[i], skb->len, DMA_TO_DEVICE);
		s->netdev->stats.tx_packets++;
		s->netdev->stats.tx_bytes += skb->len;
		tx->skb[i] = NULL;
		napi_consume_skb(skb, budget);
	}
	WRITE_ONCE(tx->ring.cidx, i);
}

/* ---- receive ------------------------------------------------------------------------------ */

/*
 * A frame of @len bytes, from the buffers that are next in the ring. A page that cannot be
 * replaced stays there, and its frame is lost.
 */
static void receive(struct shell *s, u32 len)
{
	struct sk_buff *skb = napi_get_frags(&s->napi);
	struct shell_rx *rx = &s->rx;
	u32 n, i, left;
	bool lost = !skb;
	dma_addr_t bus;
	struct page *page;

	for (left = len; left; left -= n) {
		n = min_t(u32, left, PAGE_SIZE);
		i = rx->ring.cidx;
		rx->ring.cidx = after(i, SHELL_DESCS);
		page = rx->page[i];
		bus = rx->bus[i];
		lost = lost || !put_page_at(s, i);
		if (lost)
			continue;
		dma_unmap_page(&s->pdev->dev, bus, PAGE_SIZE, DMA_FROM_DEVICE);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, n, PAGE_SIZE);
	}
	if (lost) {
		s->netdev->stats.rx_dropped++;
		if (skb)
			napi_free_frags(&s->napi);
		return;
	}
	s->netdev->stats.rx_packets++;
	s->netdev->stats.rx_bytes += len;
	napi_gro_frags(&s->napi);
}

/*
 * Takes entries that have the colour of this round; returns their number. One that is not
 * possible stops the queue: armed, it would interrupt again and again.
 */
int shell_rx_poll(struct shell *s, int budget)
{
	struct shell_ring *cmpt = &s->rx.cmpt;
	__le64 *entries = cmpt->at;
	int done = 0;
	u64 entry;
	u32 len;

	while (done < budget) {
		entry = le64_to_cpu(READ_ONCE(entries[cmpt->cidx]));
		if ((entry & QDMA_ENTRY_COLOUR) != s->rx.colour)
			break;
		dma_rmb();		/* the entry before the frame */
		len = entry >> s->kind->entry_shift & 0xffff;
		if (len < ETH_HLEN || len > SHELL_FRAME_MAX || (entry & QDMA_ENTRY_ERROR)) {
			shell_net_failed(s);
			break;
		}
		receive(s, len);
		cmpt->cidx = after(cmpt->cidx, SHELL_CMPTS);
		if (!cmpt->cidx)
			s->rx.colour ^= QDMA_ENTRY_COLOUR;
		done++;
	}
	return done;
}

/*
 * Returns entries and buffers, in this order: the completion ring must not be full. Armed,
 * the next interrupt comes at once if there are entries after those that were taken.
 */
void shell_rx_return(struct shell *s, bool arm)
{
	struct shell_ring *ring = &s->rx.ring;

	qdma_write(s, QDMA_DB_CMPT(SHELL_QUEUE), s->rx.cmpt.cidx | QDMA_DB_CMPT_EVERY |
		   QDMA_DB_CMPT_STATUS | (arm ? QDMA_DB_CMPT_ARM : 0));
	/* All but one, so that a full ring does not look like an empty one. */
	ring->pidx = ring->cidx ? ring->cidx - 1 : SHELL_DESCS - 1;
	qdma_write(s, QDMA_DB_C2H(SHELL_QUEUE), ring->pidx);
}

/* ---- life ----------------------------------------------------------------------------------- */

int shell_rings_open(struct shell *s)
{
	int err = alloc_rings(s);

	s->rx.colour = QDMA_ENTRY_COLOUR;
	if (!err)
		err = write_contexts(s);
	if (err) {
		shell_rings_close(s);
		return err;
	}
	shell_rx_return(s, true);		/* the first report waits for a doorbell */
	return 0;
}

void shell_rings_close(struct shell *s)
{
	int i;

	for (i = 0; s->tx.ring.at && i < DRAIN_MS && tx_status(s) != s->tx.ring.pidx; i++)
		msleep(1);
	if (invalidate_contexts(s))
		pci_clear_master(s->pdev);	/* memory is worth more than the card */
	free_rings(s);
}
