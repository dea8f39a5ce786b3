/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Regions on demand: the table of their pages, and what each role does while a
 * page is absent, has come, or will not come.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dialog.h"
#include "objects/mr.h"
#include "transport/qp.h"
#include "trace-mark.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN
#define PAGE 4096u
#define RNR (ERNIC_AETH_RNR_NAK | 12)
#define R ERNIC_PAGE_READ
#define W (ERNIC_PAGE_READ | ERNIC_PAGE_WRITE)
#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC | \
             ERNIC_ACCESS_MW_BIND)

/* Replace the region of a dialogue by one on demand, with all pages absent. */
static void open_demand(Dialog *d, uint8_t type)
{
    dlg_open(d, type);
    d->key = fake_reg_demand(d->e, d->pd, d->mem, DLG_MEM, ALL);
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
}

static void set(Dialog *d, uint64_t first, uint32_t n, uint32_t flags)
{
    g_assert_cmpuint(fake_set_pages(d->e, d->key, first, n,
                                    d->mem + first * PAGE, flags), ==,
                     ERNIC_OK);
}

static void unset(Dialog *d, uint64_t first, uint32_t n)
{
    g_assert_cmpuint(fake_set_pages(d->e, d->key, first, n, 0, 0), ==,
                     ERNIC_OK);
}

static struct ernic_eqe faulted(Dialog *d, uint64_t off, uint32_t len,
                                bool write)
{
    struct ernic_eqe eqe = dlg_event_of(d, ERNIC_EV_PAGE_FAULT, d->qp.qpn);

    g_assert_cmphex(eqe.detail, ==, d->key);
    g_assert_cmphex(eqe.offset, ==, off);
    g_assert_cmpuint(eqe.length, ==, len);
    g_assert_cmpuint(eqe.flags, ==, write ? ERNIC_EQE_WRITE : 0);
    return eqe;
}

/* Software is asked for @len bytes at @off, and provides them all. */
static void asked(Dialog *d, uint64_t off, uint32_t len, bool write)
{
    struct ernic_eqe eqe = faulted(d, off, len, write);

    QUIET(d);
    set(d, off / PAGE, (off % PAGE + len - 1) / PAGE + 1, write ? W : R);
    fake_page_resume(d->e, &eqe, false);
}

static void refused(Dialog *d, uint64_t off, uint32_t len, bool write)
{
    struct ernic_eqe eqe = faulted(d, off, len, write);

    fake_page_resume(d->e, &eqe, true);
}

/* ---- requester ------------------------------------------------------------ */

static void test_send(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_SEND, 100, 3 * PAGE);
    QUIET(&d);
    asked(&d, 100, 3 * PAGE, false);
    dlg_sent_message(&d, ERNIC_WR_SEND, 0, SQ, 100, 3 * PAGE);
    PEER_ACK(&d, SQ + 11, 1);
    SEND_WC(&d, 0, SUCCESS);
    g_assert_cmpuint(d.e->stats.page_faults, ==, 1);
    dlg_close(&d);
}

/* Present pages are sent; the wait uses no retries. */
static void test_send_middle(void)
{
    struct ernic_eqe eqe;
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, 0, 1, R);
    dlg_post(&d, ERNIC_WR_SEND, 0, 2 * PAGE);
    eqe = faulted(&d, PAGE, PAGE, false);
    SENT(&d, SEND_FIRST, .psn = SQ, .payload_len = 1024, .payload = d.at);
    for (i = 1; i < 4; i++) {
        SENT(&d, SEND_MIDDLE, .psn = SQ + i, .payload_len = 1024,
             .payload = d.at + i * 1024);
    }
    dlg_wait(&d, 10ull * 1000 * 1000 * 1000);
    QUIET(&d);
    set(&d, 1, 1, R);
    fake_page_resume(d.e, &eqe, false);
    for (i = 4; i < 7; i++) {
        SENT(&d, SEND_MIDDLE, .psn = SQ + i, .payload_len = 1024,
             .payload = d.at + i * 1024);
    }
    SENT(&d, SEND_LAST, .psn = SQ + 7, .payload_len = 1024, .ackreq = true,
         .payload = d.at + 7 * 1024);
    PEER_ACK(&d, SQ + 7, 1);
    SEND_WC(&d, 0, SUCCESS);
    g_assert_cmpuint(d.e->stats.ack_timeouts, ==, 0);
    dlg_close(&d);
}

