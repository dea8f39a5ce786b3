/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ethernet frames on the shared-memory link: its ports are a switch.
 */
#include "qemu/osdep.h"
#include "shm_fixture.h"
#include "links/shm/pair.h"
#include "links/shm/stations.h"

#define COPY    ERNIC_SHM_DROP_COPY

static const ErnicShmConfig with_frames = { .frames = true };

/* The address of station @n. */
static void set_mac(uint8_t *mac, uint32_t n)
{
    const uint8_t address[6] = { 0x52, 0x54, 0, 0, n >> 8, n };

    memcpy(mac, address, sizeof(address));
}

/* A frame of 100 bytes from station @from to station @to, in @data. */
static ErnicTrain frame(uint8_t *data, uint32_t from, uint32_t to)
{
    fill(data, 100, from * 16 + to);
    set_mac(data, to);
    set_mac(data + 6, from);
    return (ErnicTrain) { .frame = true, .data = data, .len = 100, .seg = 100 };
}

static ErnicTrain broadcast(uint8_t *data, uint32_t from)
{
    ErnicTrain t = frame(data, from, 0);

    memset(data, 0xff, 6);
    return t;
}

static void open_frames(Lab *l)
{
    lab_open(l, 0);
    for (uint32_t i = 0; i < PORTS; i++) {
        lab_join_as(l, i, with_frames);
    }
}

#define FRAMES_TEST(path, fn) WORLD_TEST(path, fn, Lab, l, open_frames(l), lab_close(l))

/* Received as they were sent: @path of a frame means nothing, and is 0. */
static void expect_frame(Lab *l, uint32_t i, const ErnicTrain *t)
{
    ErnicTrain sent = *t;

    sent.path = (ErnicPath) { };
    expect(l, i, &sent);
}

/* Each of the ports whose digits are in @ports receives it. */
static void expect_frames(Lab *l, const char *ports, const ErnicTrain *t)
{
    for (; *ports; ports++) {
        expect_frame(l, *ports - '0', t);
    }
}

/* Groups and unknown stations: everyone. A station that has sent: its port alone. */
FRAMES_TEST("/shm-frames/switch", test_switch)
{
    uint8_t data[100];
    ErnicTrain t = frame(data, 1, 2);

    send_train(l, 0, &t);
    for (uint32_t i = 1; i < PORTS; i++) {
        expect_frame(l, i, &t);
    }
    IS(stats(l, 0)->tx_flooded, 1);
    t = frame(data, 2, 1);
    send_train(l, 1, &t);
    expect_frame(l, 0, &t);
    for (uint32_t i = 1; i < PORTS; i++) {
        expect_none(l, i);
    }
    IS(stats(l, 1)->tx_flooded, 0);
    t = broadcast(data, 2);
    send_train(l, 1, &t);
    expect_frame(l, 0, &t);
    expect_none(l, 1);
    expect_frames(l, "23", &t);
    IS(stats(l, 1)->tx_flooded, 1);
}

/* Several stations behind a port, one that moves, and a port that leaves. */
FRAMES_TEST("/shm-frames/stations", test_stations)
{
    uint8_t data[100];
    ErnicTrain t;

    for (uint32_t n = 10; n < 20; n++) {
        t = broadcast(data, n);
        send_train(l, 1, &t);
        expect_frame(l, 0, &t);
        expect_frame(l, 2, &t);
        expect_frame(l, 3, &t);
    }
    for (uint32_t n = 10; n < 20; n++) {
        t = frame(data, 1, n);
        pass(l, 0, 1, &t);
        expect_none(l, 2);
    }
    t = broadcast(data, 15);
    send_train(l, 2, &t);
    expect_frames(l, "013", &t);
    t = frame(data, 1, 15);
    pass(l, 0, 2, &t);
    expect_none(l, 1);
    lab_leave(l, 2);
    t = frame(data, 1, 15);
    send_train(l, 0, &t);
    expect_frames(l, "13", &t);
}

/* A port that does not run wants no frames, and its stations are looked for elsewhere. */
FRAMES_TEST("/shm-frames/unwanted", test_unwanted)
{
    uint8_t data[100];
    ErnicTrain t = broadcast(data, 2);

    send_train(l, 1, &t);
    expect_frames(l, "023", &t);
    ernic_shm_announce(l->port[1], &l->gid[1], 1, false);
    t = broadcast(data, 1);
    send_train(l, 0, &t);
    expect_none(l, 1);
    expect_frames(l, "23", &t);
    t = frame(data, 1, 2);
    send_train(l, 0, &t);
    expect_none(l, 1);
    expect_frames(l, "23", &t);
    ernic_shm_announce(l->port[1], &l->gid[1], 1, true);
    pass(l, 0, 1, &t);
    expect_none(l, 2);
}

/* A train of several frames, the last one shorter, and packets beside frames. */
FRAMES_TEST("/shm-frames/trains", test_trains)
{
    static uint8_t data[ERNIC_SHM_TRAIN_BYTES];
    ErnicTrain t = broadcast(data, 1), packet;

    send_train(l, 1, &t);
    expect_frame(l, 0, &t);
    t = frame(data, 2, 1);
    t.seg = 1514;
    t.len = 40 * 1514 + 60;
    packet = lab_train(l, 0, 1, data, 3000, 1500);
    for (uint32_t i = 0; i < 100; i++) {
        pass(l, 0, 1, &t);
        pass(l, 0, 1, &packet);
    }
    IS(stats(l, 0)->tx_packets, 100 * (41 + 2));
}

