/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of a queue pair context: open, reset, close. Both faces use it.
 */
#include "qemu/osdep.h"
#include "base/timer.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/qp.h"
#include "timing/hooks.h"
#include "transport/cc.h"
#include "transport/qp_life.h"
#include "transport/read_slots.h"
#include "transport/retry_buffer.h"
#include "transport/sched.h"

void ernic_qp_reset_context(Ernic *e, ErnicQp *qp)
{
    ErnicSendQueue *sq = &qp->sq;
    ErnicRecvQueue *rq = &qp->rq;
    ErnicWq swq = sq->wq, rwq = rq->wq;
    ErnicWqe *wqe = sq->wqe;
    uint32_t window_mask = sq->window_mask;

    if (qp->events.page.state == ERNIC_PAGE_FAILED) {
        qp->events.page.state = ERNIC_PAGE_NONE;
    }
    swq.pi = swq.ci = 0;
    rwq.pi = rwq.ci = 0;
    memset(sq, 0, sizeof(*sq));
    sq->wq = swq;
    sq->wqe = wqe;
    sq->window_mask = window_mask;
    sq->blocked_on = ERNIC_BLOCKED_EMPTY;
    ernic_sq_stop_timer(sq);
    sq->rnr_due = ERNIC_NEVER;
    sq->cwnd = ERNIC_CWND_INIT;
    memset(rq, 0, sizeof(*rq));
    rq->wq = rwq;
    memset(&qp->ack, 0, sizeof(qp->ack));
    memset(qp->rd, 0, ERNIC_MAX_RD_ATOMIC * sizeof(*qp->rd));
    memset(&qp->attr, 0, sizeof(qp->attr));
    qp->attr.path_mtu = e->cfg.mtu;     /* datagrams are told no other */
    ernic_cc_reset(&qp->cc);
    ernic_timed_forget(e, qp->qpn);
    ernic_retry_buffer_sync(e, qp);     /* nothing of it is under way */
    ernic_read_slots_sync(e, qp);
    qp->sq_drained = false;
    qp->broken_cq = false;
    qp->last_wqe = false;
    qp->timer_due = ERNIC_NEVER;
    ernic_timer_set(e->timers, qp->qpn, ERNIC_NEVER);
    ernic_mw_forget_qp(e, qp->qpn);
}

ErnicQp *ernic_qp_open(Ernic *e, uint32_t qpn, uint8_t type,
                       const ErnicWq *sq, const ErnicWq *rq)
{
    static const uint8_t transport[ERNIC_QPT_COUNT] = {
        [ERNIC_QPT_RC] = ERNIC_RC, [ERNIC_QPT_UC] = ERNIC_UC,
        [ERNIC_QPT_UD] = ERNIC_UD, [ERNIC_QPT_GSI] = ERNIC_UD,
        [ERNIC_QPT_XRC_INI] = ERNIC_XRC, [ERNIC_QPT_XRC_TGT] = ERNIC_XRC,
        [ERNIC_QPT_RAW] = ERNIC_RAW, [ERNIC_QPT_RWQ] = ERNIC_RAW,
    };
    uint32_t window = ernic_sq_window(sq->depth);
    ErnicQp *qp = &e->qp[qpn];

    memset(qp, 0, sizeof(*qp));
    qp->used = true;
    qp->qpn = qpn;
    qp->type = type;
    qp->transport = transport[type];
    qp->state = ERNIC_QPS_RESET;
    qp->sq.wq = *sq;
    qp->rq.wq = *rq;
    qp->sq.wqe = g_new0(ErnicWqe, window);
    qp->rd = g_new0(ErnicRdRes, ERNIC_MAX_RD_ATOMIC);
    qp->sq.window_mask = window - 1;
    ernic_qp_reset_context(e, qp);
    return qp;
}

void ernic_qp_close(Ernic *e, ErnicQp *qp)
{
    ernic_qp_reset_context(e, qp);
    ernic_sched_forget(e, qp);
    ernic_event_forget(e, e->async_eq, ERNIC_EVC_QP, qp->qpn, &qp->events);
    ernic_buf_fini(e, &qp->sq.wq.buf);
    ernic_buf_fini(e, &qp->rq.wq.buf);
    g_free(qp->sq.wqe);
    g_free(qp->rd);
    memset(qp, 0, sizeof(*qp));
}
