/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link: groups, endpoints with several addresses, prefixes, sockets that are
 * bound to no address, and addresses that are not in the map.
 */
#include "qemu/osdep.h"
#include "udp_fixture.h"

#define CE      0x03

/* A group: one copy to each peer except native ones and the sender itself. */
UDP_TEST("/link-udp/group", test_group)
{
    const ErnicTrain *got;
    ErnicTrain train;
    ErnicUdp *c = open_link(&(ErnicUdpConfig) { .bind = "127.0.0.1:0" });

    add_peer(c, "10.0.0.1", "127.0.0.1", ernic_udp_port(p->a));
    add_peer(p->a, "10.0.0.3", "127.0.0.1", ernic_udp_port(c));
    add_peer(p->a, "fd00::3", "127.0.0.1", ernic_udp_port(c));
    add_peer(p->a, "192.0.2.9", "192.0.2.9", 4791);
    train = train_of(p, data, 3000, 1000);
    train.path.dgid = gid_of("239.1.2.3");
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(ernic_udp_stats(p->a)->tx_packets, 6);
    IS(ernic_udp_stats(p->a)->tx_trains, 1);
    expect(p, data, 3000, 1000, 0);
    wait_for(c);
    g_assert_cmpuint(ernic_udp_recv(c, &got, NULL), >, 0);
    g_assert_cmpmem(got->path.sgid.raw, 16, p->gid_a.raw, 16);

    /* Nothing was sent: the train is offered again. Later failures lose a copy. */
    hook_fail(EAGAIN, 0);
    hook.calls = 0;
    g_assert_false(ernic_udp_send(p->a, 0, &train));
    IS(ernic_udp_stats(p->a)->tx_busy, 1);
    hook_reset();
    hook_fail(EAGAIN, 4);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(dropped(p->a, ERNIC_UDP_DROP_COPY), 2);
    hook_reset();
    ernic_udp_free(c);
}

/* An endpoint with two addresses: the path has one, the train both. */
UDP_TEST("/link-udp/aliases", test_aliases)
{
    const ErnicTrain *got;
    ErnicTrain train;

    add_peer(p->a, "fd00::2", "127.0.0.1", ernic_udp_port(p->b));
    add_peer(p->b, "fd00::1", "127.0.0.1", ernic_udp_port(p->a));
    add_peer(p->b, "fd00::2", "127.0.0.1", ernic_udp_port(p->b));
    train = train_of(p, data, 100, 100);
    train.path.sgid = gid_of("fd00::1");
    train.path.dgid = gid_of("fd00::2");
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    wait_for(p->b);
    IS(ernic_udp_recv(p->b, &got, NULL), 1);
    assert_gid(&got->path.sgid, "10.0.0.1");
    assert_gid(&got->path.dgid, "10.0.0.2");
    IS(got->num_alt_sgid, 1);
    IS(got->num_alt_dgid, 1);
    assert_gid(got->alt_sgid, "fd00::1");
    assert_gid(got->alt_dgid, "fd00::2");
}

UDP_TEST("/link-udp/unknown", test_unknown)
{
    const ErnicTrain *got;
    char *err = NULL;
    ErnicTrain train = train_of(p, data, 3000, 1000);

    train.path.dgid = gid_of("10.0.0.3");
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(dropped(p->a, ERNIC_UDP_DROP_UNKNOWN_DEST), 3);
    IS(ernic_udp_stats(p->a)->tx_trains, 0);
    IS(hook.calls, 0);

    g_assert_true(ernic_udp_remove_peer(p->b, "10.0.0.1", &err));
    train.path.dgid = p->gid_b;
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    wait_for(p->b);
    IS(ernic_udp_recv(p->b, &got, NULL), 0);
    IS(dropped(p->b, ERNIC_UDP_DROP_UNKNOWN_SOURCE), 3);
    IS(ernic_udp_stats(p->b)->rx_packets, 0);

    /* Added again at run time. */
    add_peer(p->b, "10.0.0.1", "127.0.0.1", ernic_udp_port(p->a));
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    expect(p, data, 3000, 1000, 0);
}

