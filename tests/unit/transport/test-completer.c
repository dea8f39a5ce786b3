/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The completer: effects of acknowledgements, responses and silence on the requests in
 * flight (IBTA vol. 1, 9.7.5 and 9.7.6).
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define PSN DLG_SQ_PSN
#define RNR(CODE) (ERNIC_AETH_RNR_NAK | (CODE))
/* @n SENDs of one packet each. */
static void post_sends(Dialog *d, uint32_t n)
{
    uint32_t psn = PSN + d->qp.sq_pi;

    while (n--) {
        dlg_send(d, ERNIC_WR_SEND, psn++, 0, 16);
    }
}

static void sent_sends(Dialog *d, uint32_t first, uint32_t last)
{
    while (first <= last) {
        dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + first++, 0, 16);
    }
}

/* The peer acknowledges the first @n requests, which complete. */
static void acked(Dialog *d, uint32_t n)
{
    PEER_ACK(d, PSN + n - 1, n);
    dlg_wcs(d, dlg_send_wc, 0, n - 1, ERNIC_WC_SUCCESS);
}

/* 9.7.5.2: reserved syndromes are ignored; the requester goes on waiting. */
DIALOG_TEST("/comp/ack/reserved", ERNIC_QPT_RC, test_reserved)
{
    post_sends(d, 1);
    for (uint32_t syndrome = 0x40; syndrome <= 0xff; syndrome++) {
        if (syndrome < ERNIC_NAK_PSN_SEQ || syndrome > ERNIC_NAK_REM_OP) {
            PEER_NAK(d, syndrome, PSN, 0);
        }
    }
    dlg_nothing(d);
    acked(d, 1);
}

/* Any credit code is an ACK: the peer may have end-to-end flow control. */
TEST("/comp/ack/credits", test_credits)
{
    EACH_DIALOG(d, code, 0, 32, dlg_open(d, ERNIC_QPT_RC)) {
        post_sends(d, 1);
        PEER(d, ACK, .psn = PSN, .msn = 1, .syndrome = code);
        SEND_WC(d, 0, SUCCESS);
    }
}

/* Earlier requests are acknowledged, this one fails, later ones are flushed. */
TEST("/comp/nak/fatal", test_fatal_naks)
{
    static const uint8_t naks[][2] = {
        { ERNIC_NAK_INV_REQ, ERNIC_WC_REM_INV_REQ_ERR },
        { ERNIC_NAK_REM_ACC, ERNIC_WC_REM_ACCESS_ERR },
        { ERNIC_NAK_REM_OP, ERNIC_WC_REM_OP_ERR },
    };

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(naks), dlg_open(d, ERNIC_QPT_RC)) {
        dlg_recv(d, DLG_SINK, 16);
        post_sends(d, 4);
        PEER_NAK(d, naks[i][0], PSN + 2, 2);
        SEND_WCS(d, 0, 1, SUCCESS);
        dlg_send_wc(d, 2, naks[i][1]);
        SEND_WC(d, 3, WR_FLUSH_ERR);
        RECV_WC(d, 0, WR_FLUSH_ERR);
        STATE_IS(d, ERR);
        /* Later packets do not change the result. */
        PEER_ACK(d, PSN + 3, 4);
    }
}

/* One rewind per loss: NAKs of packets that were in flight meanwhile are stale. */
DIALOG_TEST("/comp/nak/once", ERNIC_QPT_RC, test_nak_once)
{
    post_sends(d, 4);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + 1, 1);
    SEND_WC(d, 0, SUCCESS);
    sent_sends(d, 1, 3);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + 1, 1);
    QUIET(d);
    /* Progress, and then another loss. */
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + 2, 2);
    SEND_WC(d, 1, SUCCESS);
    sent_sends(d, 2, 3);
    ACKED(d, PSN + 3, 2, 4);
}

