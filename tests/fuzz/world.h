/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One engine with queue pairs of every type and in every state, keys of every
 * kind, and work outstanding in both directions. The peer is at 10.0.0.2, and
 * is nobody.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "guest.h"

/* The accesses of the device in a run: it sends, and completes. */
#define WORLD_WRITES    FUZZ_RING
#define WORLD_READS     (FUZZ_QUEUE | FUZZ_SEND | FUZZ_RREAD)
#define WORLD_RUNS      16

#define WORLD_KEYS      9
#define WORLD_KEY_INV   6       /* from here on they can be invalidated */
#define WORLD_ROWS      23
#define WORLD_RAW       19      /* from here on they are for frames */

/* A queue pair, and how it is when the input begins. */
typedef struct WorldRow {
    uint8_t type, state, mtu;
    bool srq, v6;
    uint32_t psn;
    uint8_t work;
} WorldRow;

/* A key, and what it opens to whom. */
typedef struct WorldKey {
    uint32_t key;
    uint64_t iova, len;
    uint64_t page[3];           /* memory: 4 KiB each, or one extent at [0] */
    bool list;
    uint32_t access;            /* ERNIC_ACCESS_REMOTE_*, 0: opens nothing */
    uint32_t qpn;               /* 0: to every queue pair */
} WorldKey;

/* Part of what a key opens. */
typedef struct WorldRange {
    const WorldKey *key;        /* NULL: nothing */
    uint64_t off, len;
} WorldRange;

typedef struct World {
    Guest g;
    const WorldRow *row[GUEST_QPS];     /* of g.qp */
    uint32_t pd, other_pd;
    uint32_t lkey;              /* of the pool */
    WorldKey key[WORLD_KEYS];
    WorldRange write[GUEST_QPS];        /* of the last WRITE that began */
} World;

extern const WorldRow world_rows[WORLD_ROWS];
/* The multicast group of the UD queue pairs. */
extern const uint8_t world_group[16];

/*
 * MAC addresses of which a rule wants the frames, but for their last byte: that is a raw
 * queue pair's row, or WORLD_RSS for RSS over the receive work queues. For the one with
 * an SRQ the rule wants UDP over IPv4.
 */
#define WORLD_MAC       { 2, 0xfa, 0, 0, 0 }
#define WORLD_RSS       0xff

/* Open with the rows of @mask, of which the first is always one. */
void world_open(World *w, uint32_t mask);
/* Attributes that connect queue pair @qpn as @row says. */
void world_attr(const WorldRow *row, uint32_t qpn, struct ernic_qp_attr *attr);
/* Post one request with a buffer of the pool, if there is one, and ring. */
void world_send(World *w, GuestQp *qp, uint8_t op, uint8_t flags, uint32_t len);
void world_recv(World *w, GuestWq *wq, uint32_t len);
/*
 * Deliver @train. Its WRITEs may touch what their RETH names, if their key opens
 * all of it, and nothing else; READs and atomics what any of them has named.
 */
void world_rx(World *w, const ErnicTrain *train);
/* Run, read completions, forget what was sent. */
void world_settle(World *w);

#endif /* FUZZ_WORLD_H */
