/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rules of each queue pair state, sentence by sentence as textbooks on the
 * architecture state them, and the test of each. Names without a program are tests of
 * this file or, from SQD on, of test-states-sq.c.
 *
 * Reset
 *   a queue pair begins in it                        reset/created
 *   software may go to it from any state             reset/from-any
 *   its queues are empty, nothing completes          reset/empties
 *   (Entries that were written to the completion queue before are software's:
 *   the queue may be shared, so only their owner can take them out.)
 *   posting to either queue is an immediate error    reset/post
 *   no request is processed, nothing is sent         reset/empties
 *   packets for it are dropped in silence            reset/packets
 *   the only way on is Init                          reset/only-init
 *   Init needs partition, port, rights or Q_Key      init/attributes
 *   it may be used again instead of a new one        reset/reuse
 * Init
 *   receives may be posted, and wait for RTR         init/recv
 *   sends may not be posted                          init/send
 *   packets are dropped                              init/packets
 * RTR
 *   entered by software, from Init alone             rtr/only-from-init
 *   receives may be posted, inbound is served        rtr/inbound
 *   the first SEND or WRITE with immediate takes the next receive request
 *   and is answered with ACK or NAK                  rtr/inbound
 *   without a receive request the peer gets RNR      rtr/rnr
 *   sends are refused at once                        rtr/send
 *   left to RTS, Error, Reset, or by destruction     rtr/exits, destroy
 *   a receiver may stay in it                        rtr/inbound
 * RTR to RTS sets
 *   ACK timeout                                      test-completer timeout/table
 *   the PSN of the first request                     rts/attributes
 *   retry count: for timeouts and NAKs of gaps       test-completer timeout/budget,
 *                                                    timeout/nak-budget
 *   RNR retry count                                  test-completer rnr/budget
 *   outstanding READs and atomics at the peer        test-requester credits
 *   optionally rights, Q_Key, minimum RNR timer      rts/optional
 * RTS
 *   sends and receives                               rts/both
 *   P_Key: index for sending and receiving           rts/pkey
 *   Q_Key: of the request, or with its high bit set the queue pair's
 *                                                    test-ud req/qkey-high-bit
 *   Q_Key: that of a received packet is compared     test-ud resp/qkey
 * SQD
 *   begun requests are finished, the rest waits      sqd/drains
 *   raises an event when drained, if asked to        sqd/drains, sqd/silent
 *   send attributes change, once it has drained      sqd/attributes
 *   back in RTS sending goes on                      sqd/drains
 *   receiving goes on                                sqd/inbound
 *   requests that have not begun do not fail in it   sqd/faulty-waits
 * SQE
 *   entered by the device, after a failed send       sqe/automatic
 *   never by software                                sqe/not-by-software
 *   not on RC                                        sqe/not-rc
 *   does not send; receiving goes on                 sqe/automatic
 *   RTS recovers it                                  sqe/automatic
 * Error
 *   entered by software from any state but Reset     err/from-any
 *   entered by the device after a failure            err/automatic
 *   the first completion carries the reason, all the rest of this and of the
 *   other queue is flushed                           err/automatic
 *   every request comes back with its wr_id          err/reclaim
 *   nothing is sent, nothing received                err/silent
 *   what is posted in it is flushed                  err/post
 * Destroyed
 *   neither sends nor receives                       destroy
 * UC
 *   a connection, segmented by the path MTU          test-uc req/segments
 *   messages of 0 bytes to 2 GiB                     test-uc req/segments,
 *                                                    test-big uc
 *   no ACK, no NAK                                   test-uc, every test
 *   complete upon transmission of the last packet    test-uc
 *                                                    req/complete-when-left
 *   READ and atomics are not supported               test-uc
 *                                                    req/not-supported
 *   each packet is served once, in order             test-uc resp/duplicates
 *   on a gap the rest of the message is ignored until First or Only
 *                                                    test-uc resp/gap, resync
 *   two CRCs: ours is the ICRC                       bad-icrc
 *   SEND, WRITE and window binding are there         uc-operations
 * READ queue of the responder
 *   more than agreed on: NAK invalid, Error          test-responder-fault overflow
 *   data is in place before the completion           test-requester read
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dialog_cases.h"
#include "test.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN

static void peer_send(Dialog *d, uint32_t psn)
{
    PEER(d, SEND_ONLY, .psn = psn, .payload = d->peer, .payload_len = 16,
         .qkey = DLG_QKEY, .ackreq = d->transport == ERNIC_RC);
}

static uint8_t post_status(Dialog *d)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_SEND, ERNIC_WR_SIGNALED);
    uint8_t status;

    fake_post_send(d->e, &d->qp, &wqe, NULL);
    status = fake_ring_sq(d->e, &d->qp);
    if (status) {
        d->qp.sq_pi--;
    }
    return status;
}

