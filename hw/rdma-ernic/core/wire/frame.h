/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ethernet, VLAN, IPv4, IPv6 and UDP around an InfiniBand packet: frames to
 * paths and paths to frames.
 */
#ifndef ERNIC_WIRE_FRAME_H
#define ERNIC_WIRE_FRAME_H

#include "base/drop.h"
#include "base/ib_spec.h"
#include "base/types.h"

/* Bytes that ernic_net_emit() writes at most. */
#define ERNIC_NET_HDR_MAX \
    (ERNIC_ETH_LEN + ERNIC_VLAN_LEN + ERNIC_IP6_LEN + ERNIC_UDP_LEN)

/* A checked RoCEv2 frame. The pointers borrow from the frame's bytes. */
typedef struct ErnicFrame {
    ErnicPath path;             /* as sent: sgid and smac are the peer's */
    const uint8_t *ip;          /* IP header, for ernic_icrc_init_ip() */
    const uint8_t *ib;          /* BTH to ICRC; NULL: not to be found */
    uint32_t ib_len;
    bool is_v6;
} ErnicFrame;

/*
 * Parse an Ethernet frame (no FCS). ERNIC_DROP_NOT_ROCE: the frame is not a
 * UDP datagram to port 4791, hand it to others; any other reason: it is, and
 * is to be dropped; @f then holds what is known of it. Neither the UDP checksum
 * (the ICRC protects more) nor the ICRC is checked, and whether the addresses are
 * ours is the caller's affair.
 */
ErnicDrop ernic_net_parse(ErnicFrame *f, const uint8_t *frame, uint32_t len);

/* Bytes of Ethernet, VLAN, IP and UDP headers on @path. */
uint32_t ernic_net_hdr_len(const ErnicPath *path);

/*
 * Write all headers below BTH for an InfiniBand packet of @ib_len bytes, ICRC
 * included, at most 65535 - 28. Returns their length, ernic_net_hdr_len().
 */
uint32_t ernic_net_emit(const ErnicPath *path, uint32_t ib_len, uint8_t *buf);

/* The IP and UDP part of the above alone; returns 28 or 48. */
uint32_t ernic_net_emit_ip(const ErnicPath *path, uint32_t ib_len,
                           uint8_t *buf);

/*
 * The 40 bytes in front of the payload in a UD receive buffer:
 * the IPv6 header, or 20 zero bytes and the IPv4 header.
 */
void ernic_net_grh(const ErnicPath *path, uint32_t ib_len,
                   uint8_t out[ERNIC_GRH_LEN]);

/*
 * As a switch under load: says Congestion Experienced in an IP header that is
 * ECN-capable (RFC 3168), checksum included. False: there is none such.
 */
bool ernic_net_mark(uint8_t *frame, uint32_t len);

/* The internet checksum of @len bytes (even) as a host-order value. */
uint16_t ernic_net_checksum(const uint8_t *buf, uint32_t len);

static inline bool ernic_path_is_v4(const ErnicPath *path)
{
    return ernic_gid_is_v4(&path->dgid);
}

#endif /* ERNIC_WIRE_FRAME_H */
