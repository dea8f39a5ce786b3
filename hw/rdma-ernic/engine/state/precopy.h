/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page lists migrate while the machine runs, and so do spans of the rows that grow with
 * the number of objects (spans.h). They are most of the state of an engine with large
 * regions or many objects, and seldom change. Each is sent as a list with a number, in
 * parts; the state that is saved in the end has a hole in place of each list that was
 * sent and has not changed since. The destination fills the holes, and then has the state
 * that ernic_save() writes.
 *
 * A change of a page list clears its mark. A span has no mark, because everything changes
 * objects: the source keeps a copy of what it has sent, and compares.
 */
#ifndef ERNIC_STATE_PRECOPY_H
#define ERNIC_STATE_PRECOPY_H

#include "base/types.h"

/*
 * Shorter lists stay in the state, and so do spans of more than a part, or with a list
 * that was not sent.
 */
#define ERNIC_PRECOPY_MIN   64          /* entries of 8 bytes */
#define ERNIC_PRECOPY_PART  (1u << 16)  /* entries that a part has at most */
/* Copies of spans at the source; spans beyond that stay in the state. */
#define ERNIC_PRECOPY_KEPT  (256ull << 20)      /* bytes */

/*
 * A part of a list: what is sent before its entries. After the last part a list of the
 * same number, and maybe of another length, replaces it: that of a span that has changed.
 */
typedef struct ErnicPrecopyPart {
    uint32_t number;            /* of the list: 1, 2, 3 ... */
    uint32_t length;            /* of the list, in entries */
    uint32_t count;             /* of entries that follow; 0: no more parts now */
} ErnicPrecopyPart;

/* A state without its lists: list @number belongs at byte @at of the whole. */
typedef struct ErnicPrecopyHole {
    uint64_t at;
    uint32_t number;
} ErnicPrecopyHole;

/* ---- source ---------------------------------------------------------------------- */

/* A span as it was sent. The bytes after its last whole entry stay in the state. */
typedef struct ErnicPrecopySpan {
    uint8_t *kept;              /* owned */
    uint32_t len;               /* bytes */
    uint32_t number;            /* of its list; 0: it was not sent */
    bool waits;                 /* it may have changed, or a list of its objects waits */
} ErnicPrecopySpan;

/* The bytes of a span of @len that are sent: whole entries. */
static inline uint32_t ernic_precopy_whole(uint32_t len)
{
    return len - len % sizeof(uint64_t);
}

/* Values of one migration; zeroed at first. */
typedef struct ErnicPrecopy {
    uint32_t lists;             /* that were begun */
    uint64_t sent;              /* their length, bytes: at most ernic_save_most() */
    uint64_t left;              /* bytes that wait, as of the last look */
    uint64_t kept, most_kept;   /* bytes of copies, and their bound */
    ErnicPrecopySpan **span;    /* owned, as is each; by row and number */
    bool fresh;                 /* the first look: marks are those of another migration */
    bool looking;               /* a look goes on */
    bool saved;                 /* the state, once: nothing waits any more */
    uint32_t row, number;       /* the span to go on with, */
    uint32_t next, chunk;       /* its object, and its chunk */
    GByteArray *bytes;          /* owned; of the span that is looked at, without lists */
    bool unsent;                /* one of these lists was not sent */
    /* While a state is saved: its holes so far, and the bytes that belong there. */
    GByteArray *holes;          /* of page lists: ErnicPrecopyHole */
    GByteArray *span_holes;     /* of spans */
    uint64_t skipped;           /* of both */
    uint64_t skipped_spans;
} ErnicPrecopy;

/*
 * Begins a migration, in which no list was sent. A complete look has to follow. False:
 * this host has no memory for it, and all stays in the state.
 */
bool ernic_precopy_begin(Ernic *e, ErnicPrecopy *p);
/* Frees all of it. */
void ernic_precopy_end(Ernic *e, ErnicPrecopy *p);
/*
 * Finds what is new or has changed, and counts @p->left. False: the slice has ended, and
 * the next call continues.
 */
bool ernic_precopy_look(Ernic *e, ErnicPrecopy *p);
/* Empty arrays for the two below; NULL: this host has no memory for what comes there. */
GByteArray *ernic_precopy_part_new(void);
GByteArray *ernic_precopy_holes_new(const ErnicPrecopy *p);
/*
 * The next part, whose entries (little-endian) are appended to @out. Its count is 0 if
 * no list waits. False: the slice has ended, and the next call continues.
 */
bool ernic_precopy_next(Ernic *e, ErnicPrecopy *p, ErnicPrecopyPart *part,
                        GByteArray *out);
/*
 * The same as ernic_save(), without what was sent. The destination fills @span_holes
 * first, and then @holes, and keeps none of it: what is saved after that is whole, and
 * nothing more waits, as a migration ends when nothing does.
 */
void ernic_precopy_save(Ernic *e, ErnicPrecopy *p, GByteArray *out,
                        GByteArray *span_holes, GByteArray *holes);

/* ---- destination ----------------------------------------------------------------- */

typedef struct ErnicPrecopiedList {
    uint8_t *entry;             /* owned */
    uint32_t length, done;      /* entries */
} ErnicPrecopiedList;

/* The lists that have arrived; zeroed at first. */
typedef struct ErnicPrecopied {
    ErnicPrecopiedList *list;   /* owned; list 1 is the first */
    uint32_t lists;
    uint64_t bytes;             /* of all lists */
} ErnicPrecopied;

/*
 * Where the entries of @part go. NULL: it is neither the next part of a list nor the
 * first of a new one or of one that is replaced, or all lists would have more than @most
 * bytes, or the host has no memory.
 */
void *ernic_precopy_take(ErnicPrecopied *p, const ErnicPrecopyPart *part, uint64_t most);
/*
 * Fills the @num @holes of a state of *@len bytes. Returns the whole (g_free), whose
 * length is then *@len. NULL: the holes are not in order, a list is not complete, or the
 * whole has more than @most bytes.
 */
uint8_t *ernic_precopy_fill(const ErnicPrecopied *p, const uint8_t *state, size_t *len,
                            const ErnicPrecopyHole *holes, size_t num, uint64_t most);
void ernic_precopied_clear(ErnicPrecopied *p);

#endif /* ERNIC_STATE_PRECOPY_H */
