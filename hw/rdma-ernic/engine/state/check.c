/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Check that all invariants hold. First every number is held against its row in the
 * state description, so that the predicates may use it as an index; then references are
 * counted; then each object answers for itself.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "base/timer.h"
#include "engine.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/pg332/handshake.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/gid.h"
#include "objects/job.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/wq.h"
#include "state/check.h"
#include "state/state.h"
#include "steering/flow.h"
#include "timing/timing.h"
#include "transport/mcast_delivery.h"
#include "transport/qp.h"
#include "transport/tx.h"

/* ---- ranges ---------------------------------------------------------------- */

/* The invariants of the ERNIC interface. */
static bool check_pg332(const Ernic *e, GString *why)
{
    const ErnicHandshake *h = e->handshake;
    bool ok = !e->side ||
              ernic_state_check_struct(&ernic_state_side, e->side, "side stream", why);
    uint32_t i;

    for (i = 0; h && i < e->cfg.max_qp; i++) {
        ok &= ernic_state_check_struct(&ernic_state_handshake_qp, &h->qp[i],
                                       "handshake", why);
    }
    return ok;
}

static bool check_ranges(const Ernic *e, GString *why)
{
    uint32_t i, id;
    bool ok = ernic_state_check_struct(&ernic_state_config, &e->cfg, "config",
                                       why) &&
              ernic_state_check_struct(&ernic_state_device, e, "device", why) &&
              ernic_state_check_struct(&ernic_state_tx, e->tx, "tx", why) &&
              check_pg332(e, why) &&
              (!e->mlx5 ||
               (ernic_state_check_struct(&ernic_state_mlx5, e->mlx5, "mlx5", why) &&
                ernic_state_check_struct(&ernic_state_mlx5_eth, e->mlx5_eth,
                                         "ethernet", why) &&
                ernic_state_check_struct(&ernic_state_flow_tables, e->flow_tables,
                                         "flow tables", why)));

    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];
        const void *obj;

        for (id = t->first; (obj = ernic_state_next(e, t, &id)); id++) {
            ok &= ernic_state_check_struct(t->of, obj, t->name, why);
        }
    }
    return ok;
}

/* ---- counting -------------------------------------------------------------- */

static void count(uint32_t *refs, uint32_t id, uint32_t size)
{
    if (id < size) {
        refs[id]++;
    }
}

static void count_buf(ErnicCheck *c, const ErnicBuf *buf)
{
    uint32_t pages = buf->page ? buf->npages : 0;

    c->pages += pages;
    c->mem[ERNIC_MEM_PAGE_LISTS] += ernic_buf_list_bytes(buf);
}

static void count_odp(ErnicCheck *c, const ErnicOdp *odp)
{
    uint32_t pages;

    if (odp) {
        pages = odp->num * ERNIC_ODP_CHUNK;
        c->pages += pages;
        c->mem[ERNIC_MEM_ON_DEMAND] += sizeof(*odp) + pages * sizeof(uint64_t) +
                                       odp->room * sizeof(*odp->chunk);
    }
}

/* The arrays that @qp owns besides its buffers. */
static void count_arrays(ErnicCheck *c, const ErnicQp *qp)
{
    if (qp->sq.wqe) {
        c->mem[ERNIC_MEM_REQUESTS] += (qp->sq.window_mask + 1) * sizeof(ErnicWqe);
    }
    if (qp->rd) {
        c->mem[ERNIC_MEM_RESPONSES] += ERNIC_MAX_RD_ATOMIC * sizeof(ErnicRdRes);
    }
}

static void count_mrs(ErnicCheck *c)
{
    const ErnicConfig *cfg = &c->e->cfg;
    uint32_t i;

    for (i = 1; i < c->e->mr_ids.fresh; i++) {
        const ErnicMr *mr = &c->e->mr[i];
        bool window = mr->kind == ERNIC_MR_WINDOW_1 ||
                      mr->kind == ERNIC_MR_WINDOW_2;

        if (mr->kind == ERNIC_MR_FREE) {
            continue;
        }
        count(c->pd_refs, mr->pd, cfg->max_pd);
        count_buf(c, &mr->buf);
        count_odp(c, mr->odp);
        if (window && mr->valid) {
            count(c->mr_refs, mr->region, c->e->mr_ids.fresh);
            c->bound += mr->kind == ERNIC_MR_WINDOW_2;
        } else if (mr->buf.used) {
            count(c->mr_refs, mr->region, c->e->mr_ids.fresh);
        }
    }
}

