/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link: trains between ports of one folder; ports that come and go;
 * addresses and back-pressure.
 */
#include "qemu/osdep.h"
#include "shm_fixture.h"
#include "links/shm/ring.h"

#define UNKNOWN ERNIC_SHM_DROP_UNKNOWN_DEST
#define STALLED ERNIC_SHM_DROP_STALLED

static uint8_t data[ERNIC_SHM_TRAIN_BYTES];

static const struct {
    uint32_t len, seg;
} shapes[] = {
    { 1, 1 }, { 24, 24 }, { 64, 64 }, { 65, 65 }, { 1040, 1040 }, { 4161, 1040 },
    { 61740, 4116 }, { 64 * 1016, 1016 },
    { ERNIC_SHM_PACKET_BYTES, ERNIC_SHM_PACKET_BYTES }, { 65536, 1024 },
};

/* ---- trains ----------------------------------------------------------------- */

/* The sum of the shapes is no divisor of the ring, so records wrap at many places. */
LAB_TEST("/shm-port/round-trip", 2, test_round_trip)
{
    uint64_t packets = 0, bytes = 0, trains = 0;
    const ErnicShmStats *tx, *rx;
    ErnicTrain t;

    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
            fill(data, shapes[i].len, round + i);
            t = lab_train(l, 0, 1, data, shapes[i].len, shapes[i].seg);
            pass(l, 0, 1, &t);
            packets += ernic_train_packets(&t);
            bytes += t.len;
            trains++;
        }
    }
    expect_none(l, 0);
    expect_none(l, 1);
    tx = ernic_shm_stats(l->port[0]);
    rx = ernic_shm_stats(l->port[1]);
    IS(tx->tx_trains, trains);
    IS(tx->tx_packets, packets);
    IS(tx->tx_bytes, bytes);
    IS(rx->rx_trains, trains);
    IS(rx->rx_packets, packets);
    IS(rx->rx_bytes, bytes);
    for (uint32_t i = 0; i < ERNIC_SHM_DROP_COUNT; i++) {
        IS(tx->drop[i], 0);
    }
}

LAB_TEST("/shm-port/group", PORTS, test_group)
{
    ErnicTrain t;

    fill(data, 500, 1);
    t = lab_train(l, 0, 1, data, 500, 500);
    t.path.dgid = gid_of("224.0.0.9");
    send_train(l, 0, &t);
    expect_none(l, 0);
    for (uint32_t i = 1; i < PORTS; i++) {
        expect(l, i, &t);
    }
    /*
     * Nothing goes to a port that has no address, as one whose machine does not run yet.
     */
    ernic_shm_announce(l->port[2], NULL, 0, true);
    pass(l, 0, 1, &t);
    expect_none(l, 2);
    expect(l, 3, &t);
}

/* ---- addresses --------------------------------------------------------------- */

/* An address that was announced before the peer came is known to it as well. */
LAB_TEST("/shm-port/most-addresses", 1, test_most_addresses)
{
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    ErnicTrain t;

    for (uint32_t i = 0; i < ERNIC_SHM_ADDRESSES; i++) {
        gid[i] = gid_of("10.1.0.0");
        gid[i].raw[15] = i;
    }
    ernic_shm_announce(l->port[0], gid, ERNIC_SHM_ADDRESSES, true);
    lab_join(l, 1, false);
    t = lab_train(l, 1, 0, data, 100, 100);
    for (uint32_t i = 0; i < ERNIC_SHM_ADDRESSES; i++) {
        t.path.dgid = gid[i];
        pass(l, 1, 0, &t);
    }
}

/* The first one that announces an address has it, until it withdraws it or leaves. */
LAB_TEST("/shm-port/duplicate", 4, test_duplicate)
{
    ErnicGid both[2];
    ErnicTrain t;

    both[0] = l->gid[2];
    both[1] = l->gid[1];
    t = lab_train(l, 0, 1, data, 100, 100);
    pass(l, 0, 1, &t);
    ernic_shm_announce(l->port[2], both, 2, true);
    /* The list is looked at for this address. */
    t.path.dgid = gid_of("10.0.0.99");
    send_train(l, 0, &t);
    IS(drops(l, 0, UNKNOWN), 1);
    IS(stats(l, 0)->duplicates, 1);
    IS(l->events[0][ERNIC_SHM_PEER_DUPLICATE], 1);
    t.path.dgid = l->gid[1];
    pass(l, 0, 1, &t);
    expect_none(l, 2);

    ernic_shm_announce(l->port[1], &l->gid[1], 0, true);
    pass(l, 0, 2, &t);
    /* Now it is the other one that comes later. */
    ernic_shm_announce(l->port[1], &l->gid[1], 1, true);
    pass(l, 0, 2, &t);
    lab_leave(l, 2);
    pass(l, 0, 1, &t);
    IS(drops(l, 0, UNKNOWN), 1);
}

