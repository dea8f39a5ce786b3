/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The questions that the invariants of several objects ask.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/rdma/records.h"
#include "state/check.h"

bool ernic_check_uctx(const ErnicCheck *c, uint32_t uctx)
{
    return uctx == 0 || (uctx <= ERNIC_LIM_UCTX && c->e->uctx_used[uctx]);
}

/* The buffer reaches to byte @bytes, and its pages are whole, see ErnicBuf. */
bool ernic_check_buf(const ErnicBuf *buf, uint64_t bytes)
{
    uint64_t mask = (1ull << buf->page_shift) - 1;
    uint32_t i;

    if (buf->pieces || buf->used) {
        return false;
    }
    if (!buf->page) {
        return buf->npages == 0 && buf->page_shift == 0 && buf->offset == 0 &&
               (bytes == 0 || buf->base <= UINT64_MAX - (bytes - 1));
    }
    if (buf->npages == 0 || buf->page_shift < ERNIC_PAGE_SHIFT_MIN ||
        buf->offset > mask) {
        return false;
    }
    for (i = 0; i < buf->npages; i++) {
        if (buf->page[i] & ((1ull << ERNIC_PAGE_SHIFT_MIN) - 1)) {
            return false;
        }
    }
    return bytes <= ((uint64_t)buf->npages << buf->page_shift) - buf->offset;
}

bool ernic_check_pieces(const ErnicBuf *buf, uint64_t bytes)
{
    uint64_t end = 0;
    uint32_t i;

    if (!buf->pieces || !buf->page || buf->offset || buf->base ||
        buf->page_shift != ERNIC_PAGE_SHIFT_MIN ||
        buf->used > buf->npages / ERNIC_BUF_PIECE) {
        return false;
    }
    for (i = 0; i < buf->used; i++) {
        uint64_t next = buf->page[i * ERNIC_BUF_PIECE];
        uint64_t addr = buf->page[i * ERNIC_BUF_PIECE + 1];

        if (next <= end || next - end > UINT32_MAX ||
            addr > UINT64_MAX - (next - end - 1)) {
            return false;
        }
        end = next;
    }
    /* A list that is still being loaded is judged when its region opens. */
    return bytes <= end && (!bytes || ernic_buf_few_small(buf));
}

bool ernic_check_record(const Ernic *e, const ErnicWq *wq)
{
    return !wq->record || (!e->mlx5 && !e->regs && wq->depth &&
                           ernic_wq_check_record(e, wq->record) == ERNIC_OK);
}

bool ernic_check_wq(const ErnicWq *wq, uint32_t max_stride)
{
    return ernic_depth_ok(wq->depth, 1, ERNIC_MAX_WQ_DEPTH) &&
           wq->stride >= 64 && wq->stride % 64 == 0 &&
           wq->stride <= max_stride * 64 && wq->pi - wq->ci <= wq->depth &&
           ernic_check_buf(&wq->buf, (uint64_t)wq->depth * wq->stride);
}

bool ernic_check_recv_ring(const Ernic *e, const ErnicWq *wq)
{
    return e->mlx5 ? ernic_depth_ok(wq->depth, 1, ERNIC_MAX_WQ_DEPTH) &&
                     wq->stride >= 16 && wq->stride % 16 == 0 &&
                     wq->stride <= ERNIC_MLX5_RECV_MAX &&
                     wq->pi - wq->ci <= wq->depth &&
                     ernic_check_buf(&wq->buf, (uint64_t)wq->depth * wq->stride) :
                     ernic_check_wq(wq, ERNIC_RQ_STRIDE_MAX);
}

/* Pending events stand in exactly the line of @eqn. */
bool ernic_check_events(const ErnicCheck *c, ErnicEvClass cls, uint32_t id,
                        const ErnicEvents *ev, uint32_t eqn)
{
    if (!ev->pending) {
        return !ev->queued && !c->line[cls][id];
    }
    return ev->queued && eqn && c->line[cls][id] == eqn;
}

bool ernic_check_heap(const ErnicTimers *t)
{
    uint32_t i;

    for (i = 0; i < t->count; i++) {
        uint32_t id = t->heap[i];

        if (id == 0 || id >= t->size || t->pos[id] != i + 1 ||
            t->due[id] < t->due[t->heap[(i - (i > 0)) / 2]]) {
            return false;
        }
    }
    return true;
}

bool ernic_check_path(const ErnicPath *path)
{
    return ernic_gid_is_v4(&path->sgid) == ernic_gid_is_v4(&path->dgid);
}
