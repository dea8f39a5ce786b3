/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames to paths and back: known bytes, every reason to drop, every truncation.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "test.h"
#include "wire/frame.h"

#define IB_LEN      32
#define FRAME_MAX   (ERNIC_NET_HDR_MAX + IB_LEN)

static const ErnicPath path4 = {
    .sgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
    .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
    .smac = { 2, 0, 0, 0, 0, 1 }, .dmac = { 2, 0, 0, 0, 0, 2 },
    .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .tclass = 0x6a, .hop_limit = 63,
};
static const ErnicPath path6 = {
    .sgid.raw = { 0xfe, 0x80, [15] = 1 },
    .dgid.raw = { 0xfe, 0x80, [15] = 2 },
    .smac = { 2, 0, 0, 0, 0, 1 }, .dmac = { 2, 0, 0, 0, 0, 2 },
    .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .flow_label = 0xabcde,
    .tclass = 0x6a, .hop_limit = 63,
};

/* The four shapes of a frame: IPv4 and IPv6, each without and with VLAN. */
static ErnicPath shape(uint32_t i)
{
    ErnicPath path = i & 1 ? path6 : path4;

    if (i & 2) {
        path.vlan = 0x6064;
    }
    return path;
}
#define SHAPES 4

static uint32_t build(const ErnicPath *path, uint8_t *frame)
{
    uint32_t n = ernic_net_emit(path, IB_LEN, frame);

    memset(frame + n, 0x5a, IB_LEN);
    return n + IB_LEN;
}

static void assert_path_equal(const ErnicPath *a, const ErnicPath *b)
{
    g_assert_cmpmem(a->sgid.raw, 16, b->sgid.raw, 16);
    g_assert_cmpmem(a->dgid.raw, 16, b->dgid.raw, 16);
    g_assert_cmpmem(a->smac, 6, b->smac, 6);
    g_assert_cmpmem(a->dmac, 6, b->dmac, 6);
    IS(a->vlan, b->vlan);
    IS(a->udp_sport, b->udp_sport);
    IS(a->flow_label, b->flow_label);
    IS(a->tclass, b->tclass);
    IS(a->hop_limit, b->hop_limit);
}

TEST("/net/known-bytes", test_known_bytes)
{
    static const uint8_t v4[] = {
        2, 0, 0, 0, 0, 2,  2, 0, 0, 0, 0, 1,  0x08, 0x00,
        0x45, 0x6a, 0x00, 0x3c,  0x00, 0x00, 0x40, 0x00,
        0x3f, 0x11, 0x27, 0x45,  10, 0, 0, 1,  10, 0, 0, 2,
        0xc1, 0x23, 0x12, 0xb7,  0x00, 0x28, 0x00, 0x00,
    };
    static const uint8_t v6[] = {
        2, 0, 0, 0, 0, 2,  2, 0, 0, 0, 0, 1,  0x81, 0x00, 0x60, 0x64,
        0x86, 0xdd,
        0x66, 0xaa, 0xbc, 0xde,  0x00, 0x28, 0x11, 0x3f,
        0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
        0xc1, 0x23, 0x12, 0xb7,  0x00, 0x28, 0x00, 0x00,
    };
    uint8_t buf[ERNIC_NET_HDR_MAX];
    ErnicPath path = shape(3);

    g_assert_cmpmem(buf, ernic_net_emit(&path4, IB_LEN, buf), v4, sizeof(v4));
    g_assert_cmpmem(buf, ernic_net_emit(&path, IB_LEN, buf), v6, sizeof(v6));
    IS(sizeof(v6), ERNIC_NET_HDR_MAX);
}

TEST("/net/round-trip", test_round_trip)
{
    for (uint32_t i = 0; i < SHAPES; i++) {
        ErnicPath path = shape(i);
        uint8_t frame[FRAME_MAX + 20], again[FRAME_MAX];
        uint32_t len = build(&path, frame);
        ErnicFrame f;

        IS(len, ernic_net_hdr_len(&path) + IB_LEN);
        /* Ethernet pads short frames; the IP length decides. */
        memset(frame + len, 0xee, 20);
        IS(ernic_net_parse(&f, frame, len + 20), ERNIC_DROP_NONE);
        assert_path_equal(&f.path, &path);
        IS(f.is_v6, i & 1);
        IS(f.ib_len, IB_LEN);
        g_assert_true(f.ib == frame + len - IB_LEN);
        g_assert_true(f.ip == f.ib - (f.is_v6 ? 48 : 28));

        IS(build(&f.path, again), len);
        g_assert_cmpmem(again, len, frame, len);
    }
}

