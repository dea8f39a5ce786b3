/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Buffers in guest memory. The guest's page list is read once, checked once, and
 * never read again.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/buf.h"
#include "objects/job.h"
#include "trace.h"

#define LIST_ENTRIES    ERNIC_BUF_LIST
#define LIST_PAGE       (LIST_ENTRIES * sizeof(uint64_t))
/* Bits of an address that the interface gives: flags of its own. */
#define LIST_FLAGS      7ull
/* Work to find a piece, and to access it. */
#define WORK_PIECE      2

/* Whether [addr, addr + bytes) stays below 2^64. */
static bool in_space(uint64_t addr, uint64_t bytes)
{
    return bytes == 0 || addr <= UINT64_MAX - (bytes - 1);
}

/* Read @n entries, at most LIST_ENTRIES, of the list at @addr. */
static uint8_t read_entries(Ernic *e, uint64_t addr, uint64_t *entry,
                            uint32_t n)
{
    uint64_t bytes = n * sizeof(*entry);
    uint32_t i;

    ernic_charge_copy(e, bytes);
    if (!e->ops->dma_read(e->env, addr, entry, bytes)) {
        trace_ernic_buf_dma_failed(addr, bytes);
        return ERNIC_ERR_DMA;
    }
    for (i = 0; i < n; i++) {
        entry[i] = le64_to_cpu(entry[i]);
    }
    return ERNIC_OK;
}

static uint8_t check_aligned(const uint64_t *entry, uint32_t n, uint64_t size)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (entry[i] & (size - 1)) {
            trace_ernic_buf_page_unaligned(entry[i], size);
            return ERNIC_ERR_PARAM;
        }
    }
    return ERNIC_OK;
}

/* Read @n page addresses of a list at @addr to @page. */
static uint8_t read_pages(Ernic *e, ErnicBuf *buf, uint64_t addr,
                          uint64_t *page, uint32_t n)
{
    uint8_t status = read_entries(e, addr, page, n);

    if (status != ERNIC_OK) {
        return status;
    }
    return check_aligned(page, n, 1ull << buf->page_shift);
}

static uint8_t read_list(Ernic *e, ErnicBuf *buf, uint64_t list,
                         uint32_t npages)
{
    uint8_t status = ERNIC_OK;
    uint32_t done, n;

    for (done = 0; done < npages && status == ERNIC_OK; done += n) {
        n = MIN(npages - done, LIST_ENTRIES);
        status = read_pages(e, buf, list + done * sizeof(uint64_t),
                            buf->page + done, n);
    }
    return status;
}

/* Find the next page of a two-level list, whose directory is at @dir. */
static uint8_t next_leaf(Ernic *e, ErnicJob *job, uint64_t dir, uint64_t *leaf)
{
    uint32_t at = job->filled / LIST_ENTRIES, n;
    uint8_t status;

    if (at % LIST_ENTRIES == 0) {
        n = DIV_ROUND_UP(job->buf.npages - job->filled, LIST_ENTRIES);
        n = MIN(n, LIST_ENTRIES);
        status = read_entries(e, dir + at * sizeof(uint64_t), job->leaf, n);
        if (status == ERNIC_OK) {
            status = check_aligned(job->leaf, n, LIST_PAGE);
        }
        if (status != ERNIC_OK) {
            return status;
        }
    }
    *leaf = job->leaf[at % LIST_ENTRIES];
    return ERNIC_OK;
}

/* Read the pages of job->buf, with one or (@tree) two levels, until the slice ends. */
static uint8_t fill(Ernic *e, ErnicJob *job, uint64_t list, bool tree)
{
    ErnicBuf *buf = &job->buf;
    uint8_t status;
    uint64_t at;
    uint32_t n;

    while (job->filled < buf->npages) {
        if (!ernic_work_left(e)) {
            return ERNIC_AGAIN;
        }
        status = ERNIC_OK;
        at = list + job->filled * sizeof(uint64_t);
        if (tree) {
            status = next_leaf(e, job, list, &at);
        }
        n = MIN(buf->npages - job->filled, LIST_ENTRIES);
        if (status == ERNIC_OK) {
            status = read_pages(e, buf, at, buf->page + job->filled, n);
        }
        if (status != ERNIC_OK) {
            return status;
        }
        job->filled += n;
    }
    return ERNIC_OK;
}