/* Prefixes: each end has a loopback address of its own and port 4791. */
TEST("/link-udp/prefix", test_prefix)
{
    uint32_t net = 1 + getpid() % 250;
    g_autofree char *map = g_strdup_printf("10.99.0.0/24=127.99.%u.0/24", net);
    g_autofree char *bind_a = g_strdup_printf("127.99.%u.1", net);
    g_autofree char *bind_b = g_strdup_printf("127.99.%u.2:4791", net);
    ErnicTrain train;
    char *err = NULL;
    Pair p = { .gid_a = gid_of("10.99.0.1"), .gid_b = gid_of("10.99.0.2") };

    hook_reset();
    p.a = open_link(&(ErnicUdpConfig) { .bind = bind_a });
    p.b = open_link(&(ErnicUdpConfig) { .bind = bind_b });
    g_assert_true(ernic_udp_add_peer(p.a, map, &err));
    g_assert_true(ernic_udp_add_peer(p.b, map, &err));
    IS(ernic_udp_port(p.a), 4791);
    train = train_of(&p, data, 3000, 1000);
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    expect(&p, data, 3000, 1000, 0);
    pair_close(&p);
}

/* Sockets bound to no address report for each packet its destination address. */
BOTH_TEST("/link-udp/wildcard", test_wildcard)
{
    const char *bind_any = v6 ? "[::]:0" : "0.0.0.0:0";
    const char *host_a = v6 ? "[::1]" : "127.0.0.3";
    const char *host_b = v6 ? "[::1]" : "127.0.0.4";
    const char *a = v6 ? "fd00::1" : "10.0.0.3";
    const char *b = v6 ? "fd00::2" : "10.0.0.4";
    ErnicTrain train;
    Pair p = { .gid_a = gid_of(a), .gid_b = gid_of(b) };

    hook_reset();
    p.a = open_link(&(ErnicUdpConfig) { .bind = bind_any });
    p.b = open_link(&(ErnicUdpConfig) { .bind = bind_any });
    add_both(&p, a, host_a, b, host_b);
    train = train_of(&p, data, 3000, 1000);
    train.path.tclass = CE;
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    expect(&p, data, 3000, 1000, CE);

    /* A source address that is not in the map cannot send. */
    train.path.sgid = gid_of("10.9.9.9");
    g_assert_true(ernic_udp_send(p.a, 0, &train));
    IS(dropped(p.a, ERNIC_UDP_DROP_UNKNOWN_DEST), 3);
    pair_close(&p);
}

/* An end without a line of its own in the map is found by its host address. */
UDP_TEST("/link-udp/own-address", test_own_address)
{
    const ErnicTrain *got;
    ErnicTrain train;
    char *err = NULL;

    g_assert_true(ernic_udp_remove_peer(p->b, "10.0.0.2", &err));
    train = train_of(p, data, 100, 100);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    wait_for(p->b);
    IS(ernic_udp_recv(p->b, &got, NULL), 1);
    assert_gid(&got->path.dgid, "127.0.0.1");
}

/* An endpoint that is in use: the error has its address and port. */
BOTH_TEST("/link-udp/in-use", test_in_use)
{
    ErnicUdpConfig cfg = { .bind = v6 ? "[::1]:0" : "127.0.0.1:0" };
    ErnicUdp *udp = open_link(&cfg);
    g_autofree char *bind = g_strdup_printf(v6 ? "[::1]:%u" : "127.0.0.1:%u",
                                            ernic_udp_port(udp));
    g_autofree char *says = g_strdup_printf("UDP socket on %s: Address already in use",
                                            bind);
    g_autofree char *err = NULL;

    cfg.bind = bind;
    g_assert_null(ernic_udp_new(&cfg, &err));
    g_assert_cmpstr(err, ==, says);
    ernic_udp_free(udp);
}

TEST("/link-udp/open-errors", test_open_errors)
{
    ErnicUdpConfig cfg = { .bind = "nowhere" };
    ErnicUdp *udp;
    char *err = NULL;

    g_assert_null(ernic_udp_new(&cfg, &err));
    g_assert_cmpstr(err, ==, "'nowhere' is not an IP address");
    g_clear_pointer(&err, g_free);
    cfg.bind = "203.0.113.254";                   /* TEST-NET-3: not ours; port 4791 */
    g_assert_null(ernic_udp_new(&cfg, &err));
    g_assert_nonnull(strstr(err, "UDP socket on 203.0.113.254:4791: "));
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

/*
 * Off loopback, a peer of the same address inside and outside gets one
 * datagram a packet: identifications must not be counted up.
 */
UDP_TEST("/link-udp/native", test_native)
{
    ErnicTrain train;
    char *err = NULL;

    g_assert_true(ernic_udp_add_peer(p->a, "198.51.100.0/24=198.51.100.0/24", &err));
    train = train_of(p, data, 3000, 1000);
    train.path.dgid = gid_of("198.51.100.7");
    hook_fail(ENETUNREACH, 0);
    g_assert_true(ernic_udp_send(p->a, 0, &train));
    IS(hook.calls, 1);
    IS(hook.segmented, 0);
}
