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
#include "interfaces/pg332/register_file.h"
#include "test.h"

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

/* A write to a global register, an entry of the regions or a slot; or what it reads. */
typedef struct Pg332Write {
    uint8_t scope;              /* ErnicRegScope */
    uint16_t number;            /* of the entry, from 0 on, or of the queue pair */
    uint16_t reg;
    uint32_t value;
    uint32_t mask;              /* of the bits that are read; 0: of all */
} Pg332Write;

#define W_G(r, v)       { ERNIC_REG_GLOBAL, 0, PG332_##r, v }
#define W_R(r, v)       { ERNIC_REG_REGION, 0, PG332_##r, v }
#define W_Q(n, r, v)    { ERNIC_REG_QP, n, PG332_##r, v }
/* Registers of the card, of REGION and of QPN. */
#define REG(r, v)       { ERNIC_REG_GLOBAL, 0, PG332_##r, v }
#define ENTRY(r, v)     { ERNIC_REG_REGION, REGION, PG332_##r, v }
#define SLOT(r, v)      { ERNIC_REG_QP, QPN, PG332_##r, v }
/* Registers of the side stream. */
#define SIDE(r, v)      { ERNIC_REG_SCOPES, 0, PG332_SIDE_##r, v }
#define SIDE_BITS(r, mask, v)   { ERNIC_REG_SCOPES, 0, PG332_SIDE_##r, v, mask }
/* These bits. */
#define REG_BITS(r, mask, v)    { ERNIC_REG_GLOBAL, 0, PG332_##r, v, mask }
#define SLOT_BITS(r, mask, v)   { ERNIC_REG_QP, QPN, PG332_##r, v, mask }
#define W_Q_BITS(n, r, mask, v) { ERNIC_REG_QP, n, PG332_##r, v, mask }
/* An address in two registers. */
#define REG_ADDR(r, v)      REG(r, v), REG(r##MSB, (v) >> 32)
#define SLOT_ADDR(r, v)     SLOT(r, v), SLOT(r##MSB, (v) >> 32)
#define W_Q_ADDR(n, r, v)   W_Q(n, r, v), W_Q(n, r##MSB, (v) >> 32)

uint32_t pg332_offset(const Card *c, const Pg332Write *w);
void pg332_play(Card *c, const Pg332Write *w, uint32_t num);
void pg332_expect(Card *c, const Pg332Write *w, uint32_t num, int line);
#define WRITES(c, ...) do { \
    const Pg332Write writes_[] = { __VA_ARGS__ }; \
    pg332_play(c, writes_, ARRAY_SIZE(writes_)); \
} while (0)
#define READS(c, ...) do { \
    const Pg332Write reads_[] = { __VA_ARGS__ }; \
    pg332_expect(c, reads_, ARRAY_SIZE(reads_), __LINE__); \
} while (0)

/*
 * Card @i, 0 or 1, at 10.0.0.(1 + i), with a queue pair QPN to the other one and a region
 * REGION of MEM bytes at @c->mem. The other functions repeat single parts of the set-up.
 */
void card_open(Card *c, int i, unsigned version);
void card_open_qp(Card *c, int i);
void card_config(ErnicConfig *cfg, unsigned version);
void card_close(Card *c);
/* Another engine takes over the state; it refuses one that lacks a byte. */
void card_move(Card *c);
/* An error buffer of @num entries of @size bytes; returns its address. */
uint64_t card_errors(Card *c, uint32_t num, uint32_t size);
/* A send queue with @num requests like @w, none of them posted, that has no entries. */
void card_fill_sq(Card *c, uint32_t num, Wqe w);

/* Memory: a word, bytes of the region, a pattern there, an entry of the CQ. */
uint32_t card_word(Card *c, uint64_t addr);
void *card_mem(Card *c, uint32_t off);
void card_fill(Card *c, uint32_t off, uint32_t len, uint8_t seed);
uint32_t card_cqe(Card *c, uint32_t n);

/* Request number n, from 0 on, has WRID 0x100 + n. */
void card_wqe(Card *c, Wqe w);
void card_wqe_at(Card *c, uint64_t slot, uint16_t wrid, Wqe w);
void card_ring(Card *c);
/* The index after @n requests or messages. */
uint32_t card_index(uint32_t n);
/* @n bytes from the start of the card's region, to that of the peer's by default. */
#define POST(c, op, n, ...) do { \
    card_wqe(c, (Wqe) { .opcode = op, .len = n, .laddr = (c)->mem, .raddr = VA, \
                        .rkey = KEY, ##__VA_ARGS__ }); \
    card_ring(c); \
} while (0)
/* The same, and a run of both cards. */
#define DO(c, op, n, ...) do { \
    POST(c, op, n, ##__VA_ARGS__); \
    settle(); \
} while (0)

/* @n requests, or messages, are done, and every register and entry reports so. */
void check_done(Card *c, uint32_t n);
void check_received(Card *c, uint32_t n);

/* The timing model of cards that are opened; NULL: none. */
extern const ErnicProfile *card_timing;
/* Whether cards that are opened have user logic. */
extern bool card_user_logic;
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

extern const char *const version_names[PG332_VERSIONS];
/* The heads of tests of two cards, setup(@version), of any version, and of one card. */
#define CARDS_TEST(path, version, fn)                               \
    static void fn(Card *a, Card *b);                               \
    UNIT_ADD(path, run_##fn)                                        \
    {                                                               \
        setup(version);                                             \
        fn(&cards[0], &cards[1]);                                   \
        teardown();                                                 \
    }                                                               \
    static void fn(Card *a, Card *b)
#define VERSIONS_TEST(path, fn)                                     \
    static void fn(Card *a, Card *b);                               \
    static void run_##fn(gconstpointer version)                     \
    {                                                               \
        setup(GPOINTER_TO_UINT(version));                           \
        fn(&cards[0], &cards[1]);                                   \
        teardown();                                                 \
    }                                                               \
    TESTS(add_##fn)                                                 \
    {                                                               \
        for (unsigned v = 0; v < PG332_VERSIONS; v++) {             \
            unit_add_row(path, version_names[v], GUINT_TO_POINTER(v), run_##fn); \
        }                                                           \
    }                                                               \
    static void fn(Card *a, Card *b)
#define CARD_TEST(path, version, fn)                                \
    static void fn(Card *c);                                        \
    UNIT_ADD(path, run_##fn)                                        \
    {                                                               \
        card_open(&cards[0], 0, version);                           \
        fn(&cards[0]);                                              \
        card_close(&cards[0]);                                      \
    }                                                               \
    static void fn(Card *c)

#endif /* PG332_CARD_H */
