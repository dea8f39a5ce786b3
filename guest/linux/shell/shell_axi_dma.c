// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The channels of the AXI DMA: MM2S sends, S2MM receives. Each follows a ring of
 * descriptors, up to the one at its tail, and writes the status of each into it.
 */
#include <linux/interrupt.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include "shell_xib.h"

#define RESET_POLL_US	20
#define RESET_LIMIT_US	100000
#define HALT_LIMIT_US	100000

static struct shell_ring *ring_of(struct shell_queue *q, int ch)
{
	return ch == AXI_MM2S ? &q->tx.ring : &q->rx.ring;
}

static dma_addr_t desc_bus(const struct shell_ring *ring, u32 i)
{
	return ring->bus + i * sizeof(struct axi_desc);
}

/* ---- interrupts -------------------------------------------------------------------- */

/*
 * Under the lock. MM2S waits for 16 frames or 127 us, as nobody waits for their end; S2MM
 * interrupts with the first frame.
 */
static void write_cr(struct shell *s, int ch, bool armed)
{
	static const u32 coalesce[] = {
		[AXI_MM2S] = AXI_CR_THRESHOLD(16) | AXI_CR_DELAY(254),
		[AXI_S2MM] = AXI_CR_THRESHOLD(1),
	};

	shell_write(s, AXI_CR(ch), AXI_CR_RUN | AXI_IRQ_ERROR | coalesce[ch] |
		    (armed ? AXI_IRQ_PACKETS : 0));
}

/* Not those of a channel that was halted: it would run again. */
static void arm(struct shell *s, bool armed)
{
	unsigned long flags;
	int ch;

	spin_lock_irqsave(&s->channels, flags);
	for (ch = 0; s->running && ch < AXI_CHANNELS; ch++)
		write_cr(s, ch, armed);
	spin_unlock_irqrestore(&s->channels, flags);
}

/* Of both channels, and of a program's ERNIC: there may be only one vector. */
static irqreturn_t channel_irq(int irq, void *data)
{
	static const char * const names[] = { "MM2S", "S2MM" };
	struct shell *s = data;
	u32 causes = 0, status;
	int ch;

	for (ch = 0; ch < AXI_CHANNELS; ch++) {
		status = shell_read(s, AXI_SR(ch));
		if (status == ~0u)
			return IRQ_NONE;	/* nothing is there any more */
		causes |= status;
		if (!(status & AXI_IRQ_ERROR))
			continue;
		/* The errors themselves stay until the reset. */
		shell_write(s, AXI_SR(ch), AXI_IRQ_ERROR);
		dev_err_ratelimited(&s->pdev->dev, "%s error: %03lx\n", names[ch],
				    status & AXI_SR_ERRORS);
		shell_rings_failed(s);
	}
	if (causes & AXI_IRQ_PACKETS) {
		arm(s, false);
		napi_schedule(&s->queue[0].napi);
	}
	return IRQ_HANDLED;
}

/* x86 without remapping of interrupts has one vector of MSI for a function. */
int axi_request_irqs(struct shell *s)
{
	static const char * const names[] = { "ernic_shell-tx", "ernic_shell-rx" };
	int num = pci_alloc_irq_vectors(s->pdev, 1, AXI_CHANNELS, PCI_IRQ_MSI);
	int i, err = 0;

	if (num < 0)
		return num;
	s->queues_max = 1;
	for (i = 0; !err && i < num; i++)
		err = devm_request_irq(&s->pdev->dev, pci_irq_vector(s->pdev, i),
				       channel_irq, 0, names[i], s);
	return err;
}

/* The channels are halted: no handler that has seen them run is under way after this. */
void axi_stop(struct shell *s)
{
	int i, irq;

	for (i = 0; i < AXI_CHANNELS; i++) {
		irq = pci_irq_vector(s->pdev, i);
		if (irq > 0)
			synchronize_irq(irq);
	}
}

/* Causes that come from now on interrupt when the poll ends. */
void axi_ack(struct shell_queue *q)
{
	int ch;

	for (ch = 0; ch < AXI_CHANNELS; ch++)
		shell_write(q->s, AXI_SR(ch), AXI_IRQ_PACKETS);
}

/* ---- life -------------------------------------------------------------------------- */

int axi_reset(struct shell *s)
{
	u32 value;
	int err;

	shell_write(s, AXI_CR(AXI_MM2S), AXI_CR_RESET);
	err = readl_poll_timeout(s->user + AXI_CR(AXI_MM2S), value, !(value & AXI_CR_RESET),
				 RESET_POLL_US, RESET_LIMIT_US);
	if (err)
		dev_err(&s->pdev->dev, "the reset of the AXI DMA does not end\n");
	return err;
}

