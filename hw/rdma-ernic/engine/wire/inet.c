/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The IP packet in an Ethernet frame, and its checksums. A header that is incomplete,
 * or that the header before it does not announce, counts as absent.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/inet.h"

#define ETHERTYPE_OFS   12
#define ETHERTYPE_SVLAN 0x88a8
/* VLAN tags, and extension headers of IPv6, that are followed. */
#define TAGS            8
#define EXTENSIONS      8

/* Fields of IP headers. */
#define IP4_SUM         10
/* More fragments, or an offset. */
#define IP4_FRAGMENT    0x3fff
/* IPv6: options of each hop, routing, fragment, options of the destination. */
enum { HOP_OPTIONS = 0, ROUTING = 43, FRAGMENT = 44, OPTIONS = 60 };
#define EXTENSION_MIN   8
#define IP6_FRAGMENT    0xfff9
#define IP6_ADDR        16
/* Types of routing headers: the last destination is the last address; the first one. */
enum { ROUTE_SOURCE = 0, ROUTE_MOBILE = 2, ROUTE_SEGMENTS = 4 };

#define TCP_SUM         16
#define UDP_SUM         6

/* ---- sums ---------------------------------------------------------------------- */

static uint16_t fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* The sum does not depend on the byte order in which it is computed (RFC 1071, 2B). */
uint16_t ernic_inet_sum(const uint8_t *bytes, uint32_t len)
{
    uint64_t sum = 0;
    uint32_t word;
    uint16_t last = 0;

    for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum += word;
    }
    if (len >= sizeof(last)) {
        memcpy(&last, bytes, sizeof(last));
        sum += last;
        bytes += sizeof(last);
        len -= sizeof(last);
        last = 0;
    }
    memcpy(&last, bytes, len);
    return be16_to_cpu(fold(sum + last));
}

/* ---- headers ------------------------------------------------------------------- */

/*
 * Where the routing header @ext, at byte @at, has the last destination. This one is in
 * the pseudo header while segments are left (RFC 8200, 8.1). 0: the type is another.
 */
static uint32_t last_address(const uint8_t *ext, uint32_t at)
{
    uint32_t num = ext[1] * 8 / IP6_ADDR;

    if (!num) {
        return 0;
    }
    switch (ext[2]) {
    case ROUTE_SOURCE:
    case ROUTE_MOBILE:
        return at + EXTENSION_MIN + (num - 1) * IP6_ADDR;
    case ROUTE_SEGMENTS:
        return at + EXTENSION_MIN;
    default:
        return 0;
    }
}

/* Follow the extension headers from @inet->l4 on. */
static void skip_extensions(ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < EXTENSIONS; i++) {
        const uint8_t *ext = frame + inet->l4;

        if (inet->proto != HOP_OPTIONS && inet->proto != ROUTING &&
            inet->proto != FRAGMENT && inet->proto != OPTIONS) {
            return;
        }
        if (len - inet->l4 < EXTENSION_MIN) {
            break;
        }
        if (inet->proto == ROUTING && ext[3]) {
            inet->to = last_address(ext, inet->l4);
        }
        if (inet->proto == FRAGMENT) {
            inet->fragment |= lduw_be_p(ext + 2) & IP6_FRAGMENT;
            inet->l4 += EXTENSION_MIN;
        } else {
            inet->l4 += EXTENSION_MIN + ext[1] * 8;
        }
        inet->proto = ext[0];
        if (inet->l4 > len) {
            break;
        }
    }
    inet->l4 = 0;
}

static void parse_ip4(ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + inet->l3;
    uint32_t room = len - inet->l3, head, total;

    head = room < ERNIC_IP4_LEN || ip[0] >> 4 != 4 ? 0 : (ip[0] & 0xf) * 4;
    if (head < ERNIC_IP4_LEN || head > room) {
        inet->l3 = 0;
        return;
    }
    total = lduw_be_p(ip + 2);
    inet->complete = total >= head && total <= room;
    inet->end = inet->l3 + MIN(total, room);
    inet->l4 = inet->l3 + head;
    inet->to = inet->l3 + 16;
    inet->proto = ip[9];
    inet->fragment = lduw_be_p(ip + 6) & IP4_FRAGMENT;
}

static void parse_ip6(ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + inet->l3;
    uint32_t room = len - inet->l3, total;

    if (room < ERNIC_IP6_LEN || ip[0] >> 4 != 6) {
        inet->l3 = 0;
        return;
    }
    total = ERNIC_IP6_LEN + lduw_be_p(ip + 4);
    inet->v6 = true;
    inet->complete = total <= room;
    inet->end = inet->l3 + MIN(total, room);
    inet->l4 = inet->l3 + ERNIC_IP6_LEN;
    inet->to = inet->l3 + 24;
    inet->proto = ip[6];
    skip_extensions(inet, frame, len);
}

