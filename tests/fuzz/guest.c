/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest software of a fuzzed engine: objects, rings and books.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/fault.h"
#include "guest.h"
#include "objects/cq.h"
#include "transport/qp.h"

/* ---- objects ---------------------------------------------------------- */

uint64_t guest_alloc(Guest *g, uint64_t bytes, uint8_t may)
{
    uint64_t addr = fake_alloc(&g->h.env, bytes, 64);

    g_assert(addr + bytes <= g->h.env.base + FUZZ_MEM);
    fuzz_paint(&g->h, addr, bytes, may);
    return addr;
}

uint64_t guest_buffer(Guest *g)
{
    for (uint32_t i = 0; i < GUEST_POOL; i++) {
        if (!g->pool_busy[i]) {
            return g->pool + i * GUEST_BUF;
        }
    }
    return 0;
}

/* The device may do @may with a buffer, or no longer. */
static void lend(Guest *g, uint64_t addr, uint32_t len, uint8_t may)
{
    if (may) {
        fuzz_paint(&g->h, addr, len, may);
        if (addr - g->pool < GUEST_POOL * GUEST_BUF) {
            g->pool_busy[(addr - g->pool) / GUEST_BUF] = true;
        }
    }
}

static void take_back(Guest *g, uint64_t addr, uint32_t len, uint8_t may)
{
    if (may) {
        fuzz_unpaint(&g->h, addr, len, may);
        if (addr - g->pool < GUEST_POOL * GUEST_BUF) {
            g->pool_busy[(addr - g->pool) / GUEST_BUF] = false;
        }
    }
}

static void release(Guest *g, GuestReq *req)
{
    take_back(g, req->addr, req->len, req->paint);
    req->state = GUEST_DONE;
    req->paint = 0;
}

static void paint_ring(Guest *g, uint64_t addr, uint64_t bytes, uint8_t may)
{
    g_assert(addr + bytes <= g->h.env.base + FUZZ_MEM);
    fuzz_paint(&g->h, addr, bytes, may);
}

void guest_open(Guest *g, uint8_t number, uint32_t run_write, uint32_t run_read)
{
    FuzzHost h = g->h;

    memset(g, 0, sizeof(*g));
    g->h = h;
    g->number = number;
    g->arm = ERNIC_DB_CQ_ARM;
    fuzz_open(&g->h, number);
    g->h.run_write = run_write;
    g->h.run_read = run_read;
    for (uint32_t i = 0; i < ARRAY_SIZE(g->eq); i++) {
        fake_create_eq(g->h.e, &g->eq[i], GUEST_EQ_DEPTH, i, i == 0);
        paint_ring(g, g->eq[i].buf, GUEST_EQ_DEPTH * sizeof(struct ernic_eqe),
                   FUZZ_RING);
    }
    g->pool = guest_alloc(g, GUEST_POOL * GUEST_BUF, 0);
}

uint32_t guest_create_cq(Guest *g, uint32_t uctx)
{
    uint32_t n = g->cqs++;

    g->h.env.uctx = uctx;
    fake_create_cq(g->h.e, &g->cq[n], GUEST_CQ_DEPTH, g->eq[1].eqn);
    g->h.env.uctx = 0;
    g->uctx_of_cq[n] = uctx;
    paint_ring(g, g->cq[n].buf, GUEST_CQ_DEPTH * sizeof(struct ernic_cqe),
               FUZZ_RING);
    return n;
}

static void open_srq(Guest *g, GuestSrq *srq)
{
    paint_ring(g, srq->q.buf, GUEST_DEPTH * GUEST_STRIDE, FUZZ_QUEUE);
    srq->wq.kind = ERNIC_DB_SRQ;
    srq->wq.number = srq->q.srqn;
    srq->wq.ring = srq->q.buf;
}

void guest_create_srq(Guest *g, uint32_t pd)
{
    GuestSrq *srq = &g->srq[GUEST_SRQ];

    fake_create_srq(g->h.e, &srq->q, pd, GUEST_DEPTH, 2);
    open_srq(g, srq);
}

void guest_create_xrc(Guest *g, uint32_t pd, uint32_t cq)
{
    GuestSrq *srq = &g->srq[GUEST_XRC_SRQ];

    g->xrcd = fake_create_pd(g->h.e);
    fake_create_xrc_srq(g->h.e, &srq->q, pd, GUEST_DEPTH, g->xrcd, g->cq[cq].cqn);
    open_srq(g, srq);
}

