/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pair states, second part: SQD, SQE, Error, and destruction; and UC.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN

static uint8_t to_sqd(Dialog *d, bool notify)
{
    d->attr.sqd_notify = notify;
    return dlg_modify(d, ERNIC_QPA_STATE | ERNIC_QPA_SQD_NOTIFY, ERNIC_QPS_SQD);
}

static bool draining(Dialog *d)
{
    struct ernic_qp_attr attr;

    fake_run(d->e);
    dlg_query(d, &attr);
    return attr.sq_draining;
}

/* A long message has begun, a second one has not. */
DIALOG_TEST("/states/sqd/drains", ERNIC_QPT_RC, test_sqd_drains)
{
    uint32_t psn = SQ;

    dlg_post(d, ERNIC_WR_WRITE, 0, 400 * 1024);
    fake_run(d->e);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    OK(to_sqd(d, true));
    dlg_post(d, ERNIC_WR_SEND, 0, 17);
    while (psn != SQ + 400) {
        if (!dlg_pending(d)) {
            g_assert_true(draining(d));
            dlg_no_event(d);
            PEER_ACK(d, psn - 1, 0);
        }
        IS(dlg_take(d).psn, psn++);
    }
    dlg_nothing(d);
    ACKED(d, psn - 1, 0, 1);
    dlg_event(d, ERNIC_EV_SQ_DRAINED);
    g_assert_false(draining(d));
    STATE_IS(d, SQD);
    QUIET(d);
    dlg_state(d, ERNIC_QPS_RTS);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, psn, 0, 16);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, psn + 1, 0, 17);
    ACKED(d, psn + 1, 1, 3);
}

/* An event for each request; and at once, when there is nothing to drain. */
TEST("/states/sqd/silent", test_sqd_silent)
{
    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI, dlg_open(d, type)) {
        OK(to_sqd(d, true));
        dlg_event(d, ERNIC_EV_SQ_DRAINED);
        dlg_state(d, ERNIC_QPS_RTS);
        dlg_state(d, ERNIC_QPS_SQD);
        dlg_no_event(d);
        g_assert_false(draining(d));
    }
}

/* Only once it has drained; they apply to packets sent afterwards. */
DIALOG_TEST("/states/sqd/attributes", ERNIC_QPT_RC, test_sqd_attributes)
{
    const uint32_t mask = ERNIC_QPA_STATE | ERNIC_QPA_TIMEOUT | ERNIC_QPA_RETRY_CNT;

    dlg_send(d, ERNIC_WR_SEND, SQ, 0, 16);
    dlg_state(d, ERNIC_QPS_SQD);
    d->attr.timeout = 10;
    d->attr.retry_cnt = 0;
    IS(dlg_modify(d, mask, ERNIC_QPS_SQD), ERNIC_ERR_STATE);
    /* An outstanding request keeps the old ones. */
    dlg_wait(d, ernic_ack_timeout_ns(14));
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    ACKED(d, SQ, 0, 1);
    OK(dlg_modify(d, mask, ERNIC_QPS_SQD));
    dlg_state(d, ERNIC_QPS_RTS);
    dlg_send(d, ERNIC_WR_SEND, SQ + 1, 0, 16);
    /* A request that has begun may also fail in SQD. */
    dlg_state(d, ERNIC_QPS_SQD);
    dlg_wait(d, ernic_ack_timeout_ns(10));
    SEND_WC(d, 1, RETRY_EXC_ERR);
    STATE_IS(d, ERR);
}

DIALOG_TEST("/states/sqd/inbound", ERNIC_QPT_RC, test_sqd_inbound)
{
    dlg_state(d, ERNIC_QPS_SQD);
    dlg_recv(d, DLG_SINK, 16);
    dlg_serve_send(d, RQ, 1, 0);
}

/* A request that will fail has not begun: it waits like all others. */
DIALOG_TEST("/states/sqd/faulty-waits", ERNIC_QPT_RC, test_sqd_faulty_waits)
{
    struct ernic_wqe wqe;

    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    wqe = dlg_wqe(d, ERNIC_WR_COUNT, 0);
    dlg_post_wqe(d, &wqe, 0, 16);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    OK(to_sqd(d, true));
    ACKED(d, SQ, 0, 1);
    dlg_event(d, ERNIC_EV_SQ_DRAINED);
    STATE_IS(d, SQD);
    dlg_no_wc(d);
    dlg_state(d, ERNIC_QPS_RTS);
    SEND_WC(d, 1, LOC_QP_OP_ERR);
    STATE_IS(d, ERR);
}

