/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page lists that migrate while the machine runs. They are most of the state of an engine
 * with large regions, and seldom change. Each is sent as a list with a number, in parts;
 * the state that is saved in the end has a hole in place of each list that was sent and
 * has not changed since. The destination fills the holes, and then has the state that
 * ernic_save() writes.
 */
#ifndef ERNIC_STATE_PRECOPY_H
#define ERNIC_STATE_PRECOPY_H

#include "base/types.h"

/* Shorter lists stay in the state. */
#define ERNIC_PRECOPY_MIN   64          /* entries of 8 bytes */
#define ERNIC_PRECOPY_PART  (1u << 16)  /* entries that a part has at most */

/* A part of a list: what is sent before its entries. */
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

/* Values of one migration; zeroed at its beginning. */
typedef struct ErnicPrecopy {
    uint32_t lists;             /* that were begun */
    uint64_t sent;              /* their length, bytes: at most ernic_save_most() */
    uint64_t left;              /* bytes that wait, as of the last look */
    uint32_t table, next, chunk;        /* the object to go on with, and its chunk */
    /* While a state is saved: its holes so far, and the bytes that belong there. */
    GByteArray *holes;          /* of ErnicPrecopyHole */
    uint64_t skipped;
} ErnicPrecopy;

/* Begins a migration, in which no list was sent, and looks. */
void ernic_precopy_begin(Ernic *e, ErnicPrecopy *p);
/* Finds the lists that are new or have changed, and counts @p->left. */
void ernic_precopy_look(Ernic *e, ErnicPrecopy *p);
/*
 * The next part, whose entries (little-endian) are appended to @out. Its count is 0 if
 * no list waits.
 */
ErnicPrecopyPart ernic_precopy_next(Ernic *e, ErnicPrecopy *p, GByteArray *out);
/*
 * The same as ernic_save(), without the lists that were sent; @holes says where they
 * belong.
 */
void ernic_precopy_save(Ernic *e, ErnicPrecopy *p, GByteArray *out, GByteArray *holes);

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
 * first of a new one, or all lists would have more than @most bytes, or the host has no
 * memory.
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
