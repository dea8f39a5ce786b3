/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Steps besides the traffic: migration, drained queues, errors, links that go
 * down, clocks that jump, and guests that break the rules.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

/* ---- the engine ---------------------------------------------------------- */

/* A reset engine equals a new one, to the last byte; its guest is gone. */
static void step_engine_reset(SimHost *h)
{
    Sim *s = h->sim;
    GByteArray *reset = g_byte_array_new(), *fresh = g_byte_array_new();
    uint32_t gen;
    Ernic *e;

    sim_wire_forget(h);
    ernic_reset(h->e);
    sim_checked(h);
    ernic_save(h->e, reset);
    gen = h->wake_gen;
    e = ernic_new(&h->cfg, &sim_env_ops, h);
    ernic_save(e, fresh);
    ernic_free(e);
    h->wake_gen = gen;
    sim_same(h, "reset", reset, fresh);
    h->reset = true;
    s->stats.resets++;
    SIM_EACH(SimQp, qp, h->qps) {
        qp->life = SIM_QP_NONE;
        qp->rts = false;
        if (qp->peer) {
            qp->peer->loss_excuse = true;
        }
    }
    sim_log(s, "host %u: engine reset", h->id);
}

static void step_link(SimHost *h)
{
    Sim *s = h->sim;

    if (!h->link_up) {
        return;
    }
    h->link_up = false;
    h->tx_blocked = false;              /* packets that waited are lost */
    sim_log(s, "host %u: link down", h->id);
    ernic_set_link(h->e, s->now, false);
    sim_checked(h);
    sim_at(s, s->now + sim_range(&s->rng, 10 * SIM_US, 3 * SIM_MS),
           SIM_EV_LINK_UP, h, NULL, 0);
}

static void jump(Sim *s)
{
    s->now += sim_range(&s->rng, SIM_MS, 3 * SIM_SEC);
    s->jumps++;
    s->jump_settled = s->now + sim_wire_lifetime(s);
    sim_log(s, "time has jumped");
    sim_progress(s);
}

/* ---- queue pairs --------------------------------------------------------- */

static void step_sqd(SimQp *qp)
{
    Sim *s = qp->host->sim;
    struct ernic_qp_attr attr = { .state = ERNIC_QPS_SQD };
    uint32_t mask = ERNIC_QPA_STATE;
    uint8_t status;

    if (qp->life != SIM_QP_LIVE || !qp->rts || qp->failed || qp->sqd || qp->sqe) {
        return;
    }
    qp->sqd_asked = sim_percent(&s->rng, 70);
    if (qp->sqd_asked) {
        mask |= ERNIC_QPA_SQD_NOTIFY;
        attr.sqd_notify = 1;
    }
    attr.mask = cpu_to_le32(mask);
    qp->sqd = true;
    status = sim_qp_modify(qp, &attr);
    if (status != ERNIC_OK) {
        qp->sqd = false;
        if (sim_qp_query(qp, &attr) != ERNIC_OK ||
            (attr.state != ERNIC_QPS_ERR && attr.state != ERNIC_QPS_SQE)) {
            sim_fail(s, "command", "host %u: QP %u to SQD fails with status %u "
                     "in state %u", qp->host->id, qp->qpn, status, attr.state);
        }
    }
    sim_think_soon(qp->host);
}

/* ---- doorbells and commands that are refused ----------------------------- */

static void step_bad_doorbell(SimQp *qp)
{
    SimHost *h = qp->host;
    Sim *s = h->sim;
    SimCq *cq = g_ptr_array_index(h->cqs, 0);
    uint32_t far = 0x10000 + sim_below(&s->rng, 0x70000000), how;
    uint8_t status;

    if (qp->life != SIM_QP_LIVE || h->reset) {
        return;
    }
    h->bad_doorbell = true;
    how = sim_below(&s->rng, 6);
    /* The index of a queue with a record has no meaning. */
    switch (s->plan.records && (how == 2 || how == 3) ? 4 : how) {
    case 0:
        status = sim_doorbell(h, h->other_uctx, ERNIC_DB_SQ, qp->qpn, qp->sq_pi);
        break;
    case 1:
        status = sim_doorbell(h, h->other_uctx, ERNIC_DB_CQ_ARM, cq->cqn, cq->ci);
        break;
    case 2:
        status = sim_doorbell(h, h->uctx, ERNIC_DB_SQ, qp->qpn, qp->sq_pi + far);
        break;
    case 3:
        status = sim_doorbell(h, h->uctx, ERNIC_DB_RQ, qp->qpn, qp->rq_pi + far);
        break;
    case 4:
        status = sim_doorbell(h, h->uctx, ERNIC_DB_KIND_COUNT +
                              sim_below(&s->rng, 9), qp->qpn, 0);
        break;
    default:
        status = sim_doorbell(h, h->uctx, sim_below(&s->rng, 3),
                              0x8000 + sim_below(&s->rng, 0x10000), 1);
        break;
    }
    /* Under the timing model it is checked when it arrives. */
    if (status == ERNIC_OK && !s->plan.timed) {
        sim_fail(s, "doorbell", "host %u: a wrong doorbell is obeyed", h->id);
    }
}

