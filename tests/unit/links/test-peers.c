/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The map of the UDP link: texts that are good and bad, look-ups both ways.
 */
#include "qemu/osdep.h"
#include "gid_text.h"
#include "test.h"

/* ---- texts --------------------------------------------------------------- */

static const struct {
    const char *text, *addr, *err;
    uint16_t port;
} endpoints[] = {
    { "127.0.0.1:4792", "127.0.0.1", NULL, 4792 },
    { "127.0.0.1", "127.0.0.1", NULL, 4791 },
    { "0.0.0.0:0", "0.0.0.0", NULL, 0 },
    { "[::1]:65535", "::1", NULL, 65535 },
    { "[fd00::2]", "fd00::2", NULL, 4791 },
    { "fd00::2", "fd00::2", NULL, 4791 },
    { "[127.0.0.1]:5", "127.0.0.1", NULL, 5 },
    { "", NULL, "'' is not an IP address" },
    { ":4791", NULL, "'' is not an IP address" },
    { "localhost:4791", NULL, "'localhost' is not an IP address" },
    { "10.0.0.300", NULL, "'10.0.0.300' is not an IP address" },
    { "10.0.0:1", NULL, "'10.0.0' is not an IP address" },
    { "::ffff:10.0.0.1", NULL, "'::ffff:10.0.0.1' is not an IP address" },
    { "[::1:4791", NULL, "'[::1:4791': ']' is missing" },
    { "[fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000]", NULL,
      "'fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000' is not an IP "
      "address" },
    { "10.0.0.1:65536", NULL, "'10.0.0.1:65536': the port is not 0 to 65535" },
    { "10.0.0.1:", NULL, "'10.0.0.1:': the port is not 0 to 65535" },
    { "10.0.0.1:-1", NULL, "'10.0.0.1:-1': the port is not 0 to 65535" },
    { "10.0.0.1:99999999999999999999", NULL,
      "'10.0.0.1:99999999999999999999': the port is not 0 to 65535" },
    { "10.0.0.1:1x", NULL, "'10.0.0.1:1x': 'x' makes no sense here" },
    { "10.0.0.0/8", NULL, "'10.0.0.0/8': one address is wanted, not a prefix" },
};

TEST("/link-map/endpoints", test_endpoints)
{
    char *err;

    for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
        ErnicEndpoint ep;
        bool ok;

        err = NULL;
        ok = ernic_endpoint_parse(endpoints[i].text, &ep, &err);
        g_assert_cmpstr(err, ==, endpoints[i].err);
        IS(ok, !endpoints[i].err);
        if (ok) {
            assert_gid(&ep.addr, endpoints[i].addr);
            IS(ep.port, endpoints[i].port);
        } else {
            g_assert_false(ernic_endpoint_parse(endpoints[i].text, &ep, NULL));
        }
        g_free(err);
    }
}

static const struct {
    const char *text, *guest, *host, *err;
    uint8_t plen;
    uint16_t port;
} peers[] = {
    { "10.0.0.2=127.0.0.1:4792", "10.0.0.2", "127.0.0.1", NULL, 128, 4792 },
    { "10.0.0.2=127.0.0.1", "10.0.0.2", "127.0.0.1", NULL, 128, 4791 },
    { "10.99.0.0/24=127.99.0.0/24", "10.99.0.0", "127.99.0.0", NULL, 120, 4791 },
    { "0.0.0.0/0=0.0.0.0/0", "0.0.0.0", "0.0.0.0", NULL, 96, 4791 },
    { "10.0.0.1/32=127.0.0.1/32", "10.0.0.1", "127.0.0.1", NULL, 128, 4791 },
    { "fd00::2=[::1]:5000", "fd00::2", "::1", NULL, 128, 5000 },
    { "fd00::/64=fd01::/64", "fd00::", "fd01::", NULL, 64, 4791 },
    { "fd00::/61=fd01:0:0:8::/61", "fd00::", "fd01:0:0:8::", NULL, 61, 4791 },
    { "fd00::/104=127.0.0.0/8", "fd00::", "127.0.0.0", NULL, 104, 4791 },
    { "fd00::2=127.0.0.1:1", "fd00::2", "127.0.0.1", NULL, 128, 1 },
    { "", NULL, NULL, "'' is not ADDRESS=ENDPOINT" },
    { "10.0.0.2", NULL, NULL, "'10.0.0.2' is not ADDRESS=ENDPOINT" },
    { "a=b=c", NULL, NULL, "'a=b=c' is not ADDRESS=ENDPOINT" },
    { "=127.0.0.1", NULL, NULL, "'' is not an IP address" },
    { "10.0.0.2=", NULL, NULL, "'' is not an IP address" },
    { "10.0.0.2:1=127.0.0.1", NULL, NULL, "'10.0.0.2:1': an RDMA address has no port" },
    { "10.0.0.2=127.0.0.1:0", NULL, NULL,
      "'127.0.0.1:0': nothing can be sent to port 0" },
    { "10.0.0.0/33=127.0.0.0/8", NULL, NULL,
      "'10.0.0.0/33': the prefix length is not 0 to 32" },
    { "fd00::/129=fd00::/128", NULL, NULL,
      "'fd00::/129': the prefix length is not 0 to 128" },
    { "10.0.0.0/=127.0.0.0/8", NULL, NULL,
      "'10.0.0.0/': the prefix length is not 0 to 32" },
    { "10.0.0.1/24=127.0.0.0/24", NULL, NULL,
      "'10.0.0.1/24' has bits set behind the prefix" },
    { "10.0.0.0/24=127.0.0.128/24", NULL, NULL,
      "'127.0.0.128/24' has bits set behind the prefix" },
    { "10.0.0.0/24=127.0.0.0/16", NULL, NULL,
      "'10.0.0.0/24' and '127.0.0.0/16' do not hold equally many addresses" },
    { "10.0.0.0/24=127.0.0.1", NULL, NULL,
      "'10.0.0.0/24' and '127.0.0.1' do not hold equally many addresses" },
    { "10.0.0.0/24=127.0.0.0/24:4792", NULL, NULL,
      "'127.0.0.0/24:4792': a prefix takes no port, it is always 4791" },
};

