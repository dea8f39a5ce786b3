/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The invariant CRC of RoCEv2: a CRC-32 over a dummy LRH, the IP and UDP headers and
 * the packet. Each field that a router may change counts as ones (IBTA vol. 1, 7.8.1,
 * and annex A17).
 */
#ifndef ERNIC_WIRE_ICRC_H
#define ERNIC_WIRE_ICRC_H

#include "base/ib_spec.h"
#include "base/types.h"

#define ERNIC_ICRC_LRH_LEN  8
#define ERNIC_ICRC_PSEUDO_MAX \
    (ERNIC_ICRC_LRH_LEN + ERNIC_IP6_LEN + ERNIC_UDP_LEN)

/* The masked headers below BTH. All packets of a path have the same. */
typedef struct ErnicIcrcCtx {
    uint8_t pseudo[ERNIC_ICRC_PSEUDO_MAX];
    uint32_t pseudo_len;        /* 36 on IPv4, 56 on IPv6 */
} ErnicIcrcCtx;

/*
 * Begin with the headers that ernic_net_emit() writes for @path (IPv4: identification 0,
 * DF).
 */
void ernic_icrc_init(ErnicIcrcCtx *ctx, const ErnicPath *path);

/*
 * Begin with received headers. @ip points to an IPv4 header of 20 bytes or an IPv6
 * header of 40 bytes, and the UDP header follows at once; ernic_net_parse() has checked
 * this. Identification and flags of IPv4 keep their values.
 */
void ernic_icrc_init_ip(ErnicIcrcCtx *ctx, const uint8_t *ip, bool is_v6);

/*
 * The ICRC of one packet. @pkt has @len bytes, from BTH to the last pad byte: 12 to
 * 65535 - 40, without the ICRC. The packet carries the value with the least significant
 * byte first.
 */
uint32_t ernic_icrc_packet(const ErnicIcrcCtx *ctx, const uint8_t *pkt,
                           uint32_t len);

/* The same for a single packet on @path. */
uint32_t ernic_icrc(const ErnicPath *path, const uint8_t *pkt, uint32_t len);

/* Whether the last four of the @len bytes at @pkt, 16 or more, are its ICRC. */
bool ernic_icrc_ok(const ErnicIcrcCtx *ctx, const uint8_t *pkt, uint32_t len);

/* The CRC-32 library that the build chose: "isal", "libdeflate" or "zlib". */
const char *ernic_icrc_backend(void);

#endif /* ERNIC_WIRE_ICRC_H */
