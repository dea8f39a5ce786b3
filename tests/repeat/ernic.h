/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A driver of a few lines for the ERNIC interface, version 3.1, of two functions of bus
 * 0: registers, a queue pair that connects them, work. As in driver.h, everything is in
 * memory of the program's own.
 */
#ifndef REPEAT_ERNIC_H
#define REPEAT_ERNIC_H

#include "hw/rdma-ernic/ernic_regs.h"
#include "io.h"

#define FUNCTIONS   2
#define DEPTH       16              /* of every queue; never full */
#define BUF         (32 * 1024)
#define INLINE      16              /* maximum bytes of inline data */
#define CAUSES      (PG332_INT_COMPLETION | PG332_INT_RECEIVE | PG332_INT_FATAL)

/* The memory of a function. */
typedef struct Memory {
    uint8_t sq[DEPTH][64];
    uint32_t cq[DEPTH];
    uint32_t cq_head, rq_pi;        /* indices that the device writes */
    uint64_t fatal[64] __attribute__((aligned(4096)));
    uint8_t errors[16][256] __attribute__((aligned(4096)));
    uint8_t retry[32][4096] __attribute__((aligned(4096)));
    uint8_t rq[DEPTH][BUF];
    uint8_t out[BUF];               /* the source of SEND and WRITE, the target of READ */
    uint8_t in[BUF];                /* the peer may access this */
} Memory;

typedef struct Interface {
    uint8_t devfn, host;            /* 10.0.0.host */
    uintptr_t regs;
    volatile uint64_t *time;        /* the device's clock, in ns */
    uint32_t posted, completed, received;
    Memory *memory;
} Interface;

/* Opens the ERNIC interfaces of bus 0, at most FUNCTIONS; returns their number. */
int interfaces_open(Interface *f);
/* Opens one of them, which is @host, 1 to FUNCTIONS. */
void interface_open(Interface *f, uint8_t devfn, uint8_t host);
/* Connects their queue pairs with each other. */
void interfaces_connect(Interface *f);
/*
 * Connects a queue pair with that of @peer. @psn: of the first packet in each direction;
 * @timeout: an exponent.
 */
void interface_connect(const Interface *f, uint8_t peer, uint32_t psn, uint8_t timeout);
/* Ends all posted requests; their completions and earlier messages stay readable. */
void interface_stop(const Interface *f);
/* After interface_stop(): makes the queue pair as after a reset. */
void interface_take_down(Interface *f);

uint32_t global_get(const Interface *f, uint32_t reg);
void global_put(const Interface *f, uint32_t reg, uint32_t value);
uint32_t qp_get(const Interface *f, uint32_t reg);
/* Reads a word after the register window: PG332_SIDE_* and what follows. */
uint32_t side_get(const Interface *f, uint32_t at);

/*
 * Posts a request for @len bytes at @at of out, to or from @peer_at of the peer's in;
 * rings no doorbell.
 */
void post_request(Interface *f, enum pg332_opcode opcode, uint32_t at, uint32_t len,
                  uint32_t peer_at);
void ring_doorbell(const Interface *f);

/*
 * How many requests are complete beyond f->completed, messages here beyond f->received:
 * by register, or by the word in memory.
 */
uint32_t completions(const Interface *f, bool word);
uint32_t messages(const Interface *f, bool word);
/* Counts the next message as received; returns all buffers but the last @keep. */
void give_back(Interface *f, uint32_t keep);

/* Clears all interrupt causes; returns those that were set. */
uint32_t clear_causes(const Interface *f);

#endif /* REPEAT_ERNIC_H */
