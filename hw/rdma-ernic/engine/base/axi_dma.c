/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A channel of an AXI DMA. docs/ernic-interface.md has what is simpler than in PG021.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/axi_dma.h"
#include "hw/rdma-ernic/ernic_regs.h"

/* The words of a descriptor; the others are the application's. */
enum { DESC_NEXT, DESC_NEXT_MSB, DESC_BUF, DESC_BUF_MSB, DESC_CONTROL = 6,
       DESC_STATUS };

void ernic_axi_dma_reset(ErnicAxiDma *c)
{
    *c = (ErnicAxiDma) { .cr = PG332_DMACR_RESET_VALUE, .left = 1, .idle = true };
}

bool ernic_axi_dma_halted(const ErnicAxiDma *c)
{
    return !(c->cr & PG332_DMACR_RUN);
}

bool ernic_axi_dma_ready(const ErnicAxiDma *c)
{
    return !ernic_axi_dma_halted(c) && !c->idle;
}

bool ernic_axi_dma_irq(const ErnicAxiDma *c)
{
    return c->cr & c->sr & PG332_DMA_IRQS;
}

/* ---- descriptors ---------------------------------------------------------------- */

static uint64_t pair(const uint32_t *low)
{
    return le32_to_cpu(low[0]) | (uint64_t)le32_to_cpu(low[1]) << 32;
}

uint64_t ernic_axi_dma_begin(ErnicAxiDma *c)
{
    c->cur = c->next;
    return c->cur;
}

uint32_t ernic_axi_dma_take(ErnicAxiDma *c, const uint32_t words[ERNIC_AXI_DESC_WORDS],
                            uint32_t least, ErnicAxiDesc *desc)
{
    uint32_t control = le32_to_cpu(words[DESC_CONTROL]);

    *desc = (ErnicAxiDesc) {
        .at = c->cur, .next = pair(words + DESC_NEXT) & -(uint64_t)ERNIC_AXI_DESC_ALIGN,
        .buf = pair(words + DESC_BUF), .control = control,
        .len = control & PG332_DESC_LENGTH,
    };
    if ((le32_to_cpu(words[DESC_STATUS]) & PG332_DESC_COMPLETE) &&
        !(c->cr & PG332_DMACR_CYCLIC)) {
        return PG332_DMASR_SG_INTERNAL;
    }
    return desc->len < least ? PG332_DMASR_INTERNAL : 0;
}

void ernic_axi_dma_done(ErnicAxiDma *c, const ErnicAxiDesc *desc)
{
    c->next = desc->next;
    c->idle = desc->at == c->tail;
}

void ernic_axi_dma_fail(ErnicAxiDma *c, uint32_t error)
{
    c->sr |= error | PG332_DMA_ERROR_IRQ;
    c->cr &= ~PG332_DMACR_RUN;
}

/* ---- coalescing ----------------------------------------------------------------- */

/* The value of IRQThreshold; software cannot make it 0. */
static uint8_t threshold(const ErnicAxiDma *c)
{
    return c->cr >> PG332_DMACR_THRESHOLD_SHIFT;
}

static void report(ErnicAxiDma *c, uint32_t cause)
{
    c->sr |= cause;
    c->left = threshold(c);
}

bool ernic_axi_dma_packet(ErnicAxiDma *c)
{
    if (--c->left) {
        return false;
    }
    report(c, PG332_DMA_IOC_IRQ);
    return true;
}

uint32_t ernic_axi_dma_delay(const ErnicAxiDma *c)
{
    return c->cr >> PG332_DMACR_DELAY_SHIFT;
}

void ernic_axi_dma_expire(ErnicAxiDma *c)
{
    report(c, PG332_DMA_DELAY_IRQ);
}

/* ---- registers ------------------------------------------------------------------ */

