/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ICRC against a bit-by-bit CRC over a frame masked by hand, and its defining
 * property: exactly the variant fields are not covered.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "test.h"
#include "wire/frame.h"
#include "wire/icrc.h"

#define MAX_IB  (4096 + 64)

static const ErnicPath path4 = {
    .sgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
    .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
    .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .tclass = 0x6a, .hop_limit = 64,
};
static const ErnicPath path6 = {
    .sgid.raw = { 0xfe, 0x80, [15] = 1 },
    .dgid.raw = { 0xfe, 0x80, [15] = 2 },
    .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .flow_label = 0x12345,
    .tclass = 0x6a, .hop_limit = 64,
};
static const ErnicPath *const paths[] = { &path4, &path6 };

static uint32_t crc_bitwise(const uint8_t *buf, uint32_t len)
{
    uint32_t crc = ~0u;

    for (uint32_t i = 0; i < len; i++) {
        crc ^= buf[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
    }
    return ~crc;
}

/* Offsets of the variant bytes in IP, UDP and BTH, and the bits they have. */
typedef struct Variant {
    uint8_t ofs, bits;
} Variant;

static const Variant variant4[] = {
    { 1, 0xff }, { 8, 0xff }, { 10, 0xff }, { 11, 0xff },
    { 26, 0xff }, { 27, 0xff }, { 32, 0xff },
};
static const Variant variant6[] = {
    { 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, { 3, 0xff }, { 7, 0xff },
    { 46, 0xff }, { 47, 0xff }, { 52, 0xff },
};

static uint8_t variant_bits(bool is_v6, uint32_t ofs)
{
    const Variant *v = is_v6 ? variant6 : variant4;
    uint32_t n = is_v6 ? G_N_ELEMENTS(variant6) : G_N_ELEMENTS(variant4);

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].ofs == ofs) {
            return v[i].bits;
        }
    }
    return 0;
}

/* IP to the last byte before the ICRC. */
static uint32_t icrc_by_hand(const uint8_t *ip, uint32_t len, bool is_v6)
{
    g_autofree uint8_t *buf = g_malloc(8 + len);

    memset(buf, 0xff, 8);
    for (uint32_t i = 0; i < len; i++) {
        buf[8 + i] = ip[i] | variant_bits(is_v6, i);
    }
    return crc_bitwise(buf, 8 + len);
}

static void fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);

    for (uint32_t i = 0; i < len; i++) {
        buf[i] = g_rand_int(rand);
    }
}

TEST("/icrc/check-value", test_check_value)
{
    /* CRC-32's own check value verifies the reference above. */
    IS(crc_bitwise((const uint8_t *)"123456789", 9), 0xcbf43926);
}

TEST("/icrc/reference", test_reference)
{
    static const uint32_t lens[] = { 12, 16, 28, 52, 76, 268, 1036, 4108, MAX_IB };
    uint8_t buf[64 + MAX_IB];

    for (uint32_t p = 0; p < G_N_ELEMENTS(paths); p++) {
        ErnicIcrcCtx ctx;

        ernic_icrc_init(&ctx, paths[p]);
        for (uint32_t i = 0; i < G_N_ELEMENTS(lens); i++) {
            uint32_t n = ernic_net_emit_ip(paths[p], lens[i] + 4, buf);
            uint32_t want;

            fill(buf + n, lens[i], lens[i]);
            want = icrc_by_hand(buf, n + lens[i], p == 1);
            IS(ernic_icrc_packet(&ctx, buf + n, lens[i]), want);
            IS(ernic_icrc(paths[p], buf + n, lens[i]), want);

            stl_le_p(buf + n + lens[i], want);
            g_assert_true(ernic_icrc_ok(&ctx, buf + n, lens[i] + 4));
            buf[n + lens[i]] ^= 1;
            g_assert_false(ernic_icrc_ok(&ctx, buf + n, lens[i] + 4));
        }
    }
}

/* Each bit before the ICRC is flipped: the ICRC covers it unless it is variant. */
TEST("/icrc/each-bit", test_each_bit)
{
    enum { IB_LEN = 32 };
    uint8_t buf[64 + IB_LEN];

    for (uint32_t p = 0; p < G_N_ELEMENTS(paths); p++) {
        uint32_t n = ernic_net_emit_ip(paths[p], IB_LEN + 4, buf);
        uint32_t len_ofs = p ? 4 : 2;
        ErnicIcrcCtx ctx;
        uint32_t base;

        fill(buf + n, IB_LEN, 1);
        ernic_icrc_init_ip(&ctx, buf, p);
        base = ernic_icrc_packet(&ctx, buf + n, IB_LEN);
        IS(base, ernic_icrc(paths[p], buf + n, IB_LEN));
        for (uint32_t bit = 0; bit < (n + IB_LEN) * 8; bit++) {
            uint8_t mask = 1 << bit % 8;
            uint32_t ofs = bit / 8;
            uint32_t crc;

            if (ofs / 2 * 2 == len_ofs || ofs / 2 * 2 == n - 4) {
                continue;       /* lengths are those of the packet */
            }
            buf[ofs] ^= mask;
            ernic_icrc_init_ip(&ctx, buf, p);
            crc = ernic_icrc_packet(&ctx, buf + n, IB_LEN);
            if (variant_bits(p, ofs) & mask) {
                IS(crc, base);
            } else {
                g_assert_cmphex(crc, !=, base);
            }
            buf[ofs] ^= mask;
        }
    }
}

/* A received IPv4 header is covered as it is: identification and flags too. */
TEST("/icrc/received-header", test_received_header)
{
    uint8_t buf[64 + 16];
    uint32_t n = ernic_net_emit_ip(&path4, 16 + 4, buf);
    ErnicIcrcCtx ctx;

    stw_be_p(buf + 4, 0xbeef);
    stw_be_p(buf + 6, 0);
    fill(buf + n, 16, 3);
    ernic_icrc_init_ip(&ctx, buf, false);
    IS(ernic_icrc_packet(&ctx, buf + n, 16), icrc_by_hand(buf, n + 16, false));
    g_assert_cmphex(ernic_icrc_packet(&ctx, buf + n, 16), !=,
                    ernic_icrc(&path4, buf + n, 16));
}

TEST("/icrc/backend", test_backend)
{
    const char *name = ernic_icrc_backend();

    g_test_message("CRC-32 by %s", name);
    g_assert_true(!strcmp(name, "isal") || !strcmp(name, "libdeflate") ||
                  !strcmp(name, "zlib"));
}
