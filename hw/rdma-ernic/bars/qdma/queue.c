/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rings of the QDMA: their owners, sizes and places, and vectors.
 */
#include "qemu/osdep.h"
#include "bars/qdma/queue.h"
#include "bars/qdma/registers.h"
#include "device/irq.h"
#include "hw/rdma-ernic/trace.h"

QdmaRing qdma_ring(ErnicQdma *q, uint32_t number, uint8_t dir)
{
    ErnicQdmaQueue *queue = &q->queue[number];

    return (QdmaRing) { number, dir, queue->sw[dir], queue->hw[dir] };
}

bool qdma_owns(ErnicQdma *q, uint32_t function, uint32_t number)
{
    uint32_t first;

    if (function >= ERNIC_QDMA_FUNCTIONS) {
        return false;
    }
    first = FIELD_EX32(q->fmap[function][0], FMAP0, FIRST);
    return number >= first &&
           number - first < FIELD_EX32(q->fmap[function][1], FMAP1, COUNT);
}

bool qdma_ring_owned(ErnicQdma *q, const QdmaRing *r)
{
    return qdma_owns(q, FIELD_EX32(r->sw[0], SW0, FUNCTION), r->number);
}

uint32_t qdma_places(ErnicQdma *q, uint32_t index)
{
    uint32_t size = *qdma_reg(q, QDMA_RNG_SZ, index);

    return size ? size - 1 : 0;
}

uint32_t qdma_ring_entries(ErnicQdma *q, const QdmaRing *r)
{
    return qdma_places(q, FIELD_EX32(r->sw[1], SW1, RING_SIZE));
}

uint64_t qdma_ring_at(const QdmaRing *r, uint32_t index)
{
    return (((uint64_t)r->sw[3] << 32) | r->sw[2]) +
           ((uint64_t)index << (3 + FIELD_EX32(r->sw[1], SW1, DESC_SIZE)));
}

bool qdma_irq(ErnicPci *d, uint32_t vector)
{
    if (vector < d->cfg.num_vectors) {
        ernic_pci_irq(d, vector);
        return true;
    }
    trace_ernic_guest_qdma_vector(ernic_pci_id(d), vector);
    ernic_pci_guest_error(d, "no vector %u for the QDMA", vector);
    return false;
}
