/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A driver of the xib shell's network interface as its register accesses, in their order:
 * from the probe to frames, and back; and the other end of its cable.
 */
#ifndef QTEST_ERNIC_XIB_H
#define QTEST_ERNIC_XIB_H

#include "hw/rdma-ernic/ernic_regs.h"
#include "ernic-qdma-net.h"

/* Blocks of BAR 0, and registers of the MAC and of a channel. */
#define XIB_MAC     0x100000
#define XIB_DMA     0x200000
#define XIB_ERNIC   0x300000
enum { XIB_TX_CONF = XIB_MAC + 0xc, XIB_RX_CONF = XIB_MAC + 0x14,
       XIB_RX_MTU = XIB_MAC + 0x18, XIB_TICK = XIB_MAC + 0x20,
       XIB_LOCK = XIB_MAC + 0x40c };
enum { XIB_CR = 0x0, XIB_SR = 0x4, XIB_CUR = 0x8, XIB_TAIL = 0x10 };
/* The channels, whose vectors have their numbers. */
enum { XIB_MM2S, XIB_S2MM };

#define XIB_TX_RING     64          /* descriptors */
#define XIB_RX_RING     128
#define XIB_STRIDE      0x80        /* bytes from one to the next */
#define XIB_BUFFER      2048
#define XIB_LENGTH      1522        /* of a buffer, as the descriptor says */
#define XIB_DELAY_NS    (254 * 500)
#define XIB_TX_CR       (24u << 16 | 254u << 24 | PG332_DMA_IRQS)
#define XIB_RX_CR       (1u << 16 | 254u << 24 | PG332_DMA_IRQS)
#define XIB_DONE        (PG332_DESC_COMPLETE | PG332_DESC_SOF | PG332_DESC_EOF)
#define XIB_SOF         PG332_DESC_SOF
#define XIB_EOF         PG332_DESC_EOF

typedef struct Xib {
    QErnicMachine *m;
    QErnic *q;
    QPCIBar bar;
    int fd;                         /* the other end */
    uint64_t mmio;
    uint64_t ring[2], buf[2];
    uint64_t messages;
    uint32_t tx, rx;                /* the next descriptors, not modulo the ring */
} Xib;

/* A machine with the function; @more: properties, and options. */
void xib_open(Xib *x, const char *more);
/* The function at 04.0 of machine x->m, of which nothing is known yet. */
void xib_attach(Xib *x);
/* xib_open() with a driver that has probed and opened the interface. */
void xib_start(Xib *x, const char *more);
/* Again after a reset of the function. */
void xib_map(Xib *x);
/* Options of a new cable. */
char *xib_cable(Xib *x, const char *more);

uint32_t xib_get(Xib *x, uint32_t off);
void xib_put(Xib *x, uint32_t off, uint32_t value);
/* Register @reg of channel @ch; both halves of an address at once. */
uint32_t xib_channel(Xib *x, int ch, uint32_t reg);
void xib_put_channel(Xib *x, int ch, uint32_t reg, uint32_t value);
void xib_put_address(Xib *x, int ch, uint32_t reg, uint64_t value);

/* MSI with 1 << @log messages to memory. */
void xib_messages(Xib *x, uint32_t log);
/* Masks vectors; which of them are pending. */
void xib_mask(Xib *x, uint32_t vectors);
uint32_t xib_pending(Xib *x);
/* Takes the last message: its vector, or -1. */
int xib_message(Xib *x);

void xib_probe(Xib *x);
void xib_up(Xib *x);
void xib_down(Xib *x);
/* Starts a channel with an empty ring. */
void xib_begin(Xib *x, int ch, uint32_t cr);

/* A descriptor in the ring of a channel, by number; its status. */
uint64_t xib_desc(const Xib *x, int ch, uint32_t n);
void xib_set_desc(Xib *x, int ch, uint32_t n, uint64_t buf, uint32_t control);
uint32_t xib_status(Xib *x, int ch, uint32_t n);
/* A frame in @pieces descriptors; the tail is not written. */
void xib_post(Xib *x, const uint8_t *frame, uint32_t len, uint32_t pieces);
/* Writes the tail of MM2S, of S2MM. */
void xib_ring(Xib *x);
void xib_give(Xib *x, uint32_t last);
/* Sends a frame and waits for it at the other end. */
void xib_transmit(Xib *x, const uint8_t *frame, uint32_t len, uint32_t pieces);
/* A frame from the other end is in the next descriptor, which is given back. */
void xib_take(Xib *x, const uint8_t *frame, uint32_t len);
void xib_receive(Xib *x, uint32_t len, uint16_t seed);

#endif /* QTEST_ERNIC_XIB_H */
