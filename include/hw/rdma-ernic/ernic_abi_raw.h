/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract of raw packets: rules that assign Ethernet frames to queue pairs,
 * and receive side scaling. A part of ernic_abi.h, which has the types.
 */
#ifndef ERNIC_ABI_RAW_H
#define ERNIC_ABI_RAW_H

/* Capabilities: raw of struct ernic_device_attr. */
#define ERNIC_RAW_PACKET    0x1     /* ERNIC_QPT_RAW, and rules */
#define ERNIC_RAW_RSS       0x2     /* ERNIC_QPT_RWQ, and RSS */
#define ERNIC_RAW_RATE      0x4     /* ERNIC_QPA_RATE_LIMIT */

/* Layers of a frame; at most one of IPv4 and IPv6, and one of TCP and UDP. */
#define ERNIC_LAYER_VLAN    0x01
#define ERNIC_LAYER_IPV4    0x02
#define ERNIC_LAYER_IPV6    0x04
#define ERNIC_LAYER_TCP     0x08
#define ERNIC_LAYER_UDP     0x10

#define ERNIC_IP_DF         0x02
#define ERNIC_IP_MF         0x01

/*
 * Header fields of a frame, all in network byte order; absent fields are 0. An IPv4
 * address is in the first 4 bytes.
 */
struct ernic_flow_key {
    uint8_t dmac[6];
    uint8_t smac[6];
    uint8_t ethertype[2];               /* after the VLAN tag, if present */
    uint8_t vlan[2];                    /* TCI */
    uint8_t src_ip[16];
    uint8_t dst_ip[16];
    uint8_t flow_label[4];              /* IPv6 */
    uint8_t ip_proto;                   /* IPv6: next header */
    uint8_t tclass;                     /* IPv4: TOS */
    uint8_t hop_limit;                  /* IPv4: TTL */
    uint8_t ip_flags;                   /* IPv4: ERNIC_IP_* */
    uint8_t src_port[2];                /* TCP, UDP */
    uint8_t dst_port[2];
};
ERNIC_ABI_SIZE(struct ernic_flow_key, 60);

struct ernic_flow_rule {                /* FLOW_CREATE */
    ernic_le32 qpn;                     /* receives the frames; or an RSS object */
    ernic_le16 priority;                /* the lowest number wins */
    ernic_le16 layers;                  /* ERNIC_LAYER_*, all required */
    struct ernic_flow_key value;        /* 0 where mask is 0 */
    struct ernic_flow_key mask;         /* bits to compare with value */
};
ERNIC_ABI_SIZE(struct ernic_flow_rule, 128);

/* Receive side scaling ----------------------------------------------------- */

/* Fields to hash in this order, if the frame has them; values of IBV_RX_HASH_*. */
#define ERNIC_HASH_SRC_IPV4     0x01
#define ERNIC_HASH_DST_IPV4     0x02
#define ERNIC_HASH_SRC_IPV6     0x04
#define ERNIC_HASH_DST_IPV6     0x08
#define ERNIC_HASH_SRC_TCP      0x10
#define ERNIC_HASH_DST_TCP      0x20
#define ERNIC_HASH_SRC_UDP      0x40
#define ERNIC_HASH_DST_UDP      0x80
#define ERNIC_HASH_FIELDS       0xff

#define ERNIC_RSS_KEY           40
#define ERNIC_RSS_SHIFT_MAX     7       /* a table has 2^n entries */
#define ERNIC_RSS_TABLE_MAX     (1 << ERNIC_RSS_SHIFT_MAX)
/* RSS objects have numbers from here on in rules; queue pairs have lower ones. */
#define ERNIC_RSS_QPN           0x800000

struct ernic_rss {                      /* RSS_CREATE */
    ernic_le32 fields;                  /* ERNIC_HASH_*, at least one */
    uint8_t shift;                      /* the table has 2^shift entries */
    uint8_t reserved[3];
    uint8_t key[ERNIC_RSS_KEY];         /* key of the Toeplitz hash */
    ernic_le32 wq[ERNIC_RSS_TABLE_MAX]; /* queue pairs of ERNIC_QPT_RWQ by the
                                           low bits of the hash; 0 after the
                                           end of the table */
};
ERNIC_ABI_SIZE(struct ernic_rss, 560);

#endif /* ERNIC_ABI_RAW_H */
