/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A request that changes chosen properties of a region: the user-mode memory
 * registration (UMR) of the mlx5 interface. Fast registration, revocation, another
 * protection domain, and loading of page addresses in several requests are cases of it.
 */
#ifndef ERNIC_OBJECTS_MR_UPDATE_H
#define ERNIC_OBJECTS_MR_UPDATE_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/dma.h"

/* The properties that change: bits of ErnicMrUpdate.set. */
#define ERNIC_UPDATE_VALID      0x01    /* the region opens or closes */
#define ERNIC_UPDATE_VARIANT    0x02
#define ERNIC_UPDATE_PD         0x04
#define ERNIC_UPDATE_ACCESS     0x08
#define ERNIC_UPDATE_RANGE      0x10    /* iova and length */
#define ERNIC_UPDATE_PAGE_SIZE  0x20
#define ERNIC_UPDATE_BITS       0x3f

/* The state that the region has to have before. */
typedef enum ErnicMrWant {
    ERNIC_MR_WANT_ANY,
    ERNIC_MR_WANT_INVALID,
    ERNIC_MR_WANT_VALID,
    ERNIC_MR_WANTS
} ErnicMrWant;

/* Page addresses that a request can carry itself. */
#define ERNIC_UPDATE_INLINE     8

/* Values are in host order. A field that @set does not name is ignored. */
typedef struct ErnicMrUpdate {
    uint32_t key;               /* the low byte is ignored */
    uint8_t set;                /* ERNIC_UPDATE_* */
    uint8_t want;               /* ErnicMrWant */
    bool any_pd;                /* of the region; else that of the queue pair */
    bool valid;
    bool remote_inv;            /* when it opens: SEND with Invalidate may close it */
    uint8_t variant;
    uint8_t page_shift;
    bool begun;                 /* this is the rest of a request */
    uint32_t pd;
    uint32_t access;            /* ERNIC_ACCESS_* */
    uint64_t iova, length;
    /*
     * Page addresses @first to @first + @num - 1 of the region's list change: to those
     * of page[], or to those in the memory of @list if it has a length. They are
     * big-endian, and the low 3 bits are flags of the interface. Addresses beyond the
     * room of the region are ignored, and in a request that opens it those beyond its
     * range.
     *
     * Of a region of pieces (ErnicBuf), pairs of them are pieces: length, key, address.
     */
    uint32_t first, num;
    ErnicSge list;              /* 8 bytes for each of @num, or of length 0 */
    uint64_t page[ERNIC_UPDATE_INLINE];         /* as they are in the request */
} ErnicMrUpdate;

/*
 * Execute @u for queue pair @qpn of protection domain @pd. Anything but rights and domain
 * changes only while the region is invalid before or after the request. A fault leaves a
 * valid region as it was; an invalid one stays invalid, with some pages changed.
 *
 * A call loads as many pages as a packet has bytes for. *@more: there are others, and @u
 * is what remains to be done. That is refused if another request has changed the region
 * in the meantime: a region that opens has one list.
 */
ErnicFault ernic_mr_update(Ernic *e, uint32_t pd, uint32_t qpn, ErnicMrUpdate *u,
                           bool *more);

#endif /* ERNIC_OBJECTS_MR_UPDATE_H */
