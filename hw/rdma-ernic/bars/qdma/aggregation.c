/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rings of aggregated interrupts. PG302 has no check of their room: software makes them
 * large enough.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/errors.h"
#include "device/registers.h"
#include "hw/rdma-ernic/trace.h"

FIELD(INT0, VECTOR, 1, 11)
FIELD(INT0, OUTSTANDING, 13, 1)
FIELD(INT0, COLOR, 14, 1)
FIELD(INT0, BASE, 15, 17)       /* bits 28:12 of the address */
FIELD(INT2, BASE, 0, 3)         /* bits 63:61 */
FIELD(INT2, PAGES, 3, 3)        /* less one */
FIELD(INT2, PIDX, 6, 12)
FIELD(INT3, FUNCTION, 18, 12)
/* The doorbell. */
FIELD(READ, CIDX, 0, 16)
FIELD(READ, RING, 16, 8)

#define PAGE_ENTRIES    512
#define ENTRY_DIR_SHIFT     38
#define ENTRY_QUEUE_SHIFT   39
#define ENTRY_COLOR_SHIFT   63

static uint32_t entries_of(const uint32_t *w)
{
    return PAGE_ENTRIES * (FIELD_EX32(w[2], INT2, PAGES) + 1);
}

static uint64_t base_of(const uint32_t *w)
{
    return (uint64_t)FIELD_EX32(w[0], INT0, BASE) << 12 | (uint64_t)w[1] << 29 |
           (uint64_t)FIELD_EX32(w[2], INT2, BASE) << 61;
}

static bool notify(ErnicPci *d, const uint32_t *w)
{
    return qdma_irq(d, FIELD_EX32(w[3], INT3, FUNCTION), FIELD_EX32(w[0], INT0, VECTOR));
}

/* Writes at the producer index, which software may have set to anything. */
static bool write_entry(ErnicPci *d, uint32_t *w, uint64_t entry)
{
    uint32_t index = FIELD_EX32(w[2], INT2, PIDX) % entries_of(w);

    entry |= (uint64_t)FIELD_EX32(w[0], INT0, COLOR) << ENTRY_COLOR_SHIFT;
    entry = cpu_to_le64(entry);
    if (!qdma_dma(d, FIELD_EX32(w[3], INT3, FUNCTION),
                  base_of(w) + index * sizeof(entry), &entry, sizeof(entry), true)) {
        return false;
    }
    index++;
    if (index == entries_of(w)) {
        index = 0;
        w[0] ^= R_INT0_COLOR_MASK;
    }
    w[2] = FIELD_DP32(w[2], INT2, PIDX, index);
    return true;
}

void qdma_aggregate(ErnicPci *d, uint32_t ring, uint32_t number, uint8_t dir,
                    uint64_t status)
{
    ErnicQdma *q = d->shell.qdma;
    QdmaRing r = qdma_ring(q, number, dir);
    uint32_t *w = q->int_ring[ring % ERNIC_QDMA_INT_RINGS];
    uint64_t entry = status | (uint64_t)(dir == ERNIC_QDMA_C2H) << ENTRY_DIR_SHIFT |
                     (uint64_t)number << ENTRY_QUEUE_SHIFT;

    trace_ernic_qdma_aggregate(ernic_pci_id(d), ring, entry);
    if (ring >= ERNIC_QDMA_INT_RINGS || !FIELD_EX32(w[0], INT0, VALID) ||
        !write_entry(d, w, entry)) {
        qdma_error(d, QDMA_ERR_INTERRUPT, &r);
        return;
    }
    if (!FIELD_EX32(w[0], INT0, OUTSTANDING) && notify(d, w)) {
        w[0] |= R_INT0_OUTSTANDING_MASK;
    }
}

void qdma_aggregation_doorbell(ErnicPci *d, uint32_t value)
{
    uint32_t *w = d->shell.qdma->int_ring[FIELD_EX32(value, READ, RING)];
    uint32_t ci = FIELD_EX32(value, READ, CIDX);

    if (!FIELD_EX32(w[0], INT0, VALID) || ci >= entries_of(w)) {
        ernic_guest_not_enabled(d, "QDMA interrupt ring", value);
        return;
    }
    w[0] &= ~R_INT0_OUTSTANDING_MASK;
    if (ci != FIELD_EX32(w[2], INT2, PIDX) && notify(d, w)) {
        w[0] |= R_INT0_OUTSTANDING_MASK;
    }
}

void qdma_aggregation_reset(ErnicQdma *q, uint32_t function)
{
    uint32_t i;

    for (i = 0; i < ERNIC_QDMA_INT_RINGS; i++) {
        if (FIELD_EX32(q->int_ring[i][3], INT3, FUNCTION) == function) {
            memset(q->int_ring[i], 0, sizeof(q->int_ring[i]));
        }
    }
}
