/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model's limits of outstanding requests and of the retry buffer; ACKs that
 * are coalesced; and the work of received packets that are due at one time.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "cpu_time.h"
#include "transport/qp.h"
#include "raw_fixture.h"
#include "timed_pair.h"
#include "timing/timing.h"
#include "transport/tx.h"

/* No more requests begin than may be outstanding. */
PAIR_TEST("/timing-limits/outstanding", test_outstanding, RC, profile.outstanding = 3)
{
    for (uint32_t i = 0; i < 10; i++) {
        post(p, 8);
        fake_recv(p->peer, &p->peer_qp, p->peer_mem, 4096, p->peer_key);
    }
    until(p, 20000);
    IS(p->e->qp[p->qp.qpn].sq.blocked_on, ERNIC_BLOCKED_WINDOW);
    IS(fake_deliver(p->e, p->peer), 3);
    fake_run(p->peer);
    g_assert_cmpuint(fake_deliver(p->peer, p->e), >, 0);
    until(p, 40000);
    IS(fake_lose_trains(&p->env), 3);
}

/* WRITEs of two queue pairs share a retry buffer of three packets. */
PAIR_TEST("/timing-limits/retry-buffer", test_retry_buffer, RC, profile.retry_packets = 3)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    struct ernic_qp_attr attr;
    FakeQp second;

    fake_create_qp(p->e, &second, ERNIC_QPT_RC, p->qp.pd, p->cq.cqn, p->cq.cqn,
                   FAKE_NONE);
    fake_qp_attr(&attr, 77, 2);
    attr.timeout = 0;
    fake_qp_to(p->e, &second, ERNIC_QPS_RTS, &attr);
    for (uint32_t i = 0; i < 5; i++) {
        post_rdma(p, &p->qp, ERNIC_WR_WRITE, 8);
    }
    post_rdma(p, &second, ERNIC_WR_WRITE, 8);
    fake_send(p->e, &second, ERNIC_WR_SEND, 0, p->mem, 8, p->key);
    until(p, 20000);
    IS(p->e->timing->retry.kept.count, 3);
    IS(p->e->qp[p->qp.qpn].sq.blocked_on, ERNIC_BLOCKED_RETRY);
    IS(p->e->qp[second.qpn].sq.blocked_on, ERNIC_BLOCKED_RETRY);
    /* On another engine they wait for the same room. */
    ernic_save(p->e, state);
    ernic_reset(p->e);
    g_assert_true(ernic_load(p->e, p->env.now, state->data, state->len));
    IS(p->e->timing->retry.kept.count, 3);
    IS(p->e->timing->retry.count, 2);
    IS(fake_deliver(p->e, p->peer), 3);
    peer_sends(p);
    until(p, 40000);
    /* Two more, one of the second; and its SEND, which needs no copy. */
    IS(fake_lose_trains(&p->env), 4);
    IS(p->e->timing->retry.kept.count, 3);
    /* Packets that can no longer be acknowledged free their room. */
    fake_modify_qp(p->e, second.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL);
    IS(p->e->timing->retry.kept.count, 2);
    fake_modify_qp(p->e, p->qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_RESET, NULL);
    IS(p->e->timing->retry.kept.count, 0);
}

/* The buffer is counted before the requests of a saved state are checked. */
PAIR_TEST("/timing-limits/retry-bad-state", test_retry_bad_state, RC,
          profile.retry_packets = 3)
{
    g_autoptr(GString) why = g_string_new(NULL);
    g_autoptr(GByteArray) state = g_byte_array_new();
    ErnicSendQueue *sq;
    ErnicWqe *wqe;

    post_rdma(p, &p->qp, ERNIC_WR_WRITE, 8);
    until(p, 20000);
    sq = &p->e->qp[p->qp.qpn].sq;
    IS(sq->started - sq->wq.ci, 1);
    wqe = ernic_sq_slot(&p->e->qp[p->qp.qpn], sq->wq.ci);
    IS(wqe->npsn, 1);
    wqe->opcode = ERNIC_WR_COUNT;       /* no such request */
    ernic_save(p->e, state);
    g_assert_false(ernic_load_why(p->e, p->env.now, state->data, state->len, why));
    g_assert_nonnull(strstr(why->str, "sq-requests"));
}

