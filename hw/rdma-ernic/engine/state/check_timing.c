/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Invariants of the timing model: stages account for all their time, limits and
 * lines keep their order and their counts, and nothing is promised for a time
 * that never comes.
 */
#include "qemu/osdep.h"
#include "objects/cq.h"
#include "state/check.h"
#include "timing/timing.h"
#include "transport/qp.h"

#define PS_PER_NS   1000
/* No stage is busy for longer than this from the origin on. */
#define PS_MAX      (1ull << 62)
/* All deadlines are before this, counted from now. */
#define DUE_MAX     (2 * PS_MAX / PS_PER_NS)

static bool origin(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;
    uint32_t i;

    if (t->since != ERNIC_NEVER) {
        return t->since <= t->epoch && t->epoch <= c->e->now;
    }
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        if (t->server[i].items) {
            return false;
        }
    }
    return !t->epoch;
}

/* Modulo 2^64, as the counters are. */
static bool stage_time(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;
    bool begun = t->since != ERNIC_NEVER;
    uint64_t before = begun ? (t->epoch - t->since) * PS_PER_NS : 0;
    uint32_t i;

    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        const ErnicStageState *s = &t->server[i];

        if (s->busy + s->stalled + s->idle != before + s->free) {
            return false;
        }
    }
    return true;
}

static bool stage_busy(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;
    uint32_t i;

    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        if (t->server[i].free > PS_MAX || t->server[i].last > PS_MAX) {
            return false;
        }
    }
    return t->tx_done <= PS_MAX && t->local_done <= PS_MAX &&
           t->read_done <= PS_MAX;
}

static bool limit_ok(const ErnicLimit *l)
{
    uint32_t i;

    for (i = 0; i < l->size; i++) {
        if (l->end[i] > PS_MAX) {
            return false;
        }
    }
    return l->next < l->size && l->count + l->held <= l->peak &&
           l->peak <= l->size;
}

static bool limits(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;

    return limit_ok(&t->fetch) && limit_ok(&t->dma) && limit_ok(&t->rsp) &&
           limit_ok(&t->posted);
}

static bool line_ok(const Ernic *e, const ErnicDelayFifo *l)
{
    uint64_t last = 0, due;
    uint32_t i;

    if (l->head >= l->slots || l->count > l->peak || l->peak > l->slots ||
        l->at > e->now) {
        return false;
    }
    for (i = 0; i < l->count; i++) {
        ernic_delay_fifo_at(l, i, &due);
        if (due < last || due > ernic_sat_add(e->now, DUE_MAX)) {
            return false;
        }
        last = due;
    }
    return true;
}

static bool lines(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;

    return line_ok(c->e, &t->doorbells) && line_ok(c->e, &t->tx) &&
           line_ok(c->e, &t->rx) && line_ok(c->e, &t->cqes);
}

static bool packets_ok(const ErnicDelayFifo *l)
{
    uint64_t due;
    uint32_t i;

    for (i = 0; i < l->count; i++) {
        const ErnicTimedPacket *p = ernic_delay_fifo_at(l, i, &due);

        if (!p->len || p->len > sizeof(p->data) ||
            p->ip_len > sizeof(p->ip) || !ernic_check_path(&p->path)) {
            return false;
        }
    }
    return true;
}

INVARIANT(packets, packets_ok(&c->e->timing->tx) && packets_ok(&c->e->timing->rx))
INVARIANT(held_due, ernic_timing_held_due_ok(c->e->timing))

/*
 * Completions are written without further checks: queue and queue pair exist, and the
 * register that stops the latter (PG332) had its completions written before.
 */
static bool completions(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    const ErnicDelayFifo *l = &e->timing->cqes;
    uint64_t due;
    uint32_t i;

    for (i = 0; i < l->count; i++) {
        const ErnicTimedCqe *cqe = ernic_delay_fifo_at(l, i, &due);

        if (cqe->wc.qpn >= e->cfg.max_qp || !e->qp[cqe->wc.qpn].used ||
            e->qp[cqe->wc.qpn].stopping ||
            (e->regs ? cqe->cqn != 0 :
             cqe->cqn >= e->cfg.max_cq || !e->cq[cqe->cqn].used)) {
            return false;
        }
    }
    return true;
}

