/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest software for tests: requests into rings, doorbells, entries out.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fake_verbs.h"

static uint8_t doorbell(Ernic *e, enum ernic_db_kind kind, uint32_t queue, uint32_t index)
{
    FakeEnv *env = fake_env_of(e);

    return ernic_doorbell(e, env->now, env->uctx, ERNIC_DB(kind, queue, index));
}

static void must_ring(Ernic *e, enum ernic_db_kind kind, uint32_t queue, uint32_t index)
{
    g_assert_cmpuint(doorbell(e, kind, queue, index), ==, ERNIC_OK);
}

/* The phase that entry @ci of a ring of @depth is written with. */
static uint8_t phase_of(uint32_t ci, uint32_t depth)
{
    return !(ci / depth & 1);
}

/* ---- completions and events --------------------------------------------- */

bool fake_poll_eq(Ernic *e, FakeEq *eq, struct ernic_eqe *eqe)
{
    uint64_t at = eq->buf + eq->ci % eq->depth * sizeof(*eqe);

    memcpy(eqe, fake_ptr(fake_env_of(e), at, sizeof(*eqe)), sizeof(*eqe));
    if (eqe->phase != phase_of(eq->ci, eq->depth)) {
        return false;
    }
    eqe->element = le32_to_cpu(eqe->element);
    eqe->detail = le32_to_cpu(eqe->detail);
    eqe->timestamp = le64_to_cpu(eqe->timestamp);
    eq->ci++;
    return true;
}

void fake_ring_eq(Ernic *e, const FakeEq *eq)
{
    must_ring(e, ERNIC_DB_EQ, eq->eqn, eq->ci);
}

bool fake_poll_cq(Ernic *e, FakeCq *cq, struct ernic_cqe *cqe)
{
    uint64_t at = cq->buf + (uint64_t)(cq->ci % cq->depth) * sizeof(*cqe);

    memcpy(cqe, fake_ptr(fake_env_of(e), at, sizeof(*cqe)), sizeof(*cqe));
    if ((cqe->flags & ERNIC_CQE_PHASE) != phase_of(cq->ci, cq->depth)) {
        return false;
    }
    cqe->wr_id = le64_to_cpu(cqe->wr_id);
    cqe->qpn = le32_to_cpu(cqe->qpn);
    cqe->byte_len = le32_to_cpu(cqe->byte_len);
    cqe->src_qp = le32_to_cpu(cqe->src_qp);
    cqe->index = le32_to_cpu(cqe->index);
    cqe->vendor_err = le32_to_cpu(cqe->vendor_err);
    cqe->timestamp = le64_to_cpu(cqe->timestamp);
    cqe->vlan = le16_to_cpu(cqe->vlan);
    cqe->pkey_index = le16_to_cpu(cqe->pkey_index);
    cq->ci++;
    return true;
}

void fake_ring_cq(Ernic *e, const FakeCq *cq)
{
    must_ring(e, ERNIC_DB_CQ, cq->cqn, cq->ci);
}

void fake_arm_cq(Ernic *e, const FakeCq *cq, bool solicited)
{
    must_ring(e, solicited ? ERNIC_DB_CQ_ARM_SOLICITED : ERNIC_DB_CQ_ARM,
              cq->cqn, cq->ci);
}

/* ---- requests ----------------------------------------------------------- */

uint64_t fake_sq_slot(const FakeQp *qp, uint32_t index)
{
    return qp->sq_buf + (uint64_t)(index % qp->sq_depth) * qp->sq_stride;
}

uint64_t fake_rq_slot(const FakeQp *qp, uint32_t index)
{
    return qp->rq_buf + (uint64_t)(index % qp->rq_depth) * qp->rq_stride;
}

void fake_post_send(Ernic *e, FakeQp *qp, const struct ernic_wqe *wqe, const void *seg)
{
    uint32_t count = le16_to_cpu(wqe->count);
    size_t bytes = wqe->flags & ERNIC_WR_INLINE
                   ? count : count * sizeof(struct ernic_sge);
    uint8_t *slot = fake_ptr(fake_env_of(e), fake_sq_slot(qp, qp->sq_pi), qp->sq_stride);

    g_assert_cmpuint(sizeof(*wqe) + bytes, <=, qp->sq_stride);
    memset(slot, 0, qp->sq_stride);
    memcpy(slot, wqe, sizeof(*wqe));
    if (bytes) {
        memcpy(slot + sizeof(*wqe), seg, bytes);
    }
    qp->sq_pi++;
}

static void put_recv(FakeEnv *env, uint64_t slot, uint32_t stride,
                     uint64_t wr_id, const struct ernic_sge *sge, uint16_t num_sge)
{
    struct ernic_rwqe head = {
        .wr_id = cpu_to_le64(wr_id),
        .num_sge = cpu_to_le16(num_sge),
    };
    uint8_t *at = fake_ptr(env, slot, stride);

    g_assert_cmpuint(sizeof(head) + num_sge * sizeof(*sge), <=, stride);
    memset(at, 0, stride);
    memcpy(at, &head, sizeof(head));
    if (num_sge) {
        memcpy(at + sizeof(head), sge, num_sge * sizeof(*sge));
    }
}

