/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder of a connection: bad requests. Each ends in one NAK, one completion or
 * event, and the Error state, exactly as the specification says (IBTA vol. 1, 9.7.4.1,
 * 9.9.3 and 11.6).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dialog.h"
#include "test.h"

#define PSN DLG_RQ_PSN

typedef struct Wrong {
    const char *name;
    ErnicOp open;               /* First of a message before it, or _COUNT */
    ErnicOp op;
    ErnicPkt pkt;               /* va is relative to d->mem; rkey 0: d->key */
    uint8_t syndrome;
    uint8_t wc;                 /* of the message's receive request; 0: none */
    uint8_t event;              /* 0: none */
    void (*setup)(Dialog *d);   /* before RTS */
} Wrong;

#define NONE ERNIC_OP_COUNT

/* ---- preparation before the packet arrives -------------------------- */

static void no_rights(Dialog *d)
{
    d->attr.access = 0;
}

static void no_credit(Dialog *d)
{
    d->attr.max_dest_rd_atomic = 0;
}

static void no_remote(Dialog *d)
{
    d->key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE);
}

/* The pages of 2 MiB past the end of guest memory. */
static void no_memory(Dialog *d)
{
    uint64_t end = d->env.base + FAKE_MEM_SIZE;

    d->key = fake_reg_mr(d->e, d->pd, end, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE |
                         ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ |
                         ERNIC_ACCESS_REMOTE_ATOMIC);
    d->mem = end;
}

/* ---- the table ------------------------------------------------------ */

#define INV ERNIC_NAK_INV_REQ
#define ACC ERNIC_NAK_REM_ACC
#define OPE ERNIC_NAK_REM_OP
#define REQ_ERR 0, ERNIC_EV_QP_REQ_ERR
#define ACC_ERR 0, ERNIC_EV_QP_ACCESS_ERR
#define FATAL 0, ERNIC_EV_QP_FATAL
#define INV_REQ ERNIC_WC_REM_INV_REQ_ERR, 0
#define LEN(n) .payload_len = (n)
#define OP(name) ERNIC_OP_##name