static void test_send_failed(void)
{
    static const uint8_t types[] = {
        ERNIC_QPT_RC, ERNIC_QPT_UC, ERNIC_QPT_UD,
    };
    Dialog d;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        open_demand(&d, types[i]);
        dlg_post(&d, ERNIC_WR_SEND, 0, 100);
        QUIET(&d);
        refused(&d, 0, 100, false);
        SEND_WC(&d, 0, LOC_PROT_ERR);
        if (types[i] == ERNIC_QPT_RC) {
            STATE_IS(&d, ERR);
        } else {
            STATE_IS(&d, SQE);
        }
        g_assert_cmpuint(ernic_trace_count("ernic_page_unresolved"), ==, 1);
        dlg_close(&d);
    }
}

static void test_send_datagram(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_UD);
    dlg_post(&d, ERNIC_WR_SEND, 0, 100);
    dlg_no_wc(&d);
    asked(&d, 0, 100, false);
    g_assert_cmpuint(dlg_pending(&d), ==, 1);
    dlg_take(&d);
    SEND_WC(&d, 0, SUCCESS);
    dlg_close(&d);
}

/* The data of a READ is dropped and requested again. */
static void test_read(void)
{
    struct ernic_eqe eqe;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, DLG_SINK / PAGE, 1, W);
    dlg_post(&d, ERNIC_WR_READ, DLG_SINK, 2 * PAGE);
    SENT(&d, READ_REQUEST, .psn = SQ, .va = DLG_RADDR, .rkey = DLG_RKEY,
         .dma_len = 2 * PAGE, .ackreq = true);
    dlg_peer_read(&d, SQ, 1, 0, 2 * PAGE);
    eqe = faulted(&d, DLG_SINK + PAGE, PAGE, true);
    /* The wait has no limit, and no other packet ends it. */
    dlg_wait(&d, 10ull * 1000 * 1000 * 1000);
    PEER(&d, READ_RSP_LAST, .psn = SQ + 7, .msn = 1, .syndrome = DLG_ACK,
         .payload_len = 1024, .payload = d.peer);
    QUIET(&d);
    dlg_no_wc(&d);
    set(&d, DLG_SINK / PAGE + 1, 1, W);
    fake_page_resume(d.e, &eqe, false);
    SENT(&d, READ_REQUEST, .psn = SQ + 4, .va = DLG_RADDR + PAGE,
         .rkey = DLG_RKEY, .dma_len = PAGE, .ackreq = true);
    dlg_peer_read(&d, SQ + 4, 1, PAGE, PAGE);
    SEND_WC(&d, 0, SUCCESS);
    dlg_mem_is(&d, DLG_SINK, d.peer, 2 * PAGE);
    dlg_close(&d);
}

static void test_read_failed(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_take(&d);
    dlg_peer_read(&d, SQ, 1, 0, 16);
    refused(&d, DLG_SINK, 16, true);
    /* The READ is sent once more; the page for its response is unavailable. */
    dlg_take(&d);
    dlg_peer_read(&d, SQ, 1, 0, 16);
    SEND_WC(&d, 0, LOC_PROT_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);
}

static void test_atomic(void)
{
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_FETCH_ADD, DLG_SINK, 8);
    for (i = 0; i < 2; i++) {
        SENT(&d, FETCH_ADD, .psn = SQ, .va = DLG_RADDR, .rkey = DLG_RKEY,
             .swap_add = DLG_COMPARE, .ackreq = true);
        PEER(&d, ATOMIC_ACK, .psn = SQ, .syndrome = DLG_ACK, .msn = 1,
             .atomic_orig = 0x0102030405060708ull);
        if (i == 0) {
            dlg_no_wc(&d);
            asked(&d, DLG_SINK, 8, true);
        }
    }
    SEND_WC(&d, 0, SUCCESS);
    g_assert_cmphex(ldq_le_p(d.at + DLG_SINK), ==, 0x0102030405060708ull);
    dlg_close(&d);
}

/* ---- responder ------------------------------------------------------------ */

/* On an XRC target the receive requests, and their keys, are the SRQ's. */
static void test_recv(void)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_XRC_TGT };
    Dialog d;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        open_demand(&d, types[i]);
        dlg_recv(&d, DLG_SINK, 2 * PAGE);
        PEER(&d, SEND_ONLY, .psn = RQ, .ackreq = true, .payload_len = 16);
        SENT_NAK(&d, RNR, RQ, 0);
        /* The fault covers the whole receive buffer. */
        asked(&d, DLG_SINK, 2 * PAGE, true);
        PEER(&d, SEND_ONLY, .psn = RQ, .ackreq = true, .payload_len = 16);
        SENT_ACK(&d, RQ, 1);
        RECV_WC(&d, 0, SUCCESS);
        dlg_close(&d);
    }
}

