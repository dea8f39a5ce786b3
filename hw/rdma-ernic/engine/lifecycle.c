/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How an engine begins, starts anew and ends. Its objects are freed later (deferred.h).
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "base/timer.h"
#include "base/work.h"
#include "deferred.h"
#include "engine.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/side_stream.h"
#include "interfaces/pg332/strict.h"
#include "lifecycle.h"
#include "memory_need.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/job.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "timing/timing.h"
#include "trace.h"
#include "transport/mcast_delivery.h"
#include "transport/tx.h"

/*
 * Bytes of tables that a new engine has beside its objects, if all of them are used. The
 * host provides their pages with the first access: it costs what the old one used.
 */
static uint32_t filled_bytes(const ErnicConfig *cfg)
{
    uint32_t ids = cfg->max_pd + cfg->max_eq + cfg->max_cq + cfg->max_srq +
                   MIN(cfg->max_mr, ERNIC_MR_UNCHARGED) + cfg->max_qp + cfg->max_uctx;

    return ids * sizeof(uint32_t) +
           (cfg->max_qp + cfg->max_cq) * (2 * sizeof(uint32_t) + sizeof(uint64_t)) +
           cfg->max_pd * sizeof(ErnicPd) +
           ERNIC_LIM_MCAST_ATTACH * sizeof(ErnicMcast) +
           ERNIC_LIM_FLOW * sizeof(ErnicFlow) + ERNIC_LIM_RSS * sizeof(ErnicRss) +
           ERNIC_LIM_COUNTER * sizeof(ErnicCounter);
}

/*
 * Whether the host provides a new engine beside @old. It does not if it limits memory,
 * or locks it with a limit. More is needed for its parts whose size is fixed.
 */
static bool host_has_room(const Ernic *e, const ErnicDeferred *old)
{
    return ernic_pages_left(ernic_deferred_tables(old) + filled_bytes(&e->cfg) +
                            ERNIC_PIECE);
}

static void engine_init(Ernic *e)
{
    const ErnicConfig *cfg = &e->cfg;

    e->interface = cfg->interface ? cfg->interface :
              cfg->pg332 ? &ernic_interface_pg332 :
              cfg->mlx5 ? &ernic_interface_mlx5 : &ernic_interface_verbs;
    e->keys = e->interface->keys;
    e->cqes = e->interface->cqes;
    e->eqs = e->interface->eqs;
    e->mem.bound = cfg->max_memory ?: ernic_memory_most(cfg);
    e->mem.defers = ernic_deferred_on(e);
    e->regs = ernic_pg332_regs(cfg);
    e->side = cfg->pg332 ? ernic_side_new() : NULL;
    e->handshake = ernic_handshake_new(cfg);
    e->strict = ernic_strict_new(cfg);
    if (e->interface->db_pages && !e->db_pages) {
        e->db_pages = ernic_db_pages_new();
    }
    e->mlx5 = e->mlx5 ?: ernic_mlx5_new(e);
    e->udp_sport = cfg->udp_sport;
    ernic_ids_init(&e->pd_ids, 1, cfg->max_pd);
    ernic_ids_init(&e->eq_ids, 1, cfg->max_eq);
    ernic_ids_init(&e->cq_ids, 1, cfg->max_cq);
    ernic_ids_init(&e->srq_ids, 1, cfg->max_srq);
    /* Key 0x100 of the mlx5 interface ends a list. */
    ernic_ids_init(&e->mr_ids, cfg->mlx5 ? 2 : 1, cfg->max_mr);
    e->mr_ids.room = MIN(cfg->max_mr, ERNIC_MR_UNCHARGED);
    /* PG332 numbers its queue pairs by register block. */
    ernic_ids_init(&e->qp_ids, cfg->pg332 ? cfg->max_qp : ERNIC_QPN_GSI + 1,
                   cfg->max_qp);
    ernic_ids_init(&e->uctx_ids, 1, cfg->max_uctx);
    e->job = ernic_job_new();
    e->pd = ernic_table_new(cfg->max_pd, sizeof(*e->pd));
    e->eq = ernic_table_new(cfg->max_eq, sizeof(*e->eq));
    e->cq = ernic_table_new(cfg->max_cq, sizeof(*e->cq));
    e->srq = ernic_table_new(cfg->max_srq, sizeof(*e->srq));
    e->mr = ernic_table_new(cfg->max_mr, sizeof(*e->mr));
    e->qp = ernic_table_new(cfg->max_qp, sizeof(*e->qp));
    e->mcast = ernic_table_new(ERNIC_LIM_MCAST_ATTACH, sizeof(*e->mcast));
    e->flow = g_new0(ErnicFlow, ERNIC_LIM_FLOW + 1);
    ernic_flow_set_number(e, 0);
    e->rss = g_new0(ErnicRss, ERNIC_LIM_RSS + 1);
    e->counter = ernic_table_new(ERNIC_LIM_COUNTER + 1, sizeof(*e->counter));
    e->counter[0].used = true;
    e->events_at[ERNIC_EVC_CQ] =
        (ErnicEventsAt) { &e->cq->events, sizeof(*e->cq) };
    e->events_at[ERNIC_EVC_QP] =
        (ErnicEventsAt) { &e->qp->events, sizeof(*e->qp) };
    e->events_at[ERNIC_EVC_SRQ] =
        (ErnicEventsAt) { &e->srq->events, sizeof(*e->srq) };
    e->events_at[ERNIC_EVC_PORT] =
        (ErnicEventsAt) { &e->port_events, 0 };      /* one port */
    e->timers = ernic_timers_new(cfg->max_qp);
    e->cq_timers = ernic_timers_new(cfg->max_cq);
    e->tx = e->tx ?: ernic_tx_new();
    e->copies = ernic_mcast_delivery_new();
    if (cfg->timing) {
        e->timing = ernic_timing_new(cfg);
    }
    if (cfg->mlx5) {
        ernic_mlx5_eth_new(e);
    }
    e->pkey[0] = ERNIC_PKEY_DEFAULT;
}

