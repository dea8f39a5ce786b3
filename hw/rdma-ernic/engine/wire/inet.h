/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The IP packet in an Ethernet frame, and its checksums (RFC 1071): those of IPv4, TCP
 * and UDP.
 */
#ifndef ERNIC_WIRE_INET_H
#define ERNIC_WIRE_INET_H

#include "base/ib_spec.h"
#include "base/types.h"

#define ERNIC_IPPROTO_TCP   6
/* The shortest TCP header. */
#define ERNIC_TCP_LEN       20
/* The shortest frame that a port sends, without FCS: shorter ones are padded. */
#define ERNIC_FRAME_MIN     60

/* Where the headers are, in bytes from the begin of the frame. */
typedef struct ErnicInet {
    uint32_t l3;                /* the IP header, after all VLAN tags; 0: no IP packet */
    uint32_t l4;                /* after the IP header and its extensions; 0: none */
    uint32_t to;                /* the last destination's address; 0: it is not known */
    uint32_t end;               /* of the packet by its own length; inside the frame */
    uint8_t proto;              /* of the bytes at @l4 */
    bool v6;
    bool fragment;
    bool complete;              /* the whole packet is in the frame */
} ErnicInet;

/* The ones' complement sum of @len bytes, as a number of 16 bits; not inverted. */
uint16_t ernic_inet_sum(const uint8_t *bytes, uint32_t len);
/* Find the headers. The first bytes of a frame suffice, up to those of TCP or UDP. */
void ernic_inet_parse(ErnicInet *inet, const uint8_t *frame, uint32_t len);
/* The length of the TCP or UDP header at @l4; 0: it is another protocol, or cut. */
uint32_t ernic_inet_l4_len(const ErnicInet *inet, const uint8_t *frame, uint32_t len);

/* Whether the IPv4 header's checksum is right. IPv6 has none. */
bool ernic_inet_l3_ok(const ErnicInet *inet, const uint8_t *frame);
/* Whether the packet has a checksum of TCP or UDP that is right. */
bool ernic_inet_l4_ok(const ErnicInet *inet, const uint8_t *frame);
/*
 * Compute the checksum of the IPv4 header, or of TCP or UDP. A packet that has none, or
 * that is not complete, stays as it is.
 */
void ernic_inet_set_l3(const ErnicInet *inet, uint8_t *frame);
void ernic_inet_set_l4(const ErnicInet *inet, uint8_t *frame);

#endif /* ERNIC_WIRE_INET_H */