static void test_recv_failed(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_recv(&d, DLG_SINK, 64);
    PEER(&d, SEND_ONLY, .psn = RQ, .ackreq = true, .payload_len = 16);
    SENT_NAK(&d, RNR, RQ, 0);
    refused(&d, DLG_SINK, 64, true);
    PEER(&d, SEND_ONLY, .psn = RQ, .ackreq = true, .payload_len = 16);
    SENT_NAK(&d, ERNIC_NAK_REM_OP, RQ, 0);
    RECV_WC(&d, 0, LOC_PROT_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);
}

/* In the middle of a message, which continues at the same packet. */
static void test_write(void)
{
    struct ernic_eqe eqe;
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, DLG_SINK / PAGE, 1, W);
    PEER(&d, WRITE_FIRST, .psn = RQ, .va = d.mem + DLG_SINK + 3072,
         .rkey = d.key, .dma_len = 3072, .payload_len = 1024,
         .payload = d.peer);
    for (i = 0; i < 2; i++) {
        PEER(&d, WRITE_MIDDLE, .psn = RQ + 1, .payload_len = 1024,
             .payload = d.peer + 1024);
        if (i == 0) {
            SENT_NAK(&d, RNR, RQ + 1, 0);
            eqe = faulted(&d, DLG_SINK + PAGE, 2048, true);
            /* After the gap, later packets are dropped in silence. */
            PEER(&d, WRITE_LAST, .psn = RQ + 2, .ackreq = true,
                 .payload_len = 1024, .payload = d.peer + 2048);
            QUIET(&d);
            set(&d, DLG_SINK / PAGE + 1, 1, W);
            fake_page_resume(d.e, &eqe, false);
        }
    }
    PEER(&d, WRITE_LAST, .psn = RQ + 2, .ackreq = true, .payload_len = 1024,
         .payload = d.peer + 2048);
    SENT_ACK(&d, RQ + 2, 1);
    dlg_mem_is(&d, DLG_SINK + 3072, d.peer, 3072);
    dlg_close(&d);
}

/* A read-only page counts as absent for a write. */
static void test_write_failed(void)
{
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, DLG_SINK / PAGE, 1, R);
    for (i = 0; i < 2; i++) {
        PEER(&d, WRITE_ONLY, .psn = RQ, .va = d.mem + DLG_SINK, .rkey = d.key,
             .dma_len = 16, .payload_len = 16, .payload = d.peer,
             .ackreq = true);
        if (i == 0) {
            SENT_NAK(&d, RNR, RQ, 0);
            refused(&d, DLG_SINK, 16, true);
        }
    }
    SENT_NAK(&d, ERNIC_NAK_REM_ACC, RQ, 0);
    dlg_event(&d, ERNIC_EV_QP_ACCESS_ERR);
    STATE_IS(&d, ERR);
    dlg_mem_is(&d, DLG_SINK, NULL, 16);
    dlg_close(&d);
}

#define PEER_WORD(d)                                                        \
    PEER(d, ATOMIC_WRITE, .psn = RQ, .va = (d)->mem + DLG_SINK + 8,         \
         .rkey = (d)->key, .dma_len = 8, .payload_len = 8, .payload = (d)->peer)

static void test_atomic_served(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    PEER_WORD(&d);
    SENT_NAK(&d, RNR, RQ, 0);
    asked(&d, DLG_SINK + 8, 8, true);
    PEER_WORD(&d);
    SENT(&d, READ_RSP_ONLY, .psn = RQ, .msn = 1, .syndrome = DLG_ACK);
    unset(&d, 0, 512);
    PEER(&d, FETCH_ADD, .psn = RQ + 1, .va = d.mem + DLG_SINK + 8, .rkey = d.key,
         .swap_add = 5, .ackreq = true);
    SENT_NAK(&d, RNR, RQ + 1, 1);
    asked(&d, DLG_SINK + 8, 8, true);
    PEER(&d, FETCH_ADD, .psn = RQ + 1, .va = d.mem + DLG_SINK + 8, .rkey = d.key,
         .swap_add = 5, .ackreq = true);
    SENT(&d, ATOMIC_ACK, .psn = RQ + 1, .msn = 2, .syndrome = DLG_ACK,
         .atomic_orig = ldq_le_p(d.peer));
    g_assert_cmpuint(ldq_le_p(d.at + DLG_SINK + 8), ==, ldq_le_p(d.peer) + 5);
    dlg_close(&d);
}