/* A full ring: the port waits for its reader, but copies for all are lost. */
FRAMES_TEST("/shm-frames/full", test_full)
{
    uint8_t data[100];
    ErnicTrain t = broadcast(data, 1);
    uint32_t n = 0;

    send_train(l, 1, &t);
    expect_frames(l, "023", &t);
    t = frame(data, 2, 1);
    while (ernic_shm_send(l->port[0], &t)) {
        n++;
    }
    g_assert_cmpuint(n, >, 1000);
    IS(stats(l, 0)->tx_busy, 1);
    t = broadcast(data, 2);
    send_train(l, 0, &t);
    IS(drops(l, 0, COPY), 1);
    expect_frames(l, "23", &t);
    /* The reader makes room, and wakes the port for the frame that waited. */
    t = frame(data, 2, 1);
    for (uint32_t i = 0; i < n; i++) {
        expect_frame(l, 1, &t);
    }
    g_assert_true(fd_ready(ernic_shm_fd(l->port[0])));
    pass(l, 0, 1, &t);
    expect_none(l, 1);
}

/* A group is no station, and nobody has the address 0. */
TEST("/shm-frames/table", test_table)
{
    g_autofree ErnicShmStations *s = g_new0(ErnicShmStations, 1);
    const uint8_t group[6] = { 0x33, 0x33, 0, 0, 0, 1 }, none[6] = { };
    uint8_t mac[6];
    uint32_t known = 0;

    IS(ernic_shm_stations_find(s, none), ERNIC_SHM_PEERS);
    ernic_shm_stations_learn(s, group, 3);
    IS(ernic_shm_stations_find(s, group), ERNIC_SHM_PEERS);
    /* Consecutive addresses have different places. */
    for (uint32_t n = 0; n < 256; n++) {
        set_mac(mac, n);
        ernic_shm_stations_learn(s, mac, n % 7);
    }
    for (uint32_t n = 0; n < 256; n++) {
        set_mac(mac, n);
        IS(ernic_shm_stations_find(s, mac), n % 7);
    }
    ernic_shm_stations_forget(s, 3);
    for (uint32_t n = 0; n < 256; n++) {
        set_mac(mac, n);
        known += ernic_shm_stations_find(s, mac) < ERNIC_SHM_PEERS;
        IS(ernic_shm_stations_find(s, mac) == ERNIC_SHM_PEERS, n % 7 == 3);
    }
    IS(known, 256 - 36 - 1);
}

/* More stations of one set than it has places: the oldest one goes. */
TEST("/shm-frames/set", test_set)
{
    g_autofree ErnicShmStations *s = g_new0(ErnicShmStations, 1);
    uint8_t mac[ERNIC_SHM_WAYS + 1][6];

    for (uint32_t i = 0; i <= ERNIC_SHM_WAYS; i++) {
        const uint8_t same_set[6] = { 0x52, 0x54, 0, 0, i, i };

        memcpy(mac[i], same_set, sizeof(same_set));
    }
    for (uint32_t i = 0; i < 3 * ERNIC_SHM_WAYS; i++) {
        ernic_shm_stations_learn(s, mac[i % ERNIC_SHM_WAYS], i % ERNIC_SHM_WAYS);
    }
    for (uint32_t i = 0; i < ERNIC_SHM_WAYS; i++) {
        IS(ernic_shm_stations_find(s, mac[i]), i);
    }
    ernic_shm_stations_learn(s, mac[ERNIC_SHM_WAYS], 9);
    IS(ernic_shm_stations_find(s, mac[0]), ERNIC_SHM_PEERS);
    for (uint32_t i = 1; i < ERNIC_SHM_WAYS; i++) {
        IS(ernic_shm_stations_find(s, mac[i]), i);
    }
    IS(ernic_shm_stations_find(s, mac[ERNIC_SHM_WAYS]), 9);
}

/* With frames and without: two kinds of links, which refuse each other. */
LAB_TEST("/shm-frames/kinds", 1, test_kinds)
{
    lab_join_as(l, 1, with_frames);
    IS(stats(l, 0)->peers, 0);
    IS(stats(l, 1)->peers, 0);
    IS(stats(l, 0)->refused, 1);
    IS(stats(l, 1)->refused, 1);
}

/* A ring whose peer claims frames that are none. */
static const struct {
    uint32_t len, seg;
} bad[] = {
    { 13, 13 }, { 200, 187 }, { 28, 13 }, { 100, 0 }, { 100, 101 }, { 65, 1 },
};

#define FRAME   0x80000000u     /* in the word of @seg */

TEST("/shm-frames/hostile", test_hostile)
{
    static uint8_t ring[ERNIC_SHM_RING_BYTES], buf[ERNIC_SHM_TRAIN_BYTES];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ErnicShmWords words = { .head = 64 + ROUND_UP(bad[i].len, 64) };
        ErnicShmRing r = { .words = &words, .data = ring, .frames = true };
        uint32_t head[2] = { bad[i].len, FRAME | bad[i].seg };
        ErnicTrain t;

        memset(ring, 0, 64);
        memcpy(ring, head, sizeof(head));
        IS(ernic_shm_ring_take(&r, buf, &t), ERNIC_SHM_BROKEN);
    }
}
