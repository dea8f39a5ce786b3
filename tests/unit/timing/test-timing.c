/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model of an engine: when packets leave, completions appear and interrupts
 * arrive, compared with times calculated by hand.
 */
#include "qemu/osdep.h"
#include "timed_pair.h"
#include "timing/timing.h"
#include "transport/qp.h"

/* The next packet left the timed engine @ns after the start. */
static void left_at(Pair *p, uint64_t ns)
{
    FakeTrain *t = fake_take_train(&p->env);

    g_assert_nonnull(t);
    IS(t->now - p->start, ns);
    IS(t->train.len, t->train.seg);
    fake_train_free(t);
}

/*
 * A SEND of 1024 bytes, a frame of 1082. The store is there at 102; from then:
 *
 *   wqe          fetched: 1000 + 10, 2 of work        1010 to 1012
 *   tx-context   20, 1 of work                        1030 to 1032
 *   dma-read     2 requests, each 17 cycles: 34, 300  1330 to 1398
 *   build        40; 2 + 3 + 17 = 22, waits for DMA   1370 to 1438
 *   mac          7, 1082 + 24 = 1106                  1377 to 2483
 *   flight       50                                           2533
 *
 * The second finds its work request fetched, and waits for the wire alone.
 */
PAIR_TEST("/timing/send", test_send, RC)
{
    const ErnicStageState *s;

    post(p, 1024);
    post(p, 1024);
    until(p, 2634);
    g_assert_null(fake_take_train(&p->env));
    until(p, 10000);
    left_at(p, 102 + 2533);
    left_at(p, 102 + 2533 + 1106);
    s = p->e->timing->server;
    IS(s[ERNIC_STAGE_WQE].items, 2);
    IS(s[ERNIC_STAGE_DMA_READ].items, 4);
    IS(s[ERNIC_STAGE_DMA_READ].busy, NS(4 * 34));
    IS(s[ERNIC_STAGE_BUILD].busy, NS(44));
    /* 1398 - 1352, and as much for the second. */
    IS(s[ERNIC_STAGE_BUILD].stalled, NS(46 + 46));
    IS(s[ERNIC_STAGE_MAC].busy, NS(2212));
}

/*
 * A SEND of 100 bytes arrives, a frame of 158:
 *
 *   receive      60; 4 + 9 + 5 = 18                     60 to 78
 *   rx-context   15, 1 of work, waits for the tail      75 to 93
 *   dma-write    80; 8 cycles: 16                      155 to 173
 *   cqe          90; 5 cycles: 10                              273
 *   interrupt    200; 1 cycle: 2                               475
 *
 * and its ACK, a frame of 62, is built at 173: tx-context 20, build 40, mac 7 and
 * 86 of work, flight 50; the work before the mac's is done meanwhile.
 */
PAIR_TEST("/timing/receive", test_receive, RC)
{
    struct ernic_cqe cqe;

    fake_recv(p->e, &p->qp, p->mem, 4096, p->key);
    fake_arm_cq(p->e, &p->cq, false);
    until(p, 1000);
    p->start += 1000;
    fake_send(p->peer, &p->peer_qp, ERNIC_WR_SEND, 0, p->peer_mem, 100, p->peer_key);
    fake_run(p->peer);
    IS(fake_deliver(p->peer, p->e), 1);
    until(p, 272);
    g_assert_false(fake_poll_cq(p->e, &p->cq, &cqe));
    until(p, 273);
    g_assert_true(fake_poll_cq(p->e, &p->cq, &cqe));
    IS(cqe.timestamp, p->env.now);
    IS(p->env.irqs->len, 0);
    until(p, 474);
    IS(p->env.irqs->len, 0);
    until(p, 475);
    IS(p->env.irqs->len, 1);
    IS(g_array_index(p->env.irqs, uint16_t, 0), 3);
    left_at(p, 173 + 20 + 40 + 7 + 86 + 50);
}

/*
 * READs of 8 bytes: a response cannot begin before the data of the previous one has
 * been read, so that they leave a memory latency apart, and not a frame. Each takes 300
 * and 2 cycles of 2 in dma-read, after read-response's 5.
 */
