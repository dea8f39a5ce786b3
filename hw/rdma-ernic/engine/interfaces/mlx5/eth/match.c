/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys and masks of flow tables. A field that is not in the table below is never
 * matched, so a mask must not have it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/ib_spec.h"
#include "interfaces/mlx5/eth/match.h"
#include "steering/flow_key.h"
#include "wire/inet.h"

#define FIELD(name)     (&ernic_mlx5_fte_match_set_lyr_2_4.name)
#define PUT(key, name, value)   ernic_mlx5_put(key, FIELD(name), value)

#define ETHERTYPE_OFS   12
#define ETHERTYPE_SVLAN 0x88a8
/* More than the headers that are looked at. */
#define HEAD            128
#define TCP_FLAGS_OFS   12

/* match_criteria_enable: the outer headers. */
#define OUTER_HEADERS   1

QEMU_BUILD_BUG_ON(ERNIC_FLOW_KEY_BYTES != 0x200 / 8);

static const ErnicMlx5Field *const matched[] = {
    FIELD(smac_47_16), FIELD(smac_15_0), FIELD(ethertype), FIELD(dmac_47_16),
    FIELD(dmac_15_0), FIELD(first_prio), FIELD(first_cfi), FIELD(first_vid),
    FIELD(ip_protocol), FIELD(ip_dscp), FIELD(ip_ecn), FIELD(cvlan_tag),
    FIELD(svlan_tag), FIELD(frag), FIELD(ip_version), FIELD(tcp_flags),
    FIELD(tcp_sport), FIELD(tcp_dport), FIELD(ttl_hoplimit), FIELD(udp_sport),
    FIELD(udp_dport),
    FIELD(src_ipv4_src_ipv6), FIELD(dst_ipv4_dst_ipv6),
};

/* ---- keys ------------------------------------------------------------------ */

/* The layers of a frame. A service tag counts as a VLAN tag, and is in *@service. */
static uint16_t parse(const uint8_t *frame, uint32_t len, struct ernic_flow_key *key,
                      bool *service)
{
    uint8_t head[HEAD];

    *service = len >= ERNIC_ETH_LEN &&
               lduw_be_p(frame + ETHERTYPE_OFS) == ETHERTYPE_SVLAN;
    if (!*service) {
        return ernic_flow_key(key, frame, len);
    }
    len = MIN(len, sizeof(head));
    memcpy(head, frame, len);
    stw_be_p(head + ETHERTYPE_OFS, ERNIC_ETHERTYPE_VLAN);
    return ernic_flow_key(key, head, len);
}

static void put_link(uint8_t *out, const struct ernic_flow_key *k, uint16_t layers,
                     bool service)
{
    uint16_t tci = lduw_be_p(k->vlan);

    PUT(out, smac_47_16, ldl_be_p(k->smac));
    PUT(out, smac_15_0, lduw_be_p(k->smac + 4));
    PUT(out, dmac_47_16, ldl_be_p(k->dmac));
    PUT(out, dmac_15_0, lduw_be_p(k->dmac + 4));
    PUT(out, ethertype, lduw_be_p(k->ethertype));
    if (layers & ERNIC_LAYER_VLAN) {
        PUT(out, first_prio, tci >> 13);
        PUT(out, first_cfi, tci >> 12);
        PUT(out, first_vid, tci);
        ernic_mlx5_put(out, service ? FIELD(svlan_tag) : FIELD(cvlan_tag), 1);
    }
}

/* An IPv4 address is the last word of its field. */
static void put_ip(uint8_t *out, const struct ernic_flow_key *k, bool v6)
{
    uint32_t i;

    PUT(out, ip_version, v6 ? 6 : 4);
    PUT(out, ip_protocol, k->ip_proto);
    PUT(out, ip_dscp, k->tclass >> 2);
    PUT(out, ip_ecn, k->tclass);
    PUT(out, ttl_hoplimit, k->hop_limit);
    for (i = v6 ? 0 : 3; i < 4; i++) {
        uint32_t at = v6 ? i * 4 : 0;

        ernic_mlx5_put_at(out, FIELD(src_ipv4_src_ipv6), i, ldl_be_p(k->src_ip + at));
        ernic_mlx5_put_at(out, FIELD(dst_ipv4_dst_ipv6), i, ldl_be_p(k->dst_ip + at));
    }
}