/* 9.7.5.2.8, table of the RNR NAK timer field, in 0.01 ms. */
static const uint32_t rnr_timer[32] = {
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
    1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

DIALOG_TEST("/comp/rnr/timer", ERNIC_QPT_RC, test_rnr_timer)
{
    post_sends(d, 2);
    for (uint32_t code = 0; code < 32; code++) {
        PEER_NAK(d, RNR(code), PSN, 0);
        dlg_wait(d, rnr_timer[code] * 10000ull - 1);
        QUIET(d);
        dlg_wait(d, 1);
        sent_sends(d, 0, 1);
        QUIET(d);
    }
    acked(d, 2);
}

static void open_budgets(Dialog *d, uint8_t retry_cnt, uint8_t rnr_retry, uint8_t timeout)
{
    DLG_OPEN(d, ERNIC_QPT_RC, d->attr.retry_cnt = retry_cnt;
             d->attr.rnr_retry = rnr_retry; d->attr.timeout = timeout);
}

/* At most n retries; 7 means no limit. */
TEST("/comp/rnr/budget", test_rnr_budget)
{
    EACH_DIALOG(d, n, 0, 8, open_budgets(d, 0, n, 14)) {
        post_sends(d, 2);
        for (uint32_t tries = n == 7 ? 100 : n; tries; tries--) {
            PEER_NAK(d, RNR(1), PSN, 0);
            dlg_no_wc(d);
            dlg_wait(d, 10000);
            sent_sends(d, 0, 1);
        }
        if (n < 7) {
            PEER_NAK(d, RNR(1), PSN, 0);
            SEND_WC(d, 0, RNR_RETRY_EXC_ERR);
            SEND_WC(d, 1, WR_FLUSH_ERR);
            STATE_IS(d, ERR);
        } else {
            acked(d, 2);
        }
    }
}

/* 9.7.6.1: an acknowledged packet restores the retry budget. */
DIALOG_TEST_BY("/comp/rnr/refill", open_budgets(d, 7, 1, 14), test_rnr_refill)
{
    post_sends(d, 3);
    PEER_NAK(d, RNR(1), PSN, 0);
    dlg_wait(d, 10000);
    sent_sends(d, 0, 2);
    PEER_NAK(d, RNR(1), PSN + 1, 1);
    SEND_WC(d, 0, SUCCESS);
    dlg_wait(d, 10000);
    sent_sends(d, 1, 2);
    PEER_NAK(d, RNR(1), PSN + 1, 1);
    SEND_WC(d, 1, RNR_RETRY_EXC_ERR);
    SEND_WC(d, 2, WR_FLUSH_ERR);
}

/* A duplicated RNR NAK counts as one retry. */
DIALOG_TEST_BY("/comp/rnr/doubled", open_budgets(d, 7, 1, 14), test_rnr_doubled)
{
    post_sends(d, 1);
    PEER_NAK(d, RNR(2), PSN, 0);
    dlg_wait(d, 15000);
    PEER_NAK(d, RNR(2), PSN, 0);
    QUIET(d);
    dlg_wait(d, 5000);
    sent_sends(d, 0, 0);
    acked(d, 1);
}

/* While the RNR timer runs, no packet is in flight, so no ACK can be due. */
DIALOG_TEST_BY("/comp/rnr/no-timeout", open_budgets(d, 0, 7, 10), test_rnr_no_timeout)
{
    post_sends(d, 3);
    PEER_NAK(d, RNR(0), PSN, 0);
    acked(d, 1);
    dlg_wait(d, 600000000);
    QUIET(d);
    STATE_IS(d, RTS);
    dlg_wait(d, 60000000);
    /* The RNR wait ended, then the ACK timeout expired once without a response. */
    sent_sends(d, 1, 2);
    SEND_WC(d, 1, RETRY_EXC_ERR);
    SEND_WC(d, 2, WR_FLUSH_ERR);
}

/* 9.7.6.1.3: between once and four times 4.096 us * 2^code; 0 means never. */
TEST("/comp/timeout/table", test_timeout)
{
    EACH_DIALOG(d, code, 1, 32, open_budgets(d, 7, 7, code)) {
        const uint64_t ns = 4096ull << code;

        post_sends(d, 2);
        dlg_wait(d, ns - 1);
        QUIET(d);
        dlg_wait(d, ns);
        sent_sends(d, 0, 1);
        QUIET(d);
        acked(d, 2);
        dlg_wait(d, 5 * ns);
    }
    WITH_DIALOG(d, open_budgets(d, 7, 7, 0)) {
        post_sends(d, 1);
        IS(d->env.wake, UINT64_MAX);
        dlg_wait(d, 1ull << 50);
        QUIET(d);
        acked(d, 1);
    }
}

/* At most n resends; an ACK in between restores the budget. */
TEST("/comp/timeout/budget", test_retry_budget)
{
    const uint64_t ns = ernic_ack_timeout_ns(10);

    EACH_DIALOG(d, n, 0, 7 + 1, open_budgets(d, n, 7, 10)) {
        post_sends(d, 2);
        for (uint32_t i = 0; i < n; i++) {
            dlg_wait(d, ns);
            sent_sends(d, 0, 1);
        }
        dlg_no_wc(d);
        acked(d, 1);
        for (uint32_t i = 0; i < n; i++) {
            dlg_wait(d, ns);
            sent_sends(d, 1, 1);
        }
        dlg_no_wc(d);
        dlg_wait(d, ns);
        SEND_WC(d, 1, RETRY_EXC_ERR);
        STATE_IS(d, ERR);
    }
}

/* A NAK of a sequence error uses the same budget. */
DIALOG_TEST_BY("/comp/timeout/nak-budget", open_budgets(d, 0, 7, 14), test_retry_nak)
{
    post_sends(d, 2);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    SEND_WC(d, 0, RETRY_EXC_ERR);
    SEND_WC(d, 1, WR_FLUSH_ERR);
}

/* Nothing has come until the timeout: a NAK after it is of the second attempt. */
DIALOG_TEST("/comp/timeout/nak-after", ERNIC_QPT_RC, test_nak_after_timeout)
{
    post_sends(d, 4);
    dlg_wait(d, ernic_ack_timeout_ns(14));
    sent_sends(d, 0, 3);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    sent_sends(d, 0, 3);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    QUIET(d);
    ACKED(d, PSN + 3, 0, 4);
}

/* If the timeout took the last retry, the NAK may be late, and the timer decides. */
DIALOG_TEST_BY("/comp/timeout/nak-after-last", open_budgets(d, 1, 7, 14),
               test_nak_after_last_timeout)
{
    post_sends(d, 2);
    dlg_wait(d, ernic_ack_timeout_ns(14));
    sent_sends(d, 0, 1);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    dlg_nothing(d);
    acked(d, 2);
}

/* The same for a response that a READ's is missing before. */
DIALOG_TEST("/comp/timeout/implied-after", ERNIC_QPT_RC, test_implied_after_timeout)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK + 64, 16);
    IS(dlg_drain(d), 2);
    dlg_wait(d, ernic_ack_timeout_ns(14));
    IS(dlg_drain(d), 2);
    dlg_peer_read(d, PSN + 1, 2, 0, 16);
    SENT_READ(d, PSN, 0, 16);
    SENT_READ(d, PSN + 1, 0, 16);
    dlg_peer_read(d, PSN, 1, 0, 16);
    dlg_peer_read(d, PSN + 1, 2, 0, 16);
    SEND_WCS(d, 0, 1, SUCCESS);
}

