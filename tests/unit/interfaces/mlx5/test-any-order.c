/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of all kinds that are made, changed and destroyed in any order, while frames
 * and requests pass. Each command is accepted or refused as the model says, and all
 * invariants hold, also in the state that another engine loads.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/mlx5/events.h"
#include "mlx5_model.h"
#include "mlx5_send.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "transport/qp_transitions.h"

enum { STEPS = 120000, CHECK = 10, TAKE_OVER = 1000, LIFE = 3000 };
/* Messages are where nothing else is: these bytes from as many on. */
enum { DATA = 16 << 20 };

/* ---- changes ----------------------------------------------------------------------- */

static void change_rqt(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, 0);

    SAY(&p, "bitmask.rqn_list=1\n");
    model_say_list(m, &p, "ctx");
    model_change(m, t, 0x917, &p);
}

static void change_tir(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, MODEL_NEEDS);

    SAY(&p, "bitmask.self_lb_en=1\nctx.self_lb_block=%u\nbitmask.hash=%u\n"
        "ctx.rx_hash_fn=%u\n", model_any(m, 4), model_any(m, 2), model_any(m, 3));
    model_change(m, t, 0x901, &p);
}

static void change_table(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, 0);

    SAY(&p, "modify_field_select=1\n");
    model_say_miss(m, &p);
    model_change(m, t, 0x93c, &p);
}

/* All of its actions change. */
static void change_entry(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, 1);

    SAY(&p, "op_mod=1\nmodify_enable_mask=13\ntable_id=%u\nflow_context.group_id=%u\n",
        t->table, t->need[0].number);
    model_say_action(m, &p);
    model_change(m, t, 0x936, &p);
}

static void change_cq(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, MODEL_NEEDS);

    if (model_any(m, 2)) {
        SAY(&p, "op_mod=1\nmodify_field_select_resize_field_select=7\n"
            "cq_context.log_cq_size=%u\ncq_context.cqe_sz=%u\n", model_any(m, 5),
            model_any(m, 2));
        model_say_page(m, &p);
    } else {
        SAY(&p, "modify_field_select_resize_field_select=3\ncq_context.cq_period=%u\n"
            "cq_context.cq_max_count=%u\n", model_any(m, 20), model_any(m, 4));
    }
    model_change(m, t, 0x403, &p);
}

static void change_queue(Model *m, ModelThing *t)
{
    static const uint8_t next[][8] = {
        [ERNIC_MLX5_RST] = { 1, 1, 1, 1, 1, 1, 0, 3 },
        [ERNIC_MLX5_RDY] = { 1, 1, 1, 1, 1, 3, 3, 0 },
        [ERNIC_MLX5_ERR] = { 0, 0, 0, 0, 0, 3, 3, 1 },
    };
    bool rq = t->ref.kind == RQS;
    const ErnicMlx5EthQueue *q = ernic_mlx5_eth_queue(m->f.e, t->ref.number);
    uint32_t to = next[q->state][model_any(m, 8)];
    ModelPlan p = model_plan(m, t, MODEL_NEEDS);

    SAY(&p, "%s_state=%u\nctx.state=%u\n", rq ? "rq" : "sq", q->state, to);
    if (rq) {
        SAY(&p, "modify_bitmask=10\nctx.counter_set_id=%u\nctx.vsd=%u\n",
            model_any(m, 256), model_any(m, 2));
    }
    if (model_change(m, t, rq ? 0x909 : 0x905, &p) && !to) {
        model_clear_record(m, p.slot);
    }
}

static void change_srq(Model *m, ModelThing *t)
{
    ModelPlan p = model_plan(m, t, MODEL_NEEDS);

    if (t->ref.kind == SRQS) {
        SAY(&p, "op_mod=1\nlwm=%u\n", model_any(m, 18));
        model_change(m, t, 0x708, &p);
    } else {
        SAY(&p, "rmp_state=1\nctx.state=1\nbitmask.lwm=1\nctx.wq.lwm=%u\n",
            model_any(m, 18));
        model_change(m, t, 0x90d, &p);
    }
}

