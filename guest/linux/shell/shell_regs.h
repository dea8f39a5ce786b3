/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the QDMA (BAR 0, PG302) and of the shell (BAR 2), and the fields of
 * contexts, descriptors and completions, as docs/ernic-interface.md describes them.
 */
#ifndef SHELL_REGS_H
#define SHELL_REGS_H

#include <linux/bits.h>

/* ---- BAR 0: the QDMA ---------------------------------------------------------- */

#define QDMA_BAR		0
#define QDMA_IDENTIFIER		0x000
#define QDMA_IDENTIFIER_MASK	GENMASK(31, 16)
#define QDMA_IDENTIFIER_VALUE	0x1fd30000
#define QDMA_ENGINES		0x118
#define QDMA_ENGINES_STREAM	GENMASK(17, 16)
#define QDMA_RING_SIZE(i)	(0x204 + 4 * (i))
#define QDMA_ERR_STATUS		0x248
#define QDMA_ERR_MASK		0x24c
#define QDMA_ERR_CONTEXT	GENMASK(14, 9)	/* of a context command */
#define QDMA_DSC_CFG		0x250
#define QDMA_DSC_ERR		0x254		/* status; the mask follows */
#define QDMA_DSC_ERR_CANCEL	BIT(22)		/* work of a queue that software ended */
#define QDMA_DSC_ERR_LOG	0x25c
#define QDMA_TRQ_ERR		0x264
#define QDMA_CTX_DATA(i)	(0x804 + 4 * (i))
#define QDMA_CTX_MASK(i)	(0x824 + 4 * (i))
#define QDMA_CTX_COMMAND	0x844
#define QDMA_CTX_BUSY		BIT(0)
#define QDMA_CTX_SELECTOR_SHIFT	1
#define QDMA_CTX_OP_SHIFT	5
#define QDMA_CTX_NUMBER_SHIFT	7
#define QDMA_C2H_PFCH_1		0xa80
#define QDMA_C2H_PFCH_2		0xa84
#define QDMA_C2H_BUF_SIZE(i)	(0xab0 + 4 * (i))
#define QDMA_C2H_ERR		0xaf0
#define QDMA_C2H_FATAL_ERR	0xaf8
#define QDMA_ERR_INT		0xb04
#define QDMA_ERR_INT_ARM	BIT(24)
#define QDMA_ERR_INT_VECTOR_SHIFT 12
#define QDMA_C2H_PFCH		0xb08
#define QDMA_C2H_TICK		0xb0c
#define QDMA_C2H_COALESCE	0xb50
#define QDMA_C2H_PFCH_DEPTH	0xbe0
#define QDMA_C2H_CMPT_DEPTH	0xbe4
#define QDMA_H2C_ERR		0xe00
#define QDMA_H2C_THROTTLE	0xe24
#define QDMA_C2H_MM_RUN		0x1004
#define QDMA_H2C_MM_RUN		0x1204
#define QDMA_DB_H2C(q)		(0x18004 + 16 * (q))
#define QDMA_DB_C2H(q)		(0x18008 + 16 * (q))
#define QDMA_DB_CMPT(q)		(0x1800c + 16 * (q))
#define QDMA_DB_ARM		BIT(16)
#define QDMA_DB_CMPT_EVERY	(1 << 24)	/* trigger mode: report at once */
#define QDMA_DB_CMPT_STATUS	BIT(27)
#define QDMA_DB_CMPT_ARM	BIT(28)

enum qdma_selector {
	QDMA_SW_C2H, QDMA_SW_H2C, QDMA_HW_C2H, QDMA_HW_H2C, QDMA_CREDIT_C2H,
	QDMA_CREDIT_H2C, QDMA_COMPLETION, QDMA_PREFETCH, QDMA_FMAP = 12,
};

enum qdma_op { QDMA_CLEAR, QDMA_WRITE, QDMA_READ, QDMA_INVALIDATE };

#define QDMA_CTX_WORDS		8

