/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Change chosen properties of a region: all checks first, then the pages or pieces, then
 * the rest.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/mr.h"
#include "objects/mr_update.h"
#include "trace.h"

/* Numbers of the list that a call loads: the bytes of a packet. */
#define PART            512
/* Bits of an address that are flags of the interface. */
#define PAGE_FLAGS      7ull

/*
 * A region with a list of pages or pieces; fast registration and commands create it. A
 * window with a list becomes one when it opens.
 */
static ErnicMr *find_region(Ernic *e, uint32_t key)
{
    uint32_t number = key >> 8;
    ErnicMr *mr = number < e->mr_ids.fresh ? &e->mr[number] : NULL;

    return mr && !mr->odp && mr->buf.page &&
           (mr->kind == ERNIC_MR_FAST || mr->kind == ERNIC_MR_REGION ||
            (mr->kind == ERNIC_MR_WINDOW_1 && !mr->valid)) ? mr : NULL;
}

/* The region as it will be: only the fields that @u sets differ. */
static ErnicMr outcome(const ErnicMr *mr, const ErnicMrUpdate *u)
{
    ErnicMr next = *mr;

    next.valid = u->set & ERNIC_UPDATE_VALID ? u->valid : mr->valid;
    next.variant = u->set & ERNIC_UPDATE_VARIANT ? u->variant : mr->variant;
    next.pd = u->set & ERNIC_UPDATE_PD ? u->pd : mr->pd;
    next.access = u->set & ERNIC_UPDATE_ACCESS ? u->access : mr->access;
    if (u->set & ERNIC_UPDATE_RANGE) {
        next.iova = u->iova;
        next.length = u->length;
    }
    if (mr->buf.pieces) {
        next.offset = 0;
    } else if (u->set & ERNIC_UPDATE_PAGE_SIZE) {
        next.buf.page_shift = u->page_shift;
    } else if (u->num) {
        /* The size may follow with the last of the pages. */
        next.buf.page_shift = ERNIC_PAGE_SHIFT_MIN;
    }
    /* The offset of the first byte in its page is that of its address. */
    if (!mr->buf.pieces && next.buf.page_shift < 64 &&
        (u->num || (u->set & (ERNIC_UPDATE_RANGE | ERNIC_UPDATE_PAGE_SIZE)))) {
        next.offset = next.iova & ((1ull << next.buf.page_shift) - 1);
    }
    /* A valid FAST region is one that the peer may invalidate. */
    if (u->set & ERNIC_UPDATE_VALID) {
        next.kind = !u->valid || u->remote_inv ? ERNIC_MR_FAST : ERNIC_MR_REGION;
    }
    return next;
}

/* Why @u cannot change the pages of @mr; NULL: it can. */
static const char *check_pages(const ErnicMr *mr, const ErnicMrUpdate *u,
                               const ErnicMr *next)
{
    if (next->buf.page_shift < ERNIC_PAGE_SHIFT_MIN ||
        next->buf.page_shift > ERNIC_PAGE_SHIFT_MAX) {
        return "page size";
    }
    if (u->num && u->first >= mr->buf.npages) {
        return "beyond the list of pages";
    }
    if (next->valid && next->offset + next->length >
                       (uint64_t)next->buf.npages << next->buf.page_shift) {
        return "too few pages";
    }
    return NULL;
}

/*
 * Pieces are loaded by the request that opens the region, from the first one on; the rest
 * of a request goes on where it ended.
 */
static const char *check_pieces(const ErnicMr *mr, const ErnicMrUpdate *u)
{
    bool opens = (u->set & ERNIC_UPDATE_VALID) && u->valid;

    if (!(u->set & ERNIC_UPDATE_VALID)) {
        return "pieces of a region that does not open";
    }
    if (u->first && u->first != mr->buf.used * ERNIC_BUF_PIECE) {
        return "beyond the list of pieces";
    }
    return !opens != !u->num || !opens != !(u->set & ERNIC_UPDATE_RANGE) ?
           "pieces without a range" : NULL;
}

static bool closes(const ErnicMrUpdate *u)
{
    return (u->set & ERNIC_UPDATE_VALID) && !u->valid;
}