/* The next transition, or rarely any one. Its peer is of this device, often itself. */
static void change_qp(Model *m, ModelThing *t)
{
    static const uint16_t any_one[] = { 0x502, 0x503, 0x504, 0x505, 0x506, 0x507, 0x50a,
                                        0x50c, 0x50e };
    static const uint16_t next[ERNIC_QPS_COUNT] = {
        [ERNIC_QPS_RESET] = 0x502, [ERNIC_QPS_INIT] = 0x503, [ERNIC_QPS_RTR] = 0x504,
        [ERNIC_QPS_RTS] = 0x505, [ERNIC_QPS_SQE] = 0x506, [ERNIC_QPS_ERR] = 0x50a,
    };
    uint16_t opcode = model_any(m, 10) ? next[m->f.e->qp[t->ref.number].state] :
                                  any_one[model_any(m, ARRAY_SIZE(any_one))];
    bool up = opcode < 0x506 || opcode == 0x50e;        /* with a context */
    ModelPlan p = model_plan(m, t, MODEL_NEEDS);

    if (up) {
        SAY(&p, INIT RTR RTS "qpn=%u\n" PATH "rgid_rip[15]=1\nqpc.remote_qpn=%u\n"
            "qpc.next_rcv_psn=0x321\nqpc.q_key=0x11111111\n", t->ref.number,
            model_any(m, 2) ? t->ref.number : model_number_of(m, QPS));
        SAY(&p, "qpc.counter_set_id=%u\n",
            model_any(m, 2) ? model_number_of(m, COUNTERS) : 0);
    }
    if (up && t->homeless) {
        model_need(m, &p, "qpc.pd", PDS);
    }
    if (!model_change(m, t, opcode, &p)) {
        return;
    }
    t->homeless &= !up;
    if (opcode == 0x50a) {
        model_clear_record(m, p.slot);
    }
}

static void change_any(Model *m)
{
    static void (*const changes[KINDS])(Model *m, ModelThing *t) = {
        [CQS] = change_cq, [RMPS] = change_srq, [SRQS] = change_srq, [QPS] = change_qp,
        [SQS] = change_queue, [RQS] = change_queue, [RQTS] = change_rqt,
        [TIRS] = change_tir, [TABLES] = change_table, [ENTRIES] = change_entry,
    };
    static const uint8_t often[] = { QPS, QPS, QPS, QPS, QPS, SQS, SQS, RQS, RQS };
    ModelKind kind = model_any(m, 2) ? often[model_any(m, ARRAY_SIZE(often))] :
                                       model_any(m, KINDS);
    ModelThing *t = changes[kind] ? model_any_of(m, kind) : NULL;

    if (t) {
        changes[kind](m, t);
    }
}

/* A table with entries, mostly. */
static void set_root(Model *m)
{
    const ModelThing *entry = model_any(m, 4) ? model_any_of(m, ENTRIES) : NULL;
    uint32_t number = entry ? entry->table : model_number_of(m, TABLES);
    g_autofree char *text = g_strdup_printf("table_id=%u\n", number);
    Mlx5Answer a;

    mlx5_ask(m->f.e, 0x92f, text, &a);
    IS(!a.refusal, !!model_find(m, TABLES, number, 0));
}

/* ---- requests ---------------------------------------------------------------------- */

/* The counters in a doorbell record: of receive and of send requests. */
enum { RECV, SEND };

static uint8_t *counter_of(Model *m, const ModelThing *t, uint32_t which)
{
    return fake_ptr(&m->f.env, model_record(m, model_slot(m, t)) + which * 4, 4);
}

/* A key, mostly one that a queue of domain @pd may use. */
static uint32_t any_key(Model *m, uint32_t pd)
{
    const ErnicMr *mr = m->f.e->mr;
    uint32_t number = 0;

    for (uint32_t i = 0; i < 8 && !(mr[number].valid && mr[number].pd == pd); i++) {
        number = model_number_of(m, MKEYS) & 0xff;
    }
    return number << 8 | mr[number].variant;
}

static uint64_t any_address(Model *m)
{
    return m->f.env.base + DATA + model_any(m, DATA);
}

