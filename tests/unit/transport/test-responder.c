/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder of a connection: valid requests, duplicates, and requests ahead of
 * sequence (IBTA vol. 1, 9.7.4 and 9.7.5). Bad requests are in test-responder-fault.c.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define PSN DLG_RQ_PSN
static void one_message(Dialog *d, uint8_t wr, uint32_t len, uint32_t *psn, uint32_t *msn)
{
    uint32_t id = d->srq.srqn ? d->srq.pi : d->qp.rq_pi;
    struct ernic_cqe cqe;

    memset(d->at + DLG_SINK, 0, len + 8);
    if (wr != ERNIC_WR_WRITE) {
        dlg_recv(d, DLG_SINK, len + 7);
    }
    *psn += dlg_peer_message(d, wr, *psn, DLG_SINK, len);
    if (dlg_acks(d)) {
        SENT_ACK(d, *psn - 1, ++*msn);
    }
    *psn &= 0xffffff;
    QUIET(d);
    dlg_mem_is(d, DLG_SINK, d->peer, len);
    dlg_mem_is(d, DLG_SINK + len, NULL, 8);
    if (wr == ERNIC_WR_WRITE) {
        dlg_no_wc(d);
        return;
    }
    cqe = RECV_WC(d, id, SUCCESS);
    IS(cqe.byte_len, len);
    IS(cqe.index, id);
    IS(cqe.opcode, wr == ERNIC_WR_WRITE_IMM ? ERNIC_WC_RECV_WRITE_IMM : ERNIC_WC_RECV);
    IS(cqe.flags & ~(ERNIC_CQE_PHASE | ERNIC_CQE_RQ),
       (wr == ERNIC_WR_SEND ? 0 : ERNIC_CQE_IMM) |
       (d->transport == ERNIC_XRC ? ERNIC_CQE_XRC : 0));
    IS(cqe.src_qp, d->transport == ERNIC_XRC ? d->srq.srqn : 0);
    IS((uint32_t)ldl_be_p(cqe.imm), wr == ERNIC_WR_SEND ? 0 : DLG_IMM);
}

static void all_lengths(Dialog *d)
{
    static const uint8_t wrs[] = {
        ERNIC_WR_SEND, ERNIC_WR_SEND_IMM, ERNIC_WR_WRITE, ERNIC_WR_WRITE_IMM,
    };
    uint32_t psn = 0xfffff0, msn = 0, mtu = dlg_mtu(d);
    const uint32_t lens[] = { 0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 2 };

    for (uint32_t i = 0; i < ARRAY_SIZE(wrs); i++) {
        for (uint32_t j = 0; j < ARRAY_SIZE(lens); j++) {
            one_message(d, wrs[i], lens[j], &psn, &msn);
        }
    }
}

/* Every service and path MTU. */
TEST("/resp/messages", test_messages)
{
    static const uint8_t types[] = { ERNIC_QPT_RC, ERNIC_QPT_UC, ERNIC_QPT_XRC_TGT };

    for (uint32_t i = 0; i < ARRAY_SIZE(types); i++) {
        EACH_DIALOG(d, mtu, ERNIC_MTU_256, ERNIC_MTU_4096 + 1,
                    dlg_open_mtu(d, types[i], mtu, 0xfffff0)) { all_lengths(d);
        }
    }
}

TEST("/resp/read", test_read)
{
    EACH_DIALOG(d, code, ERNIC_MTU_256, ERNIC_MTU_4096 + 1,
                dlg_open_mtu(d, ERNIC_QPT_RC, code, PSN)) {
        uint32_t mtu = ernic_mtu_bytes(code), psn = PSN, msn = 0;
        const uint32_t lens[] = {
            0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 7 * mtu + 3, 100000,
        };

        for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
            psn += dlg_serve_read(d, psn, ++msn, 33, lens[i]);
        }
    }
}

