/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link: trains between two sockets on loopback. sendmsg() is wrapped, so that a
 * test can make it fail.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "gid_text.h"
#include "links/udp_socket.h"

#define ECT0    0x02
#define CE      0x03

/* ---- sendmsg() that fails ------------------------------------------------ */

ssize_t __real_sendmsg(int fd, const struct msghdr *hdr, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *hdr, int flags);

static struct {
    int err;                    /* 0: nothing fails */
    int after;                  /* calls that still succeed */
    bool segmented_only;
    int calls, segmented;
} hook;

static bool is_segmented(const struct msghdr *hdr)
{
    struct cmsghdr *cmsg;

    for (cmsg = CMSG_FIRSTHDR(hdr); cmsg;
         cmsg = CMSG_NXTHDR((struct msghdr *)hdr, cmsg)) {
        if (cmsg->cmsg_level == IPPROTO_UDP) {
            return true;
        }
    }
    return false;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *hdr, int flags)
{
    hook.calls++;
    hook.segmented += is_segmented(hdr);
    if (hook.err && (!hook.segmented_only || is_segmented(hdr)) &&
        hook.after-- <= 0) {
        errno = hook.err;
        return -1;
    }
    return __real_sendmsg(fd, hdr, flags);
}

static void hook_reset(void)
{
    memset(&hook, 0, sizeof(hook));
}

/* ---- two sockets --------------------------------------------------------- */

typedef struct Pair {
    ErnicUdp *a, *b;
    ErnicGid gid_a, gid_b;
} Pair;

static void add_peer(ErnicUdp *udp, const char *gid, const char *host,
                     uint16_t port)
{
    char *text = g_strdup_printf("%s=%s:%u", gid, host, port);
    char *err = NULL;

    g_assert_true(ernic_udp_add_peer(udp, text, &err));
    g_assert_null(err);
    g_free(text);
}

static ErnicUdp *open_link(const ErnicUdpConfig *cfg)
{
    char *err = NULL;
    ErnicUdp *udp = ernic_udp_new(cfg, &err);

    g_assert_cmpstr(err, ==, NULL);
    g_assert_nonnull(udp);
    return udp;
}

/* Two links, each of which has both in its map; @rx: b's configuration. */
static void pair_open(Pair *p, bool v6, const ErnicUdpConfig *rx)
{
    const char *host = v6 ? "[::1]" : "127.0.0.1";
    const char *a = v6 ? "fd00::1" : "10.0.0.1";
    const char *b = v6 ? "fd00::2" : "10.0.0.2";
    char *any = g_strdup_printf("%s:0", host);
    ErnicUdpConfig cfg = rx ? *rx : (ErnicUdpConfig) { 0 };

    hook_reset();
    p->gid_a = gid_of(a);
    p->gid_b = gid_of(b);
    p->a = open_link(&(ErnicUdpConfig) { .bind = any });
    cfg.bind = any;
    p->b = open_link(&cfg);
    g_assert_cmpuint(ernic_udp_port(p->a), !=, 0);
    add_peer(p->a, a, host, ernic_udp_port(p->a));
    add_peer(p->a, b, host, ernic_udp_port(p->b));
    add_peer(p->b, a, host, ernic_udp_port(p->a));
    add_peer(p->b, b, host, ernic_udp_port(p->b));
    g_free(any);
}

static void pair_close(Pair *p)
{
    ernic_udp_free(p->a);
    ernic_udp_free(p->b);
}

