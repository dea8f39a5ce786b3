/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each state's rules as software sees them: initial values, permitted doorbells,
 * draining, flushing and resetting.
 */
#include "qemu/osdep.h"
#include "qp_fixture.h"
#include "base/timer.h"
#include "faces/verbs/qp_commands.h"
#include "test.h"

/* ---- initial values of a state --------------------------------------------- */

FIXTURE_TEST("/qp-state/enter", test_enter)
{
    struct ernic_qp_attr attr;
    ErnicQp *qp;
    FakeQp q;

    create(f, &q, ERNIC_QPT_RC);
    fake_qp_attr(&attr, 9, 2);
    attr.rq_psn = cpu_to_le32(0x123456);
    attr.sq_psn = cpu_to_le32(0xfffffe);
    attr.retry_cnt = 5;
    attr.rnr_retry = 3;
    fake_qp_to(f->e, &q, ERNIC_QPS_RTS, &attr);
    qp = &f->e->qp[q.qpn];
    IS(qp->rq.epsn, 0x123456);
    IS(qp->sq.next_psn, 0xfffffe);
    IS(qp->sq.una_psn, 0xfffffe);
    IS(qp->sq.max_psn, 0xfffffe);
    IS(qp->sq.retry_left, 5);
    IS(qp->sq.rnr_left, 3);
    IS(qp->sq.cwnd, ERNIC_CWND_INIT);
}

/* ---- posting, by state ---------------------------------------------------------- */

/*
 * The capability table says whether a state accepts a doorbell: in Reset it is an
 * immediate error, in Init receives wait for RTR, in RTR sends are still refused.
 */
FIXTURE_TEST("/qp-state/posting", test_posting)
{
    FakeQp qp;

    for (uint8_t from = 0; from < ERNIC_QPS_COUNT; from++) {
        bool recv = ernic_qp_state_may(from) & ERNIC_MAY_POST_RECV;
        bool send = ernic_qp_state_may(from) & ERNIC_MAY_POST_SEND;
        struct ernic_sge sge = fake_sge(f->buf, 100, f->key);
        struct ernic_wqe wqe = { };
        GByteArray *before;

        bring(f, &qp, ERNIC_QPT_UD, from);
        while (fake_poll_eq(f->e, &f->eq, &(struct ernic_eqe) { })) {
            fake_ring_eq(f->e, &f->eq);
        }
        before = state_of(f);
        fake_post_recv(f->e, &qp, 1, &sge, 1);
        IS(fake_ring_rq(f->e, &qp), recv ? ERNIC_OK : ERNIC_ERR_STATE);
        IS(f->e->qp[qp.qpn].rq.wq.pi, recv);
        fake_post_send(f->e, &qp, &wqe, NULL);
        IS(fake_ring_sq(f->e, &qp), send ? ERNIC_OK : ERNIC_ERR_STATE);
        g_byte_array_free(before, true);
        if (!recv || !send) {
            struct ernic_eqe eqe;

            g_assert_true(fake_poll_eq(f->e, &f->eq, &eqe));
            IS(eqe.type, ERNIC_EV_BAD_DOORBELL);
            IS(eqe.element, qp.qpn);
        }
        fake_run(f->e);
        fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qp.qpn);
    }
}

/* ---- SQD ------------------------------------------------------------------------ */

