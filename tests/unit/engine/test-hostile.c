/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One peer, or one guest context, cannot harm another: floods, strangers' packets,
 * unknown opcodes, messages that do not fit, long queues.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN
#define GRH ERNIC_GRH_LEN

/*
 * NAKs in one batch, each of which acknowledges one more packet and requests all later
 * ones again. The rest is sent again, however many NAKs there are.
 */
TEST("/hostile/nak-flood", test_nak_flood)
{
    static const uint32_t floods[] = { 1, 255, 256, 257, 300, 512 };
    const uint32_t packets = 600;
    uint32_t psn;

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(floods),
                dlg_open_mtu(d, ERNIC_QPT_RC, ERNIC_MTU_256, SQ)) {
        dlg_post(d, ERNIC_WR_WRITE, 0, packets * 256);
        for (psn = SQ; psn < SQ + packets; psn++) {
            IS(dlg_take(d).psn, psn);
        }
        QUIET(d);
        d->hold = true;
        for (psn = SQ + 1; psn <= SQ + floods[i]; psn++) {
            PEER_NAK(d, ERNIC_NAK_PSN_SEQ, psn, 0);
        }
        d->hold = false;
        for (psn = SQ + floods[i]; psn < SQ + packets; psn++) {
            if (!dlg_pending(d)) {
                PEER_ACK(d, psn - 1, 0);
            }
            IS(dlg_take(d).psn, psn);
        }
        QUIET(d);
        ACKED(d, psn - 1, 0, 1);
    }
}

/* Only the peer's CNPs count, not those of any other host. */
TEST("/hostile/cnp-foreign", test_cnp_foreign)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_UC };

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(types), dlg_open(d, types[i])) {
        for (uint32_t k = 0; k < 10; k++) {
            d->path.sgid.raw[15] ^= k + 1;
            dlg_cnp(d);
            d->path.sgid.raw[15] ^= k + 1;
            d->path.dgid.raw[15] ^= 4;
            dlg_cnp(d);
            d->path.dgid.raw[15] ^= 4;
            d->env.now += ERNIC_CNP_INTERVAL_NS;
        }
        IS(d->e->stats.drop[ERNIC_DROP_ADDRESS], 20);
        IS(d->e->stats.rx_cnps, 0);
        IS(d->e->stats.rate_cuts, 0);
        /* All at once, at full rate. */
        dlg_post_flags(d, ERNIC_WR_WRITE, 0, 0, 200 * 1024);
        IS(dlg_pending(d), 200);
        dlg_drain(d);
        dlg_cnp(d);
        IS(d->e->stats.rx_cnps, 1);
    }
}

static const uint8_t reserved[] = { 0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f };

static void peer_raw(Dialog *d, uint8_t opcode, uint32_t psn, uint32_t len)
{
    uint8_t bytes[64] = { };

    dlg_bth(d, bytes, opcode, psn);
    dlg_inject_raw(d, bytes, len, true);
}

/* 9.9.3: in sequence, an unsupported or reserved opcode ends a connection. */
TEST("/hostile/reserved/rc", test_reserved_rc)
{
    EACH_DIALOG(d, i, 0, ARRAY_SIZE(reserved), dlg_open(d, ERNIC_QPT_RC)) {
        dlg_recv(d, DLG_SINK, 16);
        peer_raw(d, reserved[i], RQ, i & 1 ? 12 : 40);
        SENT_NAK(d, ERNIC_NAK_INV_REQ, RQ, 0);
        RECV_WC(d, 0, WR_FLUSH_ERR);
        dlg_event(d, ERNIC_EV_QP_REQ_ERR);
        STATE_IS(d, ERR);
        IS(d->e->stats.drop[ERNIC_DROP_BAD_OPCODE], 0);
    }
}

/* Neither a stranger's packet nor one with a bad ICRC ends the connection. */
DIALOG_TEST("/hostile/reserved/foreign", ERNIC_QPT_RC, test_reserved_foreign)
{
    const uint64_t *drop = d->e->stats.drop;
    uint8_t bytes[16] = { };

    d->path.sgid.raw[15] ^= 1;
    peer_raw(d, 0x1f, RQ, 12);
    d->path.sgid.raw[15] ^= 1;
    IS(drop[ERNIC_DROP_ADDRESS], 1);
    peer_raw(d, 0x3f, RQ, 12);
    IS(drop[ERNIC_DROP_TRANSPORT], 1);
    dlg_bth(d, bytes, 0x1f, RQ);
    dlg_inject_raw(d, bytes, 16, false);
    IS(drop[ERNIC_DROP_BAD_ICRC], 1);
    QUIET(d);
    STATE_IS(d, RTS);
}

/* 9.9.3 class D: the message loses a packet, and is lost. */
DIALOG_TEST("/hostile/reserved/uc", ERNIC_QPT_UC, test_reserved_uc)
{
    uint32_t psn = RQ;

    dlg_recv(d, DLG_SINK, 4096);
    for (uint32_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        PEER(d, SEND_FIRST, .psn = psn, .payload_len = 1024);
        peer_raw(d, 0x20 | reserved[i], psn + 1, 12);
        PEER(d, SEND_LAST, .psn = psn + 1, .payload_len = 8);
        PEER(d, SEND_LAST, .psn = psn + 2, .payload_len = 8);
        psn += 3;
    }
    dlg_no_wc(d);
    STATE_IS(d, RTS);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_OPCODE], 0);
    PEER(d, SEND_ONLY, .psn = psn, .payload_len = 8);
    IS(RECV_WC(d, 0, SUCCESS).byte_len, 8);
}

