/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BAR 0 of a shell: the QDMA's registers as one table (PG302 and the EQDMA
 * drivers' offsets).
 */
#include "qemu/osdep.h"
#include "bars/qdma/contexts.h"
#include "bars/qdma/doorbells.h"
#include "bars/qdma/errors.h"
#include "bars/qdma/qdma.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/rules.h"
#include "device/card.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

#define ALL     0xffffffffu
/* Engines of both directions: streams, and those of memory if the card has some. */
#define STREAMS 0x30000
#define MEMORY  0x101
#define RUN     1u              /* of the memory-mapped engines' control */

/* Registers at consecutive offsets. */
typedef struct QdmaReg {
    const char *name;
    uint32_t at;
    uint32_t words;             /* 0: 1 */
    uint32_t value;             /* after a reset */
    uint32_t writable;          /* bits that a write stores or, with @clears, clears */
    bool clears;                /* writing 1 to a bit clears it */
    bool live;                  /* read-only, but the device changes it */
    void (*wrote)(ErnicPci *d, uint32_t value);
    uint32_t (*read)(const ErnicPci *d);        /* @d: the function that reads */
} QdmaReg;

static uint32_t function_of(const ErnicPci *d)
{
    return d != ernic_pci_first(d);
}

/* Six bits for each function: the BAR of these registers, and that of the shell. */
static uint32_t for_functions(const ErnicPci *d, uint32_t bar)
{
    const ErnicPci *second = ernic_pci_first(d)->shell.second;

    return second && !ernic_pci_hidden(second) ? bar << 6 | bar : bar;
}

static uint32_t read_bar(const ErnicPci *d)
{
    return for_functions(d, 1 << ERNIC_RECONIC_BAR_QDMA);
}

static uint32_t read_user_bar(const ErnicPci *d)
{
    return for_functions(d, 1 << ERNIC_RECONIC_BAR_USER);
}

static void wrote_error_interrupt(ErnicPci *d, uint32_t value)
{
    qdma_error_interrupt(d);
}

static void wrote_run(ErnicPci *d, uint32_t value)
{
    ernic_pci_card_kick(d);
}

static void set_c2h_run(ErnicPci *d, uint32_t value)
{
    *qdma_reg(d->shell.qdma, QDMA_C2H_MM_CTL, 0) |= value & RUN;
    ernic_pci_card_kick(d);
}

static void clear_c2h_run(ErnicPci *d, uint32_t value)
{
    *qdma_reg(d->shell.qdma, QDMA_C2H_MM_CTL, 0) &= ~(value & RUN);
}

static void set_h2c_run(ErnicPci *d, uint32_t value)
{
    *qdma_reg(d->shell.qdma, QDMA_H2C_MM_CTL, 0) |= value & RUN;
    ernic_pci_card_kick(d);
}

static void clear_h2c_run(ErnicPci *d, uint32_t value)
{
    *qdma_reg(d->shell.qdma, QDMA_H2C_MM_CTL, 0) &= ~(value & RUN);
}

#define CONST(name, at, value)      { name, at, 1, value }
#define STORED(name, at, words)     { name, at, words, 0, ALL }
#define BITS(name, at, words, mask) { name, at, words, 0, mask }
#define STATUS(name, at)            { name, at, 1, 0, ALL, .clears = true }
#define LIVE(name, at)              { name, at, 1, .live = true }

