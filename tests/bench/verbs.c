/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The guest: a minimal driver. Commands set queues up; requests and completions go
 * through guest memory.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bench.h"

#define NONE            0xffffffffu
#define PAGE            4096
#define SQ_STRIDE       2       /* 64-byte units: a request and one SGE */
#define RQ_STRIDE       1
#define MTU_1024        3
#define MTU_4096        5
/* 268 ms: with all retries, longer than a side that gets no core for 2 s. */
#define TIMEOUT         16
#define REMOTE          (ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ)

static const char *const gid_text[BENCH_SIDES] = { "10.0.0.1", "10.0.0.2" };

static ErnicGid gid_of(uint32_t side)
{
    ErnicEndpoint ep;
    char *err = NULL;

    if (!ernic_endpoint_parse(gid_text[side], &ep, &err)) {
        bench_die("%s", err);
    }
    return ep.addr;
}

static uint32_t command(BenchGuest *g, const char *name, struct ernic_cmd *cmd)
{
    struct ernic_rsp rsp;

    do {
        ernic_slice(g->node.e);
    } while (!ernic_cmd(g->node.e, bench_now(), cmd, &rsp));
    if (rsp.status != ERNIC_OK) {
        bench_die("command %s: status %u", name, rsp.status);
    }
    return le32_to_cpu(rsp.handle);
}

/* ---- set-up ------------------------------------------------------------------ */

/*
 * An initializer of one member of the command's union leaves the bytes after it as they
 * are with clang, and they are reserved: the members are assigned.
 */

/* Registers @bytes at @addr, in pages of 4 KiB like a guest's memory. */
static uint32_t reg_mr(BenchGuest *g, uint64_t addr, uint64_t bytes)
{
    uint32_t npages = bytes / PAGE;
    uint64_t list = bench_alloc(&g->node, npages * sizeof(uint64_t), PAGE);
    uint64_t *entry = bench_mem(&g->node, list);
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };

    cmd.mr_reg = (struct ernic_cmd_mr_reg) {
        .buf = { .addr = cpu_to_le64(list), .npages = cpu_to_le32(npages),
                 .page_shift = 12, .levels = 1 },
        .iova = cpu_to_le64(addr),
        .length = cpu_to_le64(bytes),
        .pd = cpu_to_le32(g->pd),
        .access = cpu_to_le32(ERNIC_ACCESS_LOCAL_WRITE | REMOTE),
    };
    for (uint32_t i = 0; i < npages; i++) {
        entry[i] = cpu_to_le64(addr + (uint64_t)i * PAGE);
    }
    return command(g, "MR_REG", &cmd);
}

static void create_cq(BenchGuest *g, BenchCq *cq, uint32_t depth)
{
    uint64_t ring = bench_alloc(&g->node, depth * sizeof(struct ernic_cqe), PAGE);
    uint64_t ci = bench_alloc(&g->node, 64, 64);
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_CREATE };

    cmd.cq_create = (struct ernic_cmd_cq_create) {
        .buf = { .addr = cpu_to_le64(ring) },
        .ci_addr = cpu_to_le64(ci),
        .depth = cpu_to_le32(depth),
        .eq = cpu_to_le32(NONE),
    };
    cq->ring = bench_mem(&g->node, ring);
    cq->ci_mem = bench_mem(&g->node, ci);
    cq->depth = depth;
    cq->ci = 0;
    cq->cqn = command(g, "CQ_CREATE", &cmd);
}

static void create_qp(BenchGuest *g, BenchQp *qp, uint32_t sq_depth, uint32_t rq_depth)
{
    uint64_t sq = bench_alloc(&g->node, sq_depth * SQ_STRIDE * 64, 64);
    uint64_t rq = bench_alloc(&g->node, rq_depth * RQ_STRIDE * 64, 64);
    uint64_t at = bench_alloc(&g->node, 64, 64);
    struct ernic_qp_init *init = bench_mem(&g->node, at);
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };

    cmd.qp = (struct ernic_cmd_qp) {
        .addr = cpu_to_le64(at), .length = cpu_to_le32(sizeof(*init)),
    };
    *init = (struct ernic_qp_init) {
        .sq_buf.addr = cpu_to_le64(sq),
        .rq_buf.addr = cpu_to_le64(rq),
        .pd = cpu_to_le32(g->pd),
        .send_cq = cpu_to_le32(g->scq.cqn),
        .recv_cq = cpu_to_le32(g->rcq.cqn),
        .srq = cpu_to_le32(NONE),
        .sq_depth = cpu_to_le32(sq_depth),
        .rq_depth = cpu_to_le32(rq_depth),
        .type = ERNIC_QPT_RC,
        .flags = ERNIC_QPF_SQ_SIG_ALL,
        .sq_stride = SQ_STRIDE,
        .rq_stride = RQ_STRIDE,
    };
    qp->sq = bench_mem(&g->node, sq);
    qp->rq = bench_mem(&g->node, rq);
    qp->sq_depth = sq_depth;
    qp->rq_depth = rq_depth;
    qp->qpn = command(g, "QP_CREATE", &cmd);
}

