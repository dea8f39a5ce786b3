/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The S2MM channel of an AXI DMA (PG021), as far as entries of 8 bytes need it: each
 * takes one descriptor. docs/ernic-interface.md has what is simpler than there.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/pg332/side_stream.h"
#include "timing/hooks.h"
#include "trace.h"
#include "hw/rdma-ernic/ernic_regs.h"

#define ENTRY_BYTES     8
/* The interrupt of the channel: PG332's own is 0. */
#define SIDE_VECTOR     1

ErnicSide *ernic_side_new(void)
{
    ErnicSide *side = g_new0(ErnicSide, 1);

    ernic_axi_dma_reset(&side->dma);
    return side;
}

void ernic_side_free(ErnicSide *side)
{
    g_free(side);
}

/* ---- interrupt ---------------------------------------------------------------- */

bool ernic_side_irq(const Ernic *e)
{
    return ernic_axi_dma_irq(&e->side->dma);
}

/* The interrupt was @was before a change: send a message if it is raised now. */
static void side_rise(Ernic *e, bool was)
{
    if (!was && ernic_side_irq(e)) {
        e->stats.interrupts++;
        ernic_timed_irq(e, SIDE_VECTOR);
    }
}

/* An entry is done. No timer ends the wait for the threshold. */
static void side_done(Ernic *e)
{
    ErnicAxiDma *dma = &e->side->dma;
    bool was = ernic_side_irq(e);

    if (!ernic_axi_dma_packet(dma) && ernic_axi_dma_delay(dma)) {
        ernic_axi_dma_expire(dma);
    }
    side_rise(e, was);
}

/* ---- entries to memory --------------------------------------------------------- */

/* Nobody listens any more. */
static void side_halted(ErnicSide *side)
{
    side->lost += side->count;
    side->count = 0;
}

static void side_fail(Ernic *e, uint64_t at, uint32_t error)
{
    bool was = ernic_side_irq(e);

    trace_ernic_guest_side(at, error);
    ernic_axi_dma_fail(&e->side->dma, error);
    side_halted(e->side);
    side_rise(e, was);
}

/* The oldest entry into the next descriptor: data first, then the status. */
static void side_one(Ernic *e)
{
    ErnicSide *side = e->side;
    uint64_t at = ernic_axi_dma_begin(&side->dma);
    uint64_t entry = cpu_to_le64(side->fifo[side->head]);
    uint32_t status = cpu_to_le32(ENTRY_BYTES | PG332_DESC_SOF |
                                  PG332_DESC_EOF | PG332_DESC_COMPLETE);
    uint32_t words[ERNIC_AXI_DESC_WORDS], error;
    ErnicAxiDesc desc;

    ernic_charge_copy(e, sizeof(words) + ENTRY_BYTES);
    if (!e->ops->dma_read(e->env, at, words, sizeof(words))) {
        side_fail(e, at, PG332_DMASR_SG_DECODE);
        return;
    }
    error = ernic_axi_dma_take(&side->dma, words, ENTRY_BYTES, &desc);
    if (error) {
        side_fail(e, at, error);
        return;
    }
    if (!e->ops->dma_write(e->env, desc.buf, &entry, ENTRY_BYTES)) {
        side_fail(e, at, PG332_DMASR_DECODE);
        return;
    }
    if (!e->ops->dma_write(e->env, at + PG332_DESC_STATUS, &status, sizeof(status))) {
        side_fail(e, at, PG332_DMASR_SG_DECODE);
        return;
    }
    trace_ernic_side_entry(at, side->fifo[side->head]);
    side->head = (side->head + 1) & (ERNIC_SIDE_FIFO - 1);
    side->count--;
    ernic_axi_dma_done(&side->dma, &desc);
    side_done(e);
}

static void side_run(Ernic *e)
{
    ErnicSide *side = e->side;

    while (side->count && ernic_axi_dma_ready(&side->dma)) {
        side_one(e);
    }
}

bool ernic_side_room(const Ernic *e)
{
    /* Any completion on its way may bring one. */
    return ernic_axi_dma_halted(&e->side->dma) ||
           e->side->count + ernic_timed_cqes(e) < ERNIC_SIDE_FIFO;
}

void ernic_side_push(Ernic *e, uint64_t entry)
{
    ErnicSide *side = e->side;

    if (ernic_axi_dma_halted(&side->dma) || side->count == ERNIC_SIDE_FIFO) {
        trace_ernic_side_lost(entry);
        side->lost++;
        return;
    }
    side->fifo[(side->head + side->count) & (ERNIC_SIDE_FIFO - 1)] = entry;
    side->count++;
    side_run(e);
}

/* ---- registers ------------------------------------------------------------------ */

static bool is_channel(uint32_t offset)
{
    return offset >= PG332_SIDE_DMACR && offset < PG332_SIDE_DMACR + ERNIC_AXI_END;
}

uint32_t ernic_side_read(const Ernic *e, uint32_t offset)
{
    const ErnicSide *side = e->side;

    if (is_channel(offset)) {
        return ernic_axi_dma_read(&side->dma, offset - PG332_SIDE_DMACR);
    }
    switch (offset) {
    case PG332_SIDE_WAITING:
        return side->count;
    case PG332_SIDE_LOST:
        return side->lost;
    default:
        trace_ernic_guest_pg332_hole(offset);
        return 0;
    }
}

void ernic_side_write(Ernic *e, uint32_t offset, uint32_t value)
{
    ErnicSide *side = e->side;
    /* Causes that remain in DMASR interrupt again. */
    bool was = offset != PG332_SIDE_DMASR && ernic_side_irq(e);

    trace_ernic_side_write(offset, value);
    if (!is_channel(offset)) {
        trace_ernic_guest_pg332_hole(offset);
        return;
    }
    switch (ernic_axi_dma_write(&side->dma, offset - PG332_SIDE_DMACR, value)) {
    case ERNIC_AXI_RESET:
        *side = (ErnicSide) { };
        ernic_axi_dma_reset(&side->dma);
        return;
    case ERNIC_AXI_HALT:
        side_halted(side);
        break;
    case ERNIC_AXI_GO:
        side_run(e);
        return;
    case ERNIC_AXI_NONE:
        break;
    }
    side_rise(e, was);
}
