/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of the UDP link: two sockets on loopback. sendmsg() is wrapped, so
 * that a test can make it fail.
 */
#ifndef UDP_FIXTURE_H
#define UDP_FIXTURE_H

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "gid_text.h"
#include "links/udp/socket.h"
#include "test.h"

/* ---- sendmsg() that fails ------------------------------------------------ */

ssize_t __real_sendmsg(int fd, const struct msghdr *hdr, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *hdr, int flags);

static struct {
    int err;                    /* 0: nothing fails */
    int after;                  /* calls that still succeed */
    bool segmented_only;
    int calls, segmented;
} hook;

static inline bool is_segmented(const struct msghdr *hdr)
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
    if (hook.err && (!hook.segmented_only || is_segmented(hdr)) && hook.after-- <= 0) {
        errno = hook.err;
        return -1;
    }
    return __real_sendmsg(fd, hdr, flags);
}

static inline void hook_reset(void)
{
    memset(&hook, 0, sizeof(hook));
}

/* After @after more calls all fail. */
static inline void hook_fail(int err, int after)
{
    hook.err = err;
    hook.after = after;
}

/* ---- two sockets --------------------------------------------------------- */

static uint8_t data[65536];     /* what tests send */

typedef struct Pair {
    ErnicUdp *a, *b;
    ErnicGid gid_a, gid_b;
} Pair;

static inline void add_peer(ErnicUdp *udp, const char *gid, const char *host,
                            uint16_t port)
{
    g_autofree char *text = g_strdup_printf("%s=%s:%u", gid, host, port);
    char *err = NULL;

    g_assert_true(ernic_udp_add_peer(udp, text, &err));
    g_assert_null(err);
}

static inline ErnicUdp *open_link(const ErnicUdpConfig *cfg)
{
    char *err = NULL;
    ErnicUdp *udp = ernic_udp_new(cfg, &err);

    g_assert_cmpstr(err, ==, NULL);
    g_assert_nonnull(udp);
    return udp;
}

/* Each of the two has both in its map. */
static inline void add_both(Pair *p, const char *a, const char *host_a, const char *b,
                            const char *host_b)
{
    add_peer(p->a, a, host_a, ernic_udp_port(p->a));
    add_peer(p->a, b, host_b, ernic_udp_port(p->b));
    add_peer(p->b, a, host_a, ernic_udp_port(p->a));
    add_peer(p->b, b, host_b, ernic_udp_port(p->b));
}

/* Two links; @rx: b's configuration. */
static inline void pair_open(Pair *p, bool v6, const ErnicUdpConfig *rx)
{
    const char *host = v6 ? "[::1]" : "127.0.0.1";
    const char *a = v6 ? "fd00::1" : "10.0.0.1";
    const char *b = v6 ? "fd00::2" : "10.0.0.2";
    g_autofree char *any = g_strdup_printf("%s:0", host);
    ErnicUdpConfig cfg = *rx;

    for (uint32_t i = 0; i < sizeof(data); i++) {
        data[i] = i * 7 + i / 251;
    }
    hook_reset();
    p->gid_a = gid_of(a);
    p->gid_b = gid_of(b);
    p->a = open_link(&(ErnicUdpConfig) { .bind = any });
    cfg.bind = any;
    p->b = open_link(&cfg);
    g_assert_cmpuint(ernic_udp_port(p->a), !=, 0);
    add_both(p, a, host, b, host);
}

/* The same by IPv4 with the ends swapped: the sender does not let the kernel segment. */
static inline void pair_open_back(Pair *p)
{
    pair_open(p, false, &(ErnicUdpConfig) { .no_offload = true });
    *p = (Pair) { p->b, p->a, p->gid_b, p->gid_a };
}

static inline void pair_close(Pair *p)
{
    ernic_udp_free(p->a);
    ernic_udp_free(p->b);
}

static inline bool has_ip6(void)
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

static inline ErnicTrain train_of(const Pair *p, const uint8_t *bytes, uint32_t len,
                                  uint32_t seg)
{
    ErnicTrain train = {
        .path = { .sgid = p->gid_a, .dgid = p->gid_b, .vlan = ERNIC_NO_VLAN },
        .data = bytes, .len = len, .seg = seg, .serial = 1,
    };

    return train;
}

static inline void wait_for(ErnicUdp *udp)
{
    struct pollfd pfd = { .fd = ernic_udp_fd(udp), .events = POLLIN };

    g_assert_cmpint(poll(&pfd, 1, 5000), ==, 1);
}

/*
 * Receive @len bytes that were sent with @seg, and compare: every packet is whole, so
 * each train is cut at the sender's boundaries. Returns the number of trains.
 */
static inline uint32_t expect(const Pair *p, const uint8_t *bytes, uint32_t len,
                              uint32_t seg, uint8_t tclass)
{
    const ErnicTrain *t;
    uint32_t off = 0, trains = 0, n;

    while (off < len) {
        wait_for(p->b);
        n = ernic_udp_recv(p->b, &t, NULL);
        for (uint32_t i = 0; i < n; i++, t++, trains++) {
            g_assert_cmpmem(&t->path.sgid, 16, &p->gid_a, 16);
            g_assert_cmpmem(&t->path.dgid, 16, &p->gid_b, 16);
            g_assert_cmpuint(t->path.udp_sport, ==, ernic_udp_port(p->a));
            g_assert_cmpuint(t->path.vlan, ==, ERNIC_NO_VLAN);
            g_assert_cmpuint(t->path.tclass, ==, tclass);
            g_assert_null(t->ip);
            g_assert_cmpuint(off % seg, ==, 0);
            g_assert_cmpuint(t->seg, ==, MIN(seg, len - off));
            g_assert_cmpuint(t->len, <=, len - off);
            g_assert_cmpmem(t->data, t->len, bytes + off, t->len);
            off += t->len;
        }
    }
    g_assert_cmpuint(ernic_udp_recv(p->b, &t, NULL), ==, 0);
    return trains;
}

static inline uint64_t dropped(const ErnicUdp *udp, ErnicUdpDrop reason)
{
    return ernic_udp_stats(udp)->drop[reason];
}

/* The head of two tests, by IPv4 and, on hosts with ::1, by IPv6. */
#define BOTH_TEST(path, fn) \
    static void fn(bool v6); \
    TEST(path "/ipv4", fn##4) \
    { \
        fn(false); \
    } \
    TEST(path "/ipv6", fn##6) \
    { \
        if (has_ip6()) { \
            fn(true); \
        } else { \
            g_test_skip("this host has no ::1"); \
        } \
    } \
    static void fn(bool v6)

/* The head of a test of a Pair *p by IPv4; the rest configures its second socket. */
#define UDP_TEST(path, fn, ...) \
    WORLD_TEST(path, fn, Pair, p, \
               pair_open(p, false, &(ErnicUdpConfig) { __VA_ARGS__ }), pair_close(p))

#define BACK_TEST(path, fn) \
    WORLD_TEST(path, fn, Pair, p, pair_open_back(p), pair_close(p))

#endif /* UDP_FIXTURE_H */
