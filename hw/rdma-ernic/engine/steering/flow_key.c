/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Makes a key of the headers of a frame. A header that is incomplete, or that the
 * header before it does not announce, counts as absent. Checksums and lengths are not
 * checked: the receiver of the frame does that.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/ib_spec.h"
#include "steering/flow_key.h"

#define ETHERTYPE_OFS   12
#define IPPROTO_TCP_    6
#define IP4_FRAG_MASK   0x1fff
/* Both begin with the ports, which is all that is read. */
#define TCP_LEN         20

static uint16_t parse_ports(struct ernic_flow_key *key, const uint8_t *l4,
                            uint32_t len)
{
    bool tcp = key->ip_proto == IPPROTO_TCP_;

    if ((!tcp && key->ip_proto != ERNIC_IPPROTO_UDP) ||
        len < (tcp ? TCP_LEN : ERNIC_UDP_LEN)) {
        return 0;
    }
    memcpy(key->src_port, l4, sizeof(key->src_port));
    memcpy(key->dst_port, l4 + 2, sizeof(key->dst_port));
    return tcp ? ERNIC_LAYER_TCP : ERNIC_LAYER_UDP;
}

/* Only the first fragment has the ports. */
static uint16_t parse_ip4(struct ernic_flow_key *key, const uint8_t *ip,
                          uint32_t len)
{
    uint32_t hdr_len, frag;

    if (len < ERNIC_IP4_LEN || ip[0] >> 4 != 4) {
        return 0;
    }
    hdr_len = (ip[0] & 0xf) * 4;
    if (hdr_len < ERNIC_IP4_LEN || hdr_len > len) {
        return 0;
    }
    frag = lduw_be_p(ip + 6);
    key->tclass = ip[1];
    key->ip_flags = frag >> 13;
    key->hop_limit = ip[8];
    key->ip_proto = ip[9];
    memcpy(key->src_ip, ip + 12, 4);
    memcpy(key->dst_ip, ip + 16, 4);
    return ERNIC_LAYER_IPV4 | (frag & IP4_FRAG_MASK ? 0 :
                               parse_ports(key, ip + hdr_len, len - hdr_len));
}

/* Extension headers are not followed. */
static uint16_t parse_ip6(struct ernic_flow_key *key, const uint8_t *ip,
                          uint32_t len)
{
    uint32_t first;

    if (len < ERNIC_IP6_LEN || ip[0] >> 4 != 6) {
        return 0;
    }
    first = ldl_be_p(ip);
    key->tclass = first >> 20;
    stl_be_p(key->flow_label, first & 0xfffff);
    key->ip_proto = ip[6];
    key->hop_limit = ip[7];
    memcpy(key->src_ip, ip + 8, sizeof(key->src_ip));
    memcpy(key->dst_ip, ip + 24, sizeof(key->dst_ip));
    return ERNIC_LAYER_IPV6 |
           parse_ports(key, ip + ERNIC_IP6_LEN, len - ERNIC_IP6_LEN);
}

uint16_t ernic_flow_key(struct ernic_flow_key *key, const uint8_t *frame,
                        uint32_t len)
{
    uint32_t at = ETHERTYPE_OFS;
    uint16_t layers = 0;

    memset(key, 0, sizeof(*key));
    if (len < ERNIC_ETH_LEN) {
        return 0;
    }
    memcpy(key->dmac, frame, sizeof(key->dmac));
    memcpy(key->smac, frame + 6, sizeof(key->smac));
    if (lduw_be_p(frame + at) == ERNIC_ETHERTYPE_VLAN &&
        len >= ERNIC_ETH_LEN + ERNIC_VLAN_LEN) {
        memcpy(key->vlan, frame + at + 2, sizeof(key->vlan));
        at += ERNIC_VLAN_LEN;
        layers = ERNIC_LAYER_VLAN;
    }
    memcpy(key->ethertype, frame + at, sizeof(key->ethertype));
    at += sizeof(key->ethertype);
    switch (lduw_be_p(key->ethertype)) {
    case ERNIC_ETHERTYPE_IP4:
        return layers | parse_ip4(key, frame + at, len - at);
    case ERNIC_ETHERTYPE_IP6:
        return layers | parse_ip6(key, frame + at, len - at);
    default:
        return layers;
    }
}