static void set_gid(BenchGuest *g, uint32_t side)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };
    ErnicGid gid = gid_of(side);

    cmd.set_gid.vlan = cpu_to_le16(ERNIC_NO_VLAN);
    memcpy(cmd.set_gid.gid, gid.raw, sizeof(gid.raw));
    command(g, "SET_GID", &cmd);
}

void bench_guest_init(BenchGuest *g, BenchWhich which, uint32_t side,
                      const char *folder, BenchPeer *own)
{
    bool shm = which == BENCH_SHM || which == BENCH_SHM_ICRC;
    bool few = which != BENCH_UDP_MANY;
    uint32_t num_qp = few ? BENCH_FEW : BENCH_MANY;
    uint32_t sq_depth = few ? BENCH_SQ_DEPTH : 1;
    uint32_t rq_depth = few ? BENCH_RQ_DEPTH : 1;
    uint64_t per_qp = (sq_depth * SQ_STRIDE + rq_depth * RQ_STRIDE + 8) * 64;
    struct ernic_cmd pd = { .opcode = ERNIC_CMD_PD_ALLOC };

    memset(g, 0, sizeof(*g));
    bench_node_init(&g->node, num_qp, num_qp * per_qp + (16u << 20), which,
                    shm ? folder : bench_host[side]);
    set_gid(g, side);
    g->pd = command(g, "PD_ALLOC", &pd);
    g->src = bench_alloc(&g->node, 2 * BENCH_MESSAGE_MAX, BENCH_MESSAGE_MAX);
    g->dst = g->src + BENCH_MESSAGE_MAX;
    g->key = reg_mr(g, g->src, 2 * BENCH_MESSAGE_MAX);
    create_cq(g, &g->scq, 1024);
    create_cq(g, &g->rcq, 1024);
    g->num_qp = num_qp;
    g->qp = g_new0(BenchQp, num_qp);
    for (uint32_t i = 0; i < num_qp; i++) {
        create_qp(g, &g->qp[i], sq_depth, rq_depth);
        own->qpn[i] = g->qp[i].qpn;
    }
    own->port = g->node.udp ? ernic_udp_port(g->node.udp) : 0;
    own->key = g->key;
    own->src = g->src;
    own->dst = g->dst;
}

void bench_guest_free(BenchGuest *g)
{
    bench_node_free(&g->node);
    g_free(g->qp);
}

static void modify(BenchGuest *g, const BenchQp *qp, uint64_t at,
                   const struct ernic_qp_attr *attr)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_MODIFY };

    cmd.qp = (struct ernic_cmd_qp) {
        .addr = cpu_to_le64(at), .length = cpu_to_le32(sizeof(*attr)),
        .handle = cpu_to_le32(qp->qpn),
    };
    memcpy(bench_mem(&g->node, at), attr, sizeof(*attr));
    command(g, "QP_MODIFY", &cmd);
}

static void connect_qp(BenchGuest *g, const BenchQp *qp, uint64_t at,
                       uint8_t mtu, uint32_t dest_qpn, uint32_t peer_side)
{
    struct ernic_qp_attr init = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE | ERNIC_QPA_PKEY_INDEX |
                            ERNIC_QPA_PORT | ERNIC_QPA_ACCESS),
        .state = ERNIC_QPS_INIT, .port = 1, .access = cpu_to_le32(REMOTE),
    };
    struct ernic_qp_attr rtr = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE | ERNIC_QPA_AV |
                            ERNIC_QPA_PATH_MTU | ERNIC_QPA_DEST_QPN |
                            ERNIC_QPA_RQ_PSN | ERNIC_QPA_MAX_DEST_RD_ATOMIC |
                            ERNIC_QPA_MIN_RNR_TIMER),
        .state = ERNIC_QPS_RTR, .path_mtu = mtu, .max_dest_rd_atomic = 16,
        .min_rnr_timer = 1, .dest_qpn = cpu_to_le32(dest_qpn),
        .av = { .hop_limit = 64 },
    };
    struct ernic_qp_attr rts = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE | ERNIC_QPA_SQ_PSN |
                            ERNIC_QPA_TIMEOUT | ERNIC_QPA_RETRY_CNT |
                            ERNIC_QPA_RNR_RETRY | ERNIC_QPA_MAX_RD_ATOMIC),
        .state = ERNIC_QPS_RTS, .timeout = TIMEOUT, .retry_cnt = 7,
        .rnr_retry = 7, .max_rd_atomic = 16,
    };
    ErnicGid gid = gid_of(peer_side);

    memcpy(rtr.av.dgid, gid.raw, sizeof(gid.raw));
    modify(g, qp, at, &init);
    modify(g, qp, at, &rtr);
    modify(g, qp, at, &rts);
}

