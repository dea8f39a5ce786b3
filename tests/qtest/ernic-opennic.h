/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The driver of OpenNIC's shell as its register accesses, in their order: from the probe
 * to a network interface with a queue for each vector, and back.
 */
#ifndef QTEST_ERNIC_OPENNIC_H
#define QTEST_ERNIC_OPENNIC_H

#include "ernic-qdma-net.h"

#define ONIC_QUEUES     8       /* of a function: its vectors without user and error */
#define ONIC_VECTORS     10
#define ONIC_USER        ONIC_QUEUES
#define ONIC_ERROR       (ONIC_QUEUES + 1)
#define ONIC_PER_PF      64          /* numbers of queues that the driver keeps for one */
#define ONIC_OPTIONS     ",shell=opennic,vectors=10"

/* A queue of the interface, both directions. */
typedef struct OnicQueue {
    uint64_t tx, rx, entries, buffers;
    uint32_t tx_pi, rx_ci, ci;
    bool color;
} OnicQueue;

/* The driver of one function. */
typedef struct Onic {
    Qdma x;
    int fd;                     /* the other end of its cable */
    uint32_t function;
    OnicQueue queue[ONIC_QUEUES];
    uint64_t out;               /* a frame */
} Onic;

/* The option for a second port, and the drivers of both ports. */
#define ONIC_SECOND  " -device ernic,id=ernic1,addr=04.1,port-of=ernic0"

typedef struct OnicTwo {
    Onic w[2];
} OnicTwo;

/* The options of a card with two ports, each with a new cable. */
char *onic_cables(Onic w[2], const char *more);
/* Ejects both functions, of which one is named, and waits until they are gone. */
void onic_unplug(Qdma *x, const char *id);

/* The place of a register of the MAC of the function, and one of its counters. */
uint32_t onic_mac(const Onic *w, uint32_t at);
uint32_t onic_counter(Onic *w, uint32_t at);
/* Memory for all queues, once. */
void onic_alloc(Onic *w);
/* @macs: the number of MACs that the driver has to find. */
void onic_probe(Onic *w, uint32_t macs);
/* The interface, and one direction of a queue of it. */
void onic_up(Onic *w);
void onic_down(Onic *w);
void onic_open_tx(Onic *w, uint32_t i);
void onic_open_rx(Onic *w, uint32_t i);
/* The number of queue @i of the function in the QDMA; a doorbell of the queue. */
uint32_t onic_number(const Onic *w, uint32_t i);
void onic_ring(Onic *w, uint32_t i, uint32_t at, uint32_t value);
/* A frame leaves. */
void onic_transmit(Onic *w, uint32_t i, const uint8_t *frame, uint32_t len);
/* A queue whose status shows an entry, or ONIC_QUEUES. */
uint32_t onic_pending(Onic *w);
/* Sends a frame of flow @flow from the other end; returns the queue that has it. */
uint32_t onic_receive(Onic *w, uint32_t flow, uint32_t len);

#endif /* QTEST_ERNIC_OPENNIC_H */
