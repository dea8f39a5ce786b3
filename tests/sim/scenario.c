/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Draws from a seed: hosts, connections, faults, steps; and builds the world
 * from them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/ib_tables.h"
#include "sim.h"

/* Values of all hosts, as sim_plan() draws them. */
#define MAX_QPS     16
#define UC_MAX      (16 * 1024)
#define QKEY        0x11223344
/* Most bytes that one queue pair has in flight, rounded up. */
#define FLIGHT      (700 * 1024)

/* ---- the plan ------------------------------------------------------------ */

uint32_t sim_length(SimRng *r, uint32_t max)
{
    uint32_t kind = sim_below(r, 100);

    if (kind < 8) {
        return 0;
    }
    if (kind < 40) {
        return 1 + sim_below(r, MIN(max, 64));
    }
    if (kind < 72) {
        return 1 + sim_below(r, MIN(max, 4096));
    }
    if (kind < 80) {
        return MIN(max, 256u << sim_below(r, 5));
    }
    if (kind < 94) {
        return 1 + sim_below(r, MIN(max, 32768));
    }
    return 1 + sim_below(r, max);
}

/* Each order of magnitude is equally likely. */
static uint32_t chance(SimRng *r, uint32_t max)
{
    return sim_percent(r, 50) ? 0 : max >> sim_below(r, 10);
}

static void plan_faults(Sim *s)
{
    static const uint32_t mbps[] = { 5000, 10000, 25000, 100000 };
    SimFaults *f = &s->plan.faults;
    SimRng *r = &s->rng;

    *f = (SimFaults) {
        .latency = sim_range(r, 500, 30 * SIM_US),
        .jitter = sim_percent(r, 50) ? 0 : sim_range(r, 0, 20 * SIM_US),
        .rx_delay = sim_range(r, 0, 10 * SIM_US),
        .mbps = mbps[sim_below(r, ARRAY_SIZE(mbps))],
        .no_gro = sim_percent(r, 30) ? 1000000 : chance(r, 300000),
        .busy = chance(r, 300000),
        .busy_ns = sim_range(r, 100, 20 * SIM_US),
        .rx_bytes = 16u << 20,
    };
    if (sim_percent(r, 40)) {
        return;
    }
    s->plan.lossy = true;
    f->drop = chance(r, 150000);
    f->duplicate = chance(r, 150000);
    f->reorder = chance(r, 150000);
    f->reorder_ns = sim_range(r, SIM_US, 500 * SIM_US);
    f->corrupt = chance(r, 100000);
    f->truncate = chance(r, 20000);
    f->mark = sim_percent(r, 30) ? 1000000 >> sim_below(r, 10) : 0;
    if (sim_percent(r, 20)) {
        f->rx_bytes = 64 * 1024 << sim_below(r, 4);
    }
    s->plan.shuffles = f->duplicate || f->reorder;
}

static void plan_steps(Sim *s)
{
    SimPlan *p = &s->plan;
    SimRng *r = &s->rng;
    uint32_t i;

    for (i = 0; i < SIM_STEP_COUNT; i++) {
        p->weight[i] = sim_percent(r, 30) ? 1 + sim_below(r, 8) : 0;
    }
    if (sim_percent(r, 25)) {
        memset(p->weight, 0, sizeof(p->weight));
    }
    /* Save and restore at any time. */
    if (sim_percent(r, 50)) {
        p->weight[SIM_STEP_SAVE] += 4;
    }
    if (!sim_percent(r, 8)) {
        p->weight[SIM_STEP_ENGINE_RESET] = 0;
    }
    if (p->weight[SIM_STEP_LINK]) {
        p->lossy = true;
    }
    p->step_ns = sim_range(r, 20 * SIM_US, SIM_MS);
}

/*
 * Arbitrary hardware, in a third of all runs. It has its own stream of random
 * numbers, so that the other runs stay the same.
 */
