/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A port of the shared-memory link: the trains of one device to and from the other ports
 * in its folder. It knows addresses and trains, but not the contents of packets. For
 * Ethernet frames, all ports together are a switch.
 */
#ifndef ERNIC_LINKS_SHM_PORT_H
#define ERNIC_LINKS_SHM_PORT_H

#include "engine/base/types.h"

/* Most peers of a port, and most addresses. */
#define ERNIC_SHM_PEERS     32
/*
 * An empty ring asks for a message again after so many trains of other peers. A message
 * costs about as much as 600 looks at a ring.
 */
#define ERNIC_SHM_SILENT    1024
#define ERNIC_SHM_ADDRESSES 128         /* 64 for each of two interfaces */

/* The reasons for which packets were not sent. */
#define ERNIC_SHM_DROPS(X)                                                  \
    X(UNKNOWN_DEST, "unknown-destination")  /* no peer has the address */   \
    X(STALLED,      "stalled")          /* the peer has taken nothing for too long */ \
    X(COPY,         "multicast-copy")   /* to a full ring, for one of several peers */

typedef enum ErnicShmDrop {
#define ERNIC_SHM_DROP_ENUM(sym, name) ERNIC_SHM_DROP_##sym,
    ERNIC_SHM_DROPS(ERNIC_SHM_DROP_ENUM)
#undef ERNIC_SHM_DROP_ENUM
    ERNIC_SHM_DROP_COUNT
} ErnicShmDrop;

typedef struct ErnicShmStats {
    uint64_t tx_trains, tx_packets, tx_bytes;
    uint64_t rx_trains, rx_packets, rx_bytes;
    uint64_t tx_flooded;                    /* frames to all peers */
    uint64_t tx_busy;                       /* trains refused for now */
    uint64_t bells;                         /* how often a peer was woken */
    uint64_t peers;                         /* connections that are up, now */
    uint64_t refused, broken;               /* peers, by ErnicShmEvent */
    uint64_t unreachable;                   /* sockets that permit no connection */
    uint64_t duplicates;                    /* addresses that another peer had already */
    uint64_t drop[ERNIC_SHM_DROP_COUNT];    /* packets */
} ErnicShmStats;

typedef enum ErnicShmEvent {
    ERNIC_SHM_PEER_UP,
    ERNIC_SHM_PEER_GONE,
    ERNIC_SHM_PEER_REFUSED,     /* other version or kind, wrong memory, or no room */
    ERNIC_SHM_PEER_BROKEN,      /* it wrote a malformed record, and was disconnected */
    ERNIC_SHM_PEER_DUPLICATE,   /* it announces an address that another one has */
    ERNIC_SHM_EVENTS
} ErnicShmEvent;

typedef struct ErnicShmConfig {
    const char *folder;
    bool icrc;                  /* packets carry an ICRC; peers have to agree */
    bool frames;                /* the port carries Ethernet frames too; the same */
    /* Optional: what happens to peers. @peer: a number below ERNIC_SHM_PEERS. */
    void (*event)(void *opaque, uint32_t peer, ErnicShmEvent event);
    /* Optional: a sentence for the user about the folder. */
    void (*warn)(void *opaque, const char *text);
    void *opaque;
} ErnicShmConfig;

typedef struct ErnicShm ErnicShm;

/* Join the link. NULL on failure, with a sentence in *@err, owned by the caller. */
ErnicShm *ernic_shm_new(const ErnicShmConfig *cfg, char **err);
void ernic_shm_free(ErnicShm *shm);
/* The number of the port in its folder, from 1; 0: it has not entered yet. */
uint32_t ernic_shm_number(const ErnicShm *shm);
/* The process ends: remove the socket from the folder. May be called in any thread. */
void ernic_shm_hide(const ErnicShm *shm);

/* A descriptor for the caller's poll loop: readable when ernic_shm_serve() has work. */
int ernic_shm_fd(const ErnicShm *shm);
/*
 * Peers come and go, or wake us. Then call ernic_shm_recv(), and offer a refused train
 * again.
 */
void ernic_shm_serve(ErnicShm *shm);

const ErnicShmStats *ernic_shm_stats(const ErnicShm *shm);
/* Names of an ErnicShmDrop and an ErnicShmEvent. */
const char *ernic_shm_drop_name(uint32_t reason);
const char *ernic_shm_event_name(ErnicShmEvent event);

/*
 * The addresses of this port, if they have changed, and whether it wants frames. Peers
 * send neither packets to a port without an address nor frames to one that wants none. If
 * several ports announce the same address, the first one has it.
 */
void ernic_shm_announce(ErnicShm *shm, const ErnicGid *gid, uint32_t num, bool frames);

/*
 * Send a train, of frames only if the port carries them. False: the peer has no room;
 * offer the same train again after ernic_shm_serve(). A frame to a group, or to a station
 * that has sent nothing yet, goes to all peers. A train that cannot be sent at all is
 * dropped and counted, also if the peer does not take half of its ring in
 * ERNIC_SHM_STALL_NS.
 */
bool ernic_shm_send(ErnicShm *shm, const ErnicTrain *train);
#define ERNIC_SHM_STALL_NS 20000000ull
/*
 * Bytes copied so far, beside those of trains to one peer: for groups, and for lists of
 * addresses. The caller charges them.
 */
uint64_t ernic_shm_work(const ErnicShm *shm);

/*
 * Receive a train, valid until the next call. False: there is none, or those that are
 * there make ernic_shm_fd() readable, and ernic_shm_serve() has not been called since.
 */
bool ernic_shm_recv(ErnicShm *shm, ErnicTrain *train);
/*
 * Ask for a wake-up by the next train, which makes ernic_shm_fd() readable. False: there
 * is one already.
 */
bool ernic_shm_sleep(ErnicShm *shm);
/* Whether the next train of any peer makes ernic_shm_fd() readable. */
bool ernic_shm_is_asleep(const ErnicShm *shm);
/* Whether ernic_shm_recv() would receive a train, by a look at memory. */
bool ernic_shm_ready(const ErnicShm *shm);

#endif /* ERNIC_LINKS_SHM_PORT_H */
