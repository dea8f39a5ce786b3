/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of objects: given out in order. A freed number is reused as late as
 * possible, so that a stale reference seldom meets a new object.
 */
#ifndef ERNIC_BASE_IDS_H
#define ERNIC_BASE_IDS_H

typedef struct ErnicIds {
    uint32_t *fifo;             /* free numbers, oldest first */
    uint32_t size;              /* numbers 1 .. size - 1 exist */
    uint32_t head, count;       /* of fifo */
} ErnicIds;

/* Numbers @first .. @size - 1 are free. */
void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size);
void ernic_ids_fini(ErnicIds *ids);
/* Returns 0 when none is left. */
uint32_t ernic_ids_alloc(ErnicIds *ids);
/* Set the bit of each number below size that is in use, or has never been free. */
void ernic_ids_used(const ErnicIds *ids, uint8_t *bits);
/* Free @id, which the caller has checked to be in use. */
void ernic_ids_free(ErnicIds *ids, uint32_t id);

#endif /* ERNIC_BASE_IDS_H */
