/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder of a connection: bad requests. Each ends in one NAK, one completion or
 * event, and the Error state, exactly as the specification says (IBTA vol. 1, 9.7.4.1,
 * 9.9.3 and 11.6).
 */
#include "qemu/osdep.h"
#include "dialog.h"

#define PSN DLG_RQ_PSN

typedef struct Wrong {
    const char *name;
    ErnicOp open;               /* First of a message before it, or _COUNT */
    ErnicOp op;
    uint8_t syndrome;
    uint8_t wc;                 /* of the message's receive request; 0: none */
    uint8_t event;              /* 0: none */
    void (*setup)(Dialog *d);   /* before RTS */
    ErnicPkt pkt;               /* va is relative to d->mem; rkey 0: d->key */
} Wrong;

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

#define BAD_REQUEST ERNIC_NAK_INV_REQ, 0, ERNIC_EV_QP_REQ_ERR
#define BAD_ACCESS ERNIC_NAK_REM_ACC, 0, ERNIC_EV_QP_ACCESS_ERR
#define BAD_MEMORY ERNIC_NAK_REM_OP, 0, ERNIC_EV_QP_FATAL
#define BAD_MESSAGE ERNIC_NAK_INV_REQ, ERNIC_WC_REM_INV_REQ_ERR, 0
#define BAD_INVALIDATE ERNIC_NAK_REM_ACC, ERNIC_WC_REM_INV_REQ_ERR, 0
#define LEN(n) .payload_len = (n)
#define BYTES(n) .dma_len = (n), LEN(n)
#define NONE ERNIC_OP_COUNT
#define SEND ERNIC_OP_SEND_FIRST
#define WRITE ERNIC_OP_WRITE_FIRST
/* Packet @op with these fields, inside of the message @open. */
#define ROW(name, open, op, result, ...) \
    { name, open, ERNIC_OP_##op, result, NULL, { __VA_ARGS__ } }
#define AFTER(setup, name, op, result, ...) \
    { name, NONE, ERNIC_OP_##op, result, setup, { __VA_ARGS__ } }

static const Wrong wrongs[] = {
    /* 9.7.4.1.4: First, Middle, Last, Only in turn. */
    ROW("sequence/middle", NONE, SEND_MIDDLE, BAD_REQUEST, LEN(1024)),
    ROW("sequence/last", NONE, SEND_LAST, BAD_REQUEST, LEN(9)),
    ROW("sequence/last-imm", NONE, SEND_LAST_IMM, BAD_REQUEST, LEN(9)),
    ROW("sequence/last-inv", NONE, SEND_LAST_INV, BAD_REQUEST, LEN(9)),
    ROW("sequence/write-middle", NONE, WRITE_MIDDLE, BAD_REQUEST, LEN(1024)),
    ROW("sequence/write-last", NONE, WRITE_LAST, BAD_REQUEST, LEN(9)),
    ROW("sequence/write-last-imm", NONE, WRITE_LAST_IMM, BAD_REQUEST, LEN(9)),
    ROW("sequence/first-in-send", SEND, SEND_FIRST, BAD_MESSAGE, LEN(1024)),
    ROW("sequence/only-in-send", SEND, SEND_ONLY, BAD_MESSAGE, LEN(9)),
    ROW("sequence/write-in-send", SEND, WRITE_ONLY, BAD_MESSAGE),
    ROW("sequence/write-last-in-send", SEND, WRITE_LAST, BAD_MESSAGE, LEN(9)),
    ROW("sequence/read-in-send", SEND, READ_REQUEST, BAD_MESSAGE),
    ROW("sequence/atomic-in-send", SEND, FETCH_ADD, BAD_MESSAGE),
    ROW("sequence/send-in-write", WRITE, SEND_ONLY, BAD_REQUEST, LEN(9)),
    ROW("sequence/send-last-in-write", WRITE, SEND_LAST, BAD_REQUEST, LEN(9)),
    ROW("sequence/read-in-write", WRITE, READ_REQUEST, BAD_REQUEST),
    /* 9.7.4.1.5: the queue pair does not allow the operation. */
    AFTER(no_rights, "disabled/write", WRITE_ONLY, BAD_REQUEST, BYTES(8)),
    AFTER(no_rights, "disabled/write-imm", WRITE_ONLY_IMM, BAD_REQUEST, BYTES(8)),
    AFTER(no_rights, "disabled/write-empty", WRITE_ONLY, BAD_REQUEST),
    AFTER(no_rights, "disabled/read", READ_REQUEST, BAD_REQUEST, .dma_len = 8),
    AFTER(no_rights, "disabled/compare-swap", COMPARE_SWAP, BAD_REQUEST),
    AFTER(no_rights, "disabled/fetch-add", FETCH_ADD, BAD_REQUEST),
    AFTER(no_credit, "credit/read", READ_REQUEST, BAD_REQUEST, .dma_len = 8),
    AFTER(no_credit, "credit/atomic", FETCH_ADD, BAD_REQUEST),
    /* 9.7.4.1.6: lengths. */
    ROW("length/first-short", NONE, SEND_FIRST, BAD_REQUEST, LEN(1020)),
    ROW("length/first-long", NONE, SEND_FIRST, BAD_REQUEST, LEN(1028)),
    ROW("length/only-long", NONE, SEND_ONLY, BAD_REQUEST, LEN(1025)),
    ROW("length/middle-short", SEND, SEND_MIDDLE, BAD_MESSAGE, LEN(1023)),
    ROW("length/middle-long", SEND, SEND_MIDDLE, BAD_MESSAGE, LEN(2048)),
    ROW("length/last-empty", SEND, SEND_LAST, BAD_MESSAGE),
    ROW("length/last-long", SEND, SEND_LAST, BAD_MESSAGE, LEN(1025)),
    ROW("length/write-first-short", NONE, WRITE_FIRST, BAD_REQUEST, .dma_len = 2000,
        LEN(1000)),
    ROW("length/write-more-than-said", NONE, WRITE_ONLY, BAD_REQUEST, .dma_len = 8,
        LEN(9)),
    ROW("length/write-less-than-said", NONE, WRITE_ONLY, BAD_REQUEST, .dma_len = 9,
        LEN(8)),
    ROW("length/write-last-more", WRITE, WRITE_LAST, BAD_REQUEST, LEN(1024)),
    ROW("length/write-last-less", WRITE, WRITE_LAST, BAD_REQUEST, LEN(1000)),
    ROW("length/write-middle-more", WRITE, WRITE_MIDDLE, BAD_REQUEST, LEN(1024)),
    ROW("length/write-over-2g", NONE, WRITE_FIRST, BAD_REQUEST, .dma_len = 0x80000001u,
        LEN(1024)),
    ROW("length/read-over-2g", NONE, READ_REQUEST, BAD_REQUEST, .dma_len = 0x80000001u),
    ROW("length/atomic-align", NONE, FETCH_ADD, BAD_REQUEST, .va = 4),
    ROW("length/swap-align", NONE, COMPARE_SWAP, BAD_REQUEST, .va = 1),
    /* 9.7.4.1.5: R_Key, range, rights. */
    ROW("access/write-key", NONE, WRITE_ONLY, BAD_ACCESS, .rkey = 0xbad, BYTES(8)),
    ROW("access/write-range", NONE, WRITE_FIRST, BAD_ACCESS, .va = DLG_MEM - 2047,
        .dma_len = 2048, LEN(1024)),
    ROW("access/write-before", NONE, WRITE_ONLY, BAD_ACCESS, .va = -1ull, BYTES(8)),
    AFTER(no_remote, "access/write-right", WRITE_ONLY, BAD_ACCESS, BYTES(8)),
    ROW("access/write-imm-key", NONE, WRITE_ONLY_IMM, BAD_ACCESS, .rkey = 0xbad,
        BYTES(8)),
    ROW("access/read-key", NONE, READ_REQUEST, BAD_ACCESS, .rkey = 0xbad, .dma_len = 8),
    ROW("access/read-range", NONE, READ_REQUEST, BAD_ACCESS, .dma_len = DLG_MEM + 1),
    AFTER(no_remote, "access/read-right", READ_REQUEST, BAD_ACCESS, .dma_len = 8),
    ROW("access/atomic-key", NONE, FETCH_ADD, BAD_ACCESS, .rkey = 0xbad),
    ROW("access/atomic-range", NONE, FETCH_ADD, BAD_ACCESS, .va = DLG_MEM),
    AFTER(no_remote, "access/atomic-right", COMPARE_SWAP, BAD_ACCESS),
    ROW("access/invalidate", NONE, SEND_ONLY_INV, BAD_INVALIDATE, .inv_rkey = 0xbad00),
    /* 9.9.3 class A: our own memory. */
    AFTER(no_memory, "memory/write", WRITE_ONLY, BAD_MEMORY, BYTES(8)),
    AFTER(no_memory, "memory/atomic", FETCH_ADD, BAD_MEMORY),
    /* Two at once: the fault that is checked first is reported. */
    AFTER(no_rights, "order/sequence-before-disabled", WRITE_MIDDLE, BAD_REQUEST, LEN(3)),
    AFTER(no_rights, "order/disabled-before-key", READ_REQUEST, BAD_REQUEST,
          .rkey = 0xbad, .dma_len = 8),
    ROW("order/sequence-before-key", WRITE, WRITE_ONLY, BAD_REQUEST, .rkey = 0xbad,
        BYTES(8)),
    ROW("order/length-before-key", NONE, WRITE_ONLY, BAD_REQUEST, .rkey = 0xbad,
        .dma_len = 9, LEN(8)),
};

/* The fate of the receive requests 1 and 2; those of an SRQ stay posted. */
static void end_of_wrong(Dialog *d, const Wrong *w)
{
    bool shared = d->qp.type == ERNIC_QPT_XRC_TGT;

    if (w->wc || !shared) {
        dlg_recv_wc(d, 1, w->wc ? w->wc : ERNIC_WC_WR_FLUSH_ERR);
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
    dlg_recv_many(&d, 2, DLG_SINK, 1 << 16);
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

ROW_TEST("/resp-fault", wrongs, w, test_wrong)
{
    check_wrong(w, ERNIC_QPT_RC);
}

ROW_TEST("/resp-fault/xrc", wrongs, w, test_wrong_xrc)
{
    check_wrong(w, ERNIC_QPT_XRC_TGT);
}

DIALOG_TEST("/resp-fault/recv/protection", ERNIC_QPT_RC, test_recv_prot)
{
    struct ernic_sge sge = fake_sge(d->mem, 64, d->key ^ 1);

    fake_post_recv(d->e, &d->qp, 0, &sge, 1);
    dlg_recv(d, DLG_SINK, 64);
    PEER_SEND(d, PSN, 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
    RECV_WC(d, 0, LOC_PROT_ERR);
    RECV_WC(d, 1, WR_FLUSH_ERR);
    STATE_IS(d, ERR);
}

DIALOG_TEST("/resp-fault/recv/wqe", ERNIC_QPT_RC, test_recv_wqe)
{
    struct ernic_rwqe *rwqe;

    dlg_recv(d, DLG_SINK, 16);
    rwqe = fake_ptr(&d->env, fake_rq_slot(&d->qp, 0), sizeof(*rwqe));
    rwqe->num_sge = cpu_to_le16(ERNIC_MAX_SGE + 1);
    PEER_SEND(d, PSN, 16);
    SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
    RECV_WC(d, 0, LOC_QP_OP_ERR);
    STATE_IS(d, ERR);
}

/* The service, and whether its queue pair answers by a NAK. */
static const struct {
    const char *name;
    uint8_t type;
    bool nak;
} srq_users[] = {
    { "rc", ERNIC_QPT_RC, true }, { "uc", ERNIC_QPT_UC, false },
    { "ud", ERNIC_QPT_UD, false }, { "xrc", ERNIC_QPT_XRC_TGT, true },
};

/*
 * An SRQ whose ring cannot be read. Each queue pair that needs a request of it goes to
 * Error, also after the one that noticed: an RNR NAK would make peers retry for ever.
 */
ROW_TEST("/resp-fault/srq-failed", srq_users, u, test_srq_failed)
{
    Dialog dialog, *d = &dialog;
    struct ernic_cqe cqe;

    dlg_init(d, u->type, true);
    dlg_to(d, ERNIC_QPS_RTS);
    dlg_recv_many(d, 2, DLG_SINK, 64);
    for (uint32_t round = 0; round < 2; round++) {
        fake_fail_dma(&d->env, round ? 0 : 1, false);
        PEER_SEND(d, PSN, 16);
        if (u->nak) {
            SENT_NAK(d, ERNIC_NAK_REM_OP, PSN, 0);
        }
        if (round == 0) {
            dlg_event_of(d, ERNIC_EV_SRQ_ERR, d->srq.srqn);
        }
        /* The completion of a request reports the fault, if one was taken. */
        if (round || d->srq.record) {
            dlg_event(d, ERNIC_EV_QP_FATAL);
        } else {
            g_assert_true(fake_poll_cq(d->e, &d->rcq, &cqe));
            IS(cqe.status, ERNIC_WC_LOC_QP_OP_ERR);
        }
        dlg_event(d, ERNIC_EV_LAST_WQE);
        STATE_IS(d, ERR);
        dlg_no_wc(d);
        dlg_state(d, ERNIC_QPS_RESET);
        dlg_to(d, ERNIC_QPS_RTS);
    }
    dlg_close(d);
}

/* Too many READs at once: the earlier ones are still answered. */
DIALOG_TEST_BY("/resp-fault/overflow",
               DLG_OPEN(d, ERNIC_QPT_RC, d->attr.max_dest_rd_atomic = 2), test_overflow)
{
    d->hold = true;
    PEER_READ(d, PSN, 0, 2000);
    PEER_ADD(d, PSN + 2, DLG_SINK, 1);
    PEER_READ(d, PSN + 3, 0, 8);
    PEER_READ(d, PSN + 4, 0, 8);
    dlg_sent_read(d, PSN, 1, 0, 2000);
    SENT_ATOMIC(d, PSN + 2, 2, 0);
    dlg_ends(d, ERNIC_NAK_INV_REQ, PSN + 3, 2, ERNIC_EV_QP_REQ_ERR);
}

/* A READ of 500 KiB, whose key becomes invalid while the response is being sent. */
static uint32_t read_key_lost(Dialog *d, bool open)
{
    uint32_t key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_REMOTE_READ);
    uint32_t n;

    d->env.tx_busy = true;
    PEER(d, READ_REQUEST, .psn = PSN, .va = d->mem, .rkey = key, .dma_len = 500 * 1024);
    if (open) {
        PEER(d, SEND_FIRST, .psn = PSN + 500, .payload_len = 1024);
    }
    OK(fake_destroy(d->e, ERNIC_CMD_MR_FREE, key));
    fake_tx_ready(d->e);
    n = dlg_pending(d) - 1;
    g_assert_cmpuint(n, <, 100);
    SENT_DATA(d, READ_RSP_FIRST, PSN, 0, 1024, .syndrome = DLG_ACK, .msn = 1);
    while (dlg_pending(d) > 1) {
        dlg_take(d);
    }
    return n;
}

/* The open message after the READ is not at fault: it is flushed. */
DIALOG_TEST("/resp-fault/read-key-lost-open", ERNIC_QPT_RC, test_read_key_lost_open)
{
    uint32_t n;

    dlg_recv_many(d, 2, DLG_SINK, 4096);
    n = read_key_lost(d, true);
    dlg_ends(d, ERNIC_NAK_REM_ACC, PSN + n, 1, ERNIC_EV_QP_ACCESS_ERR);
    RECV_WCS(d, 0, 1, WR_FLUSH_ERR);
}

/*
 * The address is removed while the response is being sent: the unsent rest is dropped,
 * and the peer requests it again once there is an address.
 */
DIALOG_TEST("/resp-fault/read-gid-lost", ERNIC_QPT_RC, test_read_gid_lost)
{
    dlg_recv(d, DLG_SINK, 16);
    d->env.tx_busy = true;
    PEER_READ(d, PSN, 0, 200 * 1024);
    OK(CMD(d->e, SET_GID, {}));
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    fake_tx_ready(d->e);
    g_assert_cmpuint(dlg_drain(d), <=, 64);
    fake_set_gid(d->e, 0, DLG_HOST);
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    QUIET(d);
    dlg_serve_send(d, PSN + 200, 2, 0);
    dlg_serve_read(d, PSN, 1, 0, 200 * 1024);
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
    dlg_ends(d, ERNIC_NAK_REM_OP, PSN, 1, ERNIC_EV_QP_FATAL);
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
    dlg_recv_many(d, 4, DLG_SINK, 16);
    for (uint32_t i = 0; i < 2; i++) {
        PEER_SEND(d, PSN + i, 16);
        SENT_ACK(d, PSN + i, i + 1);
    }
    PEER_SEND(d, PSN + 2, 16);
    dlg_event_of(d, ERNIC_EV_CQ_ERR, small.cqn);
    dlg_event(d, ERNIC_EV_QP_FATAL);
    STATE_IS(d, ERR);
    g_assert_true(fake_poll_cq(d->e, &small, &cqe));
    g_assert_true(fake_poll_cq(d->e, &small, &cqe));
    IS(cqe.status, ERNIC_WC_SUCCESS);
    g_assert_false(fake_poll_cq(d->e, &small, &cqe));
}
