/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cards with the registers of PG332, and software that drives them as its users do:
 * set-up in the order of RecoNIC's library, requests in memory, indices in registers.
 * The engine's invariants are checked after every step.
 */
#ifndef PG332_CARD_H
#define PG332_CARD_H

#include "fake_verbs.h"
#include "faces/pg332/register_file.h"

#define QPN         2
#define DEPTH       8
#define SLOT_BYTES  512             /* of a receive buffer */
#define MEM         (1u << 16)      /* bytes that region 3 opens */
#define REGION      3
#define KEY         (REGION << 8 | 0x5c)
#define PD          0x1234
#define VA          0x7f0012340000ull
#define PSN         0xfffffd        /* of card 0; wraps soon */
#define PSN_OF(i)   ((PSN + 0x100 * (i)) & 0xffffff)
#define CQE_ERROR   (1u << 24)
/* RecoNIC's: enable, both interrupts, memory doorbells, CQEs, 4096, IPv4. */
#define QPCONF      (0x43du | (SLOT_BYTES / 256) << 16)

/* Opcodes of requests. */
enum { WRITE = 0, WRITE_IMM, SEND, SEND_IMM, READ, SEND_INV = 12 };

typedef struct Card {
    FakeEnv env;
    Ernic *e;
    unsigned version;
    uint32_t posted;
    uint64_t sq, cq, rq, cq_db, rq_db, errq, mem;
} Card;

typedef struct Wqe {
    uint8_t opcode;
    uint32_t len, rkey, imm;
    uint64_t laddr, raddr;
    const void *sdata;                  /* 16 bytes, or NULL */
} Wqe;

/* Registers: global ones, those of QPN's slot and of REGION's entry. */
uint32_t card_at(const Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg);
void put(Card *c, uint32_t reg, uint32_t value);
uint32_t get(Card *c, uint32_t reg);
void put_qp(Card *c, uint32_t reg, uint32_t value);
uint32_t get_qp(Card *c, uint32_t reg);
void put_region(Card *c, uint32_t reg, uint32_t value);

/*
 * Card @i, 0 or 1, at 10.0.0.(1 + i), with a queue pair QPN to the other one and a region
 * REGION of MEM bytes at @c->mem. The other functions repeat single parts of the set-up.
 */
void card_open(Card *c, int i, unsigned version);
void card_open_qp(Card *c, int i);
void card_config(ErnicConfig *cfg, unsigned version);
void card_close(Card *c);
/* Do the engine's invariants hold? */
void card_check(Card *c);

/* Memory: a word, bytes of the region, a pattern there, an entry of the CQ. */
uint32_t card_word(Card *c, uint64_t addr);
void *card_mem(Card *c, uint32_t off);
void card_fill(Card *c, uint32_t off, uint32_t len, uint8_t seed);
uint32_t card_cqe(Card *c, uint32_t n);

/* Request number n, from 0 on, has WRID 0x100 + n. */
void card_wqe(Card *c, Wqe w);
void card_ring(Card *c);
/* The index after @n requests or messages. */
uint32_t card_index(uint32_t n);
#define POST(c, ...) do { \
    card_wqe(c, (Wqe) { __VA_ARGS__ }); \
    card_ring(c); \
} while (0)

/* @n requests, or messages, are done, and every register and entry reports so. */
void check_done(Card *c, uint32_t n);
void check_received(Card *c, uint32_t n);

/* The timing model of cards that are opened; NULL: none. */
extern const ErnicProfile *card_timing;
/* The timing model's observer of each card; NULL: none. */
extern const ErnicTimingTrace *card_trace[2];

/* Two cards of one version, each with a queue pair to the other. */
extern Card cards[2];
void setup(unsigned version);
void teardown(void);
/*
 * Packets travel both ways until neither card sends any; with the timing model, time
 * advances to the next due event, but not as far as a time-out.
 */
void settle(void);
/* Drop all that @c has sent. */
void lose_all(Card *c);

#endif /* PG332_CARD_H */