static void peer_reads(Dialog *d, uint32_t psn, uint64_t off, uint32_t len)
{
    PEER(d, READ_REQUEST, .psn = psn, .va = d->mem + off, .rkey = d->key,
         .dma_len = len, .ackreq = true);
}

/*
 * The first packet of the response has no page: RNR NAK, however often the peer asks,
 * so that its transport retries stay for lost packets.
 */
static void test_read_served(void)
{
    struct ernic_eqe eqe;
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_recv(&d, DLG_SINK, 0);
    for (i = 0; i < 9; i++) {
        peer_reads(&d, RQ, PAGE, 5000);
        SENT_NAK(&d, RNR, RQ, 0);
    }
    PEER(&d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    dlg_no_wc(&d);
    eqe = faulted(&d, PAGE, 5000, false);
    set(&d, 1, 2, R);
    fake_page_resume(d.e, &eqe, false);
    QUIET(&d);
    peer_reads(&d, RQ, PAGE, 5000);
    dlg_sent_read(&d, RQ, 1, PAGE, 5000);
    PEER(&d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    RECV_WC(&d, 0, SUCCESS);
    SENT_ACK(&d, RQ + 5, 2);
    g_assert_cmpuint(d.e->stats.page_faults, ==, 1);
    dlg_close(&d);
}

/* A response that has begun waits for its next page, and so do later requests. */
static void test_read_served_middle(void)
{
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, 1, 1, R);
    dlg_recv(&d, DLG_SINK, 0);
    peer_reads(&d, RQ, PAGE, 5000);
    SENT(&d, READ_RSP_FIRST, .psn = RQ, .msn = 1, .syndrome = DLG_ACK,
         .payload_len = 1024, .payload = d.at + PAGE);
    for (i = 1; i < 4; i++) {
        SENT(&d, READ_RSP_MIDDLE, .psn = RQ + i, .payload_len = 1024,
             .payload = d.at + PAGE + i * 1024);
    }
    PEER(&d, SEND_ONLY, .psn = RQ + 5, .ackreq = true);
    RECV_WC(&d, 0, SUCCESS);
    QUIET(&d);
    asked(&d, 2 * PAGE, 5000 - PAGE, false);
    SENT(&d, READ_RSP_LAST, .psn = RQ + 4, .msn = 1, .syndrome = DLG_ACK,
         .payload_len = 5000 - PAGE, .payload = d.at + 2 * PAGE);
    SENT_ACK(&d, RQ + 5, 2);
    dlg_close(&d);
}

static void test_read_served_failed(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    peer_reads(&d, RQ, 0, 16);
    SENT_NAK(&d, RNR, RQ, 0);
    refused(&d, 0, 16, false);
    peer_reads(&d, RQ, 0, 16);
    SENT_NAK(&d, ERNIC_NAK_REM_ACC, RQ, 0);
    dlg_event(&d, ERNIC_EV_QP_ACCESS_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);
}

/*
 * An unreliable service cannot ask for a resend: the message is lost, the receive
 * request stays.
 */
static void test_recv_unreliable(void)
{
    static const uint8_t types[] = { ERNIC_QPT_UC, ERNIC_QPT_UD };
    Dialog d;
    size_t i;
    int k;

    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        open_demand(&d, types[i]);
        dlg_recv(&d, DLG_SINK, 64);
        for (k = 0; k < 2; k++) {
            PEER(&d, SEND_ONLY, .psn = RQ + k, .payload_len = 16,
                 .qkey = types[i] == ERNIC_QPT_UD ? DLG_QKEY : 0,
                 .src_qp = types[i] == ERNIC_QPT_UD ? DLG_PEER_QPN : 0);
            if (k == 0) {
                dlg_no_wc(&d);
                asked(&d, DLG_SINK, 64, true);
            }
        }
        RECV_WC(&d, 0, SUCCESS);
        dlg_close(&d);
    }
}

/* ---- software's side -------------------------------------------------------- */

