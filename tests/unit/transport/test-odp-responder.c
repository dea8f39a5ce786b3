/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: what the responder does while a page is absent, has come, or will
 * not come.
 */
#include "qemu/osdep.h"
#include "odp_fixture.h"

#define RQ DLG_RQ_PSN

/* On an XRC target the receive requests, and their keys, are the SRQ's. */
TEST("/odp/recv", test_recv)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_XRC_TGT };

    EACH_DIALOG(d, i, 0, G_N_ELEMENTS(types), open_demand(d, types[i])) {
        dlg_recv(d, DLG_SINK, 2 * PAGE);
        PEER_SEND(d, RQ, 16);
        SENT_NAK(d, RNR, RQ, 0);
        /* The fault covers the whole receive buffer. */
        asked(d, DLG_SINK, 2 * PAGE, true);
        PEER_SEND(d, RQ, 16);
        SENT_ACK(d, RQ, 1);
        RECV_WC(d, 0, SUCCESS);
    }
}

DEMAND_TEST("/odp/recv/failed", ERNIC_QPT_RC, test_recv_failed)
{
    dlg_recv(d, DLG_SINK, 64);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, RNR, RQ, 0);
    refused(d, DLG_SINK, 64, true);
    PEER_SEND(d, RQ, 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, RQ, 0);
    RECV_WC(d, 0, LOC_PROT_ERR);
    STATE_IS(d, ERR);
}

/* In the middle of a message, which continues at the same packet. */
DEMAND_TEST("/odp/write", ERNIC_QPT_RC, test_write)
{
    struct ernic_eqe eqe;

    set(d, DLG_SINK / PAGE, 1, W);
    PEER_DATA(d, WRITE_FIRST, RQ, 0, 1024, .va = d->mem + DLG_SINK + 3072, .rkey = d->key,
              .dma_len = 3072);
    for (int i = 0; i < 2; i++) {
        PEER_DATA(d, WRITE_MIDDLE, RQ + 1, 1024, 1024);
        if (i == 0) {
            SENT_NAK(d, RNR, RQ + 1, 0);
            eqe = faulted(d, DLG_SINK + PAGE, 2048, true);
            /* After the gap, later packets are dropped in silence. */
            PEER_DATA(d, WRITE_LAST, RQ + 2, 2048, 1024, .ackreq = true);
            QUIET(d);
            set(d, DLG_SINK / PAGE + 1, 1, W);
            fake_page_resume(d->e, &eqe, false);
        }
    }
    PEER_DATA(d, WRITE_LAST, RQ + 2, 2048, 1024, .ackreq = true);
    SENT_ACK(d, RQ + 2, 1);
    dlg_mem_is(d, DLG_SINK + 3072, d->peer, 3072);
}

/* A read-only page counts as absent for a write. */
DEMAND_TEST("/odp/write/failed", ERNIC_QPT_RC, test_write_failed)
{
    set(d, DLG_SINK / PAGE, 1, R);
    for (int i = 0; i < 2; i++) {
        PEER_WRITE(d, RQ, DLG_SINK, 16);
        if (i == 0) {
            SENT_NAK(d, RNR, RQ, 0);
            refused(d, DLG_SINK, 16, true);
        }
    }
    dlg_ends(d, ERNIC_NAK_REM_ACC, RQ, 0, ERNIC_EV_QP_ACCESS_ERR);
    dlg_mem_is(d, DLG_SINK, NULL, 16);
}

#define PEER_WORD(d)                                                        \
    PEER(d, ATOMIC_WRITE, .psn = RQ, .va = (d)->mem + DLG_SINK + 8,         \
         .rkey = (d)->key, .dma_len = 8, .payload_len = 8, .payload = (d)->peer)

