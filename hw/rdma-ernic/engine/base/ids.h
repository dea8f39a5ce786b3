/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of objects: given out in order. A freed number is reused as late as
 * possible, so that a stale reference seldom meets a new object; but numbers that were
 * never given out wait for as long as ERNIC_IDS_LATE others are free, so that objects
 * which come and go do not use a large table up.
 */
#ifndef ERNIC_BASE_IDS_H
#define ERNIC_BASE_IDS_H

/* Freed numbers that wait, while there are others. */
#define ERNIC_IDS_LATE  65536

typedef struct ErnicIds {
    uint32_t *fifo;             /* of a freed number: the one freed after it; or 0 */
    uint32_t first, size;       /* numbers from first to size - 1 exist */
    uint32_t fresh;             /* from here on, no number was ever given out */
    uint32_t room;              /* from here on, none will be: size, unless it is set */
    uint32_t head, tail;        /* the freed numbers, oldest first; or 0 */
    uint32_t count;             /* all free numbers */
} ErnicIds;

/* Numbers @first .. @size - 1 are free. */
void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size);
void ernic_ids_fini(ErnicIds *ids);
/* Whether the next number has to be a reused one, for want of room. */
bool ernic_ids_want_room(const ErnicIds *ids);
/* Whether there is a number. */
bool ernic_ids_left(const ErnicIds *ids);
/* Returns 0 when none is left. */
uint32_t ernic_ids_alloc(ErnicIds *ids);
/* Free @id, which the caller has checked to be in use. */
void ernic_ids_free(ErnicIds *ids, uint32_t id);
/*
 * Load: the numbers from @fresh on, and those that ernic_ids_load() adds, are free, and
 * no others. False: impossible.
 */
bool ernic_ids_load_fresh(ErnicIds *ids, uint32_t fresh);
bool ernic_ids_load(ErnicIds *ids, uint32_t id);
/*
 * The numbers below @fresh, which is at most size, were given out: those of them that
 * seem not to have been were freed before all others.
 */
void ernic_ids_load_given(ErnicIds *ids, uint32_t fresh);

#endif /* ERNIC_BASE_IDS_H */
