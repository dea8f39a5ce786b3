/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of the QDMA: fields of its contexts, its ring, status and interrupts. All
 * values belong to software and may be anything at any time.
 */
#ifndef ERNIC_BARS_QDMA_QUEUE_H
#define ERNIC_BARS_QDMA_QUEUE_H

#include "qemu/bitops.h"
#include "bars/qdma/qdma.h"

/* A field of a context. */
typedef struct QdmaField {
    uint8_t word, first, bits;
} QdmaField;

#define SW_PIDX         ((QdmaField) { 0, 0, 16 })
#define SW_IRQ_ARM      ((QdmaField) { 0, 16, 1 })
#define SW_FUNCTION     ((QdmaField) { 0, 17, 12 })
#define SW_ENABLE       ((QdmaField) { 1, 0, 1 })
#define SW_INTERVAL     ((QdmaField) { 1, 3, 1 })   /* status at each interval, too */
#define SW_RING_SIZE    ((QdmaField) { 1, 12, 4 })  /* index of GLBL_RNG_SZ */
#define SW_DESC_SIZE    ((QdmaField) { 1, 16, 2 })
#define SW_BYPASS       ((QdmaField) { 1, 18, 1 })
#define SW_STATUS       ((QdmaField) { 1, 20, 1 })  /* write the status to the ring */
#define SW_IRQ_ENABLE   ((QdmaField) { 1, 21, 1 })
#define SW_ERROR        ((QdmaField) { 1, 26, 2 })  /* QDMA_QUEUE_* */
#define SW_ERROR_SENT   ((QdmaField) { 1, 28, 1 })
#define SW_IRQ_DUE      ((QdmaField) { 1, 29, 1 })  /* when it is armed again */
#define SW_IS_MM        ((QdmaField) { 1, 31, 1 })
#define SW_VECTOR       ((QdmaField) { 4, 0, 11 })
#define SW_AGGREGATE    ((QdmaField) { 4, 11, 1 })
#define HW_CIDX         ((QdmaField) { 0, 0, 16 })

static inline uint32_t qdma_field(const uint32_t *words, QdmaField f)
{
    return extract32(words[f.word], f.first, f.bits);
}

static inline void qdma_set_field(uint32_t *words, QdmaField f, uint32_t value)
{
    words[f.word] = deposit32(words[f.word], f.first, f.bits, value);
}

/* Values of DESC_SIZE. */
enum { QDMA_DESC_8, QDMA_DESC_16, QDMA_DESC_32, QDMA_DESC_64 };

/* One direction of a queue: its two contexts. */
typedef struct QdmaRing {
    uint32_t number;
    uint8_t dir;                /* ERNIC_QDMA_C2H, _H2C */
    uint32_t *sw, *hw;
} QdmaRing;

QdmaRing qdma_ring(ErnicQdma *q, uint32_t number, uint8_t dir);
/* Whether a function has the queue. */
bool qdma_ring_owned(ErnicQdma *q, const QdmaRing *r);
/* Number of descriptors: the last place of the ring is the status. */
uint32_t qdma_ring_entries(ErnicQdma *q, const QdmaRing *r);
/* Bus address of descriptor @index. */
uint64_t qdma_ring_at(const QdmaRing *r, uint32_t index);
/* The descriptor at CIDX is complete: advances, reports it if that is due. */
void qdma_ring_complete(ErnicPci *d, const QdmaRing *r);
/* Writes the status and raises or notes the interrupt. */
void qdma_ring_report(ErnicPci *d, const QdmaRing *r);
/* Raises an interrupt that waits for being armed. */
void qdma_ring_armed(ErnicPci *d, const QdmaRing *r);
/* Raises MSI-X @vector if the function has it. */
void qdma_irq(ErnicPci *d, uint32_t vector);

#endif /* ERNIC_BARS_QDMA_QUEUE_H */
