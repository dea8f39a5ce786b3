/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: what the requester and the completer do while a page is absent,
 * has come, or will not come.
 */
#include "qemu/osdep.h"
#include "odp_fixture.h"

#define SQ DLG_SQ_PSN

DEMAND_TEST("/odp/send", ERNIC_QPT_RC, test_send)
{
    dlg_post(d, ERNIC_WR_SEND, 100, 3 * PAGE);
    QUIET(d);
    asked(d, 100, 3 * PAGE, false);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 100, 3 * PAGE);
    ACKED(d, SQ + 11, 0, 1);
    IS(d->e->stats.page_faults, 1);
}

/* Present pages are sent; the wait uses no retries. */
DEMAND_TEST("/odp/send/middle", ERNIC_QPT_RC, test_send_middle)
{
    struct ernic_eqe eqe;

    set(d, 0, 1, R);
    dlg_post(d, ERNIC_WR_SEND, 0, 2 * PAGE);
    eqe = faulted(d, PAGE, PAGE, false);
    SENT_DATA(d, SEND_FIRST, SQ, 0, 1024);
    for (int i = 1; i < 4; i++) {
        SENT_DATA(d, SEND_MIDDLE, SQ + i, i * 1024, 1024);
    }
    dlg_wait(d, 10ull * 1000 * 1000 * 1000);
    QUIET(d);
    set(d, 1, 1, R);
    fake_page_resume(d->e, &eqe, false);
    for (int i = 4; i < 7; i++) {
        SENT_DATA(d, SEND_MIDDLE, SQ + i, i * 1024, 1024);
    }
    SENT_DATA(d, SEND_LAST, SQ + 7, 7 * 1024, 1024, .ackreq = true);
    ACKED(d, SQ + 7, 0, 1);
    IS(d->e->stats.ack_timeouts, 0);
}

TEST("/odp/send/failed", test_send_failed)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_UC, ERNIC_QPT_UD };

    EACH_DIALOG(d, i, 0, G_N_ELEMENTS(types), open_demand(d, types[i])) {
        dlg_post(d, ERNIC_WR_SEND, 0, 100);
        QUIET(d);
        refused(d, 0, 100, false);
        SEND_WC(d, 0, LOC_PROT_ERR);
        if (types[i] == ERNIC_QPT_RC) {
            STATE_IS(d, ERR);
        } else {
            STATE_IS(d, SQE);
        }
        IS(ernic_trace_count("ernic_page_unresolved"), 1);
    }
}

/* The data of a READ is dropped and requested again. */
DEMAND_TEST("/odp/read", ERNIC_QPT_RC, test_read)
{
    struct ernic_eqe eqe;

    set(d, DLG_SINK / PAGE, 1, W);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 2 * PAGE);
    SENT_READ(d, SQ, 0, 2 * PAGE);
    dlg_peer_read(d, SQ, 1, 0, 2 * PAGE);
    eqe = faulted(d, DLG_SINK + PAGE, PAGE, true);
    /* The wait has no limit, and no other packet ends it. */
    dlg_wait(d, 10ull * 1000 * 1000 * 1000);
    PEER_DATA(d, READ_RSP_LAST, SQ + 7, 0, 1024, .msn = 1, .syndrome = DLG_ACK);
    dlg_nothing(d);
    set(d, DLG_SINK / PAGE + 1, 1, W);
    fake_page_resume(d->e, &eqe, false);
    SENT_READ(d, SQ + 4, PAGE, PAGE);
    dlg_peer_read(d, SQ + 4, 1, PAGE, PAGE);
    SEND_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK, d->peer, 2 * PAGE);
}

/* The rest of the response shows no loss, also if there is no transport timer. */
DIALOG_TEST_BY("/odp/read/no-timer",
               DLG_OPEN(d, ERNIC_QPT_RC, d->attr.timeout = 0; d->attr.retry_cnt = 1),
               test_read_no_timer)
{
    d->key = fake_reg_demand(d->e, d->pd, d->mem, DLG_MEM, ALL);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 2 * PAGE);
    SENT_READ(d, SQ, 0, 2 * PAGE);
    dlg_peer_read(d, SQ, 1, 0, 2 * PAGE);
    asked(d, DLG_SINK, 2 * PAGE, true);
    SENT_READ(d, SQ, 0, 2 * PAGE);
    IS(d->e->stats.implied_naks, 0);
    dlg_peer_read(d, SQ, 1, 0, 2 * PAGE);
    SEND_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK, d->peer, 2 * PAGE);
}

DEMAND_TEST("/odp/read/failed", ERNIC_QPT_RC, test_read_failed)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_take(d);
    dlg_peer_read(d, SQ, 1, 0, 16);
    refused(d, DLG_SINK, 16, true);
    /* The READ is sent once more; the page for its response is unavailable. */
    dlg_take(d);
    dlg_peer_read(d, SQ, 1, 0, 16);
    SEND_WC(d, 0, LOC_PROT_ERR);
    STATE_IS(d, ERR);
}

DEMAND_TEST("/odp/atomic", ERNIC_QPT_RC, test_atomic)
{
    dlg_post(d, ERNIC_WR_FETCH_ADD, DLG_SINK, 8);
    for (int i = 0; i < 2; i++) {
        SENT_ADD(d, SQ);
        PEER_ATOMIC(d, SQ, 1, 0x0102030405060708ull);
        if (i == 0) {
            dlg_no_wc(d);
            asked(d, DLG_SINK, 8, true);
        }
    }
    SEND_WC(d, 0, SUCCESS);
    IS(ldq_le_p(d->at + DLG_SINK), 0x0102030405060708ull);
}
