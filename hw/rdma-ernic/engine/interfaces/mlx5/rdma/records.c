/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records of queues and their doorbells. The store to a page only says that there is
 * something new in a send queue; the counter is in guest memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/pages.h"
#include "base/work.h"
#include "interfaces/mlx5/rdma/records.h"
#include "objects/cq.h"
#include "objects/qp.h"
#include "timing/timing.h"
#include "trace.h"
#include "transport/qp_transitions.h"
#include "transport/sched.h"

/* The send counter in the doorbell record of a queue pair. */
#define RECORD_SEND     4

void ernic_mlx5_queues_init(ErnicMlx5Queues *queues, const ErnicConfig *cfg)
{
    queues->qp = ernic_table_new(cfg->max_qp, sizeof(*queues->qp));
    queues->cq = ernic_table_new(cfg->max_cq, sizeof(*queues->cq));
    queues->srq = ernic_table_new(cfg->max_srq, sizeof(*queues->srq));
}

void ernic_mlx5_queues_fini(ErnicMlx5Queues *queues, const ErnicConfig *cfg)
{
    ernic_table_free(queues->qp, cfg->max_qp, sizeof(*queues->qp));
    ernic_table_free(queues->cq, cfg->max_cq, sizeof(*queues->cq));
    ernic_table_free(queues->srq, cfg->max_srq, sizeof(*queues->srq));
    memset(queues, 0, sizeof(*queues));
}

ErnicMlx5Qp *ernic_mlx5_qp(const Ernic *e, uint32_t qpn)
{
    return &e->mlx5->queues.qp[qpn];
}

ErnicMlx5Cq *ernic_mlx5_cq(const Ernic *e, uint32_t cqn)
{
    return &e->mlx5->queues.cq[cqn];
}

ErnicMlx5Srq *ernic_mlx5_srq(const Ernic *e, uint32_t srqn)
{
    return &e->mlx5->queues.srq[srqn];
}

/* ---- doorbells ------------------------------------------------------------------- */

void ernic_mlx5_bad_doorbell(Ernic *e, const char *kind, uint32_t page,
                             uint32_t number)
{
    e->stats.bad_doorbells++;
    trace_ernic_mlx5_bad_doorbell(kind, page, number);
}

/* The send counter of @qp, as a number of 32 bits; false: it cannot be read. */
static bool read_send_counter(Ernic *e, const ErnicQp *qp, uint32_t *pi)
{
    uint64_t at = ernic_mlx5_qp(e, qp->qpn)->record + RECORD_SEND;
    uint8_t record[4];

    ernic_charge_copy(e, sizeof(record));
    if (!e->ops->dma_read(e->env, at, record, sizeof(record))) {
        return false;
    }
    *pi = qp->sq.wq.pi + (uint16_t)(ldl_be_p(record) - qp->sq.wq.pi);
    return true;
}

/* Take the counter of the record; false: it is not valid. */
static bool take_sends(Ernic *e, ErnicQp *qp)
{
    uint32_t before = qp->sq.wq.pi, pi;

    if (!read_send_counter(e, qp, &pi) ||
        ernic_wq_produce(&qp->sq.wq, ernic_sq_done(&qp->sq), pi) != ERNIC_OK) {
        return false;
    }
    if (pi != before) {
        ernic_timing_posted(e, qp->qpn, before, pi);
        ernic_sched_mark(e, qp);
    }
    return true;
}

void ernic_mlx5_ring_sq(Ernic *e, uint32_t page, uint64_t value)
{
    uint32_t qpn = value >> 8 & 0xffffff;
    ErnicQp *qp = qpn < e->qp_ids.size ? &e->qp[qpn] : NULL;

    if (!qp || !qp->used || ernic_mlx5_qp(e, qpn)->uar != page ||
        !ernic_qp_may(qp, ERNIC_MAY_POST_SEND) || !take_sends(e, qp)) {
        ernic_mlx5_bad_doorbell(e, "sq", page, qpn);
    }
}

uint32_t ernic_mlx5_qp_page(const Ernic *e, uint32_t qpn)
{
    const ErnicQp *qp = &e->qp[qpn];

    return qp->used && qp->sq.wq.depth ? ernic_mlx5_qp(e, qpn)->uar : 0;
}

void ernic_mlx5_take_sends(Ernic *e, uint32_t qpn)
{
    ErnicQp *qp = &e->qp[qpn];

    if (ernic_qp_may(qp, ERNIC_MAY_POST_SEND) && !take_sends(e, qp)) {
        ernic_mlx5_bad_doorbell(e, "sq", ernic_mlx5_qp(e, qpn)->uar, qpn);
    }
}

void ernic_mlx5_ring_cq(Ernic *e, uint32_t page, uint64_t value)
{
    uint32_t cqn = value & 0xffffff;
    uint8_t number = value >> 60 & 3;
    uint32_t unseen;
    ErnicCq *cq = cqn < e->cq_ids.size ? &e->cq[cqn] : NULL;
    ErnicMlx5Cq *record;

    if (!cq || !cq->used || ernic_mlx5_cq(e, cqn)->uar != page) {
        ernic_mlx5_bad_doorbell(e, "cq-arm", page, cqn);
        return;
    }
    record = ernic_mlx5_cq(e, cqn);
    /*
     * Software counts the notifications that it has got. A request with the number of
     * one that has caused a notification was made before that arrived.
     */
    if (record->arm_number == number && cq->arm == ERNIC_CQ_DISARMED) {
        trace_ernic_mlx5_stale_arm(cqn, number);
        return;
    }
    record->arm_number = number;
    /*
     * Entries that have caused a notification cause no second one: software may arm
     * the queue before it reads them, and expect that the next event is of a newer one.
     */
    unseen = MIN((cq->pi - (value >> 32)) & 0xffffff, cq->pi - cq->notified);
    ernic_cq_arm(e, cqn, cq->pi - unseen, value >> 56 & 1);
}
