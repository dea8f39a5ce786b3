/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register writes of public software for PG332, in its order, as lists of writes that
 * can be played to a card.
 */
#ifndef PG332_SOFTWARE_H
#define PG332_SOFTWARE_H

#include "pg332_card.h"

/* One write: to a global register, an entry of the region table, or a slot. */
typedef struct Pg332Write {
    uint8_t scope;              /* ErnicRegScope */
    uint8_t qpn;                /* of a slot */
    uint16_t reg;
    uint32_t value;
} Pg332Write;

#define W_G(r, v)       { ERNIC_REG_GLOBAL, 0, PG332_##r, v }
#define W_R(r, v)       { ERNIC_REG_REGION, 0, PG332_##r, v }
#define W_Q(n, r, v)    { ERNIC_REG_QP, n, PG332_##r, v }

typedef struct Pg332Software {
    const char *name;
    unsigned version;
    const Pg332Write *write;
    uint32_t num;
    /* The rules that it breaks, by name and in the order of the table, up to a NULL. */
    const char *breaks[16];
} Pg332Software;

extern const Pg332Software pg332_software[];
extern const uint32_t pg332_num_software;

void pg332_play(Card *c, const Pg332Write *w, uint32_t num);
uint32_t pg332_offset(const Card *c, const Pg332Write *w);

#endif /* PG332_SOFTWARE_H */
