/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The benchmark: two processes, each with engines on a UDP socket or a port of the
 * shared-memory link, and software that plays the guest. Side 0 measures, side 1 serves.
 */
#ifndef ERNIC_BENCH_H
#define ERNIC_BENCH_H

#include <stdatomic.h>
#include "engine.h"
#include "links/shm/port.h"
#include "links/udp/socket.h"

#define BENCH_SIDES         2
#define BENCH_MESSAGE_MAX   (1u << 20)
#define BENCH_FEW           10
#define BENCH_MANY          10000
/* Queue pairs of the first nodes: one per path MTU, then more, up to BENCH_FEW. */
#define BENCH_QP_4096       0
#define BENCH_QP_1024       1
/* Every queue has room for all requests in flight, at either end. */
#define BENCH_SQ_DEPTH      128
#define BENCH_RQ_DEPTH      256

/* The guests of a side, by queue pairs and link. */
typedef enum BenchWhich {
    BENCH_UDP,
    BENCH_UDP_MANY,
    BENCH_SHM,                  /* without ICRC */
    BENCH_SHM_ICRC,
    BENCH_GUESTS
} BenchWhich;

/* ---- node.c: an engine, its link, its memory ------------------------------- */

/* Guest memory: bus addresses from BENCH_BASE on; allocations are never freed. */
#define BENCH_BASE          (1ull << 32)

typedef struct BenchNode {
    Ernic *e;
    ErnicUdp *udp;              /* its link: this one, or */
    ErnicShm *shm;
    uint32_t steps;
    uint8_t *mem;
    uint64_t size, used;
    uint64_t now, wake;
    bool busy;                  /* the link refused a train */
} BenchNode;

uint64_t bench_now(void);       /* ns */
/* Ends the process with a TAP "Bail out!" message. */
void G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN bench_die(const char *fmt, ...);

/* @where: an address for a socket, or the folder of the shared-memory link. */
void bench_node_init(BenchNode *n, uint32_t num_qp, uint64_t mem_bytes,
                     BenchWhich which, const char *where);
/* Wait for the other side of the shared-memory link. */
void bench_node_meet(BenchNode *n);
void bench_node_free(BenchNode *n);
/* One step: runs due work of the engine, then receives one batch from the link. */
void bench_node_step(BenchNode *n);
/* Bus address of @bytes of zeroed memory, aligned to @align. */
uint64_t bench_alloc(BenchNode *n, uint64_t bytes, uint64_t align);

static inline void *bench_mem(const BenchNode *n, uint64_t addr)
{
    return n->mem + (addr - BENCH_BASE);
}

/* ---- verbs.c: the guest's driver ------------------------------------------- */

typedef struct BenchCq {
    const struct ernic_cqe *ring;
    uint32_t *ci_mem;
    uint32_t cqn, depth, ci;
} BenchCq;

typedef struct BenchQp {
    uint8_t *sq, *rq;
    uint32_t qpn, sq_depth, rq_depth, sq_pi, rq_pi;
} BenchQp;

/* Data of a guest that the other side needs. */
typedef struct BenchPeer {
    uint16_t port;
    uint32_t key;               /* for all payload memory */
    uint64_t src, dst;          /* BENCH_MESSAGE_MAX bytes each */
    uint32_t qpn[BENCH_MANY];
} BenchPeer;

typedef struct BenchGuest {
    BenchNode node;
    uint32_t num_qp, pd, key;
    uint64_t src, dst;
    BenchCq scq, rcq;
    BenchQp *qp;
} BenchGuest;

/*
 * bench_guest_init() opens the node and fills in @own; bench_guest_connect() then
 * connects the queue pairs to those of @peer, the other side's data.
 */
void bench_guest_init(BenchGuest *g, BenchWhich which, uint32_t side,
                      const char *folder, BenchPeer *own);
void bench_guest_connect(BenchGuest *g, uint32_t side, const BenchPeer *peer);
void bench_guest_free(BenchGuest *g);

