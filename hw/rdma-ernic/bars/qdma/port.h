/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet ports of a shell: which queue gets a frame, what the registers of the
 * shell say about a MAC, and what that counts.
 */
#ifndef ERNIC_BARS_QDMA_PORT_H
#define ERNIC_BARS_QDMA_PORT_H

#include "bars/qdma/queue.h"

/* Ports of one function divide its queues; otherwise each port has a function. */
bool qdma_port_divided(const ErnicPci *d);
/* The device whose cable @port has; NULL: there is no such port. */
ErnicPci *qdma_port_device(ErnicPci *d, uint32_t port);
/* The port on which an H2C queue sends; it changes with the software context alone. */
uint32_t qdma_port_of(const ErnicPci *d, const QdmaRing *r);
/* Whether contexts call @port by @id. */
bool qdma_port_is(const ErnicPci *d, uint32_t port, uint32_t id);
/* The queue for a frame that has arrived; ERNIC_QDMA_QUEUES or more: there is none. */
uint32_t qdma_port_queue(const ErnicPci *d, uint32_t port, const uint8_t *frame,
                         uint32_t len);
/* Whether the function that has @port sends what queue @number has. */
bool qdma_port_sends(const ErnicPci *d, uint32_t port, uint32_t number);
/* Whether the MAC is enabled for a direction. */
bool qdma_port_enabled(const ErnicPci *d, uint32_t port, uint8_t dir);
/* Whether what is sent comes back, and nothing else arrives. */
bool qdma_port_loops(const ErnicPci *d, uint32_t port);
/* Whether the network cannot take a frame now. */
bool qdma_port_waits(ErnicPci *d, uint32_t port);
/* A frame was lost beside the MAC. */
void qdma_port_lost(ErnicPci *d, uint32_t port, uint8_t dir, uint32_t number,
                    uint32_t len, const char *why);

/* Word @word of the counters of the adapter beside the MAC. */
uint32_t qdma_port_adapter(const ErnicQdmaPort *p, uint32_t word);

#endif /* ERNIC_BARS_QDMA_PORT_H */