/* The ring of each is linked by its descriptors; a channel begins at the first one. */
int axi_open(struct shell_queue *q)
{
	struct shell *s = q->s;
	unsigned long flags;
	int ch, err;

	err = axi_reset(s);
	if (err)
		return err;
	q->tx.rung = 0;
	q->rx.ring.pidx = 0;
	spin_lock_irqsave(&s->channels, flags);
	s->running = true;
	for (ch = 0; ch < AXI_CHANNELS; ch++) {
		writeq(desc_bus(ring_of(q, ch), 0), s->user + AXI_CUR(ch));
		write_cr(s, ch, false);		/* the first poll arms it */
	}
	spin_unlock_irqrestore(&s->channels, flags);
	/* All places have a page. */
	writeq(desc_bus(&q->rx.ring, SHELL_DESCS - 1), s->user + AXI_TAIL(AXI_S2MM));
	return 0;
}

/* An access that is under way ends before a channel shows that it has halted. */
int axi_close(struct shell_queue *q)
{
	struct shell *s = q->s;
	unsigned long flags;
	int ch, err = 0;
	u32 value;

	spin_lock_irqsave(&s->channels, flags);
	s->running = false;
	spin_unlock_irqrestore(&s->channels, flags);
	for (ch = 0; ch < AXI_CHANNELS; ch++) {
		shell_write(s, AXI_CR(ch), 0);
		err = readl_poll_timeout(s->user + AXI_SR(ch), value, value & AXI_SR_HALTED,
					 RESET_POLL_US, HALT_LIMIT_US) ?: err;
	}
	/* A late handler must not mask the channels after they are opened again. */
	axi_stop(s);
	return axi_reset(s) ?: err;
}

/* ---- transmit ---------------------------------------------------------------------- */

static void put_desc(struct shell_ring *ring, u32 i, dma_addr_t bus, u32 control)
{
	((struct axi_desc *)ring->at)[i] = (struct axi_desc) {
		.next = cpu_to_le64(desc_bus(ring, shell_after(i, SHELL_DESCS))),
		.buf = cpu_to_le64(bus),
		.control = cpu_to_le32(control),
	};
}

static u32 status_of(const struct shell_ring *ring, u32 i)
{
	const struct axi_desc *desc = ring->at;

	return le32_to_cpu(READ_ONCE(desc[i].status));
}

void axi_tx_post(struct shell_queue *q, u32 i, dma_addr_t bus, u32 len)
{
	put_desc(&q->tx.ring, i, bus, len | AXI_DESC_FIRST | AXI_DESC_LAST);
}

/* A tail without new descriptors would start the channel at one that is not ready. */
void axi_tx_ring(struct shell_queue *q)
{
	u32 to = q->tx.ring.pidx;

	if (q->tx.rung == to)
		return;
	q->tx.rung = to;
	writeq(desc_bus(&q->tx.ring, to ? to - 1 : SHELL_DESCS - 1),
	       q->s->user + AXI_TAIL(AXI_MM2S));
}

u32 axi_tx_done(struct shell_queue *q)
{
	struct shell_ring *ring = &q->tx.ring;
	u32 i = ring->cidx;

	while (i != ring->pidx && (status_of(ring, i) & AXI_DESC_COMPLETE))
		i = shell_after(i, SHELL_DESCS);
	return i;
}

/* ---- receive ----------------------------------------------------------------------- */

void axi_rx_post(struct shell_queue *q, u32 i)
{
	put_desc(&q->rx.ring, i, q->rx.bus[i], PAGE_SIZE);
}

/* All descriptors of a frame, from the first one to the last. */
int axi_rx_next(struct shell_queue *q)
{
	struct shell_ring *ring = &q->rx.ring;
	u32 i = ring->cidx, status, bytes, len = 0;
	bool first = true;

	do {
		status = status_of(ring, i);
		if (!(status & AXI_DESC_COMPLETE))
			return 0;
		/* Every page but the last one is full. */
		bytes = status & AXI_DESC_LENGTH;
		if (first != !!(status & AXI_DESC_FIRST) || (status & AXI_DESC_ERRORS) ||
		    len % PAGE_SIZE || len > SHELL_FRAME_MAX || bytes > PAGE_SIZE)
			return -1;
		len += bytes;
		i = shell_after(i, SHELL_DESCS);
		first = false;
	} while (!(status & AXI_DESC_LAST));
	dma_rmb();			/* the status before the frame */
	return len ? len : -1;
}

/* S2MM has the pages up to the one before the place that is read next. */
void axi_rx_return(struct shell_queue *q, bool armed)
{
	struct shell_ring *ring = &q->rx.ring;
	u32 to = ring->cidx;

	if (ring->pidx != to) {
		ring->pidx = to;
		writeq(desc_bus(ring, to ? to - 1 : SHELL_DESCS - 1),
		       q->s->user + AXI_TAIL(AXI_S2MM));
	}
	if (armed)
		arm(q->s, true);
}