/* After the command that removes a page, the device does not access it. */
static void test_removed(void)
{
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, 0, 512, W);
    PEER(&d, WRITE_ONLY, .psn = RQ, .va = d.mem + DLG_SINK, .rkey = d.key,
         .dma_len = 16, .payload_len = 16, .payload = d.peer, .ackreq = true);
    SENT_ACK(&d, RQ, 1);
    unset(&d, 0, 512);
    g_assert_cmpuint(d.e->mr[d.key >> 8].odp->num, ==, 0);
    PEER(&d, WRITE_ONLY, .psn = RQ + 1, .va = d.mem + DLG_SINK, .rkey = d.key,
         .dma_len = 16, .payload_len = 16, .payload = d.peer + 64,
         .ackreq = true);
    SENT_NAK(&d, RNR, RQ + 1, 1);
    dlg_mem_is(&d, DLG_SINK, d.peer, 16);
    asked(&d, DLG_SINK, 16, true);
    dlg_close(&d);
}

/* Without a software handler an absent page is a bad key. */
static void test_nobody(void)
{
    Dialog d;
    int i;

    for (i = 1; i < 3; i++) {           /* removed before the fault, and after */
        open_demand(&d, ERNIC_QPT_RC);
        if (i == 2) {
            dlg_post(&d, ERNIC_WR_SEND, 0, 16);
            faulted(&d, 0, 16, false);
        }
        g_assert_cmpuint(fake_destroy(d.e, ERNIC_CMD_EQ_DESTROY, d.eq.eqn), ==,
                         ERNIC_OK);
        if (i == 1) {
            dlg_post(&d, ERNIC_WR_SEND, 0, 16);
        }
        SEND_WC(&d, 0, LOC_PROT_ERR);
        dlg_close(&d);
    }
}

/* A response to another fault is ignored. */
static void test_resume(void)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PAGE_RESUME };
    struct ernic_eqe eqe, other;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    dlg_post(&d, ERNIC_WR_SEND, 0, 16);
    eqe = faulted(&d, 0, 16, false);
    other = eqe;
    other.detail ^= 1;
    fake_page_resume(d.e, &other, true);
    other = eqe;
    other.offset++;
    fake_page_resume(d.e, &other, true);
    dlg_no_wc(&d);
    dlg_no_event(&d);
    cmd.page_resume.qpn = cpu_to_le32(d.qp.qpn);
    cmd.page_resume.failed = 2;
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_PARAM);
    cmd.page_resume.failed = 1;
    cmd.page_resume.qpn = cpu_to_le32(d.qp.qpn + 1);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_HANDLE);
    cmd.page_resume.qpn = UINT32_MAX;
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_HANDLE);
    /* Resumed without the page: another fault. */
    fake_page_resume(d.e, &eqe, false);
    asked(&d, 0, 16, false);
    dlg_sent_message(&d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    PEER_ACK(&d, SQ, 1);
    SEND_WC(&d, 0, SUCCESS);
    /* The same when no fault is outstanding. */
    fake_page_resume(d.e, &eqe, true);
    dlg_no_wc(&d);
    dlg_close(&d);
}

/* The wait is part of the saved state. */
static void test_saved(void)
{
    GByteArray *state = g_byte_array_new();
    struct ernic_eqe eqe;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    set(&d, 5, 3, R);
    dlg_post(&d, ERNIC_WR_SEND, 4 * PAGE, 2 * PAGE);
    eqe = faulted(&d, 4 * PAGE, 2 * PAGE, false);
    ernic_save(d.e, state);
    g_assert_true(ernic_load(d.e, d.env.now, state->data, state->len));
    fake_run(d.e);
    QUIET(&d);
    set(&d, 4, 1, R);
    fake_page_resume(d.e, &eqe, false);
    dlg_sent_message(&d, ERNIC_WR_SEND, 0, SQ, 4 * PAGE, 2 * PAGE);
    PEER_ACK(&d, SQ + 7, 1);
    SEND_WC(&d, 0, SUCCESS);
    g_byte_array_free(state, true);
    dlg_close(&d);
}