static void count_queues(ErnicCheck *c)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_cq; i++) {
        if (e->cq[i].used) {
            count(c->eq_refs, e->cq[i].eq, e->cfg.max_eq);
            count_buf(c, &e->cq[i].buf);
        }
    }
    for (i = 1; i < e->cfg.max_srq; i++) {
        if (e->srq[i].used) {
            count(c->pd_refs, e->srq[i].pd, e->cfg.max_pd);
            count(c->pd_refs, e->srq[i].xrcd, e->cfg.max_pd);
            count(c->cq_refs, e->srq[i].cq, e->cfg.max_cq);
            count_buf(c, &e->srq[i].wq.buf);
        }
    }
    for (i = 1; i < e->cfg.max_qp; i++) {
        const ErnicQp *qp = &e->qp[i];

        if (qp->used) {
            count(c->pd_refs, qp->pd, e->cfg.max_pd);
            count(c->cq_refs, qp->send_cq, e->cfg.max_cq);
            count(c->cq_refs, qp->recv_cq, e->cfg.max_cq);
            count(c->srq_refs, qp->srq, e->cfg.max_srq);
            count_buf(c, &qp->sq.wq.buf);
            count_buf(c, &qp->rq.wq.buf);
            count_arrays(c, qp);
            c->unacked += qp->sq.ack_due != ERNIC_NEVER;
        }
    }
}

static void count_ethernet_queue(ErnicCheck *c, const ErnicMlx5EthQueue *q)
{
    if (q->used) {
        count(c->cq_refs, q->cq, c->e->cfg.max_cq);
        if (q->pd) {
            count(c->pd_refs, q->pd, c->e->cfg.max_pd);
        }
        count_buf(c, &q->buf);
    }
}

static void count_ethernet(ErnicCheck *c)
{
    const ErnicMlx5Eth *eth = c->e->mlx5_eth;
    uint32_t i;

    for (i = 1; eth && i <= ERNIC_LIM_ETH_QUEUE; i++) {
        count_ethernet_queue(c, &eth->sq[i]);
        count_ethernet_queue(c, &eth->rq[i]);
    }
}

static uint32_t class_size(const Ernic *e, uint32_t cls)
{
    const uint32_t size[ERNIC_EVC_COUNT] = {
        [ERNIC_EVC_CQ] = e->cfg.max_cq, [ERNIC_EVC_QP] = e->cfg.max_qp,
        [ERNIC_EVC_SRQ] = e->cfg.max_srq, [ERNIC_EVC_PORT] = 2,
    };

    return cls < ERNIC_EVC_COUNT ? size[cls] : 0;
}

static bool exists(const Ernic *e, uint32_t cls, uint32_t id)
{
    if (id == 0 || id >= class_size(e, cls)) {
        return false;
    }
    switch ((ErnicEvClass)cls) {
    case ERNIC_EVC_CQ:
        return e->cq[id].used;
    case ERNIC_EVC_QP:
        return e->qp[id].used;
    case ERNIC_EVC_SRQ:
        return e->srq[id].used;
    default:
        return true;
    }
}

/* Note for each object whose line it stands in. */
static void count_lines(ErnicCheck *c)
{
    const Ernic *e = c->e;
    uint32_t i, k;

    for (i = 1; i < e->cfg.max_eq; i++) {
        const ErnicEq *eq = &e->eq[i];

        if (!eq->used) {
            continue;
        }
        count_buf(c, &eq->buf);
        c->mem[ERNIC_MEM_BACKLOGS] += eq->line ? eq->line_size * sizeof(*eq->line) : 0;
        if (eq->line_count > eq->line_size) {
            c->bad_line = true;
            continue;
        }
        for (k = 0; k < eq->line_count; k++) {
            uint32_t entry = eq->line[(eq->line_head + k) % eq->line_size];
            uint32_t cls = entry >> 24, id = entry & 0xffffff;

            if (!exists(e, cls, id) || c->line[cls][id]) {
                c->bad_line = true;
            } else {
                c->line[cls][id] = i;
            }
        }
    }
}

/* A number for each object; false: this host has no memory for them. */
static bool numbers_new(uint32_t **to, uint32_t n)
{
    *to = g_try_new0(uint32_t, MAX(n, 1));
    return *to;
}

static uint32_t most_ids(const Ernic *e)
{
    const ErnicIds *const all[] = {
        &e->pd_ids, &e->eq_ids, &e->cq_ids, &e->srq_ids, &e->mr_ids, &e->qp_ids,
        &e->uctx_ids,
    };
    uint32_t most = 1, i;

    for (i = 0; i < ARRAY_SIZE(all); i++) {
        most = MAX(most, all[i]->fresh);
    }
    return most;
}

