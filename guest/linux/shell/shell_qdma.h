/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QDMA of OpenNIC's shell and RecoNIC's.
 */
#ifndef SHELL_QDMA_H
#define SHELL_QDMA_H

#include <linux/irqreturn.h>
#include "shell.h"
#include "shell_regs.h"

/*
 * The queues, each of both directions: those of frames of each function, and one of the
 * card's memory. Doorbells of a function count from its first one.
 */
#define SHELL_FIRST_QUEUE(f)	(64 * (f))
#define SHELL_MM_QUEUE		SHELL_QUEUES_MAX
#define SHELL_QUEUES_NUM	(SHELL_QUEUES_MAX + 1)
/* Which of the 16 ring sizes. */
#define SHELL_RING		0
#define SHELL_RING_CMPT		1
#define SHELL_RING_MM		2
/* Entries; a ring has one more place, for the status. */
#define SHELL_CMPTS		2047
#define SHELL_MM_DESCS		15
/* Which of the 16 buffer sizes. */
#define SHELL_BUF		0

static inline u32 qdma_number(const struct shell_queue *q)
{
	return SHELL_FIRST_QUEUE(q->s->function) + q->number;
}

/* shell_qdma.c */
int qdma_init(struct shell *s);
/* The queues of the function; 0: there are none. */
int qdma_function(struct shell *s, u32 queues);
int qdma_context(struct shell *s, enum qdma_op op, enum qdma_selector selector,
		 u32 number, const u32 *words);
/* Whether an error has stopped one of the queues of frames. */
bool qdma_queues_failed(struct shell *s);

/* shell_errors.c */
void qdma_errors_init(struct shell *s);
irqreturn_t qdma_error_irq(int irq, void *data);

/* shell_stream.c: operations of a queue */
int qdma_stream_open(struct shell_queue *q);
int qdma_stream_close(struct shell_queue *q);
void qdma_tx_post(struct shell_queue *q, u32 i, dma_addr_t bus, u32 len);
void qdma_tx_ring(struct shell_queue *q);
u32 qdma_tx_done(struct shell_queue *q);
void qdma_rx_post(struct shell_queue *q, u32 i);
int qdma_rx_next(struct shell_queue *q);
void qdma_rx_return(struct shell_queue *q, bool arm);

/* shell_mm.c */
int qdma_mm_open(struct shell *s);
void qdma_mm_close(struct shell *s);
int qdma_mm_copy(struct shell *s, int dir, void *buf, u64 card, size_t len);
irqreturn_t qdma_mm_irq(int irq, void *data);

#endif /* SHELL_QDMA_H */