/* Writes one signalled request; the doorbell is rung by bench_ring_sq(). */
void bench_post_send(BenchGuest *g, BenchQp *qp, uint8_t opcode, uint64_t addr,
                     uint32_t len, uint64_t raddr, uint32_t rkey);
void bench_ring_sq(BenchGuest *g, const BenchQp *qp);
void bench_post_recv(BenchGuest *g, BenchQp *qp, uint64_t addr, uint32_t len);
void bench_ring_rq(BenchGuest *g, const BenchQp *qp);
/* Polls at most @max completions; returns how many. An error ends the process. */
uint32_t bench_poll(BenchCq *cq, uint32_t max);

/* Fills @buf with bytes that depend on @seed and position; checks for them. */
void bench_pattern_fill(uint8_t *buf, uint32_t len, uint32_t seed);
bool bench_pattern_ok(const uint8_t *buf, uint32_t len, uint32_t seed);

/* ---- raw.c: the rate of the host's sockets --------------------------------- */

typedef struct BenchRaw {
    int fd;
    uint8_t *buf;
} BenchRaw;

uint16_t bench_raw_init(BenchRaw *raw, const char *host);
void bench_raw_free(BenchRaw *raw);
/* Sends one datagram of as many segments of @mtu bytes as fit. */
void bench_raw_send(BenchRaw *raw, const char *host, uint16_t port, uint32_t mtu);
/* Receives one datagram; returns its length in bytes, 0 if there is none. */
uint32_t bench_raw_recv(BenchRaw *raw);

/* ---- load.c: both sides of every measurement -------------------------------- */

/* Mode of side 1 until the next order. */
typedef enum BenchMode {
    BENCH_SERVE,                /* run the engine, post receives again */
    BENCH_RAW,                  /* count the bytes from the raw socket */
    BENCH_FILL,                 /* write the pattern to src, 0 to dst; then serve */
    BENCH_CHECK,                /* report if dst has the pattern; then serve */
    BENCH_QUIT,
} BenchMode;

typedef struct BenchOrder {
    BenchMode mode;
    uint32_t guest, qp, len, seed;
} BenchOrder;

/* This is in memory that both processes share. */
typedef struct BenchShared {
    atomic_uint arrived;                /* arrivals at barriers, never reset */
    atomic_uint ordered, obeyed;        /* number of the last order, and last done */
    BenchOrder order;
    bool answer;
    uint64_t lost;                      /* ns, of side 1, at the last order */
    atomic_ullong raw_bytes;
    uint16_t raw_port;
    BenchPeer peer[BENCH_SIDES][BENCH_GUESTS];
    char folder[64];                    /* for the shared-memory link */
} BenchShared;

typedef struct Bench {
    BenchShared *sh;
    uint32_t side, barriers;
    BenchGuest guest[BENCH_GUESTS];
    BenchRaw raw;
} Bench;

extern const char *const bench_host[BENCH_SIDES];

/* Called by both sides at the same time. */
void bench_setup(Bench *b);
void bench_teardown(Bench *b);
/* Side 1: executes orders until BENCH_QUIT. */
void bench_serve(Bench *b);

/* The functions below are for side 0. Durations are in ns, rates per second. */
void bench_quit(Bench *b);
/* How long neither side's program ran, in ns: only differences have a meaning. */
uint64_t bench_lost(Bench *b);
/* Moves messages of @len bytes and compares the data; bench_die() if it differs. */
void bench_verify(Bench *b, BenchWhich which, uint8_t opcode, uint32_t qp, uint32_t len);
double bench_raw_rate(Bench *b, uint32_t mtu, uint64_t ns);     /* bytes */
/* Bytes that one core copies twice: what a shared memory without protocol would cost. */
double bench_copy_rate(Bench *b, uint64_t ns);
double bench_rate(Bench *b, BenchWhich which, uint8_t opcode, uint32_t qp,
                  uint32_t len, uint64_t ns);                   /* messages */
/* ns per 8-byte WRITE; round-robin over the queue pairs, with 10 in flight. */
double bench_cost(Bench *b, bool many, uint64_t ns);

#endif /* ERNIC_BENCH_H */
