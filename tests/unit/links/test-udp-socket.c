/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link: trains between two sockets, cut and joined by the kernel or by us; what
 * is refused, dropped, or sent again.
 */
#include "qemu/osdep.h"
#include "udp_fixture.h"

#define ECT0    0x02
#define CE      0x03

/* Lengths and cuts: one packet, a short one, full ones, a short end. */
static const struct {
    uint32_t len, seg;
} shapes[] = {
    { 24, 24 }, { 1, 1 }, { 1040, 1040 }, { 4112, 4112 }, { 4160, 1040 },
    { 4161, 1040 }, { 61740, 4116 }, { 64 * 1016, 1016 }, { 65 * 20, 20 },
    { 100 * 40 + 4, 40 }, { 64000, 16000 },
};

static void round_trip(bool v6, bool no_offload)
{
    ErnicUdpConfig cfg = { .no_offload = no_offload };
    uint64_t packets = 0, bytes = 0;
    const ErnicUdpStats *tx, *rx;
    ErnicTrain train;
    uint32_t trains;
    Pair p;

    pair_open(&p, v6, &cfg);
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        uint32_t len = shapes[i].len, seg = shapes[i].seg;
        uint32_t n = DIV_ROUND_UP(len, seg);

        train = train_of(&p, data, len, seg);
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        trains = expect(&p, data, len, seg, 0);
        if (no_offload) {
            IS(trains, n);
        } else if (ernic_udp_has_offload(p.b)) {
            IS(trains, DIV_ROUND_UP(n, 64u));
        }
        packets += n;
        bytes += len;
    }
    tx = ernic_udp_stats(p.a);
    rx = ernic_udp_stats(p.b);
    IS(tx->tx_trains, ARRAY_SIZE(shapes));
    IS(tx->tx_packets, packets);
    IS(tx->tx_bytes, bytes);
    IS(rx->rx_packets, packets);
    IS(rx->rx_bytes, bytes);
    IS(hook.segmented > 0, ernic_udp_has_offload(p.a));
    for (size_t i = 0; i < ERNIC_UDP_DROP_COUNT; i++) {
        IS(tx->drop[i] + rx->drop[i], 0);
    }
    pair_close(&p);
}

BOTH_TEST("/link-udp/round-trip", test_round_trip)
{
    round_trip(v6, false);
}

BOTH_TEST("/link-udp/cut-by-kernel", test_cut_by_kernel)
{
    round_trip(v6, true);
}

/* The other way round: the sender segments, the receiver may coalesce. */
BACK_TEST("/link-udp/no-offload", test_no_offload)
{
    ErnicTrain train = train_of(p, data, 8000, 1040);

    g_assert_false(ernic_udp_has_offload(p->a));
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(hook.calls, 8);
    IS(hook.segmented, 0);
    g_assert_cmpuint(expect(p, data, 8000, 1040, 0), <=, 8);
}

BOTH_TEST("/link-udp/tclass", test_tclass)
{
    static const uint8_t classes[] = { 0, 1, ECT0, CE, 0x68 | ECT0, 0xff };
    ErnicTrain train;
    Pair p;

    pair_open(&p, v6, &(ErnicUdpConfig) { });
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        train = train_of(&p, data, 3000, 1040);
        train.path.tclass = classes[i];
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        expect(&p, data, 3000, 1040, classes[i]);
    }
    pair_close(&p);
}

/* ---- refused and dropped packets ------------------------------------------ */

/* One bad datagram between two good ones does not disturb them. */
UDP_TEST("/link-udp/bad-datagrams", test_bad_datagrams, .buf_bytes = 1000)
{
    const ErnicTrain *got;
    ErnicTrain train;
    static const struct {
        uint32_t off, len;
    } want[] = { { 0, 1000 }, { 500, 900 } };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    uint32_t good = 0, n;
    bool more = true;

    sa.sin_port = htons(ernic_udp_port(p->b));
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    train = train_of(p, data, 1000, 1000);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    train = train_of(p, data, 1001, 1001);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(sendto(ernic_udp_fd(p->a), data, 0, 0, (void *)&sa, sizeof(sa)), 0);
    train = train_of(p, data + 500, 900, 900);
    g_assert_true(ernic_udp_send(p->a, 0, &train));

    wait_for(p->b);
    while (more) {
        n = ernic_udp_recv(p->b, &got, &more);
        for (uint32_t i = 0; i < n; i++, good++) {
            g_assert_cmpuint(good, <, ARRAY_SIZE(want));
            g_assert_cmpmem(got[i].data, got[i].len, data + want[good].off,
                            want[good].len);
        }
    }
    IS(good, ARRAY_SIZE(want));
    IS(dropped(p->b, ERNIC_UDP_DROP_TRUNCATED), 1);
    IS(dropped(p->b, ERNIC_UDP_DROP_EMPTY), 1);
    IS(ernic_udp_stats(p->b)->rx_packets, 2);
}

