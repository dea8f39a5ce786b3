/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariants of the mlx5 interface: the function, the command in progress, and
 * what is kept beside the objects of the engine.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/rdma/records.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "state/check.h"
#include "state/state.h"
#include "transport/qp.h"

/* Doorbell records: bytes of which their address is a multiple. */
#define RECORD  4

static bool in_range(const ErnicStateStruct *of, const void *obj)
{
    return ernic_state_check_struct(of, obj, "", NULL);
}

/* ---- the function and its commands ------------------------------------------ */

INVARIANT(function, ernic_mlx5_function_ok(&c->e->mlx5->function))

/* Both messages exist while a command is in progress. */
static bool command(const ErnicCheck *c, uint32_t id)
{
    const ErnicMlx5CommandQueue *q = &c->e->mlx5->queue;
    bool idle = q->stage == ERNIC_MLX5_QUEUE_IDLE;

    return idle == !q->in && idle == !q->out && ernic_mlx5_command_queue_ok(q);
}

static bool command_eq(const ErnicCheck *c, uint32_t id)
{
    uint32_t eqn = c->e->mlx5->command_eq;

    return !eqn || (eqn < c->e->cfg.max_eq && c->e->eq[eqn].used);
}

/*
 * Flags of numbers that cannot be domains are not set; and the others are not before
 * INIT_HCA, which clears them.
 */
static bool domains(const ErnicCheck *c, uint32_t id)
{
    const ErnicMlx5Contexts *contexts = &c->e->mlx5->contexts;
    const ErnicMlx5Function *f = &c->e->mlx5->function;
    bool some = f->state == ERNIC_MLX5_RUNNING || f->teardown;
    uint32_t i;

    for (i = 0; i < c->e->cfg.max_pd; i++) {
        if ((contexts->xrcd[i] || contexts->transport[i]) && (!i || !some)) {
            return false;
        }
    }
    return true;
}

/* ---- beside the objects of the engine ---------------------------------------- */

/* Both rings are inside the buffer of the queue pair. */
static bool qp_record(const Ernic *e, uint32_t id)
{
    const ErnicMlx5Qp *record = ernic_mlx5_qp(e, id);
    const ErnicWq *sq = &e->qp[id].sq.wq, *rq = &e->qp[id].rq.wq;
    uint64_t sq_bytes = (uint64_t)sq->depth * sq->stride;
    uint64_t rq_bytes = (uint64_t)rq->depth * rq->stride;

    return in_range(&ernic_state_mlx5_qp, record) && record->record % RECORD == 0 &&
           (!sq_bytes || ernic_check_buf(&sq->buf, record->sq_offset + sq_bytes)) &&
           (!rq_bytes || ernic_check_buf(&sq->buf, record->rq_offset + rq_bytes));
}

static bool srq_record(const Ernic *e, uint32_t id)
{
    const ErnicMlx5Srq *record = ernic_mlx5_srq(e, id);

    return in_range(&ernic_state_mlx5_srq, record) && record->record % RECORD == 0 &&
           record->head < e->srq[id].wq.depth;
}

static bool qps(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_qp; i++) {
        if (e->qp[i].used && (!qp_record(e, i) ||
            !ernic_mlx5_zero_ok(ernic_mlx5_zero_qpc, e->mlx5->contexts.qp[i]))) {
            return false;
        }
    }
    return true;
}

static bool cqs(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_cq; i++) {
        if (e->cq[i].used &&
            (!in_range(&ernic_state_mlx5_cq, ernic_mlx5_cq(e, i)) ||
             !ernic_mlx5_zero_ok(ernic_mlx5_zero_cqc, e->mlx5->contexts.cq[i]))) {
            return false;
        }
    }
    return true;
}

static bool srqs(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->cfg.max_srq; i++) {
        const uint8_t *context = e->mlx5->contexts.srq[i];

        if (e->srq[i].used &&
            (!srq_record(e, i) ||
             !ernic_mlx5_zero_ok(e->srq[i].xrcd ? ernic_mlx5_zero_xrc_srqc :
                                                  ernic_mlx5_zero_rmpc, context))) {
            return false;
        }
    }
    return true;
}

static bool mkeys(const ErnicCheck *c, uint32_t id)
{
    const Ernic *e = c->e;
    uint32_t i;

    for (i = 1; i < e->mr_ids.fresh; i++) {
        if (e->mr[i].kind != ERNIC_MR_FREE &&
            !ernic_mlx5_zero_ok(ernic_mlx5_zero_mkc, e->mlx5->contexts.mkey[i])) {
            return false;
        }
    }
    return true;
}

const ErnicInvariants ernic_invariants_mlx5 = INVARIANTS(
    { "mlx5-function", function },
    { "mlx5-command", command },
    { "mlx5-command-eq", command_eq },
    { "mlx5-domains", domains },
    { "mlx5-qps", qps },
    { "mlx5-cqs", cqs },
    { "mlx5-srqs", srqs },
    { "mlx5-mkeys", mkeys }
);