static bool has_ip6(void)
{
    struct sockaddr_in6 sa = { .sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    bool ok = fd >= 0 && bind(fd, (void *)&sa, sizeof(sa)) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

/* Skips the test on hosts without ::1. */
static bool cannot(bool v6)
{
    if (v6 && !has_ip6()) {
        g_test_skip("this host has no ::1");
        return true;
    }
    return false;
}

static ErnicTrain train_of(const Pair *p, const uint8_t *data, uint32_t len,
                           uint32_t seg)
{
    ErnicTrain train = {
        .path = { .sgid = p->gid_a, .dgid = p->gid_b, .vlan = ERNIC_NO_VLAN },
        .data = data, .len = len, .seg = seg, .serial = 1,
    };

    return train;
}

static void fill(uint8_t *data, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        data[i] = i * 7 + i / 251;
    }
}

static void wait_for(ErnicUdp *udp)
{
    struct pollfd pfd = { .fd = ernic_udp_fd(udp), .events = POLLIN };

    g_assert_cmpint(poll(&pfd, 1, 5000), ==, 1);
}

/*
 * Receive @len bytes that were sent with @seg, and compare: every packet is whole, so
 * each train is cut at the sender's boundaries. Returns the number of trains.
 */
static uint32_t expect(const Pair *p, const uint8_t *data, uint32_t len,
                       uint32_t seg, uint8_t tclass)
{
    const ErnicTrain *t;
    uint32_t off = 0, trains = 0, i, n;

    while (off < len) {
        wait_for(p->b);
        n = ernic_udp_recv(p->b, &t, NULL);
        for (i = 0; i < n; i++, t++, trains++) {
            g_assert_cmpmem(&t->path.sgid, 16, &p->gid_a, 16);
            g_assert_cmpmem(&t->path.dgid, 16, &p->gid_b, 16);
            g_assert_cmpuint(t->path.udp_sport, ==, ernic_udp_port(p->a));
            g_assert_cmpuint(t->path.vlan, ==, ERNIC_NO_VLAN);
            g_assert_cmpuint(t->path.tclass, ==, tclass);
            g_assert_null(t->ip);
            g_assert_cmpuint(off % seg, ==, 0);
            g_assert_cmpuint(t->seg, ==, MIN(seg, len - off));
            g_assert_cmpuint(t->len, <=, len - off);
            g_assert_cmpmem(t->data, t->len, data + off, t->len);
            off += t->len;
        }
    }
    g_assert_cmpuint(ernic_udp_recv(p->b, &t, NULL), ==, 0);
    return trains;
}

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
    uint8_t data[65536];
    ErnicTrain train;
    uint32_t trains;
    Pair p;
    size_t i;

    if (cannot(v6)) {
        return;
    }
    pair_open(&p, v6, &cfg);
    fill(data, sizeof(data));
    for (i = 0; i < ARRAY_SIZE(shapes); i++) {
        uint32_t len = shapes[i].len, seg = shapes[i].seg;
        uint32_t n = DIV_ROUND_UP(len, seg);

        train = train_of(&p, data, len, seg);
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        trains = expect(&p, data, len, seg, 0);
        if (no_offload) {
            g_assert_cmpuint(trains, ==, n);
        } else if (ernic_udp_has_offload(p.b)) {
            g_assert_cmpuint(trains, ==, DIV_ROUND_UP(n, 64u));
        }
        packets += n;
        bytes += len;
    }
    tx = ernic_udp_stats(p.a);
    rx = ernic_udp_stats(p.b);
    g_assert_cmpuint(tx->tx_trains, ==, ARRAY_SIZE(shapes));
    g_assert_cmpuint(tx->tx_packets, ==, packets);
    g_assert_cmpuint(tx->tx_bytes, ==, bytes);
    g_assert_cmpuint(rx->rx_packets, ==, packets);
    g_assert_cmpuint(rx->rx_bytes, ==, bytes);
    g_assert_cmpuint(hook.segmented > 0, ==, ernic_udp_has_offload(p.a));
    for (i = 0; i < ERNIC_UDP_DROP_COUNT; i++) {
        g_assert_cmpuint(tx->drop[i] + rx->drop[i], ==, 0);
    }
    pair_close(&p);
}

static void test_round_trip4(void)
{
    round_trip(false, false);
}

static void test_round_trip6(void)
{
    round_trip(true, false);
}

static void test_cut_by_kernel4(void)
{
    round_trip(false, true);
}