static void plan_timing(Sim *s)
{
    ErnicProfile *p = &s->plan.profile;
    uint32_t i;
    SimRng r;

    sim_rng_init(&r, s->seed, 3);
    s->plan.timed = sim_percent(&r, 33);
    *p = (ErnicProfile) {
        .core_ps = sim_range(&r, 1000, 10000),
        .host_ps = sim_range(&r, 1000, 10000),
        .wire_mbps = sim_range(&r, 5000, 400000),
        .wire_extra = 24, .wire_min = 60,
        .wire_flight = sim_range(&r, 0, 5 * SIM_US * 1000),
        .wqe_batch = 1 + sim_below(&r, 16),
        .wqe_miss = sim_range(&r, 0, SIM_US * 1000),
        .key_update = sim_range(&r, 0, SIM_US * 1000),
        .wqe_fetches = 1 + sim_below(&r, 4),
        .context_entries = sim_below(&r, 8),
        .context_miss = sim_range(&r, 0, SIM_US * 1000),
        .key_entries = sim_below(&r, 8),
        .key_miss = sim_range(&r, 0, SIM_US * 1000),
        .read_overlap = 1 + sim_below(&r, 16),
        .dma_requests = 1 + sim_below(&r, 64),
        .dma_request = 64u << sim_below(&r, 7),
        .tx_packets = 1 + sim_below(&r, 64),
        .rx_packets = sim_percent(&r, 25) ? 8 + sim_below(&r, 64) : 4096,
    };
    p->outstanding = 1 + sim_below(&r, ERNIC_SQ_WINDOW);
    p->retry_packets = sim_percent(&r, 50) ? 0 : 1 + sim_below(&r, 100);
    p->ack_coalesce = sim_percent(&r, 50) ? 1 : 1 + sim_below(&r, 8);
    p->ack_delay = sim_range(&r, 0, 20 * SIM_US * 1000);
    if (sim_percent(&r, 50)) {
        p->pcie = (ErnicPcie) {
            .speed = sim_percent(&r, 50) ? 8000 : 2500,
            .lanes = 1u << sim_below(&r, 6),
            .payload = 128u << sim_below(&r, 6),
            .completion = sim_range(&r, 0, SIM_US * 1000),
            .posted = sim_range(&r, 0, SIM_US * 1000),
            .headers = 1 + sim_below(&r, 64), .data = 256 << sim_below(&r, 4),
            .credit_return = sim_range(&r, 0, SIM_US * 1000),
        };
    }
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        p->stage[i] = (ErnicCost) {
            .latency = sim_percent(&r, 30) ? 0 :
                       sim_range(&r, 0, SIM_US * 1000),
            .packet = sim_below(&r, 8),
            .close = sim_below(&r, 20),
            .width = sim_percent(&r, 20) ? 0 : 8u << sim_below(&r, 5),
        };
    }
    /* If nothing may be lost, packets are served as fast as they arrive. */
    for (i = ERNIC_STAGE_RECEIVE; !s->plan.lossy && i < ERNIC_STAGE_CQE; i++) {
        p->stage[i] = (ErnicCost) { .latency = p->stage[i].latency };
        p->rx_packets = 4096;
        p->pcie.speed = 0;
    }
}

/* Posting by records, which the timing model does not have: a stream, too. */
static void plan_records(Sim *s)
{
    SimRng r;

    sim_rng_init(&r, s->seed, 7);
    s->plan.records = sim_percent(&r, 50) && !s->plan.timed;
}

/* How links report departure, silent.c, and adaptive retransmission: a stream, too. */
static void plan_departure(Sim *s)
{
    SimRng r;

    sim_rng_init(&r, s->seed, 4);
    s->plan.keeps = sim_percent(&r, 40);
    /* The queue pair must not end for another reason than silence. */
    s->plan.silent = sim_percent(&r, 10) && !s->plan.ring_fail &&
                     !s->plan.dma_fail && !s->plan.weight[SIM_STEP_JUMP];
    s->plan.retry_time = !s->plan.timed && sim_percent(&r, 40) ?
                         sim_range(&r, SIM_MS, 2000 * SIM_MS) : 0;
}

/*
 * Slow netdevs in a quarter of all runs; frames may wait for longer than an ACK timeout.
 * A machine that is restored, or reset, has lost those in its queue.
 */