static uint32_t pd_of(const ModelThing *t)
{
    for (uint32_t i = 0; i < t->needs; i++) {
        if (t->need[i].kind == PDS) {
            return t->need[i].number;
        }
    }
    return 0;
}

/* Requests of @t that the device has taken. */
static uint16_t taken(Model *m, const ModelThing *t)
{
    const Ernic *e = m->f.e;

    return t->ref.kind == RQS ? ernic_mlx5_rq_get(m->f.e, t->ref.number)->ci :
           t->ref.kind == QPS ? e->qp[t->ref.number].rq.wq.ci :
                                e->srq[t->ref.number].wq.ci;
}

/* A receive request; those of a shared queue name the next one, rarely a wrong one. */
static void post_recv(Model *m, ModelThing *t)
{
    uint8_t *record = counter_of(m, t, RECV);
    uint16_t at = ldl_be_p(record), next = (at + 1) % (1 << MODEL_LOG);
    bool shared = t->ref.kind == RMPS || t->ref.kind == SRQS;
    uint8_t *slot = fake_ptr(&m->f.env, model_ring(m, model_slot(m, t)) +
                             at % (1 << MODEL_LOG) * MODEL_SLOT, MODEL_SLOT);

    if ((uint16_t)(at - taken(m, t)) >= 1 << MODEL_LOG) {
        return;
    }
    memset(slot, 0, MODEL_SLOT);
    if (shared) {
        stw_be_p(slot + 2, model_any(m, 16) ? next : model_any(m, 20));
        slot += 16;
    }
    stl_be_p(slot, 500 + model_any(m, 2048));
    stl_be_p(slot + 4, any_key(m, pd_of(t)));
    stq_be_p(slot + 8, any_address(m));
    stl_be_p(slot + 20, ERNIC_MLX5_END_KEY);
    stl_be_p(record, (uint16_t)(at + 1));
}

static void any_bytes(Model *m, uint8_t *bytes, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        bytes[i] = model_any(m, 256);
    }
}

static void write_frame(Model *m, Mlx5Wr *wr, uint32_t pd)
{
    static const FramesHead tcp = {
        .version = 4, .proto = 6, .dmac = { 0x52, 0x54, 0x00, 0xa0 }, .tcp_flags = 0x10,
    };
    bool large = model_any(m, 2);
    uint8_t frame[128];
    uint32_t head = frames_make(&tcp, frame);

    frame[3] += model_any(m, 2);
    mlx5_wr(wr, large ? 0x0e : 0x0a, model_any(m, 4), 0);
    send_eth(wr, 0xc0, large ? 1 + model_any(m, 1500) : 0, frame, head);
    mlx5_data(wr, any_address(m), 1 + model_any(m, large ? 20000 : 1500),
              any_key(m, pd));
}

/*
 * A UMR request: it invalidates a key, binds a window, or opens a list of pages or
 * pieces. Hardly any of the last two is accepted: key-orders and gaps test keys that hold
 * others. No key moves to another domain, as the model does not know of that.
 */
static void write_umr(Model *m, Mlx5Wr *wr, const ErnicQp *qp)
{
    enum { FREE_BIT = 1 << 29, OPEN = 0x203e2143 };     /* bits of mkey_mask */
    uint32_t octowords = model_any(m, 3), key = model_number_of(m, MKEYS) & 0xff;
    uint8_t *control, *context;

    mlx5_wr(wr, ERNIC_MLX5_OP_UMR, model_any(m, 4),
            key << 8 | m->f.e->mr[key].variant);
    control = mlx5_segment(wr, 48);
    context = mlx5_segment(wr, 64);
    control[0] = 0x80 | model_any(m, 8) << 4;
    stw_be_p(control + 4, octowords);
    stq_be_p(control + 8, model_any(m, 3) ? OPEN : FREE_BIT);
    any_bytes(m, context, 8);                           /* rights and variant */
    context[0] = model_any(m, 2) << 6;
    stq_be_p(context + 16, any_address(m));
    stq_be_p(context + 24, 1 + model_any(m, 4096));
    context[59] = 12;
    for (uint32_t i = 0; i < MAX(octowords, 1u); i++) {
        mlx5_data(wr, any_address(m), 1 + model_any(m, 4096), any_key(m, qp->pd));
    }
}

