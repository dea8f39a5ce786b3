/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host besides the others. One of its queue pairs has a peer that never
 * answers; another sends without end, so that the link pushes back for the
 * whole run. The first one must still report an error in time.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "timing/hooks.h"
#include "transport/qp.h"
#include "wire/ib_tables.h"
#include "sim.h"

#define ROUNDS      2
#define FLOOD       64          /* depth of the send queue that floods */
#define STRIDE      2
#define CQ_DEPTH    128
#define NOBODY      0x7fff00    /* a queue pair number that is never allocated */
#define REGION      8192

static uint32_t make_cq(SimHost *h, uint64_t ring)
{
    struct ernic_cmd cmd = sim_cmd_new(h, ERNIC_CMD_CQ_CREATE);

    cmd.cq_create.buf.addr = cpu_to_le64(ring);
    cmd.cq_create.depth = cpu_to_le32(CQ_DEPTH);
    cmd.cq_create.eq = cpu_to_le32(UINT32_MAX);
    return sim_cmd_ok(h, &cmd);
}

static uint32_t make_qp(SimHost *h, uint8_t type, uint32_t cqn, uint64_t ring)
{
    struct ernic_cmd cmd;
    struct ernic_qp_init init = {
        .sq_buf = { .addr = cpu_to_le64(ring) },
        .pd = cpu_to_le32(h->pd),
        .send_cq = cpu_to_le32(cqn),
        .recv_cq = cpu_to_le32(cqn),
        .srq = cpu_to_le32(UINT32_MAX),
        .sq_depth = cpu_to_le32(FLOOD),
        .rq_buf = { .addr = cpu_to_le64(h->sim->silent.unused) },
        .rq_depth = cpu_to_le32(1),
        .type = type,
        .flags = ERNIC_QPF_SQ_SIG_ALL,
        .sq_stride = STRIDE,
        .rq_stride = STRIDE,
    };

    cmd = sim_cmd_data(h, ERNIC_CMD_QP_CREATE, 0, &init, sizeof(init));
    return sim_cmd_ok(h, &cmd);
}

static void modify(SimHost *h, uint32_t qpn, struct ernic_qp_attr *attr,
                   uint8_t state, uint32_t mask)
{
    struct ernic_cmd cmd;

    attr->mask = cpu_to_le32(mask | ERNIC_QPA_STATE);
    attr->state = state;
    cmd = sim_cmd_data(h, ERNIC_CMD_QP_MODIFY, qpn, attr, sizeof(*attr));
    sim_cmd_ok(h, &cmd);
}

static void flood_up(SimHost *h, uint32_t qpn)
{
    struct ernic_qp_attr attr = { .port = 1 };

    modify(h, qpn, &attr, ERNIC_QPS_INIT,
           ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT | ERNIC_QPA_QKEY);
    modify(h, qpn, &attr, ERNIC_QPS_RTR, 0);
    modify(h, qpn, &attr, ERNIC_QPS_RTS, ERNIC_QPA_SQ_PSN);
}

static void silent_up(SimHost *h, uint32_t qpn, uint8_t timeout, uint8_t retry)
{
    SimHost *to = &h->sim->host[0];
    struct ernic_qp_attr attr = {
        .port = 1, .path_mtu = 1, .dest_qpn = cpu_to_le32(NOBODY),
        .timeout = timeout, .retry_cnt = retry, .rnr_retry = 7,
        .min_rnr_timer = 1,
        .av = { .hop_limit = 64 },
    };

    memcpy(attr.av.dgid, to->gid[0].raw, 16);
    memcpy(attr.av.dmac, to->mac, 6);
    modify(h, qpn, &attr, ERNIC_QPS_INIT,
           ERNIC_QPA_PKEY_INDEX | ERNIC_QPA_PORT | ERNIC_QPA_ACCESS);
    modify(h, qpn, &attr, ERNIC_QPS_RTR, ERNIC_QPA_AV | ERNIC_QPA_PATH_MTU |
           ERNIC_QPA_DEST_QPN | ERNIC_QPA_RQ_PSN | ERNIC_QPA_MIN_RNR_TIMER |
           ERNIC_QPA_MAX_DEST_RD_ATOMIC);
    modify(h, qpn, &attr, ERNIC_QPS_RTS, ERNIC_QPA_SQ_PSN | ERNIC_QPA_TIMEOUT |
           ERNIC_QPA_RETRY_CNT | ERNIC_QPA_RNR_RETRY |
           ERNIC_QPA_MAX_RD_ATOMIC);
}

