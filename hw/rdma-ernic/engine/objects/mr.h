/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory regions and memory windows. A key is (number << 8) | variant byte; regions and
 * windows share the numbers.
 */
#ifndef ERNIC_OBJECTS_MR_H
#define ERNIC_OBJECTS_MR_H

#include "base/device.h"
#include "objects/buf.h"
#include "objects/odp.h"
#include "objects/pd.h"
#include "hw/rdma-ernic/ernic_abi.h"

typedef enum ErnicMrKind {
    ERNIC_MR_FREE,
    ERNIC_MR_REGION,            /* registered by command */
    ERNIC_MR_FAST,              /* registered by work request */
    ERNIC_MR_WINDOW_1,
    ERNIC_MR_WINDOW_2,
} ErnicMrKind;

/* Numbers of the neighbors in a list; 0: none. */
typedef struct ErnicMrLink {
    uint32_t prev, next;
} ErnicMrLink;

struct ErnicMr {
    uint8_t kind;               /* ErnicMrKind */
    bool valid;                 /* accesses with the key are allowed */
    uint8_t variant;            /* low byte of the key; kept after the object is
                                   freed: the next one gets another key */
    uint32_t pd;
    uint32_t uctx;
    uint32_t access;            /* ERNIC_ACCESS_* */
    uint64_t iova;              /* first address of the key */
    uint64_t length;
    uint64_t offset;            /* of iova in buf; window: in that of its region */
    ErnicBuf buf;               /* regions, except on-demand ones; a window has one if a
                                   work request may make it a region */
    ErnicOdp *odp;              /* owned; on-demand region: its pages */
    uint32_t refs;              /* region: windows bound to it, lists of its pieces */
    uint32_t region;            /* bound window, list with pieces: number of its region */
    uint32_t qpn;               /* bound type 2 window: its queue pair; 0 */
    uint32_t loader;            /* queue pair whose request (ErnicMrUpdate) has loaded a
                                   part of the list; 0 */
    ErnicMrLink holder;         /* with a region: its place in the list of such keys;
                                   derived */
};

/*
 * Check that queue pair @qpn of protection domain @pd may use @key for
 * [@addr, @addr + @len) with all rights of @access (0: local read). A local key is
 * that of a region, a remote key that of a region or a window. On success *@mr is
 * the region and *@off the offset of @addr in its buffer.
 *
 * 0 bytes are allowed with any key, and *@mr is then NULL: C9-88 says so of remote
 * keys, and verbs software expects it of local ones.
 */
bool ernic_mr_check_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, uint32_t access,
                          const ErnicMr **mr, uint64_t *off);
bool ernic_mr_check_remote(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                           uint64_t addr, uint64_t len, uint32_t access,
                           const ErnicMr **mr, uint64_t *off);
/*
 * How an interface checks its keys: ernic_mr_check_local(), ernic_mr_check_remote() and
 * ernic_mr_invalidate(), or functions with the same contract. All are set. They may
 * be called for each packet, and change nothing except the key to be invalidated.
 */
typedef struct ErnicKeyOps {
    bool (*check_local)(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                        uint64_t len, uint32_t access,
                        const ErnicMr **mr, uint64_t *off);
    bool (*check_remote)(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                         uint64_t addr, uint64_t len, uint32_t access,
                         const ErnicMr **mr, uint64_t *off);
    bool (*invalidate)(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                       bool remote);
} ErnicKeyOps;

/* The operations for the regions and windows of this header. */
extern const ErnicKeyOps ernic_mr_keys;
/*
 * Bytes of the tables for keys with numbers below @room, as far as they are charged; and
 * for as many as were ever given out. False: beyond the bound.
 */
uint64_t ernic_mr_table_bytes(uint32_t room);
bool ernic_mr_charge_table(Ernic *e);
/* The whole bus as a region: the offset of a byte is its bus address. */
extern const ErnicMr ernic_mr_bus;
/* check_local() of an interface with bus addresses instead of keys in its requests. */
bool ernic_mr_bus_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                        uint64_t len, uint32_t access,
                        const ErnicMr **mr, uint64_t *off);

/*
 * The same check for FLUSH. @whole: of the whole region, @addr and @len are ignored.
 * The key is checked for 0 bytes as well. No window grants this right.
 */
bool ernic_mr_check_flush(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, bool whole, uint32_t access);
/*
 * Whether the page at byte @off of an on-demand region is present, for a read or @write.
 */
bool ernic_mr_has_page(Ernic *e, uint32_t key, uint64_t off, bool write);