/*
 * Frees everything but the objects and their tables, which it returns. Without
 * @keep_interface also the interface and the packets that wait for the link.
 */
static ErnicDeferred *engine_fini(Ernic *e, bool keep_interface)
{
    void *contexts = ernic_mlx5_take_key_contexts(e);
    ErnicDeferred *old;

    ernic_job_free(e);
    ernic_mcast_delivery_free(e);
    ernic_mlx5_eth_free(e);
    if (!keep_interface) {
        ernic_mlx5_free(e->mlx5);
        ernic_db_pages_free(e);
    }
    old = ernic_deferred_take(e, contexts);
    ernic_table_free(e->pd, e->cfg.max_pd, sizeof(*e->pd));
    ernic_table_free(e->mcast, ERNIC_LIM_MCAST_ATTACH, sizeof(*e->mcast));
    g_free(e->flow);
    g_free(e->rss);
    ernic_table_free(e->counter, ERNIC_LIM_COUNTER + 1, sizeof(*e->counter));
    ernic_ids_fini(&e->pd_ids);
    ernic_ids_fini(&e->uctx_ids);
    ernic_timers_free(e->timers);
    ernic_timers_free(e->cq_timers);
    ernic_regfile_free(e->regs);
    ernic_side_free(e->side);
    ernic_handshake_free(e->handshake);
    ernic_strict_free(e->strict);
    ernic_timing_free(e->timing);
    if (!keep_interface) {
        ernic_tx_free(e->tx);
    }
    return old;
}

Ernic *ernic_new(const ErnicConfig *cfg, const ErnicEnvOps *ops, void *env)
{
    Ernic *e = g_new0(Ernic, 1);

    g_assert(cfg->link_speed);
    e->cfg = *cfg;
    e->ops = ops;
    e->env = env;
    e->work.clock = cfg->clock;
    engine_init(e);
    trace_ernic_new(cfg->max_qp, cfg->max_cq, cfg->max_mr);
    return e;
}

void ernic_free(Ernic *e)
{
    ernic_deferred_hand_over(e, engine_fini(e, false));
    g_free(e);
}

/*
 * Becomes @fresh, which names what is kept, with all else as in a new engine. The old
 * objects are freed later, or @at_once, also if the host has no memory for both engines.
 */
static void engine_renew(Ernic *e, const Ernic *fresh, bool at_once)
{
    ErnicDeferred *old = engine_fini(e, fresh->mlx5);
    ErnicDeferredKind deferred = e->deferred;
    uint64_t gid_changes = e->gid_changes + 1;

    *e = *fresh;
    e->gid_changes = gid_changes;
    e->deferred = deferred;
    if (!at_once && !host_has_room(e, old)) {
        trace_ernic_reset_no_room(ernic_deferred_tables(old));
        at_once = true;
    }
    if (at_once) {
        ernic_deferred_free(old);
    }
    engine_init(e);
    if (!at_once) {
        ernic_deferred_hand_over(e, old);
    }
    ernic_charge_copy(e, filled_bytes(&e->cfg));
}

/*
 * Since the last reset the port became active, objects of before were freed, and memory
 * was refused, at the most: tables need not be made anew.
 */
static void engine_stay(Ernic *e)
{
    e->stats = (ErnicStats) { };
    e->port_active = false;
    e->mem.peak = e->mem.used;
    e->mem.refused = 0;
    e->work = ernic_budget_new(e->cfg.clock);
}

static void engine_reset(Ernic *e, bool at_once)
{
    Ernic fresh = {
        .cfg = e->cfg, .ops = e->ops, .env = e->env, .now = e->now,
        .work = ernic_budget_new(e->cfg.clock),
    };

    trace_ernic_reset(e->cfg.max_qp);
    /* The timing model counts from the reset on. */
    if (e->touched || e->timing) {
        engine_renew(e, &fresh, at_once);
    } else {
        engine_stay(e);
    }
    e->ops->wake_at(e->env, ERNIC_NEVER);
}

void ernic_reset(Ernic *e)
{
    engine_reset(e, false);
}

void ernic_reset_at_once(Ernic *e)
{
    engine_reset(e, true);
}

void ernic_teardown(Ernic *e)
{
    uint64_t messages = e->mem.kind[ERNIC_MEM_MESSAGES];
    Ernic fresh = {
        .cfg = e->cfg, .ops = e->ops, .env = e->env, .now = e->now,
        .mlx5 = e->mlx5, .db_pages = e->db_pages, .tx = e->tx, .stats = e->stats,
        .work = e->work,
        .port_active = e->port_active,
        .touched = true,                /* a reset ends the interface, too */
    };

    trace_ernic_mlx5_teardown(e->cfg.max_eq - 1 - e->eq_ids.count);
    ernic_mem_discharge(&e->mem, ERNIC_MEM_MESSAGES);
    engine_renew(e, &fresh, false);
    ernic_mem_charge(&e->mem, ERNIC_MEM_MESSAGES, messages);
    ernic_mlx5_forget_objects(e);
}
