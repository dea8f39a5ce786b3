/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of spans: objects, and what is stored of their numbers elsewhere.
 */
#include "qemu/osdep.h"
#include "engine.h"
#include "interfaces/mlx5/rdma/records.h"
#include "objects/mr.h"
#include "state/precopy.h"
#include "state/spans.h"
#include "state/state.h"

/* Bytes of a span, if its objects own no memory. */
#define SPAN_BYTES  (64u << 10)

static const ErnicStateTable *table_of(uint32_t n)
{
    return &ernic_state_tables[ernic_span_rows[n].table];
}

void *ernic_span_element(const ErnicSpanRow *row, const Ernic *e, uint32_t id)
{
    return *(uint8_t *const *)((const char *)e->mlx5 + row->array) +
           (size_t)id * row->size;
}

static void save_object(const ErnicSpanRow *row, const Ernic *e, uint32_t id,
                        GByteArray *out)
{
    const ErnicStateTable *t = &ernic_state_tables[row->table];

    ernic_state_put(out, id, 4);
    ernic_state_save_struct(e, t->of, ernic_state_entry(e, t, id), out);
}

static void save_variant(const ErnicSpanRow *row, const Ernic *e, uint32_t id,
                         GByteArray *out)
{
    ernic_state_put(out, e->mr[id].variant, 1);
}

static void save_element(const ErnicSpanRow *row, const Ernic *e, uint32_t id,
                         GByteArray *out)
{
    const void *element = ernic_span_element(row, e, id);

    if (row->of) {
        ernic_state_save_struct(e, row->of, element, out);
    } else {
        g_byte_array_append(out, element, row->size);
    }
}

#define OBJECTS(n)  [n] = { .table = n, .save = save_object }
/* An array like @member of ErnicMlx5. */
#define BESIDE(n, table_, member, ...) \
    [ERNIC_SPANS_##n] = { \
        .table = table_, .save = save_element, .array = offsetof(ErnicMlx5, member), \
        .size = sizeof(*((ErnicMlx5 *)0)->member), __VA_ARGS__ \
    }

const ErnicSpanRow ernic_span_rows[ERNIC_SPAN_ROWS] = {
    OBJECTS(0), OBJECTS(1), OBJECTS(2), OBJECTS(3), OBJECTS(4), OBJECTS(5), OBJECTS(6),
    OBJECTS(7), OBJECTS(8), OBJECTS(9), OBJECTS(10), OBJECTS(11), OBJECTS(12),
    OBJECTS(13), OBJECTS(14), OBJECTS(15), OBJECTS(16), OBJECTS(17), OBJECTS(18),
    [ERNIC_SPANS_VARIANTS] = {
        .table = ERNIC_TABLE_MR, .all = true, .save = save_variant, .size = 1,
    },
    BESIDE(MLX5_QP, ERNIC_TABLE_QP, queues.qp, .of = &ernic_state_mlx5_qp),
    BESIDE(MLX5_CQ, ERNIC_TABLE_CQ, queues.cq, .of = &ernic_state_mlx5_cq),
    BESIDE(MLX5_SRQ, ERNIC_TABLE_SRQ, queues.srq, .of = &ernic_state_mlx5_srq),
    BESIDE(MKEY_CONTEXTS, ERNIC_TABLE_MR, contexts.mkey),
    BESIDE(CQ_CONTEXTS, ERNIC_TABLE_CQ, contexts.cq),
    BESIDE(QP_CONTEXTS, ERNIC_TABLE_QP, contexts.qp),
    BESIDE(SRQ_CONTEXTS, ERNIC_TABLE_SRQ, contexts.srq),
    BESIDE(EQ_CONTEXTS, ERNIC_TABLE_EQ, contexts.eq),
    BESIDE(EQ_EVENTS, ERNIC_TABLE_EQ, contexts.eq_events),
};

uint32_t ernic_span_each(uint32_t n)
{
    const ErnicSpanRow *row = &ernic_span_rows[n];

    return row->size ? row->size : table_of(n)->of->size;
}

uint32_t ernic_span_numbers(uint32_t n)
{
    return MAX(1, SPAN_BYTES / ernic_span_each(n));
}

/* Whether this engine has the row. */
static bool exists(const Ernic *e, uint32_t n)
{
    return ernic_state_table_base(e, table_of(n)) &&
           (e->mlx5 || n <= ERNIC_SPANS_VARIANTS);
}

uint32_t ernic_spans_most(const Ernic *e, uint32_t n)
{
    uint32_t numbers = exists(e, n) ? ernic_state_table_size(e, table_of(n)) : 0;

    return DIV_ROUND_UP(numbers, ernic_span_numbers(n));
}

uint32_t ernic_spans_now(const Ernic *e, uint32_t n)
{
    uint32_t numbers = exists(e, n) ? ernic_state_table_end(e, table_of(n)) : 0;

    return DIV_ROUND_UP(numbers, ernic_span_numbers(n));
}

bool ernic_span_next(const Ernic *e, uint32_t n, uint32_t i, uint32_t *id)
{
    const ErnicStateTable *t = table_of(n);
    bool all = ernic_span_rows[n].all;
    uint32_t numbers = ernic_span_numbers(n), from = i * numbers;
    uint32_t end = MIN(ernic_state_table_end(e, t), from + numbers);

    *id = MAX(*id, MAX(from, all ? 0 : t->first));
    return all ? *id < end : ernic_state_next_below(e, t, id, end) != NULL;
}

void ernic_span_save(const Ernic *e, uint32_t n, uint32_t i, uint32_t most,
                     GByteArray *out)
{
    const ErnicSpanRow *row = &ernic_span_rows[n];
    uint32_t id = 0;

    for (; out->len <= most && ernic_span_next(e, n, i, &id); id++) {
        row->save(row, e, id, out);
    }
}

/* Puts a hole where bytes stand, from @at on, that are as they were sent. */
static void skip(ErnicPrecopy *p, const ErnicPrecopySpan *span, GByteArray *out,
                 uint32_t at)
{
    uint32_t sent = ernic_precopy_whole(span->len);
    ErnicPrecopyHole hole;

    memset(&hole, 0, sizeof(hole));
    hole.at = at + p->skipped_spans;
    hole.number = span->number;
    g_byte_array_append(p->span_holes, (const uint8_t *)&hole, sizeof(hole));
    g_byte_array_remove_range(out, at, sent);
    p->skipped += sent;
    p->skipped_spans += sent;
}

static bool was_sent(const ErnicPrecopySpan *span, const GByteArray *out, uint32_t at)
{
    return span->number && span->len == out->len - at &&
           memcmp(span->kept, out->data + at, span->len) == 0;
}

void ernic_spans_save(const Ernic *e, uint32_t n, GByteArray *out)
{
    uint32_t num = ernic_spans_now(e, n), i;

    for (i = 0; i < num && out->len <= ERNIC_SAVE_END; i++) {
        guint at = out->len;

        ernic_span_save(e, n, i, ERNIC_SAVE_END, out);
        if (e->precopy && was_sent(&e->precopy->span[n][i], out, at)) {
            skip(e->precopy, &e->precopy->span[n][i], out, at);
        }
    }
}
