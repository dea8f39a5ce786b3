/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The map of the UDP link: which host endpoint stands for which RDMA address.
 * It is read in both directions.
 */
#ifndef ERNIC_LINKS_UDP_PEERS_H
#define ERNIC_LINKS_UDP_PEERS_H

#include "engine/base/types.h"

/* The UDP port of RoCEv2, and the default port of an endpoint. */
#define ERNIC_ENDPOINT_PORT 4791

typedef struct ErnicEndpoint {
    ErnicGid addr;              /* host address; IPv4 as IPv4-mapped */
    uint16_t port;              /* host order */
} ErnicEndpoint;

/* One entry of the map: one address, or a prefix. */
typedef struct ErnicPeer {
    ErnicGid guest, host;       /* no bits set after the prefix */
    uint8_t plen;               /* of both, of 128 bits; 128: one address */
    uint16_t port;
    /* Set by the link: no segmentation offload on the path to this peer. */
    bool single;
} ErnicPeer;

typedef struct ErnicPeers ErnicPeers;

#define ERNIC_PEERS_ALIASES 4

/*
 * All functions with @err return false on bad input and then have changed
 * nothing. Unless @err is NULL, *@err is a sentence for the user, owned by the
 * caller.
 */

/* The text of an address, IPv4 if it is mapped, in @buf of INET6_ADDRSTRLEN bytes. */
const char *ernic_udp_addr_text(const ErnicGid *addr, char *buf);

/* Parse "127.0.0.1:4792" or "[::1]:4792"; the default port is 4791. */
bool ernic_endpoint_parse(const char *text, ErnicEndpoint *ep, char **err);
/*
 * Parse "10.0.0.2=127.0.0.1:4792" or "10.99.0.0/24=127.99.0.0/24", likewise
 * with IPv6. Both sides of a prefix have the same number of host bits; its port
 * is 4791.
 */
bool ernic_peer_parse(const char *text, ErnicPeer *peer, char **err);

ErnicPeers *ernic_peers_new(void);
void ernic_peers_free(ErnicPeers *map);
/* Add an entry; refuses an address or endpoint that is in the map already. */
bool ernic_peers_add(ErnicPeers *map, const ErnicPeer *peer, char **err);
/* Remove an entry; @guest as in its line: "10.0.0.2", "10.99.0.0/24". */
bool ernic_peers_remove(ErnicPeers *map, const char *guest, char **err);
uint32_t ernic_peers_size(const ErnicPeers *map);

/*
 * The entry with the longest prefix of @guest, and the endpoint that stands for
 * @guest; NULL: there is none. Valid until the map changes.
 */
ErnicPeer *ernic_peers_to_host(const ErnicPeers *map, const ErnicGid *guest,
                             ErnicEndpoint *ep);
/*
 * The addresses that @ep stands for, in the order in which they were added;
 * returns how many. An entry with port 4791 matches any source port, because
 * native RoCEv2 senders vary it for entropy.
 */
uint32_t ernic_peers_to_guest(const ErnicPeers *map, const ErnicEndpoint *ep,
                            ErnicGid guest[ERNIC_PEERS_ALIASES]);
/*
 * Call @fn for each endpoint of an entry with a single address: the receivers
 * of a packet to a group. @fn may not change the map.
 */
void ernic_peers_each_endpoint(const ErnicPeers *map,
                             void (*fn)(ErnicPeer *peer, void *opaque), void *opaque);

#endif /* ERNIC_LINKS_UDP_PEERS_H */
