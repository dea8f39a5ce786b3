/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Adaptive retransmission: what a send queue waits for, and how long.
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define PSN         DLG_SQ_PSN
#define RNR(CODE)   (ERNIC_AETH_RNR_NAK | (CODE))
#define MS          1000000ull
#define S           (1000 * MS)
#define TIMEOUT_14  67108864ull         /* 4.096 us << 14, IBTA 9.7.6.1.3 */

static void open_patient(Dialog *d, uint8_t retry_cnt, uint8_t rnr_retry, uint8_t timeout)
{
    dlg_init(d, ERNIC_QPT_RC, false);
    d->e->cfg.retry_time = 10 * S;
    d->attr.retry_cnt = retry_cnt;
    d->attr.rnr_retry = rnr_retry;
    d->attr.timeout = timeout;
    dlg_to(d, ERNIC_QPS_RTS);
}

static void sent_send(Dialog *d, uint32_t index)
{
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + index, 0, 16);
}

static void post_send(Dialog *d, uint32_t index)
{
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_send(d, index);
}

/* The first request is sent again after @ns, and no earlier. */
static void resent_after(Dialog *d, uint64_t ns)
{
    dlg_wait(d, ns - 1);
    QUIET(d);
    dlg_wait(d, 1);
    sent_send(d, 0);
}

static void fails_after(Dialog *d, uint64_t ns)
{
    dlg_wait(d, ns - 1);
    dlg_no_wc(d);
    dlg_wait(d, 1);
    SEND_WC(d, 0, RETRY_EXC_ERR);
    STATE_IS(d, ERR);
}

/* Intervals grow from the timeout of the queue pair; the request fails after 10 s. */
DIALOG_TEST_BY("/adaptive-retry/intervals", open_patient(d, 7, 7, 14), test_intervals)
{
    static const unsigned factor[] = { 1, 1, 2, 4, 8 };

    post_send(d, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(factor); i++) {
        resent_after(d, factor[i] * TIMEOUT_14);
    }
    for (unsigned i = 0; i < 8; i++) {
        resent_after(d, S);         /* 16 timeouts are 1.07 s */
    }
    fails_after(d, S);
}

/* No timeout is shorter than 16.8 ms. */
DIALOG_TEST_BY("/adaptive-retry/floor", open_patient(d, 7, 7, 1), test_floor)
{
    post_send(d, 0);
    resent_after(d, 16777216);
    PEER_ACK(d, PSN, 1);
    SEND_WC(d, 0, SUCCESS);
}

/* A long timeout keeps its length, and a budget that outlasts 10 s is used whole. */
DIALOG_TEST_BY("/adaptive-retry/long", open_patient(d, 4, 7, 20), test_long)
{
    post_send(d, 0);
    for (unsigned i = 0; i < 4; i++) {
        resent_after(d, TIMEOUT_14 << 6);
    }
    fails_after(d, TIMEOUT_14 << 6);
}

/* An acknowledgement makes the next interval short again, and the total start anew. */
DIALOG_TEST_BY("/adaptive-retry/progress", open_patient(d, 0, 7, 14), test_progress)
{
    for (unsigned round = 0; round < 3; round++) {
        post_send(d, round);
        for (unsigned i = 0; i < 5; i++) {
            dlg_wait(d, i ? TIMEOUT_14 << (i - 1) : TIMEOUT_14);
            sent_send(d, round);
        }
        PEER_ACK(d, PSN + round, round + 1);
        SEND_WC(d, round, SUCCESS);
    }
}

/* A time in which the engine did not run is one interval, however long it was. */
DIALOG_TEST_BY("/adaptive-retry/stopped", open_patient(d, 0, 7, 14), test_stopped)
{
    post_send(d, 0);
    d->env.now += 3600 * S;
    fake_run(d->e);
    sent_send(d, 0);
    resent_after(d, TIMEOUT_14);
    PEER_ACK(d, PSN, 1);
    SEND_WC(d, 0, SUCCESS);
}

/* NAKs use the budget; then they wait for the timer, so that no peer keeps us busy. */
DIALOG_TEST_BY("/adaptive-retry/nak", open_patient(d, 1, 7, 14), test_nak)
{
    post_send(d, 0);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    sent_send(d, 0);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    QUIET(d);
    dlg_no_wc(d);
    resent_after(d, TIMEOUT_14);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    QUIET(d);
    resent_after(d, TIMEOUT_14);
    PEER_ACK(d, PSN, 1);
    SEND_WC(d, 0, SUCCESS);
}

/* Without a transport timer and without a retry nobody would send a lost packet again. */
DIALOG_TEST_BY("/adaptive-retry/no-timer", open_patient(d, 0, 7, 0), test_no_timer)
{
    post_send(d, 0);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    SEND_WC(d, 0, RETRY_EXC_ERR);
    STATE_IS(d, ERR);
}

/* The budget's waits are those of the peer; later ones grow until 10 s are over. */
DIALOG_TEST_BY("/adaptive-retry/rnr", open_patient(d, 0, 2, 14), test_rnr)
{
    uint64_t total = 0, asked = 640000, wait = asked;
    unsigned n = 0;

    post_send(d, 0);
    PEER_NAK(d, RNR(12), PSN, 0);
    while (total < 10 * S) {
        resent_after(d, wait);
        total += wait;
        wait = n++ < 1 ? asked : MAX(asked, MIN(total / 4, 50 * MS));
        PEER_NAK(d, RNR(12), PSN, 0);
    }
    SEND_WC(d, 0, RNR_RETRY_EXC_ERR);
    STATE_IS(d, ERR);
    g_assert_cmpuint(wait, ==, 50 * MS);
}

/* With 7, for ever, each wait is the one that the peer asks for. */
DIALOG_TEST_BY("/adaptive-retry/rnr-forever", open_patient(d, 0, 7, 14), test_rnr_forever)
{
    post_send(d, 0);
    for (unsigned i = 0; i < 1000; i++) {
        PEER_NAK(d, RNR(12), PSN, 0);
        resent_after(d, 640000);
    }
    PEER_ACK(d, PSN, 1);
    SEND_WC(d, 0, SUCCESS);
}