/* A resent packet has the full timeout again. */
DIALOG_TEST("/comp/timeout/restart", ERNIC_QPT_RC, test_timeout_restart)
{
    const uint64_t ns = ernic_ack_timeout_ns(14);

    post_sends(d, 1);
    dlg_wait(d, ns - 1000);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    sent_sends(d, 0, 0);
    dlg_wait(d, ns - 1);
    QUIET(d);
    dlg_wait(d, 1);
    sent_sends(d, 0, 0);
    acked(d, 1);
}

/* 9.7.5.1.5: a response after a READ in sequence means that the READ's was lost. */
DIALOG_TEST("/comp/implied/ack", ERNIC_QPT_RC, test_implied_by_ack)
{
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 2000);
    dlg_post(d, ERNIC_WR_SEND, 0, 17);
    dlg_drain(d);
    PEER_ACK(d, PSN + 3, 3);
    SEND_WC(d, 0, SUCCESS);
    dlg_no_wc(d);
    SENT_READ(d, PSN + 1, 0, 2000);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + 3, 0, 17);
    /* Only once: the remaining responses to the first attempt arrive just as late. */
    PEER_ACK(d, PSN + 3, 3);
    QUIET(d);
    dlg_peer_read(d, PSN + 1, 2, 0, 2000);
    SEND_WC(d, 1, SUCCESS);
    ACKED(d, PSN + 3, 2, 3);
}

