/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a queue pair of PG332 can end: for each row of the table of fatal codes,
 * in its order, a dialogue of card 0 with its peer, the test.
 */
#ifndef PG332_ENDS_H
#define PG332_ENDS_H

#include "pg332_card.h"

typedef struct Pg332End {
    uint8_t code;
    void (*provoke)(Card *c);
} Pg332End;

extern Pg332End pg332_ends[];
extern uint32_t pg332_num_ends;

#endif /* PG332_ENDS_H */
