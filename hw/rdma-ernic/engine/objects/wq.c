/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive requests: taken in order, copied once, and consumed even if malformed.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "base/fault.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "objects/wq.h"
#include "trace.h"

#define SLOT_MAX (ERNIC_RQ_STRIDE_MAX * ERNIC_SLOT_UNIT)
QEMU_BUILD_BUG_ON(SLOT_MAX < sizeof(struct ernic_rwqe) +
                             ERNIC_MAX_SGE * sizeof(struct ernic_sge));

/* A slot, aligned for its structures. */
typedef union Slot {
    struct ernic_rwqe head;
    uint8_t bytes[SLOT_MAX];
} Slot;

uint8_t ernic_wq_produce(ErnicWq *wq, uint32_t done, uint32_t pi)
{
    /* Slots that are free after wq->pi; counters wrap at 2^32. */
    uint32_t room = done + wq->depth - wq->pi;

    g_assert(room <= wq->depth);
    if (pi - wq->pi > room) {
        return ERNIC_ERR_FULL;
    }
    wq->pi = pi;
    return ERNIC_OK;
}

/* ---- records -------------------------------------------------------------- */

uint8_t ernic_wq_check_record(const Ernic *e, uint64_t record)
{
    /* The timing model needs the moment of each doorbell. */
    if (record && e->timing) {
        return ERNIC_ERR_RESERVED;
    }
    return record % sizeof(struct ernic_record) ? ERNIC_ERR_PARAM : ERNIC_OK;
}

ErnicLook ernic_wq_look(Ernic *e, ErnicWq *wq)
{
    uint64_t at = wq->record + offsetof(struct ernic_record, pi);
    uint32_t before = wq->pi;
    uint8_t word[4];

    ernic_charge_copy(e, sizeof(word));
    if (!e->ops->dma_read(e->env, at, word, sizeof(word))) {
        trace_ernic_guest_record_dma(at);
        return ERNIC_LOOK_DMA;
    }
    if (ernic_wq_produce(wq, wq->ci, ldl_le_p(word)) != ERNIC_OK) {
        trace_ernic_guest_record(at, ldl_le_p(word), wq->ci, wq->depth);
        return ERNIC_LOOK_BAD;
    }
    return wq->pi == before ? ERNIC_LOOK_NOTHING : ERNIC_LOOK_MORE;
}

bool ernic_wq_ask_ring(Ernic *e, const ErnicWq *wq)
{
    uint64_t at = wq->record + offsetof(struct ernic_record, wake);
    uint8_t word[4];

    stl_le_p(word, wq->pi);
    ernic_charge_copy(e, sizeof(word));
    if (!e->ops->dma_write(e->env, at, word, sizeof(word))) {
        trace_ernic_guest_record_dma(at);
        return false;
    }
    return true;
}

/* ---- requests ------------------------------------------------------------- */

/* The reason that @slot holds no valid request, or NULL: @recv is filled in. */
static const char *parse_recv(const Slot *slot, uint32_t stride, ErnicRecv *recv)
{
    uint32_t num_sge = le16_to_cpu(slot->head.num_sge);
    uint64_t len = 0;
    uint32_t i;

    for (i = 0; i < sizeof(slot->head.reserved); i++) {
        if (slot->head.reserved[i]) {
            return "reserved field";
        }
    }
    if (num_sge > ERNIC_MAX_SGE) {
        return "too many SGEs";
    }
    if (sizeof(slot->head) + num_sge * sizeof(struct ernic_sge) > stride) {
        return "SGEs beyond the slot";
    }
    for (i = 0; i < num_sge; i++) {
        struct ernic_sge sge;

        memcpy(&sge, slot->bytes + sizeof(slot->head) + i * sizeof(sge),
               sizeof(sge));
        recv->sge[i].addr = le64_to_cpu(sge.addr);
        recv->sge[i].len = le32_to_cpu(sge.length);
        recv->sge[i].lkey = le32_to_cpu(sge.lkey);
        len += recv->sge[i].len;
    }
    recv->num_sge = num_sge;
    /* No message is longer than this, so a larger sum may be cut. */
    recv->len = MIN(len, UINT32_MAX);
    return NULL;
}

bool ernic_rq_take(Ernic *e, ErnicWq *wq, ErnicRecv *recv)
{
    uint64_t off = (uint64_t)(wq->ci & (wq->depth - 1)) * wq->stride;
    const char *why;
    Slot slot;

    if (wq->pi == wq->ci) {
        return false;
    }
    g_assert(wq->stride <= SLOT_MAX);
    recv->index = wq->ci++;
    recv->wr_id = 0;
    recv->len = 0;
    recv->num_sge = 0;
    recv->fault = ERNIC_FAULT_NONE;
    if (!ernic_buf_read(e, &wq->buf, off, &slot, wq->stride)) {
        trace_ernic_guest_rwqe_dma(recv->index);
        recv->fault = ERNIC_FAULT_RECV_DMA;
        return true;
    }
    recv->wr_id = le64_to_cpu(slot.head.wr_id);
    why = parse_recv(&slot, wq->stride, recv);
    if (why) {
        trace_ernic_guest_rwqe(recv->index, why);
        recv->fault = ERNIC_FAULT_RECV_WQE;
    }
    return true;
}
