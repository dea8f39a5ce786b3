/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page lists and spans that migrate while the machine runs: which of them wait, their
 * parts, and the whole state from its parts. The mark of a page list (objects/buf.h) says
 * how much of it was sent; a change of the list clears the mark.
 */
#include "qemu/osdep.h"
#include "base/budget.h"
#include "base/pages.h"
#include "engine.h"
#include "objects/mr.h"
#include "state/precopy.h"
#include "state/spans.h"
#include "state/state.h"
#include "trace.h"

/* ---- source: page lists ----------------------------------------------------------- */

static uint64_t bytes_of(uint32_t entries)
{
    return (uint64_t)entries * sizeof(uint64_t);
}

/* A list of more bytes than a destination takes stays in the state. */
static bool has_room(const Ernic *e, const ErnicPrecopy *p, const ErnicList *list)
{
    return *list->number || bytes_of(list->length) <= ernic_save_most(e) - p->sent;
}

/* False: the walk ends here, and later begins again with the same object. */
typedef bool Visit(const Ernic *e, ErnicPrecopy *p, const ErnicList *list, void *opaque);

/* The chunks from @p->chunk on: a region may have so many that each walk skips some. */
static bool visit_odp(const Ernic *e, ErnicPrecopy *p, ErnicOdp *odp, Visit *visit,
                      void *opaque)
{
    for (; odp && p->chunk < odp->num; p->chunk++) {
        ErnicList list = ernic_list_of_chunk(&odp->chunk[p->chunk]);

        if (!visit(e, p, &list, opaque)) {
            return false;
        }
    }
    return true;
}

static bool visit_struct(const Ernic *e, ErnicPrecopy *p, const ErnicStateStruct *of,
                         void *obj, Visit *visit, void *opaque)
{
    uint32_t i, k;

    if (of == &ernic_state_buf) {
        ErnicList list = ernic_list_of_buf(obj);

        return !list.length || visit(e, p, &list, opaque);
    }
    for (i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        if (f->owned == &ernic_state_odp &&
            !visit_odp(e, p, ((ErnicMr *)obj)->odp, visit, opaque)) {
            return false;
        }
        for (k = 0; f->kind == ERNIC_SK_STRUCT && k < f->num; k++) {
            if (!visit_struct(e, p, f->of, (char *)obj + f->offset + k * f->size, visit,
                              opaque)) {
                return false;
            }
        }
    }
    return true;
}

/* The lists of the objects of this span, from @p->next on; false: a visit ended it. */
static bool visit_lists(const Ernic *e, ErnicPrecopy *p, Visit *visit, void *opaque)
{
    uint32_t id = p->next;

    for (; p->row < ernic_state_num_tables && ernic_span_next(e, p->row, p->number, &id);
         id++) {
        const ErnicStateTable *t = &ernic_state_tables[p->row];

        if (id != p->next) {
            p->next = id;
            p->chunk = 0;
        }
        if (!visit_struct(e, p, t->of, ernic_state_entry(e, t, id), visit, opaque)) {
            return false;
        }
    }
    return true;
}

static bool forget(const Ernic *e, ErnicPrecopy *p, const ErnicList *list, void *opaque)
{
    *list->number = 0;
    if (list->done) {
        *list->done = 0;
    }
    return true;
}

static bool count(const Ernic *e, ErnicPrecopy *p, const ErnicList *list, void *opaque)
{
    uint32_t n = list->length - ernic_list_done(list);
    ErnicPrecopySpan *span = opaque;

    if (n && has_room(e, p, list)) {
        p->left += bytes_of(n);
        span->waits = true;
    }
    return true;
}

/* ---- source: spans ---------------------------------------------------------------- */

/* The span to go on with; false: there are no more. */
static bool this_span(const Ernic *e, ErnicPrecopy *p)
{
    while (p->row < ERNIC_SPAN_ROWS && p->number >= ernic_spans_now(e, p->row)) {
        p->row++;
        p->number = 0;
    }
    return p->row < ERNIC_SPAN_ROWS;
}

static void next_span(ErnicPrecopy *p)
{
    p->number++;
    p->next = p->chunk = 0;
}

static void restart(ErnicPrecopy *p)
{
    p->row = p->number = p->next = p->chunk = 0;
}

