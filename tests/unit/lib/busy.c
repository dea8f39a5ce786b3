/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Brings a device into the state that busy.h promises, by software and packets alone.
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "objects/cq.h"
#include "objects/mr.h"
#include "transport/qp.h"

#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC | \
             ERNIC_ACCESS_MW_BIND)

/* A region of four pages by a list, not in their order. */
static uint32_t reg_paged(Busy *b)
{
    uint64_t list = fake_alloc(&b->env, 32, 8);
    struct ernic_cmd cmd = fake_reg_list(b->pd, list, 4, 1);

    for (int i = 0; i < 4; i++) {
        fake_put64(&b->env, list + 8 * i, b->buf + 4096 * (3 - i));
    }
    cmd.mr_reg.iova = cpu_to_le64(0x100000);
    cmd.mr_reg.access = cpu_to_le32(ALL);
    return fake_make(b->e, &cmd);
}

static void objects(Busy *b)
{
    struct ernic_cmd moderate = { .opcode = ERNIC_CMD_CQ_MODERATE };

    b->uctx = fake_create_uctx(b->e);
    b->pd = fake_create_pd(b->e);
    b->env.uctx = b->uctx;
    b->user_pd = fake_create_pd(b->e);
    b->env.uctx = 0;
    b->buf = fake_alloc(&b->env, BUSY_BUF, 4096);
    b->key = fake_reg_mr(b->e, b->pd, b->buf, BUSY_BUF, ALL);
    b->paged = reg_paged(b);
    b->demand = fake_reg_demand(b->e, b->pd, 0, 1ull << 47, ALL);
    OK(fake_set_pages(b->e, b->demand, 0x5000001ff, 2, b->buf,
                      ERNIC_PAGE_READ | ERNIC_PAGE_WRITE));
    b->fast = fake_alloc_mr(b->e, b->pd, 8);
    b->mw1 = fake_alloc_mw(b->e, b->pd, 1);
    b->mw2 = fake_alloc_mw(b->e, b->pd, 2);
    fake_create_eq(b->e, &b->async, 2, 0, true);
    fake_create_eq(b->e, &b->eq, 64, 1, false);
    fake_create_cq(b->e, &b->cq, 256, b->eq.eqn);
    fake_create_cq(b->e, &b->slow, 64, b->eq.eqn);
    moderate.cq_moderate.handle = cpu_to_le32(b->slow.cqn);
    moderate.cq_moderate.count = cpu_to_le16(10);
    moderate.cq_moderate.period_us = cpu_to_le16(50000);
    OK(fake_cmd(b->e, &moderate, NULL));
    fake_create_srq(b->e, &b->srq, b->pd, 16, 4);
    b->xrcd = fake_create_pd(b->e);
    b->env.uctx = b->uctx;
    fake_create_cq(b->e, &b->xcq, 16, b->eq.eqn);
    fake_create_xrc_srq(b->e, &b->xsrq, b->user_pd, 8, b->xrcd, b->xcq.cqn);
    b->env.uctx = 0;
}