GuestWq *guest_rq(Guest *g, GuestQp *qp)
{
    return qp->srq == GUEST_NO_SRQ ? &qp->rq : &g->srq[qp->srq].wq;
}

/* An XRC target has a domain and nothing else. */
static void fill_init(const Guest *g, const GuestQp *qp, struct ernic_qp_init *init)
{
    bool sends = qp->q.sq_depth, receives = qp->q.rq_depth;

    init->pd = cpu_to_le32(qp->q.pd);
    init->srq = cpu_to_le32(qp->srq == GUEST_SRQ ? g->srq[GUEST_SRQ].q.srqn :
                                                   FAKE_NONE);
    init->sq_buf.addr = cpu_to_le64(qp->q.sq_buf);
    init->rq_buf.addr = cpu_to_le64(qp->q.rq_buf);
    init->sq_depth = cpu_to_le32(qp->q.sq_depth);
    init->rq_depth = cpu_to_le32(qp->q.rq_depth);
    init->sq_stride = sends ? GUEST_STRIDE / 64 : 0;
    init->rq_stride = receives ? GUEST_STRIDE / 64 : 0;
    init->send_cq = cpu_to_le32(sends ? g->cq[qp->cq].cqn : 0);
    init->recv_cq = cpu_to_le32(receives || qp->srq == GUEST_SRQ ?
                                g->cq[qp->cq].cqn : 0);
}

uint32_t guest_create_qp(Guest *g, uint8_t type, uint32_t pd, uint32_t cq,
                         bool srq, uint8_t flags)
{
    GuestQp *qp = &g->qp[g->qps];
    struct ernic_qp_init init = { .type = type, .flags = flags };
    bool target = type == ERNIC_QPT_XRC_TGT;
    bool sends = !target && type != ERNIC_QPT_RWQ;
    bool receives = !srq && !target && type != ERNIC_QPT_XRC_INI;
    uint8_t status;

    *qp = (GuestQp) {
        .used = true, .cq = cq, .uctx = g->uctx_of_cq[cq],
        .srq = target ? GUEST_XRC_SRQ : srq ? GUEST_SRQ : GUEST_NO_SRQ,
        .q = { .pd = target ? g->xrcd : pd, .type = type,
               .sq_depth = sends ? GUEST_DEPTH : 0,
               .rq_depth = receives ? GUEST_DEPTH : 0,
               .sq_stride = GUEST_STRIDE, .rq_stride = GUEST_STRIDE },
    };
    if (sends) {
        qp->q.sq_buf = guest_alloc(g, GUEST_DEPTH * GUEST_STRIDE, FUZZ_QUEUE);
    }
    if (receives) {
        qp->q.rq_buf = guest_alloc(g, GUEST_DEPTH * GUEST_STRIDE, FUZZ_QUEUE);
    }
    fill_init(g, qp, &init);
    g->h.env.uctx = qp->uctx;
    status = fake_pass(g->h.e, ERNIC_CMD_QP_CREATE, 0, &init, sizeof(init), &qp->q.qpn);
    g->h.env.uctx = 0;
    g_assert_cmpuint(status, ==, ERNIC_OK);
    qp->sq = (GuestWq) { ERNIC_DB_SQ, qp->q.qpn, qp->uctx, qp->q.sq_buf };
    qp->rq = (GuestWq) { ERNIC_DB_RQ, qp->q.qpn, qp->uctx, qp->q.rq_buf };
    return g->qps++;
}

void guest_connect(Guest *g, uint32_t n, uint8_t state,
                   const struct ernic_qp_attr *attr)
{
    g->h.env.uctx = g->qp[n].uctx;
    fake_qp_to(g->h.e, &g->qp[n].q, state, attr);
    g->h.env.uctx = 0;
}

/* ---- posting ---------------------------------------------------------- */

static GuestReq *req_of(GuestWq *wq, uint32_t index)
{
    return &wq->req[index % ARRAY_SIZE(wq->req)];
}

bool guest_has_room(const GuestWq *wq, uint32_t index)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(wq->req); i++) {
        if (wq->req[i].state == GUEST_POSTED &&
            wq->req[i].index % GUEST_DEPTH == index % GUEST_DEPTH) {
            return false;
        }
    }
    return true;
}

