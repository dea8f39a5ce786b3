/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The unreliable connection: no request is acknowledged, a request is complete when its
 * last packet has left, and a message with a gap is dropped in silence (IBTA vol. 1,
 * 9.8.2).
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define PSN DLG_RQ_PSN

static void peer_only(Dialog *d, uint32_t psn, uint32_t len)
{
    PEER_DATA(d, SEND_ONLY, psn, 0, len);
}

/* A lost packet loses its message; the next message uses its receive request. */
DIALOG_TEST("/uc/resp/gap", ERNIC_QPT_UC, test_gap)
{
    dlg_recv(d, DLG_SINK, 4096);
    dlg_recv(d, DLG_SINK + 4096, 4096);
    PEER(d, SEND_FIRST, .psn = PSN, .payload_len = 1024);
    PEER(d, SEND_MIDDLE, .psn = PSN + 2, .payload_len = 1024);
    PEER(d, SEND_MIDDLE, .psn = PSN + 3, .payload_len = 1024);
    PEER(d, SEND_LAST, .psn = PSN + 4, .payload_len = 10);
    dlg_no_wc(d);
    peer_only(d, PSN + 5, 30);
    IS(RECV_WC(d, 0, SUCCESS).byte_len, 30);
    dlg_mem_is(d, DLG_SINK, d->peer, 30);
    /* A First starts a message just as an Only does. */
    PEER(d, SEND_LAST, .psn = PSN + 9, .payload_len = 10);
    dlg_peer_message(d, ERNIC_WR_SEND, PSN + 10, 0, 3000);
    IS(RECV_WC(d, 1, SUCCESS).byte_len, 3000);
    dlg_mem_is(d, DLG_SINK + 4096, d->peer, 3000);
    STATE_IS(d, RTS);
}

/* The gap is before a First or Only: that message is received, the open one is lost. */
DIALOG_TEST("/uc/resp/resync", ERNIC_QPT_UC, test_resync)
{
    dlg_recv_many(d, 2, DLG_SINK, 4096);
    PEER(d, SEND_FIRST, .psn = PSN, .payload_len = 1024);
    peer_only(d, PSN + 7, 31);
    IS(RECV_WC(d, 0, SUCCESS).byte_len, 31);
    /* In sequence, but the previous message has no end. */
    PEER(d, SEND_FIRST, .psn = PSN + 8, .payload_len = 1024);
    dlg_peer_message(d, ERNIC_WR_SEND, PSN + 9, 0, 2000);
    IS(RECV_WC(d, 1, SUCCESS).byte_len, 2000);
}

/* A packet with an old PSN is not delivered again; one from far back counts as new. */
DIALOG_TEST_BY("/uc/resp/duplicates", dlg_open_mtu(d, ERNIC_QPT_UC, ERNIC_MTU_1024, 1),
               test_duplicates)
{
    dlg_recv_many(d, 3, DLG_SINK, 4096);
    peer_only(d, 1, 10);
    RECV_WC(d, 0, SUCCESS);
    peer_only(d, 1, 10);
    peer_only(d, 0, 10);
    peer_only(d, 0xffffff, 10);
    dlg_no_wc(d);
    /* Nor does it disturb an open message. */
    PEER_DATA(d, SEND_FIRST, 2, 0, 1024);
    PEER_DATA(d, SEND_FIRST, 2, 0, 1024);
    peer_only(d, 1, 10);
    PEER_DATA(d, SEND_LAST, 3, 1024, 10);
    IS(RECV_WC(d, 1, SUCCESS).byte_len, 1034);
    dlg_mem_is(d, DLG_SINK, d->peer, 1034);
    peer_only(d, 0xe00000, 10);
    RECV_WC(d, 2, SUCCESS);
}