DIALOG_TEST("/comp/implied/response", ERNIC_QPT_RC, test_implied_by_response)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_post(d, ERNIC_WR_FETCH_ADD, DLG_SINK + 64, 8);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK + 128, 16);
    dlg_drain(d);
    dlg_peer_read(d, PSN + 2, 3, 0, 16);
    IS(dlg_pending(d), 3);
    SENT_READ(d, PSN, 0, 16);
    dlg_drain(d);
    dlg_mem_is(d, DLG_SINK + 128, NULL, 16);
    dlg_peer_read(d, PSN, 1, 0, 16);
    SEND_WC(d, 0, SUCCESS);
    /* Now the atomic's response is lost. */
    dlg_peer_read(d, PSN + 2, 3, 0, 16);
    SENT_ADD(d, PSN + 1);
    SENT_READ(d, PSN + 2, 0, 16);
    PEER_ATOMIC(d, PSN + 1, 2, 5);
    SEND_WC(d, 1, SUCCESS);
    dlg_peer_read(d, PSN + 2, 3, 0, 16);
    SEND_WC(d, 2, SUCCESS);
}

/* A NAK of a request after a READ implies the same. */
DIALOG_TEST("/comp/implied/nak", ERNIC_QPT_RC, test_implied_by_nak)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_drain(d);
    PEER_NAK(d, ERNIC_NAK_REM_ACC, PSN + 1, 1);
    dlg_no_wc(d);
    SENT_READ(d, PSN, 0, 16);
    sent_sends(d, 1, 1);
    dlg_peer_read(d, PSN, 1, 0, 16);
    SEND_WC(d, 0, SUCCESS);
    PEER_NAK(d, ERNIC_NAK_REM_ACC, PSN + 1, 1);
    SEND_WC(d, 1, REM_ACCESS_ERR);
}

/* The responses to the READs of @n requests after the first one. */
static void responses_after(Dialog *d, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        dlg_peer_read(d, PSN + i, i + 1, 64 * i, 64);
    }
}

static void post_reads(Dialog *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        dlg_post(d, ERNIC_WR_READ, DLG_SINK + 64 * i, 64);
    }
    IS(dlg_drain(d), n);
}

/*
 * Without a transport timer only responses show that the first one is missing: once for
 * each attempt, as long as there are retries.
 */
TEST("/comp/implied/no-timer", test_implied_no_timer)
{
    EACH_DIALOG(d, n, 2, 5, open_budgets(d, 3, 7, 0)) {
        post_reads(d, n);
        for (uint32_t tries = 0; tries < 3; tries++) {
            responses_after(d, n);
            IS(dlg_drain(d), n);
        }
        if (n == 2) {
            responses_after(d, n);
            SEND_WC(d, 0, RETRY_EXC_ERR);
            SEND_WC(d, 1, WR_FLUSH_ERR);
        } else {
            dlg_peer_read(d, PSN, 1, 0, 64);
            responses_after(d, n);
            SEND_WCS(d, 0, n - 1, SUCCESS);
            dlg_mem_is(d, DLG_SINK, d->peer, 64 * n);
        }
    }
}

/* The same after a NAK: the request was lost first, then its response. */
DIALOG_TEST_BY("/comp/implied/no-timer-nak", open_budgets(d, 3, 7, 0),
               test_implied_no_timer_nak)
{
    post_reads(d, 3);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN, 0);
    IS(dlg_drain(d), 3);
    responses_after(d, 3);
    IS(dlg_drain(d), 3);
    dlg_peer_read(d, PSN, 1, 0, 64);
    responses_after(d, 3);
    SEND_WCS(d, 0, 2, SUCCESS);
}