static void test_cut_by_kernel6(void)
{
    round_trip(true, true);
}

/* The other way round: the sender segments, the receiver may coalesce. */
static void test_no_offload(void)
{
    ErnicUdpConfig cfg = { .no_offload = true };
    uint8_t data[8000];
    ErnicTrain train;
    Pair p;

    pair_open(&p, false, &cfg);
    fill(data, sizeof(data));
    train = train_of(&p, data, sizeof(data), 1040);
    train.path.sgid = p.gid_b;
    train.path.dgid = p.gid_a;
    g_assert_false(ernic_udp_has_offload(p.b));
    g_assert_true(ernic_udp_send(p.b, 0, &train));
    g_assert_cmpint(hook.calls, ==, 8);
    g_assert_cmpint(hook.segmented, ==, 0);
    p = (Pair) { p.b, p.a, p.gid_b, p.gid_a };
    g_assert_cmpuint(expect(&p, data, sizeof(data), 1040, 0), <=, 8);
    pair_close(&p);
}

static void traffic_class(bool v6)
{
    static const uint8_t classes[] = { 0, 1, ECT0, CE, 0x68 | ECT0, 0xff };
    uint8_t data[3000];
    ErnicTrain train;
    Pair p;
    size_t i;

    if (cannot(v6)) {
        return;
    }
    pair_open(&p, v6, NULL);
    fill(data, sizeof(data));
    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        train = train_of(&p, data, sizeof(data), 1040);
        train.path.tclass = classes[i];
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        expect(&p, data, sizeof(data), 1040, classes[i]);
    }
    pair_close(&p);
}

static void test_tclass4(void)
{
    traffic_class(false);
}

static void test_tclass6(void)
{
    traffic_class(true);
}

/* ---- refused and dropped packets ------------------------------------------ */

static uint64_t dropped(const ErnicUdp *udp, ErnicUdpDrop reason)
{
    return ernic_udp_stats(udp)->drop[reason];
}

