/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ports, and their events in the order of time. Of events that are due in
 * the same ns, those of the lower port come first, and of one port the later
 * ones in enum Step.
 */
#include "qemu/osdep.h"
#include "engine/trace.h"
#include "fabric/switch_port.h"
#include "wire/frame.h"

/* Most bytes in flight on one cable; they occupy host memory. */
#define FLIGHT_BYTES_MAX        (64ull << 20)
#define QUEUE_MAX               (64u << 20)
#define NS_MAX                  1000000000ull
#define NS_PER_S                1000000000ull
#define RATE_MIN                1000000ull
#define RATE_MAX                1600000000000ull

/*
 * Units of work (base/budget.h): a step, without a look at each port; looks at ports, or
 * at frames, in a unit.
 */
#define WORK_STEP               2
#define WORK_LOOKS              8

/* The events of a port. */
typedef enum Step {
    STEP_ARRIVED,               /* a frame has arrived at the device */
    STEP_LEFT,                  /* a frame has left the switch */
    STEP_NEXT,                  /* the cable to the device is free again */
    STEP_CAME,                  /* a frame of the device is at the other end */
    STEP_SENT,                  /* a frame of the device is on the cable */
    STEP_READY,                 /* the cable from the device is free again */
    STEP_COUNT
} Step;

