/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast deliveries are work: each datagram reaches every member once and in order,
 * in as many slices as that takes, from the link and by loopback.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "fake_verbs.h"
#include "objects/qp.h"
#include "test.h"
#include "transport/mcast_delivery.h"

#define MEMBERS     60
#define DATAGRAMS   8
#define LEN         500
#define MTU         4096
#define QKEY        0x11111111
/* A slice ends after the turn or delivery that exceeds it. */
#define STEP        640

typedef struct Copies {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, key;
    uint64_t buf;
    FakeCq cq[MEMBERS], send_cq;
    FakeQp qp[MEMBERS], from;
} Copies;

static ErnicGid group(void)
{
    return (ErnicGid) { { [10] = 0xff, 0xff, 224, 0, 0, 9 } };
}

static void set_up(Copies *c)
{
    c->e = fake_ernic_new(&c->env);
    c->pd = fake_create_pd(c->e);
    c->buf = fake_alloc(&c->env, MTU, 4096);
    c->key = fake_reg_mr(c->e, c->pd, c->buf, MTU, ERNIC_ACCESS_LOCAL_WRITE);
    fake_create_cq(c->e, &c->send_cq, 256, FAKE_NONE);
    fake_create_deep_qp(c->e, &c->from, ERNIC_QPT_UD, c->pd, c->send_cq.cqn,
                        c->send_cq.cqn, 256);
    fake_connect_mtu(c->e, &c->from, 0, 1, 5);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        fake_create_cq(c->e, &c->cq[i], 64, FAKE_NONE);
        fake_create_qp(c->e, &c->qp[i], ERNIC_QPT_UD, c->pd, c->cq[i].cqn,
                       c->cq[i].cqn, FAKE_NONE);
        fake_connect_mtu(c->e, &c->qp[i], 0, 1, 5);
        for (uint32_t k = 0; k < DATAGRAMS; k++) {
            fake_recv(c->e, &c->qp[i], c->buf, 1024, c->key);
        }
        OK(fake_mcast(c->e, ERNIC_CMD_MCAST_ATTACH, group().raw, c->qp[i].qpn));
    }
}

/* Post @n datagrams of @len bytes to the group, or some more: the lengths number them. */
static void post_of(Copies *c, uint32_t len, uint32_t n)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND, .count = 1,
        .ud = { .qkey = cpu_to_le32(QKEY), .dest_qpn = cpu_to_le32(0xffffff) },
    };
    ErnicGid gid = group();
    struct ernic_sge sge;

    memcpy(wqe.ud.av.dgid, gid.raw, sizeof(gid.raw));
    wqe.ud.av.dmac[0] = 1;
    wqe.ud.av.hop_limit = 64;
    for (uint32_t i = 0; i < n; i++) {
        sge = fake_sge(c->buf, len + i % DATAGRAMS, c->key);
        fake_post_send(c->e, &c->from, &wqe, &sge);
    }
    OK(fake_ring_sq(c->e, &c->from));
}

static void post(Copies *c, uint32_t n)
{
    post_of(c, LEN, n);
}

/* Run until no datagram waits; returns the number of slices. */
static uint32_t run(Copies *c)
{
    uint32_t slices = 0;
    uint64_t before;

    do {
        before = c->e->work.done;
        c->env.wake = UINT64_MAX;
        ernic_run(c->e, c->env.now);
        slices++;
        g_assert_cmpuint(c->e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
        g_assert_true(ernic_rx_room(c->e) ==
                      (ernic_mcast_delivery_blocks(c->e) ? 0 : UINT32_MAX));
        if (ernic_mcast_delivery_wait(c->e)) {
            g_assert_cmpuint(c->env.wake, <=, c->env.now);
        }
        IS(c->e->mem.kind[ERNIC_MEM_COPIES],
           ernic_mcast_delivery_wait(c->e) ? ERNIC_MCAST_STORE : 0);
    } while (c->env.wake <= c->env.now);
    g_assert_false(ernic_mcast_delivery_wait(c->e));
    return slices;
}

/* All members have received @n datagrams in order. */
static void received(Copies *c, uint32_t n)
{
    struct ernic_cqe cqe;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        for (uint32_t k = 0; k < n; k++) {
            g_assert_true(fake_poll_cq(c->e, &c->cq[i], &cqe));
            IS(cqe.status, ERNIC_WC_SUCCESS);
            IS(cqe.byte_len, LEN + k + ERNIC_GRH_LEN);
        }
        g_assert_false(fake_poll_cq(c->e, &c->cq[i], &cqe));
    }
}

#define COPIES_TEST(path, fn) \
    WORLD_TEST(path, fn, Copies, c, set_up(c), fake_ernic_done(&c->env, c->e))