/* A datagram without payload, followed by Ethernet's padding. */
TEST("/net/empty", test_empty)
{
    for (uint32_t i = 0; i < SHAPES; i++) {
        ErnicPath path = shape(i);
        uint8_t frame[FRAME_MAX] = { };
        ErnicFrame f;

        ernic_net_emit(&path, 0, frame);
        g_assert_cmpstr(ernic_drop_name(ernic_net_parse(&f, frame, 84)), ==,
                        "too_short");
        ernic_net_emit(&path, 1, frame);
        IS(ernic_net_parse(&f, frame, 84), ERNIC_DROP_NONE);
    }
}

/* A truncated frame is dropped, and no byte past its end is read. */
TEST("/net/truncation", test_truncation)
{
    for (uint32_t i = 0; i < SHAPES; i++) {
        ErnicPath path = shape(i);
        uint8_t frame[FRAME_MAX];
        uint32_t len = build(&path, frame);
        uint32_t hdr_len = ernic_net_hdr_len(&path);

        for (uint32_t n = 0; n < len; n++) {
            g_autofree uint8_t *cut = g_memdup2(frame, MAX(n, 1));
            ErnicFrame f;

            IS(ernic_net_parse(&f, cut, n),
               n < hdr_len ? ERNIC_DROP_NOT_ROCE : ERNIC_DROP_BAD_LENGTH);
        }
    }
}

static void fix_checksum(uint8_t *ip)
{
    stw_be_p(ip + 10, 0);
    stw_be_p(ip + 10, ernic_net_checksum(ip, (ip[0] & 0xf) * 4));
}

typedef struct DropCase {
    const char *name;
    uint32_t shape;
    uint8_t ofs;                /* from the Ethernet header */
    uint8_t bytes[4], count;
    bool checksum;              /* make IPv4's right again */
    ErnicDrop want;
} DropCase;

static const DropCase drop_cases[] = {
    { "ARP", 0, 12, { 0x08, 0x06 }, 2, false, ERNIC_DROP_NOT_ROCE },
    { "RoCEv1", 1, 12, { 0x89, 0x15 }, 2, false, ERNIC_DROP_NOT_ROCE },
    { "QinQ", 2, 16, { 0x81, 0x00 }, 2, false, ERNIC_DROP_NOT_ROCE },
    { "VLAN 0xfff", 2, 14, { 0xff, 0xff }, 2, false, ERNIC_DROP_VLAN },
    { "VLAN 0xfff low", 3, 14, { 0x0f, 0xff }, 2, false, ERNIC_DROP_VLAN },
    { "v4 version", 0, 14, { 0x55 }, 1, true, ERNIC_DROP_NOT_ROCE },
    { "v4 short IHL", 0, 14, { 0x44 }, 1, false, ERNIC_DROP_NOT_ROCE },
    { "v4 long IHL", 0, 14, { 0x4f }, 1, false, ERNIC_DROP_NOT_ROCE },
    { "v4 TCP", 0, 23, { 6 }, 1, true, ERNIC_DROP_NOT_ROCE },
    { "v4 other port", 0, 36, { 0x12, 0xb8 }, 2, false, ERNIC_DROP_NOT_ROCE },
    { "v4 later fragment", 0, 20, { 0x20, 0x01 }, 2, true, ERNIC_DROP_NOT_ROCE },
    { "v4 first fragment", 0, 20, { 0x20, 0x00 }, 2, true, ERNIC_DROP_FRAGMENT },
    { "v4 checksum", 0, 24, { 0, 0 }, 2, false, ERNIC_DROP_IP_HEADER },
    { "v4 TTL without checksum", 0, 22, { 9 }, 1, false, ERNIC_DROP_IP_HEADER },
    { "v4 long", 0, 16, { 0xff, 0xff }, 2, true, ERNIC_DROP_BAD_LENGTH },
    { "v4 short", 0, 16, { 0, 27 }, 2, true, ERNIC_DROP_BAD_LENGTH },
    { "v4 shorter than UDP", 0, 16, { 0, 59 }, 2, true, ERNIC_DROP_BAD_LENGTH },
    { "v4 UDP length", 0, 38, { 0, 39 }, 2, false, ERNIC_DROP_BAD_LENGTH },
    { "v4 UDP length 0", 0, 38, { 0, 0 }, 2, false, ERNIC_DROP_BAD_LENGTH },
    { "v4 UDP checksum is not ours", 0, 40, { 0x12, 0x34 }, 2, false, ERNIC_DROP_NONE },
    { "v4 id and no DF", 0, 18, { 0xbe, 0xef, 0, 0 }, 4, true, ERNIC_DROP_NONE },
    { "v6 version", 1, 14, { 0x46 }, 1, false, ERNIC_DROP_NOT_ROCE },
    { "v6 hop-by-hop", 1, 20, { 0 }, 1, false, ERNIC_DROP_NOT_ROCE },
    { "v6 fragment", 1, 20, { 44 }, 1, false, ERNIC_DROP_NOT_ROCE },
    { "v6 other port", 1, 56, { 0x12, 0xb6 }, 2, false, ERNIC_DROP_NOT_ROCE },
    { "v6 long", 1, 18, { 0xff, 0xff }, 2, false, ERNIC_DROP_BAD_LENGTH },
    { "v6 short", 1, 18, { 0, 7 }, 2, false, ERNIC_DROP_BAD_LENGTH },
    { "v6 UDP length", 1, 58, { 0, 41 }, 2, false, ERNIC_DROP_BAD_LENGTH },
    { "v6 UDP checksum is not ours", 1, 60, { 0x12, 0x34 }, 2, false, ERNIC_DROP_NONE },
};

