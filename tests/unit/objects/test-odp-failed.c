/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: how long the device remembers that a page was unavailable.
 */
#include "qemu/osdep.h"
#include "odp_fixture.h"

#define SINK_PAGE   (DLG_SINK / PAGE)

static void dgram(Dialog *d)
{
    PEER(d, SEND_ONLY, .psn = DLG_RQ_PSN, .payload_len = 16, .qkey = DLG_QKEY,
         .src_qp = DLG_PEER_QPN);
}

/* A datagram for a region on demand with all pages absent. */
static void lost(Dialog *d)
{
    open_demand(d, ERNIC_QPT_UD);
    dlg_recv(d, DLG_SINK, 64);
    dgram(d);
}

/*
 * Another; software is asked @once_more and provides the page, or else the request
 * fails.
 */
static void again(Dialog *d, bool once_more)
{
    dgram(d);
    if (once_more) {
        dlg_no_wc(d);
        asked(d, DLG_SINK, 64, true);
        dgram(d);
        RECV_WC(d, 0, SUCCESS);
        STATE_IS(d, RTS);
    } else {
        RECV_WC(d, 0, LOC_PROT_ERR);
        STATE_IS(d, ERR);
    }
    dlg_close(d);
}

/*
 * The failure is not remembered for ever: once the page was present and is absent
 * again, software is asked anew. Pages elsewhere change nothing.
 */
TEST("/odp/failed-once", test_failed_once)
{
    for (int come = 0; come < 3; come++) {
        Dialog d;

        lost(&d);
        refused(&d, DLG_SINK, 64, true);
        if (come) {
            set(&d, SINK_PAGE + (come == 2), 1, W);
            unset(&d, SINK_PAGE, 2);
        }
        again(&d, come == 1);
    }
}

/* The same where the page became present before software reported the failure. */
TEST("/odp/come-before", test_come_before)
{
    Dialog d;

    for (int come = 0; come < 2; come++) {
        lost(&d);
        /* A read-only page is not sufficient. */
        set(&d, SINK_PAGE, 1, come ? W : R);
        refused(&d, DLG_SINK, 64, true);
        unset(&d, SINK_PAGE, 1);
        again(&d, come);
    }
}
