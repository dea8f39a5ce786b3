/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parts of a state that grow with the number of objects, as rows of spans. A span is
 * what a range of numbers adds to its row. The ranges never change, so an object that
 * changes, comes or goes changes one span of each of its rows.
 */
#ifndef ERNIC_STATE_SPANS_H
#define ERNIC_STATE_SPANS_H

#include "base/types.h"
#include "state/rows.h"

typedef struct ErnicSpanRow ErnicSpanRow;

struct ErnicSpanRow {
    uint32_t table;             /* of ernic_state_tables[]: whose numbers */
    bool all;                   /* numbers that are not in use, too */
    /* Append what number @id has here. */
    void (*save)(const ErnicSpanRow *row, const Ernic *e, uint32_t id, GByteArray *out);
    /* An array of ErnicMlx5 beside the table; none if @size is 0. */
    uint32_t array;             /* offset of the pointer to it */
    uint32_t size;              /* of an element */
    const ErnicStateStruct *of; /* NULL: the bytes of an element */
};

/* The first rows are the tables, in their order. */
enum {
    ERNIC_SPANS_VARIANTS = 19,
    ERNIC_SPANS_MLX5_QP, ERNIC_SPANS_MLX5_CQ, ERNIC_SPANS_MLX5_SRQ,
    ERNIC_SPANS_MKEY_CONTEXTS, ERNIC_SPANS_CQ_CONTEXTS, ERNIC_SPANS_QP_CONTEXTS,
    ERNIC_SPANS_SRQ_CONTEXTS, ERNIC_SPANS_EQ_CONTEXTS, ERNIC_SPANS_EQ_EVENTS,
    ERNIC_SPAN_ROWS
};
extern const ErnicSpanRow ernic_span_rows[ERNIC_SPAN_ROWS];

/* Spans that row @n may ever have, and those that may not be empty now. */
uint32_t ernic_spans_most(const Ernic *e, uint32_t n);
uint32_t ernic_spans_now(const Ernic *e, uint32_t n);
/* The numbers of each span of row @n, and about the bytes of one in it. */
uint32_t ernic_span_numbers(uint32_t n);
uint32_t ernic_span_each(uint32_t n);

/* The next number from *id on in span @i of row @n; false: there is none. */
bool ernic_span_next(const Ernic *e, uint32_t n, uint32_t i, uint32_t *id);
/* Append span @i of row @n. It ends early if @out has more than @most bytes. */
void ernic_span_save(const Ernic *e, uint32_t n, uint32_t i, uint32_t most,
                     GByteArray *out);
/* The whole row, for a state: without the spans that were sent ahead (precopy.h). */
void ernic_spans_save(const Ernic *e, uint32_t n, GByteArray *out);

/* Element @id of the array beside the table of @row. */
void *ernic_span_element(const ErnicSpanRow *row, const Ernic *e, uint32_t id);

#endif /* ERNIC_STATE_SPANS_H */