/* C9-105: a duplicate SEND or WRITE is acknowledged, not executed. */
DIALOG_TEST("/resp/duplicate/data", ERNIC_QPT_RC, test_duplicate_data)
{
    dlg_recv(d, DLG_SINK, 3000);
    dlg_recv(d, DLG_SINK + 4096, 16);
    dlg_peer_message(d, ERNIC_WR_SEND, PSN, 0, 3000);
    dlg_peer_message(d, ERNIC_WR_WRITE, PSN + 3, DLG_SINK + 8192, 16);
    SENT_ACK(d, PSN + 2, 1);
    SENT_ACK(d, PSN + 3, 2);
    RECV_WC(d, 0, SUCCESS);
    memset(d->at + DLG_SINK, 0, 16384);
    PEER(d, SEND_FIRST, .psn = PSN, .payload_len = 1024);
    SENT_ACK(d, PSN + 3, 2);
    PEER(d, SEND_LAST, .psn = PSN + 2, .payload_len = 952, .ackreq = true);
    SENT_ACK(d, PSN + 3, 2);
    dlg_peer_message(d, ERNIC_WR_WRITE, PSN + 3, DLG_SINK + 8192, 16);
    SENT_ACK(d, PSN + 3, 2);
    dlg_mem_is(d, DLG_SINK, NULL, 16384);
    dlg_no_wc(d);
    /* Inside a message that is still open, it stays open. */
    PEER_DATA(d, SEND_FIRST, PSN + 4, 0, 1024);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN + 4, 2);
    RECV_WC(d, 1, LOC_LEN_ERR);
}

/* 9.7.5.1.4: a READ is answered again, from the memory's current contents. */
DIALOG_TEST("/resp/duplicate/read", ERNIC_QPT_RC, test_duplicate_read)
{
    dlg_serve_read(d, PSN, 1, 0, 5000);
    dlg_serve_read(d, PSN + 5, 2, 8000, 16);
    /* Whole, its tail, and a part from its middle. */
    memcpy(d->at + 1024, d->peer, 1024);
    dlg_serve_read(d, PSN, 1, 0, 5000);
    dlg_serve_read(d, PSN + 3, 1, 3072, 5000 - 3072);
    dlg_serve_read(d, PSN + 1, 1, 1024, 2048);
    dlg_serve_read(d, PSN + 5, 2, 8000, 16);
    /* A duplicate of a request that was never made gets no response. */
    PEER_READ(d, PSN, 8, 4992);
    PEER_READ(d, PSN + 3, 3072, 2000);
    PEER_READ(d, PSN + 2, 3072, 16);
    PEER(d, READ_REQUEST, .psn = PSN, .va = d->mem, .rkey = d->key ^ 1, .dma_len = 5000);
    PEER_READ(d, PSN - 1, 0, 5000);
    PEER_ADD(d, PSN + 5, 0, 1);
    QUIET(d);
    STATE_IS(d, RTS);
}

/* Software has taken the right since: what is in memory now is not for the peer. */
DIALOG_TEST("/resp/duplicate/read-disabled", ERNIC_QPT_RC, test_duplicate_read_disabled)
{
    const uint32_t mask = ERNIC_QPA_STATE | ERNIC_QPA_ACCESS;
    uint32_t access = d->attr.access;

    dlg_serve_read(d, PSN, 1, 0, 3000);
    PEER_ADD(d, PSN + 3, DLG_SINK, 5);
    SENT_ATOMIC(d, PSN + 3, 2, 0);
    d->attr.access = 0;
    OK(dlg_modify(d, mask, ERNIC_QPS_RTS));
    PEER_READ(d, PSN, 0, 3000);
    PEER_READ(d, PSN + 1, 1024, 16);
    QUIET(d);
    /* The atomic was executed; its result is an old one. */
    PEER_ADD(d, PSN + 3, DLG_SINK, 5);
    SENT_ATOMIC(d, PSN + 3, 2, 0);
    d->attr.access = access;
    OK(dlg_modify(d, mask, ERNIC_QPS_RTS));
    dlg_serve_read(d, PSN, 1, 0, 3000);
    STATE_IS(d, RTS);
}

/* 9.7.5.1.3: every field must match, or it is dropped in silence. */
DIALOG_TEST("/resp/duplicate/atomic-other", ERNIC_QPT_RC, test_duplicate_atomic_other)
{
    uint32_t key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM,
                               ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_ATOMIC);

    fake_put64(&d->env, d->mem, 10);
    PEER_SWAP(d, PSN, 0, d->key, 10, 20);
    SENT_ATOMIC(d, PSN, 1, 10);
    PEER_SWAP(d, PSN, 0, d->key, 10, 21);
    PEER_SWAP(d, PSN, 0, d->key, 20, 20);
    PEER_SWAP(d, PSN, 0, key, 10, 20);
    PEER_SWAP(d, PSN, 8, d->key, 10, 20);
    PEER(d, FETCH_ADD, .psn = PSN, .va = d->mem, .rkey = d->key, .compare = 10,
         .swap_add = 20);
    PEER_READ(d, PSN, 0, 8);
    QUIET(d);
    PEER_SWAP(d, PSN, 0, d->key, 10, 20);
    SENT_ATOMIC(d, PSN, 1, 10);
    IS(fake_get64(&d->env, d->mem), 20);
    STATE_IS(d, RTS);
}

