/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pair states as textbooks on the architecture describe them: Reset, Init, RTR and
 * RTS; SQD, SQE and Error are in test-states-sq.c. docs/sentences.md has each statement
 * with its test.
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN

/* Requests in every stage: outstanding, waiting, posted for receiving; and a window. */
DIALOG_TEST("/states/reset/empties", ERNIC_QPT_RC, test_reset_empties)
{
    struct ernic_qp_attr attr;
    uint32_t key;
    struct ernic_wqe wqe = dlg_bind_mw(d, &key);

    dlg_post_wqe(d, &wqe, 0, 0);
    SEND_WC(d, 0, SUCCESS);
    dlg_recv_many(d, 2, DLG_SINK, 4096);
    PEER(d, SEND_FIRST, .psn = RQ, .payload_len = 1024);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 64);
    dlg_post_flags(d, ERNIC_WR_SEND, ERNIC_WR_FENCE, 0, 16);
    IS(dlg_take(d).psn, SQ);
    IS(d->e->num_bound, 1);
    dlg_state(d, ERNIC_QPS_RESET);
    IS(d->e->num_bound, 0);
    dlg_query(d, &attr);
    IS(attr.dest_qpn, 0);
    IS(attr.access, 0);
    dlg_nothing(d);
    dlg_wait(d, 100ull * 1000000000);
    IS(d->env.wake, UINT64_MAX);
}

static void drops_packets(uint8_t state)
{
    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI, dlg_open_in(d, type, state)) {
        for (uint32_t msg = 0; msg < 3; msg++) {
            PEER_SEND(d, RQ + msg, 16);
        }
        if (type == ERNIC_QPT_RC) {
            PEER_ACK(d, SQ, 1);
            PEER_NAK(d, ERNIC_NAK_INV_REQ, SQ, 1);
        }
        dlg_cnp(d);
        dlg_state_is(d, state);
    }
}

TEST("/states/reset/packets", test_reset_packets)
{
    drops_packets(ERNIC_QPS_RESET);
}

/* After Reset it is like new: PSNs, counters and all. */
DIALOG_TEST_BY("/states/reset/reuse", dlg_init(d, ERNIC_QPT_RC, false), test_reset_reuse)
{
    for (uint32_t round = 0; round < 3; round++) {
        dlg_to(d, ERNIC_QPS_RTS);
        dlg_recv(d, DLG_SINK, 16);
        dlg_serve_send(d, RQ, 1, 0);
        dlg_send(d, ERNIC_WR_SEND, SQ, 0, 16);
        ACKED(d, SQ, 0, 1);
        dlg_send(d, ERNIC_WR_SEND, SQ + 1, 0, 16);
        dlg_state(d, ERNIC_QPS_RESET);
        d->qp.sq_pi = d->qp.rq_pi = 0;          /* software's counters restart too */
    }
}

TEST("/states/init/recv", test_init_recv)
{
    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI, dlg_init(d, type, false)) {
        OK(dlg_modify(d, fake_qp_mask(type, ERNIC_QPS_INIT), ERNIC_QPS_INIT));
        dlg_recv(d, DLG_SINK, 64);
        PEER_SEND(d, RQ, 16);
        dlg_no_wc(d);
        OK(dlg_modify(d, fake_qp_mask(type, ERNIC_QPS_RTR), ERNIC_QPS_RTR));
        dlg_no_wc(d);
        PEER_SEND(d, RQ, 16);
        RECV_WC(d, 0, SUCCESS);
        if (type == ERNIC_QPT_RC) {
            SENT_ACK(d, RQ, 1);
        }
        if (type != ERNIC_QPT_UD) {
            dlg_event(d, ERNIC_EV_COMM_EST);
        }
    }
}

TEST("/states/init/packets", test_init_packets)
{
    drops_packets(ERNIC_QPS_INIT);
}

DIALOG_TEST_BY("/states/rtr/inbound", dlg_open_in(d, ERNIC_QPT_RC, ERNIC_QPS_RTR),
               test_rtr_inbound)
{
    PEER_SEND(d, RQ, 16);
    dlg_event(d, ERNIC_EV_COMM_EST);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
    dlg_recv(d, DLG_SINK, 64);
    dlg_recv(d, DLG_SINK, 64);
    dlg_serve_send(d, RQ, 1, 0);
    dlg_peer_message(d, ERNIC_WR_WRITE_IMM, RQ + 1, DLG_SINK, 3000);
    SENT_ACK(d, RQ + 3, 2);
    RECV_WC(d, 1, SUCCESS);
    dlg_serve_read(d, RQ + 4, 3, 0, 4000);
    PEER(d, SEND_MIDDLE, .psn = RQ + 8, .payload_len = 1024);
    dlg_ends(d, ERNIC_NAK_INV_REQ, RQ + 8, 3, ERNIC_EV_QP_REQ_ERR);
}

/* Rights, the RNR timer and the Q_Key may be set as late as here. */
TEST("/states/rts/optional", test_rts_optional)
{
    uint32_t mask = fake_qp_mask(ERNIC_QPT_RC, ERNIC_QPS_RTS);

    WITH_DIALOG(d, dlg_init(d, ERNIC_QPT_RC, false)) {
        d->attr.access = 0;
        dlg_to(d, ERNIC_QPS_RTR);
        d->attr.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE);
        d->attr.min_rnr_timer = 7;
        OK(dlg_modify(d, mask | ERNIC_QPA_ACCESS | ERNIC_QPA_MIN_RNR_TIMER,
                      ERNIC_QPS_RTS));
        dlg_peer_message(d, ERNIC_WR_WRITE, RQ, DLG_SINK, 16);
        SENT_ACK(d, RQ, 1);
        PEER_SEND(d, RQ + 1, 16);
        SENT_NAK(d, ERNIC_AETH_RNR_NAK | 7, RQ + 1, 1);
    }
    WITH_DIALOG(d, dlg_open_in(d, ERNIC_QPT_UD, ERNIC_QPS_RTR)) {
        mask = fake_qp_mask(ERNIC_QPT_UD, ERNIC_QPS_RTS);
        d->attr.qkey = cpu_to_le32(0x2222);
        OK(dlg_modify(d, mask | ERNIC_QPA_QKEY, ERNIC_QPS_RTS));
        dlg_recv(d, DLG_SINK, 64);
        PEER_SEND(d, 0, 0);
        dlg_no_wc(d);
        PEER(d, SEND_ONLY, .qkey = 0x2222);
        RECV_WC(d, 0, SUCCESS);
    }
}

DIALOG_TEST_BY("/states/rts/pkey", dlg_init(d, ERNIC_QPT_RC, false), test_rts_pkey)
{
    OK(CMD(d->e, SET_PKEY, cmd.set_pkey.index = cpu_to_le16(2);
           cmd.set_pkey.pkey = cpu_to_le16(0x8765)));
    d->attr.pkey_index = cpu_to_le16(2);
    dlg_to(d, ERNIC_QPS_RTS);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    SENT(d, SEND_ONLY, .psn = SQ, .pkey = 0x8765, .payload_len = 16, .ackreq = true);
    PEER_ACK(d, SQ, 1);
    dlg_no_wc(d);
    PEER(d, ACK, .psn = SQ, .msn = 1, .syndrome = DLG_ACK, .pkey = 0x8765);
    SEND_WC(d, 0, SUCCESS);
}