TEST("/link-map/peers", test_peers)
{
    char *err;

    for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
        ErnicPeer peer;
        bool ok;

        err = NULL;
        ok = ernic_peer_parse(peers[i].text, &peer, &err);
        g_assert_cmpstr(err, ==, peers[i].err);
        IS(ok, !peers[i].err);
        if (ok) {
            assert_gid(&peer.guest, peers[i].guest);
            assert_gid(&peer.host, peers[i].host);
            IS(peer.plen, peers[i].plen);
            IS(peer.port, peers[i].port);
            g_assert_false(peer.single);
        }
        g_free(err);
    }
}

/* ---- the map ------------------------------------------------------------- */

static void map_add(ErnicPeers *map, const char *text)
{
    ErnicPeer peer;
    char *err = NULL;

    g_assert_true(ernic_peer_parse(text, &peer, &err));
    g_assert_true(ernic_peers_add(map, &peer, &err));
    g_assert_null(err);
}

/* @host NULL: no such address. */
static void map_forth(ErnicPeers *map, const char *guest, const char *host)
{
    ErnicGid gid = gid_of(guest);
    ErnicEndpoint ep, want;

    if (!host) {
        g_assert_null(ernic_peers_to_host(map, &gid, &ep));
        return;
    }
    g_assert_nonnull(ernic_peers_to_host(map, &gid, &ep));
    g_assert_true(ernic_endpoint_parse(host, &want, NULL));
    g_assert_cmpmem(&ep.addr, 16, &want.addr, 16);
    IS(ep.port, want.port);
}

static void map_back(ErnicPeers *map, const char *host, const char *guest)
{
    ErnicGid gid[ERNIC_PEERS_ALIASES];
    ErnicEndpoint ep;

    g_assert_true(ernic_endpoint_parse(host, &ep, NULL));
    IS(ernic_peers_to_guest(map, &ep, gid), guest != NULL);
    if (guest) {
        assert_gid(gid, guest);
    }
}

TEST("/link-map/lookup", test_map_lookup)
{
    ErnicPeers *map = ernic_peers_new();

    map_forth(map, "10.0.0.2", NULL);
    map_back(map, "127.0.0.1:4792", NULL);

    map_add(map, "10.0.0.2=127.0.0.1:4792");
    map_add(map, "10.0.0.3=127.0.0.1:4793");
    map_add(map, "10.0.0.4=192.0.2.7");
    map_add(map, "10.99.0.0/24=127.99.0.0/24");
    map_add(map, "10.99.0.77=127.0.0.1:4777");
    map_add(map, "fd00::/61=fd01:0:0:8::/61");
    IS(ernic_peers_size(map), 6);

    map_forth(map, "10.0.0.2", "127.0.0.1:4792");
    map_forth(map, "10.0.0.3", "127.0.0.1:4793");
    map_forth(map, "10.0.0.1", NULL);
    map_forth(map, "10.99.0.78", "127.99.0.78:4791");
    map_forth(map, "10.99.0.77", "127.0.0.1:4777");     /* the longest */
    map_forth(map, "10.99.1.78", NULL);
    map_forth(map, "fd00::7:1:2:3:4", "fd01::f:1:2:3:4");
    map_forth(map, "fd00::8:0:0:0:0", NULL);

    map_back(map, "127.0.0.1:4792", "10.0.0.2");
    map_back(map, "127.0.0.1:4793", "10.0.0.3");
    map_back(map, "127.0.0.1:4794", NULL);
    map_back(map, "192.0.2.7:4791", "10.0.0.4");
    map_back(map, "192.0.2.7:49999", "10.0.0.4");       /* a native sender */
    map_back(map, "127.99.0.5:4791", "10.99.0.5");
    map_back(map, "127.99.0.5:50000", "10.99.0.5");
    map_back(map, "[fd01:0:0:9::1]:4791", "fd00::1:0:0:0:1");
    ernic_peers_free(map);
}

