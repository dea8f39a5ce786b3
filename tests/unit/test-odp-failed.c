/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: how long the device remembers that a page was unavailable.
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define PAGE        4096u
#define SINK_PAGE   (DLG_SINK / PAGE)
#define WRITE       (ERNIC_PAGE_READ | ERNIC_PAGE_WRITE)

/* @flags 0: the pages are absent. */
static void set(Dialog *d, uint64_t first, uint32_t n, uint32_t flags)
{
    g_assert_cmpuint(fake_set_pages(d->e, d->key, first, n,
                                    flags ? d->mem + first * PAGE : 0, flags),
                     ==, ERNIC_OK);
}

static void answer(Dialog *d, bool failed)
{
    struct ernic_eqe eqe = dlg_event_of(d, ERNIC_EV_PAGE_FAULT, d->qp.qpn);

    g_assert_cmphex(eqe.offset, ==, DLG_SINK);
    fake_page_resume(d->e, &eqe, failed);
}

static void dgram(Dialog *d)
{
    PEER(d, SEND_ONLY, .psn = DLG_RQ_PSN, .payload_len = 16, .qkey = DLG_QKEY,
         .src_qp = DLG_PEER_QPN);
}

/* A datagram from a region on demand with all pages absent. */
static void missed(Dialog *d)
{
    dlg_open(d, ERNIC_QPT_UD);
    d->key = fake_reg_demand(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE);
    dlg_recv(d, DLG_SINK, 64);
    dgram(d);
}

/*
 * Another; software is @asked once more and provides the page, or else the request
 * fails.
 */
static void again(Dialog *d, bool asked)
{
    dgram(d);
    if (asked) {
        dlg_no_wc(d);
        set(d, SINK_PAGE, 1, WRITE);
        answer(d, false);
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
static void test_failed_once(void)
{
    Dialog d;
    int come;

    for (come = 0; come < 3; come++) {
        missed(&d);
        answer(&d, true);
        if (come) {
            set(&d, SINK_PAGE + (come == 2), 1, WRITE);
            set(&d, SINK_PAGE, 2, 0);
        }
        again(&d, come == 1);
    }
}

/* The same where the page became present before software reported the failure. */
static void test_come_before(void)
{
    Dialog d;
    int come;

    for (come = 0; come < 2; come++) {
        missed(&d);
        /* A read-only page is not sufficient. */
        set(&d, SINK_PAGE, 1, come ? WRITE : ERNIC_PAGE_READ);
        answer(&d, true);
        set(&d, SINK_PAGE, 1, 0);
        again(&d, come);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/odp/failed-once", test_failed_once);
    g_test_add_func("/odp/come-before", test_come_before);
    return g_test_run();
}
