/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The methods of the interface (interfaces/interface.h). Send queues count in blocks of
 * 64 bytes. The producer of a receive queue is a record in guest memory, without a
 * doorbell. A shared receive queue is a list: each slot names the one after it. Doorbells
 * of queue pairs and of Ethernet's send queues ring on pages of both.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/mlx5/events.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "objects/srq.h"
#include "trace.h"
#include "interfaces/common/defaults.h"
#include "transport/qp.h"

#define BLOCK           ERNIC_MLX5_BLOCK
#define BLOCK_SEGMENTS  (BLOCK / ERNIC_MLX5_SEGMENT)

/* ---- send requests --------------------------------------------------------------- */

/* Copy @n blocks from block @unit on; the ring may end between them. */
static bool read_blocks(Ernic *e, const ErnicQp *qp, uint32_t unit, uint32_t n,
                        uint8_t *to)
{
    const ErnicWq *wq = &qp->sq.wq;
    uint64_t base = ernic_mlx5_qp(e, qp->qpn)->sq_offset;
    uint32_t at = unit & (wq->depth - 1);
    uint32_t run = MIN(n, wq->depth - at);

    ernic_charge_copy(e, n * BLOCK);
    return ernic_buf_read(e, &wq->buf, base + at * BLOCK, to, run * BLOCK) &&
           ernic_buf_read(e, &wq->buf, base, to + run * BLOCK, (n - run) * BLOCK);
}

/* The first block, then the others: each is read once. */
static void fetch_request(Ernic *e, ErnicQp *qp, uint32_t posted, ErnicWqe *wqe)
{
    uint8_t bytes[ERNIC_MLX5_WQE_MAX];
    uint32_t segments, blocks;

    if (!read_blocks(e, qp, qp->sq.taken, 1, bytes)) {
        trace_ernic_guest_wqe_dma(qp->sq.taken);
        wqe->fault = ERNIC_FAULT_SEND_FETCH;
        return;
    }
    wqe->wr_id = ernic_mlx5_wr_id(bytes);
    segments = ernic_mlx5_wqe_segments(bytes);
    blocks = DIV_ROUND_UP(segments, BLOCK_SEGMENTS);
    if (!segments || segments > ERNIC_MLX5_WQE_SEGMENTS || blocks > posted) {
        trace_ernic_guest_wqe(qp->sq.taken, bytes[3], "number of segments");
        wqe->fault = ERNIC_FAULT_SEND_WQE;
        wqe->units = segments ? MIN(blocks, posted) : 1;
        return;
    }
    wqe->units = blocks;
    if (blocks > 1 &&
        !read_blocks(e, qp, qp->sq.taken + 1, blocks - 1, bytes + BLOCK)) {
        trace_ernic_guest_wqe_dma(qp->sq.taken);
        wqe->fault = ERNIC_FAULT_SEND_FETCH;
        return;
    }
    ernic_mlx5_wqe_decode(e, qp, bytes, segments, wqe);
}

static bool mlx5_fetch(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    uint32_t posted = qp->sq.wq.pi - qp->sq.taken;

    if (!posted) {
        return false;
    }
    memset(wqe, 0, offsetof(ErnicWqe, sge));
    wqe->opcode = ERNIC_WR_SEND;
    wqe->units = 1;
    fetch_request(e, qp, posted, wqe);
    return true;
}

/* Whether the request asks for an entry when it ends with @fault. */
static bool writes_entry(const ErnicWqe *wqe, ErnicFault fault)
{
    switch (ERNIC_MLX5_WR_CE(wqe->wr_id)) {
    case ERNIC_MLX5_CE_ERROR:
        return fault != ERNIC_FAULT_NONE;
    case ERNIC_MLX5_CE_FIRST_ERROR:
        return fault != ERNIC_FAULT_NONE && fault != ERNIC_FAULT_FLUSH;
    default:
        return true;
    }
}

static void mlx5_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                               ErnicFault fault)
{
    if (!writes_entry(wqe, fault)) {
        trace_ernic_unsignaled(qp->qpn, wqe->index);
        return;
    }
    ernic_complete_send(e, qp, wqe, wqe->unit, ERNIC_WC_SEND, fault);
}

/* ---- receive requests ------------------------------------------------------------ */

/*
 * Read the producer counter at @at to @wq->pi; false: the DMA has failed. A counter that
 * claims more requests than fit into the ring posts nothing.
 */
static bool read_producer(Ernic *e, uint64_t at, ErnicWq *wq)
{
    uint8_t record[4];
    uint16_t n;

    ernic_charge_copy(e, sizeof(record));
    if (!e->ops->dma_read(e->env, at, record, sizeof(record))) {
        trace_ernic_mlx5_record_dma(at);
        return false;
    }
    n = ldl_be_p(record) - wq->ci;
    if (n > wq->depth) {
        trace_ernic_mlx5_bad_record(at, ldl_be_p(record), wq->ci);
    } else {
        wq->pi = wq->ci + n;
    }
    return true;
}

/* Copy slot @slot of @wq at byte @base of @buf; false: the DMA has failed. */
static bool read_slot(Ernic *e, const ErnicBuf *buf, uint64_t base, const ErnicWq *wq,
                      uint32_t slot, uint8_t *to)
{
    g_assert(wq->stride <= ERNIC_MLX5_RECV_MAX);
    ernic_charge_copy(e, wq->stride);
    return ernic_buf_read(e, buf, base + (uint64_t)slot * wq->stride, to, wq->stride);
}

