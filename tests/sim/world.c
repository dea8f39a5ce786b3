/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Virtual time: events in order, and the calls into the engine. After every
 * call the invariants of the engine are checked.
 */
#include "qemu/osdep.h"
#include "sim.h"

/* How long to go on if completions and events may have been lost. */
#define BAD_RINGS_NS    (20 * SIM_MS)
/* Longer than a queue pair in Error waits between two looks at its record. */
#define POLLS_NS    (2ull * ERNIC_FLUSH_POLL_NS * ERNIC_FLUSH_POLL_MAX)

void sim_log(Sim *s, const char *fmt, ...)
{
    va_list ap;

    if (!s->verbose) {
        return;
    }
    va_start(ap, fmt);
    printf("# %12.3f us  ", s->now / 1000.0);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

/* Only the first finding counts; others may follow from it. */
void sim_fail(Sim *s, const char *rule, const char *fmt, ...)
{
    va_list ap;

    if (s->failed) {
        return;
    }
    s->failed = true;
    g_string_printf(s->why, "[%s] ", rule);
    va_start(ap, fmt);
    g_string_append_vprintf(s->why, fmt, ap);
    va_end(ap);
    g_string_append_printf(s->why, " (at %.3f us)", s->now / 1000.0);
    sim_log(s, "FAILED: %s", s->why->str);
}

void sim_note(Sim *s, uint64_t what)
{
    s->hash = sim_mix(s->hash ^ what);
}

void sim_progress(Sim *s)
{
    s->progress_at = s->now;
}

/* ---- what is due --------------------------------------------------------- */

static gint before(gconstpointer one, gconstpointer two, gpointer unused)
{
    const SimItem *a = one, *b = two;

    return a->at != b->at ? (a->at < b->at ? -1 : 1) :
           a->serial < b->serial ? -1 : 1;
}

void sim_at(Sim *s, uint64_t at, SimEvent kind, SimHost *h, void *ptr,
            uint32_t gen)
{
    SimItem item = { MAX(at, s->now), ++s->serial, ptr, gen, kind,
                     h ? h->id : 0 };

    g_sequence_insert_sorted(s->due, g_memdup2(&item, sizeof(item)), before, NULL);
}

/* ---- engine calls -------------------------------------------------------- */

void sim_checked(SimHost *h)
{
    Sim *s = h->sim;
    GString *why;

    if (s->failed) {
        return;
    }
    if (s->stats.completions > 20 && sim_sabotage(s, SIM_SAB_COUNTER)) {
        h->e->num_pages++;
    }
    why = g_string_new(NULL);
    if (!ernic_check(h->e, why)) {
        sim_fail(s, "invariant", "host %u: %s", h->id, why->str);
    }
    g_string_free(why, TRUE);
    if (!s->plan.timed) {
        sim_check_departure(h);
    }
}

void sim_engine_new(SimHost *h)
{
    h->e = ernic_new(&h->cfg, &sim_env_ops, h);
    sim_checked(h);
}

uint8_t sim_doorbell(SimHost *h, uint32_t uctx, uint8_t kind, uint32_t queue,
                     uint32_t index)
{
    uint8_t status = ernic_doorbell(h->e, h->sim->now, uctx,
                                    ERNIC_DB(kind, queue, index));

    sim_note(h->sim, ERNIC_DB(kind, queue, index) ^ status);
    sim_checked(h);
    return status;
}

void sim_ring_page(SimHost *h, uint32_t uctx)
{
    ernic_slice(h->e);
    ernic_page_rung(h->e, h->sim->now, uctx);
    sim_note(h->sim, uctx);
    sim_checked(h);
}

void sim_ring(SimHost *h, uint32_t uctx, uint8_t kind, uint32_t queue,
              uint32_t index)
{
    uint8_t status = sim_doorbell(h, uctx, kind, queue, index);

    if (status != ERNIC_OK) {
        sim_fail(h->sim, "doorbell", "host %u: doorbell %u of kind %u of queue "
                 "%u: status %u", h->id, index, kind, queue, status);
    }
}

void sim_same(SimHost *h, const char *rule, GByteArray *a, GByteArray *b)
{
    if (a->len != b->len || memcmp(a->data, b->data, a->len)) {
        sim_fail(h->sim, rule, "host %u: the engine's state is another one (%u "
                 "and %u bytes)", h->id, a->len, b->len);
    }
    g_byte_array_unref(a);
    g_byte_array_unref(b);
}

/* Replace the engine by one that loads its saved state, as in a migration. */
void sim_save_restore(SimHost *h)
{
    Sim *s = h->sim;
    GByteArray *one = g_byte_array_new(), *two = g_byte_array_new();

    ernic_save(h->e, one);
    ernic_free(h->e);
    h->wake_gen++;
    h->e = ernic_new(&h->cfg, &sim_env_ops, h);
    h->tx_blocked = false;              /* another host has another link */
    sim_wire_forget(h);
    if (!ernic_load(h->e, s->now, one->data, one->len)) {
        sim_fail(s, "save", "host %u: the engine refuses what it saved", h->id);
    }
    sim_checked(h);
    ernic_save(h->e, two);
    if (sim_sabotage(s, SIM_SAB_SAVE)) {
        two->data[two->len / 2] ^= 1;
    }
    sim_log(s, "host %u: saved and restored, %u bytes", h->id, one->len);
    s->stats.saves++;
    sim_note(s, one->len);
    sim_same(h, "save", one, two);
}

/* ---- events -------------------------------------------------------------- */

void sim_think_soon(SimHost *h)
{
    Sim *s = h->sim;

    h->think_ns = 2 * SIM_US;
    if (!h->think_pending) {
        h->think_pending = true;
        sim_at(s, s->now + sim_range(&h->rng, 100, 4 * SIM_US), SIM_EV_THINK, h,
               NULL, 0);
    }
}

/* The guest serves its queue pairs; true: it has to look again. */
static bool think(SimHost *h)
{
    uint32_t i, n = h->qps->len, first = sim_below(&h->rng, n);
    bool did = false, more = false;

    for (i = 0; i < h->srqs->len; i++) {
        did |= sim_post_srq(g_ptr_array_index(h->srqs, i));
    }
    for (i = 0; i < n && !h->sim->failed; i++) {
        SimQp *qp = g_ptr_array_index(h->qps, (first + i) % n);

        sim_qp_life(qp);
        if (qp->life == SIM_QP_NONE || qp->life == SIM_QP_RESET) {
            continue;
        }
        if (qp->life == SIM_QP_LIVE) {
            did |= sim_win_step(qp);
            did |= sim_post_sends(qp, 1 + sim_below(&h->rng, 8));
        }
        did |= sim_post_recvs(qp);
        more |= !h->sim->ending &&
                (!sim_qp_finished(qp) || (qp->peer &&
                                          !sim_qp_finished(qp->peer)));
    }
    h->think_ns = did ? 2 * SIM_US : MIN(h->think_ns * 2, 5 * SIM_MS);
    return more;
}

static void think_event(SimHost *h)
{
    Sim *s = h->sim;

    h->think_pending = false;
    if (think(h) && !s->failed && !h->think_pending) {
        h->think_pending = true;
        sim_at(s, s->now + sim_range(&h->rng, h->think_ns / 2, h->think_ns),
               SIM_EV_THINK, h, NULL, 0);
    }
}

static void fair(Sim *s)
{
    SimFaults *f = &s->plan.faults;
    uint32_t i;

    sim_log(s, "the wire is fair from now on");
    s->fair = true;
    s->fair_at = s->now;
    s->plan.dma_fail = s->plan.ring_fail = 0;
    f->drop = f->duplicate = f->reorder = f->corrupt = f->truncate = 0;
    f->rx_bytes = UINT32_MAX;
    for (i = 0; i < s->hosts; i++) {
        sim_think_soon(&s->host[i]);
    }
}

static void set_link(SimHost *h, bool up)
{
    h->link_up = up;
    h->tx_blocked = false;
    sim_wire_forget(h);
    sim_log(h->sim, "host %u: link %s", h->id, up ? "up" : "down");
    ernic_set_link(h->e, h->sim->now, up);
    sim_checked(h);
}

/* Packets that were on the wire at a jump still need their time: put @item off. */
static bool put_off(Sim *s, SimHost *h, const SimItem *item)
{
    if (item->gen == s->jumps) {
        return false;
    }
    sim_at(s, s->jump_settled, item->kind, h, item->ptr, s->jumps);
    return true;
}

static void handle(Sim *s, const SimItem *item)
{
    SimHost *h = &s->host[item->host];

    switch ((SimEvent)item->kind) {
    case SIM_EV_RUN:
        if (item->gen == h->wake_gen) {
            h->wake_at = UINT64_MAX;
            ernic_run(h->e, s->now);
            sim_checked(h);
        }
        break;
    case SIM_EV_TX_READY:
        h->tx_blocked = false;
        ernic_tx_ready(h->e, s->now);
        sim_checked(h);
        break;
    case SIM_EV_TX_LEFT:
        sim_wire_left(h);
        break;
    case SIM_EV_FRAMES:
        sim_netdev_run(h);
        break;
    case SIM_EV_ARRIVE:
        sim_wire_arrive(h, item->ptr);
        break;
    case SIM_EV_RX:
        sim_wire_rx(h);
        break;
    case SIM_EV_THINK:
        think_event(h);
        break;
    case SIM_EV_POLL:
        ((SimCq *)item->ptr)->pending = false;
        sim_poll_cq(item->ptr);
        break;
    case SIM_EV_EQ:
        ((SimEq *)item->ptr)->pending = false;
        sim_poll_eq(h, item->ptr);
        break;
    case SIM_EV_STEP:
        sim_step(s);
        break;
    case SIM_EV_LINK_UP:
        set_link(h, true);
        break;
    case SIM_EV_FREE:
        if (!put_off(s, h, item)) {
            sim_piece_free(item->ptr);
            g_free(item->ptr);
        }
        break;
    case SIM_EV_RECONNECT:
        if (!put_off(s, h, item)) {
            sim_qp_reconnect(item->ptr);
        }
        break;
    case SIM_EV_FAIR:
        fair(s);
        break;
    case SIM_EV_SILENT:
        sim_silent_step(h);
        break;
    case SIM_EV_COUNT:
        g_assert_not_reached();
    }
}

static bool all_finished(Sim *s)
{
    uint32_t i;

    if (s->plan.bad_rings) {
        return s->fair && s->now > s->fair_at + BAD_RINGS_NS;
    }
    for (i = 0; i < s->qps->len; i++) {
        if (!sim_qp_finished(g_ptr_array_index(s->qps, i))) {
            return false;
        }
    }
    /* Messages of an unreliable service may still be in flight. */
    return s->fair && sim_silent_done(s) &&
           (g_sequence_is_empty(s->due) ||
            s->now > s->progress_at + sim_wire_lifetime(s));
}

/* Describe the queue pairs that did not finish. */
static void explain_stall(Sim *s, GString *out)
{
    SIM_EACH(SimQp, qp, s->qps) {
        if (!sim_qp_finished(qp)) {
            g_string_append_printf(out, "; host %u QP %u (type %u, life %u%s%s):"
                                   " posted %u of %u, SQ %u of %u done, RQ %u "
                                   "of %u done, delivered %u",
                                   qp->host->id, qp->qpn, qp->type, qp->life,
                                   qp->sqd ? ", SQD" : "",
                                   qp->sqe ? ", SQE" : "",
                                   qp->next, qp->planned, qp->sq_done, qp->sq_pi,
                                   qp->rq_done, qp->rq_pi, qp->rx_count);
        }
    }
}

static void stalled(Sim *s, const char *how)
{
    GString *text = g_string_new(NULL);

    explain_stall(s, text);
    sim_fail(s, "stall", "%s%s", how, text->str);
    g_string_free(text, TRUE);
}

/*
 * Run until no event is left or, with @until, until all is sent and done. With records,
 * queue pairs in Error look for receive requests for ever: until all have looked.
 */
static void pump(Sim *s, bool until)
{
    uint64_t end = !until && s->plan.records ? s->now + POLLS_NS : UINT64_MAX;

    while (!s->failed && s->now < end) {
        GSequenceIter *first = g_sequence_get_begin_iter(s->due);
        SimItem item;

        if (until && all_finished(s)) {
            return;
        }
        if (g_sequence_iter_is_end(first)) {
            if (until && !s->plan.bad_rings) {
                stalled(s, "nothing is due, but not all is done");
            }
            return;
        }
        item = *(SimItem *)g_sequence_get(first);
        g_sequence_remove(first);
        s->now = MAX(s->now, item.at);
        s->events++;
        if (item.kind != SIM_EV_RUN || item.gen == s->host[item.host].wake_gen) {
            sim_note(s, s->now ^ ((uint64_t)item.kind << 56) ^
                     ((uint64_t)item.host << 48));
        }
        handle(s, &item);
        if (s->events > SIM_MAX_EVENTS) {
            stalled(s, "no end of events");
        } else if (until && s->fair && s->now > s->progress_at &&
                   s->now - s->progress_at > SIM_STALL_NS) {
            stalled(s, "no progress");
        }
    }
}

Sim *sim_new(uint64_t seed)
{
    Sim *s = g_new0(Sim, 1);

    s->seed = seed;
    s->why = g_string_new(NULL);
    s->qps = g_ptr_array_new();
    s->due = g_sequence_new(g_free);
    sim_rng_init(&s->rng, seed, 1);
    sim_rng_init(&s->wire_rng, seed, 2);
    sim_plan(s);
    return s;
}

bool sim_run(Sim *s)
{
    sim_setup(s);
    pump(s, true);
    if (!s->failed) {
        s->ending = true;
        sim_log(s, "all is sent; the queues are emptied");
        sim_end_all(s);
        pump(s, false);
    }
    if (!s->failed) {
        sim_check_end(s);
    }
    return !s->failed;
}