TEST("/timing/read-gap", test_read_gap)
{
    ErnicProfile many = hand;
    uint64_t first, gap[2];
    Pair p;

    for (uint32_t overlap = 0; overlap < 2; overlap++) {
        many.read_overlap = overlap ? 8 : 1;
        open_pair(&p, &many, ERNIC_QPT_RC);
        for (uint32_t i = 0; i < 3; i++) {
            peer_rdma(&p, ERNIC_WR_READ, 8);
        }
        peer_sends(&p);
        until(&p, 20000);
        first = next_left(&p);
        gap[overlap] = next_left(&p) - first;
        close_pair(&p);
    }
    IS(gap[0], 5 + 300 + 4);
    IS(gap[1], 94);           /* a frame of 70, and 24 */
}

#define LONG 32768
#define LONG_PACKETS (LONG / 4096)

/* Another queue pair at either end, connected like the first. */
static void open_second(Pair *p, FakeQp *qp, FakeQp *peer_qp)
{
    fake_create_qp(p->e, qp, ERNIC_QPT_RC, p->qp.pd, p->cq.cqn, p->cq.cqn, FAKE_NONE);
    fake_create_qp(p->peer, peer_qp, ERNIC_QPT_RC, p->peer_qp.pd,
                   p->peer_cq.cqn, p->peer_cq.cqn, FAKE_NONE);
    fake_connect_mtu(p->e, qp, peer_qp->qpn, 2, 5);
    fake_connect_mtu(p->peer, peer_qp, qp->qpn, 1, 5);
    fake_advance(p->e, 1000000);
    p->start = p->peer_env.now = p->env.now;
}

/* Two READs of each of two queue pairs arrive at once. */
static void open_long_reads(Pair *p, const ErnicProfile *profile, FakeQp *peer)
{
    FakeQp qp;

    open_pair(p, profile, ERNIC_QPT_RC);
    open_second(p, &qp, peer);
    for (uint32_t i = 0; i < 4; i++) {
        fake_rdma(p->peer, i % 2 ? peer : &p->peer_qp, ERNIC_WR_READ, 0,
                  p->peer_mem, LONG, p->peer_key, p->mem, p->key);
        fake_run(p->peer);
    }
    fake_deliver(p->peer, p->e);
}

/* The peer's queue pair that it is for; BTH, bytes 5 to 7. */
static uint32_t takes(Pair *p, uint64_t *at)
{
    FakeTrain *t = fake_take_train(&p->env);
    uint32_t qpn;

    g_assert_nonnull(t);
    qpn = ldl_be_p(t->train.data + 4) & 0xffffff;
    *at = t->now;
    fake_train_free(t);
    return qpn;
}

/*
 * Responses longer than the part that may be built ahead: at an overlap of 1 they are
 * sent one after the other, across queue pairs, each queue pair in its turn. At 2 their
 * packets alternate.
 */
TEST("/timing/read-places", test_read_places)
{
    uint32_t qpn, last = 0, changes;
    ErnicProfile many = hand;
    uint64_t at;
    FakeQp peer;
    Pair p;

    many.dma_requests = 1;
    for (uint32_t overlap = 1; overlap <= 2; overlap++) {
        many.read_overlap = overlap;
        open_long_reads(&p, &many, &peer);
        until(&p, 2000);
        IS(p.e->timing->places, overlap);
        until(&p, 400000);
        changes = 0;
        for (uint32_t i = 0; i < 4 * LONG_PACKETS; i++) {
            qpn = takes(&p, &at);
            g_assert_true(qpn == p.peer_qp.qpn || qpn == peer.qpn);
            changes += i && qpn != last;
            last = qpn;
        }
        g_assert_null(fake_take_train(&p.env));
        if (overlap == 1) {
            IS(changes, 3);
        } else {
            g_assert_cmpuint(changes, >, 8);
        }
        IS(p.e->timing->rsp.peak, overlap);
        IS(p.e->timing->rsp.held, 0);
        IS(p.e->timing->places, 0);
        close_pair(&p);
    }
}

/*
 * The queue pair with the slot goes away in mid-response: the other one gets it at
 * once.
 */