static const Wrong wrongs[] = {
    /* 9.7.4.1.4: First, Middle, Last, Only in turn. */
    { "sequence/middle", NONE, OP(SEND_MIDDLE), { LEN(1024) }, INV, REQ_ERR },
    { "sequence/last", NONE, OP(SEND_LAST), { LEN(9) }, INV, REQ_ERR },
    { "sequence/last-imm", NONE, OP(SEND_LAST_IMM), { LEN(9) }, INV, REQ_ERR },
    { "sequence/last-inv", NONE, OP(SEND_LAST_INV), { LEN(9) }, INV, REQ_ERR },
    { "sequence/write-middle", NONE, OP(WRITE_MIDDLE), { LEN(1024) }, INV, REQ_ERR },
    { "sequence/write-last", NONE, OP(WRITE_LAST), { LEN(9) }, INV, REQ_ERR },
    { "sequence/write-last-imm", NONE, OP(WRITE_LAST_IMM), { LEN(9) }, INV, REQ_ERR },
    { "sequence/first-in-send", OP(SEND_FIRST), OP(SEND_FIRST), { LEN(1024) },
      INV, INV_REQ },
    { "sequence/only-in-send", OP(SEND_FIRST), OP(SEND_ONLY), { LEN(9) }, INV, INV_REQ },
    { "sequence/write-in-send", OP(SEND_FIRST), OP(WRITE_ONLY), { }, INV, INV_REQ },
    { "sequence/write-last-in-send", OP(SEND_FIRST), OP(WRITE_LAST),
      { LEN(9) }, INV, INV_REQ },
    { "sequence/read-in-send", OP(SEND_FIRST), OP(READ_REQUEST), { }, INV, INV_REQ },
    { "sequence/atomic-in-send", OP(SEND_FIRST), OP(FETCH_ADD), { }, INV, INV_REQ },
    { "sequence/send-in-write", OP(WRITE_FIRST), OP(SEND_ONLY), { LEN(9) },
      INV, REQ_ERR },
    { "sequence/send-last-in-write", OP(WRITE_FIRST), OP(SEND_LAST),
      { LEN(9) }, INV, REQ_ERR },
    { "sequence/read-in-write", OP(WRITE_FIRST), OP(READ_REQUEST), { }, INV, REQ_ERR },

    /* 9.7.4.1.5: the queue pair does not allow the operation. */
    { "disabled/write", NONE, OP(WRITE_ONLY), { .dma_len = 8, LEN(8) }, INV,
      REQ_ERR, no_rights },
    { "disabled/write-imm", NONE, OP(WRITE_ONLY_IMM), { .dma_len = 8, LEN(8) },
      INV, REQ_ERR, no_rights },
    { "disabled/write-empty", NONE, OP(WRITE_ONLY), { }, INV, REQ_ERR, no_rights },
    { "disabled/read", NONE, OP(READ_REQUEST), { .dma_len = 8 }, INV, REQ_ERR,
      no_rights },
    { "disabled/compare-swap", NONE, OP(COMPARE_SWAP), { }, INV, REQ_ERR, no_rights },
    { "disabled/fetch-add", NONE, OP(FETCH_ADD), { }, INV, REQ_ERR, no_rights },
    { "credit/read", NONE, OP(READ_REQUEST), { .dma_len = 8 }, INV, REQ_ERR, no_credit },
    { "credit/atomic", NONE, OP(FETCH_ADD), { }, INV, REQ_ERR, no_credit },

    /* 9.7.4.1.6: lengths. */
    { "length/first-short", NONE, OP(SEND_FIRST), { LEN(1020) }, INV, REQ_ERR },
    { "length/first-long", NONE, OP(SEND_FIRST), { LEN(1028) }, INV, REQ_ERR },
    { "length/only-long", NONE, OP(SEND_ONLY), { LEN(1025) }, INV, REQ_ERR },
    { "length/middle-short", OP(SEND_FIRST), OP(SEND_MIDDLE), { LEN(1023) },
      INV, INV_REQ },
    { "length/middle-long", OP(SEND_FIRST), OP(SEND_MIDDLE), { LEN(2048) },
      INV, INV_REQ },
    { "length/last-empty", OP(SEND_FIRST), OP(SEND_LAST), { }, INV, INV_REQ },
    { "length/last-long", OP(SEND_FIRST), OP(SEND_LAST), { LEN(1025) }, INV, INV_REQ },
    { "length/write-first-short", NONE, OP(WRITE_FIRST),
      { .dma_len = 2000, LEN(1000) }, INV, REQ_ERR },
    { "length/write-more-than-said", NONE, OP(WRITE_ONLY),
      { .dma_len = 8, LEN(9) }, INV, REQ_ERR },
    { "length/write-less-than-said", NONE, OP(WRITE_ONLY),
      { .dma_len = 9, LEN(8) }, INV, REQ_ERR },
    { "length/write-last-more", OP(WRITE_FIRST), OP(WRITE_LAST), { LEN(1024) },
      INV, REQ_ERR },
    { "length/write-last-less", OP(WRITE_FIRST), OP(WRITE_LAST), { LEN(1000) },
      INV, REQ_ERR },
    { "length/write-middle-more", OP(WRITE_FIRST), OP(WRITE_MIDDLE),
      { LEN(1024) }, INV, REQ_ERR },
    { "length/write-over-2g", NONE, OP(WRITE_FIRST),
      { .dma_len = 0x80000001u, LEN(1024) }, INV, REQ_ERR },
    { "length/read-over-2g", NONE, OP(READ_REQUEST),
      { .dma_len = 0x80000001u }, INV, REQ_ERR },
    { "length/atomic-align", NONE, OP(FETCH_ADD), { .va = 4 }, INV, REQ_ERR },
    { "length/swap-align", NONE, OP(COMPARE_SWAP), { .va = 1 }, INV, REQ_ERR },

    /* 9.7.4.1.5: R_Key, range, rights. */
    { "access/write-key", NONE, OP(WRITE_ONLY),
      { .rkey = 0xbad, .dma_len = 8, LEN(8) }, ACC, ACC_ERR },
    { "access/write-range", NONE, OP(WRITE_FIRST),
      { .va = DLG_MEM - 2047, .dma_len = 2048, LEN(1024) }, ACC, ACC_ERR },
    { "access/write-before", NONE, OP(WRITE_ONLY),
      { .va = -1ull, .dma_len = 8, LEN(8) }, ACC, ACC_ERR },
    { "access/write-right", NONE, OP(WRITE_ONLY), { .dma_len = 8, LEN(8) },
      ACC, ACC_ERR, no_remote },
    { "access/write-imm-key", NONE, OP(WRITE_ONLY_IMM),
      { .rkey = 0xbad, .dma_len = 8, LEN(8) }, ACC, ACC_ERR },
    { "access/read-key", NONE, OP(READ_REQUEST),
      { .rkey = 0xbad, .dma_len = 8 }, ACC, ACC_ERR },
    { "access/read-range", NONE, OP(READ_REQUEST),
      { .dma_len = DLG_MEM + 1 }, ACC, ACC_ERR },
    { "access/read-right", NONE, OP(READ_REQUEST), { .dma_len = 8 }, ACC,
      ACC_ERR, no_remote },
    { "access/atomic-key", NONE, OP(FETCH_ADD), { .rkey = 0xbad }, ACC, ACC_ERR },
    { "access/atomic-range", NONE, OP(FETCH_ADD), { .va = DLG_MEM }, ACC, ACC_ERR },
    { "access/atomic-right", NONE, OP(COMPARE_SWAP), { }, ACC, ACC_ERR, no_remote },
    { "access/invalidate", NONE, OP(SEND_ONLY_INV), { .inv_rkey = 0xbad00 },
      ACC, ERNIC_WC_REM_INV_REQ_ERR, 0 },

    /* 9.9.3 class A: our own memory. */
    { "memory/write", NONE, OP(WRITE_ONLY), { .dma_len = 8, LEN(8) }, OPE,
      FATAL, no_memory },
    { "memory/atomic", NONE, OP(FETCH_ADD), { }, OPE, FATAL, no_memory },

    /* Two at once: the fault that is checked first is reported. */
    { "order/sequence-before-disabled", NONE, OP(WRITE_MIDDLE), { LEN(3) },
      INV, REQ_ERR, no_rights },
    { "order/disabled-before-key", NONE, OP(READ_REQUEST),
      { .rkey = 0xbad, .dma_len = 8 }, INV, REQ_ERR, no_rights },
    { "order/sequence-before-key", OP(WRITE_FIRST), OP(WRITE_ONLY),
      { .rkey = 0xbad, .dma_len = 8, LEN(8) }, INV, REQ_ERR },
    { "order/length-before-key", NONE, OP(WRITE_ONLY),
      { .rkey = 0xbad, .dma_len = 9, LEN(8) }, INV, REQ_ERR },
};

