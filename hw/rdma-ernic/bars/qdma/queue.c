/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rings of the QDMA: their owners, sizes and places, and vectors.
 */
#include "qemu/osdep.h"
#include "bars/qdma/queue.h"
#include "bars/qdma/registers.h"
#include "device/dma.h"
#include "device/irq.h"
#include "hw/rdma-ernic/trace.h"

QdmaRing qdma_ring(ErnicQdma *q, uint32_t number, uint8_t dir)
{
    ErnicQdmaQueue *queue = &q->queue[number];

    assert(number < ERNIC_QDMA_QUEUES && dir < ERNIC_QDMA_DIRS);
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
    return qdma_owns(q, qdma_ring_function(r), r->number);
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

/* The device that is function @number of the card. */
static ErnicPci *function(ErnicPci *d, uint32_t number)
{
    ErnicPci *second = d->shell.second;

    return number == 1 && second && !ernic_pci_hidden(second) ? second : d;
}

/*
 * A function in D3hot has no access to memory, whatever doorbell of the other one asks
 * for it: that does not wait for the engine.
 */
bool qdma_dma(ErnicPci *d, uint32_t number, uint64_t addr, void *buf, uint64_t len,
              bool write)
{
    ErnicPci *f = function(d, number);

    return ernic_pci_working(f) && ernic_pci_dma(f, addr, buf, len, write);
}

bool qdma_ring_dma(ErnicPci *d, const QdmaRing *r, uint64_t addr, void *buf, uint64_t len,
                   bool write)
{
    return qdma_dma(d, qdma_ring_function(r), addr, buf, len, write);
}

uint32_t qdma_ring_vectors(ErnicPci *d, const QdmaRing *r)
{
    return function(d, qdma_ring_function(r))->cfg.num_vectors;
}

bool qdma_irq(ErnicPci *d, uint32_t number, uint32_t vector)
{
    ErnicPci *f = function(d, number);

    if (vector < f->cfg.num_vectors) {
        ernic_pci_irq(f, vector);
        return true;
    }
    trace_ernic_guest_qdma_vector(ernic_pci_id(d), vector);
    ernic_pci_guest_error(d, "no vector %u for the QDMA", vector);
    return false;
}
