/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * On-demand paging: the page table of a region, chunks of entries in ascending order
 * that a binary search finds. Only commands allocate and free, never an access. An access
 * that finds no entry is a page fault of its queue pair (transport/page_fault.c).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/odp.h"
#include "trace.h"

/* Units of work to remove or free a chunk. */
#define WORK_CHUNK 4
QEMU_BUILD_BUG_ON(ERNIC_PAGES_MAX > ERNIC_ODP_CHUNK);

ErnicOdp *ernic_odp_new(Ernic *e, uint8_t page_shift)
{
    ErnicOdp *odp = ernic_mem_new(&e->mem, ERNIC_MEM_ON_DEMAND, 1, sizeof(*odp));

    if (odp) {
        odp->page_shift = page_shift;
    }
    return odp;
}

static void free_entries(Ernic *e, ErnicOdpChunk *chunk)
{
    g_assert(e->num_pages >= ERNIC_ODP_CHUNK);
    e->num_pages -= ERNIC_ODP_CHUNK;
    ernic_mem_free(&e->mem, ERNIC_MEM_ON_DEMAND, chunk->entry, ERNIC_ODP_CHUNK,
                   sizeof(*chunk->entry));
    chunk->entry = NULL;
}

/* NULL: no memory, or ERNIC_MAX_PAGES is reached. */
static uint64_t *new_entries(Ernic *e)
{
    uint64_t *entry = NULL;

    if (e->num_pages <= ERNIC_MAX_PAGES - ERNIC_ODP_CHUNK) {
        entry = ernic_mem_new(&e->mem, ERNIC_MEM_ON_DEMAND, ERNIC_ODP_CHUNK,
                              sizeof(*entry));
    }
    if (!entry) {
        trace_ernic_buf_no_pages(ERNIC_ODP_CHUNK, e->num_pages);
        return NULL;
    }
    e->num_pages += ERNIC_ODP_CHUNK;
    return entry;
}

void ernic_odp_free(Ernic *e, ErnicOdp *odp)
{
    uint32_t i;

    if (!odp) {
        return;
    }
    for (i = 0; i < odp->num; i++) {
        free_entries(e, &odp->chunk[i]);
    }
    ernic_mem_free(&e->mem, ERNIC_MEM_ON_DEMAND, odp->chunk, odp->room,
                   sizeof(*odp->chunk));
    ernic_mem_free(&e->mem, ERNIC_MEM_ON_DEMAND, odp, 1, sizeof(*odp));
}

