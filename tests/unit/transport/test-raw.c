/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Raw packet queue pairs: frames to the link and to the device itself, received frames,
 * and errors of either.
 */
#include "qemu/osdep.h"
#include "hand_profile.h"
#include "objects/cq.h"
#include "transport/qp.h"
#include "raw_fixture.h"
#include "state/state.h"
#include "transport/tx.h"

#define BUF     65536
#define SINK    32768
#define LEN     100
#define ALL     (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;
    uint64_t buf;
    FakeCq scq, rcq;
    FakeSrq srq;
    FakeQp out, in;
} Fixture;

static void setup(Fixture *f, gconstpointer timing)
{
    uint8_t *p;

    f->e = fake_ernic_timed(&f->env, timing);
    f->pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &f->scq, 64, FAKE_NONE);
    fake_create_cq(f->e, &f->rcq, 64, FAKE_NONE);
    fake_create_srq(f->e, &f->srq, f->pd, 16, 0);
    raw_open(f->e, &f->out, f->pd, f->scq.cqn);
    raw_open(f->e, &f->in, f->pd, f->rcq.cqn);
    f->buf = fake_alloc(&f->env, BUF, 4096);
    f->key = fake_reg_mr(f->e, f->pd, f->buf, BUF, ALL);
    p = fake_ptr(&f->env, f->buf, BUF);
    for (uint32_t i = 0; i < SINK; i++) {
        p[i] = i * 7 + i / 256;
    }
    p[0] = 2;                   /* to one station */
}

static void teardown(Fixture *f, gconstpointer data)
{
    fake_ernic_done(&f->env, f->e);
}

/*
 * The same twice: the timing model has no model of frames, so they take no time, and
 * still arrive.
 */
