/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The connection of two ports of the shared-memory link: a socket, and memory with a ring
 * and a list of addresses for each direction. The port that connects makes the memory.
 * The socket is the bell, and its end is the end of the connection.
 */
#ifndef ERNIC_LINKS_SHM_PAIR_H
#define ERNIC_LINKS_SHM_PAIR_H

#include "links/shm_port.h"
#include "links/shm_ring.h"

typedef struct ErnicShmMap ErnicShmMap;

typedef struct ErnicShmPair {
    int fd;
    bool caller;                /* we have connected, and made the memory */
    bool up;                    /* both sides have agreed */
    bool icrc;
    ErnicShmMap *map;
    ErnicShmRing tx, rx;
    uint64_t full_since;        /* ns: no room in @tx since then; 0: there is */
    /* The addresses of the peer: a copy, and the number of its version. */
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t num_gids, version;
} ErnicShmPair;

typedef enum ErnicShmGreeting {
    ERNIC_SHM_WAIT,             /* the peer has said nothing yet */
    ERNIC_SHM_UP,
    ERNIC_SHM_REFUSED,          /* other version, other ICRC, or wrong memory */
    ERNIC_SHM_GONE,
} ErnicShmGreeting;

/*
 * Both take over @fd, and return NULL on failure. @icrc: packets carry an ICRC, which
 * both sides have to agree on.
 */
ErnicShmPair *ernic_shm_pair_call(int fd, bool icrc);
ErnicShmPair *ernic_shm_pair_accept(int fd, bool icrc);
void ernic_shm_pair_free(ErnicShmPair *p);

/* The socket is readable and the pair is not up. */
ErnicShmGreeting ernic_shm_pair_greet(ErnicShmPair *p);
/* The socket is readable and the pair is up; false: the peer is gone. */
bool ernic_shm_pair_hear(ErnicShmPair *p);
/* Wake the peer. */
void ernic_shm_pair_ring(ErnicShmPair *p);

/* Announce our addresses to the peer. */
void ernic_shm_pair_announce(ErnicShmPair *p, const ErnicGid *gid, uint32_t num);
/* Has the peer announced @gid? */
bool ernic_shm_pair_has(ErnicShmPair *p, const ErnicGid *gid);

#endif /* ERNIC_LINKS_SHM_PAIR_H */
