/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Payload between guest memory and packets: gather and scatter over SGEs, and over
 * one remote range. Every call checks its keys again, so that an invalidated key
 * takes effect at once.
 */
#ifndef ERNIC_OBJECTS_DMA_H
#define ERNIC_OBJECTS_DMA_H

#include "base/device.h"
#include "base/fault.h"

typedef struct ErnicSge {
    uint64_t addr;
    uint32_t len;
    uint32_t lkey;
} ErnicSge;

typedef enum ErnicDma {
    ERNIC_DMA_OK,
    ERNIC_DMA_PROT,             /* key, range or rights */
    ERNIC_DMA_FAILED,           /* the DMA to guest memory failed */
    ERNIC_DMA_ABSENT,           /* a page is absent: e->absent */
} ErnicDma;

/*
 * Copy bytes [@off, @off + @len) of the message that @sge describes, to @buf or from
 * it. The range is inside the message: the caller checked. Each key is checked for
 * the bytes accessed; the key of an SGE of length 0 is not. On failure part of the
 * bytes may have been copied.
 */
ErnicDma ernic_dma_gather(Ernic *e, uint32_t pd, const ErnicSge *sge,
                          uint32_t num_sge, uint64_t off, void *buf,
                          uint32_t len);
ErnicDma ernic_dma_scatter(Ernic *e, uint32_t pd, const ErnicSge *sge,
                           uint32_t num_sge, uint64_t off, const void *buf,
                           uint32_t len);

/* The remote side: @key and @addr are those of the peer's packet. */
ErnicDma ernic_dma_remote_read(Ernic *e, uint32_t pd, uint32_t qpn,
                               uint32_t key, uint64_t addr, void *buf,
                               uint32_t len);
ErnicDma ernic_dma_remote_write(Ernic *e, uint32_t pd, uint32_t qpn,
                                uint32_t key, uint64_t addr, const void *buf,
                                uint32_t len);
/*
 * Check that the pages of the first @now bytes are present, for a read. The key covers
 * all @len bytes: the caller checked. OK or ABSENT; e->absent then names all @len bytes.
 */
ErnicDma ernic_dma_remote_present(Ernic *e, const ErnicMr *mr, uint64_t off,
                                  uint32_t now, uint32_t len);
/*
 * @addr is a multiple of 8: the caller checked. PROT also if it maps to a bus address
 * that is not, because no atomic operation can access that.
 */
ErnicDma ernic_dma_remote_atomic(Ernic *e, uint32_t pd, uint32_t qpn,
                                 uint32_t key, uint64_t addr,
                                 ErnicAtomicOp op, uint64_t arg,
                                 uint64_t compare, uint64_t *old);

#endif /* ERNIC_OBJECTS_DMA_H */