static void plan_netdev(Sim *s)
{
    static const uint32_t mbps[] = { 10, 100, 1000 };
    SimRng r;

    sim_rng_init(&r, s->seed, 6);
    s->plan.netdev = sim_percent(&r, 25);
    if (s->plan.netdev) {
        s->plan.faults.mbps = mbps[sim_below(&r, ARRAY_SIZE(mbps))];
        s->plan.socket_ns = sim_range(&r, 0, SIM_MS);
        s->plan.lossy |= s->plan.weight[SIM_STEP_SAVE] ||
                         s->plan.weight[SIM_STEP_ENGINE_RESET];
    }
}

void sim_plan(Sim *s)
{
    static const uint32_t lens[] = { 256, 4096, 16384, 16384, 65536, 300000 };
    SimPlan *p = &s->plan;
    SimRng *r = &s->rng;

    p->hosts = 2 + (sim_percent(r, 40) ? sim_below(r, SIM_MAX_HOSTS - 1) : 0);
    p->conns = 1 + sim_below(r, 6);
    p->datagrams = sim_percent(r, 50) ? sim_below(r, 5) : 0;
    p->max_len = lens[sim_below(r, ARRAY_SIZE(lens))];
    p->messages = 4 + sim_below(r, p->max_len > 100000 ? 20 : 45);
    p->mtu_max = 1 + sim_below(r, 5);
    p->fair_at = sim_range(r, SIM_MS, 15 * SIM_MS);
    p->late = sim_percent(r, 30);
    p->mcast = sim_percent(r, 30);
    plan_faults(s);
    plan_steps(s);
    if (sim_percent(r, 6)) {
        p->dma_fail = 1 + sim_below(r, 3000);
    }
    if (sim_percent(r, 3)) {
        p->ring_fail = 1 + sim_below(r, 2000);
    }
    p->bad_memory = p->dma_fail || p->ring_fail;
    p->bad_rings = p->ring_fail;
    p->overrun = sim_percent(r, 4);
    plan_timing(s);
    plan_records(s);
    plan_departure(s);
    plan_netdev(s);
}

/* ---- hosts --------------------------------------------------------------- */

void sim_host_init(Sim *s, uint32_t id)
{
    SimHost *h = &s->host[id];

    h->sim = s;
    h->id = id;
    sim_rng_init(&h->rng, s->seed, 100 + id);
    sim_mem_init(h);
    h->cqs = g_ptr_array_new();
    h->srqs = g_ptr_array_new();
    h->qps = g_ptr_array_new();
    g_queue_init(&h->rxq);
    g_queue_init(&h->kept);
    ernic_frame_queue_init(&h->frames.queue);
    h->mac[0] = 2;
    h->mac[5] = id + 1;
    h->gid[0].raw[10] = h->gid[0].raw[11] = 0xff;
    h->gid[0].raw[12] = 10;
    h->gid[0].raw[15] = id + 1;
    h->gid[1].raw[0] = 0xfd;
    h->gid[1].raw[15] = id + 1;
    h->think_ns = 2 * SIM_US;
    h->cfg = (ErnicConfig) {
        .max_qp = 40, .max_cq = 16, .max_srq = 4, .max_eq = 4, .max_mr = 128,
        .max_pd = 8, .max_uctx = 8, .num_vectors = 2, .mtu = s->plan.mtu_max,
        .udp_sport = sim_percent(&h->rng, 50) ? 0 : 4791,
        .link_speed = 25000 << 2 * (id % 3),
        .retry_time = s->plan.retry_time,
        .timing = s->plan.timed ? &s->plan.profile : NULL,
    };
    sim_engine_new(h);
    h->link_up = true;
    ernic_set_link(h->e, s->now, true);
    sim_checked(h);
}

/* ---- queue pairs --------------------------------------------------------- */