static void queue_pairs(Busy *b)
{
    uint32_t cqn = b->cq.cqn;

    fake_create_qp(b->e, &b->out, ERNIC_QPT_RC, b->pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->in, ERNIC_QPT_RC, b->pd, cqn, cqn, b->srq.srqn);
    fake_create_qp(b->e, &b->rd, ERNIC_QPT_RC, b->pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->uc, ERNIC_QPT_UC, b->pd, b->slow.cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->ud, ERNIC_QPT_UD, b->pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->gsi, ERNIC_QPT_GSI, b->pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->ini, ERNIC_QPT_XRC_INI, b->pd, cqn, 0, FAKE_NONE);
    fake_create_xrc_tgt(b->e, &b->tgt, b->xrcd);
    fake_create_qp(b->e, &b->raw, ERNIC_QPT_RAW, b->pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->e, &b->rwq, ERNIC_QPT_RWQ, b->pd, 0, cqn, FAKE_NONE);

    b->peer_pd = fake_create_pd(b->peer);
    b->peer_buf = fake_alloc(&b->peer_env, BUSY_BUF, 4096);
    b->peer_key = fake_reg_mr(b->peer, b->peer_pd, b->peer_buf, BUSY_BUF, ALL);
    fake_create_cq(b->peer, &b->peer_cq, 256, FAKE_NONE);
    cqn = b->peer_cq.cqn;
    fake_create_qp(b->peer, &b->peer_out, ERNIC_QPT_RC, b->peer_pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->peer, &b->peer_in, ERNIC_QPT_RC, b->peer_pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->peer, &b->peer_rd, ERNIC_QPT_RC, b->peer_pd, cqn, cqn, FAKE_NONE);
    fake_create_qp(b->peer, &b->peer_ini, ERNIC_QPT_XRC_INI, b->peer_pd, cqn, 0,
                   FAKE_NONE);

    fake_connect(b->e, &b->out, b->peer_out.qpn, 2);
    fake_connect(b->e, &b->in, b->peer_in.qpn, 2);
    fake_connect(b->e, &b->rd, b->peer_rd.qpn, 2);
    fake_connect(b->e, &b->uc, 77, 3);
    fake_connect(b->e, &b->ud, 0, 0);
    fake_connect(b->e, &b->gsi, 0, 0);
    fake_connect(b->e, &b->ini, 78, 3);
    fake_connect(b->e, &b->raw, 0, 0);
    fake_connect(b->e, &b->tgt, b->peer_ini.qpn, 2);
    fake_connect(b->peer, &b->peer_out, b->out.qpn, 1);
    fake_connect(b->peer, &b->peer_in, b->in.qpn, 1);
    fake_connect(b->peer, &b->peer_rd, b->rd.qpn, 1);
    fake_connect(b->peer, &b->peer_ini, b->tgt.qpn, 1);
}

static void multicast(Busy *b)
{
    uint8_t gid[16];

    fake_gid(gid, 0);
    gid[12] = 224;
    OK(fake_mcast(b->e, ERNIC_CMD_MCAST_ATTACH, gid, b->ud.qpn));
}

/* Frames of zeros, which the sender itself receives; RSS without a rule. */
static void rules(Busy *b)
{
    struct ernic_flow_rule rule = {
        .qpn = cpu_to_le32(b->raw.qpn), .priority = cpu_to_le16(3),
        .mask.dmac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
    };
    struct ernic_rss rss = {
        .fields = cpu_to_le32(ERNIC_HASH_SRC_IPV6), .shift = 2, .key = { 5 },
    };

    OK(fake_create_flow(b->e, &rule, &b->flow));
    for (uint32_t i = 0; i < 4; i++) {
        rss.wq[i] = cpu_to_le32(b->rwq.qpn);
    }
    OK(fake_create_rss(b->e, &rss, &b->rss));
}

/* One queue pair has a counter of its own. */
static void counter(Busy *b)
{
    b->counter = fake_make(b->e,
                           &(struct ernic_cmd) { .opcode = ERNIC_CMD_COUNTER_ALLOC });
    OK(CMD(b->e, COUNTER_BIND, cmd.counter_bind.qpn = cpu_to_le32(b->rd.qpn);
           cmd.counter_bind.counter = cpu_to_le32(b->counter)));
}