/* A window over such a region covers its pages; faults name the region. */
static void test_window(void)
{
    struct ernic_wqe wqe = { .opcode = ERNIC_WR_BIND_MW,
                             .flags = ERNIC_WR_SIGNALED };
    uint32_t mw, rkey;
    Dialog d;
    int i;

    open_demand(&d, ERNIC_QPT_RC);
    mw = fake_alloc_mw(d.e, d.pd, 1);
    wqe.bind_mw.rkey = cpu_to_le32(mw);
    wqe.bind_mw.lkey = cpu_to_le32(d.key);
    wqe.bind_mw.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE);
    wqe.bind_mw.addr = cpu_to_le64(d.mem + DLG_SINK + 100);
    wqe.bind_mw.length = cpu_to_le64(1000);
    dlg_post_wqe(&d, &wqe, 0, 0);
    SEND_WC(&d, 0, SUCCESS);
    rkey = (mw & ~0xffu) | d.e->mr[mw >> 8].variant;
    for (i = 0; i < 2; i++) {
        PEER(&d, WRITE_ONLY, .psn = RQ, .va = d.mem + DLG_SINK + 100,
             .rkey = rkey, .dma_len = 16, .payload_len = 16,
             .payload = d.peer, .ackreq = true);
        if (i == 0) {
            SENT_NAK(&d, RNR, RQ, 0);
            asked(&d, DLG_SINK + 100, 16, true);
        }
    }
    SENT_ACK(&d, RQ, 1);
    dlg_mem_is(&d, DLG_SINK + 100, d.peer, 16);
    dlg_close(&d);
}

/* ---- the commands ------------------------------------------------------------ */

typedef struct Bad {
    uint64_t first, n, list;    /* list: of the offset in memory; 0: none */
    uint8_t status;
    const char *event;
} Bad;

#define PAGES (DLG_MEM / PAGE)

static const Bad bads[] = {
    { PAGES, 1, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 0, 0, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 0, PAGES + 1, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 1, PAGES, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 1, UINT64_MAX, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { UINT64_MAX, 1, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { UINT64_MAX, UINT64_MAX, 0, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 0, 1, 4, ERNIC_ERR_PARAM, "ernic_odp_bad_range" },
    { 0, 1, FAKE_MEM_SIZE, ERNIC_ERR_DMA, "ernic_buf_dma_failed" },
    /* Entries: see test_bad_pages(). */
    { 0, 1, 8, ERNIC_ERR_PARAM, "ernic_odp_bad_entry" },
    { 0, 1, 16, ERNIC_ERR_PARAM, "ernic_odp_bad_entry" },
    { 0, 1, 24, ERNIC_ERR_PARAM, "ernic_odp_bad_entry" },
    { 0, 1, 32, ERNIC_ERR_PARAM, "ernic_odp_bad_entry" },
    { 0, 2, 56, ERNIC_ERR_PARAM, "ernic_odp_bad_entry" },
};

static void test_bad_pages(void)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_PAGES };
    uint32_t other, n;
    uint64_t list;
    Dialog d;
    size_t i;

    open_demand(&d, ERNIC_QPT_RC);
    list = fake_alloc(&d.env, 72, 8);
    fake_put64(&d.env, list + 8, d.mem);                    /* no right */
    fake_put64(&d.env, list + 16, d.mem | ERNIC_PAGE_WRITE);
    fake_put64(&d.env, list + 24, d.mem | W | 4);           /* no such flag */
    fake_put64(&d.env, list + 32, (d.mem + 8) | W);
    fake_put64(&d.env, list + 56, d.mem | W);
    fake_put64(&d.env, list + 64, 1 << 11);
    for (i = 0; i < G_N_ELEMENTS(bads); i++) {
        const Bad *b = &bads[i];

        cmd.mr_pages.key = cpu_to_le32(d.key);
        cmd.mr_pages.first = cpu_to_le64(b->first);
        cmd.mr_pages.npages = cpu_to_le64(b->n);
        cmd.mr_pages.list = cpu_to_le64(b->list ? list + b->list : 0);
        ernic_trace_reset();
        g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, b->status);
        g_assert_cmpuint(ernic_trace_count(b->event), ==, 1);
        g_assert_cmpuint(d.e->mr[d.key >> 8].odp->num, ==, 0);
    }
    /* A list holds a page of entries at most; without a list there is no bound. */
    other = fake_reg_demand(d.e, d.pd, 0, 1ull << 40, ALL);
    n = ERNIC_PAGES_MAX + 1;
    cmd.mr_pages.key = cpu_to_le32(other);
    cmd.mr_pages.first = 0;
    cmd.mr_pages.npages = cpu_to_le64(n);
    cmd.mr_pages.list = cpu_to_le64(list);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_PARAM);
    cmd.mr_pages.list = 0;
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_OK);
    /* Keys: stale, of another kind, of another context. */
    cmd.mr_pages.key = cpu_to_le32(other ^ 0x80);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_HANDLE);
    cmd.mr_pages.key = cpu_to_le32(fake_reg_mr(d.e, d.pd, d.mem, PAGE, ALL));
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_HANDLE);
    cmd.mr_pages.key = cpu_to_le32(other);
    d.env.uctx = fake_create_uctx(d.e);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_PERM);
    d.env.uctx = 0;
    dlg_close(&d);
}

