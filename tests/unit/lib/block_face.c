/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The face of block_face.h: first the face itself, then its software.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "block_face.h"
#include "faces/verbs/qp_commands.h"
#include "objects/wq.h"
#include "transport/face_defaults.h"
#include "transport/qp.h"
#include "transport/raw.h"
#include "transport/sched.h"

static Block *block_of(const Ernic *e)
{
    return e->env;
}

/* ---- send queue ---------------------------------------------------------- */

static bool read_block(Ernic *e, const ErnicWq *wq, uint32_t unit, uint8_t *to)
{
    return ernic_buf_read(e, &wq->buf, (unit & (wq->depth - 1)) * BLOCK_BYTES, to,
                          BLOCK_BYTES);
}

/* Why the request cannot be executed; @posted blocks are in the ring. */
static ErnicFault decode(Ernic *e, ErnicQp *qp, uint32_t posted, ErnicWqe *wqe)
{
    uint8_t bytes[BLOCK_MOST * BLOCK_BYTES];
    BlockHead head;

    if (!read_block(e, &qp->sq.wq, qp->sq.taken, bytes)) {
        return ERNIC_FAULT_SEND_FETCH;
    }
    memcpy(&head, bytes, sizeof(head));
    wqe->wr_id = le64_to_cpu(head.wr_id);
    if (!head.blocks || head.blocks > BLOCK_MOST || head.blocks > posted ||
        (head.opcode != ERNIC_WR_SEND && head.opcode != ERNIC_WR_WRITE)) {
        return ERNIC_FAULT_SEND_WQE;
    }
    wqe->units = head.blocks;
    for (uint32_t i = 1; i < head.blocks; i++) {
        if (!read_block(e, &qp->sq.wq, qp->sq.taken + i, bytes + i * BLOCK_BYTES)) {
            return ERNIC_FAULT_SEND_FETCH;
        }
    }
    wqe->opcode = head.opcode;
    wqe->flags = head.flags & ERNIC_WR_INLINE;
    wqe->len = le32_to_cpu(head.len);
    wqe->raddr = le64_to_cpu(head.raddr);
    wqe->rkey = le32_to_cpu(head.rkey);
    if (wqe->flags) {
        if (wqe->len > ERNIC_MAX_INLINE || wqe->len > (head.blocks - 1) * BLOCK_BYTES) {
            return ERNIC_FAULT_SEND_WQE;
        }
        memcpy(wqe->data, bytes + BLOCK_BYTES, wqe->len);
    } else {
        wqe->num_sge = 1;
        wqe->sge[0] = (ErnicSge) {
            .addr = le64_to_cpu(head.addr), .len = wqe->len,
            .lkey = le32_to_cpu(head.lkey),
        };
    }
    return ERNIC_FAULT_NONE;
}

static bool block_fetch(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    uint32_t posted = qp->sq.wq.pi - qp->sq.taken;

    if (!posted) {
        return false;
    }
    memset(wqe, 0, offsetof(ErnicWqe, sge));
    wqe->opcode = ERNIC_WR_SEND;
    wqe->units = 1;
    wqe->fault = decode(e, qp, posted, wqe);
    return true;
}

static void block_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                ErnicFault fault)
{
    ErnicWc wc = {
        .wr_id = wqe->wr_id, .qpn = qp->qpn, .index = wqe->unit,
        .byte_len = wqe->len, .status = ernic_qp_fault_status(e, fault),
    };

    ernic_qp_post(e, qp->send_cq, &wc, ERNIC_AFTER_NOTHING);
}

/* ---- receive queues -------------------------------------------------------- */

static bool read_record(Ernic *e, uint64_t addr, uint16_t *record)
{
    if (!e->ops->dma_read(e->env, addr, record, sizeof(*record))) {
        return false;
    }
    *record = le16_to_cpu(*record);
    return true;
}