static bool take_own(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    const ErnicMlx5Qp *record = ernic_mlx5_qp(e, qp->qpn);
    ErnicWq *wq = &qp->rq.wq;
    uint8_t slot[ERNIC_MLX5_RECV_MAX];

    if (wq->pi == wq->ci && wq->depth && !read_producer(e, record->record, wq)) {
        recv->fault = ERNIC_FAULT_RECV_DMA;
        return false;
    }
    if (wq->pi == wq->ci) {
        return false;
    }
    *recv = (ErnicRecv) { .index = wq->ci };
    if (read_slot(e, &qp->sq.wq.buf, record->rq_offset, wq, wq->ci & (wq->depth - 1),
                  slot)) {
        ernic_mlx5_recv_decode(slot, wq->stride, recv);
    } else {
        trace_ernic_guest_rwqe_dma(recv->index);
        recv->fault = ERNIC_FAULT_RECV_DMA;
    }
    wq->ci++;
    return true;
}

static bool take_shared(Ernic *e, uint32_t srqn, ErnicRecv *recv)
{
    ErnicMlx5Srq *record = ernic_mlx5_srq(e, srqn);
    ErnicSrq *srq = &e->srq[srqn];
    ErnicWq *wq = &srq->wq;
    uint8_t slot[ERNIC_MLX5_RECV_MAX];
    uint16_t next;

    /* The limit needs the exact number. */
    if (!srq->error && (wq->pi == wq->ci || srq->limit) &&
        !read_producer(e, record->record, wq)) {
        ernic_srq_fail(e, srqn);
    }
    if (srq->error) {
        recv->fault = ERNIC_FAULT_RECV_DMA;
        return false;
    }
    if (wq->pi == wq->ci) {
        return false;
    }
    *recv = (ErnicRecv) { .index = record->head };
    if (!read_slot(e, &wq->buf, 0, wq, record->head, slot)) {
        trace_ernic_guest_rwqe_dma(recv->index);
        recv->fault = ERNIC_FAULT_RECV_DMA;
        ernic_srq_fail(e, srqn);
        return true;
    }
    next = lduw_be_p(slot + 2);
    if (next >= wq->depth) {
        trace_ernic_guest_rwqe(recv->index, "next slot");
        recv->fault = ERNIC_FAULT_RECV_WQE;
        ernic_srq_fail(e, srqn);
        return true;
    }
    ernic_mlx5_recv_decode(slot + ERNIC_MLX5_SEGMENT, wq->stride - ERNIC_MLX5_SEGMENT,
                           recv);
    record->head = next;
    wq->ci++;
    ernic_srq_check_limit(e, srqn, wq->pi - wq->ci);
    return true;
}

static bool mlx5_polls_recv(const ErnicQp *qp)
{
    return true;
}

static bool mlx5_take_recv(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    uint32_t srq = ernic_qp_srq(qp);

    return srq ? take_shared(e, srq, recv) : take_own(e, qp, recv);
}

/* ---- doorbell pages -------------------------------------------------------------- */

/* Send queues of Ethernet have the numbers after those of queue pairs, up to this. */
#define LAST_SQ         (ERNIC_MLX5_SQN + ERNIC_LIM_ETH_QUEUE)

QEMU_BUILD_BUG_ON(ERNIC_MLX5_UAR_END != ERNIC_DB_PAGES);
QEMU_BUILD_BUG_ON(LAST_SQ > UINT16_MAX);

static bool page_exists(const Ernic *e, uint32_t page)
{
    return ernic_mlx5_has_uar(&e->mlx5->function, page);
}

static uint32_t next_number(const Ernic *e, uint32_t number)
{
    return number + 1 < e->qp_ids.fresh ? number + 1 :
           number < ERNIC_MLX5_SQN ? ERNIC_MLX5_SQN + 1 :
           number < LAST_SQ ? number + 1 : 0;
}

static uint32_t page_of(const Ernic *e, uint32_t number)
{
    return number > ERNIC_MLX5_SQN ? ernic_mlx5_sq_page(e, number) :
                                     ernic_mlx5_qp_page(e, number);
}

static void look(Ernic *e, uint32_t number)
{
    if (number > ERNIC_MLX5_SQN) {
        ernic_mlx5_eth_take(e, number);
    } else {
        ernic_mlx5_take_sends(e, number);
    }
}

static const ErnicDbPageOps db_pages = {
    .first = ERNIC_MLX5_UAR_FIRST,
    .exists = page_exists,
    .next = next_number,
    .page_of = page_of,
    .look = look,
};

const ErnicInterfaceOps ernic_interface_mlx5 = {
    ERNIC_VERBS_METHODS,
    .cqes = &ernic_cqe_mlx5,
    .eqs = &ernic_mlx5_eqs,
    .db_pages = &db_pages,
    .fetch = mlx5_fetch,
    .complete_send = mlx5_complete_send,
    .polls_recv = mlx5_polls_recv,
    .take_recv = mlx5_take_recv,
    .wants_frame = ernic_mlx5_wants_frame,
    .take_frame = ernic_mlx5_take_frame,
};