FIXTURE_TEST("/qp-state/sqd", test_sqd)
{
    struct ernic_qp_attr attr, got;
    struct ernic_eqe eqe;
    FakeQp qp;

    bring(f, &qp, ERNIC_QPT_RC, ERNIC_QPS_RTS);
    fake_qp_attr(&attr, 9, 2);
    fake_rdma(f->e, &qp, ERNIC_WR_WRITE, 0, f->buf, 100, f->key, 0, 0);
    fake_run(f->e);
    attr.sqd_notify = 1;
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE | ERNIC_QPA_SQD_NOTIFY, ERNIC_QPS_SQD,
                      &attr));
    fake_run(f->e);
    /* The WRITE is outstanding: not drained, and attributes are locked. */
    OK(ernic_qp_query(f->e, 0, qp.qpn, &got));
    IS(got.sq_draining, 1);
    attr.timeout = 20;
    IS(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE | ERNIC_QPA_TIMEOUT, ERNIC_QPS_SQD,
                      &attr), ERNIC_ERR_STATE);
    g_assert_false(fake_poll_eq(f->e, &f->eq, &eqe));
    /* It gets no response, fails, and takes the queue pair to Error. */
    fake_advance(f->e, 2000000000);
    IS(state(f, &qp), ERNIC_QPS_ERR);
    fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, qp.qpn);

    /*
     * No request outstanding: drained at once, with an event, and attributes can
     * change.
     */
    bring(f, &qp, ERNIC_QPT_RC, ERNIC_QPS_RTS);
    while (fake_poll_eq(f->e, &f->eq, &eqe)) {
    }
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE | ERNIC_QPA_SQD_NOTIFY, ERNIC_QPS_SQD,
                      &attr));
    fake_run(f->e);
    g_assert_true(fake_poll_eq(f->e, &f->eq, &eqe));
    IS(eqe.type, ERNIC_EV_SQ_DRAINED);
    IS(eqe.element, qp.qpn);
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE | ERNIC_QPA_TIMEOUT, ERNIC_QPS_SQD,
                      &attr));
    OK(ernic_qp_query(f->e, 0, qp.qpn, &got));
    IS(got.sq_draining, 0);
    IS(got.timeout, 20);
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RTS, NULL));
    /* The next time there is no event, unless it is requested again. */
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_SQD, NULL));
    fake_run(f->e);
    g_assert_true(f->e->qp[qp.qpn].sq_drained);
    g_assert_false(fake_poll_eq(f->e, &f->eq, &eqe));
}

/* The ring of inbound READs is resized and keeps the newest entries. */
FIXTURE_TEST("/qp-state/rd-resize", test_rd_resize)
{
    static const uint8_t sizes[] = { 16, 5, 7, 2, 1, 16, 0, 3 };
    struct ernic_qp_attr attr;
    uint32_t newest = 100;
    ErnicQp *qp;
    FakeQp q;

    bring(f, &q, ERNIC_QPT_RC, ERNIC_QPS_SQD);
    qp = &f->e->qp[q.qpn];
    fake_qp_attr(&attr, 9, 2);
    for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint32_t old = qp->attr.max_dest_rd_atomic, kept = 0;

        /* Fill the ring as the responder does: one more entry than it holds. */
        for (uint32_t k = 0; old && k < old + 1; k++) {
            qp->rd[qp->rq.rd_head] = (ErnicRdRes) {
                .used = true, .npsn = 1, .end = 1, .next = 1, .atomic = true,
                .psn = newest++,
            };
            qp->rq.rd_head = (qp->rq.rd_head + 1) % old;
        }
        attr.max_dest_rd_atomic = sizes[i];
        OK(fake_modify_qp(f->e, q.qpn, ERNIC_QPA_STATE | ERNIC_QPA_MAX_DEST_RD_ATOMIC,
                          ERNIC_QPS_SQD, &attr));
        assert_whole(f);
        for (uint32_t k = 0; k < ERNIC_MAX_RD_ATOMIC; k++) {
            if (qp->rd[k].used) {
                g_assert_cmpuint(qp->rd[k].psn, >=, newest - MIN(old, sizes[i]));
                kept++;
            }
        }
        IS(kept, MIN(old, sizes[i]));
        /* The next entry to be overwritten is the oldest, or free. */
        if (sizes[i] && kept == sizes[i]) {
            IS(qp->rd[qp->rq.rd_head].psn, newest - kept);
        } else if (sizes[i]) {
            g_assert_false(qp->rd[qp->rq.rd_head].used);
        }
    }
}

/* An entry whose response has not been sent stays, however old it is. */
FIXTURE_TEST("/qp-state/rd-resize/pending", test_rd_resize_pending)
{
    struct ernic_qp_attr attr;
    ErnicQp *qp;
    FakeQp q;

    bring(f, &q, ERNIC_QPT_RC, ERNIC_QPS_SQD);
    qp = &f->e->qp[q.qpn];
    fake_qp_attr(&attr, 9, 2);
    attr.max_dest_rd_atomic = 4;
    OK(fake_modify_qp(f->e, q.qpn, ERNIC_QPA_STATE | ERNIC_QPA_MAX_DEST_RD_ATOMIC,
                      ERNIC_QPS_SQD, &attr));
    attr.max_dest_rd_atomic = 2;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            qp->rd[k] = (ErnicRdRes) {
                .used = true, .npsn = 1, .end = 1, .atomic = true, .psn = 100 + k,
                .again = k == i, .pending = k == i, .next = k != i,
            };
        }
        qp->rq.rd_head = 0;
        qp->ack.rd_pending = 1;
        IS(fake_modify_qp(f->e, q.qpn, ERNIC_QPA_STATE | ERNIC_QPA_MAX_DEST_RD_ATOMIC,
                          ERNIC_QPS_SQD, &attr), i < 2 ? ERNIC_ERR_BUSY : ERNIC_OK);
        IS(qp->ack.rd_pending, 1);
        if (i < 2) {
            continue;
        }
        g_assert_true(qp->rd[i - 2].pending);
        attr.max_dest_rd_atomic = 4;
        OK(fake_modify_qp(f->e, q.qpn, ERNIC_QPA_STATE | ERNIC_QPA_MAX_DEST_RD_ATOMIC,
                          ERNIC_QPS_SQD, &attr));
        attr.max_dest_rd_atomic = 2;
    }
}