void sim_silent_setup(Sim *s)
{
    SimSilent *x = &s->silent;
    SimHost *h = &s->host[s->hosts];
    struct ernic_cmd cmd;
    SimPiece all = { 0 };

    if (!s->plan.silent) {
        return;
    }
    sim_host_init(s, s->hosts);
    sim_rng_init(&x->rng, s->seed, 5);
    h->cmd_buf = sim_mem_take(h, 512, 64, 7);
    sim_gids_set(h);
    cmd = sim_cmd_new(h, ERNIC_CMD_PD_ALLOC);
    h->pd = sim_cmd_ok(h, &cmd);
    x->mr = sim_mr_new(h, REGION, ERNIC_ACCESS_LOCAL_WRITE);
    sim_mr_register(x->mr, h->pd, h->uctx, true);
    all.mr = x->mr;
    all.len = REGION;
    sim_piece_shadow(&all, SIM_SH_READ);
    x->cq = sim_mem_take(h, CQ_DEPTH * sizeof(struct ernic_cqe), 64, 7);
    x->ring[0] = sim_mem_take(h, FLOOD * STRIDE * 64, 64,
                              SIM_SH_READ | SIM_SH_RING);
    x->ring[1] = sim_mem_take(h, FLOOD * STRIDE * 64, 64,
                              SIM_SH_READ | SIM_SH_RING);
    x->unused = sim_mem_take(h, STRIDE * 64, 64, SIM_SH_READ | SIM_SH_RING);
    x->cqn = make_cq(h, x->cq);
    x->flood = make_qp(h, ERNIC_QPT_UD, x->cqn, x->ring[0]);
    x->qpn = make_qp(h, ERNIC_QPT_RC, x->cqn, x->ring[1]);
    flood_up(h, x->flood);
    sim_at(s, s->now, SIM_EV_SILENT, h, NULL, 0);
}

/* ---- what they send ------------------------------------------------------ */

static void post(SimHost *h, uint32_t qpn, uint64_t ring, uint32_t index,
                 const struct ernic_wqe *wqe, uint32_t len)
{
    uint8_t *p = sim_mem(h, ring + (uint64_t)(index % FLOOD) * STRIDE * 64);
    struct ernic_sge sge = {
        .lkey = cpu_to_le32(h->sim->silent.mr->key),
        .length = cpu_to_le32(len),
    };

    memcpy(p, wqe, sizeof(*wqe));
    memcpy(p + sizeof(*wqe), &sge, sizeof(sge));
}

static void flood(SimHost *h)
{
    SimSilent *x = &h->sim->silent;
    SimHost *to = &h->sim->host[0];
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND, .count = cpu_to_le16(1) };
    uint32_t first = x->flood_pi;

    memcpy(wqe.ud.av.dgid, to->gid[0].raw, 16);
    memcpy(wqe.ud.av.dmac, to->mac, 6);
    wqe.ud.av.hop_limit = 64;
    wqe.ud.dest_qpn = cpu_to_le32(NOBODY);
    while (x->flood_pi - x->flood_ci < FLOOD) {
        post(h, x->flood, x->ring[0], x->flood_pi++, &wqe,
             ernic_mtu_bytes(h->cfg.mtu));
    }
    if (x->flood_pi != first) {
        sim_doorbell(h, h->uctx, ERNIC_DB_SQ, x->flood, x->flood_pi);
    }
}

/* Post one SEND that nobody answers, and note when it must have failed. */
static void begin_round(SimHost *h)
{
    SimSilent *x = &h->sim->silent;
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND, .wr_id = cpu_to_le64(1) };
    uint8_t timeout = 4 + sim_below(&x->rng, 4);
    uint8_t retry = sim_below(&x->rng, 4);
    struct ernic_qp_attr attr = { 0 };

    if (x->rounds) {
        modify(h, x->qpn, &attr, ERNIC_QPS_RESET, 0);
    }
    silent_up(h, x->qpn, timeout, retry);
    x->period = ernic_ack_timeout_ns(timeout);
    if (h->cfg.retry_time) {
        x->period = MAX(x->period, ERNIC_ACK_TIMEOUT_FLOOR);
    }
    /* The last wait is no longer than all before it together. */
    x->deadline = h->sim->now + (retry + 1) * 4 * x->period + 8 * h->cfg.retry_time;
    x->waits = true;
    x->rounds++;
    post(h, x->qpn, x->ring[1], 0, &wqe, 0);
    sim_doorbell(h, h->uctx, ERNIC_DB_SQ, x->qpn, 1);
    sim_log(h->sim, "host %u: QP %u sends to nobody, timeout %u, %u retries",
            h->id, x->qpn, timeout, retry);
}

