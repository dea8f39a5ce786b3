/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract of raw packets, a part of ernic_abi.h, which has the types:
 * rules that give Ethernet frames to queue pairs.
 */
#ifndef ERNIC_ABI_RAW_H
#define ERNIC_ABI_RAW_H

/* What a device has of it (struct ernic_device_attr) */
#define ERNIC_RAW_PACKET    0x1     /* queue pairs of ERNIC_QPT_RAW, and rules */
#define ERNIC_RAW_RSS       0x2     /* and of ERNIC_QPT_RWQ, and RSS */
#define ERNIC_RAW_RATE      0x4     /* and ERNIC_QPA_RATE_LIMIT */

/* What a frame has to be; at most one of IPv4 and IPv6, one of TCP and UDP. */
#define ERNIC_LAYER_VLAN    0x01
#define ERNIC_LAYER_IPV4    0x02
#define ERNIC_LAYER_IPV6    0x04
#define ERNIC_LAYER_TCP     0x08
#define ERNIC_LAYER_UDP     0x10

#define ERNIC_IP_DF         0x02
#define ERNIC_IP_MF         0x01

/*
 * The headers of a frame, all in network byte order; what the frame does not
 * have is 0. An IPv4 address is in the first 4 bytes.
 */
struct ernic_flow_key {
    uint8_t dmac[6];
    uint8_t smac[6];
    uint8_t ethertype[2];               /* behind a VLAN tag, if there is one */
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
    ernic_le32 qpn;                     /* that gets the frames, or RSS */
    ernic_le16 priority;                /* the lowest number comes first */
    ernic_le16 layers;                  /* ERNIC_LAYER_*, all of them */
    struct ernic_flow_key value;        /* 0 where mask is */
    struct ernic_flow_key mask;         /* bits that have to be as in value */
};
ERNIC_ABI_SIZE(struct ernic_flow_rule, 128);

/* Receive side scaling ----------------------------------------------------- */

/* What is hashed, in this order, of what the frame has; as IBV_RX_HASH_*. */
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
#define ERNIC_RSS_SHIFT_MAX     7       /* entries of a table: 2^n */
#define ERNIC_RSS_TABLE_MAX     (1 << ERNIC_RSS_SHIFT_MAX)
/* RSS has numbers from here on, as a rule names it; no queue pair has. */
#define ERNIC_RSS_QPN           0x800000

struct ernic_rss {                      /* RSS_CREATE */
    ernic_le32 fields;                  /* ERNIC_HASH_*, at least one */
    uint8_t shift;
    uint8_t reserved[3];
    uint8_t key[ERNIC_RSS_KEY];         /* of the Toeplitz hash */
    ernic_le32 wq[ERNIC_RSS_TABLE_MAX]; /* by the low bits of the hash: queue
                                           pairs of ERNIC_QPT_RWQ; 0 behind
                                           the table */
};
ERNIC_ABI_SIZE(struct ernic_rss, 560);

#endif /* ERNIC_ABI_RAW_H */
