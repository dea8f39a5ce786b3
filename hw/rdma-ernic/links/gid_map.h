/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which host endpoint stands for which RDMA address: the map of the UDP link,
 * read both ways.
 */
#ifndef ERNIC_LINK_MAP_H
#define ERNIC_LINK_MAP_H

#include "core/base/types.h"

/* The port of RoCEv2, and of an endpoint that names none. */
#define ERNIC_ENDPOINT_PORT 4791

typedef struct ErnicEndpoint {
    ErnicGid addr;              /* host address; IPv4 as IPv4-mapped */
    uint16_t port;              /* host order */
} ErnicEndpoint;

/* One line of the map: one address, or a prefix of them. */
typedef struct ErnicPeer {
    ErnicGid guest, host;       /* no bits set behind the prefix */
    uint8_t plen;               /* of both, of 128 bits; 128: one address */
    uint16_t port;
    /* The link's note: no segmentation offload on the way to this peer. */
    bool single;
} ErnicPeer;

typedef struct ErnicLinkMap ErnicLinkMap;

#define ERNIC_MAP_ALIASES 4

/*
 * All functions that take @err return false on bad input, have then changed
 * nothing, and put a sentence for the user into *@err (owned by the caller)
 * unless @err is NULL.
 */

/* "127.0.0.1:4792", "[::1]:4792"; without a port 4791. */
bool ernic_endpoint_parse(const char *text, ErnicEndpoint *ep, char **err);
/*
 * "10.0.0.2=127.0.0.1:4792", "10.99.0.0/24=127.99.0.0/24", IPv6 likewise. The
 * two sides of a prefix have equally many host bits; its port is 4791.
 */
bool ernic_peer_parse(const char *text, ErnicPeer *peer, char **err);

ErnicLinkMap *ernic_map_new(void);
void ernic_map_free(ErnicLinkMap *map);
/*
 * Refuses an address that is in the map already. An endpoint may stand for up to
 * ERNIC_MAP_ALIASES addresses, as for an IPv4 and an IPv6 address of one device.
 */
bool ernic_map_add(ErnicLinkMap *map, const ErnicPeer *peer, char **err);
/* @guest as in the map's line: "10.0.0.2", "10.99.0.0/24". */
bool ernic_map_remove(ErnicLinkMap *map, const char *guest, char **err);
uint32_t ernic_map_size(const ErnicLinkMap *map);

/*
 * The longest prefix that holds @guest, and the endpoint that it stands for;
 * NULL: there is none. Borrowed until the map changes.
 */
ErnicPeer *ernic_map_to_host(const ErnicLinkMap *map, const ErnicGid *guest,
                             ErnicEndpoint *ep);
/*
 * The addresses that @ep stands for, in the order in which they were added; returns how
 * many. An endpoint whose port is 4791 in the map matches any port: native RoCEv2 senders
 * choose theirs for entropy.
 */
uint32_t ernic_map_to_guest(const ErnicLinkMap *map, const ErnicEndpoint *ep,
                            ErnicGid guest[ERNIC_MAP_ALIASES]);
/*
 * The lines with a single address, one for each endpoint: who gets what is sent to a
 * group. @fn may not change the map.
 */
void ernic_map_each_endpoint(const ErnicLinkMap *map,
                             void (*fn)(ErnicPeer *peer, void *opaque), void *opaque);

#endif /* ERNIC_LINK_MAP_H */
