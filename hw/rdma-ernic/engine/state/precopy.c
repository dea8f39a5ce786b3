/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page lists that migrate while the machine runs: which lists wait, their parts, and the
 * whole state from its parts. The mark of a list (objects/buf.h) says how much of it was
 * sent; a change of the list clears the mark.
 */
#include "qemu/osdep.h"
#include "engine.h"
#include "objects/mr.h"
#include "state/precopy.h"
#include "state/state.h"

/* ---- source ---------------------------------------------------------------------- */

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

/* The lists of all objects from @p->next on; false: a visit has ended the walk. */
static bool walk(const Ernic *e, ErnicPrecopy *p, Visit *visit, void *opaque)
{
    for (; p->table < ernic_state_num_tables; p->table++, p->next = p->chunk = 0) {
        const ErnicStateTable *t = &ernic_state_tables[p->table];
        uint32_t id = MAX(p->next, t->first);
        void *obj;

        for (; (obj = ernic_state_next(e, t, &id)); id++) {
            if (id != p->next) {
                p->next = id;
                p->chunk = 0;
            }
            if (!visit_struct(e, p, t->of, obj, visit, opaque)) {
                return false;
            }
        }
    }
    return true;
}

static void restart(ErnicPrecopy *p)
{
    p->table = p->next = p->chunk = 0;
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
    if (has_room(e, p, list)) {
        p->left += bytes_of(list->length - ernic_list_done(list));
    }
    return true;
}

void ernic_precopy_look(Ernic *e, ErnicPrecopy *p)
{
    restart(p);
    p->left = 0;
    walk(e, p, count, NULL);
    restart(p);
}

void ernic_precopy_begin(Ernic *e, ErnicPrecopy *p)
{
    *p = (ErnicPrecopy) { };
    walk(e, p, forget, NULL);
    ernic_precopy_look(e, p);
}

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

ErnicPrecopyPart ernic_precopy_next(Ernic *e, ErnicPrecopy *p, GByteArray *out)
{
    Send s = { .out = out };

    walk(e, p, send_part, &s);
    return s.part;
}

void ernic_precopy_save(Ernic *e, ErnicPrecopy *p, GByteArray *out, GByteArray *holes)
{
    p->holes = holes;
    p->skipped = 0;
    e->precopy = p;
    ernic_save(e, out);
    e->precopy = NULL;
    p->holes = NULL;
}

/* ---- destination ----------------------------------------------------------------- */

static bool begin_list(ErnicPrecopied *p, const ErnicPrecopyPart *part, uint64_t most)
{
    ErnicPrecopiedList *list;

    if (part->length < ERNIC_PRECOPY_MIN || bytes_of(part->length) > most - p->bytes) {
        return false;
    }
    list = g_try_realloc_n(p->list, p->lists + 1, sizeof(*list));
    if (!list) {
        return false;
    }
    p->list = list;
    list += p->lists;
    *list = (ErnicPrecopiedList) {
        .entry = g_try_malloc(bytes_of(part->length)), .length = part->length,
    };
    if (!list->entry) {
        return false;
    }
    p->lists++;
    p->bytes += bytes_of(part->length);
    return true;
}

void *ernic_precopy_take(ErnicPrecopied *p, const ErnicPrecopyPart *part, uint64_t most)
{
    ErnicPrecopiedList *list;
    void *to;

    if (part->number == 0 || part->number > p->lists + 1 ||
        (part->number == p->lists + 1 && !begin_list(p, part, most))) {
        return NULL;
    }
    list = &p->list[part->number - 1];
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