static const QdmaReg regs[] = {
    /* Identity: software IP, EQDMA 4.0 of Vivado 2020.2, without mailbox and FLR. */
    CONST("CFG_BLK_IDENTIFIER", 0x000, 0x1fd30000),
    { "GLBL2_PF_BARLITE_INT", 0x104, .read = read_bar },
    { "GLBL2_PF_BARLITE_EXT", 0x10c, .read = read_user_bar },
    CONST("GLBL2_CHANNEL_MDMA", QDMA_CHANNEL_MDMA, STREAMS),
    CONST("GLBL2_CHANNEL_CAP", 0x120, ERNIC_QDMA_QUEUES),
    { "GLBL2_CHANNEL_FUNC_RET", 0x12c, .read = function_of },
    CONST("GLBL2_MISC_CAP", 0x134, 0x01100000),
    /* Errors. */
    STORED("RAM_SBE_MSK_1", 0x0e0, 1), STATUS("RAM_SBE_STS_1", 0x0e4),
    STORED("RAM_DBE_MSK_1", 0x0e8, 1), STATUS("RAM_DBE_STS_1", 0x0ec),
    STORED("RAM_SBE_MSK", 0x0f0, 1), STATUS("RAM_SBE_STS", 0x0f4),
    STORED("RAM_DBE_MSK", 0x0f8, 1), STATUS("RAM_DBE_STS", 0x0fc),
    STATUS("GLBL_ERR_STAT", QDMA_ERR_STAT), STORED("GLBL_ERR_MASK", QDMA_ERR_MASK, 1),
    STATUS("GLBL_DSC_ERR_STS", QDMA_DSC_ERR_STS), STORED("GLBL_DSC_ERR_MSK", 0x258, 1),
    LIVE("GLBL_DSC_ERR_LOG0", QDMA_DSC_ERR_LOG0),
    LIVE("GLBL_DSC_ERR_LOG1", QDMA_DSC_ERR_LOG1),
    STATUS("GLBL_TRQ_ERR_STS", QDMA_TRQ_ERR_STS), STORED("GLBL_TRQ_ERR_MSK", 0x268, 1),
    CONST("GLBL_TRQ_ERR_LOG", 0x26c, 0),
    CONST("GLBL_DSC_DBG_DAT0", 0x270, 0), CONST("GLBL_DSC_DBG_DAT1", 0x274, 0),
    CONST("GLBL_DSC_ERR_LOG2", 0x27c, 0),
    STATUS("C2H_ERR_STAT", QDMA_C2H_ERR_STAT), STORED("C2H_ERR_MASK", 0xaf4, 1),
    STATUS("C2H_FATAL_ERR_STAT", 0xaf8), STORED("C2H_FATAL_ERR_MASK", 0xafc, 1),
    STORED("C2H_FATAL_ERR_ENABLE", 0xb00, 1),
    { "GLBL_ERR_INT", QDMA_ERR_INT, 1, 0, ALL, .wrote = wrote_error_interrupt },
    LIVE("C2H_FIRST_ERR_QID", QDMA_C2H_FIRST_ERR),
    STATUS("H2C_ERR_STAT", QDMA_H2C_ERR_STAT), STORED("H2C_ERR_MASK", 0xe04, 1),
    /* Rings, buffers, thresholds, timers. */
    BITS("GLBL_RNG_SZ", QDMA_RNG_SZ, 16, 0xffff),
    STORED("GLBL_DSC_CFG", QDMA_DSC_CFG, 1), STORED("GLBL_INTERRUPT_CFG", 0x2c4, 1),
    BITS("C2H_TIMER_CNT", QDMA_C2H_TIMER_CNT, 16, 0xffff),
    BITS("C2H_CNT_TH", QDMA_C2H_CNT_TH, 16, 0xffff),
    STORED("C2H_PFCH_CFG_1", 0xa80, 1), STORED("C2H_PFCH_CFG_2", 0xa84, 1),
    STORED("C2H_BUF_SZ", QDMA_C2H_BUF_SZ, 16), STORED("C2H_PFCH_CFG", 0xb08, 1),
    STORED("C2H_INT_TIMER_TICK", QDMA_C2H_TIMER_TICK, 1),
    STORED("C2H_WRB_COAL_CFG", 0xb50, 1),
    CONST("C2H_PFCH_CACHE_DEPTH", 0xbe0, 0x40),
    CONST("C2H_WRB_COAL_BUF_DEPTH", 0xbe4, 0x20),
    STORED("H2C_REQ_THROT", 0xe24, 1),
    /* Contexts. */
    STORED("IND_CTXT_DATA", QDMA_IND_CTXT_DATA, ERNIC_QDMA_DATA_WORDS),
    STORED("IND_CTXT_MASK", QDMA_IND_CTXT_MASK, ERNIC_QDMA_DATA_WORDS),
    { "IND_CTXT_CMD", QDMA_IND_CTXT_CMD, 1, 0, 0xffffe, .wrote = qdma_context_command },
    /* Memory-mapped engines: control, set, clear; status. */
    { "C2H_MM_CTL", QDMA_C2H_MM_CTL, 1, 0, RUN, .wrote = wrote_run },
    { "C2H_MM_CTL_W1S", 0x1008, .wrote = set_c2h_run },
    { "C2H_MM_CTL_W1C", 0x100c, .wrote = clear_c2h_run },
    CONST("C2H_MM_STATUS", 0x1040, 0), LIVE("C2H_MM_CMPL_DESC_CNT", QDMA_C2H_MM_COUNT),
    CONST("C2H_MM_ERR_CODE", 0x1058, 0), CONST("C2H_MM_ERR_INFO", 0x105c, 0),
    { "H2C_MM_CTL", QDMA_H2C_MM_CTL, 1, 0, RUN, .wrote = wrote_run },
    { "H2C_MM_CTL_W1S", 0x1208, .wrote = set_h2c_run },
    { "H2C_MM_CTL_W1C", 0x120c, .wrote = clear_h2c_run },
    CONST("H2C_MM_STATUS", 0x1240, 0), LIVE("H2C_MM_CMPL_DESC_CNT", QDMA_H2C_MM_COUNT),
    CONST("H2C_MM_ERR_CODE", 0x1258, 0), CONST("H2C_MM_ERR_INFO", 0x125c, 0),
};

