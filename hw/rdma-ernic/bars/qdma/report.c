/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The next descriptor of a queue, and its reports: the status at the end of its ring, and
 * its interrupt.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/report.h"
#include "bars/qdma/turns.h"
#include "hw/rdma-ernic/trace.h"

static uint64_t aggregated_status(const QdmaRing *r)
{
    return qdma_ring_pidx(r) | (uint64_t)qdma_ring_cidx(r) << 16 |
           (uint64_t)FIELD_EX32(r->sw[1], SW1, ERROR) << QDMA_STATUS_ERROR_SHIFT;
}

/* One interrupt for each time that software arms it. */
static void interrupt(ErnicPci *d, const QdmaRing *r)
{
    uint32_t vector = FIELD_EX32(r->sw[4], SW4, VECTOR);

    if (!FIELD_EX32(r->sw[1], SW1, IRQ_ENABLE)) {
        return;
    }
    if (!FIELD_EX32(r->sw[0], SW0, IRQ_ARM)) {
        r->sw[1] = FIELD_DP32(r->sw[1], SW1, IRQ_DUE, 1);
        return;
    }
    r->sw[0] = FIELD_DP32(r->sw[0], SW0, IRQ_ARM, 0);
    r->sw[1] = FIELD_DP32(r->sw[1], SW1, IRQ_DUE, 0);
    if (FIELD_EX32(r->sw[4], SW4, AGGREGATE)) {
        qdma_aggregate(d, vector, r->number, r->dir, aggregated_status(r));
    } else {
        qdma_irq(d, qdma_ring_function(r), vector);
    }
}

void qdma_ring_armed(ErnicPci *d, const QdmaRing *r)
{
    if (FIELD_EX32(r->sw[1], SW1, IRQ_DUE)) {
        interrupt(d, r);
    }
}

/* Writes the status and raises or notes the interrupt. */
static void report(ErnicPci *d, const QdmaRing *r)
{
    uint64_t at = qdma_ring_at(r, qdma_ring_entries(d->shell.qdma, r)), status;
    uint32_t error = FIELD_EX32(r->sw[1], SW1, ERROR);

    if (r->dir == ERNIC_QDMA_C2H && !qdma_ring_is_mm(r)) {
        return;                 /* the completion ring has all reports of a stream */
    }
    if (!qdma_ring_is_mm(r)) {
        error = !!error;        /* streams have one for descriptors and data */
    }
    status = cpu_to_le64(error | (uint64_t)qdma_ring_cidx(r) << 16 |
                         (uint64_t)qdma_ring_pidx(r) << 32);
    trace_ernic_qdma_status(ernic_pci_id(d), r->number, r->dir, qdma_ring_cidx(r),
                            error);
    if (FIELD_EX32(r->sw[1], SW1, STATUS)) {
        qdma_ring_dma(d, r, at, &status, sizeof(status), true);
    }
    interrupt(d, r);
}

/* Whether an interval of descriptors ends before @index. */
static bool interval_ends(ErnicQdma *q, const QdmaRing *r, uint32_t index)
{
    uint32_t interval = 4u << extract32(*qdma_reg(q, QDMA_DSC_CFG, 0), 0, 3);

    return FIELD_EX32(r->sw[1], SW1, INTERVAL) && index % interval == 0;
}

void qdma_ring_complete(ErnicPci *d, const QdmaRing *r)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t index = qdma_ring_cidx(r) + 1;

    index = index < qdma_ring_entries(q, r) ? index : 0;
    r->hw[0] = FIELD_DP32(r->hw[0], HW0, CIDX, index);
    if (index == qdma_ring_pidx(r) || interval_ends(q, r, index)) {
        report(d, r);
    }
}

void qdma_queue_fails(ErnicPci *d, QdmaError error, const QdmaRing *r)
{
    r->sw[1] = FIELD_DP32(r->sw[1], SW1, ERROR, qdma_error_of_queue(error));
    qdma_error(d, error, r);
    if (!FIELD_EX32(r->sw[1], SW1, ERROR_SENT)) {
        r->sw[1] = FIELD_DP32(r->sw[1], SW1, ERROR_SENT, 1);
        report(d, r);
    }
}

bool qdma_ring_fetch(ErnicPci *d, const QdmaRing *r, ErnicQdmaTurns *turns, bool mm,
                     void *desc, uint32_t len)
{
    ErnicQdma *q = d->shell.qdma;
    uint32_t ci = qdma_ring_cidx(r), entries = qdma_ring_entries(q, r);
    QdmaError error;

    if (!qdma_ring_runs(r)) {
        qdma_turns_set(turns, r->number, false);
        return false;
    }
    if (!qdma_ring_owned(q, r)) {
        qdma_turns_set(turns, r->number, false);
        qdma_error(d, QDMA_ERR_QUEUE, r);
        return false;
    }
    if (ci >= entries || qdma_ring_pidx(r) >= entries) {
        error = QDMA_ERR_PIDX;
    } else if (qdma_ring_is_mm(r) != mm || FIELD_EX32(r->sw[1], SW1, BYPASS) ||
               8u << FIELD_EX32(r->sw[1], SW1, DESC_SIZE) != len) {
        error = QDMA_ERR_PARAM;
    } else if (!qdma_ring_dma(d, r, qdma_ring_at(r, ci), desc, len, false)) {
        error = QDMA_ERR_FETCH;
    } else {
        return true;
    }
    qdma_turns_set(turns, r->number, false);
    qdma_queue_fails(d, error, r);
    return false;
}
