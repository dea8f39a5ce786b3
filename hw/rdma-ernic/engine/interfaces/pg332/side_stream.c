/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The S2MM channel of an AXI DMA in scatter/gather mode (PG021), as far as
 * entries of 8 bytes need it: each takes one descriptor. docs/ernic-interface.md has
 * what is simpler than there.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/pg332/side_stream.h"
#include "timing/hooks.h"
#include "trace.h"
#include "hw/rdma-ernic/ernic_regs.h"

#define ENTRY_BYTES     8
/* A descriptor: 13 words, of which the last are the application's. */
#define DESC_ALIGN      64
#define DESC_WORDS      8
enum { DESC_NEXT, DESC_NEXT_MSB, DESC_BUF, DESC_BUF_MSB, DESC_CONTROL = 6,
       DESC_STATUS };
/* The interrupt of the channel: PG332's own is 0. */
#define SIDE_VECTOR     1

ErnicSide *ernic_side_new(void)
{
    ErnicSide *side = g_new0(ErnicSide, 1);

    side->cr = PG332_DMACR_RESET_VALUE;
    side->left = 1;
    side->idle = true;
    return side;
}

void ernic_side_free(ErnicSide *side)
{
    g_free(side);
}

/* ---- interrupt ---------------------------------------------------------------- */

bool ernic_side_irq(const Ernic *e)
{
    return e->side->cr & e->side->sr & PG332_DMA_IRQS;
}

/* The interrupt was @was before a change: send a message if it is raised now. */
static void side_rise(Ernic *e, bool was)
{
    if (!was && ernic_side_irq(e)) {
        e->stats.interrupts++;
        ernic_timed_irq(e, SIDE_VECTOR);
    }
}

/* The value of IRQThreshold; software cannot make it 0. */
static uint8_t threshold(const ErnicSide *side)
{
    return side->cr >> PG332_DMACR_THRESHOLD_SHIFT;
}

/* An entry is done. No timer ends the wait for the threshold. */
static void side_done(Ernic *e)
{
    ErnicSide *side = e->side;
    bool was = ernic_side_irq(e);

    side->left--;
    if (side->left && !(side->cr & PG332_DMACR_DELAY)) {
        return;
    }
    side->sr |= side->left ? PG332_DMA_DELAY_IRQ : PG332_DMA_IOC_IRQ;
    side->left = threshold(side);
    side_rise(e, was);
}

/* ---- entries to memory --------------------------------------------------------- */

static bool halted(const ErnicSide *side)
{
    return !(side->cr & PG332_DMACR_RUN);
}

/* Nobody listens any more. */
static void side_halt(ErnicSide *side)
{
    side->cr &= ~PG332_DMACR_RUN;
    side->lost += side->count;
    side->count = 0;
}

static void side_fail(Ernic *e, uint64_t at, uint32_t error)
{
    bool was = ernic_side_irq(e);

    trace_ernic_guest_side(at, error);
    e->side->sr |= error | PG332_DMA_ERROR_IRQ;
    side_halt(e->side);
    side_rise(e, was);
}

/* The error that keeps @desc from being used; 0: none. */
static uint32_t check_descriptor(const ErnicSide *side, const uint32_t desc[DESC_WORDS])
{
    if ((desc[DESC_STATUS] & PG332_DESC_COMPLETE) &&
        !(side->cr & PG332_DMACR_CYCLIC)) {
        return PG332_DMASR_SG_INTERNAL;
    }
    return (desc[DESC_CONTROL] & PG332_DESC_LENGTH) < ENTRY_BYTES ?
           PG332_DMASR_INTERNAL : 0;
}

static uint64_t pair(const uint32_t *low)
{
    return low[0] | (uint64_t)low[1] << 32;
}

/* The oldest entry into the next descriptor: data first, then the status. */
static void side_one(Ernic *e)
{
    ErnicSide *side = e->side;
    uint64_t at = side->next, entry = cpu_to_le64(side->fifo[side->head]);
    uint32_t status = cpu_to_le32(ENTRY_BYTES | PG332_DESC_SOF |
                                  PG332_DESC_EOF | PG332_DESC_COMPLETE);
    uint32_t desc[DESC_WORDS], error, i;

    ernic_charge_copy(e, sizeof(desc) + ENTRY_BYTES);
    if (!e->ops->dma_read(e->env, at, desc, sizeof(desc))) {
        side_fail(e, at, PG332_DMASR_SG_DECODE);
        return;
    }
    for (i = 0; i < DESC_WORDS; i++) {
        desc[i] = le32_to_cpu(desc[i]);
    }
    side->cur = at;
    error = check_descriptor(side, desc);
    if (error) {
        side_fail(e, at, error);
        return;
    }
    if (!e->ops->dma_write(e->env, pair(desc + DESC_BUF), &entry,
                           ENTRY_BYTES)) {
        side_fail(e, at, PG332_DMASR_DECODE);
        return;
    }
    if (!e->ops->dma_write(e->env, at + DESC_STATUS * 4, &status,
                           sizeof(status))) {
        side_fail(e, at, PG332_DMASR_SG_DECODE);
        return;
    }
    trace_ernic_side_entry(at, side->fifo[side->head]);
    side->next = pair(desc + DESC_NEXT) & -(uint64_t)DESC_ALIGN;
    side->head = (side->head + 1) & (ERNIC_SIDE_FIFO - 1);
    side->count--;
    side->idle = at == side->tail;
    side_done(e);
}

