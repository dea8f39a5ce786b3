/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Change chosen properties of a region: all checks first, then the pages, then the rest.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/mr.h"
#include "objects/mr_update.h"
#include "trace.h"

/* Page addresses that a call loads: the bytes of a packet. */
#define PART            512
/* Bits of an address that are flags of the face. */
#define PAGE_FLAGS      7ull

/* A region with a list of pages; fast registration and commands create it. */
static ErnicMr *find_region(Ernic *e, uint32_t key)
{
    uint32_t number = key >> 8;
    ErnicMr *mr = number < e->mr_ids.size ? &e->mr[number] : NULL;

    return mr && !mr->odp && mr->buf.page &&
           (mr->kind == ERNIC_MR_FAST || mr->kind == ERNIC_MR_REGION) ? mr : NULL;
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
    if (u->set & ERNIC_UPDATE_PAGE_SIZE) {
        next.buf.page_shift = u->page_shift;
    } else if (u->num) {
        /* The size may follow with the last of the pages. */
        next.buf.page_shift = ERNIC_PAGE_SHIFT_MIN;
    }
    /* The offset of the first byte in its page is that of its address. */
    if (next.buf.page_shift < 64 &&
        (u->num || (u->set & (ERNIC_UPDATE_RANGE | ERNIC_UPDATE_PAGE_SIZE)))) {
        next.offset = next.iova & ((1ull << next.buf.page_shift) - 1);
    }
    /* A valid FAST region is one that the peer may invalidate. */
    if (u->set & ERNIC_UPDATE_VALID) {
        next.kind = !u->valid || u->remote_inv ? ERNIC_MR_FAST : ERNIC_MR_REGION;
    }
    return next;
}

/* Why @u cannot be executed on @mr; NULL: it can, as far as its pages permit. */
static const char *check(const Ernic *e, uint32_t pd, const ErnicMr *mr,
                         const ErnicMrUpdate *u, const ErnicMr *next)
{
    bool shape = u->num || (u->set & (ERNIC_UPDATE_RANGE | ERNIC_UPDATE_PAGE_SIZE));

    if (mr->pd != pd && !u->any_pd) {
        return "protection domain of the region";
    }
    if (u->want != ERNIC_MR_WANT_ANY &&
        mr->valid != (u->want == ERNIC_MR_WANT_VALID)) {
        return "valid, or not";
    }
    if (mr->refs || (mr->valid && shape)) {
        return "in use";
    }
    if ((u->set & ERNIC_UPDATE_PD) &&
        (u->pd >= e->pd_ids.size || !e->pd[u->pd].used ||
         e->pd[u->pd].uctx != mr->uctx)) {
        return "no such protection domain";
    }
    if (next->buf.page_shift < ERNIC_PAGE_SHIFT_MIN ||
        next->buf.page_shift > ERNIC_PAGE_SHIFT_MAX) {
        return "page size";
    }
    if (u->num && u->first >= mr->buf.npages) {
        return "beyond the list of pages";
    }
    if (next->length > ERNIC_MAX_MR_SIZE ||
        (next->valid && !ernic_mr_range_ok(next->access, next->iova, next->length,
                                           ERNIC_MAX_MR_SIZE))) {
        return "range or rights";
    }
    if (next->valid && next->offset + next->length >
                       (uint64_t)next->buf.npages << next->buf.page_shift) {
        return "too few pages";
    }
    return NULL;
}

/* Store @n addresses from number @at on; false: one is not that of a page. */
static bool store(ErnicBuf *buf, uint32_t at, const uint64_t *entry, uint32_t n)
{
    uint64_t mask = (1ull << buf->page_shift) - 1;
    uint32_t i;

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

/* Load @num pages of the list of @u, which has that many or more. */
static ErnicFault load_part(Ernic *e, uint32_t pd, ErnicMr *mr, const ErnicMrUpdate *u,
                            uint32_t num)
{
    uint64_t entry[PART];

    ernic_charge_copy(e, num * sizeof(*entry));
    switch (ernic_dma_gather(e, pd, &u->list, 1, 0, entry, num * sizeof(*entry))) {
    case ERNIC_DMA_OK:
        return store(&mr->buf, u->first, entry, num) ? ERNIC_FAULT_NONE :
                                                       ERNIC_FAULT_REG_MR;
    case ERNIC_DMA_FAILED:
        return ERNIC_FAULT_SEND_DMA;
    default:
        return ERNIC_FAULT_SEND_PROT;
    }
}

/*
 * Change @num of the pages that @u names, or the first of them; then @u names the rest.
 * The region is invalid.
 */
static ErnicFault load(Ernic *e, uint32_t pd, ErnicMr *mr, ErnicMrUpdate *u,
                       uint32_t num, bool *more)
{
    ErnicFault fault;

    if (!u->list.len) {
        return store(&mr->buf, u->first, u->page, MIN(num, ERNIC_UPDATE_INLINE)) ?
               ERNIC_FAULT_NONE : ERNIC_FAULT_REG_MR;
    }
    *more = num > PART;
    fault = num ? load_part(e, pd, mr, u, MIN(num, PART)) : ERNIC_FAULT_NONE;
    if (!fault && *more) {
        u->first += PART;
        u->num -= PART;
        u->list.addr += PART * sizeof(uint64_t);
        u->list.len -= PART * sizeof(uint64_t);
    }
    return fault;
}

ErnicFault ernic_mr_update(Ernic *e, uint32_t pd, ErnicMrUpdate *u, bool *more)
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
    why = check(e, pd, mr, u, &next);
    if (why) {
        trace_ernic_mr_update_refused(u->key, why);
        return ERNIC_FAULT_REG_MR;
    }
    /* Addresses of smaller pages stay, see ErnicBuf: a list may have 2^24 of them. */
    mr->buf.page_shift = next.buf.page_shift;
    if (u->num) {
        fault = load(e, pd, mr, u, pages_to_load(u, &next), more);
    }
    if (fault) {
        trace_ernic_mr_update_refused(u->key, "list of pages");
        return fault;
    }
    if (*more) {
        return ERNIC_FAULT_NONE;
    }
    e->pd[mr->pd].refs--;
    e->pd[next.pd].refs++;
    *mr = next;
    trace_ernic_mr_update((u->key & ~0xffu) | mr->variant, u->set, mr->valid, mr->access,
                          mr->iova, mr->length);
    return ERNIC_FAULT_NONE;
}