TEST("/timing/read-place-left", test_read_place_left)
{
    uint32_t i, n;
    uint64_t at;
    FakeQp peer;
    Pair p;

    for (uint32_t how = 0; how < 3; how++) {
        open_long_reads(&p, &hand, &peer);
        until(&p, 2000);
        g_assert_cmpuint(p.e->places.head, !=, 0);
        switch (how) {
        case 0:
            OK(fake_destroy(p.e, ERNIC_CMD_QP_DESTROY, p.qp.qpn));
            break;
        case 1:
            OK(fake_modify_qp(p.e, p.qp.qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
            break;
        default:
            p.e->qp[p.qp.qpn].cc = (ErnicCc) {
                .limited = true, .rate = 1250000, .target = 1250000,
                .alpha = 1 << 16, .alpha_at = p.env.now, .rate_at = p.env.now,
                .cut_at = p.env.now, .send_at = p.env.now + 10000000,
            };
            break;
        }
        until(&p, 400000);
        for (i = n = 0; p.env.trains->len; i++) {
            n += takes(&p, &at) == peer.qpn;
        }
        IS(n, 2 * LONG_PACKETS);
        g_assert_cmpuint(i - n, <, LONG_PACKETS);
        close_pair(&p);
    }
}

/*
 * Three requests, a doorbell for each: each is fetched alone, one after the other. With
 * one doorbell for all, they are fetched together.
 */
PAIR_TEST("/timing/fetch", test_fetch, UC)
{
    uint64_t left[3];

    for (uint32_t i = 0; i < 3; i++) {
        post(p, 8);
    }
    until(p, 20000);
    for (uint32_t i = 0; i < 3; i++) {
        left[i] = next_left(p);
    }
    /* The second's doorbell arrives 2 later, when its fetch waits. */
    IS(left[1] - left[0], 1000 + 10 + 2);
    IS(left[2] - left[1], 1000 + 10 + 2);
}

/* WRITEs to two regions in turn: a cache of one misses always, one of two hits. */
TEST("/timing/cache", test_cache)
{
    ErnicProfile small = hand;
    uint32_t key[2];
    Pair p;

    small.rx_packets = 16;
    for (uint32_t entries = 1; entries <= 2; entries++) {
        small.context_entries = small.key_entries = entries;
        open_pair(&p, &small, ERNIC_QPT_RC);
        key[0] = p.key;
        key[1] = fake_reg_mr(p.e, p.qp.pd, p.mem,
                             4096, ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE);
        for (uint32_t i = 0; i < 10; i++) {
            fake_rdma(p.peer, &p.peer_qp, ERNIC_WR_WRITE, 0, p.peer_mem, 8,
                      p.peer_key, p.mem, key[i % 2]);
        }
        peer_sends(&p);
        until(&p, 20000);
        IS(p.e->timing->key.misses, entries == 1 ? 10 : 2);
        IS(p.e->timing->key.hits, entries == 1 ? 0 : 8);
        /* One queue pair: its context misses once, and hits from then on. */
        IS(p.e->timing->context.misses, 1);
        g_assert_cmpuint(p.e->timing->context.hits, >=, 10);
        close_pair(&p);
    }
}

/* Full delay FIFOs push back, and only drop packets from the wire. */
PAIR_TEST("/timing/full", test_full, RC)
{
    FakeTrain *t;

    for (uint32_t i = 0; i < 20; i++) {
        post(p, 8);
    }
    p->env.tx_busy = true;
    until(p, 20000);
    IS(p->e->timing->tx.count, 4);
    g_assert_true(p->e->timing->link_busy);
    fake_tx_ready(p->e);
    until(p, 40000);
    IS(fake_lose_trains(&p->env), 20);
    for (uint32_t i = 0; i < 6; i++) {
        peer_rdma(p, ERNIC_WR_WRITE, 8);
    }
    fake_run(p->peer);
    while ((t = fake_take_train(&p->peer_env))) {
        ernic_rx(p->e, p->env.now, &t->train);
        fake_train_free(t);
    }
    IS(p->e->timing->rx_overflows, 2);
    IS(ernic_rx_room(p->e), 0);
    until(p, 50000);
    IS(ernic_rx_room(p->e), 4);
    IS(ernic_rx_room(p->peer), UINT32_MAX);
}

/* Doorbells: more than the delay FIFO holds, and a command after them. */
PAIR_TEST("/timing/doorbells", test_doorbells, RC)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };

    for (uint32_t i = 0; i < ERNIC_TIMING_DOORBELLS + 10; i++) {
        fake_ring_cq(p->e, &p->cq);
    }
    IS(p->e->timing->doorbells.count, ERNIC_TIMING_DOORBELLS);
    post(p, 8);
    IS(p->e->qp[p->qp.qpn].sq.wq.pi, 0);
    OK(fake_cmd(p->e, &nop, NULL));
    IS(p->e->timing->doorbells.count, 0);
    IS(p->e->qp[p->qp.qpn].sq.wq.pi, 1);
}