static bool check_alloc(ErnicCheck *c, const Ernic *e)
{
    uint32_t cls;

    *c = (ErnicCheck) { .e = e, .free_ids = g_try_new0(uint8_t, most_ids(e)) };
    for (cls = 0; cls < ERNIC_EVC_COUNT; cls++) {
        if (!numbers_new(&c->line[cls], class_size(e, cls))) {
            return false;
        }
    }
    return c->free_ids && numbers_new(&c->pd_refs, e->cfg.max_pd) &&
           numbers_new(&c->eq_refs, e->cfg.max_eq) &&
           numbers_new(&c->cq_refs, e->cfg.max_cq) &&
           numbers_new(&c->srq_refs, e->cfg.max_srq) &&
           numbers_new(&c->mr_refs, e->mr_ids.fresh);
}

static void check_count(ErnicCheck *c, const Ernic *e)
{
    count_mrs(c);
    count_queues(c);
    count_ethernet(c);
    count_lines(c);
    c->mem[ERNIC_MEM_COPIES] = e->copies->store ? ERNIC_MCAST_STORE : 0;
    c->mem[ERNIC_MEM_KEYS] = ernic_mr_table_bytes(e->mr_ids.room);
    c->mem[ERNIC_MEM_MESSAGES] =
        e->mlx5 ? ernic_mlx5_command_queue_bytes(&e->mlx5->queue) : 0;
}

static void check_fini(ErnicCheck *c)
{
    uint32_t cls;

    g_free(c->free_ids);
    g_free(c->pd_refs);
    g_free(c->eq_refs);
    g_free(c->cq_refs);
    g_free(c->srq_refs);
    g_free(c->mr_refs);
    for (cls = 0; cls < ERNIC_EVC_COUNT; cls++) {
        g_free(c->line[cls]);
    }
}

/* ---- device ---------------------------------------------------------------- */

/*
 * Each number of @ids from @first on is either free, once, or in use; those that were
 * never given out are not looked at.
 */
static bool ids_ok(const ErnicCheck *c, const ErnicIds *ids, uint32_t first,
                   uint32_t size, const void *used, size_t stride)
{
    uint32_t freed = ids->count - (ids->size - ids->fresh), id, last = 0, n = 0;
    uint8_t *free_ids = c->free_ids;

    if (ids->size != size || ids->fresh < MIN(first, size) || ids->fresh > ids->room ||
        ids->room > size || freed >= size) {
        return false;
    }
    memset(free_ids, 0, ids->fresh);
    for (id = ids->head; id && n <= freed; id = ids->fifo[id], n++) {
        if (id < first || id >= ids->fresh || free_ids[id]++) {
            return false;
        }
        last = id;
    }
    for (id = first; id < ids->fresh; id++) {
        bool in_use = *((const uint8_t *)used + id * stride);

        if (in_use == (free_ids[id] == 1)) {
            return false;
        }
    }
    return n == freed && last == ids->tail;
}

#define IDS_OK(ids, first, max, table, flag) \
    ids_ok(c, &e->ids, first, e->cfg.max, &e->table[0].flag, sizeof(e->table[0]))

static bool free_numbers(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;

    return IDS_OK(pd_ids, 1, max_pd, pd, used) &&
           IDS_OK(eq_ids, 1, max_eq, eq, used) &&
           IDS_OK(cq_ids, 1, max_cq, cq, used) &&
           IDS_OK(srq_ids, 1, max_srq, srq, used) &&
           IDS_OK(mr_ids, e->mlx5 ? 2 : 1, max_mr, mr, kind) &&
           IDS_OK(qp_ids, e->regs ? e->cfg.max_qp : ERNIC_QPN_GSI + 1, max_qp,
                  qp, used) &&
           ids_ok(c, &e->uctx_ids, 1, e->cfg.max_uctx, e->uctx_used,
                  sizeof(e->uctx_used[0]));
}

/* All that say they are in the ring are met on the way along it, once. */
static bool ring_ok(const Ernic *e, const ErnicRing *ring, ErnicRingKind kind)
{
    uint32_t marked = 0, last = 0, n = 0, i;

    for (i = 1; i < e->cfg.max_qp; i++) {
        marked += e->qp[i].used && e->qp[i].in_ring[kind];
    }
    for (i = ring->head; i && n <= marked; i = e->qp[i].ring_next[kind]) {
        if (i >= e->cfg.max_qp || !e->qp[i].used || !e->qp[i].in_ring[kind] ||
            e->qp[i].ring_prev[kind] != last) {
            return false;
        }
        last = i;
        n++;
    }
    return n == marked && n == ring->count && last == ring->tail;
}

