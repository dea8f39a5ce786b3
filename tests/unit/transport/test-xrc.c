/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * XRC: requests that name the SRQ they are for, and targets that receive into the named
 * SRQ of their domain (IBTA vol. 1, annex A14). On the wire it is RC except for the
 * XRCETH: the common part is tested there.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "transport/qp.h"
#include "trace-mark.h"

#define PSN DLG_RQ_PSN
#define SQ DLG_SQ_PSN
#define INI ERNIC_QPT_XRC_INI
#define TGT ERNIC_QPT_XRC_TGT
#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC)

/* Each end has half of the service: packets for the other half are dropped. */
TEST("/xrc/wrong-end", test_wrong_end)
{
    WITH_DIALOG(d, dlg_open(d, INI)) {
        PEER(d, SEND_ONLY, .psn = PSN, .xrcsrq = 1, .ackreq = true);
        PEER(d, READ_REQUEST, .psn = PSN, .xrcsrq = 1, .dma_len = 8);
        QUIET(d);
        IS(d->e->stats.drop[ERNIC_DROP_TRANSPORT], 2);
        STATE_IS(d, RTS);
    }
    WITH_DIALOG(d, dlg_open(d, TGT)) {
        PEER_ACK(d, SQ, 1);
        PEER_NAK(d, ERNIC_NAK_INV_REQ, SQ, 1);
        IS(d->e->stats.drop[ERNIC_DROP_TRANSPORT], 2);
        STATE_IS(d, RTS);
        /* It has no queues. */
        IS(ernic_doorbell(d->e, d->env.now, 0, ERNIC_DB(ERNIC_DB_SQ, d->qp.qpn, 1)),
           ERNIC_ERR_FULL);
        dlg_event(d, ERNIC_EV_BAD_DOORBELL);
        IS(ernic_doorbell(d->e, d->env.now, 0, ERNIC_DB(ERNIC_DB_RQ, d->qp.qpn, 1)),
           ERNIC_ERR_FULL);
        dlg_event(d, ERNIC_EV_BAD_DOORBELL);
    }
}

/* WRITE, READ and atomics use no receive request, but still name an SRQ. */
DIALOG_TEST("/xrc/tgt/remote", TGT, test_remote)
{
    uint32_t psn = PSN, n;

    psn += dlg_peer_message(d, ERNIC_WR_WRITE, psn, DLG_SINK, 3000);
    SENT_ACK(d, psn - 1, 1);
    dlg_mem_is(d, DLG_SINK, d->peer, 3000);
    n = dlg_serve_read(d, psn, 2, 0, 3000);
    /* A duplicate is answered if it makes the same request of the same SRQ. */
    PEER(d, READ_REQUEST, .psn = psn, .va = d->mem, .rkey = d->key,
         .dma_len = 3000, .xrcsrq = d->srq.srqn + 1);
    QUIET(d);
    dlg_serve_read(d, psn, 2, 0, 3000);
    psn += n;
    memset(d->at + DLG_SINK, 0, 8);
    PEER_ADD(d, psn, DLG_SINK, 5);
    SENT_ATOMIC(d, psn, 3, 0);
    IS(ldq_le_p(d->at + DLG_SINK), 5);
}

/* A second SRQ of the domain, of a process, with domain and queue of its own. */
typedef struct Other {
    uint32_t uctx, pd, key;
    FakeCq cq;
    FakeSrq srq;
} Other;

static void other_init(Dialog *d, Other *o, uint32_t xrcd)
{
    o->uctx = d->env.uctx = fake_create_uctx(d->e);
    o->pd = fake_create_pd(d->e);
    fake_create_cq(d->e, &o->cq, 16, FAKE_NONE);
    fake_create_xrc_srq(d->e, &o->srq, o->pd, 8, xrcd, o->cq.cqn);
    o->key = fake_reg_mr(d->e, o->pd, d->mem, DLG_MEM, ALL);
    d->env.uctx = 0;
}

static void other_recv(Dialog *d, Other *o, uint32_t len)
{
    struct ernic_sge sge = fake_sge(d->mem + DLG_SINK, len, o->key);

    d->env.uctx = o->uctx;
    fake_post_srq(d->e, &o->srq, 0x77, &sge, 1);
    OK(fake_ring_srq(d->e, &o->srq));
    d->env.uctx = 0;
}

