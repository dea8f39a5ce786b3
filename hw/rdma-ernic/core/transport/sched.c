/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rings of queue pairs that have work: linked by number, first in first out, so
 * that each of them gets its turn.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "transport/sched.h"
#include "transport/tx.h"

static ErnicRing *sched_ring(Ernic *e, ErnicRingKind kind)
{
    return kind == ERNIC_RING_READY ? &e->ready :
           kind == ERNIC_RING_WAITING ? &e->waiting :
           kind == ERNIC_RING_SLOT ? &e->places : &e->departing;
}

static void sched_add(Ernic *e, ErnicQp *qp, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);

    if (qp->in_ring[kind]) {
        return;
    }
    qp->in_ring[kind] = true;
    qp->ring_next[kind] = 0;
    if (ring->tail) {
        e->qp[ring->tail].ring_next[kind] = qp->qpn;
    } else {
        ring->head = qp->qpn;
    }
    ring->tail = qp->qpn;
}

void ernic_sched_mark(Ernic *e, ErnicQp *qp)
{
    sched_add(e, qp, ERNIC_RING_READY);
}

void ernic_sched_wait(Ernic *e, ErnicQp *qp)
{
    sched_add(e, qp, ERNIC_RING_WAITING);
}

void ernic_sched_wait_slot(Ernic *e, ErnicQp *qp)
{
    sched_add(e, qp, ERNIC_RING_SLOT);
}

void ernic_sched_wait_departure(Ernic *e, ErnicQp *qp)
{
    sched_add(e, qp, ERNIC_RING_DEPARTURE);
}

bool ernic_sched_ready(const Ernic *e)
{
    return e->ready.head || (!e->tx->busy && e->waiting.head);
}

static ErnicQp *sched_take(Ernic *e, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);
    ErnicQp *qp;

    if (!ring->head) {
        return NULL;
    }
    qp = &e->qp[ring->head];
    ring->head = qp->ring_next[kind];
    if (!ring->head) {
        ring->tail = 0;
    } else {
        /* Prefetch for the next turn: many queue pairs do not fit a cache. */
        __builtin_prefetch(&e->qp[ring->head].sq);
    }
    qp->in_ring[kind] = false;
    qp->ring_next[kind] = 0;
    return qp;
}

ErnicQp *ernic_sched_take(Ernic *e)
{
    return sched_take(e, !e->tx->busy && e->waiting.head ?
                         ERNIC_RING_WAITING : ERNIC_RING_READY);
}

ErnicQp *ernic_sched_take_slot(Ernic *e)
{
    return sched_take(e, ERNIC_RING_SLOT);
}

ErnicQp *ernic_sched_take_departure(Ernic *e)
{
    return sched_take(e, ERNIC_RING_DEPARTURE);
}

static void sched_remove(Ernic *e, ErnicQp *qp, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);
    uint32_t prev = 0;
    uint32_t id;

    if (!qp->in_ring[kind]) {
        return;
    }
    for (id = ring->head; id != qp->qpn; id = e->qp[id].ring_next[kind]) {
        prev = id;
        ernic_charge(e, 1);
    }
    if (prev) {
        e->qp[prev].ring_next[kind] = qp->ring_next[kind];
    } else {
        ring->head = qp->ring_next[kind];
    }
    if (ring->tail == qp->qpn) {
        ring->tail = prev;
    }
    qp->in_ring[kind] = false;
    qp->ring_next[kind] = 0;
}

void ernic_sched_forget(Ernic *e, ErnicQp *qp)
{
    sched_remove(e, qp, ERNIC_RING_READY);
    sched_remove(e, qp, ERNIC_RING_WAITING);
    sched_remove(e, qp, ERNIC_RING_SLOT);
    sched_remove(e, qp, ERNIC_RING_DEPARTURE);
}
