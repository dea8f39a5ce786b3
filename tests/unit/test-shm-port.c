/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link: trains between ports of one folder; ports that come and go;
 * back-pressure, sleep and wake-up.
 */
#include "qemu/osdep.h"
#include "shm_fixture.h"
#include "links/shm_ring.h"

static uint8_t data[ERNIC_SHM_TRAIN_BYTES];

static const struct {
    uint32_t len, seg;
} shapes[] = {
    { 1, 1 }, { 24, 24 }, { 64, 64 }, { 65, 65 }, { 1040, 1040 }, { 4161, 1040 },
    { 61740, 4116 }, { 64 * 1016, 1016 }, { 65536, 65536 }, { 65536, 1024 },
};

static void expect(ErnicShm *shm, const ErnicTrain *sent)
{
    ErnicTrain got;

    g_assert_true(ernic_shm_recv(shm, &got));
    g_assert_cmpmem(got.data, got.len, sent->data, sent->len);
    g_assert_cmpuint(got.seg, ==, sent->seg);
    g_assert_cmpmem(&got.path, sizeof(got.path), &sent->path, sizeof(sent->path));
    g_assert_true(got.path_final);
    g_assert_null(got.ip);
    g_assert_false(got.frame);
}

static void expect_none(ErnicShm *shm)
{
    ErnicTrain got;

    g_assert_false(ernic_shm_recv(shm, &got));
}

/* ---- trains ----------------------------------------------------------------- */

/* The sum of the shapes is no divisor of the ring, so records wrap at many places. */
static void test_round_trip(void)
{
    uint64_t packets = 0, bytes = 0, trains = 0;
    const ErnicShmStats *tx, *rx;
    uint32_t round, i;
    ErnicTrain t;
    Lab l;

    lab_open(&l, 2);
    for (round = 0; round < 50; round++) {
        for (i = 0; i < ARRAY_SIZE(shapes); i++) {
            fill(data, shapes[i].len, round + i);
            t = lab_train(&l, 0, 1, data, shapes[i].len, shapes[i].seg);
            g_assert_true(ernic_shm_send(l.port[0], &t));
            expect(l.port[1], &t);
            packets += ernic_train_packets(&t);
            bytes += t.len;
            trains++;
        }
    }
    expect_none(l.port[0]);
    expect_none(l.port[1]);
    tx = ernic_shm_stats(l.port[0]);
    rx = ernic_shm_stats(l.port[1]);
    g_assert_cmpuint(tx->tx_trains, ==, trains);
    g_assert_cmpuint(tx->tx_packets, ==, packets);
    g_assert_cmpuint(tx->tx_bytes, ==, bytes);
    g_assert_cmpuint(rx->rx_trains, ==, trains);
    g_assert_cmpuint(rx->rx_packets, ==, packets);
    g_assert_cmpuint(rx->rx_bytes, ==, bytes);
    for (i = 0; i < ERNIC_SHM_DROP_COUNT; i++) {
        g_assert_cmpuint(tx->drop[i], ==, 0);
    }
    lab_close(&l);
}

/* Both directions, and each port to each other one. */
static void test_everyone(void)
{
    uint32_t from, to;
    ErnicTrain t;
    Lab l;

    lab_open(&l, PORTS);
    for (from = 0; from < PORTS; from++) {
        g_assert_cmpuint(ernic_shm_stats(l.port[from])->peers, ==, PORTS - 1);
        g_assert_cmpuint(l.events[from][ERNIC_SHM_PEER_UP], ==, PORTS - 1);
        for (to = 0; to < PORTS; to++) {
            if (to != from) {
                fill(data, 3000, from * PORTS + to);
                t = lab_train(&l, from, to, data, 3000, 1500);
                g_assert_true(ernic_shm_send(l.port[from], &t));
                expect(l.port[to], &t);
            }
        }
    }
    for (to = 0; to < PORTS; to++) {
        expect_none(l.port[to]);
    }
    lab_close(&l);
}

static void test_group(void)
{
    ErnicTrain t;
    uint32_t i;
    Lab l;

    lab_open(&l, PORTS);
    fill(data, 500, 1);
    t = lab_train(&l, 0, 1, data, 500, 500);
    t.path.dgid = gid_of("224.0.0.9");
    g_assert_true(ernic_shm_send(l.port[0], &t));
    expect_none(l.port[0]);
    for (i = 1; i < PORTS; i++) {
        expect(l.port[i], &t);
    }
    lab_close(&l);
}