/* Whether @span may be sent with @len bytes, which its copy and the destination take. */
static bool fits(const Ernic *e, const ErnicPrecopy *p, const ErnicPrecopySpan *span,
                 uint32_t len)
{
    return len >= bytes_of(ERNIC_PRECOPY_MIN) && len <= bytes_of(ERNIC_PRECOPY_PART) &&
           p->kept - span->len + len <= p->most_kept &&
           p->sent - ernic_precopy_whole(span->len) + ernic_precopy_whole(len) <=
           ernic_save_most(e);
}

/* Puts this span into @p->bytes; false: it does not wait. */
static bool has_changed(Ernic *e, ErnicPrecopy *p, const ErnicPrecopySpan *span)
{
    GByteArray *now = p->bytes;

    g_byte_array_set_size(now, 0);
    p->unsent = false;
    e->precopy = p;
    ernic_span_save(e, p->row, p->number, bytes_of(ERNIC_PRECOPY_PART), now);
    e->precopy = NULL;
    return !p->unsent && fits(e, p, span, now->len) &&
           (now->len != span->len || memcmp(now->data, span->kept, now->len) != 0);
}

/* The length that this span may have. */
static uint64_t estimate(const Ernic *e, const ErnicPrecopy *p)
{
    uint32_t id = 0, n = 0;

    for (; ernic_span_next(e, p->row, p->number, &id); id++) {
        n++;
    }
    return (uint64_t)n * ernic_span_each(p->row);
}

static void look_at_span(Ernic *e, ErnicPrecopy *p, ErnicPrecopySpan *span)
{
    uint64_t len;

    span->waits = false;
    if (p->fresh) {
        visit_lists(e, p, forget, NULL);
        p->next = p->chunk = 0;
    }
    visit_lists(e, p, count, span);
    if (p->fresh) {
        len = estimate(e, p);
        if (len >= bytes_of(ERNIC_PRECOPY_MIN)) {
            p->left += len;
            span->waits = true;
        }
    } else if (!span->waits && has_changed(e, p, span)) {
        p->left += p->bytes->len;
        span->waits = true;
    }
}

bool ernic_precopy_look(Ernic *e, ErnicPrecopy *p)
{
    ErnicBudget budget = ernic_budget_new(e->cfg.clock);

    if (p->saved) {
        return true;
    }
    if (!p->looking) {
        restart(p);
        p->left = 0;
        p->looking = true;
    }
    for (; this_span(e, p); next_span(p)) {
        if (!ernic_budget_left(&budget)) {
            return false;
        }
        look_at_span(e, p, &p->span[p->row][p->number]);
        ernic_budget_charge(&budget, ERNIC_WORK_ACCESS,
                            ernic_span_numbers(p->row) * ernic_span_each(p->row));
    }
    restart(p);
    p->looking = p->fresh = false;
    return true;
}

void ernic_precopy_end(Ernic *e, ErnicPrecopy *p)
{
    uint32_t row, i, num;

    for (row = 0; p->span && row < ERNIC_SPAN_ROWS; row++) {
        num = p->span[row] ? ernic_spans_most(e, row) : 0;
        for (i = 0; i < num; i++) {
            g_free(p->span[row][i].kept);
        }
        g_free(p->span[row]);
    }
    g_free(p->span);
    if (p->bytes) {
        g_byte_array_unref(p->bytes);
    }
    *p = (ErnicPrecopy) { };
}

bool ernic_precopy_begin(Ernic *e, ErnicPrecopy *p)
{
    uint32_t row;

    ernic_precopy_end(e, p);
    p->fresh = true;
    p->most_kept = ERNIC_PRECOPY_KEPT;
    p->bytes = g_byte_array_new();
    p->span = g_new0(ErnicPrecopySpan *, ERNIC_SPAN_ROWS);
    for (row = 0; row < ERNIC_SPAN_ROWS; row++) {
        p->span[row] = g_try_malloc0((ernic_spans_most(e, row) + 1) *
                                     sizeof(ErnicPrecopySpan));
        if (!p->span[row]) {
            ernic_precopy_end(e, p);
            return false;
        }
    }
    return true;
}

