/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sequences of register accesses by which public software handles a queue pair of PG332
 * that has ended or that it no longer wants, as tables that can be played to card 0.
 */
#ifndef PG332_RECOVERY_H
#define PG332_RECOVERY_H

#include "pg332_card.h"

typedef enum Pg332Do {
    PG332_PUT,                  /* write @value */
    PG332_SET,                  /* read, write with the bits of @value */
    PG332_CLEAR,                /* read, write without them */
    PG332_ADDR,                 /* write the address at @value of the Card, to
                                   @reg and @reg2 */
    PG332_ALL,                  /* poll until all bits of @value are set */
    PG332_ANY,                  /* poll until one of them is */
    PG332_ZERO,                 /* poll until it reads 0 */
    PG332_SAME,                 /* poll until it reads the same as @reg2 */
    PG332_TRY_SAME,             /* the same; software gives up after a while */
} Pg332Do;

/* One access, to a global register, an entry of the regions, or QPN's slot. */
typedef struct Pg332Step {
    uint8_t no;                 /* step number in the source; 0: none */
    uint8_t what;               /* Pg332Do */
    uint8_t scope;              /* ErnicRegScope */
    uint8_t versions;           /* ERNIC_REG_V* */
    uint16_t reg, reg2;
    uint32_t value;
} Pg332Step;

typedef struct Pg332Sequence {
    const char *name;
    const Pg332Step *step;
    uint32_t num;
} Pg332Sequence;

extern const Pg332Sequence pg332_sequences[];
extern const uint32_t pg332_num_sequences;

/*
 * Play the sequence; the card works between two polls. Fails the test if a polled value
 * never comes.
 */
void pg332_recover(Card *c, const Pg332Sequence *s);

#endif /* PG332_RECOVERY_H */