#define RAW_TEST(name, fn)                                                  \
    static void fn(Fixture *f, gconstpointer data);                         \
    TESTS(add_##fn)                                                         \
    {                                                                       \
        g_test_add("/raw/" name, Fixture, NULL, setup, fn, teardown);       \
        g_test_add("/raw/timed/" name, Fixture, &hand, setup, fn, teardown); \
    }                                                                       \
    static void fn(Fixture *f, gconstpointer data)

static const uint8_t *frame(Fixture *f)
{
    return fake_ptr(&f->env, f->buf, SINK);
}

static void send(Fixture *f, uint32_t len)
{
    raw_send(f->e, &f->out, f->buf, len, f->key);
}

/* A rule that delivers all frames to @qp; returns its handle. */
static uint32_t rule_for(Fixture *f, const FakeQp *qp)
{
    struct ernic_flow_rule rule = { .qpn = cpu_to_le32(qp->qpn) };
    uint32_t handle;

    OK(fake_create_flow(f->e, &rule, &handle));
    return handle;
}

/* Run until no more events are due. */
static void settle(Fixture *f)
{
    fake_run(f->e);
    if (f->e->timing) {
        fake_advance(f->e, 1000000);
    }
    raw_whole(f->e);
}

static void sent(Fixture *f, uint32_t len)
{
    FakeTrain *train = fake_take_train(&f->env);

    g_assert_nonnull(train);
    g_assert_true(train->train.frame);
    IS(train->train.len, len);
    IS(train->train.seg, len);
    g_assert_cmpmem(train->train.data, train->train.len, frame(f), len);
    fake_train_free(train);
}

static struct ernic_cqe wc(Fixture *f, FakeCq *cq, const FakeQp *qp, uint8_t status,
                           uint8_t opcode)
{
    struct ernic_cqe cqe;

    g_assert_true(fake_poll_cq(f->e, cq, &cqe));
    IS(cqe.status, status);
    IS(cqe.qpn, qp->qpn);
    g_assert_true(status != ERNIC_WC_SUCCESS || cqe.opcode == opcode);
    return cqe;
}

static void send_wc(Fixture *f, uint8_t status)
{
    wc(f, &f->scq, &f->out, status, ERNIC_WC_SEND);
}

static void recv_wc(Fixture *f, uint8_t status, uint32_t len)
{
    struct ernic_cqe cqe = wc(f, &f->rcq, &f->in, status, ERNIC_WC_RECV);

    if (status == ERNIC_WC_SUCCESS) {
        IS(cqe.byte_len, len);
        IS(cqe.flags & ~ERNIC_CQE_PHASE, ERNIC_CQE_RQ);
    }
}

static void no_wc(Fixture *f)
{
    g_assert_false(fake_poll_cq(f->e, &f->scq, &(struct ernic_cqe) { }));
    g_assert_false(fake_poll_cq(f->e, &f->rcq, &(struct ernic_cqe) { }));
}

/* A frame is sent, and complete. */
static void goes(Fixture *f, uint32_t len)
{
    send(f, len);
    settle(f);
    sent(f, len);
    send_wc(f, ERNIC_WC_SUCCESS);
}

static void to_state(Fixture *f, const FakeQp *qp, uint8_t state)
{
    OK(fake_modify_qp(f->e, qp->qpn, ERNIC_QPA_STATE, state, NULL));
}

/* Post a receive request, and wait until its doorbell has arrived. */
static void recv(Fixture *f, uint32_t len)
{
    fake_recv(f->e, &f->in, f->buf + SINK, len, f->key);
    if (f->e->timing) {
        fake_advance(f->e, 1000000);
    }
}

static void comes(Fixture *f, uint32_t len)
{
    g_assert_true(ernic_wants_frame(f->e, frame(f), len));
    ernic_rx_raw(f->e, f->env.now, frame(f), len);
    settle(f);
}

static void arrived(Fixture *f, uint32_t len)
{
    recv_wc(f, ERNIC_WC_SUCCESS, len);
    g_assert_cmpmem(fake_ptr(&f->env, f->buf + SINK, len), len, frame(f), len);
    memset(fake_ptr(&f->env, f->buf + SINK, len), 0, len);
}

RAW_TEST("send", test_send)
{
    static const uint32_t lens[] = { 14, 15, LEN, 1514, ERNIC_ETH_FRAME_MAX };

    for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
        goes(f, lens[i]);
    }
    IS(f->e->stats.tx_frames, ARRAY_SIZE(lens));
    IS(f->e->stats.tx_frame_bytes, 14 + 15 + LEN + 1514 + ERNIC_ETH_FRAME_MAX);
    IS(f->e->stats.tx_packets, 0);
    IS(f->env.trains->len, 0);
    no_wc(f);
}

/* Too short, or too long, for a frame: the next one is sent after a recovery. */
RAW_TEST("lengths", test_lengths)
{
    static const uint32_t lens[] = { 0, 1, 13, ERNIC_ETH_FRAME_MAX + 1, SINK };

    for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
        send(f, lens[i]);
        settle(f);
        send_wc(f, ERNIC_WC_LOC_LEN_ERR);
        IS(f->e->qp[f->out.qpn].state, ERNIC_QPS_SQE);
        to_state(f, &f->out, ERNIC_QPS_RTS);
    }
    IS(f->env.trains->len, 0);
    goes(f, LEN);
}

/* Only SEND, and with a key that covers the frame. */
RAW_TEST("faults", test_faults)
{
    for (uint8_t op = ERNIC_WR_SEND_IMM; op < ERNIC_WR_COUNT; op++) {
        struct ernic_wqe wqe = { .opcode = op };

        fake_post_send(f->e, &f->out, &wqe, NULL);
        OK(fake_ring_sq(f->e, &f->out));
        settle(f);
        send_wc(f, ERNIC_WC_LOC_QP_OP_ERR);
        to_state(f, &f->out, ERNIC_QPS_RTS);
    }
    fake_send(f->e, &f->out, ERNIC_WR_SEND, 0, f->buf, LEN, f->key ^ 1);
    settle(f);
    IS(f->e->qp[f->out.qpn].state, ERNIC_QPS_SQE);
    IS(f->env.trains->len, 0);
}