/* So is the line of those that wait for room, before their numbers are. */
PAIR_TEST("/timing-limits/retry-bad-number", test_retry_bad_number, RC,
          profile.retry_packets = 3)
{
    g_autoptr(GString) why = g_string_new(NULL);
    g_autoptr(GByteArray) state = g_byte_array_new();
    ErnicQp *qp = &p->e->qp[p->qp.qpn];

    for (uint32_t i = 0; i < 5; i++) {
        post_rdma(p, &p->qp, ERNIC_WR_WRITE, 8);
    }
    until(p, 20000);
    IS(qp->sq.blocked_on, ERNIC_BLOCKED_RETRY);
    qp->qpn = 0x70000000;
    ernic_save(p->e, state);
    g_assert_false(ernic_load_why(p->e, p->env.now, state->data, state->len, why));
    g_assert_nonnull(strstr(why->str, "qp-number"));
}

/* The peer sends @sends SENDs; @by ns later @num ACKs have been sent. */
static void acks(Pair *p, uint32_t sends, uint64_t by, uint32_t num)
{
    for (uint32_t i = 0; i < sends; i++) {
        fake_recv(p->e, &p->qp, p->mem, 4096, p->key);
        fake_send(p->peer, &p->peer_qp, ERNIC_WR_SEND, 0, p->peer_mem, 8, p->peer_key);
    }
    peer_sends(p);
    until(p, p->env.now - p->start + by);
    IS(fake_lose_trains(&p->env), num);
}

/* One ACK for three requests; for fewer after the maximum delay. */
PAIR_TEST("/timing-limits/coalesce", test_coalesce, RC,
          profile.rx_packets = 16; profile.ack_coalesce = 3; profile.ack_delay = NS(5000))
{
    acks(p, 3, 2000, 1);
    acks(p, 2, 4000, 0);
    acks(p, 0, 4000, 1);
    acks(p, 4, 2000, 1);
    acks(p, 0, 10000, 1);
    IS(p->e->stats.tx_acks, 4);
}

/* Packets of WRITEs arrive until the receive buffer is full. */
static void fill_rx(Pair *p)
{
    const ErnicDelayFifo *rx = &p->e->timing->rx;
    FakeTrain *t;

    while (rx->count < rx->slots) {
        peer_rdma(p, ERNIC_WR_WRITE, 4096);
        fake_run(p->peer);
        while ((t = fake_take_train(&p->peer_env))) {
            ernic_rx(p->e, p->env.now, &t->train);
            fake_train_free(t);
        }
    }
}

/*
 * The largest receive buffer becomes due at once. Each call ends with its slices, one
 * for what arrives and one for what is sent; so a SEND leaves in the first of them.
 */
PAIR_TEST("/timing-limits/slices", test_slices, UC, profile.rx_packets = 4096)
{
    enum { STEP = 64 };
    uint64_t before, work = 0, most = 0;
    int64_t start, ns = 0;
    uint32_t calls = 0;

    fill_rx(p);
    post(p, 1024);
    p->env.now += 1000000000;
    do {
        p->env.wake = UINT64_MAX;
        before = p->e->work.done;
        start = cpu_ns();
        ernic_run(p->e, p->env.now);
        ns = MAX(ns, cpu_ns() - start);
        most = MAX(most, p->e->work.done - before);
        work += p->e->work.done - before;
        if (++calls == 1) {
            IS(p->e->timing->tx.count, 1);
        }
    } while (p->env.wake <= p->env.now);
    g_test_message("%u calls, at most %" PRIu64 " units, %.2f ms", calls, most, ns / 1e6);
    IS(p->e->timing->rx.count, 0);
    g_assert_cmpuint(work, >=, 4096 * (4096 / ERNIC_WORK_BYTES));
    g_assert_cmpuint(most, <=, 2 * ERNIC_WORK_SLICE + STEP);
}