/* ---- source: parts ---------------------------------------------------------------- */

typedef struct Send {
    ErnicPrecopyPart part;
    GByteArray *out;
} Send;

static bool send_part(const Ernic *e, ErnicPrecopy *p, const ErnicList *list,
                      void *opaque)
{
    uint32_t done = ernic_list_done(list);
    uint32_t n = MIN(list->length - done, ERNIC_PRECOPY_PART);
    Send *s = opaque;

    if (!n || !has_room(e, p, list)) {
        return true;
    }
    if (!*list->number) {
        p->sent += bytes_of(list->length);
        *list->number = ++p->lists;
    }
    s->part = (ErnicPrecopyPart) {
        .number = *list->number, .length = list->length, .count = n,
    };
    ernic_state_put_all(s->out, list->entry + done, n, sizeof(*list->entry));
    if (list->done) {
        *list->done += n;
    }
    p->left -= MIN(p->left, bytes_of(n));
    return false;
}
QEMU_BUILD_BUG_ON(ERNIC_ODP_CHUNK > ERNIC_PRECOPY_PART);

/* The host has no memory for a copy: none for others either. */
static bool keep(ErnicPrecopy *p, ErnicPrecopySpan *span)
{
    uint32_t len = p->bytes->len;
    uint8_t *copy = g_try_malloc(len);

    if (!copy) {
        p->most_kept = p->kept;
        return false;
    }
    memcpy(copy, p->bytes->data, len);
    g_free(span->kept);
    span->kept = copy;
    p->kept = p->kept - span->len + len;
    p->sent = p->sent - ernic_precopy_whole(span->len) + ernic_precopy_whole(len);
    span->len = len;
    return true;
}

/* False: this span is what was sent already, or may not be sent. */
static bool send_span(Ernic *e, ErnicPrecopy *p, ErnicPrecopySpan *span, Send *s)
{
    uint32_t n;

    span->waits = false;
    if (!has_changed(e, p, span) || !keep(p, span)) {
        return false;
    }
    if (!span->number) {
        span->number = ++p->lists;
    }
    n = ernic_precopy_whole(span->len) / sizeof(uint64_t);
    s->part = (ErnicPrecopyPart) { .number = span->number, .length = n, .count = n };
    g_byte_array_append(s->out, span->kept, ernic_precopy_whole(span->len));
    p->left -= MIN(p->left, span->len);
    trace_ernic_precopy_span(p->row, p->number, span->number, span->len);
    return true;
}

bool ernic_precopy_next(Ernic *e, ErnicPrecopy *p, ErnicPrecopyPart *part,
                        GByteArray *out)
{
    ErnicBudget budget = ernic_budget_new(e->cfg.clock);
    Send s = { .out = out };

    for (; !p->saved && this_span(e, p); next_span(p)) {
        ErnicPrecopySpan *span = &p->span[p->row][p->number];

        if (!span->waits) {
            continue;
        }
        /* Spans that may not be sent are met until one is found that may. */
        if (!ernic_budget_left(&budget)) {
            return false;
        }
        /* Its lists come first, because they are not part of it once they are sent. */
        if (!visit_lists(e, p, send_part, &s) || send_span(e, p, span, &s)) {
            *part = s.part;
            return true;
        }
        ernic_budget_charge(&budget, ERNIC_WORK_ACCESS, p->bytes->len);
    }
    p->left = 0;
    *part = (ErnicPrecopyPart) { };
    return true;
}

/* ---- source: the state ------------------------------------------------------------ */

GByteArray *ernic_precopy_part_new(void)
{
    return ernic_bytes_new(ERNIC_PRECOPY_PART * sizeof(uint64_t));
}

GByteArray *ernic_precopy_holes_new(const ErnicPrecopy *p)
{
    return ernic_bytes_new(p->lists * sizeof(ErnicPrecopyHole));
}

void ernic_precopy_save(Ernic *e, ErnicPrecopy *p, GByteArray *out,
                        GByteArray *span_holes, GByteArray *holes)
{
    p->span_holes = span_holes;
    p->holes = holes;
    p->skipped = p->skipped_spans = 0;
    e->precopy = p->saved ? NULL : p;
    ernic_save(e, out);
    e->precopy = NULL;
    p->span_holes = p->holes = NULL;
    p->saved = true;
    p->left = 0;
}

