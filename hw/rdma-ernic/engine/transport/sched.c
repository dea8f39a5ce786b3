/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rings of queue pairs that have work: linked by number, first in first out, so
 * that each of them gets its turn.
 */
#include "qemu/osdep.h"
#include "transport/sched.h"
#include "transport/tx.h"

static ErnicRing *sched_ring(Ernic *e, ErnicRingKind kind)
{
    return kind == ERNIC_RING_READY ? &e->ready :
           kind == ERNIC_RING_WAITING ? &e->waiting :
           kind == ERNIC_RING_SLOT ? &e->places : &e->departing;
}

void ernic_sched_add(Ernic *e, ErnicQp *qp, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);

    if (qp->in_ring[kind]) {
        return;
    }
    g_assert(qp->used);
    qp->in_ring[kind] = true;
    qp->ring_next[kind] = 0;
    qp->ring_prev[kind] = ring->tail;
    if (ring->tail) {
        e->qp[ring->tail].ring_next[kind] = qp->qpn;
    } else {
        ring->head = qp->qpn;
    }
    ring->tail = qp->qpn;
    ring->count++;
}

void ernic_sched_mark(Ernic *e, ErnicQp *qp)
{
    ernic_sched_add(e, qp, ERNIC_RING_READY);
}

bool ernic_sched_ready(const Ernic *e)
{
    return e->ready.head || (!e->tx->busy && e->waiting.head);
}

static void sched_remove(Ernic *e, ErnicQp *qp, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);
    uint32_t next = qp->ring_next[kind], prev = qp->ring_prev[kind];

    if (!qp->in_ring[kind]) {
        return;
    }
    if (prev) {
        e->qp[prev].ring_next[kind] = next;
    } else {
        ring->head = next;
    }
    if (next) {
        e->qp[next].ring_prev[kind] = prev;
    } else {
        ring->tail = prev;
    }
    ring->count--;
    qp->in_ring[kind] = false;
    qp->ring_next[kind] = qp->ring_prev[kind] = 0;
}

ErnicQp *ernic_sched_take_from(Ernic *e, ErnicRingKind kind)
{
    ErnicRing *ring = sched_ring(e, kind);
    ErnicQp *qp;

    if (!ring->head) {
        return NULL;
    }
    qp = &e->qp[ring->head];
    sched_remove(e, qp, kind);
    if (ring->head) {
        /* Prefetch for the next turn: many queue pairs do not fit a cache. */
        __builtin_prefetch(&e->qp[ring->head].sq);
    }
    return qp;
}

ErnicQp *ernic_sched_take(Ernic *e)
{
    return ernic_sched_take_from(e, !e->tx->busy && e->waiting.head ?
                                    ERNIC_RING_WAITING : ERNIC_RING_READY);
}

void ernic_sched_forget(Ernic *e, ErnicQp *qp)
{
    sched_remove(e, qp, ERNIC_RING_READY);
    sched_remove(e, qp, ERNIC_RING_WAITING);
    sched_remove(e, qp, ERNIC_RING_SLOT);
    sched_remove(e, qp, ERNIC_RING_DEPARTURE);
}

/* A saved state has the links forward. Its numbers are not checked yet. */
void ernic_sched_derive(Ernic *e)
{
    uint32_t kind, i;

    for (kind = 0; kind < ERNIC_RING_COUNT; kind++) {
        ErnicRing *ring = sched_ring(e, kind);

        ring->count = 0;
        for (i = 1; i < e->cfg.max_qp; i++) {
            uint32_t next = e->qp[i].ring_next[kind];

            ring->count += e->qp[i].in_ring[kind];
            if (e->qp[i].in_ring[kind] && next && next < e->cfg.max_qp) {
                e->qp[next].ring_prev[kind] = i;
            }
        }
    }
}
