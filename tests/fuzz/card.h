/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cards with the registers of PG332 for fuzzing: set up as software does it, with
 * queue pair 1, two connections and the side stream, in memory of which parts can be
 * taken away, as windows of a shell do.
 */
#ifndef FUZZ_CARD_H
#define FUZZ_CARD_H

#include "harness.h"
#include "input.h"
#include "interfaces/pg332/register_file.h"

#define CARDS       2
#define CARD_QPS    8           /* of which 1 to 3 are set up */
#define CARD_DEPTH  8
#define CARD_REGION 3
#define CARD_KEY    (CARD_REGION << 8 | 0x5c)
#define CARD_VA     0x7f0000000000ull
#define CARD_SPAN   (256u << 10)        /* bytes that the region opens */
#define CARD_RING   16          /* descriptors of the side stream */
/* Each queue pair's rings and buffers, from the end of memory down. */
#define CARD_RINGS  0x10000
/* Windows to memory, each CARD_WINDOW bytes. */
#define CARD_WINDOW (FUZZ_MEM / 8)

typedef struct FuzzCard {
    FuzzHost h;                 /* first */
    int number;                 /* 10.0.0.1 + it, fd00::1 + it */
    uint8_t shut;               /* windows that let nothing pass */
} FuzzCard;

extern FuzzCard cards[CARDS];
/* The version of both. */
extern unsigned card_version;

/*
 * Both anew. @kind chooses the version, strict mode (every third) and whether there is
 * the timing model (every ninth).
 */
void cards_open(unsigned kind);
void cards_close(void);

/* Write a register and read it back. */
void card_put(FuzzCard *c, ErnicRegScope scope, uint32_t element, uint32_t reg,
              uint32_t value);
/* The same of the side stream. */
void card_put_side(FuzzCard *c, uint32_t reg, uint32_t value);
/* Read every register of the queue pairs, the globals and the side stream. */
void card_read_all(FuzzCard *c);

/* The 64 bytes that @qpn reads next, zeroed, and the index that they have. */
uint8_t *card_slot(FuzzCard *c, uint32_t qpn, uint32_t *index);
/* Its SQPI, @skip further than the slot needs. */
void card_ring(FuzzCard *c, uint32_t qpn, uint32_t index, uint32_t skip);
/* Where queue pair 1 has a frame, CARD_FRAME bytes of room. */
#define CARD_FRAME  0x2000
uint64_t card_frame(const FuzzCard *c);
/* Free descriptors @from to @from + @num - 1, and what DMACR, CURDESC take. */
void card_listen(FuzzCard *c, uint32_t from, uint32_t num);
uint64_t card_desc(const FuzzCard *c, uint32_t n);

/* A packet from @c's peer, on the wire between the two; bits of FuzzWay are wrong. */
typedef enum FuzzWay {
    WAY_V6 = 1 << 0, WAY_SRC = 1 << 1, WAY_DST = 1 << 2, WAY_SMAC = 1 << 3,
    WAY_DMAC = 1 << 4, WAY_CE = 1 << 5, WAY_VLAN = 1 << 6, WAY_FRAME = 1 << 7,
} FuzzWay;
void card_path(const FuzzCard *to, uint8_t way, ErnicPath *path);

#endif /* FUZZ_CARD_H */