/* A busy link holds frames back, in order; none completes before it is sent. */
RAW_TEST("busy", test_busy)
{
    f->env.tx_busy = true;
    for (uint32_t len = 60; len < 63; len++) {
        send(f, len);
    }
    settle(f);
    no_wc(f);
    fake_tx_ready(f->e);
    settle(f);
    for (uint32_t len = 60; len < 63; len++) {
        sent(f, len);
        send_wc(f, ERNIC_WC_SUCCESS);
    }
}

/* Between packets a frame is a train of its own, in its turn. */
RAW_TEST("among-packets", test_among_packets)
{
    FakeTrain *train;
    FakeQp ud;

    fake_create_qp(f->e, &ud, ERNIC_QPT_UD, f->pd, f->rcq.cqn, f->rcq.cqn, FAKE_NONE);
    fake_connect(f->e, &ud, 0, 0);
    f->env.tx_busy = true;
    for (int i = 0; i < 3; i++) {
        fake_send_ud(f->e, &ud, 0, f->buf, 64, f->key, 5, 5, 2);
        settle(f);
        send(f, 60 + i);
        settle(f);
    }
    fake_tx_ready(f->e);
    settle(f);
    for (int i = 0; (train = fake_take_train(&f->env)); i += train->train.frame,
         fake_train_free(train)) {
        IS(train->train.len, train->train.frame ? 60 + i : train->train.len);
    }
    IS(f->e->stats.tx_frames, 3);
    IS(f->e->stats.tx_packets, 3);
}

/* A frame that matches a rule is looped back and also sent, for any destination. */
RAW_TEST("self", test_self)
{
    rule_for(f, &f->in);
    for (uint32_t to = 2; to <= 3; to++) {           /* a station, a group */
        ((uint8_t *)frame(f))[0] = to;
        recv(f, 2048);
        goes(f, LEN);
        arrived(f, LEN);
    }
    IS(f->env.trains->len, 0);
    IS(f->e->stats.tx_frames, 2);
    IS(f->e->stats.rx_frames, 2);
}

/* A port that is down has no peers. */
RAW_TEST("self-down", test_self_down)
{
    rule_for(f, &f->in);
    ernic_set_link(f->e, f->env.now, false);
    recv(f, 2048);
    send(f, LEN);
    settle(f);
    send_wc(f, ERNIC_WC_SUCCESS);
    arrived(f, LEN);
    IS(f->env.trains->len, 0);
    IS(f->e->stats.tx_drops, 1);
}

/* Its rule is removed while a frame is in the loopback store. */
FIXTURE_TEST("/raw/self-rule", test_self_rule)
{
    uint32_t handle = rule_for(f, &f->in);

    recv(f, 2048);
    send(f, LEN);
    ernic_run(f->e, f->env.now);                /* in the loopback store */
    OK(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, handle));
    settle(f);
    sent(f, LEN);
    send_wc(f, ERNIC_WC_SUCCESS);
    no_wc(f);
    IS(f->e->stats.drop[ERNIC_DROP_NO_RULE], 1);
    IS(f->e->stats.rx_frames, 0);
}

/* More than the loopback store holds: none is lost or doubled, each in its turn. */
RAW_TEST("self-many", test_self_many)
{
    rule_for(f, &f->in);
    for (uint32_t i = 0; i < 60; i++) {
        recv(f, ERNIC_ETH_FRAME_MAX);
        send(f, ERNIC_ETH_FRAME_MAX - i);
    }
    settle(f);
    for (uint32_t i = 0; i < 60; i++) {
        send_wc(f, ERNIC_WC_SUCCESS);
        recv_wc(f, ERNIC_WC_SUCCESS, ERNIC_ETH_FRAME_MAX - i);
        sent(f, ERNIC_ETH_FRAME_MAX - i);
    }
    IS(f->env.trains->len, 0);
}