static uint8_t recv_status(Dialog *d)
{
    struct ernic_sge sge = fake_sge(d->mem + DLG_SINK, 64, d->key);
    uint8_t status;

    fake_post_recv(d->e, &d->qp, d->qp.rq_pi, &sge, 1);
    status = fake_ring_rq(d->e, &d->qp);
    if (status) {
        d->qp.rq_pi--;
    }
    return status;
}

static void refused(Dialog *d, uint8_t kind)
{
    struct ernic_eqe eqe = dlg_event_of(d, ERNIC_EV_BAD_DOORBELL, d->qp.qpn);

    IS(eqe.detail, kind);
}

/* Software's counters restart with the queue pair. */
static void forget_counters(Dialog *d)
{
    d->qp.sq_pi = 0;
    d->qp.rq_pi = 0;
}

/* ---- Reset ---------------------------------------------------------- */

TEST("/states/reset/created", test_reset_created)
{
    Dialog d;

    for (uint8_t type = 0; type < ERNIC_QPT_COUNT; type++) {
        dlg_init(&d, type, false);
        STATE_IS(&d, RESET);
        dlg_close(&d);
    }
}

TEST("/states/reset/from-any", test_reset_from_any)
{
    dlg_from_any(ERNIC_QPS_RESET);
}

/* Requests in every stage: outstanding, waiting, posted for receiving. */
DIALOG_TEST("/states/reset/empties", ERNIC_QPT_RC, test_reset_empties)
{
    dlg_recv(d, DLG_SINK, 4096);
    dlg_recv(d, DLG_SINK, 4096);
    PEER(d, SEND_FIRST, .psn = RQ, .payload_len = 1024);
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 64);
    dlg_post_flags(d, ERNIC_WR_SEND, ERNIC_WR_FENCE, 0, 16);
    IS(dlg_take(d).psn, SQ);
    dlg_state(d, ERNIC_QPS_RESET);
    QUIET(d);
    dlg_no_wc(d);
    dlg_wait(d, 100ull * 1000000000);
    IS(d->env.wake, UINT64_MAX);
}

TEST("/states/reset/post", test_reset_post)
{
    Dialog d;

    for (uint8_t type = 0; type <= ERNIC_QPT_GSI; type++) {
        dlg_init(&d, type, false);
        IS(post_status(&d), ERNIC_ERR_STATE);
        refused(&d, ERNIC_DB_SQ);
        IS(recv_status(&d), ERNIC_ERR_STATE);
        refused(&d, ERNIC_DB_RQ);
        dlg_close(&d);
    }
}

static void drops_packets(uint8_t type, uint8_t state)
{
    Dialog d;

    dlg_open_in(&d, type, state);
    for (uint32_t msg = 0; msg < 3; msg++) {
        peer_send(&d, RQ + msg);
    }
    if (type == ERNIC_QPT_RC) {
        PEER_ACK(&d, SQ, 1);
        PEER_NAK(&d, ERNIC_NAK_INV_REQ, SQ, 1);
    }
    dlg_cnp(&d);
    dlg_state_is(&d, state);
    dlg_close(&d);
}

TEST("/states/reset/packets", test_reset_packets)
{
    for (uint8_t type = 0; type < ERNIC_QPT_GSI; type++) {
        drops_packets(type, ERNIC_QPS_RESET);
    }
}

/* Reset may be left for Init only; Reset to Reset is permitted. */
TEST("/states/reset/only-init", test_reset_only_init)
{
    Dialog d;

    for (uint8_t type = 0; type < ERNIC_QPT_COUNT; type++) {
        dlg_init(&d, type, false);
        for (uint8_t to = 0; to < ERNIC_QPS_COUNT; to++) {
            uint32_t mask = fake_qp_mask(type, to);

            if (to != ERNIC_QPS_INIT) {
                IS(dlg_modify(&d, mask, to),
                   to == ERNIC_QPS_RESET ? ERNIC_OK : ERNIC_ERR_STATE);
                STATE_IS(&d, RESET);
            }
        }
        dlg_close(&d);
    }
}

/* After Reset it is like new: PSNs, counters and all. */
DIALOG_TEST_BY("/states/reset/reuse", dlg_init(d, ERNIC_QPT_RC, false), test_reset_reuse)
{
    for (uint32_t round = 0; round < 3; round++) {
        dlg_to(d, ERNIC_QPS_RTS);
        dlg_recv(d, DLG_SINK, 16);
        peer_send(d, RQ);
        SENT_ACK(d, RQ, 1);
        RECV_WC(d, 0, SUCCESS);
        dlg_send(d, ERNIC_WR_SEND, SQ, 0, 16);
        PEER_ACK(d, SQ, 1);
        SEND_WC(d, 0, SUCCESS);
        dlg_send(d, ERNIC_WR_SEND, SQ + 1, 0, 16);
        dlg_state(d, ERNIC_QPS_RESET);
        forget_counters(d);
    }
}