static bool list_ok(uint64_t list, uint32_t entries, uint8_t page_shift)
{
    return page_shift >= ERNIC_PAGE_SHIFT_MIN &&
           page_shift <= ERNIC_PAGE_SHIFT_MAX &&
           list % sizeof(uint64_t) == 0 &&
           in_space(list, (uint64_t)entries * sizeof(uint64_t));
}

/* Allocate a page list, which the caller fills unless it is @zeroed. */
static uint8_t alloc_list(Ernic *e, ErnicBuf *buf, uint32_t max_pages, bool zeroed)
{
    size_t size = sizeof(*buf->page);

    memset(buf, 0, sizeof(*buf));
    if (max_pages == 0) {
        return ERNIC_ERR_PARAM;
    }
    if (max_pages > ERNIC_MAX_PAGES - e->num_pages) {
        trace_ernic_buf_no_pages(max_pages, e->num_pages);
        return ERNIC_ERR_NO_RESOURCE;
    }
    buf->page = zeroed ?
        ernic_mem_new(&e->mem, ERNIC_MEM_PAGE_LISTS, 1 + max_pages, size) :
        ernic_mem_new_raw(&e->mem, ERNIC_MEM_PAGE_LISTS, 1 + max_pages, size);
    if (!buf->page) {
        trace_ernic_buf_no_pages(max_pages, e->num_pages);
        return ERNIC_ERR_NO_RESOURCE;
    }
    buf->page++;
    *ernic_buf_mark(buf) = (ErnicBufMark) { };
    buf->npages = max_pages;
    buf->page_shift = ERNIC_PAGE_SHIFT_MIN;
    e->num_pages += max_pages;
    return ERNIC_OK;
}

uint8_t ernic_buf_alloc(Ernic *e, ErnicBuf *buf, uint32_t max_pages)
{
    /* The host zeroes the pages of a large list when they are used, not here. */
    uint8_t status = alloc_list(e, buf, max_pages, true);

    if (status == ERNIC_OK) {
        ernic_charge_copy(e, max_pages * sizeof(*buf->page));
    }
    return status;
}

uint8_t ernic_buf_alloc_pieces(Ernic *e, ErnicBuf *buf, uint32_t max)
{
    uint8_t status = ernic_buf_alloc(e, buf, max * ERNIC_BUF_PIECE);

    buf->pieces = status == ERNIC_OK;
    return status;
}

uint8_t ernic_buf_fill(Ernic *e, ErnicBuf *buf, uint64_t list, uint32_t npages,
                       uint8_t page_shift)
{
    uint8_t status;

    if (npages > buf->npages || !list_ok(list, npages, page_shift)) {
        trace_ernic_buf_bad_desc(list, npages, page_shift, 1);
        return ERNIC_ERR_PARAM;
    }
    buf->page_shift = page_shift;
    *ernic_buf_mark(buf) = (ErnicBufMark) { };
    status = read_list(e, buf, list, npages);
    if (status != ERNIC_OK) {
        npages = 0;
    }
    memset(buf->page + npages, 0, (buf->npages - npages) * sizeof(*buf->page));
    return status;
}

static uint8_t init_extent(ErnicBuf *buf, uint64_t addr, uint64_t bytes)
{
    if (!in_space(addr, bytes)) {
        trace_ernic_buf_wraps(addr, bytes);
        return ERNIC_ERR_PARAM;
    }
    buf->base = addr;
    return ERNIC_OK;
}

/* Begin to fill job->buf, or go on. */
static uint8_t start_fill(Ernic *e, uint32_t npages, uint8_t page_shift)
{
    ErnicJob *job = e->job;
    uint8_t status;

    if (job->filling) {
        return ERNIC_OK;
    }
    status = alloc_list(e, &job->buf, npages, false);
    if (status == ERNIC_OK) {
        job->buf.page_shift = page_shift;
        job->filled = 0;
        job->filling = true;
    }
    return status;
}