/* Local requests: both windows are bound, the fast region is registered. */
static void local_requests(Busy *b)
{
    uint64_t list = fake_alloc(&b->env, 16, 8);
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_REG_MR };

    fake_put64(&b->env, list, b->buf + 8192);
    fake_put64(&b->env, list + 8, b->buf);
    wqe.reg_mr.key = cpu_to_le32(b->fast);
    wqe.reg_mr.access = cpu_to_le32(ALL);
    wqe.reg_mr.iova = cpu_to_le64(0x7000);
    wqe.reg_mr.length = cpu_to_le64(8192);
    wqe.reg_mr.list_addr = cpu_to_le64(list);
    wqe.reg_mr.npages = cpu_to_le32(2);
    wqe.reg_mr.page_shift = 12;
    fake_post_send(b->e, &b->out, &wqe, NULL);

    memset(&wqe, 0, sizeof(wqe));
    wqe.opcode = ERNIC_WR_BIND_MW;
    wqe.bind_mw.rkey = cpu_to_le32(b->mw1);
    wqe.bind_mw.lkey = cpu_to_le32(b->key);
    wqe.bind_mw.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_READ);
    wqe.bind_mw.addr = cpu_to_le64(b->buf + 100);
    wqe.bind_mw.length = cpu_to_le64(1000);
    fake_post_send(b->e, &b->out, &wqe, NULL);
    wqe.bind_mw.rkey = cpu_to_le32(b->mw2);
    wqe.bind_mw.new_rkey = cpu_to_le32(b->mw2 + 1);
    fake_post_send(b->e, &b->out, &wqe, NULL);
    OK(fake_ring_sq(b->e, &b->out));
    fake_run(b->e);
    g_assert_true(b->e->mr[b->mw2 >> 8].valid);
}

/* The first packet of the peer's message arrives, alone. */
static void first_packet(Busy *b)
{
    FakeTrain *train;

    fake_run(b->peer);
    train = fake_take_train(&b->peer_env);
    train->train.len = train->train.seg;
    ernic_rx(b->e, b->env.now, &train->train);
    fake_train_free(train);
}

/* A message of two packets of which the first has come. */
static void inbound(Busy *b)
{
    struct ernic_sge sge = fake_sge(b->buf, BUSY_BUF, b->key);

    for (int i = 0; i < 5; i++) {
        fake_post_srq(b->e, &b->srq, i, &sge, 1);
    }
    OK(fake_ring_srq(b->e, &b->srq));
    fake_send(b->peer, &b->peer_in, ERNIC_WR_SEND, 0, b->peer_buf, 1500, b->peer_key);
    first_packet(b);
    g_assert_cmpuint(b->e->qp[b->in.qpn].rq.off, ==, 1024);
}

/* XRC: half a message comes for the SRQ of a process; requests are under way. */
static void xrc(Busy *b)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND, .count = cpu_to_le16(1) };
    struct ernic_sge sge = fake_sge(b->peer_buf, 1500, b->peer_key);
    struct ernic_sge to = fake_sge(b->buf, BUSY_BUF, 0);

    b->env.uctx = b->uctx;
    to.lkey = cpu_to_le32(fake_reg_mr(b->e, b->user_pd, b->buf, BUSY_BUF, ALL));
    fake_post_srq(b->e, &b->xsrq, 0, &to, 1);
    OK(fake_ring_srq(b->e, &b->xsrq));
    b->env.uctx = 0;
    wqe.send.xrc_srq = cpu_to_le32(b->xsrq.srqn);
    fake_post_send(b->peer, &b->peer_ini, &wqe, &sge);
    OK(fake_ring_sq(b->peer, &b->peer_ini));
    first_packet(b);
    g_assert_cmpuint(b->e->qp[b->tgt.qpn].rq.off, ==, 1024);

    sge = fake_sge(b->buf, 1500, b->key);
    fake_post_send(b->e, &b->ini, &wqe, &sge);
    OK(fake_ring_sq(b->e, &b->ini));
    fake_run(b->e);
}

/* A READ whose response waits for the busy link. */
static void inbound_read(Busy *b)
{
    FakeTrain *train;

    fake_rdma(b->peer, &b->peer_rd, ERNIC_WR_READ, ERNIC_WR_SIGNALED,
              b->peer_buf, 5000, b->peer_key, b->buf, b->key);
    fake_run(b->peer);
    train = fake_take_train(&b->peer_env);
    ernic_rx(b->e, b->env.now, &train->train);
    fake_train_free(train);
}

