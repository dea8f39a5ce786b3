/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The side stream of PG332: immediate data and keys to invalidate, which no
 * register shows, as entries of 8 bytes in memory. On AMD's designs the S2MM
 * channel of an AXI DMA (product guide PG021) brings them there, and so it does
 * here: its registers follow those of PG332.
 */
#ifndef ERNIC_INTERFACES_PG332_SIDE_STREAM_H
#define ERNIC_INTERFACES_PG332_SIDE_STREAM_H

#include "base/axi_dma.h"
#include "base/device.h"

/* Entries that wait for a descriptor; power of two. */
#define ERNIC_SIDE_FIFO     64

struct ErnicSide {
    ErnicAxiDma dma;            /* an entry is a packet */
    uint32_t head, count;       /* of fifo: the oldest, and how many */
    uint32_t lost;              /* entries that came while nobody listened */
    uint64_t fifo[ERNIC_SIDE_FIFO];
};

ErnicSide *ernic_side_new(void);
void ernic_side_free(ErnicSide *side);

/* The channel's registers, by offset behind the window of PG332. */
uint32_t ernic_side_read(const Ernic *e, uint32_t offset);
void ernic_side_write(Ernic *e, uint32_t offset, uint32_t value);
/* Whether a cause in DMASR is enabled: the level of the channel's interrupt. */
bool ernic_side_irq(const Ernic *e);

/* Whether an entry finds room, or nobody listens. */
bool ernic_side_room(const Ernic *e);
/* One entry: as PG332's stream has it, in host order. */
void ernic_side_push(Ernic *e, uint64_t entry);

#endif /* ERNIC_INTERFACES_PG332_SIDE_STREAM_H */