uint32_t ernic_axi_dma_read(const ErnicAxiDma *c, uint32_t offset)
{
    switch (offset) {
    case ERNIC_AXI_CR:
        return c->cr;
    case ERNIC_AXI_SR:
        return c->sr | PG332_DMASR_SG_INCLUDED |
               (ernic_axi_dma_halted(c) ? PG332_DMASR_HALTED :
                c->idle ? PG332_DMASR_IDLE : 0) |
               (uint32_t)c->left << PG332_DMACR_THRESHOLD_SHIFT |
               (c->cr & PG332_DMACR_DELAY);
    case ERNIC_AXI_CUR:
        return c->cur;
    case ERNIC_AXI_CUR_MSB:
        return c->cur >> 32;
    case ERNIC_AXI_TAIL:
        return c->tail;
    case ERNIC_AXI_TAIL_MSB:
        return c->tail >> 32;
    default:
        return 0;
    }
}

static ErnicAxiWrite write_cr(ErnicAxiDma *c, uint32_t value)
{
    uint32_t keep = c->cr & PG332_DMACR_THRESHOLD;

    if (value & PG332_DMACR_RESET) {
        return ERNIC_AXI_RESET;
    }
    if (value & PG332_DMACR_THRESHOLD) {
        keep = value & PG332_DMACR_THRESHOLD;
    }
    value = (value & PG332_DMACR_WRITE) | PG332_DMACR_ONES | keep;
    if (keep != (c->cr & PG332_DMACR_THRESHOLD)) {
        c->left = keep >> PG332_DMACR_THRESHOLD_SHIFT;
    }
    if ((value & PG332_DMACR_RUN) && ernic_axi_dma_halted(c)) {
        /* After an error the channel has to be reset. */
        if (c->sr & PG332_DMASR_ERRORS) {
            value &= ~PG332_DMACR_RUN;
        }
        c->next = c->cur;
        c->idle = true;
    }
    c->cr = value;
    return ernic_axi_dma_halted(c) ? ERNIC_AXI_HALT : ERNIC_AXI_NONE;
}

static void set_low(uint64_t *reg, uint32_t value)
{
    *reg = (*reg & ~(uint64_t)UINT32_MAX) | (value & -ERNIC_AXI_DESC_ALIGN);
}

static void set_high(uint64_t *reg, uint32_t value)
{
    *reg = (*reg & UINT32_MAX) | (uint64_t)value << 32;
}

/* Descriptors up to the tail are the channel's, one at least. */
static ErnicAxiWrite go(ErnicAxiDma *c)
{
    if (ernic_axi_dma_halted(c)) {
        return ERNIC_AXI_NONE;
    }
    c->idle = false;
    return ERNIC_AXI_GO;
}

/*
 * A write of one half is all there is if the other half fits already, as in a
 * ring within 4 GiB. The second half of a pair goes unheeded then.
 */
static ErnicAxiWrite write_tail(ErnicAxiDma *c, bool high, uint32_t value)
{
    if (!high) {
        set_low(&c->tail, value);
        return c->tail >> 32 == c->next >> 32 ? go(c) : ERNIC_AXI_NONE;
    }
    if (c->tail >> 32 == value) {
        return ERNIC_AXI_NONE;
    }
    set_high(&c->tail, value);
    return go(c);
}

ErnicAxiWrite ernic_axi_dma_write_tail(ErnicAxiDma *c, uint64_t value)
{
    c->tail = value & -(uint64_t)ERNIC_AXI_DESC_ALIGN;
    return go(c);
}

ErnicAxiWrite ernic_axi_dma_write(ErnicAxiDma *c, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case ERNIC_AXI_CR:
        return write_cr(c, value);
    case ERNIC_AXI_SR:
        c->sr &= ~(value & PG332_DMA_IRQS);
        return ERNIC_AXI_NONE;
    case ERNIC_AXI_CUR:
    case ERNIC_AXI_CUR_MSB:
        if (ernic_axi_dma_halted(c) && offset == ERNIC_AXI_CUR) {
            set_low(&c->cur, value);
        } else if (ernic_axi_dma_halted(c)) {
            set_high(&c->cur, value);
        }
        return ERNIC_AXI_NONE;
    case ERNIC_AXI_TAIL:
    case ERNIC_AXI_TAIL_MSB:
        return write_tail(c, offset == ERNIC_AXI_TAIL_MSB, value);
    default:
        return ERNIC_AXI_NONE;
    }
}