/* The queue pair ends with this NAK and event. */
static void ended(Dialog *d, uint8_t syndrome, uint32_t psn, uint32_t msn, uint8_t event)
{
    SENT_NAK(d, syndrome, psn, msn);
    dlg_event(d, event);
    dlg_event(d, ERNIC_EV_LAST_WQE);
}

/* Memory is that of the SRQ's protection domain: another's key does not work. */
TEST("/xrc/tgt/key-of-other", test_key_of_other)
{
    Other o;

    EACH_DIALOG(d, i, 0, 2, dlg_open(d, TGT)) {
        other_init(d, &o, d->xrcd);
        PEER(d, WRITE_ONLY, .psn = PSN, .va = d->mem, .dma_len = 8, .payload_len = 8,
             .xrcsrq = i ? o.srq.srqn : d->srq.srqn, .rkey = i ? d->key : o.key);
        ended(d, ERNIC_NAK_REM_ACC, PSN, 0, ERNIC_EV_QP_ACCESS_ERR);
    }
}

/* 0, out of range, free, without a domain, and of another domain. */
static uint32_t bad_srq(Dialog *d, uint32_t kind)
{
    FakeSrq basic;
    Other o;

    fake_create_srq(d->e, &basic, d->pd, 8, 0);
    other_init(d, &o, fake_create_pd(d->e));
    return (const uint32_t[]) {
        0, 0xffffff, o.srq.srqn + 1, basic.srqn, o.srq.srqn }[kind];
}

TEST("/xrc/srq/bad", test_bad_srq)
{
    static const ErnicOp ops[] = {
        ERNIC_OP_SEND_ONLY, ERNIC_OP_SEND_FIRST, ERNIC_OP_WRITE_ONLY,
        ERNIC_OP_WRITE_ONLY_IMM, ERNIC_OP_READ_REQUEST, ERNIC_OP_FETCH_ADD,
    };

    for (uint32_t kind = 0; kind < 5; kind++) {
        EACH_DIALOG(d, i, 0, ARRAY_SIZE(ops), dlg_open(d, TGT)) {
            ErnicPkt pkt = { .psn = PSN, .va = d->mem, .rkey = d->key, .ackreq = true };

            dlg_recv(d, DLG_SINK, 4096);
            d->srq.srqn = bad_srq(d, kind);
            pkt.payload_len = ops[i] == ERNIC_OP_SEND_FIRST ? 1024 : 0;
            ernic_trace_reset();
            dlg_peer(d, ops[i], &pkt);
            IS(ernic_trace_count("ernic_xrc_srq"), 1);
            ended(d, ERNIC_NAK_INV_REQ, PSN, 0, ERNIC_EV_QP_REQ_ERR);
            IS(d->e->stats.fault[ERNIC_FAULT_XRC_SRQ], 1);
            STATE_IS(d, ERR);
        }
    }
}

/* A message is for one SRQ from its first packet to its last. */
DIALOG_TEST("/xrc/srq/changes", TGT, test_srq_changes)
{
    Other o;

    dlg_recv(d, DLG_SINK, 4096);
    other_init(d, &o, d->xrcd);
    other_recv(d, &o, 4096);
    PEER(d, SEND_FIRST, .psn = PSN, .payload_len = 1024);
    PEER(d, SEND_LAST, .psn = PSN + 1, .xrcsrq = o.srq.srqn, .payload_len = 8);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN + 1, 0);
    RECV_WC(d, 0, REM_INV_REQ_ERR);
    dlg_event(d, ERNIC_EV_LAST_WQE);
    STATE_IS(d, ERR);
}

/*
 * A message took its request before it met an absent page: the request belongs to that
 * SRQ, even when a peer sends the message again for another one.
 */