/* ---- addresses --------------------------------------------------------------- */

static uint64_t unknown(const Lab *l, uint32_t i)
{
    return ernic_shm_stats(l->port[i])->drop[ERNIC_SHM_DROP_UNKNOWN_DEST];
}

static void test_addresses(void)
{
    ErnicGid other = gid_of("fd00::7");
    ErnicTrain t;
    Lab l;

    lab_open(&l, 2);
    fill(data, 5000, 1);
    t = lab_train(&l, 0, 1, data, 5000, 1000);
    t.path.sgid = gid_of("fd00::6");
    t.path.dgid = other;
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(unknown(&l, 0), ==, 5);
    expect_none(l.port[1]);

    ernic_shm_announce(l.port[1], &other, 1);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    expect(l.port[1], &t);
    t = lab_train(&l, 0, 1, data, 5000, 1000);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(unknown(&l, 0), ==, 10);

    ernic_shm_announce(l.port[1], &other, 0);
    t.path.sgid = gid_of("fd00::6");
    t.path.dgid = other;
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(unknown(&l, 0), ==, 15);
    lab_close(&l);
}

/* An address that was announced before the peer came is known to it as well. */
static void test_most_addresses(void)
{
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    ErnicTrain t;
    uint32_t i;
    Lab l;

    lab_open(&l, 1);
    for (i = 0; i < ERNIC_SHM_ADDRESSES; i++) {
        gid[i] = gid_of("10.1.0.0");
        gid[i].raw[15] = i;
    }
    ernic_shm_announce(l.port[0], gid, ERNIC_SHM_ADDRESSES);
    lab_join(&l, 1, false);
    t = lab_train(&l, 1, 0, data, 100, 100);
    for (i = 0; i < ERNIC_SHM_ADDRESSES; i++) {
        t.path.dgid = gid[i];
        g_assert_true(ernic_shm_send(l.port[1], &t));
        expect(l.port[0], &t);
    }
    lab_close(&l);
}

/* ---- peers ------------------------------------------------------------------- */

static void test_come_and_go(void)
{
    ErnicTrain t;
    uint32_t i;
    Lab l;

    lab_open(&l, 3);
    t = lab_train(&l, 1, 2, data, 100, 100);
    /* The first port is not special: the others go on without it. */
    lab_leave(&l, 0);
    g_assert_cmpuint(l.events[1][ERNIC_SHM_PEER_GONE], ==, 1);
    g_assert_cmpuint(ernic_shm_stats(l.port[1])->peers, ==, 1);
    g_assert_true(ernic_shm_send(l.port[1], &t));
    expect(l.port[2], &t);
    for (i = 0; i < 3 * ERNIC_SHM_PEERS; i++) {
        lab_join(&l, 3, false);
        t = lab_train(&l, 3, 1, data, 100, 100);
        g_assert_true(ernic_shm_send(l.port[3], &t));
        expect(l.port[1], &t);
        t = lab_train(&l, 1, 3, data, 100, 100);
        g_assert_true(ernic_shm_send(l.port[1], &t));
        expect(l.port[3], &t);
        lab_leave(&l, 3);
        g_assert_cmpuint(ernic_shm_stats(l.port[1])->peers, ==, 1);
    }
    lab_close(&l);
}

/* A process that was killed leaves its socket, which the next port removes. */
static void test_remnant(void)
{
    g_autofree char *kept = NULL, *path = NULL;
    GDir *dir;
    Lab l;

    lab_open(&l, 1);
    dir = g_dir_open(l.folder, 0, NULL);
    path = g_build_filename(l.folder, g_dir_read_name(dir), NULL);
    g_dir_close(dir);
    kept = g_strconcat(path, "-kept", NULL);
    g_assert_cmpint(link(path, kept), ==, 0);
    lab_leave(&l, 0);
    g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
    lab_join(&l, 1, false);
    g_assert_false(g_file_test(kept, G_FILE_TEST_EXISTS));
    lab_close(&l);
}

/* Files of others stay. */
static void test_other_files(void)
{
    g_autofree char *file = NULL;
    Lab l;

    lab_open(&l, 0);
    file = g_build_filename(l.folder, "ernic-notes", NULL);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    lab_join(&l, 0, false);
    g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
    g_assert_cmpint(g_unlink(file), ==, 0);
    lab_close(&l);
}

