/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Experiments of one flow each. The hooks of the timing model
 * give the parts of a latency.
 */
#include "qemu/osdep.h"
#include "measure.h"
#include "timing/timing_trace.h"

const TimingOp timing_ops[] = {
    { "WRITE", ERNIC_WR_WRITE }, { "SEND", ERNIC_WR_SEND },
    { "READ", ERNIC_WR_READ },
};
const uint32_t timing_num_ops = ARRAY_SIZE(timing_ops);

static TimingFlow flow_of(const TimingOp *op, uint32_t len, uint32_t depth,
                          uint32_t total)
{
    return (TimingFlow) { .from = TIMING_CARD, .opcode = op->opcode, .len = len,
                          .depth = depth, .total = total };
}

uint64_t timing_latency(const TimingOp *op, const ErnicProfile *card,
                        const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = flow_of(op, len, 1, 11);

    timing_flow(&f, card, other);
    return (f.last - f.first) / 10;
}

uint64_t timing_first(const TimingOp *op, const ErnicProfile *card,
                      const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = flow_of(op, len, 1, 1);

    timing_flow(&f, card, other);
    return f.last - f.start;
}

uint64_t timing_behind_read(const TimingOp *op, const ErnicProfile *card,
                            const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = flow_of(op, len, 1, 1);
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, &f, 1);
    f.total = 2;
    ernic_mmio_read(w.end[TIMING_CARD].e, w.now);
    timing_run(&w, &f, 1);
    timing_close(&w);
    return f.last - f.start;
}

uint64_t timing_command(const ErnicProfile *p)
{
    TimingWorld w;
    uint64_t due;

    timing_open(&w, p, p);
    due = ernic_cmd_due(w.end[TIMING_CARD].e, w.now) - w.now;
    timing_close(&w);
    return due;
}

uint64_t timing_interrupt(const TimingOp *op, const ErnicProfile *card,
                          const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = flow_of(op, len, 1, 1);
    TimingWorld w;

    timing_open(&w, card, other);
    w.events = true;
    timing_run(&w, &f, 1);
    timing_until_irq(&w, TIMING_CARD);
    timing_close(&w);
    return w.now - f.last;
}

uint64_t timing_burst(const TimingOp *op, const ErnicProfile *card,
                      const ErnicProfile *other, uint32_t num, uint32_t batch)
{
    TimingFlow f = flow_of(op, 64, num, num);
    TimingWorld w;

    f.batch = batch;
    timing_open(&w, card, other);
    if (other->context_entries || other->key_entries) {
        timing_run(&w, &f, 1);          /* caches are warm from here on */
        f.total += num;
    }
    timing_run(&w, &f, 1);
    timing_close(&w);
    return f.last - f.start;
}

static double message_rate(const TimingOp *op, const ErnicProfile *card,
                           const ErnicProfile *other, uint32_t len,
                           uint32_t depth, uint32_t batch)
{
    TimingFlow f = flow_of(op, len, depth, 8000);

    f.batch = batch;
    timing_flow(&f, card, other);
    return (f.done - 1) * 1000.0 / (f.last - f.first);
}

double timing_message_rate(const TimingOp *op, const ErnicProfile *card,
                           const ErnicProfile *other, uint32_t len)
{
    return message_rate(op, card, other, len, 64, 1);
}

double timing_batch_rate(const TimingOp *op, const ErnicProfile *card,
                         const ErnicProfile *other, uint32_t depth, uint32_t batch)
{
    return message_rate(op, card, other, 64, depth, batch);
}

double timing_throughput(const TimingOp *op, uint8_t from, const ErnicProfile *card,
                         const ErnicProfile *other, uint32_t len)
{
    TimingFlow f = flow_of(op, len, 64, MAX(16u << 20, 200 * len) / len);

    f.from = from;
    f.total = MIN(f.total, 5000);
    timing_flow(&f, card, other);
    return timing_rate(&f);
}

/* ---- stage by stage -------------------------------------------------------- */

#define MAX_PASSAGES    8192

/* All passages at both ends, in the order in which they were computed. */
typedef struct Seen {
    ErnicPassage p;
    uint8_t end;
} Seen;

typedef struct Listener {
    Seen seen[MAX_PASSAGES];
    uint32_t num;
    bool on;
} Listener;

/* The hooks that are called name the end. */
typedef struct Ear {
    Listener *l;
    uint8_t end;
} Ear;