static void side_run(Ernic *e)
{
    ErnicSide *side = e->side;

    while (side->count && !halted(side) && !side->idle) {
        side_one(e);
    }
}

bool ernic_side_room(const Ernic *e)
{
    /* Any completion on its way may bring one. */
    return halted(e->side) ||
           e->side->count + ernic_timed_cqes(e) < ERNIC_SIDE_FIFO;
}

void ernic_side_push(Ernic *e, uint64_t entry)
{
    ErnicSide *side = e->side;

    if (halted(side) || side->count == ERNIC_SIDE_FIFO) {
        trace_ernic_side_lost(entry);
        side->lost++;
        return;
    }
    side->fifo[(side->head + side->count) & (ERNIC_SIDE_FIFO - 1)] = entry;
    side->count++;
    side_run(e);
}

/* ---- registers ------------------------------------------------------------------ */

uint32_t ernic_side_read(const Ernic *e, uint32_t offset)
{
    const ErnicSide *side = e->side;

    switch (offset) {
    case PG332_SIDE_DMACR:
        return side->cr;
    case PG332_SIDE_DMASR:
        return side->sr | PG332_DMASR_SG_INCLUDED |
               (halted(side) ? PG332_DMASR_HALTED :
                side->idle ? PG332_DMASR_IDLE : 0) |
               (uint32_t)side->left << PG332_DMACR_THRESHOLD_SHIFT |
               (side->cr & PG332_DMACR_DELAY);
    case PG332_SIDE_CURDESC:
        return side->cur;
    case PG332_SIDE_CURDESC_MSB:
        return side->cur >> 32;
    case PG332_SIDE_TAILDESC:
        return side->tail;
    case PG332_SIDE_TAILDESC_MSB:
        return side->tail >> 32;
    case PG332_SIDE_WAITING:
        return side->count;
    case PG332_SIDE_LOST:
        return side->lost;
    default:
        trace_ernic_guest_pg332_hole(offset);
        return 0;
    }
}

static void write_cr(Ernic *e, uint32_t value)
{
    ErnicSide *side = e->side;
    bool was = ernic_side_irq(e);
    uint32_t keep = side->cr & PG332_DMACR_THRESHOLD;

    if (value & PG332_DMACR_RESET) {
        ernic_side_free(side);
        e->side = ernic_side_new();
        return;
    }
    if (value & PG332_DMACR_THRESHOLD) {
        keep = value & PG332_DMACR_THRESHOLD;
    }
    value = (value & PG332_DMACR_WRITE) | PG332_DMACR_ONES | keep;
    if (keep != (side->cr & PG332_DMACR_THRESHOLD)) {
        side->left = keep >> PG332_DMACR_THRESHOLD_SHIFT;
    }
    if (!(value & PG332_DMACR_RUN)) {
        side_halt(side);
    } else if (halted(side)) {
        /* After an error the channel has to be reset. */
        if (side->sr & PG332_DMASR_ERRORS) {
            value &= ~PG332_DMACR_RUN;
        }
        side->next = side->cur;
        side->idle = true;
    }
    side->cr = value;
    side_rise(e, was);
}

static void set_low(uint64_t *reg, uint32_t value)
{
    *reg = (*reg & ~(uint64_t)UINT32_MAX) | (value & -DESC_ALIGN);
}

static void set_high(uint64_t *reg, uint32_t value)
{
    *reg = (*reg & UINT32_MAX) | (uint64_t)value << 32;
}

/* Descriptors up to the tail are the channel's, one at least. */
static void side_go(Ernic *e)
{
    if (!halted(e->side)) {
        e->side->idle = false;
        side_run(e);
    }
}

/*
 * A write of one half is all there is if the other half fits already, as in a
 * ring within 4 GiB. The second half of a pair goes unheeded then.
 */
static void write_tail(Ernic *e, bool high, uint32_t value)
{
    uint64_t *tail = &e->side->tail;
    uint32_t above = e->side->next >> 32;

    if (!high) {
        set_low(tail, value);
        if (*tail >> 32 == above) {
            side_go(e);
        }
    } else if (*tail >> 32 != value) {
        set_high(tail, value);
        side_go(e);
    }
}

void ernic_side_write(Ernic *e, uint32_t offset, uint32_t value)
{
    ErnicSide *side = e->side;

    trace_ernic_side_write(offset, value);
    switch (offset) {
    case PG332_SIDE_DMACR:
        write_cr(e, value);
        break;
    case PG332_SIDE_DMASR:
        side->sr &= ~(value & PG332_DMA_IRQS);
        side_rise(e, false);            /* remaining causes interrupt */
        break;
    case PG332_SIDE_CURDESC:
    case PG332_SIDE_CURDESC_MSB:
        if (!halted(side)) {
            break;
        }
        if (offset == PG332_SIDE_CURDESC) {
            set_low(&side->cur, value);
        } else {
            set_high(&side->cur, value);
        }
        break;
    case PG332_SIDE_TAILDESC:
    case PG332_SIDE_TAILDESC_MSB:
        write_tail(e, offset == PG332_SIDE_TAILDESC_MSB, value);
        break;
    default:
        trace_ernic_guest_pg332_hole(offset);
    }
}
