/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester of a connection: the packets of a posted request, their order, and the
 * limits that hold them back (IBTA vol. 1, 9.7.2 and 9.7.3).
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define PSN DLG_SQ_PSN

static const uint8_t data_wrs[] = {
    ERNIC_WR_SEND, ERNIC_WR_SEND_IMM, ERNIC_WR_SEND_INV, ERNIC_WR_WRITE,
    ERNIC_WR_WRITE_IMM,
};

static void one_message(Dialog *d, uint8_t wr, uint32_t len, uint32_t *psn, uint32_t *msn)
{
    uint32_t id = d->qp.sq_pi;
    struct ernic_cqe cqe;

    *psn += dlg_send(d, wr, *psn, 64, len);
    if (dlg_acks(d)) {
        dlg_nothing(d);
        PEER_ACK(d, *psn - 1, ++*msn);
    }
    cqe = SEND_WC(d, id, SUCCESS);
    IS(cqe.opcode, wr >= ERNIC_WR_WRITE ? ERNIC_WC_WRITE : ERNIC_WC_SEND);
    IS(cqe.index, id);
    *psn &= 0xffffff;
}

static void all_lengths(Dialog *d)
{
    uint32_t psn = 0xffff00, msn = 0, mtu = dlg_mtu(d);
    const uint32_t lens[] = {
        0, 1, 2, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 3 * mtu,
        5 * mtu + 3, dlg_acks(d) ? 5 : 100000,
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(data_wrs); i++) {
        for (uint32_t j = 0; j < ARRAY_SIZE(lens); j++) {
            if (data_wrs[i] != ERNIC_WR_SEND_INV || d->transport != ERNIC_UC) {
                one_message(d, data_wrs[i], lens[j], &psn, &msn);
            }
        }
    }
}

/* Every service, path MTU and request with data, lengths about multiples of the MTU. */
TEST("/req/segments", test_segments)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_UC, ERNIC_QPT_XRC_INI };

    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        EACH_DIALOG(d, mtu, ERNIC_MTU_256, ERNIC_MTU_4096 + 1,
                    dlg_open_mtu(d, types[i], mtu, 0xffff00)) { all_lengths(d);
        }
    }
}

TEST("/req/read", test_read)
{
    EACH_DIALOG(d, code, ERNIC_MTU_256, ERNIC_MTU_4096 + 1,
                dlg_open_mtu(d, ERNIC_QPT_RC, code, PSN)) {
        uint32_t mtu = dlg_mtu(d), psn = PSN;
        const uint32_t lens[] = { 0, 1, mtu - 1, mtu, mtu + 1, 3 * mtu };

        for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
            struct ernic_cqe cqe;

            memset(d->at + DLG_SINK, 0, 3 * mtu + 1);
            dlg_post(d, ERNIC_WR_READ, DLG_SINK, lens[i]);
            SENT_READ(d, psn, 0, lens[i]);
            psn += dlg_peer_read(d, psn, i + 1, 0, lens[i]);
            cqe = SEND_WC(d, i, SUCCESS);
            IS(cqe.opcode, ERNIC_WC_READ);
            IS(cqe.byte_len, lens[i]);
            dlg_mem_is(d, DLG_SINK, d->peer, lens[i]);
            dlg_mem_is(d, DLG_SINK + lens[i], NULL, 1);
        }
    }
}

/* A long READ is requested in pieces of 128 KiB, each with its own PSNs. */
DIALOG_TEST("/req/read-pieces", ERNIC_QPT_RC, test_read_pieces)
{
    const uint32_t chunk = 128 * 1024, len = 2 * chunk + 5000;
    uint32_t psn = PSN;

    dlg_post(d, ERNIC_WR_READ, DLG_SINK, len);
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    SENT_READ(d, psn, 0, chunk);
    SENT_READ(d, psn + 128, chunk, chunk);
    QUIET(d);
    psn += dlg_peer_read(d, psn, 0, 0, chunk);
    /* The window of 256 packets has room again. */
    SENT_READ(d, psn + 128, 2 * chunk, 5000);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, psn + 128 + 5, 0, 10);
    dlg_no_wc(d);
    psn += dlg_peer_read(d, psn, 0, chunk, chunk);
    psn += dlg_peer_read(d, psn, 1, 2 * chunk, 5000);
    SEND_WC(d, 0, SUCCESS);
    dlg_no_wc(d);
    ACKED(d, psn, 1, 2);
    dlg_mem_is(d, DLG_SINK, d->peer, len);
}

