/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's entry points: when it asks for a wake-up, link down and up, and frames
 * without an ICRC.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "transport/tx.h"
#include "wire/ib_tables.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN
#define NEVER UINT64_MAX

static void run(Dialog *d)
{
    ernic_run(d->e, d->env.now);
}

/* While the link is busy, only deadlines cause wake-ups. */
DIALOG_TEST("/engine/wake/busy", ERNIC_QPT_UC, test_wake_busy)
{
    d->env.tx_busy = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    run(d);
    IS(d->env.wake, NEVER);
    /* Doorbells are served all the same: not all work needs the link. */
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    IS(d->env.wake, d->env.now);
    run(d);
    IS(d->env.wake, NEVER);
    fake_tx_ready(d->e);
    IS(d->env.trains->len, 1);
    IS(d->env.wake, d->env.now);
    SEND_WCS(d, 0, 1, SUCCESS);
    dlg_take(d);
    dlg_take(d);
}

/* However much is posted, one call sends a bounded number of trains. */
DIALOG_TEST_BY("/engine/run/budget", dlg_init(d, ERNIC_QPT_UC, false), test_budget)
{
    uint32_t runs = 0, sent = 0;
    FakeQp qp[40];

    for (uint32_t i = 0; i < ARRAY_SIZE(qp); i++) {
        dlg_create_qp(d, &qp[i], ERNIC_QPT_UC);
        fake_qp_to(d->e, &qp[i], ERNIC_QPS_RTS, &d->attr);
        d->qp = qp[i];
        dlg_post_flags(d, ERNIC_WR_WRITE, 0, 0, 256 * 1024);
    }
    do {
        run(d);
        g_assert_cmpuint(d->env.trains->len - sent, <=, 128);
        sent = d->env.trains->len;
        runs++;
        g_assert_cmpuint(runs, <, 1000);
    } while (d->env.wake <= d->env.now);
    g_assert_cmpuint(runs, >, 2);
    IS(dlg_pending(d), 256 * ARRAY_SIZE(qp));
    dlg_drain(d);
}

/* Every queue pair has one turn before any has a second one. */
DIALOG_TEST_BY("/engine/run/fair", dlg_init(d, ERNIC_QPT_RC, false), test_fair)
{
    uint32_t first;
    FakeQp qp[4];

    for (uint32_t i = 0; i < ARRAY_SIZE(qp); i++) {
        dlg_create_qp(d, &qp[i], ERNIC_QPT_RC);
        d->attr.dest_qpn = cpu_to_le32(0x100 + i);
        fake_qp_to(d->e, &qp[i], ERNIC_QPS_RTS, &d->attr);
        d->qp = qp[i];
        dlg_post(d, ERNIC_WR_WRITE, 0, 200 * 1024);
    }
    first = dlg_take(d).dest_qp;
    IS(first, 0x100);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t n = 0;

        /* A queue pair's turn is at most a train of 64 packets. */
        while (n < 64 && dlg_take(d).dest_qp == 0x100 + i) {
            n++;
        }
        g_assert_cmpuint(n, <=, 64);
        g_assert_cmpuint(n, >=, 32);
    }
    dlg_drain(d);
}

/* A port that is down neither sends nor receives, and reports it. */
DIALOG_TEST("/engine/link/down-up", ERNIC_QPT_RC, test_link)
{
    dlg_recv(d, DLG_SINK, 16);
    ernic_set_link(d->e, d->env.now, false);
    dlg_event_of(d, ERNIC_EV_PORT_ERR, 1);
    ernic_set_link(d->e, d->env.now, false);
    dlg_no_event(d);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    QUIET(d);
    PEER(d, SEND_ONLY, .psn = RQ, .ackreq = true);
    dlg_no_wc(d);
    ernic_set_link(d->e, d->env.now, true);
    dlg_event_of(d, ERNIC_EV_PORT_ACTIVE, 1);
    /* The loss is detected by the timeout. */
    dlg_wait(d, ernic_ack_timeout_ns(14));
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ, 0, 16);
    ACKED(d, SQ, 0, 1);
    PEER(d, SEND_ONLY, .psn = RQ, .ackreq = true);
    SENT_ACK(d, RQ, 1);
    RECV_WC(d, 0, SUCCESS);
}

/* The queue pair and @other, in RTS, send to each other. */
static void open_loop(Dialog *d, FakeQp *other)
{
    dlg_create_qp(d, other, ERNIC_QPT_RC);
    fake_connect(d->e, &d->qp, other->qpn, DLG_HOST);
    fake_connect(d->e, other, d->qp.qpn, DLG_HOST);
}

/* A request for our own memory at @off. */
static struct ernic_wqe own_wqe(Dialog *d, uint8_t opcode, uint64_t off)
{
    struct ernic_wqe wqe = dlg_wqe(d, opcode, ERNIC_WR_SIGNALED);

    wqe.rdma.raddr = cpu_to_le64(d->mem + off);
    wqe.rdma.rkey = cpu_to_le32(d->key);
    return wqe;
}

/* A connection to our own address: no packet leaves, all arrive. */
DIALOG_TEST_BY("/engine/loopback/rc", dlg_init(d, ERNIC_QPT_RC, false), test_loop_rc)
{
    struct ernic_sge sge = fake_sge(d->mem + DLG_SINK, 1 << 19, d->key);
    struct ernic_cqe cqe;
    FakeQp other;

    open_loop(d, &other);
    fake_post_recv(d->e, &other, 0x77, &sge, 1);
    OK(fake_ring_rq(d->e, &other));
    dlg_post(d, ERNIC_WR_SEND, 0, 1 << 19);
    SEND_WC(d, 0, SUCCESS);
    g_assert_true(fake_poll_cq(d->e, &d->rcq, &cqe));
    IS(cqe.qpn, other.qpn);
    IS(cqe.byte_len, 1 << 19);
    dlg_mem_is(d, DLG_SINK, d->at, 1 << 19);
}