/* ---- destination ----------------------------------------------------------------- */

/* A new list, or one that replaces a complete one. */
static bool begin_list(ErnicPrecopied *p, ErnicPrecopiedList *list, uint32_t length,
                       uint64_t most)
{
    uint64_t others = p->bytes - bytes_of(list->length);
    uint8_t *entry;

    if (length < ERNIC_PRECOPY_MIN || bytes_of(length) > most - others) {
        return false;
    }
    entry = g_try_malloc(bytes_of(length));
    if (!entry) {
        return false;
    }
    g_free(list->entry);
    *list = (ErnicPrecopiedList) { .entry = entry, .length = length };
    p->bytes = others + bytes_of(length);
    return true;
}

static bool add_list(ErnicPrecopied *p, uint32_t length, uint64_t most)
{
    ErnicPrecopiedList *list = g_try_realloc_n(p->list, p->lists + 1, sizeof(*list));

    if (!list) {
        return false;
    }
    p->list = list;
    list[p->lists] = (ErnicPrecopiedList) { };
    if (!begin_list(p, &list[p->lists], length, most)) {
        return false;
    }
    p->lists++;
    return true;
}

void *ernic_precopy_take(ErnicPrecopied *p, const ErnicPrecopyPart *part, uint64_t most)
{
    ErnicPrecopiedList *list;
    void *to;

    if (part->number == 0 || part->number > p->lists + 1 ||
        (part->number == p->lists + 1 && !add_list(p, part->length, most))) {
        return NULL;
    }
    list = &p->list[part->number - 1];
    if (list->done == list->length && !begin_list(p, list, part->length, most)) {
        return NULL;
    }
    if (part->length != list->length || part->count == 0 ||
        part->count > MIN(ERNIC_PRECOPY_PART, list->length - list->done)) {
        return NULL;
    }
    to = list->entry + bytes_of(list->done);
    list->done += part->count;
    return to;
}

/* NULL: there is no such list, or it is not complete. */
static const ErnicPrecopiedList *complete_list(const ErnicPrecopied *p, uint32_t number)
{
    const ErnicPrecopiedList *list = number && number <= p->lists ?
                                     &p->list[number - 1] : NULL;

    return list && list->done == list->length ? list : NULL;
}

/* The length of the whole; 0: there is no such whole. */
static uint64_t whole_length(const ErnicPrecopied *p, uint64_t len,
                             const ErnicPrecopyHole *holes, size_t num, uint64_t most)
{
    uint64_t filled = 0, at = 0;        /* bytes of lists so far; end of the last */
    size_t i;

    for (i = 0; i < num; i++) {
        const ErnicPrecopyHole *h = &holes[i];
        const ErnicPrecopiedList *list = complete_list(p, h->number);

        if (!list || h->at < at || h->at - filled > len) {
            return 0;
        }
        filled += bytes_of(list->length);
        at = h->at + bytes_of(list->length);
        if (filled > most) {
            return 0;
        }
    }
    return len > most - filled ? 0 : len + filled;
}

uint8_t *ernic_precopy_fill(const ErnicPrecopied *p, const uint8_t *state, size_t *len,
                            const ErnicPrecopyHole *holes, size_t num, uint64_t most)
{
    uint64_t total = whole_length(p, *len, holes, num, most);
    uint8_t *whole = total ? g_try_malloc(total) : NULL, *to = whole;
    const uint8_t *end = state + *len;
    size_t i, n;

    if (!whole) {
        return NULL;
    }
    for (i = 0; i < num; i++, to += n) {
        const ErnicPrecopiedList *list = complete_list(p, holes[i].number);

        n = holes[i].at - (to - whole);
        memcpy(to, state, n);
        state += n;
        to += n;
        n = bytes_of(list->length);
        memcpy(to, list->entry, n);
    }
    memcpy(to, state, end - state);
    *len = total;
    return whole;
}

void ernic_precopied_clear(ErnicPrecopied *p)
{
    while (p->lists) {
        g_free(p->list[--p->lists].entry);
    }
    g_free(p->list);
    *p = (ErnicPrecopied) { };
}
