/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Headers below BTH. Until its UDP port is known, a received frame may be for another
 * receiver. Once the port is that of RoCEv2, the frame is dropped at any error.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/frame.h"
#include "wire/inet.h"

#define ETHERTYPE_OFS   12
#define IP4_DF          0x4000
#define IP4_MF          0x2000
#define IP4_OFFSET_MASK 0x1fff
#define VLAN_VID_MASK   0x0fff          /* and the reserved VLAN ID */
#define GID_IP4_OFS     12

static const uint8_t gid_ip4_prefix[GID_IP4_OFS] = {
    [10] = 0xff, [11] = 0xff,
};

uint16_t ernic_net_checksum(const uint8_t *buf, uint32_t len)
{
    return ~ernic_inet_sum(buf, len);
}

static bool is_roce(const uint8_t *udp)
{
    return lduw_be_p(udp + 2) == ERNIC_UDP_PORT;
}

/* Find the packet in a UDP datagram of @len bytes, which the IP header gives. */
static void find_ib(ErnicFrame *f, const uint8_t *udp, uint32_t len)
{
    f->path.udp_sport = lduw_be_p(udp);
    f->ib = udp + ERNIC_UDP_LEN;
    f->ib_len = len - ERNIC_UDP_LEN;
}

/* Check the length in the UDP header, which find_ib() has found. */
static ErnicDrop check_udp(const ErnicFrame *f)
{
    if (lduw_be_p(f->ib - ERNIC_UDP_LEN + 4) != f->ib_len + ERNIC_UDP_LEN) {
        return ERNIC_DROP_BAD_LENGTH;
    }
    return f->ib_len ? ERNIC_DROP_NONE : ERNIC_DROP_TOO_SHORT;
}

static void gid_from_ip4(ErnicGid *gid, const uint8_t *addr)
{
    memcpy(gid->raw, gid_ip4_prefix, GID_IP4_OFS);
    memcpy(gid->raw + GID_IP4_OFS, addr, 4);
}

static ErnicDrop parse_ip4(ErnicFrame *f, const uint8_t *ip, uint32_t len)
{
    uint32_t hdr_len, total;
    uint16_t frag;

    if (len < ERNIC_IP4_LEN + ERNIC_UDP_LEN || ip[0] >> 4 != 4 ||
        ip[9] != ERNIC_IPPROTO_UDP) {
        return ERNIC_DROP_NOT_ROCE;
    }
    hdr_len = (ip[0] & 0xf) * 4;
    frag = lduw_be_p(ip + 6);
    if (hdr_len < ERNIC_IP4_LEN || len < hdr_len + ERNIC_UDP_LEN ||
        (frag & IP4_OFFSET_MASK) || !is_roce(ip + hdr_len)) {
        return ERNIC_DROP_NOT_ROCE;
    }

    f->path.tclass = ip[1];
    f->path.hop_limit = ip[8];
    f->path.flow_label = 0;
    gid_from_ip4(&f->path.sgid, ip + 12);
    gid_from_ip4(&f->path.dgid, ip + 16);
    total = lduw_be_p(ip + 2);
    if (total >= hdr_len + ERNIC_UDP_LEN && total <= len) {
        find_ib(f, ip + hdr_len, total - hdr_len);
    }
    if (frag & IP4_MF) {
        return ERNIC_DROP_FRAGMENT;
    }
    /* The ICRC is defined only for a header without options. */
    if (hdr_len != ERNIC_IP4_LEN || ernic_net_checksum(ip, hdr_len) != 0) {
        return ERNIC_DROP_IP_HEADER;
    }
    return f->ib ? check_udp(f) : ERNIC_DROP_BAD_LENGTH;
}

