// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stream queue of the QDMA: contexts that name its rings, descriptors, completions and
 * doorbells.
 */
#include <linux/interrupt.h>
#include "shell_qdma.h"

/* ---- contexts ------------------------------------------------------------------------ */

/* The contexts that the queue needs, in the order in which they are written. */
static int write_contexts(struct shell_queue *q)
{
	u64 tx = q->tx.ring.bus, rx = q->rx.ring.bus, cmpt = q->rx.report.bus;
	u32 function = q->s->function << QDMA_SW0_FUNCTION_SHIFT;
	const struct {
		enum qdma_selector selector;
		u32 words[QDMA_CTX_WORDS];
	} contexts[] = {
		{ QDMA_PREFETCH, {
			SHELL_BUF << QDMA_PFCH0_BUF_SHIFT | QDMA_PFCH0_PREFETCH,
			QDMA_PFCH1_VALID } },
		{ QDMA_COMPLETION, {
			QDMA_CMPT0_STATUS | QDMA_CMPT0_IRQ | QDMA_CMPT0_EVERY |
			q->s->function << QDMA_CMPT0_FUNCTION_SHIFT |
			QDMA_CMPT0_COLOUR | SHELL_RING_CMPT << QDMA_CMPT0_RING_SHIFT,
			cmpt >> 6, cmpt >> 38, QDMA_CMPT3_VALID,
			q->number << QDMA_CMPT4_VECTOR_SHIFT } },
		{ QDMA_SW_C2H, {
			function, QDMA_SW1_ENABLE | QDMA_SW1_FETCH_CREDIT | QDMA_SW1_DESC_8 |
			SHELL_RING << QDMA_SW1_RING_SHIFT, rx, rx >> 32 } },
		{ QDMA_SW_H2C, {
			function, QDMA_SW1_ENABLE | QDMA_SW1_STATUS_ALL | QDMA_SW1_DESC_16 |
			QDMA_SW1_STATUS | QDMA_SW1_IRQ | QDMA_SW1_NO_MARKER |
			SHELL_RING << QDMA_SW1_RING_SHIFT, tx, tx >> 32,
			q->number } },
	};
	int i, err;

	for (i = QDMA_SW_C2H; i <= QDMA_PREFETCH; i++) {
		err = qdma_context(q->s, QDMA_CLEAR, i, qdma_number(q), NULL);
		if (err)
			return err;
	}
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		err = qdma_context(q->s, QDMA_WRITE, contexts[i].selector, qdma_number(q),
				   contexts[i].words);
		if (err)
			return err;
	}
	return 0;
}

int qdma_stream_open(struct shell_queue *q)
{
	int err;

	q->rx.colour = QDMA_ENTRY_COLOUR;
	err = write_contexts(q);
	if (!err)
		qdma_rx_return(q, false);	/* the first report waits for a doorbell */
	return err;
}

/* The engine reads and writes no ring after this, unless it fails. */
int qdma_stream_close(struct shell_queue *q)
{
	static const u8 order[] = {
		QDMA_SW_H2C, QDMA_HW_H2C, QDMA_CREDIT_H2C, QDMA_SW_C2H, QDMA_PREFETCH,
		QDMA_COMPLETION, QDMA_HW_C2H, QDMA_CREDIT_C2H,
	};
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		err = qdma_context(q->s, QDMA_INVALIDATE, order[i], qdma_number(q), NULL) ?:
		      err;
	/* An error of the queue that has ended does not stop the next one. */
	synchronize_irq(q->s->first->error_irq);
	return err;
}

/* ---- transmit -------------------------------------------------------------------------- */

void qdma_tx_post(struct shell_queue *q, u32 i, dma_addr_t bus, u32 len)
{
	((struct qdma_h2c_desc *)q->tx.ring.at)[i] = (struct qdma_h2c_desc) {
		.metadata = cpu_to_le32(len << q->s->kind->metadata_shift),
		.len = cpu_to_le16(len),
		.addr = cpu_to_le64(bus),
	};
}

/* Each doorbell arms the interrupt: it comes when all is complete. */
void qdma_tx_ring(struct shell_queue *q)
{
	qdma_write(q->s, QDMA_DB_H2C(q->number), q->tx.ring.pidx | QDMA_DB_ARM);
}

/* The index of the status, which the engine writes after the last place. */
u32 qdma_tx_done(struct shell_queue *q)
{
	struct qdma_h2c_desc *desc = q->tx.ring.at;
	__le32 *status = (__le32 *)&desc[SHELL_DESCS];
	u32 to = le32_to_cpu(READ_ONCE(*status)) >> QDMA_STATUS_CIDX_SHIFT;

	return to < SHELL_DESCS ? to : q->tx.ring.cidx;
}

/* ---- receive ------------------------------------------------------------------------------ */

void qdma_rx_post(struct shell_queue *q, u32 i)
{
	((__le64 *)q->rx.ring.at)[i] = cpu_to_le64(q->rx.bus[i]);
}

/* An entry that has the colour of this round. */
int qdma_rx_next(struct shell_queue *q)
{
	struct shell_ring *cmpt = &q->rx.report;
	__le64 *entries = cmpt->at;
	u64 entry = le64_to_cpu(READ_ONCE(entries[cmpt->cidx]));
	u32 len = entry >> q->s->kind->entry_shift & 0xffff;

	if ((entry & QDMA_ENTRY_COLOUR) != q->rx.colour)
		return 0;
	dma_rmb();			/* the entry before the frame */
	cmpt->cidx = shell_after(cmpt->cidx, SHELL_CMPTS);
	if (!cmpt->cidx)
		q->rx.colour ^= QDMA_ENTRY_COLOUR;
	return !len || (entry & QDMA_ENTRY_ERROR) ? -1 : len;
}

/* Entries and buffers, in this order: the completion ring must not be full. */
void qdma_rx_return(struct shell_queue *q, bool arm)
{
	struct shell_ring *ring = &q->rx.ring;

	qdma_write(q->s, QDMA_DB_CMPT(q->number), q->rx.report.cidx |
		   QDMA_DB_CMPT_EVERY | QDMA_DB_CMPT_STATUS | (arm ? QDMA_DB_CMPT_ARM : 0));
	/* All but one, so that a full ring does not look like an empty one. */
	ring->pidx = ring->cidx ? ring->cidx - 1 : SHELL_DESCS - 1;
	qdma_write(q->s, QDMA_DB_C2H(q->number), ring->pidx);
}