/* Why @u cannot be executed on @mr; NULL: it can, as far as its pages permit. */
static const char *check(const Ernic *e, uint32_t pd, uint32_t qpn, const ErnicMr *mr,
                         const ErnicMrUpdate *u, const ErnicMr *next)
{
    bool shape = u->num || (u->set & (ERNIC_UPDATE_RANGE | ERNIC_UPDATE_PAGE_SIZE));

    /* A queue pair executes one request at a time: its number names the request. */
    if (u->begun && mr->loader != qpn) {
        return "changed by another request";
    }
    if (mr->pd != pd && !u->any_pd) {
        return "protection domain of the region";
    }
    if (u->want != ERNIC_MR_WANT_ANY &&
        mr->valid != (u->want == ERNIC_MR_WANT_VALID)) {
        return "valid, or not";
    }
    if ((mr->refs && !closes(u)) || (mr->valid && shape)) {
        return "in use";
    }
    if ((u->set & ERNIC_UPDATE_PD) &&
        (u->pd >= e->pd_ids.size || !e->pd[u->pd].used ||
         e->pd[u->pd].uctx != mr->uctx)) {
        return "no such protection domain";
    }
    if (next->length > ERNIC_MAX_MR_SIZE ||
        (next->valid && !ernic_mr_range_ok(next->access, next->iova, next->length,
                                           ERNIC_MAX_MR_SIZE))) {
        return "range or rights";
    }
    return mr->buf.pieces ? check_pieces(mr, u) : check_pages(mr, u, next);
}

/* Store @n addresses from number @at on; false: one is not that of a page. */
static bool store(ErnicBuf *buf, uint32_t at, const uint64_t *entry, uint32_t n)
{
    uint64_t mask = (1ull << buf->page_shift) - 1;
    uint32_t i;

    *ernic_buf_mark(buf) = (ErnicBufMark) { };
    for (i = 0; i < n; i++) {
        uint64_t addr = be64_to_cpu(entry[i]) & ~PAGE_FLAGS;

        if (addr & mask) {
            return false;
        }
        buf->page[at + i] = addr;
    }
    return true;
}

/*
 * How many pages of the list @u loads. One that opens the region loads no more than its
 * range has: software rounds the length of the list up, and does not clear the rest.
 */
static uint32_t pages_to_load(const ErnicMrUpdate *u, const ErnicMr *next)
{
    uint64_t end = next->buf.npages;

    if (next->valid) {
        end = DIV_ROUND_UP(next->offset + next->length, 1ull << next->buf.page_shift);
    }
    return end > u->first ? MIN(u->num, end - u->first) : 0;
}

/* How many of @num numbers of @u one call loads. */
static uint32_t part_of(const ErnicMrUpdate *u, uint32_t num)
{
    return MIN(num, u->list.len ? PART : ERNIC_UPDATE_INLINE);
}

/* Read @num numbers of @u, which has that many or more. */
static ErnicFault read_part(Ernic *e, uint32_t pd, const ErnicMrUpdate *u,
                            uint64_t entry[PART], uint32_t num)
{
    if (!u->list.len) {
        memcpy(entry, u->page, num * sizeof(*entry));
        return ERNIC_FAULT_NONE;
    }
    ernic_charge_copy(e, num * sizeof(*entry));
    switch (ernic_dma_gather(e, pd, &u->list, 1, 0, entry, num * sizeof(*entry))) {
    case ERNIC_DMA_OK:
        return ERNIC_FAULT_NONE;
    case ERNIC_DMA_FAILED:
        return ERNIC_FAULT_SEND_DMA;
    default:
        return ERNIC_FAULT_SEND_PROT;
    }
}

/* PART numbers of the list are loaded: @u names the rest. */
static void advance(ErnicMrUpdate *u)
{
    u->first += PART;
    u->num -= PART;
    u->list.addr += PART * sizeof(uint64_t);
    u->list.len -= PART * sizeof(uint64_t);
}

/*
 * Change @num of the pages that @u names, or the first of them; then @u names the rest.
 * The region is invalid.
 */
static ErnicFault load(Ernic *e, uint32_t pd, ErnicMr *mr, ErnicMrUpdate *u,
                       uint32_t num, bool *more)
{
    uint32_t n = part_of(u, num);
    uint64_t entry[PART];
    ErnicFault fault = n ? read_part(e, pd, u, entry, n) : ERNIC_FAULT_NONE;

    if (fault) {
        return fault;
    }
    if (!store(&mr->buf, u->first, entry, n)) {
        return ERNIC_FAULT_REG_MR;
    }
    *more = u->list.len && num > PART;
    if (*more) {
        advance(u);
    }
    return ERNIC_FAULT_NONE;
}

/*
 * Add the piece of @entry to @mr, which becomes @next, if its key opens an extent, and is
 * that of all its pieces. Its address is looked up now, once: the list holds the key.
 */
