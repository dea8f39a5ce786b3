/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Payload: find the memory of a part of a message, check its keys, and copy it.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/dma.h"
#include "objects/mr.h"
#include "trace.h"

/*
 * Work to find the memory of an SGE, or of a page on demand, and to access it. The
 * packet is charged for its bytes.
 */
#define WORK_PART   2

/* Record in e->absent that the page at @off is absent, with @len bytes left. */
static ErnicDma absent(Ernic *e, const ErnicMr *mr, uint64_t off, uint32_t len,
                       bool write)
{
    e->absent = (ErnicPageFault) {
        .off = off, .key = (uint32_t)(mr - e->mr) << 8 | mr->variant,
        .len = len, .write = write,
    };
    return ERNIC_DMA_ABSENT;
}

/* The same as copy(), in an on-demand region. */
static ErnicDma copy_pages(Ernic *e, const ErnicMr *mr, uint64_t off,
                           uint8_t *in, const uint8_t *out, uint32_t len)
{
    uint64_t addr, run;
    bool ok;

    for (; len; off += run, len -= run) {
        if (!ernic_odp_find(mr->odp, off, out, &addr, &run)) {
            return absent(e, mr, off, len, out);
        }
        run = MIN(run, len);
        ernic_charge(e, WORK_PART);
        ok = out ? e->ops->dma_write(e->env, addr, out, run)
                 : e->ops->dma_read(e->env, addr, in, run);
        if (!ok) {
            trace_ernic_buf_dma_failed(addr, run);
            return ERNIC_DMA_FAILED;
        }
        in = in ? in + run : NULL;
        out = out ? out + run : NULL;
    }
    return ERNIC_DMA_OK;
}

/* Copy from guest memory to @in, or from @out to guest memory; one is NULL. */
static ErnicDma copy(Ernic *e, const ErnicMr *mr, uint64_t off, void *in,
                     const void *out, uint32_t len)
{
    bool ok;

    if (unlikely(mr->odp)) {
        return copy_pages(e, mr, off, in, out, len);
    }
    ok = out ? ernic_buf_write(e, &mr->buf, off, out, len)
             : ernic_buf_read(e, &mr->buf, off, in, len);
    return likely(ok) ? ERNIC_DMA_OK : ERNIC_DMA_FAILED;
}

/* Copy @len bytes of one SGE from its byte @off on. */
static ErnicDma copy_sge(Ernic *e, uint32_t pd, const ErnicSge *sge,
                         uint64_t off, void *in, const void *out, uint32_t len)
{
    uint32_t access = out ? ERNIC_ACCESS_LOCAL_WRITE : 0;
    uint64_t addr = sge->addr + off;
    const ErnicMr *mr;
    ErnicDma result;
    uint64_t at;

    /* No region goes past the end of the address space. */
    if (unlikely(addr < off) ||
        !e->keys->check_local(e, pd, sge->lkey, addr, len, access, &mr, &at)) {
        return ERNIC_DMA_PROT;
    }
    result = copy(e, mr, at, in, out, len);
    if (unlikely(result == ERNIC_DMA_ABSENT)) {
        /* The rest of the SGE will be needed too: ask for all of it. */
        e->absent.len += sge->len - off - len;
    }
    return result;
}

/* Copy the message's bytes from @off on, to @in or from @out; one is NULL. */
static ErnicDma copy_sges(Ernic *e, uint32_t pd, const ErnicSge *sge,
                          uint32_t num_sge, uint64_t off, uint8_t *in,
                          const uint8_t *out, uint32_t len)
{
    ErnicDma result = ERNIC_DMA_OK;
    uint32_t n;

    for (; num_sge && len; sge++, num_sge--) {
        if (off >= sge->len) {
            off -= sge->len;
            continue;
        }
        n = MIN(sge->len - off, len);
        ernic_charge(e, WORK_PART);
        result = copy_sge(e, pd, sge, off, in, out, n);
        if (unlikely(result != ERNIC_DMA_OK)) {
            return result;
        }
        in = in ? in + n : NULL;
        out = out ? out + n : NULL;
        len -= n;
        off = 0;
    }
    g_assert(len == 0);
    return result;
}

