/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ring of queue pairs that have work: linked through ready_next, first in
 * first out, so that every one of them gets its turn.
 */
#include "qemu/osdep.h"
#include "sched.h"

void ernic_sched_mark(Ernic *e, ErnicQp *qp)
{
    if (qp->ready) {
        return;
    }
    qp->ready = true;
    qp->ready_next = 0;
    if (e->ready_tail) {
        e->qp[e->ready_tail].ready_next = qp->qpn;
    } else {
        e->ready_head = qp->qpn;
    }
    e->ready_tail = qp->qpn;
}

ErnicQp *ernic_sched_take(Ernic *e)
{
    ErnicQp *qp;

    if (!e->ready_head) {
        return NULL;
    }
    qp = &e->qp[e->ready_head];
    e->ready_head = qp->ready_next;
    if (!e->ready_head) {
        e->ready_tail = 0;
    } else {
        /* The next turn's first lines: many queue pairs do not fit a cache. */
        __builtin_prefetch(&e->qp[e->ready_head].sq);
    }
    qp->ready = false;
    qp->ready_next = 0;
    return qp;
}

void ernic_sched_forget(Ernic *e, ErnicQp *qp)
{
    uint32_t prev = 0;
    uint32_t id;

    if (!qp->ready) {
        return;
    }
    for (id = e->ready_head; id != qp->qpn; id = e->qp[id].ready_next) {
        prev = id;
    }
    if (prev) {
        e->qp[prev].ready_next = qp->ready_next;
    } else {
        e->ready_head = qp->ready_next;
    }
    if (e->ready_tail == qp->qpn) {
        e->ready_tail = prev;
    }
    qp->ready = false;
    qp->ready_next = 0;
}