void guest_write_slot(Guest *g, GuestWq *wq, uint32_t index, const void *data,
                      uint32_t len)
{
    uint8_t *at;

    if (!wq->ring) {
        return;
    }
    at = fake_ptr(&g->h.env, wq->ring + index % GUEST_DEPTH * GUEST_STRIDE,
                  GUEST_STRIDE);
    memset(at, 0, GUEST_STRIDE);
    memcpy(at, data, MIN(len, GUEST_STRIDE));
    /* The result of a posted request that is overwritten is unknown. */
    for (uint32_t i = 0; i < ARRAY_SIZE(wq->req); i++) {
        wq->req[i].loose |= wq->req[i].state == GUEST_POSTED &&
                            wq->req[i].index % GUEST_DEPTH == index % GUEST_DEPTH;
    }
}

/* The engine has taken the counter @pi: what is new is posted. */
static void accept(Guest *g, GuestWq *wq, uint32_t pi)
{
    bool send = wq->kind == ERNIC_DB_SQ;
    bool sig_all = send && (g->h.e->qp[wq->number].flags & ERNIC_QPF_SQ_SIG_ALL);

    if (pi - wq->pi > (wq->ring ? GUEST_DEPTH : 0)) {
        fuzz_fail("doorbell", "counter 0x%x accepted after 0x%x", pi, wq->pi);
    }
    for (; wq->pi != pi; wq->pi++) {
        const uint8_t *slot = fake_ptr(&g->h.env, wq->ring + wq->pi % GUEST_DEPTH *
                                       GUEST_STRIDE, GUEST_STRIDE);

        *req_of(wq, wq->pi) = (GuestReq) {
            .index = wq->pi, .state = GUEST_POSTED,
            .wr_id = ldq_le_p(slot + (send ? 8 : 0)),
            .may_skip = send && !sig_all && !(slot[1] & ERNIC_WR_SIGNALED),
        };
    }
}

uint8_t guest_ring(Guest *g, GuestWq *wq, uint32_t index, uint64_t addr,
                   uint32_t len, uint8_t paint)
{
    uint32_t before = wq->pi;
    uint8_t status;

    lend(g, addr, len, paint);
    status = fuzz_doorbell(&g->h, wq->uctx, ERNIC_DB(wq->kind, wq->number, index),
                           FUZZ_QUEUE);
    status = fuzz_break("doorbell") ? ERNIC_OK : status;
    if (status == ERNIC_OK) {
        accept(g, wq, index);
    }
    if (status == ERNIC_OK && wq->pi != before) {
        GuestReq *req = req_of(wq, index - 1);

        req->addr = addr;
        req->len = len;
        req->paint = paint;
    } else {
        take_back(g, addr, len, paint);
    }
    return status;
}

/* ---- completions and events ------------------------------------------- */

static GuestQp *find_qp(Guest *g, uint32_t qpn)
{
    for (uint32_t i = 0; i < g->qps; i++) {
        if (g->qp[i].used && g->qp[i].q.qpn == qpn) {
            return &g->qp[i];
        }
    }
    fuzz_fail("completion", "of queue pair 0x%x, which is not there", qpn);
}

/* A request that could not be read has no wr_id that anyone knows. */
static bool knows_wr_id(const Guest *g, const GuestReq *req,
                        const struct ernic_cqe *cqe)
{
    return !req->loose && !(g->faulty && cqe->status && cqe->wr_id == 0);
}

static void complete(Guest *g, GuestWq *wq, const struct ernic_cqe *cqe,
                     bool ordered, bool gaps)
{
    GuestReq *req = req_of(wq, cqe->index);

    if (req->index != cqe->index || req->state != GUEST_POSTED) {
        fuzz_fail("completion", "index 0x%x of queue pair 0x%x: %s",
                  cqe->index, cqe->qpn,
                  req->index == cqe->index && req->state == GUEST_DONE ?
                  "completed before" : "never posted");
    }
    if (knows_wr_id(g, req, cqe) && req->wr_id != cqe->wr_id) {
        fuzz_fail("completion", "index 0x%x with wr_id 0x%" PRIx64
                  ", not 0x%" PRIx64, cqe->index, cqe->wr_id, req->wr_id);
    }
    if (ordered && (gaps ? (int32_t)(cqe->index - wq->next) < 0 :
                           cqe->index != wq->next)) {
        fuzz_fail("order", "index 0x%x of queue pair 0x%x, expected 0x%x",
                  cqe->index, cqe->qpn, wq->next);
    }
    for (uint32_t i = wq->next; ordered && i != cqe->index; i++) {
        if (req_of(wq, i)->state == GUEST_POSTED && !req_of(wq, i)->may_skip &&
            !req_of(wq, i)->loose) {
            fuzz_fail("order", "index 0x%x of queue pair 0x%x was passed over",
                      i, cqe->qpn);
        }
        release(g, req_of(wq, i));
    }
    wq->next = cqe->index + 1;
    release(g, req);
}