DIALOG_TEST("/xrc/srq/changes-page", TGT, test_srq_changes_page)
{
    struct ernic_sge sge;
    struct ernic_cqe cqe;
    Other o;

    other_init(d, &o, d->xrcd);
    other_recv(d, &o, 64);
    sge = fake_sge(d->mem, 64, fake_reg_demand(d->e, d->pd, d->mem, DLG_MEM, ALL));
    fake_post_srq(d->e, &d->srq, 0, &sge, 1);
    OK(fake_ring_srq(d->e, &d->srq));
    PEER(d, SEND_ONLY, .psn = PSN, .payload_len = 8);
    SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, PSN, 0);
    dlg_event(d, ERNIC_EV_PAGE_FAULT);
    PEER(d, SEND_ONLY, .psn = PSN, .payload_len = 8, .xrcsrq = o.srq.srqn);
    SENT_NAK(d, ERNIC_NAK_INV_REQ, PSN, 0);
    g_assert_false(fake_poll_cq(d->e, &o.cq, &cqe));
    RECV_WC(d, 0, REM_INV_REQ_ERR);
    dlg_event(d, ERNIC_EV_LAST_WQE);
    STATE_IS(d, ERR);
}

static void destroy_srq(Dialog *d)
{
    OK(fake_destroy(d->e, ERNIC_CMD_SRQ_DESTROY, d->srq.srqn));
}

/* Half a message has arrived: its receive request is destroyed with the SRQ. */
TEST("/xrc/srq/goes", test_srq_goes)
{
    static const ErnicOp first[] = { ERNIC_OP_SEND_FIRST, ERNIC_OP_WRITE_FIRST };
    static const ErnicOp last[] = { ERNIC_OP_SEND_LAST, ERNIC_OP_WRITE_LAST };

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(first), dlg_open(d, TGT)) {
        dlg_recv(d, DLG_SINK, 4096);
        dlg_peer(d, first[i], &(ErnicPkt) {
            .psn = PSN, .va = d->mem, .rkey = d->key, .dma_len = 1032,
            .payload_len = 1024 });
        destroy_srq(d);
        dlg_peer(d, last[i], &(ErnicPkt) { .psn = PSN + 1, .payload_len = 8 });
        ended(d, ERNIC_NAK_INV_REQ, PSN + 1, 0, ERNIC_EV_QP_REQ_ERR);
    }
}

/* A READ with an unsent response for the destroyed SRQ gets a NAK. */
DIALOG_TEST("/xrc/srq/goes-read", TGT, test_srq_goes_read)
{
    d->hold = true;
    PEER_READ(d, PSN, 0, 64);
    destroy_srq(d);
    ended(d, ERNIC_NAK_REM_ACC, PSN, 1, ERNIC_EV_QP_ACCESS_ERR);
}

/* The answer of the device to a command for an SRQ with these objects. */
#define SRQ_STATUS(d, PD, XRCD, CQ, ...)                                    \
    CMD((d)->e, SRQ_CREATE, cmd.srq.buf.addr = cpu_to_le64((d)->mem);       \
        cmd.srq.depth = cpu_to_le32(4); cmd.srq.stride = cpu_to_le16(1);    \
        cmd.srq.pd = cpu_to_le32(PD); cmd.srq.xrcd = cpu_to_le32(XRCD);     \
        cmd.srq.cq = cpu_to_le32(CQ); __VA_ARGS__)

DIALOG_TEST_BY("/xrc/srq/create", dlg_init(d, TGT, false), test_srq_create)
{
    Other o;

    IS(SRQ_STATUS(d, d->pd, 0, 0, cmd.srq.reserved[0] = 1), ERNIC_ERR_RESERVED);
    IS(SRQ_STATUS(d, d->pd, 0, d->rcq.cqn), ERNIC_ERR_RESERVED);
    IS(SRQ_STATUS(d, d->pd, d->xrcd, 0), ERNIC_ERR_HANDLE);
    IS(SRQ_STATUS(d, d->pd, d->xrcd, 60), ERNIC_ERR_HANDLE);
    IS(SRQ_STATUS(d, d->pd, 60, d->rcq.cqn), ERNIC_ERR_HANDLE);
    other_init(d, &o, d->xrcd);
    /* The domain is context 0's, all other objects are its own. */
    d->env.uctx = o.uctx;
    IS(SRQ_STATUS(d, o.pd, o.pd, o.cq.cqn), ERNIC_ERR_HANDLE);
    IS(SRQ_STATUS(d, o.pd, d->xrcd, d->rcq.cqn), ERNIC_ERR_HANDLE);
    IS(SRQ_STATUS(d, d->pd, d->xrcd, o.cq.cqn), ERNIC_ERR_HANDLE);
    OK(SRQ_STATUS(d, o.pd, d->xrcd, o.cq.cqn));
    d->env.uctx = 0;
}