void fake_post_recv(Ernic *e, FakeQp *qp, uint64_t wr_id,
                    const struct ernic_sge *sge, uint16_t num_sge)
{
    put_recv(fake_env_of(e), fake_rq_slot(qp, qp->rq_pi), qp->rq_stride,
             wr_id, sge, num_sge);
    qp->rq_pi++;
}

void fake_post_srq(Ernic *e, FakeSrq *srq, uint64_t wr_id,
                   const struct ernic_sge *sge, uint16_t num_sge)
{
    uint64_t slot = srq->buf + (uint64_t)(srq->pi % srq->depth) * srq->stride;

    put_recv(fake_env_of(e), slot, srq->stride, wr_id, sge, num_sge);
    srq->pi++;
}

/* Write @pi to the record at @at; whether the request to ring is one that it passes. */
static bool post(Ernic *e, uint64_t at, uint32_t pi)
{
    struct ernic_record *record = fake_ptr(fake_env_of(e), at, sizeof(*record));
    uint32_t before = le32_to_cpu(record->pi);

    record->pi = cpu_to_le32(pi);
    return le32_to_cpu(record->wake) - before < pi - before;
}

uint8_t fake_ring_sq(Ernic *e, const FakeQp *qp)
{
    return qp->sq_record && !post(e, qp->sq_record, qp->sq_pi) ? ERNIC_OK :
           doorbell(e, ERNIC_DB_SQ, qp->qpn, qp->sq_pi);
}

uint8_t fake_ring_rq(Ernic *e, const FakeQp *qp)
{
    if (qp->rq_record) {
        post(e, qp->rq_record, qp->rq_pi);
        return ERNIC_OK;
    }
    return doorbell(e, ERNIC_DB_RQ, qp->qpn, qp->rq_pi);
}

uint8_t fake_ring_srq(Ernic *e, const FakeSrq *srq)
{
    if (srq->record) {
        post(e, srq->record, srq->pi);
        return ERNIC_OK;
    }
    return doorbell(e, ERNIC_DB_SRQ, srq->srqn, srq->pi);
}

/* ---- whole requests ----------------------------------------------------- */

static struct ernic_wqe head(const FakeQp *qp, uint8_t opcode, uint8_t flags)
{
    struct ernic_wqe wqe = {
        .opcode = opcode,
        .flags = flags,
        .count = cpu_to_le16(1),
        .wr_id = cpu_to_le64(qp->sq_pi),
    };

    return wqe;
}

static void post_one(Ernic *e, FakeQp *qp, const struct ernic_wqe *wqe,
                     uint64_t addr, uint32_t len, uint32_t lkey)
{
    struct ernic_sge sge = fake_sge(addr, len, lkey);

    fake_post_send(e, qp, wqe, &sge);
    g_assert_cmpuint(fake_ring_sq(e, qp), ==, ERNIC_OK);
}

void fake_send(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
               uint64_t addr, uint32_t len, uint32_t lkey)
{
    struct ernic_wqe wqe = head(qp, opcode, flags);

    post_one(e, qp, &wqe, addr, len, lkey);
}

void fake_rdma(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
               uint64_t addr, uint32_t len, uint32_t lkey, uint64_t raddr, uint32_t rkey)
{
    struct ernic_wqe wqe = head(qp, opcode, flags);

    wqe.rdma.raddr = cpu_to_le64(raddr);
    wqe.rdma.rkey = cpu_to_le32(rkey);
    post_one(e, qp, &wqe, addr, len, lkey);
}

void fake_atomic(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
                 uint64_t addr, uint32_t lkey, uint64_t raddr, uint32_t rkey,
                 uint64_t compare_add, uint64_t swap)
{
    struct ernic_wqe wqe = head(qp, opcode, flags);

    wqe.atomic.raddr = cpu_to_le64(raddr);
    wqe.atomic.rkey = cpu_to_le32(rkey);
    wqe.atomic.compare_add = cpu_to_le64(compare_add);
    wqe.atomic.swap = cpu_to_le64(swap);
    post_one(e, qp, &wqe, addr, 8, lkey);
}

void fake_send_ud(Ernic *e, FakeQp *qp, uint8_t flags, uint64_t addr, uint32_t len,
                  uint32_t lkey, uint32_t dest_qpn, uint32_t qkey, uint8_t host)
{
    struct ernic_wqe wqe = head(qp, ERNIC_WR_SEND, flags);

    wqe.ud.qkey = cpu_to_le32(qkey);
    wqe.ud.dest_qpn = cpu_to_le32(dest_qpn);
    fake_gid(wqe.ud.av.dgid, host);
    wqe.ud.av.dmac[0] = 2;
    wqe.ud.av.dmac[5] = host;
    wqe.ud.av.hop_limit = 64;
    post_one(e, qp, &wqe, addr, len, lkey);
}

void fake_recv(Ernic *e, FakeQp *qp, uint64_t addr, uint32_t len, uint32_t lkey)
{
    struct ernic_sge sge = fake_sge(addr, len, lkey);

    fake_post_recv(e, qp, qp->rq_pi, &sge, 1);
    g_assert_cmpuint(fake_ring_rq(e, qp), ==, ERNIC_OK);
}
