/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pages of a region on demand: those that software has told, of a range that
 * may be a whole address space. What is not in the table is absent.
 */
#ifndef ERNIC_ODP_H
#define ERNIC_ODP_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define ERNIC_ODP_CHUNK 512     /* pages; a list touches two chunks at most */

/* Pages [number * ERNIC_ODP_CHUNK, ...), of which at least one is present. */
typedef struct ErnicOdpChunk {
    uint64_t number;
    uint64_t *entry;            /* owned; address and ERNIC_PAGE_*, or 0 */
    uint32_t present;           /* entries that are not 0 */
} ErnicOdpChunk;

/*
 * Room for the chunks is kept of ERNIC_MAX_PAGES as that of page lists is: an
 * entry counts as a page.
 */
typedef struct ErnicOdp {
    uint8_t page_shift;
    uint32_t num, room;         /* chunks, and how many chunk[] could hold */
    ErnicOdpChunk *chunk;       /* owned; in the order of their numbers */
} ErnicOdp;

ErnicOdp *ernic_odp_new(uint8_t page_shift);
void ernic_odp_free(Ernic *e, ErnicOdp *odp);

/*
 * The bus address of byte @off, for reading or for writing, and in *@run how many
 * bytes follow on from there. False: absent, and *@run is what is left of its page.
 */
bool ernic_odp_find(const ErnicOdp *odp, uint64_t off, bool write,
                    uint64_t *addr, uint64_t *run);
/*
 * Pages [@first, @first + @n), which do not wrap: absent if @list is 0, else
 * what the list in guest memory says, of at most ERNIC_PAGES_MAX entries. A
 * failure (PARAM, DMA, NO_RESOURCE) has changed nothing.
 */
uint8_t ernic_odp_update(Ernic *e, ErnicOdp *odp, uint64_t first, uint64_t n,
                         uint64_t list);
/*
 * A chunk behind all others, for loading: @entry in host order, which are
 * judged. False: not valid, or no room.
 */
bool ernic_odp_append(Ernic *e, ErnicOdp *odp, uint64_t number,
                      const uint64_t *entry);

#endif /* ERNIC_ODP_H */