static void timing(SimQp *qp, uint64_t rtt)
{
    SimPlan *p = &qp->host->sim->plan;
    SimRng *r = &qp->rng;
    bool same = qp->peer->host == qp->host;

    qp->timeout = p->lossy ? 9 + sim_below(r, 6) : 13 + sim_below(r, 4);
    if (!p->lossy && !same && sim_percent(r, 20)) {
        qp->timeout = 0;
    }
    qp->retry = sim_percent(r, 70) ? 7 : sim_below(r, 8);
    qp->rnr_retry = sim_percent(r, 75) ? 7 : sim_below(r, 7);
    qp->loss_static = p->lossy || p->weight[SIM_STEP_JUMP] ||
                      (qp->timeout &&
                       ernic_ack_timeout_ns(qp->timeout) < rtt);
    qp->loss_excuse = qp->loss_static;
}

static void connect_pair(Sim *s, uint64_t rtt)
{
    SimRng *r = &s->rng;
    uint8_t type = sim_percent(r, 70) ? ERNIC_QPT_RC : ERNIC_QPT_UC;
    uint32_t from = sim_below(r, s->hosts), to = sim_below(r, s->hosts);
    SimQp *a, *b;

    if (from == to && !sim_percent(r, 20)) {
        to = (from + 1) % s->hosts;
    }
    a = sim_qp_new(&s->host[from], type);
    b = sim_qp_new(&s->host[to], type);
    a->peer = b;
    b->peer = a;
    a->gid_index = b->gid_index = sim_below(r, 2);
    a->mtu = b->mtu = 1 + sim_below(r, s->plan.mtu_max);
    a->rd_atomic = b->rd_atomic = sim_percent(r, 8) ? 0 : 1 + sim_below(r, 16);
    a->planned = sim_percent(r, 20) ? 0 : s->plan.messages;
    b->planned = sim_percent(r, 40) ? 0 : s->plan.messages;
    timing(a, rtt);
    timing(b, rtt);
}

static void datagram(Sim *s)
{
    SimQp *qp = sim_qp_new(&s->host[sim_below(&s->rng, s->hosts)],
                           ERNIC_QPT_UD);

    qp->qkey = QKEY;
    qp->planned = s->plan.messages;
}

static uint32_t recv_need(const SimQp *qp)
{
    /* One more than in the ring: the queue pair may hold one. */
    return qp->srq ? qp->srq->depth + 1 : qp->rq_depth;
}

/*
 * Make one to three CQs for all queues of a host; users of an SRQ share theirs.
 */
static void make_cqs(SimHost *h, bool tiny)
{
    uint32_t need[3] = { 0 }, n = 1 + sim_below(&h->rng, 3), i;
    uint8_t send[MAX_QPS], recv[MAX_QPS];       /* by id */

    SIM_EACH(SimQp, qp, h->qps) {
        send[qp->id] = sim_below(&h->rng, n);
        recv[qp->id] = qp->srq ? 0 : sim_below(&h->rng, n);
        need[send[qp->id]] += qp->sq_depth;
        need[recv[qp->id]] += recv_need(qp);
    }
    for (i = 0; i < n; i++) {
        sim_cq_new(h, need[i], tiny);
    }
    SIM_EACH(SimQp, qp, h->qps) {
        qp->scq = g_ptr_array_index(h->cqs, send[qp->id]);
        qp->rcq = g_ptr_array_index(h->cqs, recv[qp->id]);
    }
}

static void make_srq(SimHost *h)
{
    uint32_t cap = MAX(UC_MAX, 64 + ernic_mtu_bytes(h->cfg.mtu));
    SimSrq *srq;

    if (!sim_percent(&h->rng, 30)) {
        return;
    }
    srq = sim_srq_new(h, &h->rng, 8 << sim_below(&h->rng, 3), cap);
    SIM_EACH(SimQp, qp, h->qps) {
        if (sim_percent(&h->rng, 60)) {
            qp->srq = srq;
        }
    }
}

static void set_limits(SimQp *qp)
{
    SimPlan *p = &qp->host->sim->plan;

    if (qp->type == ERNIC_QPT_UD) {
        qp->max_send = ernic_mtu_bytes(p->mtu_max);
    } else if (qp->type == ERNIC_QPT_UC || qp->peer->srq) {
        qp->max_send = MIN(p->max_len, UC_MAX);
    } else {
        qp->max_send = p->max_len;
    }
}

