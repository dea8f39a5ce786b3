/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The benchmark: two processes, each with an engine on a UDP socket of its own
 * and the software of a guest around it. Side 0 asks, side 1 serves.
 */
#ifndef ERNIC_BENCH_H
#define ERNIC_BENCH_H

#include <stdatomic.h>
#include "engine.h"
#include "links/udp_socket.h"

#define BENCH_SIDES         2
#define BENCH_MESSAGE_MAX   (1u << 20)
#define BENCH_FEW           10
#define BENCH_MANY          10000
/* Queue pairs of the first nodes: by path MTU, then what makes up BENCH_FEW. */
#define BENCH_QP_4096       0
#define BENCH_QP_1024       1
/* Room for every request that is under way, at either end. */
#define BENCH_SQ_DEPTH      128
#define BENCH_RQ_DEPTH      256

/* ---- node.c: an engine, its link, its memory ------------------------------- */

/* Memory of the guest: bus addresses from BENCH_BASE, given out and kept. */
#define BENCH_BASE          (1ull << 32)

typedef struct BenchNode {
    Ernic *e;
    ErnicUdp *udp;
    uint8_t *mem;
    uint64_t size, used;
    uint64_t now, wake;
    bool busy;                  /* the link refused a train */
} BenchNode;

uint64_t bench_now(void);       /* ns */
/* Ends the process with a message; TAP's "Bail out!". */
void G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN bench_die(const char *fmt, ...);

void bench_node_init(BenchNode *n, uint32_t num_qp, uint64_t mem_bytes,
                     const char *host);
void bench_node_free(BenchNode *n);
/* One round: what is due, then one batch from the link. */
void bench_node_step(BenchNode *n);
/* Bus address of @bytes of zeroed memory, aligned to @align. */
uint64_t bench_alloc(BenchNode *n, uint64_t bytes, uint64_t align);

static inline void *bench_mem(const BenchNode *n, uint64_t addr)
{
    return n->mem + (addr - BENCH_BASE);
}

/* ---- verbs.c: what a guest's driver does ----------------------------------- */

typedef struct BenchCq {
    const struct ernic_cqe *ring;
    uint32_t *ci_mem;
    uint32_t cqn, depth, ci;
} BenchCq;

typedef struct BenchQp {
    uint8_t *sq, *rq;
    uint32_t qpn, sq_depth, rq_depth, sq_pi, rq_pi;
} BenchQp;

/* What the other side has to know. */
typedef struct BenchPeer {
    uint16_t port;
    uint32_t key;               /* of all payload memory */
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

/* Opens the node and fills in @own; then, with the other's, connects. */
void bench_guest_init(BenchGuest *g, uint32_t num_qp, uint32_t side,
                      BenchPeer *own);
void bench_guest_connect(BenchGuest *g, uint32_t side, const BenchPeer *peer);
void bench_guest_free(BenchGuest *g);

/* Writes one signalled request; the doorbell is rung by bench_ring_sq(). */
void bench_post_send(BenchGuest *g, BenchQp *qp, uint8_t opcode, uint64_t addr,
                     uint32_t len, uint64_t raddr, uint32_t rkey);
void bench_ring_sq(BenchGuest *g, const BenchQp *qp);
void bench_post_recv(BenchGuest *g, BenchQp *qp, uint64_t addr, uint32_t len);
void bench_ring_rq(BenchGuest *g, const BenchQp *qp);
/* How many completions have come, at most @max; any but success ends it all. */
uint32_t bench_poll(BenchCq *cq, uint32_t max);

/* Bytes that depend on @seed and position; check: the first that differs. */
void bench_pattern_fill(uint8_t *buf, uint32_t len, uint32_t seed);
bool bench_pattern_ok(const uint8_t *buf, uint32_t len, uint32_t seed);

/* ---- raw.c: what the host's sockets can do --------------------------------- */

typedef struct BenchRaw {
    int fd;
    uint8_t *buf;
} BenchRaw;

uint16_t bench_raw_init(BenchRaw *raw, const char *host);
void bench_raw_free(BenchRaw *raw);
/* One datagram of as many segments of @mtu bytes as fit. */
void bench_raw_send(BenchRaw *raw, const char *host, uint16_t port,
                    uint32_t mtu);
/* Bytes of what was there, 0 if nothing. */
uint32_t bench_raw_recv(BenchRaw *raw);

/* ---- load.c: both sides of every measurement -------------------------------- */

/* What side 1 is to do until it is told otherwise. */
typedef enum BenchMode {
    BENCH_SERVE,                /* run the engine, post receives again */
    BENCH_ECHO,                 /* and answer each message by one */
    BENCH_RAW,                  /* count what comes by the raw socket */
    BENCH_FILL,                 /* serve; first pattern to src, 0 to dst */
    BENCH_CHECK,                /* serve; first answer: dst has the pattern */
    BENCH_QUIT,
} BenchMode;

typedef struct BenchOrder {
    BenchMode mode;
    uint32_t guest, qp, len, seed;
} BenchOrder;

/* In memory of both processes. */
typedef struct BenchShared {
    atomic_uint arrived;                /* sides at barriers, ever growing */
    atomic_uint ordered, obeyed;        /* numbers of orders */
    BenchOrder order;
    bool answer;
    uint64_t preempted;                 /* side 1, as of the last order */
    atomic_ullong raw_bytes;
    uint16_t raw_port;
    BenchPeer peer[BENCH_SIDES][2];     /* by guest: few, many */
} BenchShared;

typedef struct Bench {
    BenchShared *sh;
    uint32_t side, barriers;
    BenchGuest guest[2];                /* few, many */
    BenchRaw raw;
} Bench;

typedef struct BenchLatency {
    double median_us, p99_us;           /* half a round trip */
} BenchLatency;

extern const char *const bench_host[BENCH_SIDES];

/* Both sides, at the same time. */
void bench_setup(Bench *b);
void bench_teardown(Bench *b);
/* Side 1: obeys until BENCH_QUIT. */
void bench_serve(Bench *b);

/* Side 0. Durations are in ns; rates in units a second. */
void bench_quit(Bench *b);
/* How often either side had to give its core to others, so far. */
uint64_t bench_preempted(Bench *b);
/* Moves messages of @len with a pattern that is compared; dies if wrong. */
void bench_verify(Bench *b, uint8_t opcode, uint32_t qp, uint32_t len);
double bench_raw_rate(Bench *b, uint32_t mtu, uint64_t ns);     /* bytes */
double bench_rate(Bench *b, uint8_t opcode, uint32_t qp, uint32_t len,
                  uint64_t ns);                                 /* messages */
void bench_latency(Bench *b, uint64_t ns, BenchLatency *result);
/* ns a message, WRITEs of 8 bytes round-robin, one under way on each of 10. */
double bench_cost(Bench *b, bool many, uint64_t ns);

#endif /* ERNIC_BENCH_H */
