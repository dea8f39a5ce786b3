/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared receive queues, those of XRC among them, and their limit.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/bytes.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/pd.h"
#include "objects/srq.h"
#include "trace.h"

ErnicSrq *ernic_srq_get(Ernic *e, uint32_t uctx, uint32_t srqn)
{
    if (srqn >= e->srq_ids.size || !e->srq[srqn].used ||
        e->srq[srqn].uctx != uctx) {
        return NULL;
    }
    return &e->srq[srqn];
}

bool ernic_srq_in_domain(const Ernic *e, uint32_t srqn, uint32_t xrcd)
{
    return xrcd && srqn < e->srq_ids.size && e->srq[srqn].used &&
           e->srq[srqn].xrcd == xrcd;
}

/* The same as ernic_srq_get(), but returns an ernic_status. */
static uint8_t srq_find(Ernic *e, uint32_t uctx, uint32_t srqn, ErnicSrq **srq)
{
    *srq = ernic_srq_get(e, uctx, srqn);
    if (*srq) {
        return ERNIC_OK;
    }
    return srqn < e->srq_ids.size && e->srq[srqn].used ? ERNIC_ERR_PERM :
                                                         ERNIC_ERR_HANDLE;
}

/* Add @delta, +1 or -1, to the reference counts of the objects that @srq uses. */
static void srq_refer(Ernic *e, const ErnicSrq *srq, int delta)
{
    g_assert(delta > 0 || e->pd[srq->pd].refs);
    g_assert(delta > 0 || !srq->xrcd || (e->pd[srq->xrcd].refs && e->cq[srq->cq].refs));
    e->pd[srq->pd].refs += delta;
    if (srq->xrcd) {
        e->pd[srq->xrcd].refs += delta;
        e->cq[srq->cq].refs += delta;
    }
}

/* An XRC SRQ has a domain and a completion queue, any other SRQ has neither. */
static uint8_t check_xrc(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd)
{
    uint32_t xrcd = le32_to_cpu(cmd->xrcd), cq = le32_to_cpu(cmd->cq);

    if (cmd->reserved[0] || cmd->reserved[1] || (!xrcd && cq) ||
        !ernic_all_zero(cmd->reserved1, sizeof(cmd->reserved1))) {
        return ERNIC_ERR_RESERVED;
    }
    return !xrcd || (ernic_pd_get(e, 0, xrcd) && ernic_cq_get(e, uctx, cq)) ?
           ERNIC_OK : ERNIC_ERR_HANDLE;
}

uint8_t ernic_srq_add(Ernic *e, const ErnicSrqInit *init, ErnicWq *wq, uint32_t *srqn)
{
    *srqn = ernic_ids_alloc(&e->srq_ids);
    if (!*srqn) {
        ernic_buf_fini(e, &wq->buf);
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->srq[*srqn] = (ErnicSrq) {
        .used = true, .uctx = init->uctx, .pd = init->pd, .limit = init->limit,
        .wq = *wq, .xrcd = init->xrcd, .cq = init->cq,
    };
    srq_refer(e, &e->srq[*srqn], 1);
    trace_ernic_srq_create(*srqn, init->pd, wq->depth, init->limit, init->xrcd);
    return ERNIC_OK;
}

uint8_t ernic_srq_create(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd, uint32_t *srqn)
{
    uint32_t depth = le32_to_cpu(cmd->depth);
    uint32_t stride = le16_to_cpu(cmd->stride);
    uint32_t limit = le32_to_cpu(cmd->limit);
    uint32_t pdn = le32_to_cpu(cmd->pd);
    ErnicSrqInit init = {
        .uctx = uctx, .pd = pdn, .limit = limit,
        .xrcd = le32_to_cpu(cmd->xrcd), .cq = le32_to_cpu(cmd->cq),
    };
    ErnicWq wq = {
        .depth = depth, .stride = stride * ERNIC_SLOT_UNIT,
        .record = le64_to_cpu(cmd->record),
    };
    uint8_t status;

    if (cmd->handle) {
        return ERNIC_ERR_RESERVED;
    }
    if (!ernic_depth_ok(depth, 1, ERNIC_MAX_WQ_DEPTH) || stride < 1 ||
        stride > ERNIC_RQ_STRIDE_MAX || limit > depth) {
        return ERNIC_ERR_PARAM;
    }
    if (!ernic_pd_get(e, uctx, pdn)) {
        return ERNIC_ERR_HANDLE;
    }
    status = check_xrc(e, uctx, cmd) ?: ernic_wq_check_record(e, wq.record);
    if (status != ERNIC_OK) {
        return status;
    }
    if (e->srq_ids.count == 0) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    status = ernic_buf_init(e, &wq.buf, &cmd->buf,
                            (uint64_t)depth * wq.stride);
    if (status != ERNIC_OK) {
        return status;
    }
    return ernic_srq_add(e, &init, &wq, srqn);
}

/* The limit event is raised once, when fewer requests than the limit are left. */
void ernic_srq_check_limit(Ernic *e, uint32_t srqn, uint32_t left)
{
    ErnicSrq *srq = &e->srq[srqn];

    if (left < srq->limit) {
        trace_ernic_srq_limit(srqn, srq->limit, left);
        srq->limit = 0;
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_SRQ, srqn, &srq->events,
                          ERNIC_EV_SRQ_LIMIT, 0);
    }
}