/* The request in slot @slot of @wq; false: it cannot be read. */
static bool read_recv(Ernic *e, const ErnicWq *wq, uint32_t slot, ErnicRecv *recv,
                      uint16_t *next)
{
    BlockRecv in;

    if (!ernic_buf_read(e, &wq->buf, (uint64_t)slot * wq->stride, &in, sizeof(in))) {
        return false;
    }
    *recv = (ErnicRecv) {
        .wr_id = le64_to_cpu(in.wr_id), .index = slot, .num_sge = 1,
        .len = le32_to_cpu(in.len),
        .sge[0] = {
            .addr = le64_to_cpu(in.addr), .len = le32_to_cpu(in.len),
            .lkey = le32_to_cpu(in.lkey),
        },
    };
    *next = le16_to_cpu(in.next);
    return true;
}

/* A record that claims more requests than fit into the ring posts nothing. */
static uint16_t posted(Ernic *e, uint64_t record, const ErnicWq *wq)
{
    uint16_t pi, n;

    if (!read_record(e, record, &pi)) {
        return 0;
    }
    n = pi - (uint16_t)wq->ci;
    return n <= wq->depth ? n : 0;
}

static bool take_own(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    ErnicWq *wq = &qp->rq.wq;
    uint16_t next;

    if (!posted(e, block_of(e)->rq_record[qp->qpn], wq)) {
        return false;
    }
    if (!read_recv(e, wq, wq->ci & (wq->depth - 1), recv, &next)) {
        *recv = (ErnicRecv) { .fault = ERNIC_FAULT_RECV_DMA };
    }
    wq->pi = ++wq->ci;
    return true;
}

static bool take_shared(Ernic *e, uint32_t srqn, ErnicRecv *recv)
{
    uint16_t *head = &block_of(e)->srq_head[srqn], next;
    ErnicSrq *srq = &e->srq[srqn];
    uint16_t left = posted(e, block_of(e)->srq_record[srqn], &srq->wq);

    if (srq->error || !left) {
        return false;
    }
    if (!read_recv(e, &srq->wq, *head, recv, &next) || next >= srq->wq.depth) {
        *recv = (ErnicRecv) { .fault = ERNIC_FAULT_RECV_DMA };
        ernic_srq_fail(e, srqn);
        return true;
    }
    *head = next;
    srq->wq.pi = ++srq->wq.ci;
    ernic_srq_check_limit(e, srqn, left - 1);
    return true;
}

static bool block_take_recv(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    uint32_t srq = ernic_qp_srq(qp);

    return srq ? take_shared(e, srq, recv) : take_own(e, qp, recv);
}

static void block_complete_recv(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                                ErnicWc *wc, ErnicFault fault)
{
    wc->wr_id = recv->wr_id;
    wc->index = recv->index;
    wc->qpn = qp->qpn;
    wc->flags = ERNIC_CQE_RQ;
    wc->status = ernic_qp_fault_status(e, fault);
    ernic_qp_post(e, qp->recv_cq, wc, ERNIC_AFTER_NOTHING);
}

/* ---- completions ------------------------------------------------------------- */

static void block_post(Ernic *e, uint32_t cqn, const ErnicWc *wc)
{
    Block *b = block_of(e);
    BlockCqe cqe = {
        .wr_id = cpu_to_le64(wc->wr_id), .qpn = cpu_to_le32(wc->qpn),
        .byte_len = cpu_to_le32(wc->byte_len), .counter = cpu_to_le16(wc->index),
        .status = wc->status, .recv = wc->flags & ERNIC_CQE_RQ ? 1 : 0,
    };

    g_assert_cmpuint(b->cq_pi - b->cq_ci, <, BLOCK_CQ_DEPTH);
    g_assert_true(e->ops->dma_write(e->env, b->cq + b->cq_pi % BLOCK_CQ_DEPTH *
                                    sizeof(cqe), &cqe, sizeof(cqe)));
    b->cq_pi++;
}