static void check_cqe(Guest *g, const struct ernic_cqe *cqe)
{
    GuestQp *qp = find_qp(g, cqe->qpn);

    for (uint32_t i = 0; i < sizeof(cqe->reserved); i++) {
        if (cqe->reserved[i]) {
            fuzz_fail("completion", "reserved byte %u", i);
        }
    }
    if (cqe->status >= ERNIC_WC_STATUS_COUNT ||
        cqe->opcode >= ERNIC_WC_OPCODE_COUNT ||
        cqe->vendor_err >= ERNIC_FAULT_COUNT ||
        !cqe->status != !cqe->vendor_err) {
        fuzz_fail("completion", "status %u opcode %u fault %u", cqe->status,
                  cqe->opcode, cqe->vendor_err);
    }
    if ((cqe->flags & ERNIC_CQE_INV) && g->taken_back) {
        g->taken_back(g, ldl_le_p(cqe->imm));
    }
    if (!(cqe->flags & ERNIC_CQE_RQ)) {
        complete(g, &qp->sq, cqe, true, true);
    } else {
        complete(g, guest_rq(g, qp), cqe, qp->srq == GUEST_NO_SRQ, false);
    }
}

static void poll_eq(Guest *g, FakeEq *eq)
{
    struct ernic_eqe eqe;
    uint32_t before = eq->ci;

    while (fake_poll_eq(g->h.e, eq, &eqe)) {
        if (fuzz_break("event")) {
            eqe.type = ERNIC_EV_COUNT;
        }
        if (eqe.type >= ERNIC_EV_COUNT || eq->ci - before > eq->depth) {
            fuzz_fail("event", "type %u, %u at once", eqe.type,
                      eq->ci - before);
        }
    }
    if (eq->ci != before) {
        fuzz_doorbell(&g->h, 0, ERNIC_DB(ERNIC_DB_EQ, eq->eqn, eq->ci), 0);
    }
}

static void poll_cq(Guest *g, uint32_t n)
{
    FakeCq *cq = &g->cq[n];
    uint32_t before = cq->ci;
    struct ernic_cqe cqe, first;
    bool held = false;          /* only to break the check of the order */

    while (fake_poll_cq(g->h.e, cq, &cqe)) {
        if (fuzz_break("lost")) {
            continue;
        }
        if (fuzz_break("order") && !held) {
            first = cqe;
            held = true;
            continue;
        }
        check_cqe(g, &cqe);
        if (held || fuzz_break("completion")) {
            check_cqe(g, held ? &first : &cqe);
            held = false;
        }
        if (cq->ci - before > cq->depth) {
            fuzz_fail("completion", "more than the ring holds");
        }
    }
    if (held) {
        check_cqe(g, &first);
    }
    if (cq->ci != before) {
        fuzz_doorbell(&g->h, g->uctx_of_cq[n],
                      ERNIC_DB(g->arm, cq->cqn, cq->ci), 0);
    }
    g->overrun[n] |= g->h.e->cq[cq->cqn].overrun;
}

void guest_poll(Guest *g)
{
    for (uint32_t i = 0; i < g->cqs; i++) {
        const ErnicCq *cq = &g->h.e->cq[g->cq[i].cqn];

        if (cq->pi - g->cq[i].ci > cq->depth || fuzz_break("room")) {
            fuzz_fail("room", "%u completions in a ring of %u",
                      cq->pi - g->cq[i].ci, cq->depth);
        }
        if (!g->lazy) {
            poll_cq(g, i);
        }
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(g->eq); i++) {
        poll_eq(g, &g->eq[i]);
    }
}

/* ---- states ----------------------------------------------------------- */