/* PG332 has fewer interrupts than there are vectors. */
static bool interrupts(const ErnicCheck *c, uint32_t id)
{
    const ErnicTimers *t = c->e->timing->irqs;
    uint32_t i;

    if (!ernic_check_heap(t)) {
        return false;
    }
    for (i = 0; i < t->count; i++) {
        if (t->due[t->heap[i]] > ernic_sat_add(c->e->now, DUE_MAX) ||
            (c->e->regs && t->heap[i] > ERNIC_PG332_IRQS)) {
            return false;
        }
    }
    return true;
}

/* A fetch brings a batch, and the first of it is used at once. */
static bool fetched(const ErnicCheck *c, uint32_t id)
{
    const ErnicTiming *t = c->e->timing;
    uint32_t i;

    for (i = 0; i < c->e->cfg.max_qp; i++) {
        if (t->fetched[i] >= t->p->wqe_batch) {
            return false;
        }
    }
    return true;
}

static bool level_ok(const Ernic *e, const ErnicLevel *l)
{
    return l->count <= l->peak && l->peak <= l->size && l->at <= e->now;
}

/* Kept packets belong to queue pairs, and a queue pair waits at most once. */
static bool retry(const ErnicCheck *c, uint32_t id)
{
    const ErnicTimedRetry *r = &c->e->timing->retry;
    uint32_t held = 0, waits = 0, i;

    for (i = 0; i < r->qps; i++) {
        held += r->held[i];
        waits += r->waits[i];
    }
    for (i = 0; i < r->count; i++) {
        if (!r->waits[r->line[(r->head + i) % r->qps]]) {
            return false;
        }
    }
    return r->kept.count == held && level_ok(c->e, &r->kept) &&
           r->count == waits;
}

/* The number of requests of a queue pair is updated at the end of its turn. */
static bool requests(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t sum = 0, i;

    for (i = 0; i < e->cfg.max_qp; i++) {
        const ErnicQp *qp = &e->qp[i];
        uint32_t num = e->timing->under_way[i];

        sum += num;
        if (!qp->used ? num != 0 : !qp->in_ring[ERNIC_RING_READY] &&
            num != qp->sq.started - qp->sq.wq.ci) {
            return false;
        }
    }
    return e->timing->requests.count == sum &&
           level_ok(e, &e->timing->requests);
}

/*
 * A queue pair with a place has a turn to come, in which it uses the place or gives it
 * up. No queue pair waits while a place is free.
 */
static bool places(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    const ErnicTiming *t = e->timing;
    uint32_t held = 0, i;

    if (t->places > t->rsp.size || (e->places.head && t->places < t->rsp.size)) {
        return false;
    }
    for (i = 0; i < t->places; i++) {
        const ErnicTimedResponse *r = &t->place[i];
        const ErnicQp *qp = r->qpn < e->cfg.max_qp ? &e->qp[r->qpn] : NULL;

        if (!qp || !qp->used || qp->in_ring[ERNIC_RING_SLOT] ||
            (!qp->in_ring[ERNIC_RING_READY] &&
             !qp->in_ring[ERNIC_RING_WAITING]) ||
            ernic_timing_place(e->timing, r->qpn) != r ||
            r->begin > r->end || r->end > PS_MAX) {
            return false;
        }
        held += r->begun;
    }
    return held == t->rsp.held;
}

const ErnicInvariants ernic_invariants_timing = INVARIANTS(
    { "origin", origin },
    { "stage-time", stage_time },
    { "stage-busy", stage_busy },
    { "limits", limits },
    { "lines", lines },
    { "packets", packets },
    { "held-due", held_due },
    { "completions", completions },
    { "interrupts", interrupts },
    { "fetched", fetched },
    { "retry", retry },
    { "requests", requests },
    { "places", places }
);
