/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder at its end: the last acknowledgement of a queue pair that software
 * removes.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "transport/tx.h"

#define PSN DLG_RQ_PSN

/* Software's ways to end it; the last one destroys it. */
static const int ways[] = { ERNIC_QPS_RESET, ERNIC_QPS_ERR, ERNIC_QPS_COUNT };

/* Stop the queue pair's responses, right after it has received a packet. */
static void cease(Dialog *d, int how)
{
    if (how == ERNIC_QPS_COUNT) {
        OK(fake_destroy(d->e, ERNIC_CMD_QP_DESTROY, d->qp.qpn));
    } else {
        dlg_state(d, how);
    }
    fake_run(d->e);
}

/* A SEND that is complete, and not acknowledged yet. */
static void served(Dialog *d, bool ackreq)
{
    dlg_open(d, ERNIC_QPT_RC);
    dlg_recv(d, DLG_SINK, 16);
    d->hold = true;
    PEER_DATA(d, SEND_ONLY, PSN, 0, 16, .ackreq = ackreq);
}

/*
 * Requests that software may have seen complete are acknowledged first: a peer that
 * sends again would get no response. Without AckReq they are not.
 */
TEST("/resp/ack/last", test_ack_last)
{
    for (uint32_t ackreq = 0; ackreq < 2; ackreq++) {
        EACH_DIALOG(d, i, 0, ARRAY_SIZE(ways), served(d, ackreq)) {
            cease(d, ways[i]);
            if (ackreq) {
                SENT_ACK(d, PSN, 1);
            }
            QUIET(d);
            RECV_WC(d, 0, SUCCESS);
        }
    }
    /* A READ gets no response: only requests before it are acknowledged. */
    EACH_DIALOG(d, i, 0, ARRAY_SIZE(ways), served(d, false)) {
        PEER_READ(d, PSN + 1, 0, 3000);
        PEER_ADD(d, PSN + 4, 0, 0);
        PEER(d, WRITE_ONLY, .psn = PSN + 5, .ackreq = true);
        cease(d, ways[i]);
        SENT_ACK(d, PSN, 1);
        RECV_WC(d, 0, SUCCESS);
    }
}

/*
 * The same while a train of another queue pair waits for the link: the last ACK
 * leaves after it, whatever has become of its queue pair.
 */
TEST("/resp/ack/last-busy", test_ack_last_busy)
{
    FakeQp other;

    /* At the end, a NAK. */
    EACH_DIALOG(d, i, 0, ARRAY_SIZE(ways) + 1, dlg_open(d, ERNIC_QPT_RC)) {
        dlg_recv(d, DLG_SINK, 16);
        dlg_send(d, ERNIC_WR_WRITE, DLG_SQ_PSN, 0, 16);
        dlg_create_qp(d, &other, ERNIC_QPT_UC);
        fake_connect(d->e, &other, 0x123456, DLG_PEER);
        d->env.tx_busy = true;
        fake_rdma(d->e, &other, ERNIC_WR_WRITE, 0, d->mem, 16, d->key, DLG_RADDR,
                  DLG_RKEY);
        fake_run(d->e);
        d->hold = true;
        PEER_SEND(d, PSN, 16);
        if (i == ARRAY_SIZE(ways)) {
            PEER_NAK(d, ERNIC_NAK_REM_ACC, DLG_SQ_PSN, 0);
            SEND_WC(d, 0, REM_ACCESS_ERR);
        } else {
            cease(d, ways[i]);
            if (ways[i] == ERNIC_QPS_ERR) {
                SEND_WC(d, 0, WR_FLUSH_ERR);
            }
        }
        fake_tx_ready(d->e);
        fake_run(d->e);
        IS(dlg_take(d).dest_qp, 0x123456);
        SENT_ACK(d, PSN, 1);
        QUIET(d);
        RECV_WC(d, 0, SUCCESS);
    }
}