static void write_request(Model *m, Mlx5Wr *wr, const ErnicQp *qp)
{
    /* Those of a datagram come first. */
    static const uint8_t opcodes[] = {
        0x0a, 0x0a, 0x0b, 0x00, 0x08, 0x09, 0x10, 0x12, 0x01
    };
    bool ud = qp->transport == ERNIC_UD;
    uint8_t opcode = opcodes[model_any(m, ud ? 4 : ARRAY_SIZE(opcodes))];
    bool remote = opcode == 0x08 || opcode == 0x09 || opcode == 0x10 || opcode == 0x12;

    if (!model_any(m, 4)) {
        write_umr(m, wr, qp);
        return;
    }
    mlx5_wr(wr, opcode, model_any(m, 4), any_key(m, qp->pd));
    if (ud) {
        mlx5_av(wr, 1 + model_any(m, 2), model_number_of(m, QPS));
    } else if (qp->transport == ERNIC_XRC) {
        stl_be_p(mlx5_segment(wr, 16), model_number_of(m, SRQS));
    }
    if (remote) {
        mlx5_raddr(wr, any_address(m), any_key(m, qp->pd));
    }
    if (opcode == 0x12) {
        mlx5_atomic(wr, 1, 0);
    }
    mlx5_data(wr, any_address(m), opcode == 0x12 ? 8 : model_any(m, 3000),
              any_key(m, qp->pd));
}

/* Write the request to the ring at @ring, after the others, and ring, if it fits. */
static void post(Model *m, ModelThing *t, Mlx5Wr *wr, uint64_t ring, uint16_t done,
                 uint32_t page)
{
    uint8_t *record = counter_of(m, t, SEND);
    uint16_t at = ldl_be_p(record);
    uint32_t blocks = DIV_ROUND_UP(wr->len, MODEL_SLOT), i;

    if ((uint16_t)(at - done) + blocks > 1 << MODEL_LOG) {
        return;
    }
    stl_be_p(wr->bytes + 4, t->ref.number << 8 | wr->len / 16);
    if (!model_any(m, 100)) {
        any_bytes(m, wr->bytes, 16 + model_any(m, wr->len));
    }
    for (i = 0; i < blocks; i++, at++) {
        memcpy(fake_ptr(&m->f.env, ring + at % (1 << MODEL_LOG) * MODEL_SLOT, MODEL_SLOT),
               wr->bytes + i * MODEL_SLOT, MODEL_SLOT);
    }
    stl_be_p(record, at);
    ernic_bar_write(m->f.e, m->f.env.now, page * 4096 + 0x800, 8,
                    (uint64_t)t->ref.number << 8);
}

/* Requests that are posted to a queue that is not ready stay in its record. */
static void post_send(Model *m, ModelThing *t)
{
    uint64_t ring = model_ring(m, model_slot(m, t));
    const ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(m->f.e, t->ref.number);
    const ErnicQp *qp = q ? NULL : &m->f.e->qp[t->ref.number];
    bool ready = q ? q->state != ERNIC_MLX5_RST : ernic_qp_may(qp, ERNIC_MAY_POST_SEND);
    Mlx5Wr wr;

    if (!ready && model_any(m, 64)) {
        return;
    }
    if (q) {
        write_frame(m, &wr, q->pd);
        post(m, t, &wr, ring, q->ci, ernic_mlx5_sq_page(m->f.e, t->ref.number));
    } else if (qp->sq.wq.depth) {
        write_request(m, &wr, qp);
        post(m, t, &wr, ring + ernic_mlx5_qp(m->f.e, qp->qpn)->sq_offset,
             ernic_sq_done(&qp->sq), ernic_mlx5_qp(m->f.e, qp->qpn)->uar);
    }
}