/* job->buf is filled, or has failed with @status. */
static uint8_t end_fill(Ernic *e, ErnicBuf *buf, uint8_t status)
{
    ErnicJob *job = e->job;

    if (status == ERNIC_AGAIN) {
        return status;
    }
    job->filling = false;
    if (status == ERNIC_OK) {
        *buf = job->buf;
        memset(&job->buf, 0, sizeof(job->buf));
    } else {
        ernic_buf_fini(e, &job->buf);
    }
    return status;
}

static uint8_t init_list(Ernic *e, ErnicBuf *buf, uint64_t addr,
                         uint32_t npages, uint8_t page_shift, bool tree)
{
    uint8_t status = start_fill(e, npages, page_shift);

    return status == ERNIC_OK ? end_fill(e, buf, fill(e, e->job, addr, tree)) : status;
}

/* Take the pages of job->buf from @list, until the slice ends. */
static uint8_t fill_pages(Ernic *e, ErnicJob *job, const uint8_t *list)
{
    uint8_t status = ERNIC_OK;
    uint32_t n, i;

    for (; job->filled < job->buf.npages && status == ERNIC_OK; job->filled += n) {
        uint64_t *page = job->buf.page + job->filled;

        if (!ernic_work_left(e)) {
            return ERNIC_AGAIN;
        }
        n = MIN(job->buf.npages - job->filled, LIST_ENTRIES);
        ernic_charge_copy(e, n * sizeof(*page));
        for (i = 0; i < n; i++) {
            page[i] = ldq_be_p(list + (job->filled + i) * sizeof(*page)) & ~LIST_FLAGS;
        }
        status = check_aligned(page, n, 1ull << job->buf.page_shift);
    }
    return status;
}

uint8_t ernic_buf_init_pages(Ernic *e, ErnicBuf *buf, const uint8_t *list,
                             uint32_t npages, uint8_t page_shift, uint32_t offset,
                             uint64_t bytes)
{
    uint8_t status;

    memset(buf, 0, sizeof(*buf));
    if (npages == 0 || page_shift < ERNIC_PAGE_SHIFT_MIN ||
        page_shift > ERNIC_PAGE_SHIFT_MAX || offset >> page_shift) {
        trace_ernic_buf_bad_desc(offset, npages, page_shift, 0);
        return ERNIC_ERR_PARAM;
    }
    if (((uint64_t)npages << page_shift) - offset < bytes) {
        trace_ernic_buf_too_small(npages, page_shift, bytes);
        return ERNIC_ERR_PARAM;
    }
    status = start_fill(e, npages, page_shift);
    if (status == ERNIC_OK) {
        status = end_fill(e, buf, fill_pages(e, e->job, list));
    }
    if (status == ERNIC_OK) {
        buf->offset = offset;
    }
    return status;
}

uint8_t ernic_buf_init(Ernic *e, ErnicBuf *buf,
                       const struct ernic_buf_desc *desc, uint64_t bytes)
{
    uint64_t addr = le64_to_cpu(desc->addr);
    uint32_t npages = le32_to_cpu(desc->npages);
    uint8_t shift = desc->page_shift;
    uint32_t entries = desc->levels == 2 ? DIV_ROUND_UP((uint64_t)npages,
                                                        LIST_ENTRIES)
                                         : npages;

    memset(buf, 0, sizeof(*buf));
    if (desc->reserved[0] || desc->reserved[1]) {
        trace_ernic_buf_bad_desc(addr, npages, shift, desc->levels);
        return ERNIC_ERR_RESERVED;
    }
    if (desc->levels == 0 && npages == 0 && shift == 0) {
        return init_extent(buf, addr, bytes);
    }
    if (desc->levels == 0 || desc->levels > 2 || npages == 0 ||
        !list_ok(addr, entries, shift)) {
        trace_ernic_buf_bad_desc(addr, npages, shift, desc->levels);
        return ERNIC_ERR_PARAM;
    }
    if (((uint64_t)npages << shift) < bytes) {
        trace_ernic_buf_too_small(npages, shift, bytes);
        return ERNIC_ERR_PARAM;
    }
    return init_list(e, buf, addr, npages, shift, desc->levels == 2);
}

