/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariant CRC of RoCEv2: CRC-32 over a dummy LRH, the IP and UDP headers
 * and the packet, with every field that a router may change read as ones
 * (IBTA vol. 1, 7.8.1, and annex A17).
 */
#ifndef ERNIC_WIRE_ICRC_H
#define ERNIC_WIRE_ICRC_H

#include "base/ib_spec.h"
#include "base/types.h"

#define ERNIC_ICRC_LRH_LEN  8
#define ERNIC_ICRC_PSEUDO_MAX \
    (ERNIC_ICRC_LRH_LEN + ERNIC_IP6_LEN + ERNIC_UDP_LEN)

/* The masked headers below BTH; any number of packets may share one. */
typedef struct ErnicIcrcCtx {
    uint8_t pseudo[ERNIC_ICRC_PSEUDO_MAX];
    uint32_t pseudo_len;        /* 36 on IPv4, 56 on IPv6 */
} ErnicIcrcCtx;

/* Headers as ernic_net_emit() writes them for @path (IPv4: id 0, DF). */
void ernic_icrc_init(ErnicIcrcCtx *ctx, const ErnicPath *path);

/*
 * Headers as received. @ip points to a version 4 header of 20 bytes or a
 * version 6 header of 40 bytes with the UDP header right behind it; frame
 * parsing has checked both. IPv4 identification and flags are taken as found.
 */
void ernic_icrc_init_ip(ErnicIcrcCtx *ctx, const uint8_t *ip, bool is_v6);

/*
 * The ICRC of one packet. @pkt is BTH to the last pad byte, @len its length:
 * 12 or more, ICRC not counted, at most 65535 - 40. The value goes into the
 * packet least significant byte first.
 */
uint32_t ernic_icrc_packet(const ErnicIcrcCtx *ctx, const uint8_t *pkt,
                           uint32_t len);

/* As above, for a single packet on a path. */
uint32_t ernic_icrc(const ErnicPath *path, const uint8_t *pkt, uint32_t len);

/* Whether the last four of the @len >= 16 bytes at @pkt are its ICRC. */
bool ernic_icrc_ok(const ErnicIcrcCtx *ctx, const uint8_t *pkt, uint32_t len);

/* The CRC-32 library that the build chose: "isal", "libdeflate" or "zlib". */
const char *ernic_icrc_backend(void);

#endif /* ERNIC_WIRE_ICRC_H */
