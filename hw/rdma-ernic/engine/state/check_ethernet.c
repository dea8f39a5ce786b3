/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariants of Ethernet objects of the mlx5 interface, and of flow tables.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "objects/cq.h"
#include "state/check.h"
#include "steering/flow_tables.h"

/* ---- queues ------------------------------------------------------------------ */

static bool queue_ok(const Ernic *e, const ErnicMlx5EthQueue *q)
{
    return ernic_mlx5_eth_queue_ok(q) && q->cq < e->cfg.max_cq && e->cq[q->cq].used &&
           (!q->pd || ernic_mlx5_has_pd(e, q->pd)) &&
           ernic_check_buf(&q->buf, 1ull << (q->log_size + q->log_stride));
}

static bool sq_queue(const ErnicCheck *c, uint32_t id)
{
    const ErnicMlx5EthQueue *q = &c->e->mlx5_eth->sq[id];
    uint32_t tis = ernic_mlx5_get(q->context, &ernic_mlx5_sqc.tis_num_0);

    return q->log_stride == ERNIC_MLX5_LOG_BLOCK && queue_ok(c->e, q) &&
           (!ernic_mlx5_get(q->context, &ernic_mlx5_sqc.tis_lst_sz) ||
            (tis <= ERNIC_LIM_TIS && c->e->mlx5_eth->tis[tis].used));
}

INVARIANT(rq_queue, queue_ok(c->e, &c->e->mlx5_eth->rq[id]))

/* ---- selection ---------------------------------------------------------------- */

static bool rq_exists(const Ernic *e, uint32_t number)
{
    return number > ERNIC_MLX5_RQN && number - ERNIC_MLX5_RQN <= ERNIC_LIM_ETH_QUEUE &&
           e->mlx5_eth->rq[number - ERNIC_MLX5_RQN].used;
}

static bool rqt_exists(const Ernic *e, uint32_t number)
{
    return number && number <= ERNIC_LIM_RQT && e->mlx5_eth->rqt[number].used;
}

static bool tir_queue(const ErnicCheck *c, uint32_t id)
{
    const ErnicMlx5Tir *tir = &c->e->mlx5_eth->tir[id];

    return tir->indirect ? rqt_exists(c->e, tir->queue) : rq_exists(c->e, tir->queue);
}

INVARIANT(tir_domain,
      ernic_mlx5_has_transport_domain(c->e, c->e->mlx5_eth->tir[id].transport_domain))
INVARIANT(tis_domain,
      ernic_mlx5_has_transport_domain(c->e, c->e->mlx5_eth->tis[id].transport_domain))

/* Entries after the last one are 0. */
static bool rqt_queues(const ErnicCheck *c, uint32_t id)
{
    const ErnicMlx5Rqt *rqt = &c->e->mlx5_eth->rqt[id];
    uint32_t i;

    for (i = 0; i < ERNIC_RQT_ENTRIES; i++) {
        if (i < rqt->num ? !rq_exists(c->e, rqt->rq[i]) : rqt->rq[i] != 0) {
            return false;
        }
    }
    return rqt->num && rqt->num <= rqt->max;
}

/* ---- flow tables -------------------------------------------------------------- */

INVARIANT(flow_tables, ernic_flow_tables_ok(c->e->flow_tables))

/* Destinations that are not tables are TIRs. */
static bool entry_dest(const ErnicCheck *c, uint32_t id)
{
    const ErnicFlowEntry *entry = &c->e->flow_tables->entry[id];
    uint32_t d;

    for (d = 0; d < entry->num_dest && d < ERNIC_FLOW_DESTS; d++) {
        uint32_t tir = entry->dest[d].id;

        if (!entry->dest[d].table &&
            (!tir || tir > ERNIC_LIM_TIR || !c->e->mlx5_eth->tir[tir].used)) {
            return false;
        }
    }
    return true;
}

/* ---- the lists ---------------------------------------------------------------- */

/* The order is that of the tables in ernic_state_tables[]; some have no invariants. */
const ErnicInvariants ernic_invariants_ethernet[] = {
    INVARIANTS({ "sq-queue", sq_queue }), INVARIANTS({ "rq-queue", rq_queue }),
    INVARIANTS({ "tir-queue", tir_queue }, { "tir-domain", tir_domain }),
    INVARIANTS({ "tis-domain", tis_domain }), INVARIANTS({ "rqt-queues", rqt_queues }),
    { }, { }, INVARIANTS({ "entry-dest", entry_dest }), { },
};
const uint32_t ernic_num_invariants_ethernet = G_N_ELEMENTS(ernic_invariants_ethernet);
const ErnicInvariants ernic_invariants_steering =
    INVARIANTS({ "flow-tables", flow_tables });
