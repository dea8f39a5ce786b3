/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rings of the QDMA: indices, the status at the end of a ring, and its interrupts.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bars/qdma/queue.h"
#include "bars/qdma/registers.h"
#include "device/dma.h"
#include "device/irq.h"
#include "hw/rdma-ernic/trace.h"

QdmaRing qdma_ring(ErnicQdma *q, uint32_t number, uint8_t dir)
{
    ErnicQdmaQueue *queue = &q->queue[number];

    return (QdmaRing) { number, dir, queue->sw[dir], queue->hw[dir] };
}

bool qdma_ring_owned(ErnicQdma *q, const QdmaRing *r)
{
    uint32_t function = FIELD_EX32(r->sw[0], SW0, FUNCTION), first;

    if (function >= ERNIC_QDMA_FUNCTIONS) {
        return false;
    }
    first = FIELD_EX32(q->fmap[function][0], FMAP0, FIRST);
    return r->number >= first &&
           r->number - first < FIELD_EX32(q->fmap[function][1], FMAP1, COUNT);
}

uint32_t qdma_ring_entries(ErnicQdma *q, const QdmaRing *r)
{
    uint32_t size = *qdma_reg(q, QDMA_RNG_SZ, FIELD_EX32(r->sw[1], SW1, RING_SIZE));

    return size ? size - 1 : 0;
}

uint64_t qdma_ring_at(const QdmaRing *r, uint32_t index)
{
    return (((uint64_t)r->sw[3] << 32) | r->sw[2]) +
           ((uint64_t)index << (3 + FIELD_EX32(r->sw[1], SW1, DESC_SIZE)));
}

void qdma_irq(ErnicPci *d, uint32_t vector)
{
    if (vector < d->cfg.num_vectors) {
        ernic_pci_irq(d, vector);
    } else {
        trace_ernic_guest_qdma_vector(ernic_pci_id(d), vector);
        ernic_pci_guest_error(d, "no vector %u for the QDMA", vector);
    }
}

/* One interrupt for each time that software arms it. Aggregation does not exist. */
static void interrupt(ErnicPci *d, const QdmaRing *r)
{
    if (!FIELD_EX32(r->sw[1], SW1, IRQ_ENABLE) || FIELD_EX32(r->sw[4], SW4, AGGREGATE)) {
        return;
    }
    if (!FIELD_EX32(r->sw[0], SW0, IRQ_ARM)) {
        r->sw[1] = FIELD_DP32(r->sw[1], SW1, IRQ_DUE, 1);
        return;
    }
    r->sw[0] = FIELD_DP32(r->sw[0], SW0, IRQ_ARM, 0);
    r->sw[1] = FIELD_DP32(r->sw[1], SW1, IRQ_DUE, 0);
    qdma_irq(d, FIELD_EX32(r->sw[4], SW4, VECTOR));
}

void qdma_ring_armed(ErnicPci *d, const QdmaRing *r)
{
    if (FIELD_EX32(r->sw[1], SW1, IRQ_DUE)) {
        interrupt(d, r);
    }
}

void qdma_ring_report(ErnicPci *d, const QdmaRing *r)
{
    uint64_t at = qdma_ring_at(r, qdma_ring_entries(d->shell.qdma, r));
    uint64_t status = cpu_to_le64(FIELD_EX32(r->sw[1], SW1, ERROR) |
                                  (uint64_t)FIELD_EX32(r->hw[0], HW0, CIDX) << 16 |
                                  (uint64_t)FIELD_EX32(r->sw[0], SW0, PIDX) << 32);

    trace_ernic_qdma_status(ernic_pci_id(d), r->number, r->dir,
                            FIELD_EX32(r->hw[0], HW0, CIDX),
                            FIELD_EX32(r->sw[1], SW1, ERROR));
    if (FIELD_EX32(r->sw[1], SW1, STATUS)) {
        ernic_pci_dma(d, at, &status, sizeof(status), true);
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
    uint32_t index = FIELD_EX32(r->hw[0], HW0, CIDX) + 1;

    index = index < qdma_ring_entries(q, r) ? index : 0;
    r->hw[0] = FIELD_DP32(r->hw[0], HW0, CIDX, index);
    if (index == FIELD_EX32(r->sw[0], SW0, PIDX) || interval_ends(q, r, index)) {
        qdma_ring_report(d, r);
    }
}