void ernic_inet_parse(ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    uint32_t at = ETHERTYPE_OFS, i;
    uint16_t type;

    memset(inet, 0, sizeof(*inet));
    if (len < ERNIC_ETH_LEN) {
        return;
    }
    type = lduw_be_p(frame + at);
    for (i = 0; i < TAGS && (type == ERNIC_ETHERTYPE_VLAN || type == ETHERTYPE_SVLAN) &&
                len - at >= 2 + ERNIC_VLAN_LEN; i++) {
        at += ERNIC_VLAN_LEN;
        type = lduw_be_p(frame + at);
    }
    inet->l3 = at + 2;
    if (type == ERNIC_ETHERTYPE_IP4) {
        parse_ip4(inet, frame, len);
    } else if (type == ERNIC_ETHERTYPE_IP6) {
        parse_ip6(inet, frame, len);
    } else {
        inet->l3 = 0;
    }
}

uint32_t ernic_inet_l4_len(const ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    uint32_t room = inet->l4 ? len - inet->l4 : 0, head;

    if (inet->proto == ERNIC_IPPROTO_UDP) {
        return room >= ERNIC_UDP_LEN ? ERNIC_UDP_LEN : 0;
    }
    if (inet->proto != ERNIC_IPPROTO_TCP || room < ERNIC_TCP_LEN) {
        return 0;
    }
    head = (frame[inet->l4 + 12] >> 4) * 4;
    return head >= ERNIC_TCP_LEN && head <= room ? head : 0;
}

/* ---- checksums ----------------------------------------------------------------- */

bool ernic_inet_l3_ok(const ErnicInet *inet, const uint8_t *frame)
{
    const uint8_t *ip = frame + inet->l3;

    return inet->l3 && inet->complete &&
           (inet->v6 || ernic_inet_sum(ip, (ip[0] & 0xf) * 4) == 0xffff);
}

/* The bytes of TCP or UDP that have a checksum; 0: none. */
static uint32_t l4_bytes(const ErnicInet *inet, const uint8_t *frame)
{
    uint32_t len, udp;

    if (!inet->complete || inet->fragment || !inet->l4 || !inet->to ||
        inet->l4 > inet->end || !ernic_inet_l4_len(inet, frame, inet->end)) {
        return 0;
    }
    len = inet->end - inet->l4;
    if (inet->proto != ERNIC_IPPROTO_UDP) {
        return len;
    }
    udp = lduw_be_p(frame + inet->l4 + 4);
    return udp >= ERNIC_UDP_LEN && udp <= len ? udp : 0;
}

/* The sum of @len bytes at l4 and of the pseudo header. */
static uint16_t l4_sum(const ErnicInet *inet, const uint8_t *frame, uint32_t len)
{
    uint32_t size = inet->v6 ? IP6_ADDR : 4;

    return fold((uint64_t)ernic_inet_sum(frame + inet->l4, len) + len + inet->proto +
                ernic_inet_sum(frame + inet->l3 + (inet->v6 ? 8 : 12), size) +
                ernic_inet_sum(frame + inet->to, size));
}

bool ernic_inet_l4_ok(const ErnicInet *inet, const uint8_t *frame)
{
    uint32_t len = l4_bytes(inet, frame);

    if (!len || (inet->proto == ERNIC_IPPROTO_UDP &&
                 !lduw_be_p(frame + inet->l4 + UDP_SUM))) {
        return false;
    }
    return l4_sum(inet, frame, len) == 0xffff;
}

void ernic_inet_set_l3(const ErnicInet *inet, uint8_t *frame)
{
    uint8_t *ip = frame + inet->l3;

    if (inet->l3 && !inet->v6) {
        stw_be_p(ip + IP4_SUM, 0);
        stw_be_p(ip + IP4_SUM, ~ernic_inet_sum(ip, (ip[0] & 0xf) * 4));
    }
}

void ernic_inet_set_l4(const ErnicInet *inet, uint8_t *frame)
{
    uint32_t len = l4_bytes(inet, frame);
    bool udp = inet->proto == ERNIC_IPPROTO_UDP;
    uint8_t *at = frame + inet->l4 + (udp ? UDP_SUM : TCP_SUM);
    uint16_t sum;

    if (!len) {
        return;
    }
    stw_be_p(at, 0);
    sum = ~l4_sum(inet, frame, len);
    /* 0 says that a datagram has no checksum. */
    stw_be_p(at, udp && !sum ? 0xffff : sum);
}