/* The fate of the receive requests 1 and 2; those of an SRQ stay posted. */
static void end_of_wrong(Dialog *d, const Wrong *w)
{
    bool shared = d->qp.type == ERNIC_QPT_XRC_TGT;

    if (w->wc) {
        dlg_recv_wc(d, 1, w->wc);
    } else if (!shared) {
        RECV_WC(d, 1, WR_FLUSH_ERR);
    }
    if (!shared) {
        RECV_WC(d, 2, WR_FLUSH_ERR);
    }
    if (w->event) {
        dlg_event(d, w->event);
    }
    if (shared) {
        dlg_event(d, ERNIC_EV_LAST_WQE);
    }
}

/* One good message first, so that the NAK's PSN and MSN differ from initial values. */
static void check_wrong(const Wrong *w, uint8_t type)
{
    uint32_t psn = PSN + 1;
    ErnicPkt pkt = w->pkt;
    Dialog d;

    dlg_init(&d, type, false);
    if (w->setup) {
        w->setup(&d);
    }
    dlg_to(&d, ERNIC_QPS_RTS);
    if (type == ERNIC_QPT_XRC_TGT) {
        fake_post_srq(d.e, &d.srq, 0, NULL, 0);
    } else {
        fake_post_recv(d.e, &d.qp, 0, NULL, 0);
    }
    PEER(&d, SEND_ONLY, .psn = PSN);
    /* It is not in memory yet. */
    SENT_NAK(&d, ERNIC_AETH_RNR_NAK | 12, PSN, 0);
    dlg_recv(&d, DLG_SINK, 1 << 16);
    dlg_recv(&d, DLG_SINK, 1 << 16);
    PEER(&d, SEND_ONLY, .psn = PSN, .ackreq = true);
    SENT_ACK(&d, PSN, 1);
    RECV_WC(&d, 0, SUCCESS);
    if (w->open != NONE) {
        dlg_peer(&d, w->open, &(ErnicPkt) {
            .psn = psn++, .va = d.mem + DLG_SINK, .rkey = d.key,
            .dma_len = 2047, .payload_len = 1024 });
    }
    memset(d.at + DLG_SINK, 0, 1 << 16);
    pkt.psn = psn;
    pkt.va = d.mem + pkt.va;
    pkt.rkey = pkt.rkey ? pkt.rkey : d.key;
    pkt.payload = pkt.payload_len ? d.peer : NULL;
    dlg_peer(&d, w->op, &pkt);
    SENT_NAK(&d, w->syndrome, psn, 1);
    end_of_wrong(&d, w);
    dlg_mem_is(&d, DLG_SINK, NULL, d.mem == d.env.base + FAKE_MEM_SIZE ? 0 : 1 << 16);
    STATE_IS(&d, ERR);
    /* From now on the responder is silent. */
    PEER(&d, SEND_ONLY, .psn = PSN, .ackreq = true);
    PEER(&d, SEND_ONLY, .psn = psn, .ackreq = true);
    PEER(&d, SEND_ONLY, .psn = psn + 1, .ackreq = true);
    dlg_close(&d);
}