/* ---- Init ----------------------------------------------------------- */

/* Each required attribute is necessary; if one is missing, nothing changes. */
TEST("/states/init/attributes", test_init_attributes)
{
    uint32_t mask;
    Dialog d;

    for (uint8_t type = 0; type < ERNIC_QPT_COUNT; type++) {
        dlg_init(&d, type, false);
        mask = fake_qp_mask(type, ERNIC_QPS_INIT);
        for (uint32_t bit = ERNIC_QPA_STATE << 1; bit <= mask; bit <<= 1) {
            if (mask & bit) {
                IS(dlg_modify(&d, mask & ~bit, ERNIC_QPS_INIT), ERNIC_ERR_ATTR_MASK);
                STATE_IS(&d, RESET);
            }
        }
        OK(dlg_modify(&d, mask, ERNIC_QPS_INIT));
        dlg_close(&d);
    }
}

TEST("/states/init/recv", test_init_recv)
{
    Dialog d;

    for (uint8_t type = 0; type < ERNIC_QPT_GSI; type++) {
        dlg_init(&d, type, false);
        OK(dlg_modify(&d, fake_qp_mask(type, ERNIC_QPS_INIT), ERNIC_QPS_INIT));
        OK(recv_status(&d));
        peer_send(&d, RQ);
        dlg_no_wc(&d);
        OK(dlg_modify(&d, fake_qp_mask(type, ERNIC_QPS_RTR), ERNIC_QPS_RTR));
        dlg_no_wc(&d);
        peer_send(&d, RQ);
        RECV_WC(&d, 0, SUCCESS);
        if (type == ERNIC_QPT_RC) {
            SENT_ACK(&d, RQ, 1);
        }
        if (type != ERNIC_QPT_UD) {
            dlg_event(&d, ERNIC_EV_COMM_EST);
        }
        dlg_close(&d);
    }
}

static void refuses_sends(uint8_t state)
{
    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI + 1, dlg_open_in(d, type, state)) {
        IS(post_status(d), ERNIC_ERR_STATE);
        refused(d, ERNIC_DB_SQ);
        QUIET(d);
    }
}

TEST("/states/init/send", test_init_send)
{
    refuses_sends(ERNIC_QPS_INIT);
}

TEST("/states/init/packets", test_init_packets)
{
    for (uint8_t type = 0; type < ERNIC_QPT_GSI; type++) {
        drops_packets(type, ERNIC_QPS_INIT);
    }
}

/* ---- RTR ------------------------------------------------------------ */

TEST("/states/rtr/only-from-init", test_rtr_only_from_init)
{
    Dialog d;

    for (uint8_t state = 0; state < ERNIC_QPS_COUNT; state++) {
        if (state == ERNIC_QPS_INIT || state == ERNIC_QPS_SQE) {
            continue;
        }
        dlg_open_in(&d, ERNIC_QPT_RC, state);
        IS(dlg_modify(&d, fake_qp_mask(ERNIC_QPT_RC, ERNIC_QPS_RTR), ERNIC_QPS_RTR),
           ERNIC_ERR_STATE);
        dlg_state_is(&d, state);
        dlg_close(&d);
    }
}

DIALOG_TEST_BY("/states/rtr/inbound", dlg_open_in(d, ERNIC_QPT_RC, ERNIC_QPS_RTR),
               test_rtr_inbound)
{
    OK(recv_status(d));
    OK(recv_status(d));
    peer_send(d, RQ);
    SENT_ACK(d, RQ, 1);
    RECV_WC(d, 0, SUCCESS);
    dlg_event(d, ERNIC_EV_COMM_EST);
    dlg_peer_message(d, ERNIC_WR_WRITE_IMM, RQ + 1, DLG_SINK, 3000);
    SENT_ACK(d, RQ + 3, 2);
    RECV_WC(d, 1, SUCCESS);
    PEER_READ(d, RQ + 4, 0, 4000);
    dlg_sent_read(d, RQ + 4, 3, 0, 4000);
    PEER(d, SEND_MIDDLE, .psn = RQ + 8, .payload_len = 1024);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, RQ + 8, 3);
    dlg_event(d, ERNIC_EV_QP_REQ_ERR);
}

DIALOG_TEST_BY("/states/rtr/rnr", dlg_open_in(d, ERNIC_QPT_RC, ERNIC_QPS_RTR),
               test_rtr_rnr)
{
    peer_send(d, RQ);
    dlg_event(d, ERNIC_EV_COMM_EST);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ, 0);
}

TEST("/states/rtr/send", test_rtr_send)
{
    refuses_sends(ERNIC_QPS_RTR);
}

