/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet, VLAN, IPv4, IPv6 and UDP headers of an InfiniBand packet: parses
 * received frames into paths, and writes the headers of a path.
 */
#ifndef ERNIC_WIRE_FRAME_H
#define ERNIC_WIRE_FRAME_H

#include "base/drop.h"
#include "base/ib_spec.h"
#include "base/types.h"

/* The most bytes that ernic_net_emit() writes. */
#define ERNIC_NET_HDR_MAX \
    (ERNIC_ETH_LEN + ERNIC_VLAN_LEN + ERNIC_IP6_LEN + ERNIC_UDP_LEN)

/* A RoCEv2 frame that has been checked. The pointers point into the frame. */
typedef struct ErnicFrame {
    ErnicPath path;             /* as sent: sgid and smac are the peer's */
    const uint8_t *ip;          /* IP header, for ernic_icrc_init_ip() */
    const uint8_t *ib;          /* BTH to ICRC; NULL: it was not found */
    uint32_t ib_len;
    bool is_v6;
} ErnicFrame;

/*
 * Parse an Ethernet frame without FCS. ERNIC_DROP_NOT_ROCE: the frame is not a UDP
 * datagram to port 4791, and the caller may give it to another receiver. Any other
 * reason: the frame is such a datagram and has to be dropped; @f has the fields that
 * were found before the error. The function checks neither the UDP checksum (the ICRC
 * protects more) nor the ICRC nor whether the addresses belong to this device.
 */
ErnicDrop ernic_net_parse(ErnicFrame *f, const uint8_t *frame, uint32_t len);

/* Bytes of Ethernet, VLAN, IP and UDP headers on @path. */
uint32_t ernic_net_hdr_len(const ErnicPath *path);

/*
 * Write all headers below BTH for an InfiniBand packet of @ib_len bytes, ICRC
 * included, at most 65535 - 28. Returns their length, ernic_net_hdr_len().
 */
uint32_t ernic_net_emit(const ErnicPath *path, uint32_t ib_len, uint8_t *buf);

/* Write only the IP and UDP headers of @path; returns 28 or 48. */
uint32_t ernic_net_emit_ip(const ErnicPath *path, uint32_t ib_len,
                           uint8_t *buf);

/*
 * Write the 40 bytes that precede the payload in a UD receive buffer: the IPv6
 * header, or 20 zero bytes and the IPv4 header.
 */
void ernic_net_grh(const ErnicPath *path, uint32_t ib_len,
                   uint8_t out[ERNIC_GRH_LEN]);

/*
 * Set Congestion Experienced in the IP header of a frame, as a congested switch does
 * (RFC 3168), and update its checksum. False: the frame has no IP header that is
 * ECN-capable, and does not change.
 */
bool ernic_net_mark(uint8_t *frame, uint32_t len);

/* The internet checksum of @len bytes, an even number, in host order. */
uint16_t ernic_net_checksum(const uint8_t *buf, uint32_t len);

static inline bool ernic_path_is_v4(const ErnicPath *path)
{
    return ernic_gid_is_v4(&path->dgid);
}

#endif /* ERNIC_WIRE_FRAME_H */
