/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register writes of public software for PG332, in its order, as lists of writes that
 * can be played to a card.
 */
#ifndef PG332_SOFTWARE_H
#define PG332_SOFTWARE_H

#include "pg332_card.h"

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

#endif /* PG332_SOFTWARE_H */