/* Unacknowledged sends of every shape; the last one waits for the busy link. */
static void outbound(Busy *b)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_SEND_IMM,
                             .flags = ERNIC_WR_INLINE | ERNIC_WR_SIGNALED };
    struct ernic_sge sge[2] = {
        fake_sge(b->buf, 3000, b->key), fake_sge(b->buf + 4096, 70, b->key),
    };
    static const uint8_t text[] = "bytes in the request";

    wqe.count = cpu_to_le16(sizeof(text));
    fake_post_send(b->e, &b->out, &wqe, text);
    wqe.opcode = ERNIC_WR_WRITE;
    wqe.flags = ERNIC_WR_SOLICITED;
    wqe.count = cpu_to_le16(2);
    wqe.rdma.raddr = cpu_to_le64(b->peer_buf);
    wqe.rdma.rkey = cpu_to_le32(b->peer_key);
    fake_post_send(b->e, &b->out, &wqe, sge);
    OK(fake_ring_sq(b->e, &b->out));
    fake_rdma(b->e, &b->out, ERNIC_WR_READ, 0, b->buf + 8192, 4000, b->key,
              b->peer_buf, b->peer_key);
    fake_atomic(b->e, &b->out, ERNIC_WR_FETCH_ADD, 0, b->buf, b->key,
                b->peer_buf, b->peer_key, 5, 0);
    fake_recv(b->e, &b->out, b->buf, 512, b->key);
    fake_arm_cq(b->e, &b->slow, false);
    fake_send(b->e, &b->uc, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, b->buf, 10, b->key);
    fake_run(b->e);
    g_assert_cmpuint(b->e->cq[b->slow.cqn].mod_pending, ==, 1);

    /* More events than the ring for asynchronous events holds. */
    g_assert_cmpuint(ernic_doorbell(b->e, b->env.now, 0,
                     ERNIC_DB(ERNIC_DB_SQ, b->ud.qpn, 1000)), !=, ERNIC_OK);
    g_assert_cmpuint(ernic_doorbell(b->e, b->env.now, 0,
                     ERNIC_DB(ERNIC_DB_SQ, b->gsi.qpn, 1000)), !=, ERNIC_OK);
    g_assert_cmpuint(ernic_doorbell(b->e, b->env.now, 0,
                     ERNIC_DB(ERNIC_DB_SQ, b->uc.qpn, 1000)), !=, ERNIC_OK);
    ernic_set_link(b->e, b->env.now, false);
    ernic_set_link(b->e, b->env.now, true);

    /* A datagram to ourselves, and a second one that waits after it. */
    b->env.tx_busy = b->env.frames_pass = true;
    fake_recv(b->e, &b->ud, b->buf, 512, b->key);
    fake_send_ud(b->e, &b->ud, 0, b->buf, 100, b->key, b->ud.qpn, 0x11111111, 1);
    fake_recv(b->e, &b->raw, b->buf, 512, b->key);
    memset(fake_ptr(&b->env, b->buf + 60000, 64), 0, 64);
    fake_send(b->e, &b->raw, ERNIC_WR_SEND, 0, b->buf + 60000, 64, b->key);
    fake_send(b->e, &b->uc, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, b->buf, 3000, b->key);
    fake_send(b->e, &b->gsi, ERNIC_WR_SEND, 0, b->buf, 1, b->key + 1);
    ernic_run(b->e, b->env.now);
    fake_train_free(fake_take_train(&b->env));      /* the frame */
}

void busy_init(Busy *b)
{
    memset(b, 0, sizeof(*b));
    b->e = fake_ernic_new(&b->env);
    b->peer = fake_ernic_new(&b->peer_env);
    fake_set_gid(b->peer, 0, 2);
    objects(b);
    queue_pairs(b);
    multicast(b);
    rules(b);
    counter(b);
    local_requests(b);
    inbound(b);
    xrc(b);
    outbound(b);
    inbound_read(b);
}

void busy_fini(Busy *b)
{
    ernic_free(b->e);
    fake_ernic_done(&b->env, b->peer);
    fake_env_fini(&b->peer_env);
}