/* Any host can reach QP1; none can exhaust its receive requests. */
DIALOG_TEST("/hostile/short/gsi", ERNIC_QPT_GSI, test_gsi_long)
{
    for (uint32_t i = 0; i < 8; i++) {
        dlg_recv(d, DLG_SINK + i * 512, GRH + 256);
    }
    for (uint32_t i = 0; i < 8; i++) {
        PEER(d, SEND_ONLY, .qkey = 0x80010000, .src_qp = 1,
             .payload = d->peer, .payload_len = 300);
    }
    dlg_no_wc(d);
    dlg_mem_is(d, DLG_SINK, NULL, 8 * 512);
    for (uint32_t i = 0; i < 8; i++) {
        PEER(d, SEND_ONLY, .qkey = 0x80010000, .src_qp = 1,
             .payload = d->peer + i, .payload_len = 256);
        RECV_WC(d, i, SUCCESS);
        dlg_mem_is(d, DLG_SINK + i * 512 + GRH, d->peer + i, 256);
    }
}

/*
 * 9.9.3 class D: the next message uses the request; class E with an SRQ: an error
 * completion.
 */
TEST("/hostile/short/recv", test_recv_short)
{
    static const uint8_t types[] = { ERNIC_QPT_UC, ERNIC_QPT_UD };

    EACH_DIALOG(d, i, 0, 4, dlg_init(d, types[i / 2], i % 2)) {
        uint32_t grh = i / 2 ? GRH : 0, id = i % 2;

        dlg_to(d, ERNIC_QPS_RTS);
        dlg_recv(d, DLG_SINK, grh + 15);
        dlg_recv(d, DLG_SINK + 512, grh + 15);
        PEER_SEND(d, RQ, 16);
        if (id) {
            RECV_WC(d, 0, LOC_LEN_ERR);
        }
        dlg_no_wc(d);
        STATE_IS(d, RTS);
        PEER_SEND(d, RQ + 1, 15);
        RECV_WC(d, id, SUCCESS);
        dlg_mem_is(d, DLG_SINK + 512 * id + grh, d->peer, 15);
    }
}

/* 10.2.9: a request posted to an SRQ uses keys of the SRQ's own domain. */
TEST("/hostile/srq-domain", test_srq_domain)
{
    EACH_DIALOG(d, type, ERNIC_QPT_RC, ERNIC_QPT_UD + 1, dlg_init(d, type, false)) {
        uint32_t pd = fake_create_pd(d->e), grh = type == ERNIC_QPT_UD ? GRH : 0;

        fake_create_srq(d->e, &d->srq, pd, 64, 0);
        fake_create_qp(d->e, &d->qp, type, d->pd, d->scq.cqn, d->rcq.cqn, d->srq.srqn);
        dlg_to(d, ERNIC_QPS_RTS);
        d->key = fake_reg_mr(d->e, pd, d->mem, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE);
        dlg_recv(d, DLG_SINK, 64);
        PEER(d, SEND_ONLY, .psn = RQ, .qkey = DLG_QKEY, .payload = d->peer,
             .payload_len = 16);
        RECV_WC(d, 0, SUCCESS);
        dlg_mem_is(d, DLG_SINK + grh, d->peer, 16);
        /* Keys of the queue pair's domain do not work. */
        d->key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE);
        dlg_recv(d, DLG_SINK + 512, 64);
        PEER_SEND(d, RQ + 1, 16);
        RECV_WC(d, 1, LOC_PROT_ERR);
        dlg_mem_is(d, DLG_SINK + 512, NULL, 64);
        if (type == ERNIC_QPT_RC) {
            SENT_NAK(d, ERNIC_NAK_REM_OP, RQ + 1, 1);
        }
        dlg_event(d, ERNIC_EV_LAST_WQE);
        STATE_IS(d, ERR);
    }
}

/* Requests that send no packet count for the turn as well: a neighbour waits for 64. */
DIALOG_TEST("/hostile/local-turns", ERNIC_QPT_RC, test_local_turns)
{
    uint32_t key = fake_alloc_mw(d->e, d->pd, 1), at = UINT32_MAX;
    FakeQp deep, other = d->qp;
    struct ernic_cqe cqe;
    struct ernic_wqe wqe;

    fake_create_deep_qp(d->e, &deep, ERNIC_QPT_RC, d->pd, d->scq.cqn, d->rcq.cqn, 256);
    fake_qp_to(d->e, &deep, ERNIC_QPS_RTS, &d->attr);
    fake_run(d->e);                      /* the states are marked as work */
    d->qp = deep;
    for (uint32_t i = 0; i < 200; i++) {
        wqe = dlg_bind(d, key + i, key + i + 1, 0, 64, ERNIC_ACCESS_REMOTE_READ);
        dlg_post_wqe(d, &wqe, 0, 0);
    }
    d->qp = other;
    wqe = dlg_bind_mw(d, &key);
    dlg_post_wqe(d, &wqe, 0, 0);
    fake_run(d->e);
    for (uint32_t i = 0; i < 201; i++) {
        g_assert_true(fake_poll_cq(d->e, &d->scq, &cqe));
        IS(cqe.status, ERNIC_WC_SUCCESS);
        at = cqe.qpn == other.qpn ? i : at;
    }
    IS(at, 64);
}