static void put_ports(uint8_t *out, const struct ernic_flow_key *k, uint16_t layers)
{
    if (layers & ERNIC_LAYER_TCP) {
        PUT(out, tcp_sport, lduw_be_p(k->src_port));
        PUT(out, tcp_dport, lduw_be_p(k->dst_port));
    } else if (layers & ERNIC_LAYER_UDP) {
        PUT(out, udp_sport, lduw_be_p(k->src_port));
        PUT(out, udp_dport, lduw_be_p(k->dst_port));
    }
}

/* Fields that struct ernic_flow_key lacks. */
static void put_flags(uint8_t *out, const ErnicInet *inet, const uint8_t *frame,
                      uint32_t len, uint16_t layers)
{
    PUT(out, frag, inet->fragment);
    if (layers & ERNIC_LAYER_TCP && inet->l4 && inet->l4 + ERNIC_TCP_LEN <= len) {
        PUT(out, tcp_flags, lduw_be_p(frame + inet->l4 + TCP_FLAGS_OFS));
    }
}

/* Find the security parameter index of AH or ESP (RFC 4302, RFC 4303). */
static void find_spi(const uint8_t *frame, const ErnicInet *inet,
                     ErnicMlx5Headers *headers)
{
    enum { ESP = 50, AH = 51, SPI_OF_AH = 4 };
    uint32_t at = inet->l4 + (inet->proto == AH ? SPI_OF_AH : 0);

    headers->ipsec = inet->l4 && !inet->fragment &&
                     (inet->proto == ESP || inet->proto == AH) &&
                     at + sizeof(headers->spi) <= inet->end;
    if (headers->ipsec) {
        memcpy(headers->spi, frame + at, sizeof(headers->spi));
    }
}

void ernic_mlx5_match_key(const uint8_t *frame, uint32_t len,
                          uint8_t key[ERNIC_FLOW_KEY_BYTES], ErnicMlx5Headers *headers)
{
    struct ernic_flow_key *k = &headers->key;
    uint16_t layers;
    ErnicInet inet;
    bool service;

    memset(key, 0, ERNIC_FLOW_KEY_BYTES);
    layers = headers->layers = parse(frame, len, k, &service);
    ernic_inet_parse(&inet, frame, len);
    find_spi(frame, &inet, headers);
    put_link(key, k, layers, service);
    if (layers & (ERNIC_LAYER_IPV4 | ERNIC_LAYER_IPV6)) {
        put_ip(key, k, layers & ERNIC_LAYER_IPV6);
        put_ports(key, k, layers);
        put_flags(key, &inet, frame, len, layers);
    }
}

/* ---- masks ----------------------------------------------------------------- */

/* All bits that frames are matched by. */
static void known_bits(uint8_t mask[ERNIC_FLOW_KEY_BYTES])
{
    uint32_t f, i;

    memset(mask, 0, ERNIC_FLOW_KEY_BYTES);
    for (f = 0; f < ARRAY_SIZE(matched); f++) {
        for (i = 0; i < matched[f]->count; i++) {
            ernic_mlx5_put_at(mask, matched[f], i, UINT64_MAX);
        }
    }
}

bool ernic_mlx5_match_mask(const uint8_t *param, uint32_t enable,
                           uint8_t mask[ERNIC_FLOW_KEY_BYTES])
{
    const uint32_t outer = ernic_mlx5_fte_match_param.outer_headers.offset / 8;
    uint8_t known[ERNIC_FLOW_KEY_BYTES];
    uint32_t i;

    memset(mask, 0, ERNIC_FLOW_KEY_BYTES);
    if (!enable) {
        return true;
    }
    if (enable != OUTER_HEADERS) {
        return false;
    }
    memcpy(mask, param + outer, ERNIC_FLOW_KEY_BYTES);
    known_bits(known);
    for (i = 0; i < ERNIC_FLOW_KEY_BYTES; i++) {
        if (mask[i] & ~known[i]) {
            return false;
        }
    }
    /* An entry without one kind of tag stands for frames without any tag. */
    if (ernic_mlx5_get(mask, FIELD(cvlan_tag)) ||
        ernic_mlx5_get(mask, FIELD(svlan_tag))) {
        PUT(mask, cvlan_tag, 1);
        PUT(mask, svlan_tag, 1);
    }
    return true;
}
