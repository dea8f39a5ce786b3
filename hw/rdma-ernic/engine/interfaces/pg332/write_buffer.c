/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PG332's buffer for retries: the payload of the WRITEs of a queue pair that may
 * have to be sent again, so that their memory need not stay as it was. SENDs are
 * read anew.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/pg332/pg332.h"
#include "trace.h"
#include "wire/psn.h"

/*
 * Where the copy of the packet with @psn of @qp is: each queue pair has 16 buffers,
 * by the lowest bits of PSNs. 0: there is none for @len bytes.
 */
static uint64_t buffer_address(const Ernic *e, const ErnicQp *qp, uint32_t psn,
                               uint32_t len)
{
    uint64_t base = *ernic_pg332_reg(e, PG332_DATBUFBA) |
                    (uint64_t)*ernic_pg332_reg(e, PG332_DATBUFBAMSB) << 32;
    uint32_t size = *ernic_pg332_reg(e, PG332_DATBUFSZ);
    uint32_t num = size & 0xffff, bytes = size >> 16;
    uint32_t n = qp->qpn * ERNIC_PG332_OUTSTANDING;

    if (!base || n > num || len > bytes) {
        return 0;
    }
    n -= ERNIC_PG332_OUTSTANDING - psn % ERNIC_PG332_OUTSTANDING;
    return base + (uint64_t)n * bytes;
}

ErnicFault ernic_pg332_gather(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                              uint64_t off, const ErnicPkt *pkt, uint8_t *to)
{
    uint32_t len = pkt->payload_len, behind;
    uint64_t copy = pkt->op->cls == ERNIC_CL_WRITE ?
                    buffer_address(e, qp, pkt->psn, len) : 0;
    ErnicFault fault;

    /* PSNs that were sent, from this one on; later ones have its buffer. */
    behind = ernic_psn_distance(pkt->psn, qp->sq.max_psn);
    if (copy) {
        ernic_charge_copy(e, len);
    }
    if (copy && behind && behind <= ERNIC_PG332_OUTSTANDING &&
        e->ops->dma_read(e->env, copy, to, len)) {
        trace_ernic_pg332_retry(qp->qpn, pkt->psn, copy);
        return ERNIC_FAULT_NONE;
    }
    fault = ernic_wqe_gather(e, qp->pd, wqe, off, to, len);
    if (!fault && copy && !behind &&
        !e->ops->dma_write(e->env, copy, to, len)) {
        trace_ernic_guest_pg332_dma(qp->qpn, copy);
    }
    return fault;
}
