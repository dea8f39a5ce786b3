/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of the QDMA: fields of its contexts, and its ring. All values belong to
 * software and may be anything at any time.
 */
#ifndef ERNIC_BARS_QDMA_QUEUE_H
#define ERNIC_BARS_QDMA_QUEUE_H

#include "bars/qdma/qdma.h"
#include "compat/qemu.h"

/* Fields of a context, by word. */
FIELD(SW0, PIDX, 0, 16)
FIELD(SW0, IRQ_ARM, 16, 1)
FIELD(SW0, FUNCTION, 17, 12)
FIELD(SW1, ENABLE, 0, 1)
FIELD(SW1, INTERVAL, 3, 1)      /* status at each interval, too */
FIELD(SW1, RING_SIZE, 12, 4)    /* index of GLBL_RNG_SZ */
FIELD(SW1, DESC_SIZE, 16, 2)
FIELD(SW1, BYPASS, 18, 1)
FIELD(SW1, STATUS, 20, 1)       /* write the status to the ring */
FIELD(SW1, IRQ_ENABLE, 21, 1)
FIELD(SW1, ERROR, 26, 2)        /* QDMA_QUEUE_* */
FIELD(SW1, ERROR_SENT, 28, 1)
FIELD(SW1, IRQ_DUE, 29, 1)      /* when it is armed again */
FIELD(SW1, IS_MM, 31, 1)
FIELD(SW4, VECTOR, 0, 11)
FIELD(SW4, AGGREGATE, 11, 1)
FIELD(HW0, CIDX, 0, 16)
FIELD(PREFETCH0, BYPASS, 0, 1)
FIELD(PREFETCH0, BUFFER, 1, 4)  /* index of C2H_BUF_SZ */
FIELD(PREFETCH0, PORT, 5, 3)
FIELD(PREFETCH0, ERROR, 26, 1)
FIELD(PREFETCH1, VALID, 13, 1)
FIELD(FMAP0, FIRST, 0, 11)
FIELD(FMAP1, COUNT, 0, 12)

/* Values of DESC_SIZE. */
enum { QDMA_DESC_8, QDMA_DESC_16, QDMA_DESC_32, QDMA_DESC_64 };

/* One direction of a queue: its two contexts. */
typedef struct QdmaRing {
    uint32_t number;
    uint8_t dir;                /* ERNIC_QDMA_C2H, _H2C */
    uint32_t *sw, *hw;
} QdmaRing;

QdmaRing qdma_ring(ErnicQdma *q, uint32_t number, uint8_t dir);
static inline uint32_t qdma_ring_pidx(const QdmaRing *r)
{
    return FIELD_EX32(r->sw[0], SW0, PIDX);
}

static inline uint32_t qdma_ring_cidx(const QdmaRing *r)
{
    return FIELD_EX32(r->hw[0], HW0, CIDX);
}

static inline bool qdma_ring_is_mm(const QdmaRing *r)
{
    return FIELD_EX32(r->sw[1], SW1, IS_MM);
}

/* Whether software has enabled the queue, and no error has stopped it. */
static inline bool qdma_ring_runs(const QdmaRing *r)
{
    return FIELD_EX32(r->sw[1], SW1, ENABLE) && !FIELD_EX32(r->sw[1], SW1, ERROR);
}

/* Whether @function has queue @number. */
bool qdma_owns(ErnicQdma *q, uint32_t function, uint32_t number);
/* Whether the function of the context has the queue. */
bool qdma_ring_owned(ErnicQdma *q, const QdmaRing *r);
/* Number of places of a ring of size @index: the last one is the status. */
uint32_t qdma_places(ErnicQdma *q, uint32_t index);
uint32_t qdma_ring_entries(ErnicQdma *q, const QdmaRing *r);
/* Bus address of descriptor @index. */
uint64_t qdma_ring_at(const QdmaRing *r, uint32_t index);
/* Accesses memory as @function, and as that of the ring's context. */
bool qdma_dma(ErnicPci *d, uint32_t function, uint64_t addr, void *buf, uint64_t len,
              bool write);
bool qdma_ring_dma(ErnicPci *d, const QdmaRing *r, uint64_t addr, void *buf, uint64_t len,
                   bool write);
/* Number of vectors of the ring's function. */
uint32_t qdma_ring_vectors(ErnicPci *d, const QdmaRing *r);
/* Raises MSI-X @vector of @function if there is one; false: there is none. */
bool qdma_irq(ErnicPci *d, uint32_t function, uint32_t vector);

static inline uint32_t qdma_ring_function(const QdmaRing *r)
{
    return FIELD_EX32(r->sw[0], SW0, FUNCTION);
}

#endif /* ERNIC_BARS_QDMA_QUEUE_H */
