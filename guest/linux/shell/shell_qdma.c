// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The QDMA: global registers, and contexts by the indirect registers.
 */
#include <linux/iopoll.h>
#include "shell_qdma.h"

#define BUSY_POLL_US	10
#define BUSY_LIMIT_US	500000

/* Registers that do not depend on others. */
static const struct {
	u32 reg, value;
} globals[] = {
	/* Sizes of rings count the place of the status. */
	{ QDMA_RING_SIZE(SHELL_RING), SHELL_DESCS + 1 },
	{ QDMA_RING_SIZE(SHELL_RING_CMPT), SHELL_CMPTS + 1 },
	{ QDMA_RING_SIZE(SHELL_RING_MM), SHELL_MM_DESCS + 1 },
	{ QDMA_C2H_BUF_SIZE(SHELL_BUF), PAGE_SIZE },
	/* Greatest fetch and interval of status, as AMD's drivers have them. */
	{ QDMA_DSC_CFG, 0x35 },
	{ QDMA_C2H_PFCH, 0x100 },
	{ QDMA_C2H_PFCH_2, 8 },
	{ QDMA_C2H_TICK, 25 },			/* clocks of 4 ns */
	{ QDMA_H2C_THROTTLE, 0x06045000 },
};

static int command(struct shell *s, enum qdma_op op, enum qdma_selector selector, u32 number)
{
	u32 value;
	int err;

	qdma_write(s->first, QDMA_CTX_COMMAND, number << QDMA_CTX_NUMBER_SHIFT |
		   op << QDMA_CTX_OP_SHIFT | selector << QDMA_CTX_SELECTOR_SHIFT);
	err = readl_poll_timeout(s->first->qdma + QDMA_CTX_COMMAND, value,
				 !(value & QDMA_CTX_BUSY) || value == ~0u, BUSY_POLL_US,
				 BUSY_LIMIT_US);
	if (err)
		dev_err(&s->pdev->dev, "context %u of %u: busy\n", selector, number);
	else if (value == ~0u)
		err = -ENODEV;			/* nothing is there any more */
	return err;
}

/**
 * qdma_context() - a command for one context
 * @s: the card
 * @op: clear, write or invalidate
 * @selector: which context
 * @number: of the queue, or of the function
 * @words: QDMA_CTX_WORDS words to write, otherwise NULL
 *
 * Return: 0, -ETIMEDOUT if the engine stays busy, or -ENODEV without a card.
 */
int qdma_context(struct shell *s, enum qdma_op op, enum qdma_selector selector,
		 u32 number, const u32 *words)
{
	int i, err;

	/* Net devices and the character device come here at any time. */
	mutex_lock(&s->first->contexts);
	for (i = 0; words && i < QDMA_CTX_WORDS; i++) {
		qdma_write(s->first, QDMA_CTX_DATA(i), words[i]);
		qdma_write(s->first, QDMA_CTX_MASK(i), ~0);
	}
	err = command(s, op, selector, number);
	mutex_unlock(&s->first->contexts);
	return err;
}

/* An error of a queue that has ended stays in its context. */
static bool queue_failed(struct shell *s, u32 number)
{
	bool failed = false;
	int selector;
	u32 word;

	mutex_lock(&s->first->contexts);
	for (selector = QDMA_SW_C2H; selector <= QDMA_SW_H2C; selector++) {
		if (command(s, QDMA_READ, selector, number)) {
			failed = true;
			break;
		}
		word = qdma_read(s->first, QDMA_CTX_DATA(1));
		failed |= (word & QDMA_SW1_ENABLE) && (word & QDMA_SW1_ERROR);
	}
	mutex_unlock(&s->first->contexts);
	return failed;
}

bool qdma_queues_failed(struct shell *s)
{
	bool failed = false;
	u32 i;

	for (i = 0; i < s->queues; i++)
		failed |= queue_failed(s, qdma_number(&s->queue[i]));
	return failed;
}

static void init_globals(struct shell *s)
{
	u32 depth = qdma_read(s, QDMA_C2H_PFCH_DEPTH) / 2;
	int i;

	for (i = 0; i < ARRAY_SIZE(globals); i++)
		qdma_write(s, globals[i].reg, globals[i].value);
	/* The depth of the IP gives two thresholds, the tick of coalescing and its buffer. */
	qdma_write(s, QDMA_C2H_PFCH_1, depth | (depth - 2) << 16);
	qdma_write(s, QDMA_C2H_COALESCE,
		   5 << 2 | 25 << 14 | qdma_read(s, QDMA_C2H_CMPT_DEPTH) << 26);
}

/**
 * qdma_init() - identity and global registers
 * @s: the card, after its reset
 *
 * Return: 0, -ENODEV if BAR 0 is no QDMA with streams, or -ETIMEDOUT.
 */
int qdma_init(struct shell *s)
{
	u32 identifier = qdma_read(s, QDMA_IDENTIFIER), i;
	int err, selector;

	if ((identifier & QDMA_IDENTIFIER_MASK) != QDMA_IDENTIFIER_VALUE ||
	    (qdma_read(s, QDMA_ENGINES) & QDMA_ENGINES_STREAM) != QDMA_ENGINES_STREAM) {
		dev_err(&s->pdev->dev, "no QDMA with streams: identifier %08x\n", identifier);
		return -ENODEV;
	}
	for (i = 0; i < SHELL_QUEUES_NUM; i++) {
		for (selector = QDMA_SW_C2H; selector <= QDMA_PREFETCH; selector++) {
			err = qdma_context(s, QDMA_CLEAR, selector, i, NULL);
			if (err)
				return err;
		}
	}
	init_globals(s);
	return 0;
}

int qdma_function(struct shell *s, u32 queues)
{
	const u32 fmap[QDMA_CTX_WORDS] = { SHELL_FIRST_QUEUE(s->function), queues };

	if (!queues)
		return qdma_context(s, QDMA_CLEAR, QDMA_FMAP, s->function, NULL);
	return qdma_context(s, QDMA_WRITE, QDMA_FMAP, s->function, fmap);
}