static void hear(void *opaque, const ErnicPassage *p)
{
    Ear *ear = opaque;
    Listener *l = ear->l;

    if (l->on && l->num < MAX_PASSAGES) {
        l->seen[l->num].p = *p;
        l->seen[l->num++].end = ear->end;
    }
}

static void hear_taken(void *opaque, ErnicTimedKind kind, uint32_t count)
{
}

static void hear_posted(void *opaque, uint64_t now, uint32_t qpn,
                        uint32_t from, uint32_t to)
{
}

static void hear_completed(void *opaque, uint64_t now, uint32_t qpn, uint32_t index)
{
}

static void hear_waiting(void *opaque, uint64_t now, const uint32_t *num)
{
}

/* The last thing of @kind at @end. */
static const ErnicTimedThing *last_of(const Listener *l, uint8_t end, ErnicTimedKind kind)
{
    const ErnicTimedThing *last = NULL;

    for (uint32_t i = 0; i < l->num; i++) {
        if (l->seen[i].end == end && l->seen[i].p.what.kind == kind) {
            last = &l->seen[i].p.what;
        }
    }
    return last;
}

/*
 * The stages that the last thing of @kind has passed at @end, and that of the
 * work request, which only the first packet passes. *@at: ps from time 0.
 */
static void add_hops(const Listener *l, uint8_t end, ErnicTimedKind kind,
                     const ErnicProfile *profile, uint64_t *at, TimingMakeUp *m)
{
    const ErnicTimedThing *last = last_of(l, end, kind);

    for (uint32_t i = 0; i < l->num; i++) {
        const ErnicPassage *p = &l->seen[i].p;
        uint64_t out = p->epoch * 1000 + p->out;
        TimingHop *hop;

        if (l->seen[i].end != end || p->what.kind != kind ||
            (p->what.psn != last->psn && p->stage != ERNIC_STAGE_WQE)) {
            continue;
        }
        out += p->stage == ERNIC_STAGE_MAC ? profile->wire_flight : 0;
        hop = m->num ? &m->hop[m->num - 1] : NULL;
        /* Payload comes in pieces. */
        if (!hop || hop->end != end || hop->stage != p->stage) {
            g_assert(m->num < TIMING_HOPS);
            hop = &m->hop[m->num++];
            *hop = (TimingHop) { end, p->stage, 0 };
        }
        hop->ps += out - *at;
        *at = out;
        if (kind == ERNIC_TIMED_DOORBELL) {
            break;              /* the other kinds are of its completion */
        }
    }
}

void timing_make_up(const TimingOp *op, const ErnicProfile *card,
                    const ErnicProfile *other, uint32_t len, TimingMakeUp *m)
{
    const ErnicProfile *profile[2] = { card, other };
    static const struct {
        uint8_t end;
        ErnicTimedKind kind;
    } way[] = {
        { TIMING_CARD, ERNIC_TIMED_DOORBELL },
        { TIMING_CARD, ERNIC_TIMED_SENT },
        { TIMING_OTHER, ERNIC_TIMED_RECEIVED },
        { TIMING_OTHER, ERNIC_TIMED_SENT },
        { TIMING_CARD, ERNIC_TIMED_RECEIVED },
        { TIMING_CARD, ERNIC_TIMED_CQE },
    };
    TimingFlow f = flow_of(op, len, 1, 1);
    Listener *l = g_new0(Listener, 1);
    const ErnicTimingTrace *trace[2];
    ErnicTimingTrace hooks[2];
    Ear ear[2];
    TimingWorld w;
    uint64_t at;

    for (uint32_t i = 0; i < 2; i++) {
        ear[i] = (Ear) { l, i };
        hooks[i] = (ErnicTimingTrace) {
            &ear[i], hear, hear_taken, hear_posted, hear_completed,
            hear_waiting,
        };
        trace[i] = &hooks[i];
    }
    timing_open_traced(&w, card, other, trace);
    timing_run(&w, &f, 1);              /* caches are warm from here on */
    l->on = true;
    f.total = 2;
    timing_run(&w, &f, 1);
    timing_close(&w);
    *m = (TimingMakeUp) { .total = f.last - f.start };
    at = f.start * 1000;
    for (uint32_t i = 0; i < ARRAY_SIZE(way); i++) {
        add_hops(l, way[i].end, way[i].kind, profile[way[i].end], &at, m);
    }
    g_free(l);
}
