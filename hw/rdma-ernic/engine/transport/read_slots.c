/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A freed slot is reserved at once for the longest waiter, so that no queue pair that
 * is scheduled earlier can take it.
 */
#include "qemu/osdep.h"
#include "timing/hooks.h"
#include "trace.h"
#include "transport/cc.h"
#include "transport/read_slots.h"
#include "transport/sched.h"

static void take_slot(ErnicTiming *t, const ErnicQp *qp)
{
    g_assert(t->places < t->rsp.size);
    t->place[t->places++] = (ErnicTimedResponse) { .qpn = qp->qpn };
}

static void free_slot(Ernic *e, ErnicTimedResponse *r)
{
    ErnicTiming *t = e->timing;
    ErnicQp *next;

    g_assert(t->places && r - t->place < t->places);
    if (r->begun) {
        ernic_limit_end(&t->rsp, r->begin, r->end);
    }
    *r = t->place[--t->places];
    next = ernic_sched_take_from(e, ERNIC_RING_SLOT);
    if (next) {
        take_slot(t, next);
        ernic_sched_mark(e, next);
    }
}

bool ernic_read_slots_take(Ernic *e, ErnicQp *qp)
{
    ErnicTiming *t = e->timing;

    if (!ernic_timed_needs_place(e, qp->qpn)) {
        return true;
    }
    if (t->places == t->rsp.size) {
        trace_ernic_overlap_wait(qp->qpn, t->places);
        ernic_sched_add(e, qp, ERNIC_RING_SLOT);
        return false;
    }
    take_slot(t, qp);
    return true;
}

void ernic_read_slots_done(Ernic *e, ErnicQp *qp)
{
    ErnicTimedResponse *r = ernic_timed_place(e, qp->qpn);

    if (r) {
        free_slot(e, r);
    }
}

void ernic_read_slots_release(Ernic *e, ErnicQp *qp)
{
    if (!qp->ack.rd_pending || qp->ack.page_wait ||
        ernic_cc_send_at(&qp->cc) > e->now) {
        ernic_read_slots_done(e, qp);
    }
}
