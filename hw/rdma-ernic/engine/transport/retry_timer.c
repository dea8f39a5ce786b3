/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The deadlines of a send queue.
 */
#include "qemu/osdep.h"
#include "transport/adaptive_retry.h"
#include "transport/qp.h"
#include "transport/retry_timer.h"

void ernic_retry_timer_init(ErnicQp *qp)
{
    qp->sq.ack_due = qp->sq.rnr_due = ERNIC_NEVER;
}

void ernic_retry_timer_derive(Ernic *e, const ErnicQp *qp)
{
    e->num_unacked += qp->sq.ack_due != ERNIC_NEVER;
}

static void set_due(Ernic *e, ErnicQp *qp, uint64_t due)
{
    e->num_unacked += (due != ERNIC_NEVER) - (qp->sq.ack_due != ERNIC_NEVER);
    qp->sq.ack_due = due;
}

static uint64_t deadline(const Ernic *e, const ErnicQp *qp)
{
    uint64_t wait = ernic_adaptive_ack_ns(e, qp);

    return wait ? e->now + wait : ERNIC_NEVER;
}

/*
 * ack_due has changed. The heap has the earliest deadline of the queue pair or an
 * earlier time, so it needs no update for one that moves to a later time.
 */
static void ack_timer_moved(Ernic *e, ErnicQp *qp)
{
    if (qp->sq.ack_due < qp->timer_due) {
        ernic_qp_timer(e, qp);
    }
}

void ernic_retry_timer_start(Ernic *e, ErnicQp *qp, bool leaving)
{
    ErnicSendQueue *sq = &qp->sq;

    set_due(e, qp, deadline(e, qp));
    if (sq->ack_due != ERNIC_NEVER) {
        sq->leaving = leaving;
        sq->leave_by = sq->ack_due + (sq->ack_due - e->now);
        ack_timer_moved(e, qp);
    }
}

bool ernic_retry_timer_paused(Ernic *e, ErnicQp *qp)
{
    uint64_t wait = ernic_adaptive_ack_ns(e, qp);

    if (!e->resume || !wait || e->now >= e->resume + wait) {
        return false;
    }
    qp->sq.leaving = false;
    set_due(e, qp, e->resume + wait);
    qp->sq.leave_by = qp->sq.ack_due + wait;
    ack_timer_moved(e, qp);
    return true;
}

void ernic_retry_timer_stop(Ernic *e, ErnicQp *qp)
{
    set_due(e, qp, ERNIC_NEVER);
    qp->sq.leaving = false;
}

void ernic_retry_timer_departed(Ernic *e, ErnicQp *qp)
{
    qp->sq.leaving = false;
    set_due(e, qp, deadline(e, qp));
    ack_timer_moved(e, qp);
}

void ernic_retry_timer_hold(Ernic *e, ErnicQp *qp)
{
    qp->sq.leaving = true;
    set_due(e, qp, qp->sq.leave_by);
}

void ernic_rnr_timer_start(Ernic *e, ErnicQp *qp, uint64_t ns)
{
    qp->sq.rnr_due = e->now + ns;
}

void ernic_rnr_timer_stop(ErnicQp *qp)
{
    qp->sq.rnr_due = ERNIC_NEVER;
}