/* The index of the first chunk with a number of at least @number. */
static uint32_t place_of(const ErnicOdp *odp, uint64_t number)
{
    uint32_t low = 0, high = odp->num, mid;

    while (low < high) {
        mid = low + (high - low) / 2;
        if (odp->chunk[mid].number < number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static ErnicOdpChunk *find_chunk(const ErnicOdp *odp, uint64_t number)
{
    uint32_t at = place_of(odp, number);

    return at < odp->num && odp->chunk[at].number == number ? &odp->chunk[at]
                                                            : NULL;
}

bool ernic_odp_find(const ErnicOdp *odp, uint64_t off, bool write,
                    uint64_t *addr, uint64_t *run)
{
    uint64_t mask = (1ull << odp->page_shift) - 1;
    uint64_t page = off >> odp->page_shift, entry;
    const ErnicOdpChunk *chunk = find_chunk(odp, page / ERNIC_ODP_CHUNK);

    *run = mask + 1 - (off & mask);
    entry = chunk ? chunk->entry[page % ERNIC_ODP_CHUNK] : 0;
    if (!(entry & (write ? ERNIC_PAGE_WRITE : ERNIC_PAGE_READ))) {
        return false;
    }
    *addr = (entry & ~mask) + (off & mask);
    return true;
}

/* An entry is absent, or an aligned address of a page with read access at least. */
static bool entry_ok(uint64_t entry, uint8_t page_shift)
{
    uint64_t flags = entry & ((1ull << page_shift) - 1);

    if (!entry || flags == ERNIC_PAGE_READ ||
        flags == (ERNIC_PAGE_READ | ERNIC_PAGE_WRITE)) {
        return true;
    }
    trace_ernic_odp_bad_entry(entry, page_shift);
    return false;
}

static uint8_t read_list(Ernic *e, const ErnicOdp *odp, uint64_t list,
                         uint64_t *entry, uint32_t n)
{
    uint64_t bytes = n * sizeof(*entry);
    uint32_t i;

    ernic_charge_copy(e, bytes);
    if (!e->ops->dma_read(e->env, list, entry, bytes)) {
        trace_ernic_buf_dma_failed(list, bytes);
        return ERNIC_ERR_DMA;
    }
    for (i = 0; i < n; i++) {
        entry[i] = le64_to_cpu(entry[i]);
        if (!entry_ok(entry[i], odp->page_shift)) {
            return ERNIC_ERR_PARAM;
        }
    }
    return ERNIC_OK;
}

static bool set_room(Ernic *e, ErnicOdp *odp, uint32_t room)
{
    ErnicOdpChunk *chunk = ernic_mem_resize(&e->mem, ERNIC_MEM_ON_DEMAND, odp->chunk,
                                            odp->room, room, sizeof(*chunk));

    if (!chunk) {
        return false;
    }
    odp->chunk = chunk;
    odp->room = room;
    return true;
}

/* Make room for one more chunk in chunk[]. */
static bool grow(Ernic *e, ErnicOdp *odp)
{
    return odp->num < odp->room ||
           set_room(e, odp, MAX(odp->room * 2, ERNIC_ODP_ROOM));
}

/* Give back room that is not needed, so that chunks that come and go do not move it. */
static void shrink(Ernic *e, ErnicOdp *odp)
{
    uint32_t room = odp->room;

    while (room > ERNIC_ODP_ROOM && odp->num <= room / 4) {
        room /= 2;
    }
    if (!odp->num) {
        ernic_mem_free(&e->mem, ERNIC_MEM_ON_DEMAND, odp->chunk, odp->room,
                       sizeof(*odp->chunk));
        odp->chunk = NULL;
        odp->room = 0;
    } else if (room < odp->room) {
        set_room(e, odp, room);
    }
}

static bool insert(Ernic *e, ErnicOdp *odp, uint32_t at, uint64_t number)
{
    uint64_t *entry = grow(e, odp) ? new_entries(e) : NULL;

    if (!entry) {
        shrink(e, odp);
        return false;
    }
    g_assert(at <= odp->num && odp->num < odp->room);
    ernic_charge_copy(e, (odp->num - at) * sizeof(*odp->chunk));
    memmove(&odp->chunk[at + 1], &odp->chunk[at],
            (odp->num - at) * sizeof(*odp->chunk));
    odp->chunk[at] = (ErnicOdpChunk) { .number = number, .entry = entry };
    odp->num++;
    return true;
}

/*
 * Free the chunks without present pages among the @n chunks from index @at on. They may
 * have lost their entries already.
 */
static void drop_empty(Ernic *e, ErnicOdp *odp, uint32_t at, uint32_t n)
{
    uint32_t end = at + n, kept, i;

    while (at < end && odp->chunk[at].present) {
        at++;
    }
    if (at == end) {
        return;
    }
    ernic_charge_copy(e, (odp->num - at) * sizeof(*odp->chunk));
    for (i = kept = at; i < odp->num; i++) {
        if (i >= end || odp->chunk[i].present) {
            odp->chunk[kept++] = odp->chunk[i];
        } else if (odp->chunk[i].entry) {
            free_entries(e, &odp->chunk[i]);
        }
    }
    odp->num = kept;
    shrink(e, odp);
}

/* Set entries [@from, @to) of a chunk to those at @entry; NULL: to absent. */
static void set_entries(ErnicOdpChunk *chunk, uint32_t from, uint32_t to,
                        const uint64_t *entry)
{
    uint32_t i;

    g_assert(chunk->entry && from < to && to <= ERNIC_ODP_CHUNK);
    chunk->sent = 0;
    for (i = from; i < to; i++) {
        uint64_t new = entry ? entry[i - from] : 0;

        chunk->present += !!new;
        chunk->present -= !!chunk->entry[i];
        chunk->entry[i] = new;
    }
    g_assert(chunk->present <= ERNIC_ODP_CHUNK);
}

/* The part of [@first, @first + @n) that is in chunk @number. */
static void part_of(uint64_t number, uint64_t first, uint64_t n,
                    uint32_t *from, uint32_t *to)
{
    uint64_t base = number * ERNIC_ODP_CHUNK;

    *from = first > base ? first - base : 0;
    *to = MIN(first + n - base, ERNIC_ODP_CHUNK);
}

/*
 * Remove the pages from the end of the range on, until the slice ends. The same call
 * continues: it does not find the pages again that are gone.
 */
static uint8_t remove_range(Ernic *e, ErnicOdp *odp, uint64_t first, uint64_t n)
{
    uint32_t low = place_of(odp, first / ERNIC_ODP_CHUNK);
    uint32_t end = place_of(odp, (first + n - 1) / ERNIC_ODP_CHUNK + 1);
    uint32_t at = end, from, to;

    while (at > low && ernic_work_left(e)) {
        at--;
        part_of(odp->chunk[at].number, first, n, &from, &to);
        set_entries(&odp->chunk[at], from, to, NULL);
        /* A chunk that stays is met again: it alone must not end the slice. */
        if (odp->chunk[at].present) {
            ernic_charge(e, WORK_CHUNK);
        } else {
            free_entries(e, &odp->chunk[at]);
            ernic_charge_host(e, WORK_CHUNK);
        }
    }
    drop_empty(e, odp, at, end - at);
    return at > low ? ERNIC_AGAIN : ERNIC_OK;
}

uint8_t ernic_odp_empty(Ernic *e, ErnicOdp *odp)
{
    return odp->num ? remove_range(e, odp, 0, UINT64_MAX) : ERNIC_OK;
}

static uint8_t fill_range(Ernic *e, ErnicOdp *odp, uint64_t first, uint32_t n,
                          const uint64_t *entry)
{
    uint64_t number = first / ERNIC_ODP_CHUNK;
    uint32_t num = (first + n - 1) / ERNIC_ODP_CHUNK - number + 1;
    uint32_t at = place_of(odp, number), i, from, to;

    for (i = 0; i < num; i++) {
        if (!find_chunk(odp, number + i) &&
            !insert(e, odp, at + i, number + i)) {
            drop_empty(e, odp, at, i);
            return ERNIC_ERR_NO_RESOURCE;
        }
    }
    for (i = 0; i < num; i++) {
        part_of(number + i, first, n, &from, &to);
        set_entries(&odp->chunk[at + i], from, to, entry);
        entry += to - from;
    }
    drop_empty(e, odp, at, num);
    return ERNIC_OK;
}

uint8_t ernic_odp_update(Ernic *e, ErnicOdp *odp, uint64_t first, uint64_t n,
                         uint64_t list)
{
    uint64_t entry[ERNIC_PAGES_MAX];
    uint8_t status;

    g_assert(n && first <= UINT64_MAX - (n - 1));
    if (!list) {
        return remove_range(e, odp, first, n);
    }
    g_assert(n <= ERNIC_PAGES_MAX);
    status = read_list(e, odp, list, entry, n);
    return status ? status : fill_range(e, odp, first, n, entry);
}

uint8_t ernic_odp_append(Ernic *e, ErnicOdp *odp, uint64_t number,
                         const uint64_t *entry)
{
    ErnicOdpChunk *chunk;
    uint32_t i;

    if (odp->num && number <= odp->chunk[odp->num - 1].number) {
        return ERNIC_ERR_PARAM;
    }
    for (i = 0; i < ERNIC_ODP_CHUNK; i++) {
        if (!entry_ok(entry[i], odp->page_shift)) {
            return ERNIC_ERR_PARAM;
        }
    }
    if (!insert(e, odp, odp->num, number)) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    chunk = &odp->chunk[odp->num - 1];
    set_entries(chunk, 0, ERNIC_ODP_CHUNK, entry);
    return chunk->present ? ERNIC_OK : ERNIC_ERR_PARAM;
}