/* Referenced objects cannot be destroyed. */
DIALOG_TEST_BY("/xrc/srq/busy", dlg_init(d, TGT, false), test_busy)
{
    IS(fake_destroy(d->e, ERNIC_CMD_CQ_DESTROY, d->rcq.cqn), ERNIC_ERR_BUSY);
    IS(fake_destroy(d->e, ERNIC_CMD_PD_FREE, d->xrcd), ERNIC_ERR_BUSY);
    destroy_srq(d);
    IS(fake_destroy(d->e, ERNIC_CMD_PD_FREE, d->xrcd), ERNIC_ERR_BUSY);
    OK(fake_destroy(d->e, ERNIC_CMD_QP_DESTROY, d->qp.qpn));
    OK(fake_destroy(d->e, ERNIC_CMD_PD_FREE, d->xrcd));
    OK(fake_destroy(d->e, ERNIC_CMD_CQ_DESTROY, d->rcq.cqn));
    fake_create_cq(d->e, &d->rcq, 16, FAKE_NONE);
}

static uint8_t qp_status(Dialog *d, const struct ernic_qp_init *init)
{
    return fake_pass(d->e, ERNIC_CMD_QP_CREATE, 0, init, sizeof(*init), NULL);
}

#define QP_STATUS(d, GOOD, FIELD, VALUE)                                    \
    ({ struct ernic_qp_init i_ = GOOD; i_.FIELD = (VALUE); qp_status(d, &i_); })

DIALOG_TEST_BY("/xrc/tgt/create", dlg_init(d, TGT, false), test_tgt_create)
{
    struct ernic_qp_init good = { .srq = cpu_to_le32(FAKE_NONE), .type = TGT };

    good.pd = cpu_to_le32(d->xrcd);
    OK(qp_status(d, &good));
    IS(QP_STATUS(d, good, pd, 60), ERNIC_ERR_HANDLE);
    IS(QP_STATUS(d, good, send_cq, d->scq.cqn), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, srq, d->srq.srqn), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, srq, 0), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, sq_depth, 1), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, flags, 1), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, sq_buf.addr, 1), ERNIC_ERR_RESERVED);
    d->env.uctx = fake_create_uctx(d->e);
    IS(qp_status(d, &good), ERNIC_ERR_PERM);
    d->env.uctx = 0;
}

DIALOG_TEST_BY("/xrc/ini/create", dlg_init(d, TGT, false), test_ini_create)
{
    struct ernic_qp_init good = {
        .srq = cpu_to_le32(FAKE_NONE), .type = INI,
        .sq_depth = cpu_to_le32(4), .sq_stride = 2,
    };

    good.pd = cpu_to_le32(d->pd);
    good.send_cq = cpu_to_le32(d->scq.cqn);
    good.sq_buf.addr = cpu_to_le64(d->mem);
    OK(qp_status(d, &good));
    IS(QP_STATUS(d, good, recv_cq, d->rcq.cqn), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, srq, d->srq.srqn), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, rq_buf.addr, 4096), ERNIC_ERR_RESERVED);
    IS(QP_STATUS(d, good, rq_depth, 4), ERNIC_ERR_PARAM);
    IS(QP_STATUS(d, good, sq_depth, 0), ERNIC_ERR_PARAM);
    IS(QP_STATUS(d, good, send_cq, 60), ERNIC_ERR_HANDLE);
    IS(QP_STATUS(d, good, pd, 60), ERNIC_ERR_HANDLE);
    /* Nor can other services use an XRC SRQ. */
    good.type = ERNIC_QPT_RC;
    good.recv_cq = good.send_cq;
    good.srq = cpu_to_le32(d->srq.srqn);
    IS(qp_status(d, &good), ERNIC_ERR_PARAM);
}

int main(int argc, char **argv)
{
    ernic_trace_set_mode(ERNIC_TRACE_RING);
    return unit_run(argc, argv);
}