static const QdmaReg *find(hwaddr off)
{
    const QdmaReg *r;

    for (r = regs; r < regs + ARRAY_SIZE(regs); r++) {
        if (off >= r->at && off - r->at < MAX(r->words, 1) * 4) {
            return r;
        }
    }
    return NULL;
}

static bool is_doorbell(hwaddr off)
{
    return off >= QDMA_DOORBELLS &&
           off < QDMA_DOORBELLS + ERNIC_QDMA_QUEUES * QDMA_DOORBELL_SIZE;
}

static uint64_t qdma_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *function = opaque, *d = ernic_pci_first(function);
    const QdmaReg *r = find(off);
    uint32_t value;

    if (ernic_pci_gone(d)) {
        return 0;               /* this is a second port */
    }
    if (is_doorbell(off)) {
        return qdma_doorbell_read(d, function_of(function), off);
    }
    if (!r) {
        ernic_guest_bad_read(d, off, size);
        return 0;
    }
    value = r->read ? r->read(function) : *qdma_reg(d->shell.qdma, off, 0);
    trace_ernic_pci_read(ernic_pci_id(d), r->name, value);
    return value;
}

static void qdma_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *function = opaque, *d = ernic_pci_first(function);
    const QdmaReg *r = find(off);
    uint32_t *reg;

    if (ernic_pci_gone(d)) {
        return;                 /* this is a second port */
    }
    if (is_doorbell(off)) {
        qdma_doorbell_write(d, function_of(function), off, value);
        return;
    }
    qdma_rules(d, &(QdmaAccess) {
        .moment = QDMA_WRITES, .queue = QDMA_NO_QUEUE, .at = off, .value = value,
        .writable = r ? r->writable : 0,
        .refused = !r || (!r->writable && !r->wrote),
    });
    if (!r || (!r->writable && !r->wrote)) {
        ernic_guest_bad_write(d, off, size, value);
        return;
    }
    trace_ernic_pci_write(ernic_pci_id(d), r->name, value);
    reg = qdma_reg(d->shell.qdma, off, 0);
    if (r->clears) {
        *reg &= ~(value & r->writable);
    } else {
        *reg = (*reg & ~r->writable) | (value & r->writable);
    }
    if (r->wrote) {
        r->wrote(d, value);
    }
}

const MemoryRegionOps ernic_qdma_ops = {
    .read = qdma_read,
    .write = qdma_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

void qdma_regs_reset(ErnicPci *d)
{
    ErnicQdma *q = d->shell.qdma;
    const QdmaReg *r;

    memset(q->regs, 0, sizeof(q->regs));
    for (r = regs; r < regs + ARRAY_SIZE(regs); r++) {
        *qdma_reg(q, r->at, 0) = r->value;
    }
    *qdma_reg(q, QDMA_CHANNEL_MDMA, 0) |= d->shell.card_size ? MEMORY : 0;
}

void qdma_regs_loaded(ErnicPci *d)
{
    ErnicQdma *q = d->shell.qdma;
    g_autofree uint32_t *was = g_memdup2(q->regs, sizeof(q->regs));
    const QdmaReg *r;
    uint32_t i;

    qdma_regs_reset(d);
    for (r = regs; r < regs + ARRAY_SIZE(regs); r++) {
        for (i = 0; i < r->words; i++) {
            *qdma_reg(q, r->at, i) |= was[r->at / 4 + i] &
                                      (r->live ? ALL : r->writable);
        }
    }
}