INVARIANT(ready_ring, ring_ok(c->e, &c->e->ready, ERNIC_RING_READY))
INVARIANT(waiting_ring, ring_ok(c->e, &c->e->waiting, ERNIC_RING_WAITING))
INVARIANT(departing_ring, ring_ok(c->e, &c->e->departing, ERNIC_RING_DEPARTURE))

/* Only the timing model has places to wait for. */
INVARIANT(place_ring, ring_ok(c->e, &c->e->places, ERNIC_RING_SLOT) &&
      (c->e->timing || !c->e->places.head))

static uint64_t due_of(const ErnicTimers *t, uint32_t id)
{
    return t->pos[id] ? t->due[id] : ERNIC_NEVER;
}

static bool qp_deadlines(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_qp; i++) {
        if (due_of(e->timers, i) !=
            (e->qp[i].used ? e->qp[i].timer_due : ERNIC_NEVER)) {
            return false;
        }
    }
    return ernic_check_heap(e->timers);
}

static bool cq_deadlines(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_cq; i++) {
        if (due_of(e->cq_timers, i) !=
            (e->cq[i].used ? e->cq[i].mod_due : ERNIC_NEVER)) {
            return false;
        }
    }
    return ernic_check_heap(e->cq_timers);
}

INVARIANT(kept_pages, c->e->num_pages == c->pages + ernic_job_pages(c->e) &&
      c->e->num_pages <= ERNIC_MAX_PAGES)

static bool kept_memory(const ErnicCheck *c, uint32_t id)
{
    const ErnicMem *m = &c->e->mem;
    uint64_t sum = 0;
    uint32_t kind;

    for (kind = 0; kind < ERNIC_MEM_COUNT; kind++) {
        uint64_t job = kind != ERNIC_MEM_PAGE_LISTS ? 0 :
                       ernic_job_list_bytes(c->e);

        if (m->kind[kind] != c->mem[kind] + job) {
            return false;
        }
        sum += m->kind[kind];
    }
    return m->used == sum && sum <= m->peak && m->peak <= m->bound;
}

INVARIANT(bound_windows, c->e->num_bound == c->bound)
INVARIANT(unacked_queues, c->e->num_unacked == c->unacked)
INVARIANT(holders, ernic_mr_holders_ok(c->e))

static bool async_eq(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;

    return e->async_eq == 0 ||
           (e->async_eq < e->cfg.max_eq && e->eq[e->async_eq].used &&
            e->eq[e->async_eq].uctx == 0);
}

INVARIANT(event_lines, !c->bad_line)
INVARIANT(port_events,
      ernic_check_events(c, ERNIC_EVC_PORT, 1, &c->e->port_events, c->e->async_eq))

static bool gid_table(const ErnicCheck *c, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_GID; i++) {
        if (ernic_gid_is_mcast(&c->e->gid[i].gid)) {
            return false;
        }
    }
    return c->e->num_gids == ernic_gid_count(c->e);
}

/* A pass over the queue pairs of PG332 may have reached the end of the table. */
INVARIANT(unsettled, c->e->unsettled <= (c->e->regs ? c->e->cfg.max_qp : 0))

static bool pkey_table(const ErnicCheck *c, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_PKEY; i++) {
        if (c->e->pkey[i] == ERNIC_PKEY_FULL) {
            return false;
        }
    }
    return true;
}

INVARIANT(mcast_groups, ernic_mcast_groups_ok(c->e))

/* The packets of queue pairs that are gone can be sent. */
static bool left_acks(const ErnicCheck *c, uint32_t id)
{
    const ErnicTx *tx = c->e->tx;
    uint32_t i;

    for (i = 0; i < tx->num_left && i < ERNIC_LAST_ACKS; i++) {
        const ErnicLeftAck *left = &tx->left[i];

        if ((left->transport != ERNIC_RC && left->transport != ERNIC_XRC) ||
            !ernic_check_path(&left->path)) {
            return false;
        }
    }
    return tx->num_left <= ERNIC_LAST_ACKS && (!tx->num_left || !c->e->regs);
}

/* The timing model takes a packet at a time, and has room for those of valid length. */
static bool timed_train(const ErnicTx *tx)
{
    return tx->packets == 1 && tx->len <= ERNIC_TIMING_PACKET;
}