const ErnicFaceOps block_face = {
    .keys = &ernic_mr_keys,
    .cqes = &ernic_cqe_verbs,
    .eqs = &ernic_eqs_verbs,
    .recv_requests = true,
    .send_queue_error = true,
    .flush_poll = BLOCK_POLL,
    .fetch = block_fetch,
    .complete_send = block_complete_send,
    .datagram = ernic_face_default_datagram,
    .gather = ernic_face_default_gather,
    .outstanding = ernic_face_default_outstanding,
    .retry_forever = ernic_face_default_retry_forever,
    .take_recv = block_take_recv,
    .complete_recv = block_complete_recv,
    .recv_head = ernic_face_default_recv_head,
    .ack_delay = ernic_face_default_ack_delay,
    .post = block_post,
    .wants_frame = ernic_raw_wants,
    .take_frame = ernic_raw_frame,
    .pkey = ernic_face_default_pkey,
    .pkey_ok = ernic_face_default_pkey_ok,
    .sent = ernic_face_default_sent,
    .pressed = ernic_face_default_pressed,
    .check_packet = ernic_face_default_check_packet,
    .came = ernic_face_default_came,
    .refused = ernic_face_default_refused,
    .marked = ernic_face_default_marked,
    .cnp = ernic_face_default_cnp,
    .fault_code = ernic_face_default_fault_code,
    .fatal = ernic_face_default_fatal,
};

/* The doorbell of a send queue, as a register write would bring it. */
uint8_t block_ring(Block *b, uint32_t qpn, uint16_t pi)
{
    ErnicQp *qp = &b->e->qp[qpn];
    ErnicWq *wq = &qp->sq.wq;
    uint8_t status = ernic_wq_produce(wq, ernic_sq_done(&qp->sq),
                                      wq->pi + (uint16_t)(pi - (uint16_t)wq->pi));

    ernic_sched_mark(b->e, qp);
    fake_run(b->e);
    return status;
}

/* ---- software ---------------------------------------------------------------- */

void block_init(Block *b, uint8_t host)
{
    FakeCq cq;
    ErnicConfig cfg;

    memset(b, 0, sizeof(*b));
    fake_env_init(&b->env);
    fake_config(&cfg);
    cfg.face = &block_face;
    b->e = ernic_new(&cfg, &fake_env_ops, &b->env);
    ernic_set_link(b->e, b->env.now, true);
    fake_set_gid(b->e, 0, host);
    b->pd = fake_create_pd(b->e);
    fake_create_eq(b->e, &b->eq, 16, 0, true);
    fake_create_cq(b->e, &cq, 16, FAKE_NONE);
    b->cqn = cq.cqn;
    b->cq = fake_alloc(&b->env, BLOCK_CQ_DEPTH * sizeof(BlockCqe), 64);
    b->mem = fake_alloc(&b->env, BLOCK_MEM, 4096);
    b->key = fake_reg_mr(b->e, b->pd, b->mem, BLOCK_MEM,
                         ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE);
    for (uint32_t i = 0; i < G_N_ELEMENTS(b->rq_record); i++) {
        b->rq_record[i] = fake_alloc(&b->env, 8, 8);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(b->srq_record); i++) {
        b->srq_record[i] = fake_alloc(&b->env, 8, 8);
    }
}

void block_done(Block *b)
{
    fake_ernic_done(&b->env, b->e);
}

void block_create_qp(Block *b, BlockQp *qp, const BlockSrq *srq)
{
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(b->pd), .send_cq = cpu_to_le32(b->cqn),
        .recv_cq = cpu_to_le32(b->cqn), .type = ERNIC_QPT_RC,
        .srq = cpu_to_le32(srq ? srq->srq.srqn : FAKE_NONE),
        .sq_depth = cpu_to_le32(BLOCK_DEPTH), .sq_stride = 1,
    };
    uint8_t status;

    *qp = (BlockQp) {
        .sq = fake_alloc(&b->env, BLOCK_DEPTH * BLOCK_BYTES, 4096),
        .rq = fake_alloc(&b->env, BLOCK_RQ_DEPTH * BLOCK_BYTES, 4096),
    };
    init.sq_buf.addr = cpu_to_le64(qp->sq);
    if (!srq) {
        init.rq_buf.addr = cpu_to_le64(qp->rq);
        init.rq_depth = cpu_to_le32(BLOCK_RQ_DEPTH);
        init.rq_stride = 1;
    }
    status = ernic_qp_create(b->e, 0, &init, &qp->qpn);
    g_assert_cmpuint(status, ==, ERNIC_OK);
}