static bool add_piece(Ernic *e, const ErnicMr *next, const uint64_t entry[], ErnicMr *mr)
{
    uint64_t head = be64_to_cpu(entry[0]), va = be64_to_cpu(entry[1]), off, run;
    uint32_t len = head >> 32, key = head;
    const ErnicMr *of;

    if (!len || len & 0x80000000u ||
        !ernic_mr_check_local(e, next->pd, key, va, len,
                              next->access & ERNIC_ACCESS_LOCAL_WRITE, &of, &off) ||
        of->odp || of->buf.page || (mr->buf.used && of != &e->mr[mr->region]) ||
        !ernic_mr_may_hold(e, mr)) {
        return false;
    }
    if (!mr->buf.used) {
        ernic_mr_hold(e, mr, of - e->mr);
    }
    ernic_buf_add_piece(&mr->buf, ernic_buf_addr(&of->buf, off, &run), len);
    return true;
}

/*
 * The same for the pieces of @next, the region that is to be, until they have all its
 * bytes: software rounds their number up, and does not clear the rest.
 */
static ErnicFault load_pieces(Ernic *e, uint32_t pd, ErnicMr *mr, ErnicMrUpdate *u,
                              const ErnicMr *next, bool *more)
{
    const ErnicBuf *buf = &mr->buf;
    uint32_t n = part_of(u, MIN(u->num, buf->npages - u->first)), i;
    uint64_t entry[PART];
    ErnicFault fault = n ? read_part(e, pd, u, entry, n) : ERNIC_FAULT_NONE;

    if (!u->first) {
        ernic_mr_drop_pieces(e, mr);
    }
    if (fault) {
        return fault;
    }
    ernic_charge_walk(e, n);
    for (i = 0; i + ERNIC_BUF_PIECE <= n && ernic_buf_pieces_end(buf) < next->length;
         i += ERNIC_BUF_PIECE) {
        if (!add_piece(e, next, entry + i, mr)) {
            return ERNIC_FAULT_REG_MR;
        }
    }
    if (ernic_buf_pieces_end(buf) >= next->length) {
        ernic_charge_walk(e, buf->used);
        return ernic_buf_few_small(buf) ? ERNIC_FAULT_NONE : ERNIC_FAULT_REG_MR;
    }
    *more = u->list.len && n == PART && u->num > PART;
    if (!*more) {
        return ERNIC_FAULT_REG_MR;
    }
    advance(u);
    return ERNIC_FAULT_NONE;
}

ErnicFault ernic_mr_update(Ernic *e, uint32_t pd, uint32_t qpn, ErnicMrUpdate *u,
                           bool *more)
{
    ErnicMr *mr = find_region(e, u->key), next;
    ErnicFault fault = ERNIC_FAULT_NONE;
    const char *why;

    *more = false;
    if (!mr) {
        trace_ernic_mr_update_refused(u->key, "no such region");
        return ERNIC_FAULT_REG_MR;
    }
    next = outcome(mr, u);
    why = check(e, pd, qpn, mr, u, &next);
    if (why) {
        trace_ernic_mr_update_refused(u->key, why);
        return ERNIC_FAULT_REG_MR;
    }
    if (closes(u)) {
        ernic_mr_abandon(e, mr);
        next.refs = 0;
    }
    mr->loader = next.loader = 0;
    /* Addresses of smaller pages stay, see ErnicBuf: a list may have 2^24 of them. */
    mr->buf.page_shift = next.buf.page_shift;
    if (u->num && mr->buf.pieces) {
        fault = load_pieces(e, pd, mr, u, &next, more);
    } else if (u->num) {
        fault = load(e, pd, mr, u, pages_to_load(u, &next), more);
    }
    /* A list holds the key of its pieces until it fails, or its region closes. */
    if (fault || (mr->buf.pieces && !next.valid)) {
        ernic_mr_drop_pieces(e, mr);
    }
    next.buf.used = mr->buf.used;
    next.region = mr->region;
    next.holder = mr->holder;
    if (fault) {
        trace_ernic_mr_update_refused(u->key, "list of pages or pieces");
        return fault;
    }
    if (*more) {
        mr->loader = qpn;
        u->begun = true;
        return ERNIC_FAULT_NONE;
    }
    e->pd[mr->pd].refs--;
    e->pd[next.pd].refs++;
    *mr = next;
    trace_ernic_mr_update((u->key & ~0xffu) | mr->variant, u->set, mr->valid, mr->access,
                          mr->iova, mr->length);
    return ERNIC_FAULT_NONE;
}