/* ---- chance ---------------------------------------------------------------- */

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t random64(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint32_t below(uint64_t *state, uint32_t n)
{
    return (random64(state) >> 32) * n >> 32;
}

/*
 * An event of probability 0 draws no number: each stream of numbers depends on
 * its own cause alone.
 */
static bool chance(uint64_t *state, uint32_t probability)
{
    return probability && below(state, ERNIC_SWITCH_ALWAYS) < probability;
}

static void seed_chance(ErnicSwitch *s)
{
    uint64_t seed = s->cfg.seed;

    s->loss_rng = random64(&seed);
    s->reorder_rng = random64(&seed);
    s->mark_rng = random64(&seed);
}

/* ---- from a cable to where it leads ---------------------------------------- */

static bool is_cable(const ErnicSwitch *s)
{
    return s->cfg.ports == 2;
}

static uint32_t port_number(const ErnicSwitch *s, const Port *p)
{
    return p - s->port;
}

/* @late: chance delays it. Its place may be after many others that are late, too. */
static void fly(ErnicSwitch *s, ErnicCable *c, ErnicCarried *f, bool late)
{
    uint32_t looks = ernic_carried_insert(&c->flying, f, late);

    ernic_budget_charge(&s->work, looks / WORK_LOOKS, 0);
}

/* All of @f is on the cable: it is in flight now, or lost and freed. */
static void take_off(ErnicSwitch *s, Port *p, ErnicCable *c, ErnicCarried *f)
{
    bool late = false;

    f->due += s->cfg.flight;
    if (chance(&s->loss_rng, s->cfg.loss)) {
        p->stats.lost++;
        trace_ernic_switch_lost(port_number(s, p), f->len);
        ernic_carried_free(&s->store, f);
        return;
    }
    if (chance(&s->reorder_rng, s->cfg.reorder)) {
        p->stats.held_up++;
        f->due += 1 + random64(&s->reorder_rng) % s->cfg.reorder_max;
        late = true;
    }
    fly(s, c, f, late);
}

/*
 * Signal the device at @p to stop or to go on, ahead of all frames that wait
 * for it.
 */
static void signal_pause(ErnicSwitch *s, Port *p, uint64_t now, bool stop)
{
    ErnicCarried *f = ernic_carried_new(&s->store, NULL, 0, 0);

    p->stopping = stop;
    p->stats.pauses += stop;
    trace_ernic_switch_pause(port_number(s, p), stop, p->held);
    f->stop = stop;
    f->due = now + s->cfg.flight;
    fly(s, &p->down, f, false);
}

static void pause_arrived(Port *p, const ErnicCarried *f)
{
    if (f->stop && !p->stopped) {
        p->stopped_at = f->due;
    } else if (!f->stop && p->stopped) {
        p->stats.paused_ns += f->due - p->stopped_at;
    }
    p->stopped = f->stop;
}

/* ---- what waits for a port ------------------------------------------------- */

static bool is_to_be_marked(ErnicSwitch *s, uint64_t depth)
{
    const ErnicSwitchConfig *c = &s->cfg;

    if (!c->kmax || depth <= c->kmin) {
        return false;
    }
    return depth >= c->kmax ||
           chance(&s->mark_rng,
                  c->pmax * (depth - c->kmin) / (c->kmax - c->kmin));
}

static uint64_t depth_area(const Port *p, uint64_t now)
{
    return p->stats.depth_area +
           (now > p->depth_at ? (now - p->depth_at) * p->stats.depth : 0);
}

/* From @now on @depth bytes wait for @p. */
static void set_depth(Port *p, uint64_t now, uint64_t depth)
{
    p->stats.depth_area = depth_area(p, now);
    p->depth_at = MAX(p->depth_at, now);
    p->stats.depth = depth;
    p->stats.max_depth = MAX(p->stats.max_depth, depth);
}

/* A copy of @f, if @to has room for it. */
static ErnicCarried *copy_for(ErnicSwitch *s, const ErnicCarried *f, const Port *to)
{
    if (to->stats.depth + ernic_switch_depth(f) > s->cfg.queue) {
        return NULL;
    }
    ernic_budget_charge(&s->work, 1, 2 * f->len);       /* to new memory */
    return ernic_carried_new(&s->store, f->data, f->len, f->from);
}

/* Queue a copy of @f for @to, if there is room. */
static void enqueue(ErnicSwitch *s, const ErnicCarried *f, Port *to)
{
    Port *from = &s->port[f->from];
    uint32_t bytes = ernic_switch_depth(f);
    ErnicCarried *copy;

    if (!to->plugged) {
        to->stats.unplugged++;
        return;
    }
    copy = copy_for(s, f, to);
    if (!copy) {
        to->stats.tail_drops++;
        trace_ernic_switch_tail_drop(port_number(s, to), f->len,
                                     to->stats.depth);
        return;
    }
    copy->due = f->due + s->cfg.latency;
    if (is_to_be_marked(s, to->stats.depth) &&
        ernic_net_mark(copy->data, copy->len)) {
        to->stats.marks++;
        trace_ernic_switch_mark(port_number(s, to), to->stats.depth);
    }
    ernic_carried_append(&to->queue, copy);
    set_depth(to, f->due, to->stats.depth + bytes);
    to->share[f->from] += bytes;
    from->held += bytes;
    if (s->cfg.xoff && from->held > s->cfg.xoff && !from->stopping) {
        signal_pause(s, from, f->due, true);
    }
}

/* @bytes from @from no longer wait for @p. */
static void dequeued(ErnicSwitch *s, Port *p, Port *from, uint64_t bytes,
                     uint64_t now)
{
    set_depth(p, now, p->stats.depth - bytes);
    p->share[port_number(s, from)] -= bytes;
    from->held -= bytes;
    if (from->stopping && from->held <= s->cfg.xon) {
        signal_pause(s, from, now, false);
    }
}

/* ---- addresses ------------------------------------------------------------- */

static Port *find(ErnicSwitch *s, const uint8_t *mac)
{
    uint32_t i, j;

    for (i = 0; i < s->cfg.ports; i++) {
        Port *p = &s->port[i];

        for (j = 0; j < MIN(p->macs, (uint32_t)ERNIC_SWITCH_MACS); j++) {
            if (memcmp(p->mac[j], mac, MAC_LEN) == 0) {
                return p;
            }
        }
    }
    return NULL;
}

static void forget(Port *p, const uint8_t *mac)
{
    uint32_t i;

    for (i = 0; i < ERNIC_SWITCH_MACS; i++) {
        if (memcmp(p->mac[i], mac, MAC_LEN) == 0) {
            memset(p->mac[i], 0xff, MAC_LEN);   /* a group address: never looked up */
        }
    }
}

static void learn(ErnicSwitch *s, Port *p, const uint8_t *mac)
{
    Port *old = find(s, mac);

    if ((mac[0] & 1) || old == p) {
        return;
    }
    if (old) {
        forget(old, mac);
    }
    memcpy(p->mac[p->macs++ % ERNIC_SWITCH_MACS], mac, MAC_LEN);
}

/* All of @f has arrived at the switch. */
static void forward(ErnicSwitch *s, Port *from, const ErnicCarried *f)
{
    bool group = f->data[0] & 1;
    Port *to = group ? NULL : find(s, f->data);
    uint32_t i;

    learn(s, from, f->data + MAC_LEN);
    if (to == from) {
        from->stats.filtered++;
    } else if (to) {
        enqueue(s, f, to);
    } else {
        from->stats.floods += !group;
        for (i = 0; i < s->cfg.ports; i++) {
            if (&s->port[i] != from && s->port[i].plugged) {
                enqueue(s, f, &s->port[i]);
            }
        }
    }
}

/* ---- steps ----------------------------------------------------------------- */

/* Deliver the head of @cable to the device at @p. */
static void arrived(ErnicSwitch *s, Port *p, ErnicCable *cable)
{
    ErnicCarried *f = ernic_cable_take(cable);

    if (!f->len) {
        pause_arrived(p, f);
    } else if (!p->plugged) {
        p->stats.unplugged++;
    } else {
        ernic_budget_charge(&s->work, ERNIC_WORK_FRAME, 2 * f->len);
        p->stats.tx_frames++;
        p->stats.tx_bytes += f->len;
        p->full = !s->ops->deliver(s->opaque, port_number(s, p), f->due,
                                   f->data, f->len);
    }
    ernic_carried_free(&s->store, f);
}

static void left(ErnicSwitch *s, Port *p)
{
    ErnicCarried *f = ernic_carried_take(&p->down.sending);

    dequeued(s, p, &s->port[f->from], ernic_switch_depth(f), f->due);
    take_off(s, p, &p->down, f);
}

static void next(ErnicSwitch *s, Port *p)
{
    ErnicCarried *f = ernic_carried_take(&p->queue);

    ernic_cable_send(&p->down, MAX(f->due, p->down.start), s->cfg.rate, false,
                     f);
}

static void came(ErnicSwitch *s, Port *p)
{
    ErnicCarried *f;

    if (is_cable(s)) {
        arrived(s, &s->port[!port_number(s, p)], &p->up);
        return;
    }
    f = ernic_cable_take(&p->up);
    forward(s, p, f);
    ernic_carried_free(&s->store, f);
}

static void sent(ErnicSwitch *s, Port *p)
{
    ErnicCarried *f = ernic_carried_take(&p->up.sending);

    if (s->ops->sent) {
        s->ops->sent(s->opaque, port_number(s, p), f->due, f->data, f->len);
    }
    take_off(s, p, &p->up, f);
}

static void take_step(ErnicSwitch *s, Port *p, Step step)
{
    switch (step) {
    case STEP_ARRIVED:
        arrived(s, p, &p->down);
        break;
    case STEP_LEFT:
        left(s, p);
        break;
    case STEP_NEXT:
        next(s, p);
        break;
    case STEP_CAME:
        came(s, p);
        break;
    case STEP_SENT:
        sent(s, p);
        break;
    default:
        p->refused = false;
        s->ops->ready(s->opaque, port_number(s, p));
    }
}

/* ---- when ------------------------------------------------------------------ */

/*
 * Whether the device at @p must stop sending. A full peer stops a cable at once, until it
 * has received what was in flight.
 */
static bool must_wait(const ErnicSwitch *s, const Port *p)
{
    return p->stopped ||
           (is_cable(s) && (s->port[!port_number(s, p)].full ||
                            ernic_cable_due(&p->up) <= p->up.start));
}

/*
 * A device that is full still receives the signal to go on; its frames stay in
 * the switch.
 */
static uint64_t arrival(const Port *p, bool full, const ErnicCable *c)
{
    return full && c->flying.head && c->flying.head->len
           ? ERNIC_NEVER : ernic_cable_due(c);
}

static uint64_t due(const ErnicSwitch *s, const Port *p, Step step)
{
    bool cable = is_cable(s);

    switch (step) {
    case STEP_ARRIVED:
        return arrival(p, p->full, &p->down);
    case STEP_LEFT:
        return ernic_carried_due(&p->down.sending);
    case STEP_NEXT:
        return p->queue.head && !p->full
               ? MAX(p->queue.head->due, p->down.start) : ERNIC_NEVER;
    case STEP_CAME:
        return arrival(p, cable && s->port[!port_number(s, p)].full, &p->up);
    case STEP_SENT:
        return ernic_carried_due(&p->up.sending);
    default:
        return p->refused && !must_wait(s, p) ? p->up.start : ERNIC_NEVER;
    }
}

static uint64_t earliest(const ErnicSwitch *s, uint32_t *port, Step *step)
{
    uint64_t at = ERNIC_NEVER, when;
    uint32_t i, j;

    for (i = 0; i < s->cfg.ports; i++) {
        for (j = 0; j < STEP_COUNT; j++) {
            when = due(s, &s->port[i], j);
            if (when < at) {
                at = when;
                *port = i;
                *step = j;
            }
        }
    }
    return at;
}

uint64_t ernic_switch_next(const ErnicSwitch *s)
{
    uint32_t port;
    Step step;

    return earliest(s, &port, &step);
}

bool ernic_switch_run(ErnicSwitch *s, uint64_t now)
{
    uint32_t port = 0;
    Step step = 0;

    ernic_budget_start(&s->work);
    while (earliest(s, &port, &step) <= MIN(now, ERNIC_NEVER - 1)) {
        if (!ernic_budget_left(&s->work)) {
            return false;
        }
        ernic_budget_charge(&s->work, WORK_STEP + s->cfg.ports / WORK_LOOKS, 0);
        take_step(s, &s->port[port], step);
    }
    return true;
}

/* ---- the devices ----------------------------------------------------------- */

bool ernic_switch_send(ErnicSwitch *s, uint32_t port, uint64_t now,
                       const uint8_t *frame, uint32_t len)
{
    Port *p = &s->port[port];
    ErnicCarried *f;

    if (len < ERNIC_SWITCH_FRAME_MIN || len > ERNIC_SWITCH_FRAME_MAX) {
        p->stats.bad++;
        return true;
    }
    if (must_wait(s, p) || !ernic_cable_room(&p->up, now)) {
        p->refused = true;
        return false;
    }
    p->stats.rx_frames++;
    p->stats.rx_bytes += len;
    f = ernic_carried_new(&s->store, frame, len, port);
    if (f) {
        ernic_cable_send(&p->up, now, s->cfg.rate, p->paced, f);
    } else {
        p->stats.lost++;
        trace_ernic_switch_lost(port, len);
    }
    return true;
}

bool ernic_switch_refused(const ErnicSwitch *s, uint32_t port)
{
    return s->port[port].refused;
}

void ernic_switch_resume(ErnicSwitch *s, uint32_t port, uint64_t now)
{
    Port *p = &s->port[port];
    ErnicCable *up = &s->port[!port].up;

    if (!p->full) {
        return;
    }
    p->full = false;
    ernic_cable_resume(is_cable(s) ? up : &p->down, now);
    if (is_cable(s)) {
        up->start = MAX(up->start, now);        /* frames begin after those in flight */
    }
    if (p->down.free_ns < now) {
        p->down.free_ns = p->down.start = now;
        p->down.free_ps = 0;
    }
}

void ernic_switch_plug(ErnicSwitch *s, uint32_t port, bool paced)
{
    s->port[port].plugged = true;
    s->port[port].paced = paced;
    if (paced) {
        s->cfg.clock = s->work.clock = NULL;    /* its runs have to repeat */
    }
}

/* No frame waits for @p any more; the senders may go on. */
static void none_waits(ErnicSwitch *s, Port *p, uint64_t now)
{
    uint32_t i;

    for (i = 0; i < s->cfg.ports; i++) {
        if (p->share[i]) {
            dequeued(s, p, &s->port[i], p->share[i], now);
        }
    }
}

void ernic_switch_unplug(ErnicSwitch *s, uint32_t port, uint64_t now)
{
    Port *p = &s->port[port];

    none_waits(s, p, now);
    p->stats.unplugged += ernic_carried_drop(&s->store, &p->queue) +
                          ernic_cable_clear(&p->down, &s->store) +
                          ernic_cable_clear(&p->up, &s->store);
    p->plugged = p->full = p->refused = p->stopped = p->stopping = false;
    p->macs = 0;
    memset(p->mac, 0, sizeof(p->mac));
}

void ernic_switch_stats(const ErnicSwitch *s, uint32_t port, uint64_t now,
                        ErnicSwitchStats *stats)
{
    const Port *p = &s->port[port];

    *stats = p->stats;
    stats->depth_area = depth_area(p, now);
    if (p->stopped && now > p->stopped_at) {
        stats->paused_ns += now - p->stopped_at;
    }
}

/* ---- life ------------------------------------------------------------------ */

const char *ernic_switch_wrong(const ErnicSwitchConfig *c)
{
    if (c->ports < 2 || c->ports > ERNIC_SWITCH_PORTS) {
        return "ports is not 2 to 64";
    }
    if (c->rate < RATE_MIN || c->rate > RATE_MAX) {
        return "rate is not 1M to 1600G";
    }
    if (c->flight > NS_MAX || c->latency > NS_MAX || c->reorder_max > NS_MAX) {
        return "a time is longer than 1s";
    }
    if (c->flight + c->reorder_max >
        FLIGHT_BYTES_MAX * NS_PER_S / (c->rate / 8)) {
        return "rate and flight put more than 64 MiB on a cable";
    }
    if (c->queue < ERNIC_SWITCH_FRAME_MAX || c->queue > QUEUE_MAX) {
        return "queue is not 16K to 64M";
    }
    if (c->kmax > c->queue || (c->kmax && c->kmin >= c->kmax) ||
        (!c->kmax && c->kmin)) {
        return "kmin, kmax and queue do not ascend";
    }
    if (c->xoff > c->queue || (c->xoff && c->xon >= c->xoff) ||
        (!c->xoff && c->xon)) {
        return "xon, xoff and queue do not ascend";
    }
    if (c->pmax > ERNIC_SWITCH_ALWAYS || c->loss > ERNIC_SWITCH_ALWAYS ||
        c->reorder > ERNIC_SWITCH_ALWAYS) {
        return "a probability is above 1";
    }
    if (c->ports == 2 && (c->kmax || c->xoff || c->latency)) {
        return "kmax, xoff and latency are of a switch, of 3 ports or more";
    }
    if (!c->reorder != !c->reorder_max) {
        return "reorder and reorder-max need each other";
    }
    return NULL;
}

ErnicSwitch *ernic_switch_new(const ErnicSwitchConfig *cfg,
                              const ErnicSwitchOps *ops, void *opaque)
{
    ErnicSwitch *s;

    g_assert(!ernic_switch_wrong(cfg));
    s = g_malloc0(sizeof(*s) + cfg->ports * sizeof(s->port[0]));
    s->cfg = *cfg;
    s->ops = ops;
    s->opaque = opaque;
    s->work.clock = cfg->clock;
    ernic_carried_init(&s->store);
    seed_chance(s);
    return s;
}

void ernic_switch_reset(ErnicSwitch *s)
{
    uint32_t i;

    for (i = 0; i < s->cfg.ports; i++) {
        Port *p = &s->port[i];

        ernic_carried_drop(&s->store, &p->queue);
        ernic_cable_clear(&p->up, &s->store);
        ernic_cable_clear(&p->down, &s->store);
        *p = (Port) {
            .plugged = p->plugged, .paced = p->paced, .refused = p->refused,
        };
    }
    seed_chance(s);
}

void ernic_switch_free(ErnicSwitch *s)
{
    if (s) {
        ernic_switch_reset(s);
        ernic_carried_fini(&s->store);
        g_free(s);
    }
}

ErnicCarriedStore *ernic_switch_store(ErnicSwitch *s)
{
    return &s->store;
}

bool ernic_switch_reap(ErnicSwitch *s)
{
    ErnicBudget work = ernic_budget_new(s->cfg.clock);

    return ernic_carried_reap(&s->store, &work);
}
