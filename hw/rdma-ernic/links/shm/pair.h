/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The connection of two ports of the shared-memory link: a socket, and memory with a ring
 * and a list of addresses for each direction. The port that connects makes the memory.
 * The socket wakes the peer, and its end is the end of the connection.
 */
#ifndef ERNIC_LINKS_SHM_PAIR_H
#define ERNIC_LINKS_SHM_PAIR_H

#include "links/shm/close.h"
#include "links/shm/port.h"
#include "links/shm/ring.h"

typedef struct ErnicShmMap ErnicShmMap;

typedef struct ErnicShmPair {
    int fd;
    ErnicShmCloser *closer;     /* of the port */
    int memory;                 /* ours, until the peer has mapped it; or -1 */
    bool caller;                /* we have connected, and made the memory */
    bool up;                    /* both sides have agreed */
    bool icrc, frames;          /* what trains are; ErnicShmConfig */
    ErnicShmMap *map;
    ErnicShmRing tx, rx;
    uint64_t since;             /* ns: of the connection */
    uint64_t heard;             /* trains of the port at the last one, or message */
    bool owed;                  /* the peer is to be woken: there was no memory for it */
    /* The time that the peer has to read half of @tx began then, and there. */
    uint64_t full_since;        /* ns; 0: @tx was not full yet */
    uint32_t full_at;
    /* The addresses of the peer: a copy, and the number of its version. */
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t num_gids, version;
    bool wants_frames;
    uint32_t announced;         /* the number of the version of ours */
} ErnicShmPair;

typedef enum ErnicShmPairState {
    ERNIC_SHM_WAIT,             /* the peer has said nothing yet */
    ERNIC_SHM_UP,
    ERNIC_SHM_REFUSED,          /* other version or kind, wrong memory, descriptors */
    ERNIC_SHM_GONE,
} ErnicShmPairState;

/*
 * Both take over @fd, and return NULL on failure. @closer has to outlive the pair. Both
 * sides have to agree on the .icrc and .frames of @cfg.
 */
ErnicShmPair *ernic_shm_pair_call(int fd, ErnicShmCloser *closer,
                                  const ErnicShmConfig *cfg);
ErnicShmPair *ernic_shm_pair_accept(int fd, ErnicShmCloser *closer,
                                    const ErnicShmConfig *cfg);
void ernic_shm_pair_free(ErnicShmPair *p);

/* The socket is readable and the pair is not up. */
ErnicShmPairState ernic_shm_pair_handshake(ErnicShmPair *p);
/* The socket is readable and the pair is up. */
ErnicShmPairState ernic_shm_pair_receive(ErnicShmPair *p);
/* Wake the peer; false: there is no memory for it now, so it is @owed. */
bool ernic_shm_pair_wake(ErnicShmPair *p);

/* Announce our addresses to the peer, and whether we want frames. */
void ernic_shm_pair_announce(ErnicShmPair *p, const ErnicGid *gid, uint32_t num,
                             bool frames);
/* Whether the list of the peer has changed. */
bool ernic_shm_pair_has_news(const ErnicShmPair *p);
/* Look at the list of the peer; true: it has changed. Adds the bytes copied to @work. */
bool ernic_shm_pair_read_addresses(ErnicShmPair *p, uint64_t *work);

#endif /* ERNIC_LINKS_SHM_PAIR_H */