/* No packet was lost, so none was sent again. */
static void assert_no_loss(const Dialog *d)
{
    IS(d->e->stats.loopback_drops, 0);
    IS(d->e->stats.retransmits, 0);
    IS(d->e->stats.ack_timeouts, 0);
    IS(d->e->stats.tx_naks, 0);
}

/* A response larger than the loopback store. */
DIALOG_TEST_BY("/engine/loopback/read", dlg_init(d, ERNIC_QPT_RC, false), test_loop_read)
{
    struct ernic_wqe wqe = own_wqe(d, ERNIC_WR_READ, 0);
    FakeQp other;

    open_loop(d, &other);
    dlg_post_wqe(d, &wqe, DLG_SINK, 1 << 19);
    SEND_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK, d->at, 1 << 19);
    assert_no_loss(d);
}

/* Queue pairs which together send more than the loopback store holds. */
DIALOG_TEST_BY("/engine/loopback/many", dlg_init(d, ERNIC_QPT_RC, false), test_loop_many)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;
    FakeQp qp[20];

    for (uint32_t i = 0; i < ARRAY_SIZE(qp); i++) {
        dlg_create_qp(d, &qp[i], ERNIC_QPT_RC);
        fake_connect(d->e, &qp[i], qp[i].qpn, DLG_HOST);
        d->qp = qp[i];
        wqe = own_wqe(d, ERNIC_WR_WRITE, DLG_SINK + i * 50000);
        dlg_post_wqe(d, &wqe, i, 50000);
    }
    fake_run(d->e);
    for (uint32_t i = 0; i < ARRAY_SIZE(qp); i++) {
        g_assert_true(fake_poll_cq(d->e, &d->scq, &cqe));
        IS(cqe.status, ERNIC_WC_SUCCESS);
        dlg_mem_is(d, DLG_SINK + i * 50000, d->at + i, 50000);
    }
    assert_no_loss(d);
}

static void expect_icrc(const ErnicTrain *t, bool has)
{
    IS((uint32_t)ldl_le_p(t->data + t->len - 4),
       has ? ernic_icrc(&t->path, t->data, t->len - 4) : 0);
}

/*
 * Packets that waited in a device without ICRC, on the link and in the loopback, leave
 * another device with one if its link needs it. One that arrived wrong stays so.
 */
TEST("/engine/icrc-added", test_icrc_added)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    uint32_t pos;
    ErnicTrain loop;
    FakeTrain *sent;
    uint8_t *end;

    EACH_DIALOG(d, icrc, 0, 2, dlg_open(d, ERNIC_QPT_UC)) {
        d->e->cfg.no_icrc = true;
        d->env.tx_busy = true;
        dlg_post(d, ERNIC_WR_SEND, 0, 16);
        run(d);
        IS(d->e->tx->packets, 1);
        loop = (ErnicTrain) {
            .path = d->e->tx->path, .data = d->e->tx->buf, .len = d->e->tx->len,
            .seg = d->e->tx->seg,
        };
        expect_icrc(&loop, false);
        g_assert_true(ernic_tx_loop_add(d->e, &loop));
        end = d->e->tx->buf + d->e->tx->len - 4;
        stl_le_p(end, 0x12345678);
        g_assert_true(ernic_tx_loop_add(d->e, &loop));
        stl_le_p(end, 0);
        g_byte_array_set_size(state, 0);
        ernic_save(d->e, state);
        d->e->cfg.no_icrc = !icrc;
        g_assert_true(ernic_load(d->e, d->env.now, state->data, state->len));
        pos = d->e->tx->loop_pos;
        g_assert_true(ernic_tx_loop_next(d->e, &pos, &loop));
        expect_icrc(&loop, icrc);
        g_assert_true(ernic_tx_loop_next(d->e, &pos, &loop));
        IS(ldl_le_p(loop.data + loop.len - 4), 0x12345678);
        fake_tx_ready(d->e);
        run(d);
        sent = fake_take_train(&d->env);
        expect_icrc(&sent->train, icrc);
        fake_train_free(sent);
        SEND_WC(d, 0, SUCCESS);
    }
}

/* A link that vouches for its packets needs no ICRC: it is 0, and any is accepted. */
DIALOG_TEST("/engine/link/no-icrc", ERNIC_QPT_UC, test_no_icrc)
{
    uint8_t bytes[16 + 4] = { };
    FakeTrain *sent;

    d->e->cfg.no_icrc = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    run(d);
    sent = fake_take_train(&d->env);
    expect_icrc(&sent->train, false);
    fake_train_free(sent);
    SEND_WC(d, 0, SUCCESS);
    dlg_recv(d, DLG_SINK, 4);
    dlg_bth(d, bytes, ERNIC_BTH_UC | ERNIC_OP_SEND_ONLY, RQ);
    dlg_inject_raw(d, bytes, sizeof(bytes), false);
    RECV_WC(d, 0, SUCCESS);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 0);
    d->e->cfg.no_icrc = false;
    dlg_bth(d, bytes, ERNIC_BTH_UC | ERNIC_OP_SEND_ONLY, RQ + 1);
    dlg_inject_raw(d, bytes, sizeof(bytes), false);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 1);
}
