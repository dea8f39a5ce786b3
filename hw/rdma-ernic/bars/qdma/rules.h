/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Strict mode for the QDMA: rules that its documents give to software, and that the
 * model does without. Each is checked before the access of software, which has the
 * same effect as without strict mode. The rules are a table (rules.c).
 */
#ifndef ERNIC_BARS_QDMA_RULES_H
#define ERNIC_BARS_QDMA_RULES_H

#include "bars/qdma/qdma.h"

/* The accesses of software. */
typedef enum QdmaMoment {
    QDMA_WRITES,                /* a register */
    QDMA_CONTEXT,               /* writes a context */
    QDMA_ENABLES,               /* the same, a software context with the enable bit */
    QDMA_RENEWS,                /* clears a hardware context */
    QDMA_ENDS,                  /* clears, writes or invalidates a software context */
    QDMA_POSTS,                 /* descriptors, by a doorbell */
    QDMA_READS,                 /* entries of a completion ring, by a doorbell */
} QdmaMoment;

/* Stands in place of the number of a queue. */
#define QDMA_NO_QUEUE   ERNIC_QDMA_QUEUES

typedef struct QdmaAccess {
    QdmaMoment moment;
    uint32_t queue;             /* or QDMA_NO_QUEUE */
    uint8_t dir;                /* of it */
    bool refused;               /* of a register: there is none, or it is read-only */
    uint32_t at, value;         /* the register, and what is written to it */
    uint32_t writable;          /* QDMA_WRITES: bits of it that it stores */
    uint32_t *words;            /* QDMA_ENABLES: the context that is to be */
    uint32_t num;               /* QDMA_CONTEXT: its words */
} QdmaAccess;

/* Counts and reports the rules that @access breaks; if strict mode is off, none. */
void qdma_rules(ErnicPci *d, const QdmaAccess *access);
/*
 * Adds each rule of the QDMA with its violations since the last reset, for a property.
 * Without a QDMA there are none.
 */
void ernic_qdma_put_rules(const ErnicPci *d, QDict *to);

#endif /* ERNIC_BARS_QDMA_RULES_H */