UDP_TEST("/link-udp/kernel-drops", test_kernel_drops, .socket_bytes = 16384, .batch = 4)
{
    uint32_t sent = 200, got = 0;
    const ErnicTrain *t;
    bool more = true;
    ErnicTrain train = train_of(p, data, 2000, 2000);

    for (uint32_t i = 0; i < sent; i++) {
        g_assert_true(ernic_udp_send(p->a, 0, &train));
    }
    while (more) {
        got += ernic_udp_recv(p->b, &t, &more);
    }
    g_assert_cmpuint(got, <, sent);
    g_assert_cmpuint(got, >, 0);
    /* The kernel reports drops with the next datagram that it keeps. */
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    wait_for(p->b);
    IS(ernic_udp_recv(p->b, &t, NULL), 1);
    IS(dropped(p->b, ERNIC_UDP_DROP_KERNEL), sent - got);
}

/*
 * Two engines share a socket: the train that one of them could not send to its
 * end is not confused with a train of the other, nor with a later one, of the
 * same shape.
 */
BACK_TEST("/link-udp/busy-two", test_busy_two)
{
    ErnicTrain train = train_of(p, data, 8000, 1000);

    hook_fail(EAGAIN, 3);
    g_assert_false(ernic_udp_send(p->a, 0, &train));
    IS(ernic_udp_stats(p->a)->tx_busy, 1);
    expect(p, data, 3000, 1000, 0);
    hook_reset();
    train.data = data + 8000;
    g_assert_true(ernic_udp_send(p->a, 1, &train));
    expect(p, data + 8000, 8000, 1000, 0);
    train.data = data;
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    expect(p, data + 3000, 5000, 1000, 0);
    IS(hook.calls, 13);        /* none is left out or repeated */

    /* The refused train was given up: the next one starts at its beginning. */
    train.serial = 2;
    hook_fail(EAGAIN, 3);
    g_assert_false(ernic_udp_send(p->a, 0, &train));
    expect(p, data, 3000, 1000, 0);
    hook_reset();
    train.serial = 3;
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    expect(p, data, 8000, 1000, 0);
}

/* After a reset another train of that shape is sent whole. */
BACK_TEST("/link-udp/forget", test_forget)
{
    ErnicTrain train = train_of(p, data, 8000, 1000);

    hook_fail(EAGAIN, 3);
    g_assert_false(ernic_udp_send(p->a, 0, &train));
    hook_reset();
    ernic_udp_forget(p->a, 0);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(hook.calls, 8);
}

/* A route that cannot segment is served packet by packet, from then on. */
UDP_TEST("/link-udp/fallback", test_fallback)
{
    ErnicTrain train = train_of(p, data, 8000, 1000);

    if (!ernic_udp_has_offload(p->a)) {
        g_test_skip("this host has no UDP_SEGMENT");
        return;
    }
    hook.err = EIO;
    hook.segmented_only = true;
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(hook.calls, 9);
    expect(p, data, 8000, 1000, 0);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(hook.calls, 17);
    expect(p, data, 8000, 1000, 0);
}

static const struct {
    int err;
    ErnicUdpDrop reason;
} send_errors[] = {
    { EMSGSIZE, ERNIC_UDP_DROP_TOO_BIG },
    { ENETUNREACH, ERNIC_UDP_DROP_SEND_ERROR },
    { EPERM, ERNIC_UDP_DROP_SEND_ERROR },
    { EINVAL, ERNIC_UDP_DROP_SEND_ERROR },
};

UDP_TEST("/link-udp/send-errors", test_send_errors)
{
    ErnicTrain train = train_of(p, data, 8000, 1000);

    for (size_t i = 0; i < ARRAY_SIZE(send_errors); i++) {
        uint64_t before = dropped(p->a, send_errors[i].reason);

        hook_reset();
        hook.err = send_errors[i].err;
        g_assert_true(ernic_udp_send(p->a, 0, &train));
        IS(dropped(p->a, send_errors[i].reason), before + 8);
        hook_reset();
        /* The error has no lasting effect: the next train is segmented again. */
        g_assert_true(ernic_udp_send(p->a, 0, &train));
        IS(hook.segmented, ernic_udp_has_offload(p->a));
        expect(p, data, 8000, 1000, 0);
    }
}

/* DF set and identification 0, which the ICRC relies on. */
UDP_TEST("/link-udp/socket-options", test_socket_options)
{
    int value = -1;
    socklen_t len = sizeof(value);

    IS(getsockopt(ernic_udp_fd(p->a), IPPROTO_IP, IP_MTU_DISCOVER, &value, &len), 0);
    IS(value, IP_PMTUDISC_DO);
}
