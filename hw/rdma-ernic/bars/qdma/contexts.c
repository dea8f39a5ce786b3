/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The indirect context command: it clears, writes, reads or invalidates one context. It
 * is complete when the write of the command returns, so software never sees it busy.
 */
#include "qemu/osdep.h"
#include "bars/qdma/aggregation.h"
#include "bars/qdma/contexts.h"
#include "bars/qdma/completion.h"
#include "bars/qdma/doorbells.h"
#include "bars/qdma/errors.h"
#include "bars/qdma/registers.h"
#include "bars/qdma/rules.h"
#include "hw/rdma-ernic/trace.h"

/* IND_CTXT_CMD */
FIELD(COMMAND, SELECTOR, 1, 4)
FIELD(COMMAND, OP, 5, 2)
FIELD(COMMAND, NUMBER, 7, 13)

enum { OP_CLEAR, OP_WRITE, OP_READ, OP_INVALIDATE };

/* Selectors that matter here: the first ones are the directions of software contexts. */
enum { SELECT_SW_H2C = ERNIC_QDMA_H2C, SELECT_HW_C2H, SELECT_HW_H2C, SELECT_CMPT = 6,
       SELECT_TIMER = 11 };

/* The numbers of a selector count these. */
typedef enum Kind {
    OF_QUEUE,                   /* a part of ErnicQdmaQueue */
    OF_INT_RING,
    OF_FUNCTION,
    OF_TIMER,                   /* of a queue's completions: it has no words */
} Kind;

typedef struct Context {
    const char *name;           /* NULL: there is no such context */
    uint8_t words;
    uint8_t valid_word;         /* the bits that an invalidation clears */
    uint32_t valid;             /* 0: there are none */
    uint16_t at;
    Kind kind;
} Context;

#define VALID_CONTEXT(name, field, word, valid) \
    { name, sizeof_field(ErnicQdmaQueue, field) / 4, word, valid, \
      offsetof(ErnicQdmaQueue, field) }
#define CONTEXT(name, field)    VALID_CONTEXT(name, field, 0, 0)

static const Context contexts[16] = {
    VALID_CONTEXT("software C2H", sw[ERNIC_QDMA_C2H], 1, R_SW1_ENABLE_MASK),
    VALID_CONTEXT("software H2C", sw[ERNIC_QDMA_H2C], 1, R_SW1_ENABLE_MASK),
    CONTEXT("hardware C2H", hw[ERNIC_QDMA_C2H]),
    CONTEXT("hardware H2C", hw[ERNIC_QDMA_H2C]),
    CONTEXT("credit C2H", credit[ERNIC_QDMA_C2H]),
    CONTEXT("credit H2C", credit[ERNIC_QDMA_H2C]),
    VALID_CONTEXT("completion", cmpt, 3, R_CMPT3_VALID_MASK),
    VALID_CONTEXT("prefetch", prefetch, 1, R_PREFETCH1_VALID_MASK),
    { "interrupt ring", 4, 0, R_INT0_VALID_MASK, .kind = OF_INT_RING },
    [SELECT_TIMER] = { "timer", 0, .kind = OF_TIMER },
    [12] = { "FMAP", 2, .kind = OF_FUNCTION },
};

/* The words of context @number; NULL: there is none. */
static uint32_t *words_of(ErnicQdma *q, const Context *c, uint32_t number)
{
    switch (c->kind) {
    case OF_INT_RING:
        return number < ERNIC_QDMA_INT_RINGS ? q->int_ring[number] : NULL;
    case OF_FUNCTION:
        return number < ERNIC_QDMA_FUNCTIONS ? q->fmap[number] : NULL;
    default:
        return c->name && number < ERNIC_QDMA_QUEUES ?
               (uint32_t *)((uint8_t *)&q->queue[number] + c->at) : NULL;
    }
}

static void write_words(ErnicQdma *q, uint32_t *words, uint32_t num)
{
    uint32_t i, mask;

    for (i = 0; i < num; i++) {
        mask = *qdma_reg(q, QDMA_IND_CTXT_MASK, i);
        words[i] = (words[i] & ~mask) | (*qdma_reg(q, QDMA_IND_CTXT_DATA, i) & mask);
    }
}

static void read_words(ErnicQdma *q, const uint32_t *words, uint32_t num)
{
    uint32_t i;

    for (i = 0; i < ERNIC_QDMA_DATA_WORDS; i++) {
        *qdma_reg(q, QDMA_IND_CTXT_DATA, i) = i < num ? words[i] : 0;
    }
}

/* The rules of a command that changes the context @words. */
static void check(ErnicPci *d, const Context *c, uint32_t number, uint32_t op,
                  const uint32_t *words)
{
    uint32_t selector = c - contexts, next[ERNIC_QDMA_DATA_WORDS];
    QdmaAccess s = {
        .at = QDMA_IND_CTXT_CMD, .value = *qdma_reg(d->shell.qdma, QDMA_IND_CTXT_CMD, 0),
        .queue = c->kind == OF_QUEUE ? number : QDMA_NO_QUEUE, .dir = selector,
        .words = next, .num = c->words,
    };

    if (selector <= SELECT_SW_H2C) {
        s.moment = QDMA_ENDS;
        qdma_rules(d, &s);
    }
    if (op == OP_CLEAR && (selector == SELECT_HW_C2H || selector == SELECT_HW_H2C)) {
        s.moment = QDMA_RENEWS;
        s.dir = selector - SELECT_HW_C2H;
        qdma_rules(d, &s);
    }
    if (op != OP_WRITE) {
        return;
    }
    s.moment = QDMA_CONTEXT;
    qdma_rules(d, &s);
    memcpy(next, words, c->words * 4);
    write_words(d->shell.qdma, next, c->words);
    if (selector <= SELECT_SW_H2C && FIELD_EX32(next[1], SW1, ENABLE)) {
        s.moment = QDMA_ENABLES;
        qdma_rules(d, &s);
    }
}

void qdma_context_command(ErnicPci *d, uint32_t command)
{
    uint32_t number = FIELD_EX32(command, COMMAND, NUMBER);
    uint32_t op = FIELD_EX32(command, COMMAND, OP);
    uint32_t selector = FIELD_EX32(command, COMMAND, SELECTOR);
    const Context *c = &contexts[selector];
    ErnicQdma *q = d->shell.qdma;
    uint32_t *words = words_of(q, c, number);

    if (!words) {
        trace_ernic_guest_qdma_context(ernic_pci_id(d), command);
        qdma_error(d, QDMA_ERR_CONTEXT, NULL);
        return;
    }
    if (op != OP_READ && d->pg332.strict) {
        check(d, c, number, op, words);
    }
    if (selector <= SELECT_SW_H2C && op != OP_READ) {
        qdma_queue_ends(d, number, selector);
    }
    trace_ernic_qdma_context(ernic_pci_id(d), c->name, number, op);
    if ((selector == SELECT_CMPT || selector == SELECT_TIMER) && op != OP_READ) {
        qdma_cmpt_timer_ends(q, number);
    }
    switch (op) {
    case OP_WRITE:
        write_words(q, words, c->words);
        if (selector == SELECT_CMPT) {
            qdma_cmpt_timer_ends(q, number);    /* the bit is the device's */
        }
        break;
    case OP_READ:
        read_words(q, words, c->words);
        break;
    case OP_INVALIDATE:                 /* other values are intact */
        words[c->valid_word] &= ~c->valid;
        break;
    default:                            /* OP_CLEAR */
        memset(words, 0, c->words * 4);
        break;
    }
}
