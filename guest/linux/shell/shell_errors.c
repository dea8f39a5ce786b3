// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The error interrupt of the QDMA. An error sets a bit of a register of its block, and
 * that block's bit in the global status; software clears both, and arms the interrupt
 * again.
 */
#include <linux/interrupt.h>
#include "shell_qdma.h"

/* Registers of errors; the mask of each follows it. */
static const struct {
	const char *name;
	u32 reg, mask;
	u32 global;			/* the bit of the block */
	u32 stops;			/* errors after which the queue does not work */
} blocks[] = {
	{ "descriptor", QDMA_DSC_ERR, 0x01f9037e, BIT(2),
	  0x01f9037e & ~QDMA_DSC_ERR_CANCEL },
	{ "doorbell", QDMA_TRQ_ERR, 0xb3, BIT(3), 0 },
	{ "C2H stream", QDMA_C2H_ERR, 0x3f6df, BIT(8), 0x3f6df },
	{ "fatal C2H", QDMA_C2H_FATAL_ERR, 0x1fdf1b, BIT(8), 0x1fdf1b },
	{ "H2C stream", QDMA_H2C_ERR, 0x3f, BIT(16), 0x3f },
};

static void arm(struct shell *s)
{
	qdma_write(s, QDMA_ERR_INT, QDMA_ERR_INT_ARM |
		   (s->mm_vector + 1) << QDMA_ERR_INT_VECTOR_SHIFT);
}

void qdma_errors_init(struct shell *s)
{
	u32 global = QDMA_ERR_CONTEXT;
	int i;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		qdma_write(s, blocks[i].reg, ~0);
		qdma_write(s, blocks[i].reg + 4, blocks[i].mask);
		global |= blocks[i].global;
	}
	qdma_write(s, QDMA_ERR_STATUS, ~0);
	qdma_write(s, QDMA_ERR_MASK, global);
	arm(s);
}

/* The ports of which @failed says it; NULL: both, as nothing says which. */
static void fail_ports(struct shell *s, bool (*failed)(struct shell *s))
{
	struct shell *second;

	if (!failed || failed(s))
		shell_rings_failed(s);
	/* Removal waits for this handler. */
	second = READ_ONCE(s->second);
	if (second && (!failed || failed(second)))
		shell_rings_failed(second);
}

irqreturn_t qdma_error_irq(int irq, void *data)
{
	struct shell *s = data;
	u32 global = qdma_read(s, QDMA_ERR_STATUS), status, log;
	int i;

	if (global == ~0u)
		return IRQ_NONE;		/* nothing is there any more */
	/* First, because an error that comes now must set it again. */
	qdma_write(s, QDMA_ERR_STATUS, global);
	log = qdma_read(s, QDMA_DSC_ERR_LOG);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		status = qdma_read(s, blocks[i].reg) & blocks[i].mask;
		if (!status)
			continue;
		dev_err_ratelimited(&s->pdev->dev, "%s error: %03x is %08x, last queue %08x\n",
				    blocks[i].name, blocks[i].reg, status, log);
		qdma_write(s, blocks[i].reg, status);
		/* Queues of the card's memory begin anew by themselves. */
		if (status & blocks[i].stops)
			fail_ports(s, blocks[i].reg == QDMA_DSC_ERR ? qdma_queues_failed :
				      NULL);
	}
	if (global & QDMA_ERR_CONTEXT)
		dev_err_ratelimited(&s->pdev->dev, "context error: %08x\n", global);
	arm(s);
	return IRQ_HANDLED;
}