void block_create_srq(Block *b, BlockSrq *srq)
{
    memset(srq, 0, sizeof(*srq));
    fake_create_srq(b->e, &srq->srq, b->pd, BLOCK_SRQ_DEPTH, 0);
}

void block_write(Block *b, BlockQp *qp, const BlockHead *head, const void *bytes)
{
    uint32_t len = le32_to_cpu(head->len), i;
    uint8_t block[BLOCK_BYTES];

    for (i = 0; i < head->blocks; i++, qp->sq_pi++) {
        uint32_t from = (i - 1) * BLOCK_BYTES;

        memset(block, 0xee, sizeof(block));
        if (!i) {
            memcpy(block, head, sizeof(*head));
        } else if ((head->flags & ERNIC_WR_INLINE) && from < len) {
            memcpy(block, (const uint8_t *)bytes + from, MIN(len - from, BLOCK_BYTES));
        }
        memcpy(fake_ptr(&b->env, qp->sq + qp->sq_pi % BLOCK_DEPTH * BLOCK_BYTES,
                        BLOCK_BYTES), block, sizeof(block));
    }
}

static void write_recv(Block *b, uint64_t slot, uint64_t wr_id, uint64_t addr,
                       uint32_t len, uint16_t next)
{
    BlockRecv recv = {
        .wr_id = cpu_to_le64(wr_id), .addr = cpu_to_le64(addr),
        .len = cpu_to_le32(len), .lkey = cpu_to_le32(b->key),
        .next = cpu_to_le16(next),
    };

    memcpy(fake_ptr(&b->env, slot, sizeof(recv)), &recv, sizeof(recv));
}

static void write_record(Block *b, uint64_t at, uint16_t value)
{
    value = cpu_to_le16(value);
    memcpy(fake_ptr(&b->env, at, sizeof(value)), &value, sizeof(value));
}

void block_write_recv(Block *b, BlockQp *qp, uint64_t addr, uint32_t len)
{
    write_recv(b, qp->rq + qp->rq_pi % BLOCK_RQ_DEPTH * BLOCK_BYTES, qp->rq_pi, addr,
               len, 0xffff);
    qp->rq_pi++;
}

void block_record(Block *b, const BlockQp *qp, uint16_t pi)
{
    write_record(b, b->rq_record[qp->qpn], pi);
}

void block_post_srq(Block *b, BlockSrq *srq, uint64_t addr, uint32_t len, uint16_t next)
{
    write_recv(b, srq->srq.buf + srq->tail * srq->srq.stride, srq->tail, addr, len, next);
    srq->tail = next;
    write_record(b, b->srq_record[srq->srq.srqn], ++srq->pi);
}

bool block_poll(Block *b, BlockCqe *cqe)
{
    uint64_t at = b->cq + b->cq_ci % BLOCK_CQ_DEPTH * sizeof(*cqe);

    if (b->cq_ci == b->cq_pi) {
        return false;
    }
    memcpy(cqe, fake_ptr(&b->env, at, sizeof(*cqe)), sizeof(*cqe));
    b->cq_ci++;
    cqe->wr_id = le64_to_cpu(cqe->wr_id);
    cqe->qpn = le32_to_cpu(cqe->qpn);
    cqe->byte_len = le32_to_cpu(cqe->byte_len);
    cqe->counter = le16_to_cpu(cqe->counter);
    return true;
}
