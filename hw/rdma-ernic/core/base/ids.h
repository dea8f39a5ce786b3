/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of objects: given out in order. A freed number is reused as late as
 * possible, so that a stale reference seldom meets a new object.
 */
#ifndef ERNIC_BASE_IDS_H
#define ERNIC_BASE_IDS_H

typedef struct ErnicIds {
    /*
     * Free numbers, oldest first. A word is the difference from the order of a new
     * queue, so that numbers which nobody has used take no memory.
     */
    uint32_t *fifo;
    uint32_t first;             /* of a new queue */
    uint32_t size;              /* numbers 1 .. size - 1 exist */
    uint32_t head, count;       /* of fifo */
} ErnicIds;

/* Numbers @first .. @size - 1 are free. */
void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size);
void ernic_ids_fini(ErnicIds *ids);
/* The free number at place @i of count, and its exchange on loading. */
uint32_t ernic_ids_at(const ErnicIds *ids, uint32_t i);
void ernic_ids_set(ErnicIds *ids, uint32_t i, uint32_t id);
/* Returns 0 when none is left. */
uint32_t ernic_ids_alloc(ErnicIds *ids);
/* Set the bit of each number below size that is in use, or has never been free. */
void ernic_ids_used(const ErnicIds *ids, uint8_t *bits);
/* Free @id, which the caller has checked to be in use. */
void ernic_ids_free(ErnicIds *ids, uint32_t id);

#endif /* ERNIC_BASE_IDS_H */