static void bring_up(Sim *s)
{
    uint32_t i;

    for (i = 0; i < s->qps->len; i++) {
        sim_qp_create(g_ptr_array_index(s->qps, i));
    }
    for (i = 0; i < s->qps->len && !s->failed; i++) {
        SimQp *qp = g_ptr_array_index(s->qps, i);

        if (qp->life == SIM_QP_RESET) {
            sim_qp_up(qp);
        }
    }
}

void sim_setup(Sim *s)
{
    uint32_t i, overrun = sim_below(&s->rng, s->plan.hosts);
    const SimFaults *f = &s->plan.faults;
    uint64_t rtt = 8 * (f->latency + f->jitter + f->rx_delay) + 40 * f->busy_ns +
                   (2ull * s->plan.conns + s->plan.datagrams) * FLIGHT * 8000 /
                   f->mbps;

    s->group.raw[0] = 0xff;
    s->group.raw[1] = 0x1e;
    s->group.raw[15] = 7;
    s->hosts = s->plan.hosts;
    for (i = 0; i < s->hosts; i++) {
        sim_host_init(s, i);
        sim_guest_init(&s->host[i]);
    }
    for (i = 0; i < s->plan.conns; i++) {
        connect_pair(s, rtt);
    }
    for (i = 0; i < s->plan.datagrams; i++) {
        datagram(s);
    }
    for (i = 0; i < s->hosts; i++) {
        make_srq(&s->host[i]);
        make_cqs(&s->host[i], s->plan.overrun && i == overrun);
    }
    for (i = 0; i < s->qps->len; i++) {
        set_limits(g_ptr_array_index(s->qps, i));
    }
    bring_up(s);
    sim_silent_setup(s);
    sim_at(s, s->plan.fair_at, SIM_EV_FAIR, NULL, NULL, 0);
    sim_at(s, s->plan.step_ns, SIM_EV_STEP, NULL, NULL, 0);
}

/* ---- the end ------------------------------------------------------------- */

static void free_qp(SimQp *qp)
{
    uint32_t i;

    for (i = 0; i < SIM_WINS; i++) {
        g_free(qp->win[i].mr.page);
        g_clear_pointer(&qp->win[i].mr.free, g_array_unref);
    }
    g_free(qp->sq_slot);
    g_free(qp->rq_slot);
    g_ptr_array_unref(qp->msgs);
    g_ptr_array_unref(qp->extra);
    g_array_unref(qp->recv_of);
    g_free(qp);
}

static void host_free(SimHost *h)
{
    if (!h->e) {
        return;
    }
    sim_wire_forget(h);
    ernic_frame_queue_fini(&h->frames.queue);
    ernic_free(h->e);
    SIM_EACH(SimSrq, srq, h->srqs) {
        g_ptr_array_unref(srq->out);
    }
    g_ptr_array_set_free_func(h->srqs, g_free);
    g_ptr_array_set_free_func(h->cqs, g_free);
    g_ptr_array_unref(h->srqs);
    g_ptr_array_unref(h->cqs);
    g_ptr_array_unref(h->qps);
    g_queue_clear_full(&h->rxq, g_free);
    sim_mem_free(h);
}

void sim_free(Sim *s)
{
    GSequenceIter *it = g_sequence_get_begin_iter(s->due);
    uint32_t i;

    for (; !g_sequence_iter_is_end(it); it = g_sequence_iter_next(it)) {
        SimItem *item = g_sequence_get(it);

        if (item->kind == SIM_EV_ARRIVE || item->kind == SIM_EV_FREE) {
            g_free(item->ptr);
        }
    }
    for (i = 0; i < s->qps->len; i++) {
        free_qp(g_ptr_array_index(s->qps, i));
    }
    g_ptr_array_unref(s->qps);
    for (i = 0; i < s->hosts; i++) {
        host_free(&s->host[i]);
    }
    sim_silent_free(s);
    if (s->pcap) {
        fclose(s->pcap);
    }
    g_string_free(s->why, TRUE);
    g_sequence_free(s->due);
    g_free(s);
}
