/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Departure: the transport timer and the requests of an unreliable service wait
 * until the link reports that their last packet has left the device.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "transport/qp.h"

#define PSN     DLG_SQ_PSN
#define PERIOD  ernic_ack_timeout_ns(10)

static void open_rc(Dialog *d, uint8_t retry_cnt)
{
    dlg_init(d, ERNIC_QPT_RC, false);
    d->attr.retry_cnt = retry_cnt;
    d->attr.timeout = 10;
    dlg_to(d, ERNIC_QPS_RTS);
}

static void sent_send(Dialog *d)
{
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 16);
}

/* Another queue pair, which has @num WRITEs of @len bytes to send. */
static void open_other(Dialog *d, FakeQp *other, uint32_t num, uint32_t len)
{
    dlg_create_qp(d, other, ERNIC_QPT_UC);
    fake_connect(d->e, other, 0x123456, DLG_PEER);
    for (; num; num--) {
        fake_rdma(d->e, other, ERNIC_WR_WRITE, 0, d->mem, len, d->key,
                  DLG_RADDR, DLG_RKEY);
    }
}

/* One whose WRITEs keep the link busy for a while. */
static void open_bulk(Dialog *d, FakeQp *bulk)
{
    open_other(d, bulk, 16, DLG_SINK);
}

/* How many of the packets that were sent are ours; takes them all. */
static uint32_t take_ours(Dialog *d)
{
    uint32_t n = 0;

    while (dlg_pending(d)) {
        n += dlg_take(d).dest_qp == DLG_PEER_QPN;
    }
    return n;
}

/* The traffic of others does not keep a queue pair from its retries. */
DIALOG_TEST_BY("/departure/pressed", open_rc(d, 2), test_pressed)
{
    uint32_t sent = 0;
    FakeQp bulk;

    d->env.tx_busy = true;
    open_bulk(d, &bulk);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    for (uint32_t step = 0; step < 3 * 4 * 16; step++) {
        /* The link takes the train that it refused, and is busy again at once. */
        fake_tx_ready(d->e);
        d->env.tx_busy = true;
        fake_run(d->e);
        sent += take_ours(d);
        dlg_wait(d, PERIOD / 16);
    }
    SEND_WC(d, 0, RETRY_EXC_ERR);
    STATE_IS(d, ERR);
    IS(sent, 3);
    take_ours(d);
}

/* The timer runs from departure, not from when the link took the packet. */
DIALOG_TEST_BY("/departure/timer", open_rc(d, 7), test_timer)
{
    d->env.tx_keeps = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_send(d);
    dlg_wait(d, PERIOD + PERIOD / 2);
    fake_tx_leave(&d->env);
    fake_run(d->e);
    dlg_wait(d, PERIOD - 1);
    QUIET(d);
    dlg_wait(d, 1);
    sent_send(d);
    ACKED(d, PSN, 0, 1);
}