void ernic_buf_fini(Ernic *e, ErnicBuf *buf)
{
    if (buf->page) {
        g_assert(e->num_pages >= buf->npages);
        e->num_pages -= buf->npages;
        ernic_mem_free(&e->mem, ERNIC_MEM_PAGE_LISTS, ernic_buf_mark(buf),
                       1 + buf->npages, sizeof(*buf->page));
    }
    memset(buf, 0, sizeof(*buf));
}

/* ---- access ------------------------------------------------------------------------ */

static uint64_t piece_end(const ErnicBuf *buf, uint32_t i)
{
    return i ? buf->page[(i - 1) * ERNIC_BUF_PIECE] : 0;
}

uint64_t ernic_buf_pieces_end(const ErnicBuf *buf)
{
    return piece_end(buf, buf->used);
}

void ernic_buf_add_piece(ErnicBuf *buf, uint64_t addr, uint32_t len)
{
    uint64_t *piece = &buf->page[buf->used * ERNIC_BUF_PIECE];

    g_assert(len && buf->used < buf->npages / ERNIC_BUF_PIECE);
    *ernic_buf_mark(buf) = (ErnicBufMark) { };
    piece[0] = ernic_buf_pieces_end(buf) + len;
    piece[1] = addr;
    buf->used++;
}

bool ernic_buf_few_small(const ErnicBuf *buf)
{
    uint32_t i, small = 0;

    for (i = 0; i < buf->used; i++) {
        small += piece_end(buf, i + 1) - piece_end(buf, i) < ERNIC_BUF_SMALL;
    }
    return small <= ERNIC_BUF_SMALLS;
}

/* The same as ernic_buf_addr(): find the first piece that ends after @off. */
static uint64_t piece_addr(const ErnicBuf *buf, uint64_t off, uint64_t *run)
{
    uint32_t from = 0, to = buf->used, mid;

    while (from < to) {
        mid = from + (to - from) / 2;
        if (piece_end(buf, mid + 1) > off) {
            to = mid;
        } else {
            from = mid + 1;
        }
    }
    g_assert(from < buf->used);
    *run = piece_end(buf, from + 1) - off;
    return buf->page[from * ERNIC_BUF_PIECE + 1] + (off - piece_end(buf, from));
}

uint64_t ernic_buf_addr(const ErnicBuf *buf, uint64_t off, uint64_t *run)
{
    uint64_t mask, number;

    if (likely(!buf->page)) {
        *run = UINT64_MAX;
        return buf->base + off;
    }
    if (unlikely(buf->pieces)) {
        return piece_addr(buf, off, run);
    }
    off += buf->offset;
    mask = (1ull << buf->page_shift) - 1;
    number = off >> buf->page_shift;
    g_assert(number < buf->npages);
    *run = mask + 1 - (off & mask);
    return (buf->page[number] & ~mask) + (off & mask);
}

/* Pages are large enough to be charged with their bytes; pieces are not. */
static void charge_run(Ernic *e, const ErnicBuf *buf)
{
    if (unlikely(buf->pieces)) {
        ernic_charge(e, WORK_PIECE);
    }
}

bool ernic_buf_read(Ernic *e, const ErnicBuf *buf, uint64_t off, void *data,
                    uint64_t len)
{
    uint8_t *to = data;
    uint64_t addr, run;

    while (len > 0) {
        addr = ernic_buf_addr(buf, off, &run);
        charge_run(e, buf);
        run = MIN(run, len);
        if (unlikely(!e->ops->dma_read(e->env, addr, to, run))) {
            trace_ernic_buf_dma_failed(addr, run);
            return false;
        }
        to += run;
        off += run;
        len -= run;
    }
    return true;
}

bool ernic_buf_write(Ernic *e, const ErnicBuf *buf, uint64_t off,
                     const void *data, uint64_t len)
{
    const uint8_t *from = data;
    uint64_t addr, run;

    while (len > 0) {
        addr = ernic_buf_addr(buf, off, &run);
        charge_run(e, buf);
        run = MIN(run, len);
        if (unlikely(!e->ops->dma_write(e->env, addr, from, run))) {
            trace_ernic_buf_dma_failed(addr, run);
            return false;
        }
        from += run;
        off += run;
        len -= run;
    }
    return true;
}