COPIES_TEST("/mcast-delivery/loopback", test_loopback)
{
    post(c, DATAGRAMS);
    g_assert_cmpuint(run(c), >, 2);
    received(c, DATAGRAMS);
}

/* The trains of @c's datagrams, which no member has received: it sent them alone. */
static void from_link(Copies *c, uint32_t n)
{
    FakeTrain *train;
    Copies peer;

    set_up(&peer);
    post(&peer, n);
    run(&peer);
    ernic_slice(c->e);
    while ((train = fake_take_train(&peer.env))) {
        uint64_t before = c->e->work.done;

        ernic_rx(c->e, c->env.now, &train->train);
        g_assert_cmpuint(c->e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
        fake_train_free(train);
    }
    fake_ernic_done(&peer.env, peer.e);
}

/* A queue pair sends a datagram to another host. */
static void post_one(Copies *c, FakeQp *qp)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND, .count = 1,
        .ud = { .qkey = cpu_to_le32(QKEY), .dest_qpn = cpu_to_le32(9) },
    };
    struct ernic_sge sge = fake_sge(c->buf, LEN, c->key);

    fake_gid(wqe.ud.av.dgid, 7);
    wqe.ud.av.hop_limit = 64;
    fake_post_send(c->e, qp, &wqe, &sge);
    OK(fake_ring_sq(c->e, qp));
}

/* How many datagrams to one host have left. */
static uint32_t left_for_one(Copies *c)
{
    FakeTrain *train;
    uint32_t n = 0;

    while ((train = fake_take_train(&c->env))) {
        if (!ernic_gid_is_mcast(&train->train.path.dgid)) {
            n += ernic_train_packets(&train->train);
        }
        fake_train_free(train);
    }
    return n;
}

/* The process that sends to the group all the time. */
static void flood(Copies *c)
{
    const ErnicWq *wq = &c->e->qp[c->from.qpn].sq.wq;
    struct ernic_cqe cqe;

    while (fake_poll_cq(c->e, &c->send_cq, &cqe)) {
    }
    post_of(c, MTU - DATAGRAMS, 200 - (wq->pi - wq->ci));
}

/*
 * Others send and receive meanwhile: the delivery has a share of each slice, and keeps
 * them from receiving in half of the slices at the most.
 */
COPIES_TEST("/mcast-delivery/others", test_others)
{
    enum { RUNS = 60 };
    uint32_t sent = 0, waits = 0, receives = 0;

    for (uint32_t i = 0; i < RUNS; i++) {
        flood(c);
        if (i % 4 == 0) {
            post_one(c, &c->qp[0]);
        }
        ernic_run(c->e, c->env.now);
        sent += left_for_one(c);
        waits += ernic_mcast_delivery_wait(c->e);
        receives += ernic_rx_room(c->e) != 0;
    }
    g_test_message("sent %u, waits %u, receives %u", sent, waits, receives);
    g_assert_cmpuint(waits, >, RUNS * 3 / 4);
    g_assert_cmpuint(sent, >=, RUNS / 4 - 2);
    g_assert_cmpuint(receives, >=, RUNS / 3);
}

/* A member that leaves gets no more of a datagram; the others get all of it. */
COPIES_TEST("/mcast-delivery/detach", test_detach)
{
    struct ernic_cqe cqe;
    uint32_t i;

    from_link(c, 8);
    g_assert_true(ernic_mcast_delivery_wait(c->e));
    for (i = 0; i < MEMBERS; i++) {
        OK(fake_mcast(c->e, ERNIC_CMD_MCAST_DETACH, group().raw, c->qp[i].qpn));
    }
    run(c);
    /* The last member has had the datagrams that were complete before. */
    for (i = 0; fake_poll_cq(c->e, &c->cq[MEMBERS - 1], &cqe); i++) {
        IS(cqe.byte_len, LEN + i + ERNIC_GRH_LEN);
    }
    g_assert_cmpuint(i, <, 8);
    g_assert_cmpuint(c->e->stats.drop[ERNIC_DROP_NO_QP], >, 0);
}

/* A link that does not stop: the store takes what it holds, and counts the rest. */
COPIES_TEST("/mcast-delivery/full", test_full)
{
    uint64_t drops;

    for (uint32_t i = 0; i < 4; i++) {
        from_link(c, 250);
        c->e->work.end = c->e->work.done;
    }
    drops = c->e->stats.drop[ERNIC_DROP_COPIES];
    g_assert_cmpuint(drops, >, 0);
    g_assert_cmpuint(drops, <, 4 * 250);
    run(c);
    IS(c->e->stats.drop[ERNIC_DROP_COPIES], drops);
    received(c, DATAGRAMS);
}