static void add_peer(BenchGuest *g, uint32_t side, uint16_t port)
{
    char *text = g_strdup_printf("%s=%s:%u", gid_text[side], bench_host[side], port);
    char *err = NULL;

    if (!ernic_udp_add_peer(g->node.udp, text, &err)) {
        bench_die("%s", err);
    }
    g_free(text);
}

void bench_guest_connect(BenchGuest *g, uint32_t side, const BenchPeer *peer)
{
    uint64_t at = bench_alloc(&g->node, sizeof(struct ernic_qp_attr), 64);

    if (g->node.udp) {
        add_peer(g, side, ernic_udp_port(g->node.udp));
        add_peer(g, !side, peer->port);
    } else {
        ErnicGid gid = gid_of(side);

        ernic_shm_announce(g->node.shm, &gid, 1, true);
        bench_node_meet(&g->node);
    }
    for (uint32_t i = 0; i < g->num_qp; i++) {
        connect_qp(g, &g->qp[i], at, i == BENCH_QP_1024 ? MTU_1024 : MTU_4096,
                   peer->qpn[i], !side);
    }
}

/* ---- requests and completions -------------------------------------------------- */

void bench_post_send(BenchGuest *g, BenchQp *qp, uint8_t opcode, uint64_t addr,
                     uint32_t len, uint64_t raddr, uint32_t rkey)
{
    uint32_t slot = qp->sq_pi++ & (qp->sq_depth - 1);
    struct ernic_wqe *wqe = (void *)(qp->sq + slot * SQ_STRIDE * 64);
    struct ernic_sge *sge = (void *)(wqe + 1);

    memset(wqe, 0, sizeof(*wqe));
    wqe->opcode = opcode;
    wqe->flags = ERNIC_WR_SIGNALED;
    wqe->count = cpu_to_le16(1);
    wqe->wr_id = cpu_to_le64(qp->qpn);
    if (opcode != ERNIC_WR_SEND) {
        wqe->rdma.raddr = cpu_to_le64(raddr);
        wqe->rdma.rkey = cpu_to_le32(rkey);
    }
    sge->addr = cpu_to_le64(addr);
    sge->length = cpu_to_le32(len);
    sge->lkey = cpu_to_le32(g->key);
}

static void doorbell(BenchGuest *g, uint32_t kind, uint32_t queue, uint32_t index)
{
    uint8_t status = ernic_doorbell(g->node.e, g->node.now, 0,
                                    ERNIC_DB(kind, queue, index));

    if (status != ERNIC_OK) {
        bench_die("doorbell %u of queue %u: status %u", kind, queue, status);
    }
}

void bench_ring_sq(BenchGuest *g, const BenchQp *qp)
{
    doorbell(g, ERNIC_DB_SQ, qp->qpn, qp->sq_pi);
}

void bench_post_recv(BenchGuest *g, BenchQp *qp, uint64_t addr, uint32_t len)
{
    uint32_t slot = qp->rq_pi++ & (qp->rq_depth - 1);
    struct ernic_rwqe *wqe = (void *)(qp->rq + slot * RQ_STRIDE * 64);
    struct ernic_sge *sge = (void *)(wqe + 1);

    wqe->wr_id = cpu_to_le64(qp->qpn);
    wqe->num_sge = cpu_to_le16(1);
    sge->addr = cpu_to_le64(addr);
    sge->length = cpu_to_le32(len);
    sge->lkey = cpu_to_le32(g->key);
}

void bench_ring_rq(BenchGuest *g, const BenchQp *qp)
{
    doorbell(g, ERNIC_DB_RQ, qp->qpn, qp->rq_pi);
}

uint32_t bench_poll(BenchCq *cq, uint32_t max)
{
    uint32_t n = 0;

    while (n < max) {
        const struct ernic_cqe *cqe = &cq->ring[cq->ci & (cq->depth - 1)];
        bool round = cq->ci & cq->depth;

        if (!(cqe->flags & ERNIC_CQE_PHASE) != round) {
            break;
        }
        if (cqe->status != ERNIC_WC_SUCCESS) {
            bench_die("queue pair %u: completion status %u, fault %u",
                      le32_to_cpu(cqe->qpn), cqe->status, le32_to_cpu(cqe->vendor_err));
        }
        cq->ci++;
        n++;
    }
    if (n) {
        *cq->ci_mem = cpu_to_le32(cq->ci);
    }
    return n;
}

/* ---- payload ------------------------------------------------------------------- */

/* Each word differs, so that the check finds packets at a wrong place. */
static uint64_t pattern(uint32_t i, uint32_t seed)
{
    return (i + ((uint64_t)seed << 32) + 1) * 0x9e3779b97f4a7c15ull;
}

void bench_pattern_fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i += 8) {
        stq_le_p(buf + i, pattern(i, seed));
    }
}

bool bench_pattern_ok(const uint8_t *buf, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i += 8) {
        if (ldq_le_p(buf + i) != pattern(i, seed)) {
            return false;
        }
    }
    return true;
}