ErnicDma ernic_dma_gather(Ernic *e, uint32_t pd, const ErnicSge *sge,
                          uint32_t num_sge, uint64_t off, void *buf,
                          uint32_t len)
{
    return copy_sges(e, pd, sge, num_sge, off, buf, NULL, len);
}

ErnicDma ernic_dma_scatter(Ernic *e, uint32_t pd, const ErnicSge *sge,
                           uint32_t num_sge, uint64_t off, const void *buf,
                           uint32_t len)
{
    return copy_sges(e, pd, sge, num_sge, off, NULL, buf, len);
}

ErnicDma ernic_dma_remote_read(Ernic *e, uint32_t pd, uint32_t qpn,
                               uint32_t key, uint64_t addr, void *buf,
                               uint32_t len)
{
    const ErnicMr *mr;
    uint64_t off;

    if (!e->keys->check_remote(e, pd, qpn, key, addr, len,
                               ERNIC_ACCESS_REMOTE_READ, &mr, &off)) {
        return ERNIC_DMA_PROT;
    }
    g_assert(mr || !len);
    return mr ? copy(e, mr, off, buf, NULL, len) : ERNIC_DMA_OK;
}

ErnicDma ernic_dma_remote_present(Ernic *e, const ErnicMr *mr, uint64_t off,
                                  uint32_t now, uint32_t len)
{
    uint64_t addr, run, at;

    if (!mr || !mr->odp) {
        return ERNIC_DMA_OK;
    }
    for (at = 0; at < now; at += run) {
        if (!ernic_odp_find(mr->odp, off + at, false, &addr, &run)) {
            return absent(e, mr, off + at, len - at, false);
        }
    }
    return ERNIC_DMA_OK;
}

ErnicDma ernic_dma_remote_write(Ernic *e, uint32_t pd, uint32_t qpn,
                                uint32_t key, uint64_t addr, const void *buf,
                                uint32_t len)
{
    const ErnicMr *mr;
    uint64_t off;

    if (!e->keys->check_remote(e, pd, qpn, key, addr, len,
                               ERNIC_ACCESS_REMOTE_WRITE, &mr, &off)) {
        return ERNIC_DMA_PROT;
    }
    g_assert(mr || !len);
    return mr ? copy(e, mr, off, NULL, buf, len) : ERNIC_DMA_OK;
}

ErnicDma ernic_dma_remote_atomic(Ernic *e, uint32_t pd, uint32_t qpn,
                                 uint32_t key, uint64_t addr,
                                 ErnicAtomicOp op, uint64_t arg,
                                 uint64_t compare, uint64_t *old)
{
    uint32_t access = op == ERNIC_ATOMIC_WRITE ? ERNIC_ACCESS_REMOTE_WRITE :
                                                 ERNIC_ACCESS_REMOTE_ATOMIC;
    uint64_t off, run, bus;
    const ErnicMr *mr;

    if (!e->keys->check_remote(e, pd, qpn, key, addr, sizeof(*old), access,
                               &mr, &off)) {
        return ERNIC_DMA_PROT;
    }
    if (!mr->odp) {
        bus = ernic_buf_addr(&mr->buf, off, &run);
    } else if (!ernic_odp_find(mr->odp, off, true, &bus, &run)) {
        return absent(e, mr, off, sizeof(*old), true);
    }
    if (bus % sizeof(*old) || run < sizeof(*old)) {
        trace_ernic_atomic_unaligned(key, addr, bus);
        return ERNIC_DMA_PROT;
    }
    if (!e->ops->dma_atomic64(e->env, bus, op, arg, compare, old)) {
        trace_ernic_buf_dma_failed(bus, sizeof(*old));
        return ERNIC_DMA_FAILED;
    }
    return ERNIC_DMA_OK;
}