TEST("/net/drops", test_drops)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(drop_cases); i++) {
        const DropCase *c = &drop_cases[i];
        ErnicPath path = shape(c->shape);
        uint8_t frame[FRAME_MAX];
        uint32_t len = build(&path, frame);
        ErnicFrame f;

        memcpy(frame + c->ofs, c->bytes, c->count);
        if (c->checksum) {
            fix_checksum(frame + ERNIC_ETH_LEN);
        }
        g_test_message("%s", c->name);
        g_assert_cmpstr(ernic_drop_name(ernic_net_parse(&f, frame, len)), ==,
                        ernic_drop_name(c->want));
    }
}

TEST("/net/options", test_options)
{
    uint8_t frame[FRAME_MAX + 4];
    uint32_t len = build(&path4, frame);
    uint8_t *ip = frame + ERNIC_ETH_LEN;
    ErnicFrame f;

    memmove(ip + 24, ip + 20, len - ERNIC_ETH_LEN - 20);
    memset(ip + 20, 1, 4);              /* no operation */
    ip[0] = 0x46;
    stw_be_p(ip + 2, lduw_be_p(ip + 2) + 4);
    fix_checksum(ip);
    IS(ernic_net_parse(&f, frame, len + 4), ERNIC_DROP_IP_HEADER);
    stw_be_p(ip + 24 + 2, 53);          /* other protocols may have options */
    IS(ernic_net_parse(&f, frame, len + 4), ERNIC_DROP_NOT_ROCE);
}

TEST("/net/mapped-on-v6", test_mapped_on_v6)
{
    static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };

    for (uint32_t side = 0; side < 2; side++) {
        uint8_t frame[FRAME_MAX];
        uint32_t len = build(&path6, frame);
        ErnicFrame f;

        memcpy(frame + ERNIC_ETH_LEN + (side ? 24 : 8), mapped, 16);
        IS(ernic_net_parse(&f, frame, len), ERNIC_DROP_ADDRESS);
    }
}

TEST("/net/grh", test_grh)
{
    static const uint8_t zero[20];
    uint8_t grh[ERNIC_GRH_LEN], ip[48];

    memset(grh, 0xa5, sizeof(grh));
    ernic_net_grh(&path4, IB_LEN, grh);
    ernic_net_emit_ip(&path4, IB_LEN, ip);
    g_assert_cmpmem(grh, 20, zero, 20);
    g_assert_cmpmem(grh + 20, 20, ip, 20);
    IS(ernic_net_checksum(grh + 20, 20), 0);

    ernic_net_grh(&path6, IB_LEN, grh);
    ernic_net_emit_ip(&path6, IB_LEN, ip);
    g_assert_cmpmem(grh, 40, ip, 40);
}

TEST("/net/drop-names", test_drop_names)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    for (uint32_t i = 0; i < ERNIC_DROP_COUNT; i++) {
        const char *name = ernic_drop_name(i);

        g_assert_nonnull(name);
        g_assert_true(g_hash_table_add(seen, (gpointer)name));
    }
    g_assert_cmpstr(ernic_drop_name(ERNIC_DROP_NONE), ==, "none");
    g_assert_cmpstr(ernic_drop_name(ERNIC_DROP_COUNT), ==, "invalid");
}
