/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Converts the state of a switch to bytes and back. Fields that follow from
 * others are not stored but computed. The reader needs the same configuration,
 * and devices at the same ports.
 */
#include "qemu/osdep.h"
#include "fabric/archive.h"
#include "fabric/switch_port.h"

#define FRAME   ERNIC_SWITCH_FRAME_MIN, ERNIC_SWITCH_FRAME_MAX
#define NS_PER_S    1000000000ull

static void walk_cable(ErnicArchive *w, ErnicCable *c, uint32_t ports, bool signals)
{
    ErnicArchiveSection section = ernic_archive_begin(w);

    ernic_archive_time(w, &c->free_ns);
    ernic_archive_u32(w, &c->free_ps, 999);
    ernic_archive_time(w, &c->start);
    ernic_cable_settle(c);
    ernic_archive_list(w, &c->sending, ports, FRAME, false);
    ernic_archive_list(w, &c->flying, ports, FRAME, signals);
    ernic_archive_end(w, &section);
}

/*
 * A frame takes less than twice as much in a stream as on a cable: so twice the bytes in
 * flight, on each of two cables, and twice those that may wait. Frames for a device that
 * is full wait on its cable, with some that were about to leave.
 */
#define SLACK   (1u << 20)

uint64_t ernic_switch_save_most(const ErnicSwitchConfig *c)
{
    uint64_t bytes = (uint64_t)((double)(c->flight + c->reorder_max) * c->rate / 8e9);

    return c->ports * (2 * (2 * bytes + c->queue) + SLACK);
}

/* The other end has @value too; one that did not know it has 0. */
static void walk_same(ErnicArchive *w, uint64_t value)
{
    uint64_t other = w->out ? value : 0;

    ernic_archive_u64(w, &other, UINT64_MAX);
    w->bad = w->bad || other != value;
}

static void walk_config(ErnicArchive *w, const ErnicSwitchConfig *c)
{
    const uint64_t values[] = {
        c->ports, c->rate, c->flight, c->latency, c->queue, c->kmin, c->kmax,
        c->pmax, c->xoff, c->xon, c->loss, c->reorder, c->reorder_max, c->seed,
    };
    ErnicArchiveSection section = ernic_archive_begin(w);
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(values); i++) {
        walk_same(w, values[i]);
    }
    ernic_archive_end(w, &section);
}

static void walk_random(ErnicArchive *w, ErnicSwitch *s)
{
    ErnicArchiveSection section = ernic_archive_begin(w);

    ernic_archive_u64(w, &s->loss_rng, UINT64_MAX);
    ernic_archive_u64(w, &s->reorder_rng, UINT64_MAX);
    ernic_archive_u64(w, &s->mark_rng, UINT64_MAX);
    ernic_archive_end(w, &section);
}

static void walk_stats(ErnicArchive *w, ErnicSwitchStats *st)
{
#define X(name) ernic_archive_u64(w, &st->name, UINT64_MAX);
    ERNIC_SWITCH_STATS_LIST(X)
#undef X
}

static void walk_port(ErnicArchive *w, Port *p, uint32_t ports)
{
    ErnicArchiveSection section = ernic_archive_begin(w);

    walk_same(w, p->plugged);
    ernic_archive_bool(w, &p->full);
    ernic_archive_bool(w, &p->refused);
    w->bad = w->bad || (!p->plugged && (p->full || p->refused));   /* no device waits */
    ernic_archive_bool(w, &p->stopped);
    ernic_archive_bool(w, &p->stopping);
    ernic_archive_time(w, &p->stopped_at);
    ernic_archive_time(w, &p->depth_at);
    walk_cable(w, &p->up, ports, false);
    walk_cable(w, &p->down, ports, true);
    ernic_archive_list(w, &p->queue, ports, FRAME, false);
    ernic_archive_bytes(w, p->mac, sizeof(p->mac));
    ernic_archive_u32(w, &p->macs, UINT32_MAX);
    walk_stats(w, &p->stats);           /* last: the list of counters grows */
    ernic_archive_end(w, &section);
}

/* Recount the bytes that wait for a port, and those of a device. */
static void add_up(ErnicSwitch *s, Port *p, const ErnicCarriedList *l)
{
    const ErnicCarried *f;

    for (f = l->head; f; f = f->next) {
        p->stats.depth += ernic_switch_depth(f);
        p->share[f->from] += ernic_switch_depth(f);
        s->port[f->from].held += ernic_switch_depth(f);
    }
}

/* A device that is stopped will be started again. */
static bool will_go(const Port *p, uint64_t xon)
{
    bool stopped = p->stopped;
    const ErnicCarried *f;

    for (f = p->down.flying.head; f; f = f->next) {
        stopped = f->len ? stopped : f->stop;
    }
    return stopped == p->stopping && (!stopped || p->held > xon);
}

static void add_all_up(ErnicSwitch *s)
{
    uint32_t i;

    for (i = 0; i < s->cfg.ports; i++) {
        Port *p = &s->port[i];

        p->stats.depth = 0;
        add_up(s, p, &p->queue);
        add_up(s, p, &p->down.sending);
    }
}

/* Frames, which are in the order of their times, are due by @end. */
static bool ends_by(const ErnicCarriedList *l, uint64_t end)
{
    return !l->head || l->tail->due <= end;
}

/* One frame may wait for another on the cable. Each is due when it has left the cable. */
static bool cable_ok(const ErnicCable *c, const ErnicSwitchConfig *cfg, uint64_t now)
{
    uint64_t bits = (ERNIC_SWITCH_FRAME_MAX + ERNIC_CABLE_EXTRA) * 8;
    uint64_t busy = now + 2 * DIV_ROUND_UP(bits * NS_PER_S, cfg->rate);
    uint64_t end = c->free_ns + (c->free_ps != 0);

    return c->start <= busy && end <= busy && ends_by(&c->sending, end) &&
           ends_by(&c->flying, now + cfg->flight + cfg->reorder_max);
}

/* In a state that no run leaves, frames would get out of order: nobody could load it. */
static bool port_ok(const Port *p, const ErnicSwitchConfig *cfg, uint64_t now)
{
    return cable_ok(&p->up, cfg, now) && cable_ok(&p->down, cfg, now) &&
           ends_by(&p->queue, now + cfg->latency) && p->stats.depth <= cfg->queue;
}

void ernic_switch_walk(ErnicSwitch *s, ErnicArchive *w)
{
    uint32_t ports = s->cfg.ports, i;

    w->store = &s->store;
    if (!w->out) {
        ernic_switch_reset(s);
    }
    walk_config(w, &s->cfg);
    walk_random(w, s);
    for (i = 0; i < ports; i++) {
        walk_port(w, &s->port[i], ports);
    }
    if (!w->out) {
        add_all_up(s);
    }
    for (i = 0; i < ports; i++) {
        w->bad = w->bad || !will_go(&s->port[i], s->cfg.xon) ||
                 (!w->out && !port_ok(&s->port[i], &s->cfg, w->now));
    }
    if (w->bad) {
        ernic_switch_reset(s);
    }
}