/* Unsent responses need their resources: the attribute does not change. */
DIALOG_TEST("/states/sqd/rd-atomic", ERNIC_QPT_RC, test_sqd_rd_atomic)
{
    const uint32_t mask = ERNIC_QPA_STATE | ERNIC_QPA_MIN_RNR_TIMER |
                          ERNIC_QPA_MAX_DEST_RD_ATOMIC;
    struct ernic_qp_attr before, after;

    dlg_state(d, ERNIC_QPS_SQD);
    d->env.tx_busy = true;
    for (uint32_t i = 0; i < 3; i++) {
        PEER_READ(d, RQ + 100 * i, 0, 100 * 1024);
    }
    dlg_query(d, &before);
    d->attr.min_rnr_timer = 3;
    for (uint32_t i = 0; i < 3; i++) {
        d->attr.max_dest_rd_atomic = i;
        IS(dlg_modify(d, mask, ERNIC_QPS_SQD), ERNIC_ERR_BUSY);
        dlg_query(d, &after);
        g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
    }
    d->attr.max_dest_rd_atomic = 3;
    OK(dlg_modify(d, mask, ERNIC_QPS_SQD));
    fake_tx_ready(d->e);
    for (uint32_t i = 0; i < 3; i++) {
        dlg_sent_read(d, RQ + 100 * i, i + 1, 0, 100 * 1024);
    }
    d->attr.max_dest_rd_atomic = 0;
    OK(dlg_modify(d, mask, ERNIC_QPS_SQD));
}

TEST("/states/sqe/automatic", test_sqe_automatic)
{
    EACH_DIALOG(d, type, ERNIC_QPT_UC, ERNIC_QPT_GSI, dlg_open(d, type)) {
        dlg_post(d, ERNIC_WR_READ, 0, 8);
        dlg_post(d, ERNIC_WR_SEND, 0, 16);
        SEND_WC(d, 0, LOC_QP_OP_ERR);
        SEND_WC(d, 1, WR_FLUSH_ERR);
        STATE_IS(d, SQE);
        dlg_post(d, ERNIC_WR_SEND, 0, 16);
        SEND_WC(d, 2, WR_FLUSH_ERR);
        QUIET(d);
        dlg_recv(d, DLG_SINK, 64);
        PEER_SEND(d, RQ, 16);
        RECV_WC(d, 0, SUCCESS);
        dlg_state(d, ERNIC_QPS_RTS);
        dlg_post(d, ERNIC_WR_SEND, 0, 16);
        IS(dlg_take(d).psn, SQ);
        SEND_WC(d, 3, SUCCESS);
    }
}

/* In SQE without a turn of the engine since; then 200 more requests are posted. */
static void open_deep_sqe(Dialog *d)
{
    dlg_init(d, ERNIC_QPT_UC, false);
    fake_create_deep_qp(d->e, &d->qp, ERNIC_QPT_UC, d->pd, d->scq.cqn, d->rcq.cqn, 256);
    dlg_to(d, ERNIC_QPS_RTS);
    dlg_post(d, ERNIC_WR_READ, 0, 8);
    SEND_WC(d, 0, LOC_QP_OP_ERR);
    STATE_IS(d, SQE);
    for (uint32_t i = 0; i < 200; i++) {
        dlg_post(d, ERNIC_WR_SEND, 0, 16);
    }
}

/*
 * 10.3.1.6: requests posted in SQE are flushed, even if software recovers before all of
 * them were; only requests posted later are executed.
 */
DIALOG_TEST_BY("/states/sqe/recovery", open_deep_sqe(d), test_sqe_recovery)
{
    OK(dlg_modify(d, ERNIC_QPA_STATE, ERNIC_QPS_RTS));
    dlg_post(d, ERNIC_WR_SEND, 0, 17);
    dlg_post(d, ERNIC_WR_SEND, 0, 18);
    SEND_WCS(d, 1, 200, WR_FLUSH_ERR);
    SEND_WCS(d, 201, 202, SUCCESS);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 17);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ + 1, 0, 18);
}

