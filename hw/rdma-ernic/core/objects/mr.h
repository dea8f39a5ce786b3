/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Protection domains, memory regions and memory windows: which key opens
 * which bytes to whom. A key is (number << 8) | variant byte; regions and
 * windows share the numbers.
 */
#ifndef ERNIC_MR_H
#define ERNIC_MR_H

#include "base/device.h"
#include "objects/buf.h"
#include "objects/odp.h"
#include "hw/rdma-ernic/ernic_abi.h"

struct ErnicPd {
    bool used;
    uint32_t uctx;              /* 0: the kernel */
    uint32_t refs;              /* regions, windows, queue pairs, SRQs */
};

typedef enum ErnicMrKind {
    ERNIC_MR_FREE,
    ERNIC_MR_REGION,            /* registered by command */
    ERNIC_MR_FAST,              /* registered by work request */
    ERNIC_MR_WINDOW_1,
    ERNIC_MR_WINDOW_2,
} ErnicMrKind;

struct ErnicMr {
    uint8_t kind;               /* ErnicMrKind */
    bool valid;                 /* the key opens something */
    uint8_t variant;            /* low byte of the key; outlives the object, so
                                   that the next one has another key */
    uint32_t pd;
    uint32_t uctx;
    uint32_t access;            /* ERNIC_ACCESS_* */
    uint64_t iova;              /* first address the key covers */
    uint64_t length;
    uint64_t offset;            /* of iova in buf, a window: in its region's */
    ErnicBuf buf;               /* regions, but those on demand */
    ErnicOdp *odp;              /* owned; region on demand: its pages */
    uint32_t refs;              /* region: windows bound to it */
    uint32_t region;            /* bound window: number of its region */
    uint32_t qpn;               /* bound type 2 window: its queue pair; 0 */
};

/*
 * Check that @key, used by a queue pair of protection domain @pd and number
 * @qpn, opens [@addr, @addr + @len) for all of @access (0: local read). Local
 * keys are those of regions only, remote ones also of windows. On success *@mr
 * is the region and *@off the offset of @addr in its buffer.
 *
 * 0 bytes are allowed with any key, and *@mr is then NULL: C9-88 for remote
 * keys; for local ones the model does the same, as verbs software expects.
 */
bool ernic_mr_check_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, uint32_t access,
                          const ErnicMr **mr, uint64_t *off);
bool ernic_mr_check_remote(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                           uint64_t addr, uint64_t len, uint32_t access,
                           const ErnicMr **mr, uint64_t *off);
/*
 * How a face checks its keys: ernic_mr_check_local(), ernic_mr_check_remote() and
 * ernic_mr_invalidate(), or functions with the same contract. All are set. They read
 * what they need, change nothing but the key that is invalidated, and may be called
 * for each packet.
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

/* Keys of the regions and windows of this header. */
extern const ErnicKeyOps ernic_mr_keys;
/* All of the bus, as a region: the offset of a byte in it is its bus address. */
extern const ErnicMr ernic_mr_bus;
/* The check_local() of faces whose requests name bus addresses and no keys. */
bool ernic_mr_bus_local(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                        uint64_t len, uint32_t access,
                        const ErnicMr **mr, uint64_t *off);

/*
 * Likewise for FLUSH; @whole: of the region, whatever @addr and @len. The key
 * is looked at for 0 bytes as well. No window has the right.
 */
bool ernic_mr_check_flush(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                          uint64_t len, bool whole, uint32_t access);
/* Is the page at byte @off of a region on demand there, to read or to @write? */
bool ernic_mr_has_page(Ernic *e, uint32_t key, uint64_t off, bool write);

/* Commands. Handles were copied and are checked here. */
uint8_t ernic_pd_alloc(Ernic *e, uint32_t uctx, uint32_t *pd);
uint8_t ernic_pd_free(Ernic *e, uint32_t uctx, uint32_t pd);
/* NULL unless @pd exists and belongs to @uctx. */
ErnicPd *ernic_pd_get(Ernic *e, uint32_t uctx, uint32_t pd);
uint8_t ernic_mr_reg(Ernic *e, uint32_t uctx,
                     const struct ernic_cmd_mr_reg *cmd, uint32_t *key);
/*
 * Change a region in place; its key stays. ERNIC_ERR_BUSY while windows are
 * bound to it. A failure has changed nothing.
 */
uint8_t ernic_mr_rereg(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_reg *cmd);
/*
 * Pages of a region on demand come and go. When this returns, nothing uses a page
 * any more that it took away.
 */
uint8_t ernic_mr_pages(Ernic *e, uint32_t uctx,
                       const struct ernic_cmd_mr_pages *cmd);
uint8_t ernic_mr_alloc(Ernic *e, uint32_t uctx, uint32_t pd,
                       uint32_t max_pages, uint32_t *key);
/*
 * Windows and regions alike; ERNIC_ERR_BUSY while windows are bound to it. The
 * variant byte of @key is not looked at: software cannot know it when a work
 * request that was to change it has been flushed.
 */
uint8_t ernic_mr_free(Ernic *e, uint32_t uctx, uint32_t key, bool window);
uint8_t ernic_mw_alloc(Ernic *e, uint32_t uctx, uint32_t pd, uint8_t type,
                       uint32_t *key);

/*
 * Work requests of a queue pair of @pd and @qpn, in host order. Whether the
 * queue pair may post them at all is for the table of send requests (wqe.c) to say.
 * A refused request has changed nothing that a key opens.
 */
ErnicFault ernic_mr_fast_reg(Ernic *e, uint32_t pd,
                             const struct ernic_wqe_reg_mr *wr);
ErnicFault ernic_mw_bind(Ernic *e, uint32_t pd, uint32_t qpn,
                         const struct ernic_wqe_bind_mw *wr);
/*
 * LOCAL_INV (@remote false) and SEND with Invalidate (@remote true); false:
 * refused. A local one of a key that is not valid at the moment does nothing.
 */
bool ernic_mr_invalidate(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                         bool remote);
/* The queue pair is destroyed or reset: unbind its type 2 windows. */
void ernic_mw_forget_qp(Ernic *e, uint32_t qpn);

#endif /* ERNIC_MR_H */