/* The device learns whether a queue pair waits for an acknowledgement, also reloaded. */
DIALOG_TEST_BY("/departure/unacknowledged", open_rc(d, 7), test_unacknowledged)
{
    IS(ernic_unacked(d->e), false);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_send(d);
    IS(ernic_unacked(d->e), true);
    RELOAD(d->e, d->env.now);
    IS(ernic_unacked(d->e), true);
    dlg_wait(d, PERIOD);
    sent_send(d);
    IS(ernic_unacked(d->e), true);
    ACKED(d, PSN, 0, 1);
    IS(ernic_unacked(d->e), false);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    IS(dlg_take(d).dest_qp, DLG_PEER_QPN);
    IS(ernic_unacked(d->e), true);
    OK(fake_modify_qp(d->e, d->qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    SEND_WC(d, 1, WR_FLUSH_ERR);
    IS(ernic_unacked(d->e), false);
}

/* It is the departure of its own packet that counts. */
DIALOG_TEST_BY("/departure/own", open_rc(d, 7), test_own)
{
    FakeQp bulk;

    d->env.tx_keeps = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    open_bulk(d, &bulk);
    fake_run(d->e);
    take_ours(d);
    dlg_wait(d, PERIOD / 2);
    d->env.tx_kept++;                    /* ours alone leaves */
    fake_run(d->e);
    take_ours(d);
    dlg_wait(d, PERIOD - 1);
    IS(take_ours(d), 0);
    dlg_wait(d, 1);
    IS(take_ours(d), 1);
    ACKED(d, PSN, 0, 1);
    take_ours(d);
}

/* An acknowledgement that comes before the report of departure counts as well. */
DIALOG_TEST_BY("/departure/acknowledged", open_rc(d, 7), test_acknowledged)
{
    d->env.tx_keeps = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    IS(take_ours(d), 2);
    ACKED(d, PSN, 0, 1);
    dlg_wait(d, PERIOD / 2);
    ACKED(d, PSN + 1, 1, 2);
    fake_tx_leave(&d->env);
    fake_run(d->e);
    dlg_wait(d, 100 * PERIOD);
}

/*
 * The link reports a train as gone, then as waiting again, then as gone again. The
 * second time counts, although no train has left that was not seen to leave before.
 */
DIALOG_TEST_BY("/departure/taken-back", open_rc(d, 7), test_taken_back)
{
    FakeQp other;

    d->env.tx_keeps = d->env.tx_keeps_one = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_send(d);
    d->env.tx_kept++;
    dlg_wait(d, PERIOD - 1);
    QUIET(d);
    d->env.tx_kept--;
    open_other(d, &other, 1, 16);      /* sends in the run in which the timer expires */
    d->env.now++;
    fake_run(d->e);
    IS(take_ours(d), 0);
    dlg_wait(d, PERIOD - 1);
    IS(take_ours(d), 0);
    dlg_wait(d, 1);
    IS(take_ours(d), 1);
    ACKED(d, PSN, 0, 1);
    take_ours(d);
}

/*
 * A packet that has not left two periods after it was made counts as sent: a
 * link that is stuck, with the packet or before it, ends in an error too.
 */
TEST("/departure/stuck", test_stuck)
{
    Dialog d;

    for (uint32_t way = 0; way < 3; way++) {
        for (uint32_t retries = 0; retries < 3; retries++) {
            FakeQp bulk;

            open_rc(&d, retries);
            d.env.tx_keeps = way == 0;
            d.env.tx_busy = way != 0;
            if (way == 2) {
                open_bulk(&d, &bulk);   /* ours waits outside of the train */
            }
            dlg_post(&d, ERNIC_WR_SEND, 0, 16);
            dlg_wait(&d, 3 * (retries + 1) * PERIOD - 1);
            STATE_IS(&d, RTS);
            dlg_wait(&d, 1);
            STATE_IS(&d, ERR);
            SEND_WC(&d, 0, RETRY_EXC_ERR);
            take_ours(&d);
            dlg_close(&d);
        }
    }
}

/*
 * A saved state may have the timer run, and a queue that waits for the link, although no
 * request has been started. Then the timer stops, and nothing fails.
 */
DIALOG_TEST_BY("/departure/no-request", open_rc(d, 0), test_no_request)
{
    ErnicSendQueue *sq;

    fake_run(d->e);
    sq = &d->e->qp[d->qp.qpn].sq;
    sq->blocked_on = ERNIC_BLOCKED_TX;
    sq->ack_due = d->env.now + PERIOD;
    sq->leave_by = d->env.now + 2 * PERIOD;
    ernic_qp_timer(d->e, &d->e->qp[d->qp.qpn]);
    RELOAD(d->e, d->env.now);
    dlg_wait(d, 4 * PERIOD);
    STATE_IS(d, RTS);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_send(d);
    ACKED(d, PSN, 0, 1);
}

/* A link that is busy for less than that costs no retry. */
DIALOG_TEST_BY("/departure/busy", open_rc(d, 0), test_busy)
{
    d->env.tx_busy = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_wait(d, 2 * PERIOD - 1);
    fake_tx_ready(d->e);
    sent_send(d);
    dlg_wait(d, PERIOD - 1);
    STATE_IS(d, RTS);
    ACKED(d, PSN, 0, 1);
}

/* UC requests complete when their last packet has left the device. */
DIALOG_TEST("/departure/uc", ERNIC_QPT_UC, test_uc)
{
    d->env.tx_keeps = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_post(d, ERNIC_WR_SEND, 0, 3000);
    IS(take_ours(d), 4);
    dlg_no_wc(d);
    dlg_wait(d, 100 * PERIOD);
    dlg_no_wc(d);
    d->env.tx_kept++;
    fake_run(d->e);
    SEND_WC(d, 0, SUCCESS);
    dlg_no_wc(d);
    fake_tx_leave(&d->env);
    fake_run(d->e);
    SEND_WC(d, 1, SUCCESS);
}