/* A region on demand has a size of pages, and no buffer. */
static void test_bad_region(void)
{
    struct ernic_cmd right = { .opcode = ERNIC_CMD_MR_REG }, cmd;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    right.mr_reg.pd = cpu_to_le32(d.pd);
    right.mr_reg.length = cpu_to_le64(PAGE);
    right.mr_reg.access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND);
    right.mr_reg.buf.page_shift = 12;
#define BAD(field, value) \
    cmd = right; \
    cmd.mr_reg.field = value; \
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_PARAM)
    BAD(buf.addr, cpu_to_le64(d.mem));
    BAD(buf.npages, cpu_to_le32(1));
    BAD(buf.levels, 1);
    BAD(buf.reserved[1], 1);
    BAD(buf.page_shift, 11);
    BAD(buf.page_shift, 32);
    BAD(buf.page_shift, 255);
    BAD(offset, cpu_to_le32(PAGE));
    BAD(length, cpu_to_le64((1ull << 57) + 1));
    BAD(iova, cpu_to_le64(UINT64_MAX));
#undef BAD
    cmd = right;
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_OK);
    /* It does not become another kind, nor the reverse. */
    cmd = (struct ernic_cmd) { .opcode = ERNIC_CMD_MR_REREG };
    cmd.mr_reg.key = cpu_to_le32(d.key);
    cmd.mr_reg.flags = cpu_to_le32(ERNIC_REREG_ACCESS);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_STATE);
    cmd.mr_reg.access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND);
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_OK);
    cmd.mr_reg.key = cpu_to_le32(fake_reg_mr(d.e, d.pd, d.mem, PAGE, ALL));
    g_assert_cmpuint(fake_cmd(d.e, &cmd, NULL), ==, ERNIC_ERR_STATE);
    dlg_close(&d);
}

/* ---- the table ----------------------------------------------------------------- */

#define MODEL_PAGES 4096

/* Random updates, compared with an array; starting high in an address space. */
static void test_table(void)
{
    static uint64_t model[MODEL_PAGES];
    const uint64_t base = 0x7f0000000;
    GRand *rand = g_rand_new_with_seed(6);
    uint32_t first, n, p, step, flags, pages;
    uint64_t addr, run;
    const ErnicOdp *odp;
    Dialog d;
    bool there;

    open_demand(&d, ERNIC_QPT_RC);
    pages = d.e->num_pages;
    d.key = fake_reg_demand(d.e, d.pd, 0, 1ull << 47, ALL);
    odp = d.e->mr[d.key >> 8].odp;
    for (step = 0; step < 300; step++) {
        first = g_rand_int_range(rand, 0, MODEL_PAGES);
        n = g_rand_int_range(rand, 1, MIN(MODEL_PAGES - first, 512) + 1);
        flags = (const uint32_t[]) { 0, R, W }[g_rand_int_range(rand, 0, 3)];
        addr = flags ? (uint64_t)g_rand_int(rand) << 12 | 1ull << 44 : 0;
        d.env.next = FAKE_MEM_SIZE / 2;         /* lists are not kept */
        g_assert_cmpuint(fake_set_pages(d.e, d.key, base + first, n, addr,
                                        flags), ==, ERNIC_OK);
        for (p = first; p < first + n; p++) {
            model[p] = addr ? (addr + (p - first) * PAGE) | flags : 0;
        }
        for (p = 0; p < MODEL_PAGES; p++) {
            there = ernic_odp_find(odp, (base + p) * PAGE + 5, false, &addr,
                                   &run);
            g_assert_cmpuint(there, ==, model[p] != 0);
            g_assert_cmpuint(run, ==, PAGE - 5);
            if (there) {
                g_assert_cmphex(addr, ==, (model[p] & ~0xfffull) + 5);
            }
            g_assert_cmpuint(ernic_odp_find(odp, (base + p) * PAGE, true,
                                            &addr, &run), ==,
                             (model[p] & ERNIC_PAGE_WRITE) != 0);
        }
        g_assert_cmpuint(d.e->num_pages, ==, pages + odp->num * 512);
        g_assert_true(ernic_check(d.e, NULL));
    }
    g_assert_cmpuint(fake_destroy(d.e, ERNIC_CMD_MR_FREE, d.key), ==,
                     ERNIC_OK);
    g_assert_cmpuint(d.e->num_pages, ==, pages);
    g_rand_free(rand);
    dlg_close(&d);
}