ROW_TEST("/resp-fault", wrongs, test_wrong)
{
    check_wrong(data, ERNIC_QPT_RC);
}

ROW_TEST("/resp-fault/xrc", wrongs, test_wrong_xrc)
{
    check_wrong(data, ERNIC_QPT_XRC_TGT);
}

/* ---- receive requests ----------------------------------------------- */

/* The message does not fit: the completion reports it, and a NAK to the peer. */
TEST("/resp-fault/recv/length", test_recv_length)
{
    Dialog d;

    dlg_open(&d, ERNIC_QPT_RC);
    dlg_recv(&d, DLG_SINK, 15);
    PEER(&d, SEND_ONLY, .psn = PSN, .payload = d.peer, .payload_len = 16);
    SENT_NAK(&d, ERNIC_NAK_INV_REQ, PSN, 0);
    RECV_WC(&d, 0, LOC_LEN_ERR);
    dlg_mem_is(&d, DLG_SINK, NULL, 16);
    dlg_close(&d);

    dlg_open(&d, ERNIC_QPT_RC);
    dlg_recv(&d, DLG_SINK, 2000);
    PEER(&d, SEND_FIRST, .psn = PSN, .payload = d.peer, .payload_len = 1024);
    PEER(&d, SEND_LAST, .psn = PSN + 1, .payload = d.peer, .payload_len = 977);
    SENT_NAK(&d, ERNIC_NAK_INV_REQ, PSN + 1, 0);
    RECV_WC(&d, 0, LOC_LEN_ERR);
    dlg_close(&d);
}

