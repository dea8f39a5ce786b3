/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A channel of an AXI DMA in scatter/gather mode (PG021): its registers, its chain of
 * descriptors and its interrupt. The owner of the channel moves the data.
 */
#ifndef ERNIC_BASE_AXI_DMA_H
#define ERNIC_BASE_AXI_DMA_H

/* Registers of a channel, by offset. */
enum {
    ERNIC_AXI_CR = 0x0, ERNIC_AXI_SR = 0x4, ERNIC_AXI_CUR = 0x8, ERNIC_AXI_CUR_MSB = 0xc,
    ERNIC_AXI_TAIL = 0x10, ERNIC_AXI_TAIL_MSB = 0x14, ERNIC_AXI_END = 0x18,
};

typedef struct ErnicAxiDma {
    uint32_t cr, sr;            /* DMACR; bits of DMASR that are latched */
    uint64_t cur, tail;         /* CURDESC, TAILDESC */
    uint64_t next;              /* the descriptor that is read next */
    bool idle;                  /* that of tail is done */
    uint8_t left;               /* packets before IOC */
} ErnicAxiDma;

/* A descriptor is aligned to this; of its 13 words the channel reads these. */
#define ERNIC_AXI_DESC_ALIGN    64
#define ERNIC_AXI_DESC_WORDS    8

typedef struct ErnicAxiDesc {
    uint64_t at, next, buf;
    uint32_t control, len;
} ErnicAxiDesc;

/* The consequences of a write to a register. */
typedef enum ErnicAxiWrite {
    ERNIC_AXI_NONE,
    ERNIC_AXI_GO,               /* there may be descriptors */
    ERNIC_AXI_HALT,             /* the channel is halted, what it does ends */
    ERNIC_AXI_RESET,            /* all channels are to be reset */
} ErnicAxiWrite;

void ernic_axi_dma_reset(ErnicAxiDma *c);
uint32_t ernic_axi_dma_read(const ErnicAxiDma *c, uint32_t offset);
ErnicAxiWrite ernic_axi_dma_write(ErnicAxiDma *c, uint32_t offset, uint32_t value);
/* Both halves of TAILDESC at once. */
ErnicAxiWrite ernic_axi_dma_write_tail(ErnicAxiDma *c, uint64_t value);
bool ernic_axi_dma_halted(const ErnicAxiDma *c);
/* The channel runs, and has a descriptor at @next. */
bool ernic_axi_dma_ready(const ErnicAxiDma *c);
/* Whether a cause in DMASR is enabled: the level of the interrupt. */
bool ernic_axi_dma_irq(const ErnicAxiDma *c);

/* The address of the next descriptor, which is the current one from now on. */
uint64_t ernic_axi_dma_begin(ErnicAxiDma *c);
/*
 * Takes the current descriptor, whose words are in memory's order. Returns the error
 * that keeps it from being used, or 0; fewer than @least bytes are one.
 */
uint32_t ernic_axi_dma_take(ErnicAxiDma *c, const uint32_t words[ERNIC_AXI_DESC_WORDS],
                            uint32_t least, ErnicAxiDesc *desc);
/* The descriptor is done. */
void ernic_axi_dma_done(ErnicAxiDma *c, const ErnicAxiDesc *desc);
/* The channel halts until it is reset. */
void ernic_axi_dma_fail(ErnicAxiDma *c, uint32_t error);
/* A packet is done. False: it counts for an interrupt that comes later. */
bool ernic_axi_dma_packet(ErnicAxiDma *c);
/* The value of IRQDelay; 0: there is no delay timer. It has expired. */
uint32_t ernic_axi_dma_delay(const ErnicAxiDma *c);
void ernic_axi_dma_expire(ErnicAxiDma *c);

#endif /* ERNIC_BASE_AXI_DMA_H */
