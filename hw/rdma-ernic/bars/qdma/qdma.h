/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The QDMA of a shell: AMD's QDMA 4.0 (PG302) with 512 queues for one function or two,
 * and the Ethernet ports that its streams use. All of it is used by the main loop and by
 * vCPUs with the BQL held, also if the engine runs in a thread.
 */
#ifndef ERNIC_BARS_QDMA_QDMA_H
#define ERNIC_BARS_QDMA_QDMA_H

#include "device/device.h"
#include "net/mac.h"

#define ERNIC_QDMA_QUEUES       512
#define ERNIC_QDMA_FUNCTIONS    4
#define ERNIC_QDMA_INT_RINGS    256     /* of aggregated interrupts */
/* The registers with storage are below this offset. */
#define ERNIC_QDMA_CSR_SIZE     0x1280
#define ERNIC_QDMA_DATA_WORDS   8       /* of the indirect context registers */

/* Directions, in the order in which selectors of contexts and doorbells have them. */
enum { ERNIC_QDMA_C2H, ERNIC_QDMA_H2C, ERNIC_QDMA_DIRS };

/* The contexts of a queue as software writes and reads them: its whole state. */
typedef struct ErnicQdmaQueue {
    uint32_t sw[ERNIC_QDMA_DIRS][8];
    uint32_t hw[ERNIC_QDMA_DIRS][2];
    uint32_t credit[ERNIC_QDMA_DIRS];
    uint32_t cmpt[6];
    uint32_t prefetch[2];
} ErnicQdmaQueue;

/* The descriptor that an engine executes: a copy, which software cannot change. */
typedef struct ErnicQdmaJob {
    bool busy;
    uint32_t queue;
    uint32_t len, done;         /* bytes */
    uint64_t bus, card;         /* addresses of the first byte */
} ErnicQdmaJob;

/* Queues that have work for an engine, as bits, and the one whose turn is next. */
typedef struct ErnicQdmaTurns {
    uint32_t bits[ERNIC_QDMA_QUEUES / 32];
    uint32_t next;
} ErnicQdmaTurns;

/* Counted since the last reset. */
typedef struct ErnicQdmaStats {
    uint64_t descriptors[ERNIC_QDMA_DIRS], bytes[ERNIC_QDMA_DIRS];
    uint64_t errors;
} ErnicQdmaStats;

/* Packets of streams, and what was lost of them. */
typedef struct ErnicQdmaPortStats {
    uint64_t packets[ERNIC_QDMA_DIRS], packet_bytes[ERNIC_QDMA_DIRS];
    uint64_t dropped[ERNIC_QDMA_DIRS], dropped_bytes[ERNIC_QDMA_DIRS];
} ErnicQdmaPortStats;

/* Rules of strict mode (rules.c), at the most: each is a bit of a word. */
#define ERNIC_QDMA_RULES    32

/* One rule: how often it was broken, and the last time. */
typedef struct ErnicQdmaViolation {
    uint64_t count, time;
    uint32_t queue, offset, value;
} ErnicQdmaViolation;

/* The record of strict mode. Reported rules are bits: by queue, and at the end others. */
typedef struct ErnicQdmaRecord {
    ErnicQdmaViolation last[ERNIC_QDMA_RULES];
    uint32_t reported[ERNIC_QDMA_QUEUES + 1];
} ErnicQdmaRecord;

#define ERNIC_QDMA_PORTS    2

typedef struct ErnicQdmaPort {
    ErnicQdmaTurns stream;      /* of its H2C stream engine */
    ErnicMac mac[ERNIC_QDMA_DIRS];
    ErnicQdmaPortStats stats;
} ErnicQdmaPort;

struct ErnicQdma {
    ErnicQdmaJob job[ERNIC_QDMA_DIRS];
    ErnicQdmaTurns turns[ERNIC_QDMA_DIRS];      /* of the memory-mapped engines */
    ErnicQdmaPort port[ERNIC_QDMA_PORTS];
    uint32_t regs[ERNIC_QDMA_CSR_SIZE / 4];     /* by offset */
    ErnicQdmaQueue queue[ERNIC_QDMA_QUEUES];
    uint32_t fmap[ERNIC_QDMA_FUNCTIONS][2];
    uint32_t int_ring[ERNIC_QDMA_INT_RINGS][4];
    uint64_t due[ERNIC_QDMA_QUEUES];    /* ns: end of a completion timer; 0: it is off */
    uint16_t packet;            /* number of the last one received */
    ErnicQdmaStats stats;
    ErnicQdmaRecord record;
};

extern const MemoryRegionOps ernic_qdma_ops;            /* of BAR 0 */
extern const VMStateDescription ernic_qdma_vmstate;     /* of ErnicPci */
/* The state of streams, which older releases do not have. */
extern const VMStateDescription ernic_qdma_stream_vmstate;
/* The state of the second port. */
extern const VMStateDescription ernic_qdma_second_vmstate;
/* The record of strict mode. */
extern const VMStateDescription ernic_qdma_rules_vmstate;

void ernic_qdma_open(ErnicPci *d);
/* All registers and contexts get their values at reset. */
void ernic_qdma_reset(ErnicPci *d);
/* The queues of @function end, and it has none any more. */
void ernic_qdma_function_reset(ErnicPci *d, uint32_t function);
/* A frame of the port @d that is not for an engine; false: there is no QDMA. */
bool ernic_qdma_receive(ErnicPci *d, const uint8_t *frame, uint32_t len);

#endif /* ERNIC_BARS_QDMA_QDMA_H */