static void bad_recv(Dialog *d, uint64_t addr, uint32_t len, uint32_t lkey)
{
    struct ernic_sge sge = fake_sge(addr, len, lkey);

    dlg_open(d, ERNIC_QPT_RC);
    fake_post_recv(d->e, &d->qp, 0, &sge, 1);
    dlg_recv(d, DLG_SINK, 16);
    PEER(d, SEND_ONLY, .psn = PSN, .payload = d->peer, .payload_len = 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
}

TEST("/resp-fault/recv/protection", test_recv_prot)
{
    Dialog d;

    bad_recv(&d, FAKE_MEM_BASE, 16, 0xbad);
    RECV_WC(&d, 0, LOC_PROT_ERR);
    RECV_WC(&d, 1, WR_FLUSH_ERR);
    STATE_IS(&d, ERR);
    dlg_close(&d);
}

DIALOG_TEST("/resp-fault/recv/wqe", ERNIC_QPT_RC, test_recv_wqe)
{
    struct ernic_rwqe *rwqe;

    dlg_recv(d, DLG_SINK, 16);
    rwqe = fake_ptr(&d->env, fake_rq_slot(&d->qp, 0), sizeof(*rwqe));
    rwqe->num_sge = cpu_to_le16(ERNIC_MAX_SGE + 1);
    PEER(d, SEND_ONLY, .psn = PSN, .payload = d->peer, .payload_len = 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
    RECV_WC(d, 0, LOC_QP_OP_ERR);
    STATE_IS(d, ERR);
}

/* The ring's memory fails: of the request only its position is known. */
DIALOG_TEST("/resp-fault/recv/dma", ERNIC_QPT_RC, test_recv_dma)
{
    struct ernic_cqe cqe;

    dlg_recv(d, DLG_SINK, 16);
    fake_fail_dma(&d->env, 1, false);
    PEER(d, SEND_ONLY, .psn = PSN, .payload = d->peer, .payload_len = 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
    cqe = RECV_WC(d, 0, LOC_QP_OP_ERR);
    IS(cqe.index, 0);
}

/* ---- faults and answers in their order ------------------------------ */

/* Too many READs at once: the earlier ones are still answered. */
DIALOG_TEST_BY("/resp-fault/overflow", dlg_init(d, ERNIC_QPT_RC, false), test_overflow)
{
    d->attr.max_dest_rd_atomic = 2;
    dlg_to(d, ERNIC_QPS_RTS);
    d->hold = true;
    PEER_READ(d, PSN, 0, 2000);
    PEER_ADD(d, PSN + 2, DLG_SINK, 1);
    PEER_READ(d, PSN + 3, 0, 8);
    PEER_READ(d, PSN + 4, 0, 8);
    dlg_sent_read(d, PSN, 1, 0, 2000);
    SENT_ATOMIC(d, PSN + 2, 2, 0);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN + 3, 2);
    dlg_event(d, ERNIC_EV_QP_REQ_ERR);
    STATE_IS(d, ERR);
}

/* The key becomes invalid while the response is being sent: NAK at that packet. */
DIALOG_TEST("/resp-fault/read-key-lost", ERNIC_QPT_RC, test_read_key_lost)
{
    uint32_t key, n;

    key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_REMOTE_READ);
    d->env.tx_busy = true;
    PEER(d, READ_REQUEST, .psn = PSN, .va = d->mem, .rkey = key, .dma_len = 500 * 1024);
    OK(fake_destroy(d->e, ERNIC_CMD_MR_FREE, key));
    dlg_ready(d);
    n = dlg_pending(d) - 1;
    g_assert_cmpuint(n, <, 100);
    SENT(d, READ_RSP_FIRST, .psn = PSN, .syndrome = DLG_ACK, .msn = 1,
         .payload = d->at, .payload_len = 1024);
    while (dlg_pending(d) > 1) {
        dlg_take(d);
    }
    SENT_NAK(d, ERNIC_NAK_REM_ACC, PSN + n, 1);
    dlg_event(d, ERNIC_EV_QP_ACCESS_ERR);
    STATE_IS(d, ERR);
}

/* The open message after the READ is not at fault: it is flushed. */
DIALOG_TEST("/resp-fault/read-key-lost-open", ERNIC_QPT_RC, test_read_key_lost_open)
{
    uint32_t key, n;

    key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_REMOTE_READ);
    dlg_recv(d, DLG_SINK, 4096);
    dlg_recv(d, DLG_SINK, 4096);
    d->env.tx_busy = true;
    PEER(d, READ_REQUEST, .psn = PSN, .va = d->mem, .rkey = key, .dma_len = 500 * 1024);
    PEER(d, SEND_FIRST, .psn = PSN + 500, .payload_len = 1024);
    OK(fake_destroy(d->e, ERNIC_CMD_MR_FREE, key));
    dlg_ready(d);
    n = dlg_pending(d) - 1;
    while (dlg_pending(d) > 1) {
        dlg_take(d);
    }
    SENT_NAK(d, ERNIC_NAK_REM_ACC, PSN + n, 1);
    dlg_event(d, ERNIC_EV_QP_ACCESS_ERR);
    RECV_WCS(d, 0, 1, WR_FLUSH_ERR);
    STATE_IS(d, ERR);
}

/*
 * The address is removed while the response is being sent: the unsent rest is dropped,
 * and the peer requests it again once there is an address.
 */