typedef struct BadResponse {
    uint8_t wr, op;             /* request; response with the second PSN */
    uint32_t payload_len;
} BadResponse;

static const BadResponse bad_responses[] = {
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_MIDDLE, 1023 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_MIDDLE, 1025 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_MIDDLE, 0 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_FIRST, 1024 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_LAST, 1024 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_LAST, 10 },
    { ERNIC_WR_READ, ERNIC_OP_READ_RSP_ONLY, 1024 },
    { ERNIC_WR_READ, ERNIC_OP_ATOMIC_ACK, 0 },
    { ERNIC_WR_SEND, ERNIC_OP_READ_RSP_MIDDLE, 1024 },
    { ERNIC_WR_SEND, ERNIC_OP_ATOMIC_ACK, 0 },
    { ERNIC_WR_FETCH_ADD, ERNIC_OP_READ_RSP_ONLY, 8 },
};

/* 9.9.2: a response that does not match the request ends the queue pair. */
TEST("/comp/response/bad", test_bad_response)
{
    EACH_DIALOG(d, i, 0, ARRAY_SIZE(bad_responses), dlg_open(d, ERNIC_QPT_RC)) {
        const BadResponse *bad = &bad_responses[i];
        bool atomic = bad->wr == ERNIC_WR_FETCH_ADD;

        if (atomic) {
            dlg_post(d, ERNIC_WR_SEND, 0, 16);
        }
        dlg_post(d, bad->wr, DLG_SINK, atomic ? 8 : 3000);
        dlg_drain(d);
        if (bad->wr == ERNIC_WR_READ) {
            PEER(d, READ_RSP_FIRST, .psn = PSN, .syndrome = DLG_ACK, .msn = 1,
                 .payload_len = 1024);
        } else if (atomic) {
            acked(d, 1);
        }
        dlg_peer(d, bad->op, &(ErnicPkt) {
            .psn = PSN + 1, .syndrome = DLG_ACK, .msn = 1,
            .payload_len = bad->payload_len });
        SEND_WC(d, atomic, BAD_RESP_ERR);
        STATE_IS(d, ERR);
        dlg_mem_is(d, DLG_SINK + 1024, NULL, 1024);
    }
}

/* The buffer's key was invalidated while the request was in flight. */
DIALOG_TEST("/comp/response/lkey-lost", ERNIC_QPT_RC, test_lkey_lost)
{
    uint32_t key = d->key;

    d->key = fake_reg_mr(d->e, d->pd, d->mem + DLG_SINK, 4096, ERNIC_ACCESS_LOCAL_WRITE);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    SENT_READ(d, PSN, 0, 16);
    IS(fake_destroy(d->e, ERNIC_CMD_MR_FREE, d->key), 0);
    d->key = key;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    sent_sends(d, 1, 1);
    dlg_peer_read(d, PSN, 1, 0, 16);
    SEND_WC(d, 0, LOC_PROT_ERR);
    SEND_WC(d, 1, WR_FLUSH_ERR);
    dlg_mem_is(d, DLG_SINK, NULL, 16);
}

/* Both responses mix: packets of either attempt are accepted. */
DIALOG_TEST("/comp/late/mixed", ERNIC_QPT_RC, test_mixed_responses)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 4096);
    SENT_READ(d, PSN, 0, 4096);
    PEER_DATA(d, READ_RSP_FIRST, PSN, 0, 1024, .syndrome = DLG_ACK);
    dlg_wait(d, ernic_ack_timeout_ns(14));
    SENT_READ(d, PSN + 1, 1024, 3072);
    /* The rest of the first one arrives late ... */
    PEER_DATA(d, READ_RSP_MIDDLE, PSN + 1, 1024, 1024);
    /* ... and then all of the second one. */
    PEER_DATA(d, READ_RSP_FIRST, PSN + 1, 1024, 1024, .syndrome = DLG_ACK);
    PEER_DATA(d, READ_RSP_MIDDLE, PSN + 2, 2048, 1024);
    PEER_DATA(d, READ_RSP_LAST, PSN + 3, 3072, 1024, .syndrome = DLG_ACK, .msn = 1);
    SEND_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK, d->peer, 4096);
}
