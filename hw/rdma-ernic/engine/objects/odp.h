/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The page table of an on-demand region: the pages that software has reported, in
 * a range that may be a whole address space. A page without an entry is absent.
 */
#ifndef ERNIC_OBJECTS_ODP_H
#define ERNIC_OBJECTS_ODP_H

#include "base/device.h"

#define ERNIC_ODP_CHUNK 512     /* pages; a list covers at most two chunks */
#define ERNIC_ODP_ROOM  4       /* least capacity of chunk[], unless it is empty */

/* Pages from number * ERNIC_ODP_CHUNK on; at least one is present. */
typedef struct ErnicOdpChunk {
    uint64_t number;
    uint64_t *entry;            /* owned; address and ERNIC_PAGE_*, or 0 */
    uint32_t present;           /* entries that are not 0 */
    uint32_t sent;              /* number of the list that was sent ahead, or 0 */
} ErnicOdpChunk;

/*
 * An entry counts as one page of ERNIC_MAX_PAGES, like an entry of a page list. The
 * capacity of chunk[] follows the number of chunks, up and down: at most four times as
 * many, or ERNIC_ODP_ROOM.
 */
typedef struct ErnicOdp {
    uint8_t page_shift;
    uint32_t num, room;         /* chunks, and the capacity of chunk[] */
    ErnicOdpChunk *chunk;       /* owned; in ascending order of number */
} ErnicOdp;

/* NULL: no memory. */
ErnicOdp *ernic_odp_new(Ernic *e, uint8_t page_shift);
void ernic_odp_free(Ernic *e, ErnicOdp *odp);
/* Remove all pages; ERNIC_AGAIN: the slice has ended, the same call continues. */
uint8_t ernic_odp_empty(Ernic *e, ErnicOdp *odp);

/*
 * The bus address of byte @off for a read or a @write, and in *@run the number of
 * contiguous bytes from there. False: absent, and *@run is the rest of the page.
 */
bool ernic_odp_find(const ErnicOdp *odp, uint64_t off, bool write,
                    uint64_t *addr, uint64_t *run);
/*
 * Set pages [@first, @first + @n), which do not wrap: absent if @list is 0, else
 * from the list in guest memory, which has at most ERNIC_PAGES_MAX entries. A
 * failure (PARAM, DMA, NO_RESOURCE) changes nothing. ERNIC_AGAIN (base/work.h): some
 * of the pages are absent; the same call continues.
 */
uint8_t ernic_odp_update(Ernic *e, ErnicOdp *odp, uint64_t first, uint64_t n,
                         uint64_t list);
/*
 * Append a chunk with a greater number than all others, on loading. @entry is in
 * host order and is checked: PARAM, or NO_RESOURCE.
 */
uint8_t ernic_odp_append(Ernic *e, ErnicOdp *odp, uint64_t number,
                         const uint64_t *entry);

#endif /* ERNIC_OBJECTS_ODP_H */
