/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ICRC. The headers below BTH are masked once for a train. A packet then costs a
 * copy of them, two lengths and the CRC itself.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/frame.h"
#include "wire/icrc.h"

#if defined(CONFIG_ERNIC_ISAL)
#include <isa-l/crc.h>
#elif defined(CONFIG_ERNIC_LIBDEFLATE)
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

/* Offsets in the pseudo header. */
#define IP_OFS          ERNIC_ICRC_LRH_LEN
#define IP4_PSEUDO_LEN  (ERNIC_ICRC_LRH_LEN + ERNIC_IP4_LEN + ERNIC_UDP_LEN)
#define IP6_PSEUDO_LEN  (ERNIC_ICRC_LRH_LEN + ERNIC_IP6_LEN + ERNIC_UDP_LEN)
/* For shorter packets, a copy costs less than a second call of the library. */
#define ONE_CALL_MAX    64

#if defined(CONFIG_ERNIC_ISAL) && defined(__x86_64__)
/*
 * ISA-L (as of 2.30) returns with the upper halves of vector registers in use. The next
 * SSE instruction then takes over 100 ns, which is longer than the CRC.
 */
static void __attribute__((target("avx"))) leave_avx(void)
{
    __builtin_ia32_vzeroupper();
}

static inline void leave_vectors(uint32_t len)
{
    /* For fewer bytes, ISA-L does not use them. */
    if (len >= 256 && __builtin_cpu_supports("avx")) {
        leave_avx();
    }
}
#elif defined(CONFIG_ERNIC_ISAL)
static inline void leave_vectors(uint32_t len)
{
}
#endif

/* The CRC-32 of Ethernet and zlib, continued from @crc; 0: a new one. */
static inline uint32_t crc32_add(uint32_t crc, const uint8_t *buf, uint32_t len)
{
#if defined(CONFIG_ERNIC_ISAL)
    /* The parameter of some versions is not const. */
    crc = crc32_gzip_refl(crc, (uint8_t *)buf, len);
    leave_vectors(len);
    return crc;
#elif defined(CONFIG_ERNIC_LIBDEFLATE)
    return libdeflate_crc32(crc, buf, len);
#else
    return crc32(crc, buf, len);
#endif
}

const char *ernic_icrc_backend(void)
{
#if defined(CONFIG_ERNIC_ISAL)
    return "isal";
#elif defined(CONFIG_ERNIC_LIBDEFLATE)
    return "libdeflate";
#else
    return "zlib";
#endif
}

void ernic_icrc_init_ip(ErnicIcrcCtx *ctx, const uint8_t *ip, bool is_v6)
{
    uint32_t ip_len = is_v6 ? ERNIC_IP6_LEN : ERNIC_IP4_LEN;
    uint8_t *h = ctx->pseudo + IP_OFS;

    memset(ctx->pseudo, 0xff, ERNIC_ICRC_LRH_LEN);
    memcpy(h, ip, ip_len + ERNIC_UDP_LEN);
    if (is_v6) {
        h[0] |= 0x0f;                   /* traffic class, flow label */
        memset(h + 1, 0xff, 3);
        h[7] = 0xff;                    /* hop limit */
    } else {
        h[1] = 0xff;                    /* type of service */
        h[8] = 0xff;                    /* time to live */
        memset(h + 10, 0xff, 2);        /* checksum */
    }
    memset(h + ip_len + 6, 0xff, 2);    /* UDP checksum */
    ctx->pseudo_len = IP_OFS + ip_len + ERNIC_UDP_LEN;
}

void ernic_icrc_init(ErnicIcrcCtx *ctx, const ErnicPath *path)
{
    uint8_t ip[ERNIC_IP6_LEN + ERNIC_UDP_LEN];

    ernic_net_emit_ip(path, 0, ip);     /* each packet sets its length */
    ernic_icrc_init_ip(ctx, ip, !ernic_path_is_v4(path));
}

uint32_t ernic_icrc_packet(const ErnicIcrcCtx *ctx, const uint8_t *pkt,
                           uint32_t len)
{
    uint8_t head[ERNIC_ICRC_PSEUDO_MAX + ONE_CALL_MAX];
    uint32_t udp_len = ERNIC_UDP_LEN + len + ERNIC_ICRC_LEN;
    uint32_t crc;

    g_assert(len >= ERNIC_BTH_LEN);
    /* Two copies of fixed size, which the compiler turns into moves. */
    if (ctx->pseudo_len == IP4_PSEUDO_LEN) {
        memcpy(head, ctx->pseudo, IP4_PSEUDO_LEN);
        stw_be_p(head + IP_OFS + 2, ERNIC_IP4_LEN + udp_len);
    } else {
        g_assert(ctx->pseudo_len == IP6_PSEUDO_LEN);
        memcpy(head, ctx->pseudo, IP6_PSEUDO_LEN);
        stw_be_p(head + IP_OFS + 4, udp_len);
    }
    stw_be_p(head + ctx->pseudo_len - 4, udp_len);
    if (len <= ONE_CALL_MAX) {
        memcpy(head + ctx->pseudo_len, pkt, len);
        head[ctx->pseudo_len + 4] = 0xff;       /* FECN, BECN, reserved */
        return crc32_add(0, head, ctx->pseudo_len + len);
    }
    memcpy(head + ctx->pseudo_len, pkt, ERNIC_BTH_LEN);
    head[ctx->pseudo_len + 4] = 0xff;
    crc = crc32_add(0, head, ctx->pseudo_len + ERNIC_BTH_LEN);
    return crc32_add(crc, pkt + ERNIC_BTH_LEN, len - ERNIC_BTH_LEN);
}

uint32_t ernic_icrc(const ErnicPath *path, const uint8_t *pkt, uint32_t len)
{
    ErnicIcrcCtx ctx;

    ernic_icrc_init(&ctx, path);
    return ernic_icrc_packet(&ctx, pkt, len);
}

bool ernic_icrc_ok(const ErnicIcrcCtx *ctx, const uint8_t *pkt, uint32_t len)
{
    g_assert(len >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN);
    len -= ERNIC_ICRC_LEN;
    return ernic_icrc_packet(ctx, pkt, len) == (uint32_t)ldl_le_p(pkt + len);
}