RAW_TEST("recv", test_recv)
{
    struct ernic_sge sge[] = {
        fake_sge(f->buf + SINK, 10, f->key), fake_sge(f->buf + SINK + 10, 0, f->key),
        fake_sge(f->buf + SINK + 10, 4096, f->key),
    };

    g_assert_false(ernic_wants_frame(f->e, frame(f), LEN));
    rule_for(f, &f->in);
    recv(f, LEN);
    comes(f, LEN);
    arrived(f, LEN);
    fake_post_recv(f->e, &f->in, 5, sge, ARRAY_SIZE(sge));
    OK(fake_ring_rq(f->e, &f->in));
    settle(f);
    comes(f, 1514);
    arrived(f, 1514);
    IS(f->e->stats.rx_frames, 2);
    IS(f->e->stats.rx_packets, 0);
}

/* The number of rules that the device reads without its lock. */
RAW_TEST("rules", test_rules)
{
    uint32_t rules = 7;

    f->e->cfg.flow_rules = &rules;
    rule_for(f, &f->in);
    IS(rules, 1);
    rule_for(f, &f->out);
    IS(rules, 2);
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, f->in.qpn));
    IS(rules, 1);
    ernic_reset(f->e);
    IS(rules, 0);
}

/*
 * Without a request, or with one too short, a frame is dropped and counted, and the next
 * is received.
 */
RAW_TEST("lost", test_lost)
{
    rule_for(f, &f->in);
    comes(f, LEN);
    IS(f->e->stats.fault[ERNIC_FAULT_RNR], 1);
    recv(f, LEN);
    comes(f, LEN + 1);
    IS(f->e->stats.fault[ERNIC_FAULT_RECV_LENGTH], 1);
    no_wc(f);
    comes(f, LEN);
    arrived(f, LEN);
    /* The port is down. */
    ernic_set_link(f->e, f->env.now, false);
    recv(f, LEN);
    comes(f, LEN);
    no_wc(f);
    IS(f->e->stats.drop[ERNIC_DROP_PORT_DOWN], 1);
    IS(f->e->stats.rx_frames, 3);
    IS(f->e->stats.rx_frame_bytes, 3 * LEN + 1);
}

/* These states do not receive. */
RAW_TEST("state", test_state)
{
    struct ernic_qp_attr attr;

    fake_qp_attr(&attr, 0, 0);
    rule_for(f, &f->in);
    to_state(f, &f->in, ERNIC_QPS_RESET);
    f->in.sq_pi = f->in.rq_pi = 0;
    comes(f, LEN);
    fake_qp_to(f->e, &f->in, ERNIC_QPS_INIT, &attr);
    recv(f, LEN);
    comes(f, LEN);
    no_wc(f);
    IS(f->e->stats.drop[ERNIC_DROP_QP_STATE], 2);
    to_state(f, &f->in, ERNIC_QPS_RTR);
    comes(f, LEN);
    arrived(f, LEN);
}

/* A bad key in a receive request ends the queue pair. */
RAW_TEST("protection", test_protection)
{
    rule_for(f, &f->in);
    fake_recv(f->e, &f->in, f->buf + SINK, LEN, f->key ^ 1);
    settle(f);
    comes(f, LEN);
    recv_wc(f, ERNIC_WC_LOC_PROT_ERR, 0);
    IS(f->e->qp[f->in.qpn].state, ERNIC_QPS_ERR);
    comes(f, LEN);
    IS(f->e->stats.drop[ERNIC_DROP_QP_STATE], 1);
    no_wc(f);
}