/* A group: one copy to each peer except native ones and the sender itself. */
static void test_group(void)
{
    uint8_t data[3000];
    const ErnicTrain *got;
    ErnicTrain train;
    ErnicUdp *c;
    Pair p;

    pair_open(&p, false, NULL);
    c = open_link(&(ErnicUdpConfig) { .bind = "127.0.0.1:0" });
    add_peer(c, "10.0.0.1", "127.0.0.1", ernic_udp_port(p.a));
    add_peer(p.a, "10.0.0.3", "127.0.0.1", ernic_udp_port(c));
    add_peer(p.a, "fd00::3", "127.0.0.1", ernic_udp_port(c));
    add_peer(p.a, "192.0.2.9", "192.0.2.9", 4791);
    fill(data, sizeof(data));
    train = train_of(&p, data, sizeof(data), 1000);
    train.path.dgid = gid_of("239.1.2.3");
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpuint(ernic_udp_stats(p.a)->tx_packets, ==, 6);
    g_assert_cmpuint(ernic_udp_stats(p.a)->tx_trains, ==, 1);
    expect(&p, data, sizeof(data), 1000, 0);
    wait_for(c);
    g_assert_cmpuint(ernic_udp_recv(c, &got, NULL), >, 0);
    g_assert_cmpmem(got->path.sgid.raw, 16, p.gid_a.raw, 16);

    /* Nothing was sent: the train is offered again. Later failures lose a copy. */
    hook.err = EAGAIN;
    hook.after = 0;
    hook.calls = 0;
    g_assert_false(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpuint(ernic_udp_stats(p.a)->tx_busy, ==, 1);
    hook_reset();
    hook.err = EAGAIN;
    hook.after = 4;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpuint(dropped(p.a, ERNIC_UDP_DROP_COPY), ==, 2);
    hook_reset();
    ernic_udp_free(c);
    pair_close(&p);
}

/* An endpoint with two addresses: the path has one, the train both. */
static void test_aliases(void)
{
    uint8_t data[100] = { 1 };
    const ErnicTrain *got;
    ErnicTrain train;
    Pair p;

    pair_open(&p, false, NULL);
    add_peer(p.a, "fd00::2", "127.0.0.1", ernic_udp_port(p.b));
    add_peer(p.b, "fd00::1", "127.0.0.1", ernic_udp_port(p.a));
    add_peer(p.b, "fd00::2", "127.0.0.1", ernic_udp_port(p.b));
    train = train_of(&p, data, sizeof(data), sizeof(data));
    train.path.sgid = gid_of("fd00::1");
    train.path.dgid = gid_of("fd00::2");
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    wait_for(p.b);
    g_assert_cmpuint(ernic_udp_recv(p.b, &got, NULL), ==, 1);
    assert_gid(&got->path.sgid, "10.0.0.1");
    assert_gid(&got->path.dgid, "10.0.0.2");
    g_assert_cmpuint(got->num_alt_sgid, ==, 1);
    g_assert_cmpuint(got->num_alt_dgid, ==, 1);
    assert_gid(got->alt_sgid, "fd00::1");
    assert_gid(got->alt_dgid, "fd00::2");
    pair_close(&p);
}

static void test_unknown(void)
{
    uint8_t data[3000] = { 0 };
    const ErnicTrain *got;
    ErnicTrain train;
    char *err = NULL;
    Pair p;

    pair_open(&p, false, NULL);
    train = train_of(&p, data, sizeof(data), 1000);
    train.path.dgid = gid_of("10.0.0.3");
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpuint(dropped(p.a, ERNIC_UDP_DROP_UNKNOWN_DEST), ==, 3);
    g_assert_cmpuint(ernic_udp_stats(p.a)->tx_trains, ==, 0);
    g_assert_cmpint(hook.calls, ==, 0);

    g_assert_true(ernic_udp_remove_peer(p.b, "10.0.0.1", &err));
    train.path.dgid = p.gid_b;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    wait_for(p.b);
    g_assert_cmpuint(ernic_udp_recv(p.b, &got, NULL), ==, 0);
    g_assert_cmpuint(dropped(p.b, ERNIC_UDP_DROP_UNKNOWN_SOURCE), ==, 3);
    g_assert_cmpuint(ernic_udp_stats(p.b)->rx_packets, ==, 0);

    /* Added again at run time. */
    add_peer(p.b, "10.0.0.1", "127.0.0.1", ernic_udp_port(p.a));
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    expect(&p, data, sizeof(data), 1000, 0);
    pair_close(&p);
}

/* One bad datagram between two good ones does not disturb them. */
static void test_bad_datagrams(void)
{
    ErnicUdpConfig cfg = { .buf_bytes = 1000 };
    uint8_t data[2000];
    const ErnicTrain *got;
    ErnicTrain train;
    static const struct {
        uint32_t off, len;
    } want[] = { { 0, 1000 }, { 500, 900 } };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    uint32_t good = 0, i, n;
    bool more = true;
    Pair p;

    pair_open(&p, false, &cfg);
    fill(data, sizeof(data));
    sa.sin_port = htons(ernic_udp_port(p.b));
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    train = train_of(&p, data, 1000, 1000);
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    train = train_of(&p, data, 1001, 1001);
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpint(sendto(ernic_udp_fd(p.a), data, 0, 0, (void *)&sa,
                           sizeof(sa)), ==, 0);
    train = train_of(&p, data + 500, 900, 900);
    g_assert_true(ernic_udp_send(p.a, 0, &train));

    wait_for(p.b);
    while (more) {
        n = ernic_udp_recv(p.b, &got, &more);
        for (i = 0; i < n; i++, good++) {
            g_assert_cmpuint(good, <, ARRAY_SIZE(want));
            g_assert_cmpmem(got[i].data, got[i].len, data + want[good].off,
                            want[good].len);
        }
    }
    g_assert_cmpuint(good, ==, ARRAY_SIZE(want));
    g_assert_cmpuint(dropped(p.b, ERNIC_UDP_DROP_TRUNCATED), ==, 1);
    g_assert_cmpuint(dropped(p.b, ERNIC_UDP_DROP_EMPTY), ==, 1);
    g_assert_cmpuint(ernic_udp_stats(p.b)->rx_packets, ==, 2);
    pair_close(&p);
}

static void test_kernel_drops(void)
{
    ErnicUdpConfig cfg = { .socket_bytes = 16384, .batch = 4 };
    uint32_t sent = 200, got = 0, i;
    uint8_t data[2000] = { 0 };
    const ErnicTrain *t;
    ErnicTrain train;
    bool more = true;
    Pair p;

    pair_open(&p, false, &cfg);
    train = train_of(&p, data, sizeof(data), sizeof(data));
    for (i = 0; i < sent; i++) {
        g_assert_true(ernic_udp_send(p.a, 0, &train));
    }
    while (more) {
        got += ernic_udp_recv(p.b, &t, &more);
    }
    g_assert_cmpuint(got, <, sent);
    g_assert_cmpuint(got, >, 0);
    /* The kernel reports drops with the next datagram that it keeps. */
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    wait_for(p.b);
    g_assert_cmpuint(ernic_udp_recv(p.b, &t, NULL), ==, 1);
    g_assert_cmpuint(dropped(p.b, ERNIC_UDP_DROP_KERNEL), ==, sent - got);
    pair_close(&p);
}

/* The socket fills up in the middle of a train that is sent packet by packet. */
static void test_busy(void)
{
    ErnicUdpConfig cfg = { .no_offload = true };
    uint8_t data[8000];
    ErnicTrain train;
    Pair p, back;

    pair_open(&p, false, &cfg);
    fill(data, sizeof(data));
    back = (Pair) { p.b, p.a, p.gid_b, p.gid_a };
    train = train_of(&back, data, sizeof(data), 1000);
    hook.err = EAGAIN;
    hook.after = 3;
    g_assert_false(ernic_udp_send(back.a, 0, &train));
    g_assert_false(ernic_udp_send(back.a, 0, &train));
    g_assert_cmpuint(ernic_udp_stats(back.a)->tx_busy, ==, 2);
    g_assert_cmpuint(ernic_udp_stats(back.a)->tx_trains, ==, 0);
    hook_reset();
    g_assert_true(ernic_udp_send(back.a, 0, &train));
    g_assert_cmpint(hook.calls, ==, 5);         /* none is sent twice */
    expect(&back, data, sizeof(data), 1000, 0);
    g_assert_cmpuint(ernic_udp_stats(back.a)->tx_packets, ==, 8);
    pair_close(&p);
}

/*
 * Two engines share a socket: the train that one of them could not send to its
 * end is not confused with a train of the other, nor with a later one, of the
 * same shape.
 */
static void test_busy_two(void)
{
    ErnicUdpConfig cfg = { .no_offload = true };
    uint8_t data[2][8000];
    ErnicTrain train;
    Pair p, back;

    pair_open(&p, false, &cfg);
    fill(data[0], sizeof(data[0]));
    memset(data[1], 0x5a, sizeof(data[1]));
    back = (Pair) { p.b, p.a, p.gid_b, p.gid_a };
    train = train_of(&back, data[0], sizeof(data[0]), 1000);
    hook.err = EAGAIN;
    hook.after = 3;
    g_assert_false(ernic_udp_send(back.a, 0, &train));
    expect(&back, data[0], 3000, 1000, 0);
    hook_reset();
    train.data = data[1];
    g_assert_true(ernic_udp_send(back.a, 1, &train));
    expect(&back, data[1], sizeof(data[1]), 1000, 0);
    train.data = data[0];
    g_assert_true(ernic_udp_send(back.a, 0, &train));
    expect(&back, data[0] + 3000, 5000, 1000, 0);
    g_assert_cmpint(hook.calls, ==, 13);        /* none is left out or repeated */

    /* The refused train was given up: the next one starts at its beginning. */
    train.serial = 2;
    hook.err = EAGAIN;
    hook.after = 3;
    g_assert_false(ernic_udp_send(back.a, 0, &train));
    expect(&back, data[0], 3000, 1000, 0);
    hook_reset();
    train.serial = 3;
    g_assert_true(ernic_udp_send(back.a, 0, &train));
    expect(&back, data[0], sizeof(data[0]), 1000, 0);
    pair_close(&p);
}

/* After a reset another train of that shape is sent whole. */
static void test_forget(void)
{
    ErnicUdpConfig cfg = { .no_offload = true };
    uint8_t data[8000];
    ErnicTrain train;
    Pair p, back;

    pair_open(&p, false, &cfg);
    fill(data, sizeof(data));
    back = (Pair) { p.b, p.a, p.gid_b, p.gid_a };
    train = train_of(&back, data, sizeof(data), 1000);
    hook.err = EAGAIN;
    hook.after = 3;
    g_assert_false(ernic_udp_send(back.a, 0, &train));
    hook_reset();
    ernic_udp_forget(back.a, 0);
    g_assert_true(ernic_udp_send(back.a, 0, &train));
    g_assert_cmpint(hook.calls, ==, 8);
    pair_close(&p);
}

/* A route that cannot segment is served packet by packet, from then on. */
static void test_fallback(void)
{
    uint8_t data[8000];
    ErnicTrain train;
    Pair p;

    pair_open(&p, false, NULL);
    if (!ernic_udp_has_offload(p.a)) {
        g_test_skip("this host has no UDP_SEGMENT");
        pair_close(&p);
        return;
    }
    fill(data, sizeof(data));
    train = train_of(&p, data, sizeof(data), 1000);
    hook.err = EIO;
    hook.segmented_only = true;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpint(hook.calls, ==, 9);
    expect(&p, data, sizeof(data), 1000, 0);
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpint(hook.calls, ==, 17);
    expect(&p, data, sizeof(data), 1000, 0);
    pair_close(&p);
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

static void test_send_errors(void)
{
    uint8_t data[8000];
    ErnicTrain train;
    Pair p;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(send_errors); i++) {
        pair_open(&p, false, NULL);
        fill(data, sizeof(data));
        train = train_of(&p, data, sizeof(data), 1000);
        hook.err = send_errors[i].err;
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        g_assert_cmpuint(dropped(p.a, send_errors[i].reason), ==, 8);
        hook_reset();
        /* The error has no lasting effect: the next train is segmented again. */
        g_assert_true(ernic_udp_send(p.a, 0, &train));
        g_assert_cmpint(hook.segmented, ==, ernic_udp_has_offload(p.a));
        expect(&p, data, sizeof(data), 1000, 0);
        pair_close(&p);
    }
}

/* ---- addresses of its own ------------------------------------------------ */

/* Prefixes: each end has a loopback address of its own and port 4791. */
static void test_prefix(void)
{
    uint32_t net = 1 + getpid() % 250;
    char *map = g_strdup_printf("10.99.0.0/24=127.99.%u.0/24", net);
    char *bind_a = g_strdup_printf("127.99.%u.1", net);
    char *bind_b = g_strdup_printf("127.99.%u.2:4791", net);
    uint8_t data[3000];
    ErnicTrain train;
    char *err = NULL;
    Pair p = { .gid_a = gid_of("10.99.0.1"), .gid_b = gid_of("10.99.0.2") };

    hook_reset();
    p.a = open_link(&(ErnicUdpConfig) { .bind = bind_a });
    p.b = open_link(&(ErnicUdpConfig) { .bind = bind_b });
    g_assert_true(ernic_udp_add_peer(p.a, map, &err));
    g_assert_true(ernic_udp_add_peer(p.b, map, &err));
    g_assert_cmpuint(ernic_udp_port(p.a), ==, 4791);
    fill(data, sizeof(data));
    train = train_of(&p, data, sizeof(data), 1000);
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    expect(&p, data, sizeof(data), 1000, 0);
    pair_close(&p);
    g_free(map);
    g_free(bind_a);
    g_free(bind_b);
}

/* Sockets bound to no address report for each packet its destination address. */
static void wildcard(bool v6)
{
    const char *bind_any = v6 ? "[::]:0" : "0.0.0.0:0";
    const char *host_a = v6 ? "[::1]" : "127.0.0.3";
    const char *host_b = v6 ? "[::1]" : "127.0.0.4";
    const char *a = v6 ? "fd00::1" : "10.0.0.3";
    const char *b = v6 ? "fd00::2" : "10.0.0.4";
    uint8_t data[3000];
    ErnicTrain train;
    Pair p = { .gid_a = gid_of(a), .gid_b = gid_of(b) };

    if (cannot(v6)) {
        return;
    }
    hook_reset();
    p.a = open_link(&(ErnicUdpConfig) { .bind = bind_any });
    p.b = open_link(&(ErnicUdpConfig) { .bind = bind_any });
    add_peer(p.a, a, host_a, ernic_udp_port(p.a));
    add_peer(p.a, b, host_b, ernic_udp_port(p.b));
    add_peer(p.b, a, host_a, ernic_udp_port(p.a));
    add_peer(p.b, b, host_b, ernic_udp_port(p.b));
    fill(data, sizeof(data));
    train = train_of(&p, data, sizeof(data), 1000);
    train.path.tclass = CE;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    expect(&p, data, sizeof(data), 1000, CE);

    /* A source address that is not in the map cannot send. */
    train.path.sgid = gid_of("10.9.9.9");
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpuint(dropped(p.a, ERNIC_UDP_DROP_UNKNOWN_DEST), ==, 3);
    pair_close(&p);
}

static void test_wildcard4(void)
{
    wildcard(false);
}

static void test_wildcard6(void)
{
    wildcard(true);
}

/* An end without a line of its own in the map is found by its host address. */
static void test_own_address(void)
{
    uint8_t data[100] = { 1 };
    const ErnicTrain *got;
    ErnicTrain train;
    char *err = NULL;
    Pair p;

    pair_open(&p, false, NULL);
    g_assert_true(ernic_udp_remove_peer(p.b, "10.0.0.2", &err));
    train = train_of(&p, data, sizeof(data), sizeof(data));
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    wait_for(p.b);
    g_assert_cmpuint(ernic_udp_recv(p.b, &got, NULL), ==, 1);
    assert_gid(&got->path.dgid, "127.0.0.1");
    pair_close(&p);
}

static void test_open_errors(void)
{
    ErnicUdpConfig cfg = { .bind = "nowhere" };
    ErnicUdp *udp;
    char *err = NULL;

    g_assert_null(ernic_udp_new(&cfg, &err));
    g_assert_cmpstr(err, ==, "'nowhere' is not an IP address");
    g_clear_pointer(&err, g_free);
    cfg.bind = "203.0.113.254:4791";              /* TEST-NET-3: not ours */
    g_assert_null(ernic_udp_new(&cfg, &err));
    g_assert_nonnull(strstr(err, "UDP socket on '203.0.113.254:4791': "));
    g_clear_pointer(&err, g_free);
    g_assert_null(ernic_udp_new(&cfg, NULL));

    cfg.bind = "127.0.0.1:0";
    udp = open_link(&cfg);
    g_assert_false(ernic_udp_add_peer(udp, "fd00::1=[::1]:1", &err));
    g_assert_cmpstr(err, ==, "'fd00::1=[::1]:1': the socket is bound to IPv4");
    g_clear_pointer(&err, g_free);
    g_assert_false(ernic_udp_add_peer(udp, "rubbish", &err));
    g_clear_pointer(&err, g_free);
    g_assert_false(ernic_udp_remove_peer(udp, "10.0.0.1", &err));
    g_assert_cmpstr(err, ==, "'10.0.0.1' is not in the map");
    g_free(err);
    ernic_udp_free(udp);
    ernic_udp_free(NULL);
}

/* DF set and identification 0, which the ICRC relies on. */
static void test_socket_options(void)
{
    int value = -1;
    socklen_t len = sizeof(value);
    Pair p;

    pair_open(&p, false, NULL);
    g_assert_cmpint(getsockopt(ernic_udp_fd(p.a), IPPROTO_IP, IP_MTU_DISCOVER,
                               &value, &len), ==, 0);
    g_assert_cmpint(value, ==, IP_PMTUDISC_DO);
    pair_close(&p);
}

/*
 * Off loopback, a peer of the same address inside and outside gets one
 * datagram a packet: identifications must not be counted up.
 */
static void test_native(void)
{
    uint8_t data[3000] = { 0 };
    Pair p;
    ErnicTrain train;
    char *err = NULL;

    pair_open(&p, false, NULL);
    g_assert_true(ernic_udp_add_peer(p.a, "198.51.100.0/24=198.51.100.0/24",
                                     &err));
    train = train_of(&p, data, sizeof(data), 1000);
    train.path.dgid = gid_of("198.51.100.7");
    hook.err = ENETUNREACH;
    hook.after = 0;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    g_assert_cmpint(hook.calls, ==, 1);
    g_assert_cmpint(hook.segmented, ==, 0);
    pair_close(&p);
}

static void test_drop_names(void)
{
    int i;

    for (i = 0; i < ERNIC_UDP_DROP_COUNT; i++) {
        g_assert_cmpuint(strlen(ernic_udp_drop_name(i)), >, 0);
    }
    g_assert_cmpstr(ernic_udp_drop_name(ERNIC_UDP_DROP_KERNEL), ==, "kernel");
    g_assert_cmpstr(ernic_udp_drop_name(i), ==, "invalid");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link-udp/round-trip/ipv4", test_round_trip4);
    g_test_add_func("/link-udp/round-trip/ipv6", test_round_trip6);
    g_test_add_func("/link-udp/cut-by-kernel/ipv4", test_cut_by_kernel4);
    g_test_add_func("/link-udp/cut-by-kernel/ipv6", test_cut_by_kernel6);
    g_test_add_func("/link-udp/no-offload", test_no_offload);
    g_test_add_func("/link-udp/tclass/ipv4", test_tclass4);
    g_test_add_func("/link-udp/tclass/ipv6", test_tclass6);
    g_test_add_func("/link-udp/group", test_group);
    g_test_add_func("/link-udp/aliases", test_aliases);
    g_test_add_func("/link-udp/unknown", test_unknown);
    g_test_add_func("/link-udp/bad-datagrams", test_bad_datagrams);
    g_test_add_func("/link-udp/kernel-drops", test_kernel_drops);
    g_test_add_func("/link-udp/busy", test_busy);
    g_test_add_func("/link-udp/busy-two", test_busy_two);
    g_test_add_func("/link-udp/forget", test_forget);
    g_test_add_func("/link-udp/fallback", test_fallback);
    g_test_add_func("/link-udp/send-errors", test_send_errors);
    g_test_add_func("/link-udp/prefix", test_prefix);
    g_test_add_func("/link-udp/wildcard/ipv4", test_wildcard4);
    g_test_add_func("/link-udp/wildcard/ipv6", test_wildcard6);
    g_test_add_func("/link-udp/own-address", test_own_address);
    g_test_add_func("/link-udp/open-errors", test_open_errors);
    g_test_add_func("/link-udp/socket-options", test_socket_options);
    g_test_add_func("/link-udp/native", test_native);
    g_test_add_func("/link-udp/drop-names", test_drop_names);
    return g_test_run();
}