static void forget(Guest *g, GuestWq *wq)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(wq->req); i++) {
        release(g, &wq->req[i]);
    }
    *wq = (GuestWq) { wq->kind, wq->number, wq->uctx, wq->ring };
}

uint8_t guest_modify(Guest *g, GuestQp *qp, uint32_t mask, uint8_t state,
                     const struct ernic_qp_attr *attr)
{
    bool lazy = g->lazy;
    uint8_t status;

    /* Its completions are read before its counters start again. */
    if (state == ERNIC_QPS_RESET) {
        g->lazy = false;
        guest_poll(g);
        g->lazy = lazy;
    }
    g->h.env.uctx = qp->uctx;
    status = fake_modify_qp(g->h.e, qp->q.qpn, mask, state, attr);
    g->h.env.uctx = 0;
    if (status == ERNIC_OK && (mask & ERNIC_QPA_STATE) &&
        state == ERNIC_QPS_RESET) {
        forget(g, &qp->sq);
        forget(g, &qp->rq);
    }
    return status;
}

static void must_be_done(Guest *g, GuestQp *qp, GuestWq *wq, const char *which)
{
    for (uint32_t i = wq->next; i != wq->pi; i++) {
        const GuestReq *req = req_of(wq, i);

        if (req->state == GUEST_POSTED && !req->may_skip && !req->loose) {
            fuzz_fail("lost", "%s index 0x%x of queue pair 0x%x never "
                      "completed", which, i, qp->q.qpn);
        }
    }
}

static void tune_gid(Guest *g, struct ernic_cmd *cmd, uint8_t index, bool take)
{
    cmd->opcode = ERNIC_CMD_SET_GID;
    cmd->set_gid.index = index;
    if (take) {
        return;
    }
    if (index) {
        fuzz_gid6(cmd->set_gid.gid, g->number);
    } else {
        fake_gid(cmd->set_gid.gid, g->number);
    }
    cmd->set_gid.vlan = cpu_to_le16(0xffff);
}

void guest_tune(Guest *g, uint8_t what, uint8_t a, uint16_t b)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_NOP };

    switch (what % GUEST_TUNES) {
    case GUEST_GID:
        tune_gid(g, &cmd, a & 1, b & 1);
        break;
    case GUEST_MODERATE:
        cmd.opcode = ERNIC_CMD_CQ_MODERATE;
        cmd.uctx = cpu_to_le32(g->uctx_of_cq[a % g->cqs]);
        cmd.cq_moderate.handle = cpu_to_le32(g->cq[a % g->cqs].cqn);
        cmd.cq_moderate.count = cpu_to_le16(b & 0xff);
        cmd.cq_moderate.period_us = cpu_to_le16(b >> 8);
        break;
    case GUEST_PKEY:
        cmd.opcode = ERNIC_CMD_SET_PKEY;
        cmd.set_pkey.index = cpu_to_le16(a % 4);
        cmd.set_pkey.pkey = cpu_to_le16(b);
        break;
    case GUEST_LIMIT:
        cmd.opcode = ERNIC_CMD_SRQ_MODIFY;
        cmd.srq.handle = cpu_to_le32(g->srq[GUEST_SRQ].q.srqn);
        cmd.srq.limit = cpu_to_le32(b);
        break;
    default:
        g->arm = ERNIC_DB_CQ + a % 3;
        break;
    }
    fuzz_cmd_within(&g->h, &cmd, NULL, FUZZ_RING);
}

void guest_finish(Guest *g)
{
    g->lazy = false;
    g->h.run_read = FUZZ_ALL;
    for (uint32_t i = 0; i < g->qps; i++) {
        guest_modify(g, &g->qp[i], ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL);
        for (uint32_t rounds = 0; rounds < 8; rounds++) {
            bool idle = fuzz_settle(&g->h, 4);

            guest_poll(g);
            fake_lose_trains(&g->h.env);
            if (idle) {
                break;
            }
        }
    }
    fuzz_check(&g->h);
    for (uint32_t i = 0; i < g->qps; i++) {
        GuestQp *qp = &g->qp[i];

        if (g->h.e->qp[qp->q.qpn].state == ERNIC_QPS_ERR &&
            !g->overrun[qp->cq]) {
            must_be_done(g, qp, &qp->sq, "send");
            must_be_done(g, qp, &qp->rq, "receive");
        }
    }
}