static void bad_command(SimHost *h, struct ernic_cmd *cmd)
{
    SimQp *qp = g_ptr_array_index(h->qps, 0);
    SimCq *cq = g_ptr_array_index(h->cqs, 0);
    SimRng *r = &h->sim->rng;

    memset(cmd, 0, sizeof(*cmd));
    cmd->uctx = cpu_to_le32(h->uctx);
    switch (sim_below(r, 8)) {
    case 0:
        cmd->opcode = ERNIC_CMD_COUNT + sim_below(r, 200);
        break;
    case 1:
        cmd->opcode = ERNIC_CMD_NOP;
        cmd->reserved = 1;
        break;
    case 2:                             /* in use */
        cmd->opcode = ERNIC_CMD_PD_FREE;
        cmd->handle.handle = cpu_to_le32(h->pd);
        break;
    case 3:
        cmd->opcode = ERNIC_CMD_CQ_DESTROY;
        cmd->handle.handle = cpu_to_le32(qp->life == SIM_QP_NONE ? 0xfffff
                                                              : qp->scq->cqn);
        break;
    case 4:                             /* of another context */
        cmd->uctx = cpu_to_le32(h->other_uctx);
        cmd->opcode = ERNIC_CMD_CQ_DESTROY;
        cmd->handle.handle = cpu_to_le32(cq->cqn);
        break;
    case 5:                             /* a list outside of memory */
        cmd->opcode = ERNIC_CMD_MR_REG;
        cmd->mr_reg.buf.addr = cpu_to_le64(h->mem.base + 0x123);
        cmd->mr_reg.buf.npages = cpu_to_le32(16);
        cmd->mr_reg.buf.page_shift = 12;
        cmd->mr_reg.buf.levels = 3;
        cmd->mr_reg.length = cpu_to_le64(0x4000);
        cmd->mr_reg.pd = cpu_to_le32(h->pd);
        break;
    case 6:
        cmd->opcode = ERNIC_CMD_CQ_CREATE;
        cmd->cq_create.buf.addr = cpu_to_le64(h->mem.base);
        cmd->cq_create.depth = cpu_to_le32(3);
        cmd->cq_create.eq = cpu_to_le32(0xffffffff);
        break;
    default:
        cmd->opcode = ERNIC_CMD_QP_DESTROY;
        cmd->handle.handle = cpu_to_le32(0x700000 + sim_below(r, 1000));
    }
}

/* A failed command changes nothing but counters. */
static void step_bad_command(SimHost *h)
{
    Sim *s = h->sim;
    GByteArray *before, *after;
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_NOP);
    ErnicStats stats;

    if (h->reset || !h->qps->len) {
        return;
    }
    before = g_byte_array_new();
    after = g_byte_array_new();
    /* Before any command the timing model delivers everything that it holds. */
    if (s->plan.timed) {
        sim_cmd(h, &cmd, NULL);
    }
    stats = h->e->stats;
    h->e->now = s->now;
    bad_command(h, &cmd);
    ernic_save(h->e, before);
    if (sim_cmd(h, &cmd, NULL) == ERNIC_OK) {
        sim_fail(s, "command", "host %u: command %u should have been refused",
                 h->id, cmd.opcode);
    }
    h->e->stats = stats;
    ernic_save(h->e, after);
    sim_same(h, "command", before, after);
}

/* ---- completion queues --------------------------------------------------- */

/* Slots of the new ring must not look as if they had been written. */
static void prepare_ring(SimCq *cq)
{
    uint32_t i;

    sim_shadow(cq->host, cq->spare,
               cq->spare_depth * sizeof(struct ernic_cqe), 7);
    for (i = cq->ci; i != cq->ci + cq->spare_depth; i++) {
        uint8_t *p = sim_mem(cq->host, cq->spare +
                             (uint64_t)(i % cq->spare_depth) *
                             sizeof(struct ernic_cqe));

        p[offsetof(struct ernic_cqe, flags)] =
            i / cq->spare_depth % 2 ? ERNIC_CQE_PHASE : 0;
    }
}