/* The copies for a group and of the peers' lists are counted as work. */
LAB_TEST("/shm-port/work", 4, test_work)
{
    uint64_t work;
    ErnicTrain t = lab_train(l, 0, 1, data, 50000, 1000);

    send_train(l, 0, &t);
    g_assert_cmpuint(ernic_shm_work(l->port[0]), >=, 3 * ERNIC_SHM_ADDRESSES * 16);
    work = ernic_shm_work(l->port[0]);
    send_train(l, 0, &t);
    IS(ernic_shm_work(l->port[0]), work);
    t.path.dgid = gid_of("224.0.0.9");
    send_train(l, 0, &t);
    IS(ernic_shm_work(l->port[0]), work + 3 * t.len);
    work += 3 * t.len;
    t = lab_train(l, 0, 1, data, 100, 100);
    for (uint32_t i = 0; i < 10; i++) {
        ernic_shm_announce(l->port[1], &l->gid[1], i % 2, true);
        ernic_shm_send(l->port[0], &t);
        g_assert_cmpuint(ernic_shm_work(l->port[0]), >=, work + ERNIC_SHM_ADDRESSES * 16);
        work = ernic_shm_work(l->port[0]);
    }
}

/* ---- peers ------------------------------------------------------------------- */

LAB_TEST("/shm-port/come-and-go", 3, test_come_and_go)
{
    ErnicTrain t = lab_train(l, 1, 2, data, 100, 100);

    /* The first port is not special: the others go on without it. */
    lab_leave(l, 0);
    IS(l->events[1][ERNIC_SHM_PEER_GONE], 1);
    IS(stats(l, 1)->peers, 1);
    pass(l, 1, 2, &t);
    for (uint32_t i = 0; i < 3 * ERNIC_SHM_PEERS; i++) {
        lab_join(l, 3, false);
        t = lab_train(l, 3, 1, data, 100, 100);
        pass(l, 3, 1, &t);
        t = lab_train(l, 1, 3, data, 100, 100);
        pass(l, 1, 3, &t);
        lab_leave(l, 3);
        IS(stats(l, 1)->peers, 1);
    }
}

LAB_TEST("/shm-port/icrc-differs", 1, test_icrc_differs)
{
    ErnicTrain t;

    lab_join(l, 1, true);
    IS(stats(l, 0)->refused, 1);
    IS(stats(l, 1)->refused, 1);
    IS(stats(l, 0)->peers, 0);
    IS(stats(l, 1)->peers, 0);
    t = lab_train(l, 0, 1, data, 100, 100);
    send_train(l, 0, &t);
    IS(drops(l, 0, UNKNOWN), 1);
    lab_join(l, 2, true);
    t = lab_train(l, 2, 1, data, 100, 100);
    pass(l, 2, 1, &t);
}

/* ---- back-pressure ------------------------------------------------------------ */

static uint32_t fill_ring(Lab *l, ErnicTrain *t)
{
    uint32_t n = 0;

    while (ernic_shm_send(l->port[0], t)) {
        n++;
        g_assert_cmpuint(n, <, 10000);
    }
    return n;
}

LAB_TEST("/shm-port/full", 2, test_full)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 60000, 4000), got;
    uint32_t n;

    n = fill_ring(l, &t);
    IS(n, ERNIC_SHM_RING_BYTES / (64 + 60032));
    IS(stats(l, 0)->tx_busy, 1);
    g_assert_false(fd_ready(ernic_shm_fd(l->port[0])));
    /* The writer is woken once, when half of the ring is free. */
    for (uint32_t i = 0; i < n; i++) {
        IS(fd_ready(ernic_shm_fd(l->port[0])), i >= n / 2);
        g_assert_true(ernic_shm_recv(l->port[1], &got));
    }
    IS(stats(l, 1)->bells, 1);
    ernic_shm_serve(l->port[0]);
    send_train(l, 0, &t);
    IS(drops(l, 0, STALLED), 0);
}

/* A peer that takes nothing holds up the others for a bounded time. */
LAB_TEST("/shm-port/stalled", 3, test_stalled)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 60000, 4000), other;

    other = lab_train(l, 0, 2, data, 100, 100);
    fill_ring(l, &t);
    while (!fd_ready(ernic_shm_fd(l->port[0]))) {
        g_assert_false(drops(l, 0, STALLED));
        g_usleep(1000);
    }
    ernic_shm_serve(l->port[0]);
    send_train(l, 0, &t);
    IS(drops(l, 0, STALLED), 15);
    /* From now on trains are dropped at once, and others are served. */
    send_train(l, 0, &t);
    IS(drops(l, 0, STALLED), 30);
    pass(l, 0, 2, &other);
    /* With room, the peer is one like any other. */
    for (uint32_t n = 0; n < 8; n++) {
        expect(l, 1, &t);
    }
    pass(l, 0, 1, &t);
    IS(drops(l, 0, STALLED), 30);
}