/*
 * A READ of @packets of 256 bytes whose response is lost with the address: PSNs advance
 * fast.
 */
static void lost_read(Dialog *d, uint32_t psn, uint32_t packets, uint32_t key)
{
    d->env.tx_busy = true;
    PEER(d, READ_REQUEST, .psn = psn, .va = d->mem, .rkey = key,
         .dma_len = packets * 256);
    OK(CMD(d->e, SET_GID, {}));
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    fake_tx_ready(d->e);
    dlg_drain(d);
    fake_set_gid(d->e, 0, DLG_HOST);
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
}

#define HALF (1u << 23)

/* Open with a path MTU of 256; returns a key that opens 2 GiB. */
static uint32_t open_lap(Dialog *d)
{
    dlg_open_mtu(d, ERNIC_QPT_RC, ERNIC_MTU_256, PSN);
    return fake_reg_mr(d->e, d->pd, d->mem, 1ull << 31, ERNIC_ACCESS_REMOTE_READ);
}

/* A duplicate may request less than the rest: it gets exactly that. */
DIALOG_TEST("/resp/duplicate/read-less", ERNIC_QPT_RC, test_duplicate_read_less)
{
    static const uint32_t lens[] = { 0, 1, 500, 1024, 1025, 1976 };

    dlg_serve_read(d, PSN, 1, 0, 3000);
    for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
        dlg_serve_read(d, PSN + 1, 1, 1024, lens[i]);
    }
    PEER_READ(d, PSN + 1, 1024, 1977);
}

/* Of two READs with one PSN, a full cycle apart, the later one is meant. */
TEST("/resp/duplicate/lap", test_duplicate_lap)
{
    uint32_t key;

    WITH_DIALOG(d, key = open_lap(d)) {
        dlg_serve_read(d, PSN, 1, 0, 200);
        lost_read(d, PSN + 1, HALF, key);
        lost_read(d, PSN + 1 + HALF, HALF - 1, key);
        dlg_serve_read(d, PSN, 4, 512, 100);
        dlg_serve_read(d, PSN, 4, 512, 100);
        PEER_READ(d, PSN, 0, 200);
        QUIET(d);
        STATE_IS(d, RTS);
    }
}

/* The end of a READ is requested again when its beginning is half a cycle old. */
TEST("/resp/duplicate/half-lap", test_duplicate_half_lap)
{
    uint32_t key;

    WITH_DIALOG(d, key = open_lap(d)) {
        dlg_recv(d, DLG_SINK, 16);
        lost_read(d, PSN, HALF, key);
        dlg_serve_send(d, PSN + HALF, 2, 0);
        PEER(d, READ_REQUEST, .psn = PSN + 16, .va = d->mem + 16 * 256, .rkey = key,
             .dma_len = 600);
        dlg_sent_read(d, PSN + 16, 1, 16 * 256, 600);
    }
}

/* The cache holds as many results as the attribute allows, the newest ones. */
DIALOG_TEST_BY("/resp/duplicate/cache-depth",
               DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_dest_rd_atomic = 4),
               test_cache_depth)
{
    fake_put64(&d->env, d->mem, 0);
    for (uint32_t i = 0; i < 20; i++) {
        PEER_ADD(d, PSN + i % 10, 0, 1);
        if (i < 10 || i >= 16) {
            SENT_ATOMIC(d, PSN + i % 10, i % 10 + 1, i % 10);
        }
        QUIET(d);
    }
    IS(fake_get64(&d->env, d->mem), 10);
}

/* C9-112: the gap gets one NAK; packets after it are dropped in silence. */
DIALOG_TEST("/resp/early/gap", ERNIC_QPT_RC, test_gap)
{
    dlg_recv_many(d, 3, DLG_SINK, 16);
    dlg_serve_send(d, PSN, 1, 0);
    PEER_SEND(d, PSN + 2, 16);
    SENT_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + 1, 1);
    PEER_SEND(d, PSN + 3, 16);
    PEER_READ(d, PSN + 4, 0, 16);
    PEER_SEND(d, PSN + 2, 16);
    dlg_nothing(d);
    dlg_serve_send(d, PSN + 1, 2, 1);
    /* The next gap is another one. */
    PEER_SEND(d, PSN + 0x7ffff0, 16);
    SENT_NAK(d, ERNIC_NAK_PSN_SEQ, PSN + 2, 2);
    dlg_serve_send(d, PSN + 2, 3, 2);
    STATE_IS(d, RTS);
}

