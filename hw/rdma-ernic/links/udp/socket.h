/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link: packet trains as datagrams of one host UDP socket. It knows
 * addresses and trains, but not the contents of packets.
 */
#ifndef ERNIC_LINKS_UDP_SOCKET_H
#define ERNIC_LINKS_UDP_SOCKET_H

#include "links/udp/peers.h"

/* The reasons for which packets were not sent or not delivered. */
#define ERNIC_UDP_DROPS(X)                                                  \
    X(UNKNOWN_DEST,   "unknown-destination")  /* sgid or dgid not mapped */ \
    X(TOO_BIG,        "too-big")        /* longer than the path MTU */ \
    X(SEND_ERROR,     "send-error")     /* refused by the host for another reason */ \
    X(COPY,           "multicast-copy") /* a full socket, after the first */ \
    X(UNKNOWN_SOURCE, "unknown-source") /* from an endpoint that no peer has */     \
    X(TRUNCATED,      "truncated")      /* longer than the buffer */        \
    X(EMPTY,          "empty")          /* an empty datagram */     \
    X(KERNEL,         "kernel")         /* the receive buffer of the socket was full */

typedef enum ErnicUdpDrop {
#define ERNIC_UDP_DROP_ENUM(sym, name) ERNIC_UDP_DROP_##sym,
    ERNIC_UDP_DROPS(ERNIC_UDP_DROP_ENUM)
#undef ERNIC_UDP_DROP_ENUM
    ERNIC_UDP_DROP_COUNT
} ErnicUdpDrop;

typedef struct ErnicUdpStats {
    uint64_t tx_trains, tx_packets, tx_bytes;
    uint64_t rx_trains, rx_packets, rx_bytes;
    uint64_t tx_busy;                       /* trains refused for now */
    uint64_t drop[ERNIC_UDP_DROP_COUNT];    /* packets; KERNEL: datagrams */
} ErnicUdpStats;

typedef struct ErnicUdpConfig {
    const char *bind;           /* "127.0.0.1:4791"; port 0: any free one */
    uint32_t batch;             /* most datagrams per call, up to 64; 0: 16 */
    uint32_t buf_bytes;         /* of each, at most 65536; 0: 65536 */
    uint32_t socket_bytes;      /* kernel buffer per direction; 0: 4 MiB */
    bool no_offload;            /* one datagram per packet */
} ErnicUdpConfig;

typedef struct ErnicUdp ErnicUdp;

/*
 * Open the link. NULL on failure, with a sentence in *@err, owned by the
 * caller.
 */
ErnicUdp *ernic_udp_new(const ErnicUdpConfig *cfg, char **err);
void ernic_udp_free(ErnicUdp *udp);

/* The socket, for the caller's poll loop; it is non-blocking. */
int ernic_udp_fd(const ErnicUdp *udp);
/* The port that it is bound to: the source port of all packets (ICRC). */
uint16_t ernic_udp_port(const ErnicUdp *udp);
/* Whether a train leaves as one datagram (UDP_SEGMENT). */
bool ernic_udp_has_offload(const ErnicUdp *udp);
const ErnicUdpStats *ernic_udp_stats(const ErnicUdp *udp);
/* The name of an ErnicUdpDrop. */
const char *ernic_udp_drop_name(uint32_t reason);

/*
 * Add or remove a peer at any time; texts as for ernic_peer_parse(). An entry
 * of the map also names the RDMA address of the socket itself: without it, that
 * is the host address.
 */
bool ernic_udp_add_peer(ErnicUdp *udp, const char *text, char **err);
bool ernic_udp_remove_peer(ErnicUdp *udp, const char *guest, char **err);

/* Engines that may send through one socket; each has a number below this. */
#define ERNIC_UDP_OWNERS 2

/*
 * Send a train of engine @owner. False: the socket takes no more; offer the
 * same train again when the socket is writable. A train that was cut short
 * continues where it stopped: the link knows it by owner and train serial. A
 * train that cannot be sent at all is dropped and counted.
 */
bool ernic_udp_send(ErnicUdp *udp, uint32_t owner, const ErnicTrain *train);
/* @owner was reset: it will not offer the refused train again. */
void ernic_udp_forget(ErnicUdp *udp, uint32_t owner);
/*
 * Receive one batch. *@trains has as many elements as the value returned;
 * elements and data are valid until the next call. *@more (may be NULL): the
 * batch was full, so call again.
 */
uint32_t ernic_udp_recv(ErnicUdp *udp, const ErnicTrain **trains, bool *more);

#endif /* ERNIC_LINKS_UDP_SOCKET_H */