static void test_icrc_differs(void)
{
    ErnicTrain t;
    Lab l;

    lab_open(&l, 1);
    lab_join(&l, 1, true);
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->refused, ==, 1);
    g_assert_cmpuint(ernic_shm_stats(l.port[1])->refused, ==, 1);
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->peers, ==, 0);
    g_assert_cmpuint(ernic_shm_stats(l.port[1])->peers, ==, 0);
    t = lab_train(&l, 0, 1, data, 100, 100);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(unknown(&l, 0), ==, 1);
    lab_join(&l, 2, true);
    t = lab_train(&l, 2, 1, data, 100, 100);
    g_assert_true(ernic_shm_send(l.port[2], &t));
    expect(l.port[1], &t);
    lab_close(&l);
}

static void test_bad_folder(void)
{
    static const char *const bad[] = { "/dev/null", "/dev/null/x", "/nowhere/x" };
    g_autofree char *deep = g_strnfill(120, 'x'), *path = NULL;
    ErnicShmConfig cfg = { 0 };
    char *err = NULL;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        cfg.folder = bad[i];
        g_assert_null(ernic_shm_new(&cfg, &err));
        g_assert_true(g_str_has_prefix(err, bad[i]));
        g_clear_pointer(&err, g_free);
    }
    /* Longer than the address of a socket may be. */
    path = g_build_filename(g_get_tmp_dir(), deep, NULL);
    cfg.folder = path;
    g_assert_null(ernic_shm_new(&cfg, &err));
    g_assert_nonnull(strstr(err, "File name too long"));
    g_free(err);
    g_rmdir(path);
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

static void test_full(void)
{
    ErnicTrain t, got;
    uint32_t n, i;
    Lab l;

    lab_open(&l, 2);
    t = lab_train(&l, 0, 1, data, 60000, 4000);
    n = fill_ring(&l, &t);
    g_assert_cmpuint(n, ==, ERNIC_SHM_RING_BYTES / (64 + 60032));
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->tx_busy, ==, 1);
    g_assert_false(fd_ready(ernic_shm_fd(l.port[0])));
    /* The writer is woken once, when half of the ring is free. */
    for (i = 0; i < n; i++) {
        g_assert_cmpint(fd_ready(ernic_shm_fd(l.port[0])), ==, i >= n / 2);
        g_assert_true(ernic_shm_recv(l.port[1], &got));
    }
    g_assert_cmpuint(ernic_shm_stats(l.port[1])->bells, ==, 1);
    ernic_shm_serve(l.port[0]);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->drop[ERNIC_SHM_DROP_STALLED], ==, 0);
    lab_close(&l);
}

/* A peer that takes nothing holds up the others for a bounded time. */
static void test_stalled(void)
{
    const uint64_t *drop;
    ErnicTrain t, other;
    uint32_t n;
    Lab l;

    lab_open(&l, 3);
    drop = ernic_shm_stats(l.port[0])->drop;
    t = lab_train(&l, 0, 1, data, 60000, 4000);
    other = lab_train(&l, 0, 2, data, 100, 100);
    fill_ring(&l, &t);
    while (!fd_ready(ernic_shm_fd(l.port[0]))) {
        g_assert_false(drop[ERNIC_SHM_DROP_STALLED]);
        g_usleep(1000);
    }
    ernic_shm_serve(l.port[0]);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(drop[ERNIC_SHM_DROP_STALLED], ==, 15);
    /* From now on at once, and others are served. */
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(drop[ERNIC_SHM_DROP_STALLED], ==, 30);
    g_assert_true(ernic_shm_send(l.port[0], &other));
    expect(l.port[2], &other);
    /* With room, the peer is one like any other. */
    for (n = 0; n < 8; n++) {
        expect(l.port[1], &t);
    }
    g_assert_true(ernic_shm_send(l.port[0], &t));
    expect(l.port[1], &t);
    g_assert_cmpuint(drop[ERNIC_SHM_DROP_STALLED], ==, 30);
    lab_close(&l);
}