/* ---- Reset and Error ------------------------------------------------------------- */

/* Going to Reset empties everything, and no old work happens afterwards. */
FIXTURE_TEST("/qp-state/reset", test_reset)
{
    struct ernic_wqe bind = { .opcode = ERNIC_WR_BIND_MW };
    struct ernic_qp_attr got;
    uint32_t mw = fake_alloc_mw(f->e, f->pd, 2);
    struct ernic_cqe cqe;
    ErnicQp *qp;
    FakeQp q;

    bring(f, &q, ERNIC_QPT_RC, ERNIC_QPS_RTS);
    qp = &f->e->qp[q.qpn];
    bind.bind_mw.rkey = cpu_to_le32(mw);
    bind.bind_mw.new_rkey = cpu_to_le32(mw + 1);
    bind.bind_mw.lkey = cpu_to_le32(f->key);
    bind.bind_mw.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_READ);
    bind.bind_mw.addr = cpu_to_le64(f->buf);
    bind.bind_mw.length = cpu_to_le64(4096);
    fake_post_send(f->e, &q, &bind, NULL);
    fake_rdma(f->e, &q, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, f->buf, 100, f->key, 0, 0);
    fake_recv(f->e, &q, f->buf, 100, f->key);
    fake_run(f->e);
    IS(f->e->num_bound, 1);
    IS(f->e->timers->count, 1);
    OK(fake_modify_qp(f->e, q.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL));
    IS(f->e->num_bound, 0);
    IS(f->e->timers->count, 0);
    IS(qp->sq.wq.pi, 0);
    IS(qp->sq.fetched, 0);
    IS(qp->rq.wq.pi, 0);
    fake_advance(f->e, 5000000000);
    g_assert_false(fake_poll_cq(f->e, &f->cq, &cqe));
    OK(ernic_qp_query(f->e, 0, q.qpn, &got));
    IS(got.state, ERNIC_QPS_RESET);
    IS(le32_to_cpu(got.dest_qpn), 0);
    IS(le32_to_cpu(got.access), 0);
    /* And it works again, from the first slot. */
    q.sq_pi = q.rq_pi = 0;
    fake_connect(f->e, &q, 9, 2);
    fake_send(f->e, &q, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, f->buf, 10, f->key ^ 1);
    fake_run(f->e);
    g_assert_true(fake_poll_cq(f->e, &f->cq, &cqe));
    IS(cqe.index, 0);
    IS(cqe.status, ERNIC_WC_LOC_PROT_ERR);
}

/* Error by software: both queues are flushed, without an event. */
FIXTURE_TEST("/qp-state/error", test_error)
{
    uint32_t sends = 0, recvs = 0;
    struct ernic_cqe cqe;
    struct ernic_eqe eqe;
    FakeQp qp;

    bring(f, &qp, ERNIC_QPT_RC, ERNIC_QPS_RTS);
    for (int i = 0; i < 5; i++) {
        fake_rdma(f->e, &qp, ERNIC_WR_WRITE, 0, f->buf, 100, f->key, 0, 0);
        fake_recv(f->e, &qp, f->buf, 100, f->key);
    }
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    /* Requests posted in Error are flushed as well. */
    fake_rdma(f->e, &qp, ERNIC_WR_WRITE, 0, f->buf, 100, f->key, 0, 0);
    fake_recv(f->e, &qp, f->buf, 100, f->key);
    fake_run(f->e);
    while (fake_poll_cq(f->e, &f->cq, &cqe)) {
        IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
        if (cqe.flags & ERNIC_CQE_RQ) {
            IS(cqe.index, recvs++);
        } else {
            IS(cqe.index, sends++);
        }
    }
    IS(sends, 6);
    IS(recvs, 6);
    g_assert_false(fake_poll_eq(f->e, &f->eq, &eqe));
    OK(fake_modify_qp(f->e, qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
}