/* Takes trains to port @to as long as that is possible. Returns us until one is sent. */
static gint64 send_in_time(Lab *l, const ErnicTrain *t)
{
    gint64 start = g_get_monotonic_time();

    while (!ernic_shm_send(l->port[0], t)) {
        g_usleep(500);
        ernic_shm_serve(l->port[0]);
    }
    return g_get_monotonic_time() - start;
}

/* Each of two holds up the third one once. */
LAB_TEST("/shm-port/two-stalled", 4, test_two_stalled)
{
    gint64 waited = 0;
    ErnicTrain t[3];
    uint32_t n;

    for (uint32_t i = 0; i < 3; i++) {
        t[i] = lab_train(l, 0, i + 1, data, 60000, 4000);
    }
    for (n = 0; n < 200; n++) {
        for (uint32_t i = 0; i < 3; i++) {
            waited += send_in_time(l, &t[i]);
        }
        expect(l, 3, &t[2]);
    }
    IS(drops(l, 0, STALLED), 2 * 15 * (n - 8));
    g_assert_cmpint(waited, >=, 2 * ERNIC_SHM_STALL_NS / 1000);
    g_assert_cmpuint(stats(l, 0)->tx_busy, <, 200);
}

/* A peer that reads a little again and again has no more time than one that stalls. */
LAB_TEST("/shm-port/slow", 3, test_slow)
{
    gint64 start = g_get_monotonic_time(), read_at = start, now;
    ErnicTrain slow = lab_train(l, 0, 1, data, 60000, 4000), other, got;
    uint32_t n = 0, taken = 0;

    other = lab_train(l, 0, 2, data, 100, 100);
    do {
        if (ernic_shm_send(l->port[0], &slow)) {
            pass(l, 0, 2, &other);
            n++;
        }
        ernic_shm_serve(l->port[0]);
        now = g_get_monotonic_time();
        if (now - read_at > 15000) {
            read_at = now;
            taken += ernic_shm_recv(l->port[1], &got);
        }
    } while (now - start < 400000);
    g_assert_cmpuint(taken, >, 4);
    g_assert_cmpuint(drops(l, 0, STALLED), >, 0);
    /* With a wait for each train, these would be as many as were taken. */
    g_assert_cmpuint(n, >, 20 * taken);
}

/* Positions in the ring are modulo 2^32: the time of a peer does not begin 4 GiB ago. */
LAB_TEST("/shm-port/full-after-4g", 2, test_full_after_4g)
{
    enum { RECORD = 65536, IN_RING = ERNIC_SHM_RING_BYTES / RECORD };
    ErnicTrain t = lab_train(l, 0, 1, data, RECORD - 64, 4000), got;
    uint32_t i;

    IS(fill_ring(l, &t), IN_RING);
    for (i = 0; i < IN_RING; i++) {
        g_assert_true(ernic_shm_recv(l->port[1], &got));
    }
    for (; i < (1ull << 32) / RECORD; i++) {
        send_train(l, 0, &t);
        g_assert_true(ernic_shm_recv(l->port[1], &got));
    }
    IS(fill_ring(l, &t), IN_RING);
    IS(drops(l, 0, STALLED), 0);
}

LAB_TEST("/shm-port/full-group", 3, test_full_group)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 60000, 4000), group;

    group = lab_train(l, 0, 1, data, 30000, 3000);
    group.path.dgid = gid_of("224.0.0.9");
    fill_ring(l, &t);
    send_train(l, 0, &group);
    IS(drops(l, 0, ERNIC_SHM_DROP_COPY), 0);
    send_train(l, 0, &group);
    IS(drops(l, 0, ERNIC_SHM_DROP_COPY), 10);
    expect(l, 2, &group);
    expect(l, 2, &group);
}

/* A peer that leaves while its ring is full frees what waits for it. */
LAB_TEST("/shm-port/full-and-gone", 2, test_full_and_gone)
{
    ErnicTrain t = lab_train(l, 0, 1, data, 60000, 4000);

    fill_ring(l, &t);
    g_clear_pointer(&l->port[1], ernic_shm_free);
    g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
    ernic_shm_serve(l->port[0]);
    send_train(l, 0, &t);
    IS(drops(l, 0, UNKNOWN), 15);
}