/* Extension headers are not parsed: in RoCEv2, UDP follows IPv6 at once. */
static ErnicDrop parse_ip6(ErnicFrame *f, const uint8_t *ip, uint32_t len)
{
    uint32_t first, payload;

    if (len < ERNIC_IP6_LEN + ERNIC_UDP_LEN || ip[0] >> 4 != 6 ||
        ip[6] != ERNIC_IPPROTO_UDP || !is_roce(ip + ERNIC_IP6_LEN)) {
        return ERNIC_DROP_NOT_ROCE;
    }

    payload = lduw_be_p(ip + 4);
    first = ldl_be_p(ip);
    f->path.tclass = first >> 20;
    f->path.flow_label = first & 0xfffff;
    f->path.hop_limit = ip[7];
    memcpy(f->path.sgid.raw, ip + 8, 16);
    memcpy(f->path.dgid.raw, ip + 24, 16);
    /* Such addresses are not valid on a wire, and would later look like IPv4. */
    if (ernic_gid_is_v4(&f->path.sgid) || ernic_gid_is_v4(&f->path.dgid)) {
        return ERNIC_DROP_ADDRESS;
    }
    if (payload < ERNIC_UDP_LEN || ERNIC_IP6_LEN + payload > len) {
        return ERNIC_DROP_BAD_LENGTH;
    }
    find_ib(f, ip + ERNIC_IP6_LEN, payload);
    return check_udp(f);
}

ErnicDrop ernic_net_parse(ErnicFrame *f, const uint8_t *frame, uint32_t len)
{
    uint32_t hdr_len = ERNIC_ETH_LEN;
    uint32_t type;
    ErnicDrop drop;

    if (len < ERNIC_ETH_LEN + ERNIC_VLAN_LEN) {
        return ERNIC_DROP_NOT_ROCE;
    }
    memcpy(f->path.dmac, frame, 6);
    memcpy(f->path.smac, frame + 6, 6);
    f->path.vlan = ERNIC_NO_VLAN;
    f->ib = NULL;
    f->ib_len = 0;
    type = lduw_be_p(frame + ETHERTYPE_OFS);
    if (type == ERNIC_ETHERTYPE_VLAN) {
        f->path.vlan = lduw_be_p(frame + ERNIC_ETH_LEN);
        hdr_len += ERNIC_VLAN_LEN;
        type = lduw_be_p(frame + ERNIC_ETH_LEN + 2);
    }

    f->ip = frame + hdr_len;
    f->is_v6 = type == ERNIC_ETHERTYPE_IP6;
    if (type == ERNIC_ETHERTYPE_IP4) {
        drop = parse_ip4(f, f->ip, len - hdr_len);
    } else if (f->is_v6) {
        drop = parse_ip6(f, f->ip, len - hdr_len);
    } else {
        drop = ERNIC_DROP_NOT_ROCE;
    }
    if (drop == ERNIC_DROP_NONE && hdr_len != ERNIC_ETH_LEN &&
        (f->path.vlan & VLAN_VID_MASK) == VLAN_VID_MASK) {
        drop = ERNIC_DROP_VLAN;         /* a TCI of 0xffff is ERNIC_NO_VLAN */
    }
    return drop;
}

uint32_t ernic_net_hdr_len(const ErnicPath *path)
{
    return ERNIC_ETH_LEN +
           (path->vlan != ERNIC_NO_VLAN ? ERNIC_VLAN_LEN : 0) +
           (ernic_path_is_v4(path) ? ERNIC_IP4_LEN : ERNIC_IP6_LEN) +
           ERNIC_UDP_LEN;
}

static void emit_ip4(const ErnicPath *path, uint32_t udp_len, uint8_t *ip)
{
    ip[0] = 0x45;
    ip[1] = path->tclass;
    stw_be_p(ip + 2, ERNIC_IP4_LEN + udp_len);
    stw_be_p(ip + 4, 0);
    stw_be_p(ip + 6, IP4_DF);
    ip[8] = path->hop_limit;
    ip[9] = ERNIC_IPPROTO_UDP;
    stw_be_p(ip + 10, 0);
    memcpy(ip + 12, path->sgid.raw + GID_IP4_OFS, 4);
    memcpy(ip + 16, path->dgid.raw + GID_IP4_OFS, 4);
    stw_be_p(ip + 10, ernic_net_checksum(ip, ERNIC_IP4_LEN));
}

static void emit_ip6(const ErnicPath *path, uint32_t udp_len, uint8_t *ip)
{
    stl_be_p(ip, 6u << 28 | (uint32_t)path->tclass << 20 |
                 (path->flow_label & 0xfffff));
    stw_be_p(ip + 4, udp_len);
    ip[6] = ERNIC_IPPROTO_UDP;
    ip[7] = path->hop_limit;
    memcpy(ip + 8, path->sgid.raw, 16);
    memcpy(ip + 24, path->dgid.raw, 16);
}

