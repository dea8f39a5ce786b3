/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet port of the shell: which queue gets a frame, what the registers of the
 * shell say about its MAC, and what that counts.
 */
#ifndef ERNIC_BARS_QDMA_PORT_H
#define ERNIC_BARS_QDMA_PORT_H

#include "bars/qdma/qdma.h"

/* The longest frame without its FCS; the MAC's limit is 9600 bytes. */
#define QDMA_FRAME_MAX  9596

/* The queue for a frame that has arrived; ERNIC_QDMA_QUEUES or more: there is none. */
uint32_t qdma_port_queue(const ErnicPci *d, const uint8_t *frame, uint32_t len);
/* Whether function 0, which has the port, sends what queue @number has. */
bool qdma_port_sends(const ErnicPci *d, uint32_t number);
/* Whether the MAC is enabled for a direction. */
bool qdma_port_enabled(const ErnicPci *d, uint8_t dir);
/* Whether what is sent comes back, and nothing else arrives. */
bool qdma_port_loops(const ErnicPci *d);
/* A frame has passed the MAC; or was lost beside it. */
void qdma_port_count(ErnicQdma *q, uint8_t dir, const uint8_t *frame, uint32_t len);
void qdma_port_lost(ErnicPci *d, uint8_t dir, uint32_t number, uint32_t len,
                    const char *why);

/* The registers show what the MAC has counted since the last tick. */
void qdma_port_tick(ErnicQdma *q);
/* Word @word of the MAC's counters, and of those of the adapter beside it. */
uint32_t qdma_port_counter(const ErnicQdma *q, uint8_t dir, uint32_t word);
uint32_t qdma_port_adapter(const ErnicQdma *q, uint32_t word);

#endif /* ERNIC_BARS_QDMA_PORT_H */