/* ---- what they learn ----------------------------------------------------- */

static void poll(SimHost *h)
{
    Sim *s = h->sim;
    SimSilent *x = &s->silent;
    uint32_t was = x->cq_ci;

    while (!s->failed) {
        const struct ernic_cqe *cqe = (void *)sim_mem(h, x->cq +
            (uint64_t)(x->cq_ci % CQ_DEPTH) * sizeof(*cqe));
        bool silent;

        if ((cqe->flags & ERNIC_CQE_PHASE) !=
            ((x->cq_ci / CQ_DEPTH) % 2 ? 0 : ERNIC_CQE_PHASE)) {
            break;
        }
        x->cq_ci++;
        silent = le64_to_cpu(cqe->wr_id) == 1;
        if (cqe->status != (silent ? ERNIC_WC_RETRY_EXC_ERR : ERNIC_WC_SUCCESS)) {
            sim_fail(s, "silent", "host %u: QP %u completes with status %u",
                     h->id, silent ? x->qpn : x->flood, cqe->status);
        }
        x->waits &= !silent;
        x->flood_ci += !silent;
    }
    if (x->cq_ci != was) {
        sim_doorbell(h, h->uctx, ERNIC_DB_CQ, x->cqn, x->cq_ci);
    }
}

void sim_silent_free(Sim *s)
{
    SimHost *h = &s->host[s->hosts];

    if (!h->e) {
        return;
    }
    sim_wire_forget(h);
    ernic_frame_queue_fini(&h->frames.queue);
    ernic_free(h->e);
    g_ptr_array_unref(h->srqs);
    g_ptr_array_unref(h->cqs);
    g_ptr_array_unref(h->qps);
    sim_mem_free(h);
}

/*
 * The timing model shows completions in the order in which the engine reports them, and
 * those of datagrams only when their frames have left. An error that waits after them
 * is in time, and so are completions that are due now: their event may follow this one.
 */
static bool error_is_late(SimHost *h)
{
    Sim *s = h->sim;
    SimSilent *x = &s->silent;

    if (!x->waits || s->now <= x->deadline) {
        return false;
    }
    return !ernic_timed_hidden(h->e, x->qpn, false) ||
           ernic_delay_fifo_due(&h->e->timing->cqes) < s->now;
}

bool sim_silent_done(const Sim *s)
{
    return !s->plan.silent ||
           (s->silent.rounds == ROUNDS && !s->silent.waits &&
            s->silent.flood_ci == s->silent.flood_pi);
}

void sim_silent_step(SimHost *h)
{
    Sim *s = h->sim;
    SimSilent *x = &s->silent;
    uint64_t next;

    poll(h);
    if (error_is_late(h)) {
        sim_fail(s, "silent", "host %u: QP %u has reported no error, which was due "
                 "%.3f us ago", h->id, x->qpn, (s->now - x->deadline) / 1000.0);
        return;
    }
    if (!x->waits && x->rounds < ROUNDS) {
        begin_round(h);
    }
    if (x->waits) {
        flood(h);
    }
    /* Act as if the traffic of others restarted the timer. */
    if (x->waits && h->e->qp[x->qpn].sq.ack_due != UINT64_MAX &&
        sim_sabotage(s, SIM_SAB_POSTPONE)) {
        h->e->qp[x->qpn].sq.ack_due = s->now + x->period;
    }
    if (sim_silent_done(s)) {
        return;
    }
    if (s->plan.weight[SIM_STEP_SAVE] && sim_percent(&x->rng, 1)) {
        sim_save_restore(h);
    }
    next = s->now + x->period / 8;
    /* The engine may run at the deadline after this event: check 1 ns later. */
    sim_at(s, x->waits && s->now <= x->deadline ? MIN(next, x->deadline + 1) : next,
           SIM_EV_SILENT, h, NULL, 0);
}