TEST("/link-map/change", test_map_change)
{
    static const char *const bad[] = { "10.99.0.1/24", "10.0.0.2:4792",
                                       "10.99.0.0", "10.99.0.0/16", "x" };
    ErnicPeers *map = ernic_peers_new();
    ErnicPeer peer;
    char *err = NULL;

    map_add(map, "10.99.0.0/24=127.99.0.0/24");
    map_add(map, "10.0.0.2=127.0.0.1:4792");
    g_assert_true(ernic_peer_parse("10.0.0.2=127.0.0.1:1", &peer, NULL));
    g_assert_false(ernic_peers_add(map, &peer, &err));
    g_assert_cmpstr(err, ==, "the address is in the map already");
    g_clear_pointer(&err, g_free);

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        g_assert_false(ernic_peers_remove(map, bad[i], &err));
        g_assert_nonnull(err);
        g_clear_pointer(&err, g_free);
    }
    IS(ernic_peers_size(map), 2);
    g_assert_true(ernic_peers_remove(map, "10.99.0.0/24", &err));
    map_forth(map, "10.99.0.1", NULL);
    map_back(map, "127.99.0.1:4791", NULL);
    map_forth(map, "10.0.0.2", "127.0.0.1:4792");
    g_assert_true(ernic_peers_remove(map, "10.0.0.2", &err));
    IS(ernic_peers_size(map), 0);
    map_add(map, "10.0.0.2=127.0.0.1:4793");
    map_forth(map, "10.0.0.2", "127.0.0.1:4793");
    ernic_peers_free(map);
}

/* An endpoint may have several addresses, of both families. */
TEST("/link-map/aliases", test_map_aliases)
{
    static const char *const guests[] = { "10.0.0.2", "fd00::2", "fe80::2",
                                          "10.1.0.2" };
    ErnicPeers *map = ernic_peers_new();
    ErnicGid gid[ERNIC_PEERS_ALIASES];
    ErnicEndpoint ep;
    ErnicPeer peer;
    char *err = NULL;

    g_assert_true(ernic_endpoint_parse("127.0.0.1:4792", &ep, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(guests); i++) {
        g_autofree char *text = g_strdup_printf("%s=127.0.0.1:4792", guests[i]);

        map_add(map, text);
        map_forth(map, guests[i], "127.0.0.1:4792");
        IS(ernic_peers_to_guest(map, &ep, gid), i + 1);
        assert_gid(&gid[0], guests[0]);
        assert_gid(&gid[i], guests[i]);
    }
    g_assert_true(ernic_peer_parse("10.0.0.9=127.0.0.1:4792", &peer, NULL));
    g_assert_false(ernic_peers_add(map, &peer, &err));
    g_assert_cmpstr(err, ==, "the endpoint stands for 4 addresses already");
    g_clear_pointer(&err, g_free);
    IS(ernic_peers_size(map), 4);

    /* Remove the first, one in the middle, and the last. */
    g_assert_true(ernic_peers_remove(map, "10.0.0.2", &err));
    g_assert_true(ernic_peers_remove(map, "fe80::2", &err));
    IS(ernic_peers_to_guest(map, &ep, gid), 2);
    assert_gid(&gid[0], "fd00::2");
    assert_gid(&gid[1], "10.1.0.2");
    g_assert_true(ernic_peers_remove(map, "10.1.0.2", &err));
    map_back(map, "127.0.0.1:4792", "fd00::2");
    g_assert_true(ernic_peers_remove(map, "fd00::2", &err));
    map_back(map, "127.0.0.1:4792", NULL);
    ernic_peers_free(map);
}

static void count_endpoint(ErnicPeer *peer, void *opaque)
{
    *(uint32_t *)opaque += peer->port;
}

/* Each endpoint once; a prefix has too many to list. */
TEST("/link-map/endpoints-of", test_map_endpoints)
{
    ErnicPeers *map = ernic_peers_new();
    uint32_t ports = 0;

    map_add(map, "10.0.0.2=127.0.0.1:1");
    map_add(map, "fd00::2=127.0.0.1:1");
    map_add(map, "10.0.0.3=127.0.0.1:10");
    map_add(map, "10.99.0.0/24=127.99.0.0/24");
    ernic_peers_each_endpoint(map, count_endpoint, &ports);
    IS(ports, 11);
    ernic_peers_free(map);
}
