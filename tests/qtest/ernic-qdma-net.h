/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the stream queues of RecoNIC's QDMA, and the other end of the
 * device's cable.
 */
#ifndef QTEST_ERNIC_QDMA_NET_H
#define QTEST_ERNIC_QDMA_NET_H

#include "ernic-qdma.h"

#define QNET_ENTRIES    63          /* descriptors of a ring */
#define QNET_CMPT       127         /* completions */
#define QNET_BUFFER     2048
#define QNET_FRAME      9596        /* the longest one */
/* Indices in the tables of sizes. */
enum { QNET_TX_RING, QNET_RX_RING, QNET_CMPT_RING };
/* Trigger modes. */
enum { QNET_NEVER, QNET_EVERY, QNET_COUNT, QNET_USER, QNET_TIMER, QNET_BOTH };
#define QNET_CNT_TH     10          /* the count of index 0, */
#define QNET_TIMER_NS   100000      /* and the timer */
#define QNET_ARM        (1u << 28)

/* A function whose netdev is a socket. */
typedef struct QdmaNet {
    Qdma x;
    int fd;                         /* the other end */
} QdmaNet;

/* Queue @number of both directions. */
typedef struct QdmaStream {
    Qdma *x;
    uint32_t number, size, mode;    /* bytes of a completion as 8 << size */
    uint64_t tx, rx, cmpt;          /* rings */
    uint64_t out, in;               /* a buffer for each descriptor */
    uint32_t tx_pi, rx_pi, rx_ci, cmpt_ci;
    bool color;
} QdmaStream;

/* A machine; @more: properties of the device, and options. */
void qnet_open(QdmaNet *n, const char *more);
/* The same for a function that exists: tables, and the shell's registers. */
void qnet_setup(Qdma *x);
/* A new cable for a new machine; its options. */
char *qnet_cable(QdmaNet *n, const char *more);

/* Allocates a queue, writes its contexts and posts its buffers. */
void qnet_stream(Qdma *x, QdmaStream *s, uint32_t number, uint32_t mode, uint32_t size);
/* Writes the contexts of an allocated queue; the rings are empty. */
void qnet_contexts(QdmaStream *s);
/* A completion context of @s in eight words; it can be changed. */
void qnet_cmpt_context(QdmaStream *s, uint32_t words[8]);
/* Reports to the device that entries were read. */
void qnet_read(QdmaStream *s, uint32_t arm);
/* Gives all free buffers back. */
void qnet_refill(QdmaStream *s);
/* Both, with the interrupt armed. */
void qnet_again(QdmaStream *s);

/* A UDP packet of @len bytes, whose bytes depend on the ports. */
void qnet_frame(uint8_t *frame, uint32_t len, uint16_t from, uint16_t to);
/* The frame that came is the one that was sent. */
void qnet_same(const uint8_t *is, uint32_t is_len, const uint8_t *want, uint32_t len);
/* The next frame at the other end of a cable, which is not QEMU's own. */
void qnet_arrives(int fd, const uint8_t *frame, uint32_t len);
void qnet_post(QdmaStream *s, const uint8_t *frame, uint32_t len);
void qnet_ring(QdmaStream *s);
uint64_t qnet_tx_status(QdmaStream *s);
/* Waits until all posted frames have left. */
void qnet_sent(QdmaStream *s);
uint64_t qnet_status(QdmaStream *s);
/* The next frame, if the status says that there is one; its length or 0. */
uint32_t qnet_poll(QdmaStream *s, uint8_t *frame);
/* Waits for the next frame. */
uint32_t qnet_receive(QdmaStream *s, uint8_t *frame);

#endif /* QTEST_ERNIC_QDMA_NET_H */
