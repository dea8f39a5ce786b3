/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The values that every layer of the engine shares: transports, addresses,
 * paths and packet trains.
 */
#ifndef ERNIC_BASE_TYPES_H
#define ERNIC_BASE_TYPES_H

/* A deadline, in ns, that never comes. */
#define ERNIC_NEVER UINT64_MAX

/* Transport services (IBTA vol. 1, 3.2); the order of the opcode table. */
typedef enum ErnicTransport {
    ERNIC_RC,
    ERNIC_UC,
    ERNIC_UD,
    ERNIC_XRC,
    ERNIC_TRANSPORT_COUNT,
    /* No transport: Ethernet frames that software builds (11.2.4.1, Raw). */
    ERNIC_RAW = ERNIC_TRANSPORT_COUNT
} ErnicTransport;

/*
 * A port address: the 128-bit GID of RoCEv2 in network byte order. An IPv4
 * address is held IPv4-mapped (::ffff:a.b.c.d), IBTA annex A17.4.5.2.
 */
typedef struct ErnicGid {
    uint8_t raw[16];
} ErnicGid;

#define ERNIC_NO_VLAN 0xffff
/* The VLAN that a tag names; 0: none, as a tag of a priority alone. */
#define ERNIC_VLAN_ID(tci) ((tci) == ERNIC_NO_VLAN ? 0 : (tci) & 0xfff)
#define ERNIC_VLAN_PRIORITY(n)  ((n) << 13)

/*
 * The headers below BTH, which all packets of a train share. The IPv4 identification is
 * always 0 and DF is always set, so that both ends can compute the ICRC of a packet
 * without its IP header.
 */
typedef struct ErnicPath {
    ErnicGid sgid, dgid;        /* both IPv4-mapped, or neither */
    uint8_t smac[6], dmac[6];
    uint16_t vlan;              /* TCI, or ERNIC_NO_VLAN */
    uint16_t udp_sport;         /* host order; the destination is 4791 */
    uint32_t flow_label;        /* 20 bits, IPv6 only */
    uint8_t tclass;             /* DSCP[7:2] and ECN[1:0] */
    uint8_t hop_limit;
} ErnicPath;

/*
 * Consecutive packets to one destination, each from BTH to ICRC. All but the last are
 * @seg bytes long. Engine and link exchange trains. The receiver of a train borrows
 * @data for the duration of the call. With @frame the train is one Ethernet frame
 * without FCS, and @path and @ip have no meaning; @domain says who sends it.
 */
typedef struct ErnicTrain {
    ErnicPath path;
    bool frame;
    const uint8_t *ip;          /* received: the IP header as it came, if the
                                   link saw it; else NULL */
    /*
     * Received without the IP header: further addresses that stand for the two ends,
     * beside those of @path. The ICRC says which are meant. Borrowed, as @data.
     */
    const ErnicGid *alt_sgid, *alt_dgid;
    uint8_t num_alt_sgid, num_alt_dgid;
    bool path_final;            /* received: @path was found out by the ICRC, or
                                   no address fits it; do not search again */
    uint64_t serial;            /* sent: number of the train in its engine,
                                   from 1 */
    const uint8_t *data;
    uint32_t len;               /* bytes of all packets together */
    uint32_t seg;               /* bytes of each packet but the last, > 0 */
    uint32_t domain;            /* sent: transport domain of the sender, if the interface
                                   has any; 0: none, or not known */
} ErnicTrain;

static inline uint32_t ernic_train_packets(const ErnicTrain *train)
{
    return DIV_ROUND_UP(train->len, train->seg);
}

/* Whether @gid is an IPv4-mapped address. */
static inline bool ernic_gid_is_v4(const ErnicGid *gid)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

    return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* Whether @gid is the address of a multicast group: 224.0.0.0/4 or ff00::/8. */
static inline bool ernic_gid_is_mcast(const ErnicGid *gid)
{
    return ernic_gid_is_v4(gid) ? (gid->raw[12] & 0xf0) == 0xe0 :
                                  gid->raw[0] == 0xff;
}

#endif /* ERNIC_BASE_TYPES_H */
