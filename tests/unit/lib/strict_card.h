/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A card with strict mode, correctly set up as far as a test wants, a peer that is a
 * function, and the record of broken rules.
 */
#ifndef STRICT_CARD_H
#define STRICT_CARD_H

#include "pg332_card.h"

#define CONF    0x0002043d      /* QPCONF */
#define CONF_3  0x12b70821      /* XRNICCONF */
#define CONF_4  0x0012b721
#define ADCONF  0x000a0004
#define RINGS   0x00100010      /* QDEPTH: 16 and 16 */

extern Card card;
extern ErnicReport last_report;        /* the last one */
extern uint32_t num_reports;       /* since open_card() */

/* Set-up: none; all but the enable bit; the queue pair too; running. */
typedef enum Stage { BARE, SET, READY, RUNNING } Stage;

void open_card(unsigned version, ErnicStrictMode mode);
void bring_to(Stage stage);
#define PLAY(...)   WRITES(&card, __VA_ARGS__)

/*
 * A request from 10.0.0.2 to queue pair 2, next in sequence, with a payload of @payload
 * zeros; the card has received it and not run yet.
 */
void inject(uint8_t opcode, uint64_t va, uint32_t key, uint32_t dma_len,
            uint32_t payload);

/* The record of rule @name, which must be a rule of the card's version. */
ErnicReport report_of(const char *name);
uint64_t all_counts(void);
void expect_silence(const char *when);
/* Rule @name alone was broken, once, now, and this was reported. */
void expect_broken(const char *name, const char *reg, uint32_t qpn,
                   uint32_t offset, uint64_t value);

/* Register writes of public software for PG332, in its order. */
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

#endif /* STRICT_CARD_H */