/* A packet without ICRC in the FIFO of the model gets one where the link needs it. */
PAIR_TEST("/timing-limits/icrc-added", test_icrc_added, RC)
{
    g_autoptr(GByteArray) state = g_byte_array_new();
    const ErnicTimedPacket *packet;
    uint64_t due;

    p->e->cfg.no_icrc = true;
    post(p, 100);
    while (!p->e->timing->tx.count) {
        fake_advance(p->e, 10);
    }
    packet = ernic_delay_fifo_at(&p->e->timing->tx, 0, &due);
    IS(ldl_le_p(packet->data + packet->len - 4), 0);
    ernic_save(p->e, state);
    p->e->cfg.no_icrc = false;
    g_assert_true(ernic_load(p->e, p->env.now, state->data, state->len));
    packet = ernic_delay_fifo_at(&p->e->timing->tx, 0, &due);
    IS((uint32_t)ldl_le_p(packet->data + packet->len - 4),
       ernic_icrc(&packet->path, packet->data, packet->len - 4));
    until(p, 20000);
    IS(fake_deliver(p->e, p->peer), 1);
    IS(p->peer->stats.drop[ERNIC_DROP_BAD_ICRC], 0);
}

/* A packet that waits for room fits into the model's FIFO; more than one never waits. */
PAIR_TEST("/timing-limits/held-packet", test_held_packet, RC)
{
    static const struct {
        uint32_t packets, seg;
        bool fits;
    } rows[] = {
        { 1, ERNIC_TIMING_PACKET + 1, false }, { 1, 65000, false }, { 2, 100, false },
        { 1, ERNIC_TIMING_PACKET, true },
    };
    g_autoptr(GByteArray) good = g_byte_array_new();

    post(p, 64);
    until(p, 20000);
    ernic_save(p->e, good);
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(GByteArray) state = g_byte_array_new();
        g_autoptr(GString) why = g_string_new(NULL);
        ErnicTx *tx = p->e->tx;

        IS(tx->packets, 0);
        tx->packets = rows[i].packets;
        tx->seg = rows[i].seg;
        tx->len = rows[i].packets * rows[i].seg;
        IS(ernic_check(p->e, why), rows[i].fits);
        g_assert_cmpstr(why->str, ==, rows[i].fits ? "" : "device 0: held-train\n");
        ernic_save(p->e, state);
        IS(ernic_load(p->e, p->env.now, state->data, state->len), rows[i].fits);
        if (!rows[i].fits) {
            g_assert_true(ernic_load(p->e, p->env.now, good->data, good->len));
        }
    }
    fake_run(p->e);
    IS(p->e->tx->packets, 0);
}

/*
 * A frame, which takes no time in the model, follows a packet that waits for its time: a
 * link that reports which trains have left gets them in the order of their numbers.
 */
PAIR_TEST("/timing-limits/frame", test_frame, RC)
{
    uint32_t pd = fake_create_pd(p->e);
    uint32_t key = fake_reg_mr(p->e, pd, p->mem, 4096, ERNIC_ACCESS_LOCAL_WRITE);
    ErnicQp *qp = &p->e->qp[p->qp.qpn];
    uint64_t last = 0;
    FakeQp raw;

    raw_open(p->e, &raw, pd, p->cq.cqn);
    *(uint8_t *)fake_ptr(&p->env, p->mem, 1) = 2;       /* to one station */
    fake_advance(p->e, 100000);
    post(p, 1024);
    while (!p->e->timing->tx.count) {
        fake_advance(p->e, 10);
    }
    p->env.tx_keeps = true;
    raw_send(p->e, &raw, p->mem, 100, key);
    while (p->e->timing->tx.count) {
        g_assert_cmpuint(ernic_tx_departed(p->e), <, qp->sq.tx_serial);
        IS(p->env.trains->len, 0);
        fake_advance(p->e, 10);
    }
    fake_tx_leave(&p->env);
    fake_advance(p->e, 100000);
    g_assert_cmpuint(ernic_tx_departed(p->e), >=, qp->sq.tx_serial);
    IS(p->env.trains->len, 2);
    for (uint32_t frame = 0; frame < 2; frame++) {
        FakeTrain *t = fake_take_train(&p->env);

        IS(t->train.frame, frame);
        g_assert_cmpuint(t->train.serial, >, last);
        last = t->train.serial;
        fake_train_free(t);
    }
}
