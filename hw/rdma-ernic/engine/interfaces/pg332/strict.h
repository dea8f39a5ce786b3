/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The record of strict mode: how often each rule of PG332 was broken, the last
 * violation, and the queue pairs for which it was reported. rules.c has the rules, and
 * rule_checks.c the moments when they are checked.
 */
#ifndef ERNIC_INTERFACES_PG332_STRICT_H
#define ERNIC_INTERFACES_PG332_STRICT_H

#include "base/device.h"

/* A rule is a bit of a word. */
#define ERNIC_RULES_MAX 64

/* When a rule is asked. */
typedef enum ErnicRuleWhen {
    ERNIC_RULE_WRITE,           /* a register is about to be written */
    ERNIC_RULE_ENABLE,          /* XRNICCONF is about to say enable */
    ERNIC_RULE_QP_ENABLE,       /* a QPCONF is */
    ERNIC_RULE_REQUEST,         /* a send request was read */
    ERNIC_RULE_PACKET,          /* a peer's request is next in sequence */
} ErnicRuleWhen;

/* The consequence of a violation, under enforce. */
typedef enum ErnicRuleEffect {
    ERNIC_RULE_AS_EVER,         /* as in the other modes */
    ERNIC_RULE_IGNORED,         /* the write has no effect */
    ERNIC_RULE_NOT_ENABLED,     /* the enable bit of the write is lost */
    ERNIC_RULE_FATAL,           /* the request ends its queue pair: code 05 */
    ERNIC_RULE_NAK,             /* NAK Invalid Request, fatal code 04 */
    ERNIC_RULE_EFFECTS
} ErnicRuleEffect;

typedef struct ErnicRuleCase ErnicRuleCase;     /* rules.c */

#define ERNIC_RULE_REGS 7

typedef struct ErnicRule {
    const char *name;
    const char *text;           /* what is not allowed */
    const char *source;
    bool (*broken)(const ErnicRuleCase *c);
    /* The field of a request or packet that breaks it, and its byte. */
    const char *field;
    uint8_t at;
    uint8_t when, effect;       /* ErnicRuleWhen, ErnicRuleEffect */
    uint8_t versions;           /* that have the rule: ERNIC_REG_V* */
    uint8_t enforced;           /* and those where it has its effect */
    /* Registers that it is about; none: all. */
    uint8_t scope, num_regs;
    uint16_t regs[ERNIC_RULE_REGS];
} ErnicRule;

/* The table; a rule's number is saved with the state, so new ones go last. */
extern const ErnicRule ernic_rules[];
extern const uint32_t ernic_num_rules;

/* One rule: how often it was broken, and the last time. */
typedef struct ErnicViolation {
    uint64_t count, value, time;
    uint32_t offset;            /* in the window; of the field: in its record */
    uint32_t qpn;               /* 0: the card */
} ErnicViolation;

struct ErnicStrict {
    ErnicViolation last[ERNIC_RULES_MAX];
    uint64_t *told;             /* owned; by queue pair: a bit for each rule */
};

/* NULL: @cfg has strict mode off. */
ErnicStrict *ernic_strict_new(const ErnicConfig *cfg);
void ernic_strict_free(ErnicStrict *s);

/* The same as ernic_next_rule(). */
bool ernic_strict_next(const Ernic *e, uint32_t *pos, ErnicReport *r);
/* Count a violation of @rule; report the first by @qpn. */
void ernic_strict_broken(Ernic *e, uint32_t rule, uint32_t qpn,
                         uint32_t offset, uint64_t value);

#endif /* ERNIC_INTERFACES_PG332_STRICT_H */
