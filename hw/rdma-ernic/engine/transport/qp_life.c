/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of a queue pair context: open, reset, close. Both interfaces use it.
 */
#include "qemu/osdep.h"
#include "base/timer.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/qp.h"
#include "timing/hooks.h"
#include "transport/ack.h"
#include "transport/cc.h"
#include "transport/completer.h"
#include "transport/qp.h"
#include "transport/qp_life.h"
#include "transport/rate.h"
#include "transport/responder_resources.h"
#include "transport/read_slots.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/retry_buffer.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"
#include "transport/turn.h"

void ernic_qp_reset_context(Ernic *e, ErnicQp *qp)
{
    if (qp->events.page.state == ERNIC_PAGE_FAILED) {
        qp->events.page.state = ERNIC_PAGE_NONE;
    }
    qp->sq.wq.pi = qp->sq.wq.ci = 0;
    qp->rq.wq.pi = qp->rq.wq.ci = 0;
    ernic_requester_reset(qp);
    ernic_completer_reset(qp);
    ernic_responder_reset(qp);
    ernic_ack_reset(qp);
    ernic_rd_reset(qp);
    ernic_turn_reset(qp);
    ernic_rate_reset(qp);
    ernic_cc_reset(&qp->cc);
    ernic_retry_timer_stop(e, qp);
    ernic_rnr_timer_stop(qp);
    ernic_qp_drop_recv(qp);
    memset(&qp->attr, 0, sizeof(qp->attr));
    qp->attr.path_mtu = e->cfg.mtu;     /* datagrams have no other */
    ernic_timed_forget(e, qp->qpn);
    ernic_retry_buffer_sync(e, qp);     /* nothing of it is in flight */
    ernic_read_slots_sync(e, qp);
    qp->sq.narrow = 0;
    qp->sq.asleep = false;
    qp->sq_drained = false;
    ernic_qp_timer_expired(qp);
    ernic_timer_set(e->timers, qp->qpn, ERNIC_NEVER);
    ernic_mw_forget_qp(e, qp->qpn);
}

bool ernic_sq_alloc_window(Ernic *e, ErnicSendQueue *sq, uint32_t depth)
{
    uint32_t window = ernic_sq_window(depth);

    sq->window_mask = window - 1;
    /* A slot is written when its request is fetched, and not read before. */
    sq->wqe = ernic_mem_new_raw(&e->mem, ERNIC_MEM_REQUESTS, window, sizeof(*sq->wqe));
    return sq->wqe;
}

bool ernic_qp_alloc_answers(Ernic *e, ErnicQp *qp)
{
    qp->rd = ernic_mem_new(&e->mem, ERNIC_MEM_RESPONSES, ERNIC_MAX_RD_ATOMIC,
                           sizeof(*qp->rd));
    return qp->rd;
}

static void free_arrays(Ernic *e, ErnicQp *qp)
{
    ernic_mem_free(&e->mem, ERNIC_MEM_REQUESTS, qp->sq.wqe, qp->sq.window_mask + 1,
                   sizeof(ErnicWqe));
    ernic_mem_free(&e->mem, ERNIC_MEM_RESPONSES, qp->rd, ERNIC_MAX_RD_ATOMIC,
                   sizeof(*qp->rd));
}

void ernic_qp_fini(Ernic *e, ErnicQp *qp)
{
    ernic_buf_fini(e, &qp->sq.wq.buf);
    ernic_buf_fini(e, &qp->rq.wq.buf);
    free_arrays(e, qp);
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
    ErnicQp *qp = &e->qp[qpn];

    g_assert(qpn && qpn < e->cfg.max_qp && !qp->used && type < ERNIC_QPT_COUNT);
    memset(qp, 0, sizeof(*qp));
    if (!ernic_sq_alloc_window(e, &qp->sq, sq->depth) ||
        !ernic_qp_alloc_answers(e, qp)) {
        free_arrays(e, qp);
        memset(qp, 0, sizeof(*qp));
        return NULL;
    }
    qp->used = true;
    qp->qpn = qpn;
    qp->type = type;
    qp->transport = transport[type];
    qp->state = ERNIC_QPS_RESET;
    qp->sq.wq = *sq;
    qp->rq.wq = *rq;
    ernic_retry_timer_init(qp);
    ernic_qp_reset_context(e, qp);
    return qp;
}

void ernic_qp_close(Ernic *e, ErnicQp *qp)
{
    g_assert(qp->used);
    ernic_qp_reset_context(e, qp);
    ernic_sched_forget(e, qp);
    ernic_event_forget(e, e->async_eq, ERNIC_EVC_QP, qp->qpn, &qp->events);
    ernic_qp_fini(e, qp);
    memset(qp, 0, sizeof(*qp));
}
