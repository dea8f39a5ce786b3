// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory-mapped engines: one queue of each direction copies between memory and the
 * memory of the card, one piece at a time.
 */
#include <linux/interrupt.h>
#include "shell_qdma.h"

#define LIMIT_MS	1000
#define RING_BYTES	((SHELL_MM_DESCS + 1) * sizeof(struct qdma_mm_desc))

/* The two directions; the index is that of shell_mm.ring. */
static const struct {
	enum qdma_selector selectors[3];	/* software, hardware, credit */
	u32 run, doorbell;
} directions[] = {
	[SHELL_FROM_CARD] = { { QDMA_SW_C2H, QDMA_HW_C2H, QDMA_CREDIT_C2H },
			      QDMA_C2H_MM_RUN, QDMA_DB_C2H(SHELL_MM_QUEUE) },
	[SHELL_TO_CARD] = { { QDMA_SW_H2C, QDMA_HW_H2C, QDMA_CREDIT_H2C },
			    QDMA_H2C_MM_RUN, QDMA_DB_H2C(SHELL_MM_QUEUE) },
};

irqreturn_t qdma_mm_irq(int irq, void *data)
{
	struct shell *s = data;

	complete(&s->mm.done);
	return IRQ_HANDLED;
}

static int open_direction(struct shell *s, int dir)
{
	struct shell_ring *ring = &s->mm.ring[dir];
	int i, err;

	ring->bytes = RING_BYTES;
	ring->at = dma_alloc_coherent(&s->pdev->dev, ring->bytes, &ring->bus, GFP_KERNEL);
	ring->pidx = 0;
	if (!ring->at)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(directions[dir].selectors); i++) {
		err = qdma_context(s, QDMA_CLEAR, directions[dir].selectors[i],
				   SHELL_MM_QUEUE, NULL);
		if (err)
			return err;
	}
	qdma_write(s, directions[dir].run, 1);
	return qdma_context(s, QDMA_WRITE, directions[dir].selectors[0], SHELL_MM_QUEUE,
			    (const u32[QDMA_CTX_WORDS]) {
		0, QDMA_SW1_ENABLE | QDMA_SW1_STATUS_ALL | QDMA_SW1_DESC_32 |
		QDMA_SW1_STATUS | QDMA_SW1_IRQ | QDMA_SW1_NO_MARKER | QDMA_SW1_MM |
		SHELL_RING_MM << QDMA_SW1_RING_SHIFT, ring->bus, upper_32_bits(ring->bus),
		s->mm_vector });
}

static void close_queue(struct shell *s)
{
	struct shell_ring *ring;
	int dir, i, err = 0;

	for (dir = 0; dir < ARRAY_SIZE(directions); dir++) {
		ring = &s->mm.ring[dir];
		if (!ring->at)
			continue;
		for (i = 0; i < ARRAY_SIZE(directions[dir].selectors); i++)
			err = qdma_context(s, QDMA_INVALIDATE, directions[dir].selectors[i],
					   SHELL_MM_QUEUE, NULL) ?: err;
		if (err)
			pci_clear_master(s->pdev);	/* it may still use the ring */
		dma_free_coherent(&s->pdev->dev, ring->bytes, ring->at, ring->bus);
		ring->at = NULL;
	}
}

static int open_queue(struct shell *s)
{
	int err;

	if (!pci_resource_len(s->pdev, SHELL_CARD_BAR))
		return 0;			/* a card without memory */
	err = open_direction(s, SHELL_FROM_CARD);
	if (!err)
		err = open_direction(s, SHELL_TO_CARD);
	if (err)
		close_queue(s);
	return err;
}

int qdma_mm_open(struct shell *s)
{
	int err;

	mutex_lock(&s->mm.lock);
	err = open_queue(s);
	mutex_unlock(&s->mm.lock);
	return err;
}

void qdma_mm_close(struct shell *s)
{
	mutex_lock(&s->mm.lock);
	close_queue(s);
	mutex_unlock(&s->mm.lock);
}

/* 0: all is complete; -EBUSY: not yet; -EIO: the queue has stopped. */
static int progress(const struct shell_ring *ring)
{
	const struct qdma_mm_desc *desc = ring->at;
	u32 status = le32_to_cpu(READ_ONCE(*(const __le32 *)&desc[SHELL_MM_DESCS]));

	if (status & QDMA_STATUS_ERROR)
		return -EIO;
	if (status >> QDMA_STATUS_CIDX_SHIFT != ring->pidx)
		return -EBUSY;
	dma_rmb();			/* the status before the data */
	return 0;
}

static int execute(struct shell *s, int dir, dma_addr_t bus, u64 card, size_t len)
{
	struct shell_ring *ring = &s->mm.ring[dir];
	unsigned long left = msecs_to_jiffies(LIMIT_MS);
	bool to = dir == SHELL_TO_CARD;
	int err;

	((struct qdma_mm_desc *)ring->at)[ring->pidx] = (struct qdma_mm_desc) {
		.from = cpu_to_le64(to ? bus : card),
		.len = cpu_to_le32(len | QDMA_MM_WHOLE),
		.to = cpu_to_le64(to ? card : bus),
	};
	ring->pidx = (ring->pidx + 1) % SHELL_MM_DESCS;
	reinit_completion(&s->mm.done);
	qdma_write(s, directions[dir].doorbell, ring->pidx | QDMA_DB_ARM);
	/* A late interrupt of an earlier copy says nothing. */
	do {
		left = wait_for_completion_timeout(&s->mm.done, left);
		err = progress(ring);
	} while (left && err == -EBUSY);
	return err ? -EIO : 0;
}

/**
 * qdma_mm_copy() - copies between memory and the card
 * @s: the card
 * @dir: SHELL_FROM_CARD or SHELL_TO_CARD
 * @buf: of kmalloc()
 * @card: the address in the card's memory
 * @len: bytes
 *
 * Return: 0, -ENXIO if there is no such queue, or -EIO: the queue has stopped, and begins
 * anew.
 */
int qdma_mm_copy(struct shell *s, int dir, void *buf, u64 card, size_t len)
{
	enum dma_data_direction way = dir == SHELL_TO_CARD ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	dma_addr_t bus;
	int err;

	bus = dma_map_single(&s->pdev->dev, buf, len, way);
	if (dma_mapping_error(&s->pdev->dev, bus))
		return -ENOMEM;
	mutex_lock(&s->mm.lock);
	err = s->mm.ring[dir].at ? execute(s, dir, bus, card, len) : -ENXIO;
	if (err == -EIO) {
		close_queue(s);			/* the engine lets go of the buffer */
		if (open_queue(s))
			dev_err(&s->pdev->dev, "copies to the card do not begin anew\n");
	}
	mutex_unlock(&s->mm.lock);
	dma_unmap_single(&s->pdev->dev, bus, len, way);
	return err;
}