static void test_full_group(void)
{
    ErnicTrain t, group;
    Lab l;

    lab_open(&l, 3);
    t = lab_train(&l, 0, 1, data, 60000, 4000);
    group = lab_train(&l, 0, 1, data, 30000, 3000);
    group.path.dgid = gid_of("224.0.0.9");
    fill_ring(&l, &t);
    g_assert_true(ernic_shm_send(l.port[0], &group));
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->drop[ERNIC_SHM_DROP_COPY], ==, 0);
    g_assert_true(ernic_shm_send(l.port[0], &group));
    g_assert_cmpuint(ernic_shm_stats(l.port[0])->drop[ERNIC_SHM_DROP_COPY], ==, 10);
    expect(l.port[2], &group);
    expect(l.port[2], &group);
    lab_close(&l);
}

/* A peer that leaves while its ring is full frees what waits for it. */
static void test_full_and_gone(void)
{
    ErnicTrain t;
    Lab l;

    lab_open(&l, 2);
    t = lab_train(&l, 0, 1, data, 60000, 4000);
    fill_ring(&l, &t);
    g_clear_pointer(&l.port[1], ernic_shm_free);
    g_assert_true(fd_ready(ernic_shm_fd(l.port[0])));
    ernic_shm_serve(l.port[0]);
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_cmpuint(unknown(&l, 0), ==, 15);
    lab_close(&l);
}

/* ---- sleep ------------------------------------------------------------------- */

static void test_sleep(void)
{
    ErnicTrain t;
    Lab l;
    int i;

    lab_open(&l, 3);
    t = lab_train(&l, 0, 1, data, 100, 100);
    /* A port that does not sleep is not woken. */
    g_assert_true(ernic_shm_send(l.port[0], &t));
    g_assert_false(fd_ready(ernic_shm_fd(l.port[1])));
    g_assert_false(ernic_shm_sleep(l.port[1]));
    expect(l.port[1], &t);
    for (i = 0; i < 3; i++) {
        g_assert_true(ernic_shm_sleep(l.port[1]));
        g_assert_false(fd_ready(ernic_shm_fd(l.port[1])));
        g_assert_true(ernic_shm_send(l.port[0], &t));
        g_assert_true(ernic_shm_send(l.port[0], &t));
        g_assert_true(fd_ready(ernic_shm_fd(l.port[1])));
        g_assert_cmpuint(ernic_shm_stats(l.port[0])->bells, ==, i + 1);
        ernic_shm_serve(l.port[1]);
        g_assert_false(fd_ready(ernic_shm_fd(l.port[1])));
        expect(l.port[1], &t);
        expect(l.port[1], &t);
        expect_none(l.port[1]);
    }
    lab_close(&l);
}

/* A sleeping port hears of a peer that came meanwhile. */
static void test_sleep_newcomer(void)
{
    ErnicTrain t;
    Lab l;

    lab_open(&l, 1);
    g_assert_true(ernic_shm_sleep(l.port[0]));
    lab_join(&l, 1, false);
    t = lab_train(&l, 1, 0, data, 100, 100);
    g_assert_true(ernic_shm_sleep(l.port[0]));
    g_assert_true(ernic_shm_send(l.port[1], &t));
    g_assert_true(fd_ready(ernic_shm_fd(l.port[0])));
    ernic_shm_serve(l.port[0]);
    expect(l.port[0], &t);
    lab_close(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shm-port/round-trip", test_round_trip);
    g_test_add_func("/shm-port/everyone", test_everyone);
    g_test_add_func("/shm-port/group", test_group);
    g_test_add_func("/shm-port/addresses", test_addresses);
    g_test_add_func("/shm-port/most-addresses", test_most_addresses);
    g_test_add_func("/shm-port/come-and-go", test_come_and_go);
    g_test_add_func("/shm-port/remnant", test_remnant);
    g_test_add_func("/shm-port/other-files", test_other_files);
    g_test_add_func("/shm-port/icrc-differs", test_icrc_differs);
    g_test_add_func("/shm-port/bad-folder", test_bad_folder);
    g_test_add_func("/shm-port/full", test_full);
    g_test_add_func("/shm-port/stalled", test_stalled);
    g_test_add_func("/shm-port/full-group", test_full_group);
    g_test_add_func("/shm-port/full-and-gone", test_full_and_gone);
    g_test_add_func("/shm-port/sleep", test_sleep);
    g_test_add_func("/shm-port/sleep-newcomer", test_sleep_newcomer);
    return g_test_run();
}