static void post_any(Model *m)
{
    static const uint8_t queues[] = { SQS, RQS, QPS, QPS, RMPS, SRQS };
    uint32_t i = m->life == ETHERNET ? model_any(m, 2) :
                 m->life == RDMA ? 2 + model_any(m, 4) : model_any(m, 6);
    ModelThing *t = model_any_of(m, queues[i]);
    bool send = t && (t->ref.kind == SQS || (t->ref.kind == QPS &&
                (model_any(m, 2) || !m->f.e->qp[t->ref.number].rq.wq.depth)));
    uint32_t num = t ? 1 + model_any(m, 4) : 0;

    while (num--) {
        if (send) {
            post_send(m, t);
        } else {
            post_recv(m, t);
        }
    }
}

/* ---- what happens meanwhile -------------------------------------------------------- */

/* Software consumes all entries of a queue, and arms it. */
static void consume(Model *m)
{
    ModelThing *t = model_any_of(m, model_any(m, 4) ? CQS : EQS);
    Ernic *e = m->f.e;
    uint32_t n = t ? t->ref.number : 0;

    if (t && t->ref.kind == CQS) {
        stl_be_p(counter_of(m, t, RECV), e->cq[n].pi & 0xffffff);
        ernic_bar_write(e, m->f.env.now, ernic_mlx5_cq(e, n)->uar * 4096 + 0x20, 8,
                        (uint64_t)model_any(m, 4) << 60 |
                        (uint64_t)model_any(m, 2) << 56 |
                        (uint64_t)(e->cq[n].pi & 0xffffff) << 32 | n);
    } else if (t) {
        ernic_bar_write(e, m->f.env.now, ernic_mlx5_eq_uar(e, n) * 4096 + 0x40, 4,
                        n << 24 | (e->eq[n].pi & 0xffffff));
    }
}

static void receive(Model *m)
{
    uint8_t frame[2048];
    uint32_t len = 14 + model_any(m, 1500);

    any_bytes(m, frame, 64);
    memset(frame + 64, 0, len);
    memcpy(frame, "\x52\x54\x00\xa0", 4);
    frame[3] += model_any(m, 2);
    ernic_rx_raw(m->f.e, m->f.env.now, frame, len);
}

static void pass(Model *m)
{
    m->f.env.tx_busy = !model_any(m, 4);
    if (!m->f.env.tx_busy) {
        ernic_tx_ready(m->f.e, m->f.env.now);
    }
    fake_advance(m->f.e, model_any(m, 200000));
    fake_lose_trains(&m->f.env);
}

static const struct {
    void (*act)(Model *m);
    uint32_t weight;
} acts[] = {
    { model_make, 600 }, { model_destroy, 150 }, { model_destroy_many, 2 },
    { change_any, 800 }, { set_root, 100 },
    { post_any, 1200 }, { consume, 300 }, { receive, 200 }, { pass, 200 },
};

static void step(Model *m)
{
    uint32_t sum = 0, i, at;

    for (i = 0; i < ARRAY_SIZE(acts); i++) {
        sum += acts[i].weight;
    }
    at = model_any(m, sum);
    for (i = 0; at >= acts[i].weight; i++) {
        at -= acts[i].weight;
    }
    acts[i].act(m);
}

TEST("/mlx5-any-order", test_any_order)
{
    const ErnicStats *stats;
    Model m;

    model_open(&m, 21);
    for (uint32_t i = 1; i <= STEPS; i++) {
        step(&m);
        ernic_slice(m.f.e);
        if (i % CHECK == 0) {
            fake_check(m.f.e);
        }
        if (i % TAKE_OVER == 0) {
            fake_take_over(&m.f.e);
        }
        if (i % LIFE == 0) {
            model_begin_life(&m);
        }
    }
    stats = &m.f.e->stats;
    g_test_message("%" PRIu64 " frames, %" PRIu64 " packets, %" PRIu64 " completions, %"
                   PRIu64 " overruns, %" PRIu64 " events", stats->tx_frames,
                   stats->tx_packets, stats->completions, stats->cq_overruns,
                   stats->events);
    g_assert_cmpuint(stats->tx_frames, >, 1000);
    g_assert_cmpuint(stats->tx_packets, >, 100);
    g_assert_cmpuint(stats->completions, >, 1000);
    g_assert_cmpuint(stats->cq_overruns, >, 0);
    g_assert_cmpuint(stats->events, >, 100);
    model_report(&m);
    model_close(&m);
}