/* Nothing has come before: no PSN can be that of a duplicate. */
TEST("/uc/resp/first", test_first)
{
    static const uint32_t psn[] = { 0, 0xffffff, 0xff0001, 0xff0000, 0x800001, 2 };

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(psn),
                dlg_open_mtu(d, ERNIC_QPT_UC, ERNIC_MTU_1024, 1)) {
        dlg_recv_many(d, 2, DLG_SINK, 4096);
        PEER_DATA(d, SEND_FIRST, psn[i], 0, 1024);
        PEER_DATA(d, SEND_FIRST, psn[i], 0, 1024);
        PEER_DATA(d, SEND_LAST, (psn[i] + 1) & 0xffffff, 1024, 10);
        IS(RECV_WC(d, 0, SUCCESS).byte_len, 1034);
        peer_only(d, psn[i], 10);
        dlg_no_wc(d);
        peer_only(d, (psn[i] + 2) & 0xffffff, 10);
        RECV_WC(d, 1, SUCCESS);
    }
}

typedef struct Wrong {
    const char *name;
    ErnicOp op;
    ErnicPkt pkt;               /* va relative to d->mem, rkey 0: d->key */
} Wrong;

static const Wrong wrongs[] = {
    { "first-short", ERNIC_OP_SEND_FIRST, { .payload_len = 1020 } },
    { "only-long", ERNIC_OP_SEND_ONLY, { .payload_len = 1025 } },
    { "middle", ERNIC_OP_SEND_MIDDLE, { .payload_len = 1024 } },
    { "write-last", ERNIC_OP_WRITE_LAST, { .payload_len = 4 } },
    { "write-key", ERNIC_OP_WRITE_ONLY,
      { .rkey = 0xbad, .dma_len = 8, .payload_len = 8 } },
    { "write-range", ERNIC_OP_WRITE_FIRST,
      { .va = DLG_MEM - 2000, .dma_len = 2001, .payload_len = 1024 } },
    { "write-length", ERNIC_OP_WRITE_ONLY, { .dma_len = 9, .payload_len = 8 } },
    { "write-over-2g", ERNIC_OP_WRITE_FIRST,
      { .dma_len = 0x80000001u, .payload_len = 1024 } },
};

/* 9.9.3 class D: dropped in silence with the rest of its message. */
DIALOG_ROW_TEST("/uc/wrong", wrongs, w, dlg_open(d, ERNIC_QPT_UC), test_wrong)
{
    ErnicPkt pkt = w->pkt;

    dlg_recv(d, DLG_SINK, 4096);
    pkt.psn = PSN;
    pkt.va += d->mem;
    pkt.rkey = pkt.rkey ? pkt.rkey : d->key;
    pkt.payload = d->peer;
    dlg_peer(d, w->op, &pkt);
    PEER(d, SEND_LAST, .psn = PSN + 1, .payload_len = 10);
    PEER(d, WRITE_LAST_IMM, .psn = PSN + 2, .payload_len = 10);
    dlg_mem_is(d, DLG_SINK, NULL, 4096);
    dlg_no_wc(d);
    STATE_IS(d, RTS);
    peer_only(d, PSN + 3, 10);
    RECV_WC(d, 0, SUCCESS);
}

/* WRITE is not allowed on this queue pair. */
DIALOG_TEST_BY("/uc/wrong/disabled", DLG_OPEN(d, ERNIC_QPT_UC, d->attr.access = 0),
               test_disabled)
{
    dlg_peer_message(d, ERNIC_WR_WRITE, PSN, DLG_SINK, 3000);
    dlg_mem_is(d, DLG_SINK, NULL, 3000);
    STATE_IS(d, RTS);
}

/* READ and atomic packets do not exist on this service. */
DIALOG_TEST("/uc/wrong/opcode", ERNIC_QPT_UC, test_no_such_opcode)
{
    static const uint8_t ops[] = {
        ERNIC_OP_READ_REQUEST, ERNIC_OP_COMPARE_SWAP, ERNIC_OP_FETCH_ADD,
        ERNIC_OP_ACK, ERNIC_OP_READ_RSP_ONLY, ERNIC_OP_SEND_ONLY_INV,
    };
    uint8_t bytes[64] = { 0 };

    dlg_recv(d, DLG_SINK, 16);
    for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
        dlg_bth(d, bytes, ERNIC_BTH_UC | ops[i], PSN);
        dlg_inject_raw(d, bytes, 40, true);
    }
    STATE_IS(d, RTS);
    peer_only(d, PSN + 1, 10);   /* they used PSNs */
    RECV_WC(d, 0, SUCCESS);
}