/* 11.2.5.2: at most as many outstanding READs and atomics as the peer accepts. */
DIALOG_TEST_BY("/req/credits", DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_rd_atomic = 2),
               test_credits)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 2048);
    dlg_post(d, ERNIC_WR_FETCH_ADD, DLG_SINK, 8);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    SENT_READ(d, PSN, 0, 2048);
    SENT_ADD(d, PSN + 2);
    QUIET(d);
    dlg_peer_read(d, PSN, 1, 0, 2048);
    SEND_WC(d, 0, SUCCESS);
    SENT_READ(d, PSN + 3, 0, 16);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + 4, 0, 16);
    PEER_ATOMIC(d, PSN + 2, 2, 0);
    dlg_peer_read(d, PSN + 3, 3, 0, 16);
    ACKED(d, PSN + 4, 1, 4);
}

/* Without any credit, the request can never be sent. */
DIALOG_TEST_BY("/req/no-credits", DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_rd_atomic = 0),
               test_no_credits)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    SEND_WC(d, 0, LOC_QP_OP_ERR);
    STATE_IS(d, ERR);
}

/* C10-80: a fenced request waits for all earlier READs and atomics. */
DIALOG_TEST("/req/fence", ERNIC_QPT_RC, test_fence)
{
    const uint8_t fenced = ERNIC_WR_FENCE | ERNIC_WR_SIGNALED;

    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_post(d, ERNIC_WR_CMP_SWAP, DLG_SINK, 8);
    dlg_post(d, ERNIC_WR_SEND, 0, 17);
    dlg_post_flags(d, ERNIC_WR_WRITE, fenced, 0, 18);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN, 0, 16);
    SENT_READ(d, PSN + 1, 0, 16);
    IS(dlg_take(d).psn, PSN + 2);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, PSN + 3, 0, 17);
    QUIET(d);
    dlg_peer_read(d, PSN + 1, 2, 0, 16);
    SEND_WCS(d, 0, 1, SUCCESS);
    QUIET(d);
    PEER_ATOMIC(d, PSN + 2, 3, 0);
    SEND_WC(d, 2, SUCCESS);
    /* An unacknowledged SEND does not trigger the fence. */
    dlg_sent_message(d, ERNIC_WR_WRITE, 0, PSN + 4, 0, 18);
    ACKED(d, PSN + 4, 3, 5);
}

/* Takes packets up to @end from @psn on, with an ACK whenever none is left. */
static ErnicPkt take_to(Dialog *d, uint32_t psn, uint32_t end, uint32_t *asked)
{
    ErnicPkt pkt = { };

    for (; psn != end; psn++) {
        if (!dlg_pending(d)) {
            PEER_ACK(d, psn - 1, 0);
        }
        pkt = dlg_take(d);
        IS(pkt.psn, psn);
        *asked += pkt.ackreq;
    }
    g_assert_true(pkt.ackreq);
    return pkt;
}