RAW_TEST("srq", test_srq)
{
    struct ernic_sge sge = fake_sge(f->buf + SINK, LEN, f->key);
    FakeQp shared;

    fake_create_qp(f->e, &shared, ERNIC_QPT_RAW, f->pd, f->rcq.cqn, f->rcq.cqn,
                   f->srq.srqn);
    fake_connect(f->e, &shared, 0, 0);
    rule_for(f, &shared);
    fake_post_srq(f->e, &f->srq, 1, &sge, 1);
    fake_post_srq(f->e, &f->srq, 2, &sge, 1);
    OK(fake_ring_srq(f->e, &f->srq));
    settle(f);
    /* Its SRQ request is consumed, so software must get it back. */
    comes(f, LEN + 1);
    wc(f, &f->rcq, &shared, ERNIC_WC_LOC_LEN_ERR, 0);
    IS(f->e->qp[shared.qpn].state, ERNIC_QPS_RTS);
    comes(f, LEN);
    IS(wc(f, &f->rcq, &shared, ERNIC_WC_SUCCESS, ERNIC_WC_RECV).wr_id, 2);
}

/* Each access to guest memory fails once: at most that one frame is lost. */
RAW_TEST("dma", test_dma)
{
    struct ernic_cqe cqe;

    rule_for(f, &f->in);
    for (uint32_t n = 1; n < 10; n++) {
        recv(f, 2048);
        fake_fail_dma(&f->env, n, false);
        ernic_rx_raw(f->e, f->env.now, frame(f), LEN);
        settle(f);
        if (!f->env.refused) {
            break;
        }
        fake_fail_dma(&f->env, 0, false);
        while (fake_poll_cq(f->e, &f->rcq, &cqe)) {
            g_assert_cmpuint(cqe.status, !=, ERNIC_WC_SUCCESS);
        }
        IS(f->e->qp[f->in.qpn].state, ERNIC_QPS_ERR);
        if (f->e->cq[f->rcq.cqn].overrun) {
            return;             /* the completion itself was the third */
        }
        to_state(f, &f->in, ERNIC_QPS_RESET);
        f->in.rq_pi = 0;
        fake_connect(f->e, &f->in, 0, 0);
    }
    g_assert_not_reached();
}

/* No packet of RoCEv2 reaches such a queue pair, whatever its opcode. */
RAW_TEST("packets", test_packets)
{
    FakeQp ud;

    fake_create_qp(f->e, &ud, ERNIC_QPT_UD, f->pd, f->scq.cqn, f->scq.cqn, FAKE_NONE);
    fake_connect(f->e, &ud, 0, 0);
    recv(f, 2048);
    fake_send_ud(f->e, &ud, 0, f->buf, 64, f->key, f->in.qpn, 0, 1);
    settle(f);
    IS(f->e->stats.drop[ERNIC_DROP_TRANSPORT], 1);
    no_wc(f);
}

TEST("/raw/absent", test_absent)
{
    const struct ernic_device_attr *attr;
    struct ernic_qp_init init = {
        .srq = cpu_to_le32(FAKE_NONE), .sq_depth = cpu_to_le32(16),
        .rq_depth = cpu_to_le32(16), .sq_stride = 2, .rq_stride = 2,
        .type = ERNIC_QPT_RAW,
    };
    FakeEnv env;
    FakeCq cq;
    Ernic *e = FAKE_ERNIC(&env, cfg.raw = false);

    fake_create_cq(e, &cq, 16, FAKE_NONE);
    attr = fake_query(e, ERNIC_CMD_QUERY_DEVICE, 0, sizeof(*attr));
    IS(attr->raw, 0);
    IS(attr->max_flows, 0);
    init.pd = cpu_to_le32(fake_create_pd(e));
    init.send_cq = init.recv_cq = cpu_to_le32(cq.cqn);
    init.sq_buf.addr = cpu_to_le64(fake_alloc(&env, 4096, 4096));
    init.rq_buf.addr = cpu_to_le64(fake_alloc(&env, 4096, 4096));
    IS(fake_pass(e, ERNIC_CMD_QP_CREATE, 0, &init, sizeof(init), NULL), ERNIC_ERR_PARAM);
    fake_ernic_done(&env, e);
}