DIALOG_TEST("/resp-fault/read-gid-lost", ERNIC_QPT_RC, test_read_gid_lost)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };

    dlg_recv(d, DLG_SINK, 16);
    d->env.tx_busy = true;
    PEER_READ(d, PSN, 0, 200 * 1024);
    OK(fake_cmd(d->e, &cmd, NULL));
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    dlg_ready(d);
    g_assert_cmpuint(dlg_pending(d), <=, 64);
    dlg_drain(d);
    fake_set_gid(d->e, 0, DLG_HOST);
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    QUIET(d);
    PEER(d, SEND_ONLY, .psn = PSN + 200, .ackreq = true);
    SENT_ACK(d, PSN + 200, 2);
    RECV_WC(d, 0, SUCCESS);
    PEER_READ(d, PSN, 0, 200 * 1024);
    dlg_sent_read(d, PSN, 1, 0, 200 * 1024);
    STATE_IS(d, RTS);
}

/*
 * The same for a memory error. The request was valid and counted (9.7.7.1) before its
 * first byte was read.
 */
DIALOG_TEST_BY("/resp-fault/read-memory", dlg_init(d, ERNIC_QPT_RC, false),
               test_read_memory)
{
    no_memory(d);
    dlg_to(d, ERNIC_QPS_RTS);
    PEER_READ(d, PSN, 0, 8);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 1);
    dlg_event(d, ERNIC_EV_QP_FATAL);
    STATE_IS(d, ERR);
}

/* A second fault of one QP is ignored: it is in Error. */
DIALOG_TEST("/resp-fault/one-fault", ERNIC_QPT_RC, test_one_fault)
{
    d->hold = true;
    PEER(d, SEND_MIDDLE, .psn = PSN, .payload_len = 1024);
    PEER(d, WRITE_ONLY, .psn = PSN, .rkey = 1, .dma_len = 8, .payload_len = 8);
    PEER(d, WRITE_ONLY, .psn = PSN + 1, .rkey = 1, .dma_len = 8, .payload_len = 8);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN, 0);
    dlg_event(d, ERNIC_EV_QP_REQ_ERR);
}

/* The NAK waits for the link, and the change of state for the NAK. */
DIALOG_TEST("/resp-fault/nak-busy", ERNIC_QPT_RC, test_nak_busy)
{
    d->env.tx_busy = true;
    PEER(d, SEND_MIDDLE, .psn = PSN, .payload_len = 1024);
    PEER(d, SEND_ONLY, .psn = PSN);
    dlg_ready(d);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN, 0);
    dlg_event(d, ERNIC_EV_QP_REQ_ERR);
    STATE_IS(d, ERR);
}

/*
 * A completion queue overrun: the message cannot be reported, and the queue pair ends
 * (9.9.3 class G).
 */
DIALOG_TEST_BY("/resp-fault/cq-overrun", dlg_init(d, ERNIC_QPT_RC, false),
               test_cq_overrun)
{
    struct ernic_cqe cqe;
    FakeCq small;

    fake_create_cq(d->e, &small, 2, FAKE_NONE);
    fake_create_qp(d->e, &d->qp, ERNIC_QPT_RC, d->pd, d->scq.cqn, small.cqn, FAKE_NONE);
    dlg_to(d, ERNIC_QPS_RTS);
    for (uint32_t i = 0; i < 4; i++) {
        dlg_recv(d, DLG_SINK, 16);
    }
    for (uint32_t i = 0; i < 2; i++) {
        PEER(d, SEND_ONLY, .psn = PSN + i, .ackreq = true);
        SENT_ACK(d, PSN + i, i + 1);
    }
    PEER(d, SEND_ONLY, .psn = PSN + 2, .ackreq = true);
    dlg_event_of(d, ERNIC_EV_CQ_ERR, small.cqn);
    dlg_event(d, ERNIC_EV_QP_FATAL);
    STATE_IS(d, ERR);
    g_assert_true(fake_poll_cq(d->e, &small, &cqe));
    g_assert_true(fake_poll_cq(d->e, &small, &cqe));
    IS(cqe.status, ERNIC_WC_SUCCESS);
    g_assert_false(fake_poll_cq(d->e, &small, &cqe));
}
