/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The xib shell: the registers of BAR 0, as docs/ernic-interface.md describes them, and
 * the channels of its AXI DMA (PG021).
 */
#ifndef SHELL_XIB_H
#define SHELL_XIB_H

#include <linux/bits.h>
#include "shell.h"

#define XIB_SIZE		0x400000

/* ---- the MAC (PG210) --------------------------------------------------------------- */

#define XIB_MAC_GT_RESET	0x100000
#define XIB_MAC_TX		0x10000c
#define XIB_MAC_TX_ADD_FCS	BIT(1)
#define XIB_MAC_RX		0x100014
#define XIB_MAC_RX_CUT_FCS	BIT(1)
#define XIB_MAC_ENABLE		BIT(0)		/* of both */
#define XIB_MAC_BLOCK_LOCK	0x10040c

/* ---- the AXI DMA ------------------------------------------------------------------- */

enum { AXI_MM2S, AXI_S2MM, AXI_CHANNELS };

#define AXI_CR(ch)		(0x200000 + 0x30 * (ch))
#define AXI_CR_RUN		BIT(0)
#define AXI_CR_RESET		BIT(2)		/* of both channels */
#define AXI_CR_THRESHOLD(n)	((n) << 16)	/* packets */
#define AXI_CR_DELAY(n)		((u32)(n) << 24)	/* of 125 clocks */
#define AXI_SR(ch)		(0x200004 + 0x30 * (ch))
#define AXI_SR_HALTED		BIT(0)
#define AXI_SR_SG		BIT(3)		/* it has scatter/gather */
#define AXI_SR_ERRORS		(GENMASK(10, 8) | GENMASK(6, 4))
#define AXI_CUR(ch)		(0x200008 + 0x30 * (ch))
#define AXI_TAIL(ch)		(0x200010 + 0x30 * (ch))
/* Causes in SR, and their enable bits in CR. */
#define AXI_IRQ_PACKETS		GENMASK(13, 12)	/* the threshold, or the delay is over */
#define AXI_IRQ_ERROR		BIT(14)

struct axi_desc {
	__le64 next;
	__le64 buf;
	__le64 reserved;
	__le32 control;			/* length, first, last */
	__le32 status;
	__le32 app[8];			/* five are the application's */
};

#define AXI_DESC_LENGTH		GENMASK(25, 0)
#define AXI_DESC_LAST		BIT(26)
#define AXI_DESC_FIRST		BIT(27)
#define AXI_DESC_ERRORS		GENMASK(30, 28)
#define AXI_DESC_COMPLETE	BIT(31)

/* ---- the ERNIC of 3.1 -------------------------------------------------------------- */

#define XIB_ERNIC		0x300000
#define XIB_REGIONS		256
#define XIB_REGION_LENGTH(i)	(XIB_ERNIC + 0x18 + 0x100 * (i))
#define XIB_REGION_ACCESS(i)	(XIB_ERNIC + 0x1c + 0x100 * (i))
#define XIB_ERNIC_CONF		(XIB_ERNIC + 0x20000)
#define XIB_ERNIC_ERRBUFSZ	(XIB_ERNIC + 0x20068)
#define XIB_ERNIC_IPKTERRQSZ	(XIB_ERNIC + 0x20090)
#define XIB_ERNIC_DATBUFSZ	(XIB_ERNIC + 0x200a8)
#define XIB_ERNIC_RESPERRSZ	(XIB_ERNIC + 0x200b8)
#define XIB_ERNIC_RESPERRSZMSB	(XIB_ERNIC + 0x200bc)
#define XIB_ERNIC_INTEN		(XIB_ERNIC + 0x20180)
#define XIB_ERNIC_QPS		255
#define XIB_ERNIC_QP_CONF(n)	(XIB_ERNIC + 0x20100 + 0x100 * (n))

/* shell_axi_dma.c: interrupts and reset of the channels, operations of the queue */
int axi_request_irqs(struct shell *s);
void axi_stop(struct shell *s);
int axi_reset(struct shell *s);
int axi_open(struct shell_queue *q);
int axi_close(struct shell_queue *q);
void axi_ack(struct shell_queue *q);
void axi_tx_post(struct shell_queue *q, u32 i, dma_addr_t bus, u32 len);
void axi_tx_ring(struct shell_queue *q);
u32 axi_tx_done(struct shell_queue *q);
void axi_rx_post(struct shell_queue *q, u32 i);
int axi_rx_next(struct shell_queue *q);
void axi_rx_return(struct shell_queue *q, bool arm);

#endif /* SHELL_XIB_H */