/* No receive request: RNR NAK with the timer that we choose. */
TEST("/resp/early/rnr", test_rnr)
{
    EACH_DIALOG(d, code, 0, 32,
                DLG_OPEN(d, ERNIC_QPT_RC, d->attr.min_rnr_timer = code)) {
        /* Each attempt gets an RNR NAK. */
        for (uint32_t i = 0; i < 2; i++) {
            PEER_SEND(d, PSN, 16);
            SENT_NAK(d, ERNIC_AETH_RNR_NAK | code, PSN, 0);
            PEER_SEND(d, PSN + 1, 16);
            QUIET(d);
        }
        dlg_recv_many(d, 2, DLG_SINK, 16);
        dlg_serve_send(d, PSN, 1, 0);
        dlg_serve_send(d, PSN + 1, 2, 1);
    }
}

/* WRITE with immediate needs a receive request at its end only, and writes once. */
DIALOG_TEST("/resp/early/rnr-write-imm", ERNIC_QPT_RC, test_rnr_write_imm)
{
    dlg_peer_message(d, ERNIC_WR_WRITE_IMM, PSN, DLG_SINK, 2000);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, PSN + 1, 0);
    dlg_mem_is(d, DLG_SINK, d->peer, 1024);
    dlg_recv(d, DLG_SINK + 8192, 16);
    PEER_DATA(d, WRITE_LAST_IMM, PSN + 1, 1024, 976, .imm = DLG_IMM, .ackreq = true);
    SENT_ACK(d, PSN + 1, 1);
    IS(RECV_WC(d, 0, SUCCESS).byte_len, 2000);
    dlg_mem_is(d, DLG_SINK, d->peer, 2000);
    dlg_mem_is(d, DLG_SINK + 8192, NULL, 16);
}

/* Shared receive requests: taken in order, RNR when there is none. */
DIALOG_TEST_BY("/resp/qp/srq", dlg_init(d, ERNIC_QPT_RC, true), test_srq)
{
    dlg_to(d, ERNIC_QPS_RTS);
    PEER_SEND(d, PSN, 16);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, PSN, 0);
    dlg_recv(d, DLG_SINK, 16);
    dlg_recv_many(d, 2, DLG_SINK + 64, 3000);
    dlg_serve_send(d, PSN, 1, 0);
    /* In Error only the request of the open message is flushed (C11-39). */
    PEER(d, SEND_FIRST, .psn = PSN + 1, .payload_len = 1024);
    dlg_no_event(d);
    dlg_state(d, ERNIC_QPS_ERR);
    RECV_WC(d, 1, WR_FLUSH_ERR);
    dlg_event(d, ERNIC_EV_LAST_WQE);
}

/* Packets not meant for this queue pair are dropped in silence (9.6.1). */
DIALOG_TEST("/resp/qp/foreign", ERNIC_QPT_RC, test_foreign)
{
    ErnicPkt pkt = {
        .transport = ERNIC_RC, .op = ernic_opcode(ERNIC_OP_SEND_ONLY), .pkey = 0xffff,
        .psn = PSN, .migreq = true, .ackreq = true, .dest_qp = d->qp.qpn,
    };
    ErnicPath path = d->path;

    dlg_recv(d, DLG_SINK, 16);
    PEER(d, SEND_ONLY, .psn = PSN, .ackreq = true, .pkey = 0x7ffe);
    PEER(d, SEND_ONLY, .psn = PSN, .ackreq = true, .dest_qp = 63);
    PEER(d, SEND_ONLY, .psn = PSN, .ackreq = true, .dest_qp = 0xffffff);
    PEER(d, SEND_ONLY, .psn = PSN, .ackreq = true, .dest_qp = 0xfffffe);
    path.sgid.raw[15] ^= 1;
    dlg_inject(d, &pkt, &path);
    path = d->path;
    path.dgid.raw[15] ^= 2;
    dlg_inject(d, &pkt, &path);
    pkt.transport = ERNIC_UC;
    pkt.op = ernic_opcode(ERNIC_BTH_UC | ERNIC_OP_SEND_ONLY);
    dlg_inject(d, &pkt, &d->path);
    dlg_nothing(d);
    /* A limited member of our partition is accepted, since we are a full one. */
    PEER(d, SEND_ONLY, .psn = PSN, .ackreq = true, .pkey = 0x7fff);
    SENT_ACK(d, PSN, 1);
    RECV_WC(d, 0, SUCCESS);
}
