/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets of the QDMA's registers that other files use; the table of all of them is in
 * registers.c.
 */
#ifndef ERNIC_BARS_QDMA_REGISTERS_H
#define ERNIC_BARS_QDMA_REGISTERS_H

#include "bars/qdma/qdma.h"

enum {
    QDMA_CHANNEL_MDMA = 0x118,
    QDMA_RNG_SZ = 0x204,                /* 16 words */
    QDMA_ERR_STAT = 0x248,
    QDMA_ERR_MASK = 0x24c,
    QDMA_DSC_CFG = 0x250,
    QDMA_DSC_ERR_STS = 0x254,           /* its mask follows */
    QDMA_DSC_ERR_LOG0 = 0x25c,
    QDMA_DSC_ERR_LOG1 = 0x260,
    QDMA_TRQ_ERR_STS = 0x264,           /* its mask follows */
    QDMA_C2H_TIMER_CNT = 0xa00,         /* 16 words */
    QDMA_C2H_CNT_TH = 0xa40,            /* 16 words */
    QDMA_C2H_BUF_SZ = 0xab0,            /* 16 words */
    QDMA_C2H_ERR_STAT = 0xaf0,          /* its mask follows */
    QDMA_ERR_INT = 0xb04,
    QDMA_C2H_TIMER_TICK = 0xb0c,
    QDMA_C2H_FIRST_ERR = 0xb30,
    QDMA_H2C_ERR_STAT = 0xe00,          /* its mask follows */
    QDMA_IND_CTXT_DATA = 0x804,         /* 8 words */
    QDMA_IND_CTXT_MASK = 0x824,         /* 8 words */
    QDMA_IND_CTXT_CMD = 0x844,
    QDMA_C2H_MM_CTL = 0x1004,
    QDMA_C2H_MM_COUNT = 0x1048,
    QDMA_H2C_MM_CTL = 0x1204,
    QDMA_H2C_MM_COUNT = 0x1248,
};

/* A register, or word @i of an array of registers. */
static inline uint32_t *qdma_reg(ErnicQdma *q, uint32_t at, uint32_t i)
{
    assert(at / 4 + i < ERNIC_QDMA_CSR_SIZE / 4);
    return &q->regs[at / 4 + i];
}

/* Registers after a reset. */
void qdma_regs_reset(ErnicPci *d);
/* Drops the bits of migrated registers that software cannot have set. */
void qdma_regs_loaded(ErnicPci *d);

#endif /* ERNIC_BARS_QDMA_REGISTERS_H */