void ernic_srq_set_limit(Ernic *e, uint32_t srqn, uint32_t limit, uint32_t left)
{
    e->srq[srqn].limit = limit;
    trace_ernic_srq_modify(srqn, limit);
    ernic_srq_check_limit(e, srqn, left);
}

/* Take the producer counter of the record of SRQ @srqn, if it has one. */
static void srq_look(Ernic *e, uint32_t srqn)
{
    ErnicSrq *srq = &e->srq[srqn];

    if (!srq->wq.record || srq->error) {
        return;
    }
    switch (ernic_wq_look(e, &srq->wq)) {
    case ERNIC_LOOK_DMA:
        ernic_srq_fail(e, srqn);
        break;
    case ERNIC_LOOK_BAD:
        e->stats.bad_doorbells++;
        ernic_event_raise(e, e->async_eq, ERNIC_EVC_SRQ, srqn, &srq->events,
                          ERNIC_EV_BAD_DOORBELL, ERNIC_DB_SRQ);
        break;
    default:
        break;
    }
}

/* Use another ring; the guest has copied the posted requests to it. */
static uint8_t srq_resize(Ernic *e, uint32_t srqn, ErnicSrq *srq,
                          const struct ernic_cmd_srq *cmd)
{
    uint32_t depth = le32_to_cpu(cmd->depth);
    ErnicBuf buf;
    uint8_t status;

    if (cmd->limit) {
        return ERNIC_ERR_RESERVED;
    }
    if (srq->error) {
        return ERNIC_ERR_STATE;
    }
    if (!ernic_depth_ok(depth, 1, ERNIC_MAX_WQ_DEPTH) || srq->limit > depth ||
        srq->wq.pi - srq->wq.ci > depth) {
        return ERNIC_ERR_PARAM;
    }
    status = ernic_buf_init(e, &buf, &cmd->buf,
                            (uint64_t)depth * srq->wq.stride);
    if (status != ERNIC_OK) {
        return status;
    }
    ernic_buf_fini(e, &srq->wq.buf);
    trace_ernic_srq_resize(srqn, srq->wq.depth, depth);
    srq->wq.buf = buf;
    srq->wq.depth = depth;
    return ERNIC_OK;
}

uint8_t ernic_srq_modify(Ernic *e, uint32_t uctx,
                         const struct ernic_cmd_srq *cmd)
{
    static const struct ernic_buf_desc none;
    uint32_t srqn = le32_to_cpu(cmd->handle);
    uint32_t limit = le32_to_cpu(cmd->limit);
    ErnicSrq *srq;
    uint8_t status = srq_find(e, uctx, srqn, &srq);

    if (status != ERNIC_OK) {
        return status;
    }
    if (cmd->pd || cmd->stride) {
        return ERNIC_ERR_RESERVED;
    }
    srq_look(e, srqn);
    if (cmd->depth) {
        return srq_resize(e, srqn, srq, cmd);
    }
    if (memcmp(&cmd->buf, &none, sizeof(none)) != 0) {
        return ERNIC_ERR_RESERVED;
    }
    if (limit > srq->wq.depth) {
        return ERNIC_ERR_PARAM;
    }
    ernic_srq_set_limit(e, srqn, limit, srq->wq.pi - srq->wq.ci);
    return ERNIC_OK;
}

uint8_t ernic_srq_destroy(Ernic *e, uint32_t uctx, uint32_t srqn)
{
    ErnicSrq *srq;
    uint8_t status = srq_find(e, uctx, srqn, &srq);

    if (status != ERNIC_OK) {
        return status;
    }
    if (srq->refs) {
        return ERNIC_ERR_BUSY;
    }
    ernic_event_forget(e, e->async_eq, ERNIC_EVC_SRQ, srqn, &srq->events);
    srq_refer(e, srq, -1);
    ernic_buf_fini(e, &srq->wq.buf);
    *srq = (ErnicSrq) { 0 };
    ernic_ids_free(&e->srq_ids, srqn);
    trace_ernic_srq_destroy(srqn);
    return ERNIC_OK;
}

void ernic_srq_fail(Ernic *e, uint32_t srqn)
{
    ErnicSrq *srq = &e->srq[srqn];

    srq->error = true;
    ernic_event_raise(e, e->async_eq, ERNIC_EVC_SRQ, srqn, &srq->events,
                      ERNIC_EV_SRQ_ERR, 0);
}

bool ernic_srq_take(Ernic *e, uint32_t srqn, ErnicRecv *recv)
{
    ErnicSrq *srq = &e->srq[srqn];

    g_assert(srq->used);
    /* The limit needs the exact number. */
    if (srq->wq.pi == srq->wq.ci || srq->limit) {
        srq_look(e, srqn);
    }
    if (srq->error) {
        recv->fault = ERNIC_FAULT_RECV_DMA;
        return false;
    }
    if (!ernic_rq_take(e, &srq->wq, recv)) {
        return false;
    }
    if (recv->fault == ERNIC_FAULT_RECV_DMA) {
        ernic_srq_fail(e, srqn);
    }
    ernic_srq_check_limit(e, srqn, srq->wq.pi - srq->wq.ci);
    return true;
}