/* The host memory that a guest can use is bounded; an update past it changes nothing. */
static void test_bound(void)
{
    uint32_t taken;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    taken = d.e->num_pages;
    set(&d, 0, 1, W);
    d.e->num_pages = ERNIC_MAX_PAGES - 511;
    g_assert_cmpuint(fake_set_pages(d.e, d.key, 511, 1, d.mem, W), ==,
                     ERNIC_OK);
    g_assert_cmpuint(fake_set_pages(d.e, fake_reg_demand(d.e, d.pd, 0, 1 << 20,
                                                         ALL),
                                    0, 1, d.mem, W), ==,
                     ERNIC_ERR_NO_RESOURCE);
    d.e->num_pages = taken + 512;
    dlg_close(&d);
}

/* A list that needs two chunks, with room for one, adds neither. */
static void test_bound_half(void)
{
    const uint32_t room = ERNIC_MAX_PAGES - ERNIC_ODP_CHUNK;
    const ErnicOdp *odp;
    uint64_t addr, run;
    uint32_t taken;
    Dialog d;

    open_demand(&d, ERNIC_QPT_RC);
    d.key = fake_reg_demand(d.e, d.pd, 0, 8 << 20, ALL);
    odp = d.e->mr[d.key >> 8].odp;
    set(&d, 1, 1, W);
    taken = d.e->num_pages;
    d.e->num_pages = room;
    g_assert_cmpuint(fake_set_pages(d.e, d.key, 1020, 8, d.mem, W), ==,
                     ERNIC_ERR_NO_RESOURCE);
    g_assert_cmpuint(odp->num, ==, 1);
    g_assert_cmpuint(d.e->num_pages, ==, room);
    /* The chunk that existed has not changed. */
    d.e->num_pages = ERNIC_MAX_PAGES;
    g_assert_cmpuint(fake_set_pages(d.e, d.key, 508, 8, d.mem, W), ==,
                     ERNIC_ERR_NO_RESOURCE);
    g_assert_true(ernic_odp_find(odp, PAGE, true, &addr, &run));
    g_assert_false(ernic_odp_find(odp, 508 * PAGE, false, &addr, &run));
    d.e->num_pages = taken;
    g_assert_true(ernic_check(d.e, NULL));
    dlg_close(&d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/odp/send", test_send);
    g_test_add_func("/odp/send/middle", test_send_middle);
    g_test_add_func("/odp/send/failed", test_send_failed);
    g_test_add_func("/odp/send/datagram", test_send_datagram);
    g_test_add_func("/odp/read", test_read);
    g_test_add_func("/odp/read/failed", test_read_failed);
    g_test_add_func("/odp/atomic", test_atomic);
    g_test_add_func("/odp/recv", test_recv);
    g_test_add_func("/odp/recv/failed", test_recv_failed);
    g_test_add_func("/odp/recv/unreliable", test_recv_unreliable);
    g_test_add_func("/odp/write", test_write);
    g_test_add_func("/odp/write/failed", test_write_failed);
    g_test_add_func("/odp/served/atomic", test_atomic_served);
    g_test_add_func("/odp/served/read", test_read_served);
    g_test_add_func("/odp/served/read-middle", test_read_served_middle);
    g_test_add_func("/odp/served/read-failed", test_read_served_failed);
    g_test_add_func("/odp/removed", test_removed);
    g_test_add_func("/odp/nobody", test_nobody);
    g_test_add_func("/odp/resume", test_resume);
    g_test_add_func("/odp/saved", test_saved);
    g_test_add_func("/odp/window", test_window);
    g_test_add_func("/odp/bad/pages", test_bad_pages);
    g_test_add_func("/odp/bad/region", test_bad_region);
    g_test_add_func("/odp/table", test_table);
    g_test_add_func("/odp/bound", test_bound);
    g_test_add_func("/odp/bound/half", test_bound_half);
    return g_test_run();
}