/* Commands. They check all handles. */
/* A new region, as the interface describes it. */
typedef struct ErnicMrInit {
    uint8_t kind;               /* ErnicMrKind; windows are not valid */
    bool valid;                 /* the other fields describe a region */
    uint32_t access;            /* ERNIC_ACCESS_FLAGS */
    uint64_t iova, length;
    uint64_t offset;            /* of iova in the buffer */
} ErnicMrInit;

/*
 * Whether a region may have these rights and this range, of at most @max bytes. Remote
 * write and atomics need local write (IBTA 11.2.8.2), and addresses do not wrap.
 */
bool ernic_mr_range_ok(uint32_t access, uint64_t iova, uint64_t length, uint64_t max);
/*
 * Create the region of *@key in protection domain @pd, which exists; the interface has
 * checked
 * @init. The region owns the pages of @buf from now on. ERNIC_ERR_NO_RESOURCE: all
 * numbers are used, and the pages are free.
 */
uint8_t ernic_mr_add(Ernic *e, uint32_t pd, const ErnicMrInit *init, ErnicBuf *buf,
                     uint32_t *key);
/* From now on the key of region @number, which exists, ends with @variant. */
void ernic_mr_set_variant(Ernic *e, uint32_t number, uint8_t variant);
uint8_t ernic_mr_reg(Ernic *e, uint32_t uctx,
                     const struct ernic_cmd_mr_reg *cmd, uint32_t *key);
/*
 * Change a region in place; its key stays. ERNIC_ERR_BUSY while windows are
 * bound to it. A failure changes nothing.
 */
uint8_t ernic_mr_rereg(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_reg *cmd);
/*
 * Add or remove pages of an on-demand region. After the return, the device no
 * longer uses the removed pages.
 */
uint8_t ernic_mr_pages(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_pages *cmd);
uint8_t ernic_mr_alloc(Ernic *e, uint32_t uctx, uint32_t pd,
                       uint32_t max_pages, uint32_t *key);
/*
 * Free a region or a window; ERNIC_ERR_BUSY while windows are bound to the region, or a
 * list has pieces of it.
 * The variant byte of @key is ignored: software cannot know it after the flush of a
 * work request that would have changed it.
 */
uint8_t ernic_mr_free(Ernic *e, uint32_t uctx, uint32_t key, bool window);
uint8_t ernic_mw_alloc(Ernic *e, uint32_t uctx, uint32_t pd, uint8_t type,
                       uint32_t *key);

/*
 * Work requests of queue pair @qpn in @pd, in host order. The table of send requests
 * (wqe.c) has already checked that the queue pair may post them. A failed request
 * leaves all valid keys as they were.
 */
ErnicFault ernic_mr_fast_reg(Ernic *e, uint32_t pd,
                             const struct ernic_wqe_reg_mr *wr);
ErnicFault ernic_mw_bind(Ernic *e, uint32_t pd, uint32_t qpn,
                         const struct ernic_wqe_bind_mw *wr);
/*
 * LOCAL_INV (@remote false) and SEND with Invalidate (@remote true). False: refused.
 * LOCAL_INV of a key that is already invalid succeeds and changes nothing.
 */
bool ernic_mr_invalidate(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                         bool remote);
/* ---- mr_holders.c ---- */

/* Whether window or list @mr may hold a region. False: too many do, and it does not. */
bool ernic_mr_may_hold(const Ernic *e, const ErnicMr *mr);
/* A window or a list, which holds none and may, holds region @number from now on. */
void ernic_mr_hold(Ernic *e, ErnicMr *mr, uint32_t number);
/* A list, if it has pieces, becomes empty. */
void ernic_mr_drop_pieces(Ernic *e, ErnicMr *mr);
/* Unbind a window, if it is bound: its key is no longer valid. */
void ernic_mw_unbind(Ernic *e, ErnicMr *mw);
/*
 * Close all that holds a region: its windows, lists with pieces of it, and the windows of
 * these.
 */
void ernic_mr_abandon(Ernic *e, ErnicMr *mr);
/* The queue pair is destroyed or reset: unbind its type 2 windows. */
void ernic_mw_forget_qp(Ernic *e, uint32_t qpn);
/* Recompute the list of all that hold a region, and how many are bound. */
void ernic_mr_derive(Ernic *e);
/* Whether the list has each of them once, and not too many. */
bool ernic_mr_holders_ok(const Ernic *e);

#endif /* ERNIC_OBJECTS_MR_H */