TEST("/states/rtr/exits", test_rtr_exits)
{
    bool ok;
    Dialog d;

    for (uint8_t to = 0; to < ERNIC_QPS_COUNT; to++) {
        ok = to == ERNIC_QPS_RESET || to == ERNIC_QPS_RTS || to == ERNIC_QPS_ERR;
        dlg_open_in(&d, ERNIC_QPT_RC, ERNIC_QPS_RTR);
        IS(dlg_modify(&d, fake_qp_mask(ERNIC_QPT_RC, to), to),
           ok ? ERNIC_OK : ERNIC_ERR_STATE);
        dlg_state_is(&d, ok ? to : ERNIC_QPS_RTR);
        dlg_close(&d);
    }
}

/* ---- RTS ------------------------------------------------------------ */

DIALOG_TEST("/states/rts/both", ERNIC_QPT_RC, test_rts_both)
{
    dlg_recv(d, DLG_SINK, 16);
    d->hold = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    peer_send(d, RQ);
    SENT_ACK(d, RQ, 1);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    RECV_WC(d, 0, SUCCESS);
    PEER_ACK(d, SQ, 1);
    SEND_WC(d, 0, SUCCESS);
}

TEST("/states/rts/attributes", test_rts_attributes)
{
    uint32_t mask;

    EACH_DIALOG(d, type, 0, ERNIC_QPT_GSI, dlg_open_in(d, type, ERNIC_QPS_RTR)) {
        mask = fake_qp_mask(type, ERNIC_QPS_RTS);
        for (uint32_t bit = ERNIC_QPA_STATE << 1; bit <= mask; bit <<= 1) {
            if (mask & bit) {
                IS(dlg_modify(d, mask & ~bit, ERNIC_QPS_RTS), ERNIC_ERR_ATTR_MASK);
                STATE_IS(d, RTR);
            }
        }
        d->attr.sq_psn = cpu_to_le32(0xabcdef);
        OK(dlg_modify(d, mask, ERNIC_QPS_RTS));
        dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 16);
        IS(dlg_take(d).psn, 0xabcdef);
    }
}

/* Rights and the RNR timer may be set as late as here. */
TEST("/states/rts/optional", test_rts_optional)
{
    uint32_t mask = fake_qp_mask(ERNIC_QPT_RC, ERNIC_QPS_RTS);
    Dialog d;

    dlg_init(&d, ERNIC_QPT_RC, false);
    d.attr.access = 0;
    dlg_to(&d, ERNIC_QPS_RTR);
    d.attr.access = cpu_to_le32(ERNIC_ACCESS_REMOTE_WRITE);
    d.attr.min_rnr_timer = 7;
    OK(dlg_modify(&d, mask | ERNIC_QPA_ACCESS | ERNIC_QPA_MIN_RNR_TIMER, ERNIC_QPS_RTS));
    dlg_peer_message(&d, ERNIC_WR_WRITE, RQ, DLG_SINK, 16);
    SENT_ACK(&d, RQ, 1);
    peer_send(&d, RQ + 1);
    SENT_NAK(&d, ERNIC_AETH_RNR_NAK | 7, RQ + 1, 1);
    dlg_close(&d);

    dlg_open_in(&d, ERNIC_QPT_UD, ERNIC_QPS_RTR);
    mask = fake_qp_mask(ERNIC_QPT_UD, ERNIC_QPS_RTS);
    d.attr.qkey = cpu_to_le32(0x2222);
    OK(dlg_modify(&d, mask | ERNIC_QPA_QKEY, ERNIC_QPS_RTS));
    dlg_recv(&d, DLG_SINK, 64);
    PEER(&d, SEND_ONLY, .qkey = DLG_QKEY);
    dlg_no_wc(&d);
    PEER(&d, SEND_ONLY, .qkey = 0x2222);
    RECV_WC(&d, 0, SUCCESS);
    dlg_close(&d);
}

DIALOG_TEST_BY("/states/rts/pkey", dlg_init(d, ERNIC_QPT_RC, false), test_rts_pkey)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_PKEY };

    cmd.set_pkey.index = cpu_to_le16(2);
    cmd.set_pkey.pkey = cpu_to_le16(0x8765);
    OK(fake_cmd(d->e, &cmd, NULL));
    d->attr.pkey_index = cpu_to_le16(2);
    dlg_to(d, ERNIC_QPS_RTS);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    SENT(d, SEND_ONLY, .psn = SQ, .pkey = 0x8765, .payload_len = 16, .ackreq = true);
    PEER_ACK(d, SQ, 1);
    dlg_no_wc(d);
    PEER(d, ACK, .psn = SQ, .msn = 1, .syndrome = DLG_ACK, .pkey = 0x8765);
    SEND_WC(d, 0, SUCCESS);
}