uint32_t ernic_net_emit_ip(const ErnicPath *path, uint32_t ib_len, uint8_t *buf)
{
    uint32_t udp_len = ERNIC_UDP_LEN + ib_len;
    uint32_t ip_len = ERNIC_IP4_LEN;

    g_assert(udp_len <= UINT16_MAX);
    if (ernic_path_is_v4(path)) {
        emit_ip4(path, udp_len, buf);
    } else {
        emit_ip6(path, udp_len, buf);
        ip_len = ERNIC_IP6_LEN;
    }
    buf += ip_len;
    stw_be_p(buf, path->udp_sport);
    stw_be_p(buf + 2, ERNIC_UDP_PORT);
    stw_be_p(buf + 4, udp_len);
    stw_be_p(buf + 6, 0);               /* no checksum, also on IPv6 (RFC 6936) */
    return ip_len + ERNIC_UDP_LEN;
}

uint32_t ernic_net_emit(const ErnicPath *path, uint32_t ib_len, uint8_t *buf)
{
    uint8_t *p = buf + ETHERTYPE_OFS;

    memcpy(buf, path->dmac, 6);
    memcpy(buf + 6, path->smac, 6);
    if (path->vlan != ERNIC_NO_VLAN) {
        stw_be_p(p, ERNIC_ETHERTYPE_VLAN);
        stw_be_p(p + 2, path->vlan);
        p += ERNIC_VLAN_LEN;
    }
    stw_be_p(p, ernic_path_is_v4(path) ? ERNIC_ETHERTYPE_IP4
                                       : ERNIC_ETHERTYPE_IP6);
    p += 2;
    p += ernic_net_emit_ip(path, ib_len, p);
    return p - buf;
}

void ernic_net_grh(const ErnicPath *path, uint32_t ib_len,
                   uint8_t out[ERNIC_GRH_LEN])
{
    if (ernic_path_is_v4(path)) {
        memset(out, 0, ERNIC_GRH_LEN - ERNIC_IP4_LEN);
        emit_ip4(path, ERNIC_UDP_LEN + ib_len,
                 out + ERNIC_GRH_LEN - ERNIC_IP4_LEN);
    } else {
        emit_ip6(path, ERNIC_UDP_LEN + ib_len, out);
    }
}

static bool mark_ip4(uint8_t *ip, uint32_t len)
{
    uint32_t hdr_len = (ip[0] & 0xf) * 4, sum;

    if (ip[0] >> 4 != 4 || hdr_len < ERNIC_IP4_LEN || hdr_len > len ||
        !(ip[1] & ERNIC_ECN_MASK)) {
        return false;
    }
    /* RFC 1624, equation 3: the checksum changes as the word does. */
    sum = (uint16_t)~lduw_be_p(ip + 10) + (uint16_t)~lduw_be_p(ip);
    ip[1] |= ERNIC_ECN_CE;
    sum += lduw_be_p(ip);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    stw_be_p(ip + 10, (uint16_t)~sum);
    return true;
}

bool ernic_net_mark(uint8_t *frame, uint32_t len)
{
    uint32_t at = ETHERTYPE_OFS;

    if (len >= at + 2 + ERNIC_VLAN_LEN &&
        lduw_be_p(frame + at) == ERNIC_ETHERTYPE_VLAN) {
        at += ERNIC_VLAN_LEN;
    }
    if (len >= at + 2 + ERNIC_IP4_LEN &&
        lduw_be_p(frame + at) == ERNIC_ETHERTYPE_IP4) {
        return mark_ip4(frame + at + 2, len - at - 2);
    }
    /* The traffic class is in the second and third half byte of the IPv6 header. */
    if (len >= at + 2 + ERNIC_IP6_LEN &&
        lduw_be_p(frame + at) == ERNIC_ETHERTYPE_IP6 &&
        frame[at + 2] >> 4 == 6 &&
        frame[at + 3] >> 4 & ERNIC_ECN_MASK) {
        frame[at + 3] |= ERNIC_ECN_CE << 4;
        return true;
    }
    return false;
}