/* So many at once that the device cannot keep them all: some are lost. */
DIALOG_TEST("/resp/ack/last-many", ERNIC_QPT_RC, test_ack_last_many)
{
    enum { NUM = ERNIC_LAST_ACKS + 3 };
    uint32_t n = 0;
    FakeQp qp[NUM];

    for (uint32_t i = 0; i < NUM; i++) {
        dlg_create_qp(d, &qp[i], ERNIC_QPT_RC);
        fake_connect(d->e, &qp[i], 0x1000 + i, DLG_PEER);
    }
    d->env.tx_busy = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    fake_run(d->e);
    d->hold = true;
    for (uint32_t i = 0; i < NUM; i++) {
        PEER(d, WRITE_ONLY, .dest_qp = qp[i].qpn, .ackreq = true);
        OK(fake_destroy(d->e, ERNIC_CMD_QP_DESTROY, qp[i].qpn));
    }
    fake_tx_ready(d->e);
    fake_run(d->e);
    IS(dlg_take(d).dest_qp, DLG_PEER_QPN);
    for (n = 0; dlg_pending(d); n++) {
        ErnicPkt pkt = dlg_take(d);

        IS(pkt.op->cls, ERNIC_CL_ACK);
        IS(pkt.dest_qp, 0x1000 + n);
    }
    IS(n, ERNIC_LAST_ACKS);
    dlg_state(d, ERNIC_QPS_ERR);
    fake_run(d->e);
    SEND_WC(d, 0, WR_FLUSH_ERR);
}

/* A READ that has begun, or is a duplicate, gets no ACK: its response acknowledges. */
TEST("/resp/ack/last-begun", test_ack_last_begun)
{
    uint32_t n;

    EACH_DIALOG(d, i, 0, 2, dlg_open(d, ERNIC_QPT_RC)) {
        d->env.tx_busy = !i;
        PEER_READ(d, PSN, 0, 200000);
        if (i) {
            dlg_sent_read(d, PSN, 1, 0, 200000);
        }
        QUIET(d);
        fake_tx_ready(d->e);    /* one train of it leaves */
        d->hold = true;
        if (i) {
            PEER_READ(d, PSN, 0, 200000);
        }
        cease(d, ERNIC_QPS_ERR);
        for (n = 0; dlg_pending(d); n++) {
            IS(dlg_take(d).op->cls, ERNIC_CL_READ_RSP);
        }
        g_assert_true(i ? !n : n && n < DIV_ROUND_UP(200000, 1024));
    }
}

/* After an error of our own request, a received request is still acknowledged. */
TEST("/resp/ack/own-error", test_ack_own_error)
{
    EACH_DIALOG(d, i, 0, 2, dlg_open(d, ERNIC_QPT_RC)) {
        dlg_recv(d, DLG_SINK, 16);
        dlg_send(d, ERNIC_WR_WRITE, DLG_SQ_PSN, 0, 16);
        d->hold = true;
        PEER_DATA(d, SEND_ONLY, PSN, 0, 16, .ackreq = !i);
        PEER_NAK(d, ERNIC_NAK_REM_ACC, DLG_SQ_PSN, 0);
        fake_run(d->e);
        if (!i) {
            SENT_ACK(d, PSN, 1);
        }
        QUIET(d);
        RECV_WC(d, 0, SUCCESS);
        SEND_WC(d, 0, REM_ACCESS_ERR);
        STATE_IS(d, ERR);
    }
}

/*
 * The same holds for a NAK that is due, also if no ACK is; a NAK that would end the
 * queue pair is not sent, but what it would have acknowledged is.
 */
TEST("/resp/nak/last", test_nak_last)
{
    EACH_DIALOG(d, i, 0, 4 * ARRAY_SIZE(ways),
                DLG_OPEN(d, ERNIC_QPT_RC, d->attr.min_rnr_timer = 5)) {
        uint32_t before = i >> 1 & 1;

        d->hold = true;
        if (before) {
            dlg_recv(d, DLG_SINK, 16);
            PEER_SEND(d, PSN, 16);
        }
        if (i & 1) {
            PEER(d, READ_REQUEST, .psn = PSN + before, .va = d->mem, .rkey = d->key ^ 1,
                 .dma_len = 16, .ackreq = true);
            cease(d, ways[i / 4]);
            SENT_ACK(d, PSN + before - 1, before);
        } else {
            PEER_SEND(d, PSN + before, 16);
            cease(d, ways[i / 4]);
            SENT_NAK(d, ERNIC_AETH_RNR_NAK | 5, PSN + before, before);
        }
        QUIET(d);
        if (before) {
            RECV_WC(d, 0, SUCCESS);
        }
    }
}