/*
 * A command that waits for the model. The engine has to be run for it, also if something
 * else happens when it is due; a run is not repeated, as the command comes before it.
 */
PAIR_TEST("/timing/command", test_command, RC,
          profile.stage[ERNIC_STAGE_COMMAND].latency = NS(1000))
{
    uint64_t due = ernic_cmd_due(p->e, p->env.now);
    uint8_t frame[60] = { };

    g_assert_cmpuint(due, >, p->env.now);
    IS(p->env.wake, due);
    for (uint32_t late = 0; late < 2; late++) {
        p->env.now = due + late;
        ernic_rx_bad_frame(p->e, p->env.now, frame, sizeof(frame));
        IS(p->env.wake, due);
        ernic_set_link(p->e, p->env.now, true);
        IS(p->env.wake, due);
    }
    fake_run(p->e);
    IS(p->env.wake, ERNIC_NEVER);
}

/* Times depend neither on when the device was made nor on its age. */
TEST("/timing/age", test_age)
{
    static const uint64_t ages[] = { 1, 1ull << 32, 1ull << 40, 1ull << 62 };
    Pair p;

    for (uint32_t i = 0; i < ARRAY_SIZE(ages); i++) {
        open_pair(&p, &hand, ERNIC_QPT_UC);
        post(&p, 1024);
        until(&p, 10000);
        left_at(&p, 2635);
        p.env.now += ages[i];
        p.start = p.env.now;
        post(&p, 1024);
        until(&p, 10000);
        left_at(&p, 2635);
        close_pair(&p);
    }
}

/* Saved in the middle, it continues on another engine at the same times. */
TEST("/timing/state", test_state)
{
    for (uint64_t cut = 0; cut < 6000; cut += 97) {
        g_autoptr(GByteArray) saved = NULL;
        Pair p;

        open_pair(&p, &hand, ERNIC_QPT_RC);
        fake_recv(p.e, &p.qp, p.mem, 4096, p.key);
        fake_arm_cq(p.e, &p.cq, false);
        for (uint32_t i = 0; i < 5; i++) {
            post(&p, 1024);
        }
        fake_send(p.peer, &p.peer_qp, ERNIC_WR_SEND, 0, p.peer_mem, 3000, p.peer_key);
        peer_sends(&p);
        until(&p, cut);
        saved = fake_saved(p.e);
        ernic_reset(p.e);
        g_assert_true(ernic_load(p.e, p.env.now, saved->data, saved->len));
        fake_state_is(p.e, saved);
        until(&p, 20000);
        for (uint32_t i = 0; i < 5; i++) {
            /* The ACK of the received request is sent first. */
            FakeTrain *t = fake_take_train(&p.env);

            if (t->train.len < 100) {
                fake_train_free(t);
                t = fake_take_train(&p.env);
            }
            g_assert_cmpuint(t->now - p.start, >=, 2635 + i * 1106);
            g_assert_cmpuint(t->now - p.start, <=, 2635 + i * 1106 + 100);
            fake_train_free(t);
        }
        close_pair(&p);
    }
}

/* A state of another profile, or cut off anywhere, is refused. */
PAIR_TEST("/timing/bad-state", test_bad_state, RC)
{
    ErnicProfile other = hand;
    g_autoptr(GByteArray) state = g_byte_array_new();
    FakeEnv env;
    Ernic *e;

    other.stage[ERNIC_STAGE_CQE].packet++;
    post(p, 1024);
    until(p, 1500);
    ernic_save(p->e, state);
    e = fake_ernic_timed(&env, &other);
    g_assert_false(ernic_load(e, p->env.now, state->data, state->len));
    fake_ernic_done(&env, e);
    e = fake_ernic_new(&env);
    g_assert_false(ernic_load(e, p->env.now, state->data, state->len));
    fake_ernic_done(&env, e);
    e = fake_ernic_timed(&env, &hand);
    for (uint32_t len = state->len - 1; len > state->len - 3000; len--) {
        g_assert_false(ernic_load(e, p->env.now, state->data, len));
    }
    fake_ernic_done(&env, e);
}