static void step_cq_resize(SimCq *cq)
{
    struct ernic_cmd cmd = sim_cmd_new(cq->host, ERNIC_CMD_CQ_RESIZE);
    uint64_t old_ring = cq->ring;
    uint32_t old_depth = cq->depth;

    if (cq->tiny || cq->overrun) {
        return;
    }
    prepare_ring(cq);
    cmd.cq_create.buf.addr = cpu_to_le64(cq->spare);
    cmd.cq_create.depth = cpu_to_le32(cq->spare_depth);
    cmd.cq_create.handle = cpu_to_le32(cq->cqn);
    sim_cmd_ok(cq->host, &cmd);
    cq->ring = cq->spare;
    cq->depth = cq->spare_depth;
    cq->spare = old_ring;
    cq->spare_depth = old_depth;
    sim_shadow(cq->host, old_ring, old_depth * sizeof(struct ernic_cqe), 0);
    if (!cq->evented) {
        sim_poll_soon(cq);
    }
}

static void step_cq_moderate(SimCq *cq)
{
    struct ernic_cmd cmd = sim_cmd_new(cq->host, ERNIC_CMD_CQ_MODERATE);
    SimRng *r = &cq->host->sim->rng;

    cmd.cq_moderate.handle = cpu_to_le32(cq->cqn);
    cmd.cq_moderate.count = cpu_to_le16(sim_below(r, 8));
    cmd.cq_moderate.period_us = cpu_to_le16(sim_below(r, 50));
    sim_cmd_ok(cq->host, &cmd);
}

/* ---- choice -------------------------------------------------------------- */

static SimHost *some_host(Sim *s)
{
    return &s->host[sim_below(&s->rng, s->hosts)];
}

static SimQp *some_qp(Sim *s)
{
    return g_ptr_array_index(s->qps, sim_below(&s->rng, s->qps->len));
}

/* Steps by the object that is drawn for them; without one, a queue pair ends. */
static const struct {
    void (*host)(SimHost *h);
    void (*qp)(SimQp *qp);
    void (*cq)(SimCq *cq);
} steps[SIM_STEP_COUNT] = {
    [SIM_STEP_SAVE] = { .host = sim_save_restore },
    [SIM_STEP_SQD] = { .qp = step_sqd },
    [SIM_STEP_LINK] = { .host = step_link },
    [SIM_STEP_BAD_SEND] = { .qp = sim_post_wrong },
    [SIM_STEP_BAD_RECV] = { .qp = sim_post_wrong_recv },
    [SIM_STEP_BAD_DOORBELL] = { .qp = step_bad_doorbell },
    [SIM_STEP_BAD_COMMAND] = { .host = step_bad_command },
    [SIM_STEP_CQ_RESIZE] = { .cq = step_cq_resize },
    [SIM_STEP_CQ_MODERATE] = { .cq = step_cq_moderate },
    [SIM_STEP_STRAY] = { .host = sim_wire_stray },
    [SIM_STEP_ENGINE_RESET] = { .host = step_engine_reset },
};

static void do_step(Sim *s, SimStep step)
{
    SimHost *h;

    if (step == SIM_STEP_JUMP) {
        jump(s);
    } else if (steps[step].host) {
        steps[step].host(some_host(s));
    } else if (steps[step].qp) {
        steps[step].qp(some_qp(s));
    } else if (steps[step].cq) {
        h = some_host(s);
        if (!h->reset && h->cqs->len) {
            steps[step].cq(g_ptr_array_index(h->cqs, sim_below(&s->rng,
                                                               h->cqs->len)));
        }
    } else {
        sim_qp_teardown(some_qp(s), step);
    }
}

void sim_step(Sim *s)
{
    uint32_t sum = 0, pick, i;

    for (i = 0; i < SIM_STEP_COUNT; i++) {
        sum += s->plan.weight[i];
    }
    if (!sum || s->fair || s->ending) {
        return;
    }
    pick = sim_below(&s->rng, sum);
    for (i = 0; pick >= s->plan.weight[i]; i++) {
        pick -= s->plan.weight[i];
    }
    if (!s->host[0].reset || i != SIM_STEP_ENGINE_RESET) {
        do_step(s, i);
    }
    sim_at(s, s->now + sim_range(&s->rng, s->plan.step_ns / 4,
                                 2 * s->plan.step_ns), SIM_EV_STEP, NULL, NULL, 0);
}

/* Everything has been sent: compare both ends, then flush all. */
void sim_end_all(Sim *s)
{
    uint32_t i;

    for (i = 0; i < s->hosts; i++) {
        sim_poll_all(&s->host[i]);
    }
    for (i = 0; i < s->qps->len && !s->failed; i++) {
        sim_check_agreement(g_ptr_array_index(s->qps, i));
        sim_check_unreliable(g_ptr_array_index(s->qps, i));
    }
    for (i = 0; i < s->qps->len && !s->failed; i++) {
        SimQp *qp = g_ptr_array_index(s->qps, i);

        sim_check_epoch(qp);
        if (qp->life == SIM_QP_LIVE) {
            sim_qp_to_error(qp);
        }
    }
}