DEMAND_TEST("/odp/served/atomic", ERNIC_QPT_RC, test_atomic_served)
{
    PEER_WORD(d);
    missed(d, RQ, 0, DLG_SINK + 8, 8, true);
    PEER_WORD(d);
    SENT(d, READ_RSP_ONLY, .psn = RQ, .msn = 1, .syndrome = DLG_ACK);
    unset(d, 0, 512);
    PEER_ADD(d, RQ + 1, DLG_SINK + 8, 5);
    missed(d, RQ + 1, 1, DLG_SINK + 8, 8, true);
    PEER_ADD(d, RQ + 1, DLG_SINK + 8, 5);
    SENT_ATOMIC(d, RQ + 1, 2, ldq_le_p(d->peer));
    IS(ldq_le_p(d->at + DLG_SINK + 8), ldq_le_p(d->peer) + 5);
}

/*
 * The first packet of the response has no page: RNR NAK, however often the peer asks,
 * so that its transport retries stay for lost packets.
 */
DEMAND_TEST("/odp/served/read", ERNIC_QPT_RC, test_read_served)
{
    struct ernic_eqe eqe;

    dlg_recv(d, DLG_SINK, 0);
    for (int i = 0; i < 9; i++) {
        PEER_READ(d, RQ, PAGE, 5000);
        SENT_NAK(d, RNR, RQ, 0);
    }
    PEER(d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    dlg_no_wc(d);
    eqe = faulted(d, PAGE, 5000, false);
    set(d, 1, 2, R);
    fake_page_resume(d->e, &eqe, false);
    QUIET(d);
    PEER_READ(d, RQ, PAGE, 5000);
    dlg_sent_read(d, RQ, 1, PAGE, 5000);
    PEER(d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    RECV_WC(d, 0, SUCCESS);
    SENT_ACK(d, RQ + 5, 2);
    IS(d->e->stats.page_faults, 1);
}

/* A response that has begun waits for its next page, and so do later requests. */
DEMAND_TEST("/odp/served/read-middle", ERNIC_QPT_RC, test_read_served_middle)
{
    set(d, 1, 1, R);
    dlg_recv(d, DLG_SINK, 0);
    PEER_READ(d, RQ, PAGE, 5000);
    SENT_DATA(d, READ_RSP_FIRST, RQ, PAGE, 1024, .msn = 1, .syndrome = DLG_ACK);
    for (int i = 1; i < 4; i++) {
        SENT_DATA(d, READ_RSP_MIDDLE, RQ + i, PAGE + i * 1024, 1024);
    }
    PEER(d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    RECV_WC(d, 0, SUCCESS);
    QUIET(d);
    asked(d, 2 * PAGE, 5000 - PAGE, false);
    SENT_DATA(d, READ_RSP_LAST, RQ + 4, 2 * PAGE, 5000 - PAGE, .msn = 1,
              .syndrome = DLG_ACK);
    SENT_ACK(d, RQ + 5, 2);
}

DEMAND_TEST("/odp/served/read-failed", ERNIC_QPT_RC, test_read_served_failed)
{
    PEER_READ(d, RQ, 0, 16);
    SENT_NAK(d, RNR, RQ, 0);
    refused(d, 0, 16, false);
    PEER_READ(d, RQ, 0, 16);
    dlg_ends(d, ERNIC_NAK_REM_ACC, RQ, 0, ERNIC_EV_QP_ACCESS_ERR);
}

/*
 * An unreliable service cannot ask for a resend: the message is lost, the receive
 * request stays.
 */
TEST("/odp/recv/unreliable", test_recv_unreliable)
{
    static const uint8_t types[] = { ERNIC_QPT_UC, ERNIC_QPT_UD };

    EACH_DIALOG(d, i, 0, G_N_ELEMENTS(types), open_demand(d, types[i])) {
        dlg_recv(d, DLG_SINK, 64);
        for (int k = 0; k < 2; k++) {
            PEER_SEND(d, RQ + k, 16);
            if (k == 0) {
                dlg_no_wc(d);
                asked(d, DLG_SINK, 64, true);
            }
        }
        RECV_WC(d, 0, SUCCESS);
    }
}