/*
 * All packets of the held train but the last are seg bytes long. Nothing is
 * busy without one.
 */
static bool held_train(const ErnicCheck *c, uint32_t id)
{
    const ErnicTx *tx = c->e->tx;

    if (tx->packets == 0) {
        return tx->len == 0 && !tx->closed && !tx->frame && !tx->busy &&
               !tx->loop_full;
    }
    if (tx->frame) {
        return (c->e->cfg.raw || c->e->mlx5) && tx->closed &&
               (tx->packets == 1 || c->e->mlx5) && tx->seg >= ERNIC_ETH_LEN &&
               tx->seg <= ERNIC_ETH_FRAME_MAX &&
               tx->len >= (tx->packets - 1) * tx->seg + ERNIC_ETH_LEN &&
               tx->len <= tx->packets * tx->seg;
    }
    return tx->seg && tx->len > (tx->packets - 1) * tx->seg &&
           tx->len <= tx->packets * tx->seg &&
           (!c->e->timing || timed_train(tx)) &&
           ernic_check_path(&tx->path) &&
           tx->closed == (tx->len < tx->packets * tx->seg);
}

static bool flow_count(const ErnicCheck *c, uint32_t id)
{
    uint32_t i, n = 0;

    for (i = 1; i <= ERNIC_LIM_FLOW; i++) {
        n += c->e->flow[i].used;
    }
    return n == c->e->num_flows;
}

static bool loopback(const ErnicCheck *c, uint32_t id)
{
    uint32_t pos = 0;
    ErnicTrain train;

    while (ernic_tx_loop_next(c->e, &pos, &train)) {
        if (!train.len || train.len > ERNIC_TRAIN_BYTES || !train.seg ||
            (!train.frame && !ernic_check_path(&train.path))) {
            return false;
        }
    }
    return c->e->tx->loop_len <= ERNIC_LOOPBACK_BYTES;
}

INVARIANT(db_pages, !c->e->db_pages || ernic_db_pages_ok(c->e))

const ErnicInvariants ernic_invariants_device = INVARIANTS(
    { "free-numbers", free_numbers },
    { "ready-ring", ready_ring },
    { "waiting-ring", waiting_ring },
    { "departing-ring", departing_ring },
    { "place-ring", place_ring },
    { "qp-deadlines", qp_deadlines },
    { "cq-deadlines", cq_deadlines },
    { "kept-pages", kept_pages },
    { "kept-memory", kept_memory },
    { "bound-windows", bound_windows },
    { "unacked-queues", unacked_queues },
    { "holders", holders },
    { "async-eq", async_eq },
    { "event-lines", event_lines },
    { "port-events", port_events },
    { "gid-table", gid_table },
    { "pkey-table", pkey_table },
    { "mcast-groups", mcast_groups },
    { "held-train", held_train },
    { "flow-count", flow_count },
    { "left-acks", left_acks },
    { "unsettled", unsettled },
    { "loopback", loopback },
    { "db-pages", db_pages }
);

static bool check_object(const ErnicCheck *c, const ErnicInvariants *list,
                         const char *what, uint32_t id, GString *why)
{
    bool ok = true;
    uint32_t i;

    for (i = 0; i < list->count; i++) {
        if (!list->list[i].holds(c, id)) {
            if (why) {
                g_string_append_printf(why, "%s %u: %s\n", what, id,
                                       list->list[i].name);
            }
            ok = false;
        }
    }
    return ok;
}

bool ernic_check(const Ernic *e, GString *why)
{
    ErnicCheck c;
    uint32_t i, id;
    bool ok;

    if (!check_ranges(e, why)) {
        return false;
    }
    if (!check_alloc(&c, e)) {
        check_fini(&c);
        g_string_assign(why, "this host has no memory for its objects");
        return false;
    }
    check_count(&c, e);
    ok = check_object(&c, &ernic_invariants_device, "device", 0, why);
    if (e->timing) {
        ok &= check_object(&c, &ernic_invariants_timing, "timing", 0, why);
    }
    if (e->mlx5) {
        ok &= check_object(&c, &ernic_invariants_mlx5, "mlx5", 0, why);
    }
    if (e->flow_tables) {
        ok &= check_object(&c, &ernic_invariants_steering, "steering", 0, why);
    }
    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        for (id = t->first; ernic_state_next(e, t, &id); id++) {
            ok &= check_object(&c, ernic_check_invariants(i), t->name, id, why);
        }
    }
    check_fini(&c);
    return ok;
}