/* The recovery does not stop the flush: the next turn finds the rest. */
TEST("/states/sqe/recovery-again", test_sqe_recovery_again)
{
    static const uint8_t next[] = { ERNIC_QPS_SQD, ERNIC_QPS_ERR, ERNIC_QPS_RESET };

    EACH_DIALOG(d, i, 0, 2 * ARRAY_SIZE(next), open_deep_sqe(d)) {
        uint8_t state = next[i / 2];
        bool turns = i % 2;

        OK(dlg_modify(d, ERNIC_QPA_STATE, ERNIC_QPS_RTS));
        dlg_post(d, ERNIC_WR_SEND, 0, 17);
        if (turns) {
            SEND_WCS(d, 1, 200, WR_FLUSH_ERR);
            SEND_WC(d, 201, SUCCESS);
            IS(dlg_take(d).psn, SQ);
        }
        dlg_state(d, state);
        if (state != ERNIC_QPS_RESET && !turns) {
            SEND_WCS(d, 1, 200, WR_FLUSH_ERR);
        }
        if (state == ERNIC_QPS_ERR && !turns) {
            SEND_WC(d, 201, WR_FLUSH_ERR);
        }
    }
}

/* All of them, in order, more than one turn flushes. */
DIALOG_TEST("/states/err/reclaim", ERNIC_QPT_RC, test_err_reclaim)
{
    for (uint32_t i = 0; i < 64; i++) {
        dlg_recv(d, DLG_SINK, 64);
        dlg_post_flags(d, i % 3 ? ERNIC_WR_SEND : ERNIC_WR_READ, 0, DLG_SINK, 16);
    }
    dlg_drain(d);
    dlg_state(d, ERNIC_QPS_ERR);
    for (uint32_t i = 0; i < 64; i++) {
        SEND_WC(d, i, WR_FLUSH_ERR);
        RECV_WC(d, i, WR_FLUSH_ERR);
    }
}

DIALOG_TEST("/states/err/silent", ERNIC_QPT_RC, test_err_silent)
{
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_take(d);
    dlg_state(d, ERNIC_QPS_ERR);
    SEND_WC(d, 0, WR_FLUSH_ERR);
    PEER_SEND(d, RQ, 16);
    PEER_ACK(d, SQ, 1);
    dlg_cnp(d);
    dlg_wait(d, 1000000000);
}

TEST("/states/err/post", test_err_post)
{
    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI, dlg_open(d, type)) {
        dlg_state(d, ERNIC_QPS_ERR);
        dlg_no_wc(d);
        dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 16);
        SEND_WC(d, 0, WR_FLUSH_ERR);
        dlg_recv(d, DLG_SINK, 64);
        RECV_WC(d, 0, WR_FLUSH_ERR);
    }
}

TEST("/states/destroy", test_destroy)
{
    EACH_DIALOG(d, state, 0, ERNIC_QPS_COUNT,
                dlg_open_in(d, state == ERNIC_QPS_SQE ? ERNIC_QPT_UC : ERNIC_QPT_RC,
                            state)) {
        if (state == ERNIC_QPS_RTS) {
            dlg_recv(d, DLG_SINK, 64);
            dlg_post(d, ERNIC_WR_SEND, 0, 16);
            dlg_take(d);
        }
        OK(fake_destroy(d->e, ERNIC_CMD_QP_DESTROY, d->qp.qpn));
        PEER(d, SEND_ONLY, .psn = RQ, .ackreq = true);
        dlg_wait(d, 1000000000);
        IS(d->env.wake, UINT64_MAX);
    }
}

/* A packet with a wrong invariant CRC never reaches its queue pair. */
DIALOG_TEST("/states/bad-icrc", ERNIC_QPT_UC, test_bad_icrc)
{
    uint8_t bytes[16];

    dlg_recv(d, DLG_SINK, 16);
    dlg_bth(d, bytes, ERNIC_BTH_UC | ERNIC_OP_SEND_ONLY, RQ);
    for (uint32_t bit = 0; bit < 32; bit++) {
        stl_le_p(bytes + 12, ernic_icrc(&d->path, bytes, 12) ^ 1u << bit);
        dlg_inject_raw(d, bytes, 16, false);
        dlg_no_wc(d);
    }
    dlg_inject_raw(d, bytes, 12, true);
    RECV_WC(d, 0, SUCCESS);
}

DIALOG_TEST("/states/uc-operations", ERNIC_QPT_UC, test_uc_operations)
{
    struct ernic_wqe wqe = dlg_bind_mw(d, &d->key);

    dlg_post_wqe(d, &wqe, 0, 0);
    SEND_WC(d, 0, SUCCESS);
    dlg_peer_message(d, ERNIC_WR_WRITE, RQ, DLG_SINK, 64);
    dlg_mem_is(d, DLG_SINK, d->peer, 64);
}