/* The window closes after 256 KiB, and an ACK was requested before. */
DIALOG_TEST("/req/window", ERNIC_QPT_RC, test_window)
{
    uint32_t asked = 0, n;

    dlg_post(d, ERNIC_WR_WRITE, 0, 600 * 1024);
    IS(dlg_pending(d), 256);
    take_to(d, PSN, PSN + 256, &asked);
    g_assert_cmpuint(asked, >=, 4);
    QUIET(d);
    PEER_ACK(d, PSN + 99, 0);
    n = dlg_pending(d);
    g_assert_cmpuint(n, >=, 100);
    g_assert_cmpuint(n, <=, 102);
    g_assert_cmpstr(take_to(d, PSN + 256, PSN + 600, &asked).op->name, ==,
                    ernic_opcode(ERNIC_OP_WRITE_LAST)->name);
    dlg_no_wc(d);
    ACKED(d, PSN + 599, 0, 1);
}

DIALOG_TEST_BY("/req/psn-wrap",
               dlg_open_mtu(d, ERNIC_QPT_RC, ERNIC_MTU_1024, 0xfffffe), test_psn_wrap)
{
    dlg_post(d, ERNIC_WR_WRITE, 0, 4000);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 2000);
    dlg_post(d, ERNIC_WR_SEND, 0, 1);
    dlg_sent_message(d, ERNIC_WR_WRITE, 0, 0xfffffe, 0, 4000);
    SENT_READ(d, 2, 0, 2000);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, 4, 0, 1);
    PEER_ACK(d, 0xffffff, 0);
    PEER_NAK(d, ERNIC_NAK_PSN_SEQ, 0, 0);
    SENT_DATA(d, WRITE_MIDDLE, 0, 2048, 1024);
    SENT_DATA(d, WRITE_LAST, 1, 3072, 4000 - 3072, .ackreq = true);
    SENT_READ(d, 2, 0, 2000);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, 4, 0, 1);
    ACKED(d, 1, 0, 1);
    dlg_peer_read(d, 2, 2, 0, 2000);
    SEND_WC(d, 1, SUCCESS);
    ACKED(d, 4, 2, 3);
}

/* Go-back-N: from the named packet on, with the original PSNs. */
TEST("/req/rewind", test_rewind)
{
    EACH_DIALOG(d, from, 0, 6, dlg_open(d, ERNIC_QPT_RC)) {
        dlg_post(d, ERNIC_WR_SEND_IMM, 0, 3000);
        dlg_post(d, ERNIC_WR_WRITE, 100, 3000);
        dlg_sent_message(d, ERNIC_WR_SEND_IMM, 0, PSN, 0, 3000);
        dlg_sent_message(d, ERNIC_WR_WRITE, 0, PSN + 3, 100, 3000);
        PEER_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + from, from / 3);
        if (from >= 3) {
            SEND_WC(d, 0, SUCCESS);
        }
        IS(dlg_pending(d), 6 - from);
        if (from == 0) {
            dlg_sent_message(d, ERNIC_WR_SEND_IMM, 0, PSN, 0, 3000);
        }
        while (dlg_pending(d) > 3) {
            dlg_take(d);
        }
        if (from <= 3) {
            dlg_sent_message(d, ERNIC_WR_WRITE, 0, PSN + 3, 100, 3000);
        } else {
            IS(dlg_take(d).psn, PSN + from);
        }
        dlg_drain(d);
        PEER_ACK(d, PSN + 5, 2);
        if (from < 3) {
            SEND_WC(d, 0, SUCCESS);
        }
        SEND_WC(d, 1, SUCCESS);
    }
}

/* A READ is requested again from the missing packet on. */
DIALOG_TEST("/req/rewind-read", ERNIC_QPT_RC, test_rewind_read)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 5000);
    SENT_READ(d, PSN, 0, 5000);
    PEER_DATA(d, READ_RSP_FIRST, PSN, 0, 1024, .syndrome = DLG_ACK);
    PEER_DATA(d, READ_RSP_MIDDLE, PSN + 1, 1024, 1024);
    PEER_DATA(d, READ_RSP_MIDDLE, PSN + 3, 3072, 1024);
    SENT_READ(d, PSN + 2, 2048, 5000 - 2048);
    dlg_peer_read(d, PSN + 2, 1, 2048, 5000 - 2048);
    SEND_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK, d->peer, 5000);
}