/* Software context. */
#define QDMA_SW0_FUNCTION_SHIFT	17
#define QDMA_SW1_ENABLE		BIT(0)
#define QDMA_SW1_FETCH_CREDIT	BIT(1)		/* C2H streams */
#define QDMA_SW1_STATUS_ALL	BIT(2)		/* when all is complete */
#define QDMA_SW1_RING_SHIFT	12
#define QDMA_SW1_DESC_8		(0 << 16)
#define QDMA_SW1_DESC_16	(1 << 16)
#define QDMA_SW1_DESC_32	(2 << 16)
#define QDMA_SW1_STATUS		BIT(20)
#define QDMA_SW1_IRQ		BIT(21)
#define QDMA_SW1_ERROR		GENMASK(27, 26)	/* by the engine */
#define QDMA_SW1_NO_MARKER	BIT(30)
#define QDMA_SW1_MM		BIT(31)		/* memory-mapped */
/* Completion context. */
#define QDMA_CMPT0_STATUS	BIT(0)
#define QDMA_CMPT0_IRQ		BIT(1)
#define QDMA_CMPT0_EVERY	(1 << 2)
#define QDMA_CMPT0_FUNCTION_SHIFT 5
#define QDMA_CMPT0_COLOUR	BIT(27)
#define QDMA_CMPT0_RING_SHIFT	28
#define QDMA_CMPT3_VALID	BIT(28)
#define QDMA_CMPT4_VECTOR_SHIFT	4
/* Prefetch context. */
#define QDMA_PFCH0_BUF_SHIFT	1
#define QDMA_PFCH0_PREFETCH	BIT(27)
#define QDMA_PFCH1_VALID	BIT(13)

/* A descriptor of the H2C stream engine: one frame. */
struct qdma_h2c_desc {
	__le32 metadata;
	__le16 len;
	__le16 flags;
	__le64 addr;
};

/* A descriptor of the memory-mapped engines. */
struct qdma_mm_desc {
	__le64 from;
	__le32 len;
	__le32 reserved0;
	__le64 to;
	__le64 reserved1;
};

/* Bits beside the length: valid, first and last of a request. */
#define QDMA_MM_WHOLE		GENMASK(30, 28)

/* The status at the end of a ring of descriptors. */
#define QDMA_STATUS_ERROR	GENMASK(1, 0)
#define QDMA_STATUS_CIDX_SHIFT	16
/* An entry of a completion ring. */
#define QDMA_ENTRY_COLOUR	BIT_ULL(1)
#define QDMA_ENTRY_ERROR	BIT_ULL(2)

/* ---- BAR 2: the shell ----------------------------------------------------------- */

#define SHELL_BAR		2
#define SHELL_CARD_BAR		4
#define SHELL_SYSTEM_RESET	0x0004
#define SHELL_SYSTEM_STATUS	0x0008
#define SHELL_RESET		0x000c
#define SHELL_STATUS		0x0010
#define SHELL_ERNIC		BIT(1)		/* of both */
/* Of a function, which is a port. */
#define SHELL_QUEUES(f)		(0x1000 + 0x1000 * (f))
#define SHELL_TABLE(f, i)	(0x1400 + 0x1000 * (f) + 4 * (i))
#define SHELL_KEY(f, i)		(0x1600 + 0x1000 * (f) + 4 * (i))
#define SHELL_MAC(f, reg)	(0x8000 + 0x4000 * (f) + (reg))
#define SHELL_MAC_TX		0x000c
#define SHELL_MAC_RX		0x0014
#define SHELL_MAC_LINK		0x0204
#define SHELL_MAC_LINK_UP	0x3		/* status and alignment */
#define SHELL_MAC_FEC		0x1000
#define SHELL_MAC_FEC_MODE	0x107c
#define SHELL_TX_LOST		0x3010		/* 64 bits each, low word first */
#define SHELL_RX_LOST		0x3030

#endif /* SHELL_REGS_H */
