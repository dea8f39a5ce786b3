/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The software end of the mlx5 queues: work requests, doorbells and completions as
 * Linux's driver and provider write and read them, by the layouts of fields.h. The
 * objects are made by commands of the verbs interface, and their records filled in here.
 */
#ifndef MLX5_QUEUES_H
#define MLX5_QUEUES_H

#include "fake_verbs.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "test.h"

#define MLX5_UAR        20              /* the page with all doorbells */
#define MLX5_DEPTH      32              /* blocks of a send queue */
#define MLX5_RQ_DEPTH   8
#define MLX5_RQ_STRIDE  64
#define MLX5_SRQ_DEPTH  8
#define MLX5_CQ_DEPTH   64
#define MLX5_MEM        65536u
#define MLX5_SRQ_STRIDE (64 * ERNIC_RQ_STRIDE_MAX)

/* An engine with its guest memory, and what its software has created. */
typedef struct Mlx5End {
    FakeEnv env;                        /* first: e->env */
    Ernic *e;
    uint32_t pd, key;
    uint64_t mem;                       /* MLX5_MEM bytes that key opens */
    FakeEq eq;
    FakeCq cq;
    uint64_t cq_record;
    uint32_t cq_lead;                   /* unused bytes before each entry */
} Mlx5End;

typedef struct Mlx5Queue {
    uint32_t qpn, type;
    uint64_t rq, sq, record;
    uint16_t sq_pi, rq_pi;
} Mlx5Queue;

typedef struct Mlx5List {
    FakeSrq srq;
    uint64_t record;
    uint16_t pi, head;                  /* head: the slot that is posted next */
} Mlx5List;

/* A send request that is being written. */
typedef struct Mlx5Wr {
    uint8_t bytes[ERNIC_MLX5_WQE_MAX + ERNIC_MLX5_BLOCK];
    uint32_t len;
} Mlx5Wr;

/* A completion entry, by its fields. */
typedef struct Mlx5Cqe {
    uint8_t opcode, syndrome, vendor, sent;     /* sent: opcode of the request */
    bool solicited;
    uint16_t counter, vlan;
    uint32_t index, qpn, bytes, imm, source, grh, l3;
} Mlx5Cqe;

/* Host @host (fake_set_gid()). */
void mlx5_end_init(Mlx5End *end, uint8_t host);
void mlx5_end_done(Mlx5End *end);
/* @srq: NULL for none. */
void mlx5_create_qp(Mlx5End *end, Mlx5Queue *q, uint8_t type, const Mlx5List *srq);
void mlx5_connect(Mlx5End *end, const Mlx5Queue *q, uint32_t dest, uint8_t host);

/* Two ends, each with a queue pair to the other. */
typedef struct Mlx5Pair {
    Mlx5End a, b;
    Mlx5Queue aq, bq;
} Mlx5Pair;

/* @type: enum ernic_qp_type; @srq: of the second end, or NULL. */
void mlx5_open_pair(Mlx5Pair *p, uint8_t type, Mlx5List *srq);
void mlx5_close_pair(Mlx5Pair *p);

/* Segments, in their order. The control segment is completed by mlx5_write(). */
void mlx5_wr(Mlx5Wr *wr, uint8_t opcode, uint8_t ce, uint32_t imm);
uint8_t *mlx5_segment(Mlx5Wr *wr, uint32_t bytes);
void mlx5_raddr(Mlx5Wr *wr, uint64_t addr, uint32_t rkey);
void mlx5_atomic(Mlx5Wr *wr, uint64_t swap_add, uint64_t compare);
void mlx5_av(Mlx5Wr *wr, uint8_t host, uint32_t dest);
void mlx5_data(Mlx5Wr *wr, uint64_t addr, uint32_t len, uint32_t lkey);
void mlx5_inline(Mlx5Wr *wr, const void *bytes, uint32_t len);

/* Write the request to the ring; no doorbell. Returns its counter. */
uint16_t mlx5_write(Mlx5End *end, Mlx5Queue *q, Mlx5Wr *wr);
/* The record, then the doorbell. */
void mlx5_announce(Mlx5End *end, const Mlx5Queue *q);
/* Both, and a run of the engine. */
void mlx5_ring(Mlx5End *end, Mlx5Queue *q);
/* Write it and ring: the request is executed. */
void mlx5_post_wr(Mlx5End *end, Mlx5Queue *q, Mlx5Wr *wr);

/* A receive request of one segment; the record announces it. */
void mlx5_post_recv(Mlx5End *end, Mlx5Queue *q, uint64_t addr, uint32_t len);
/* The same to an SRQ, with @next as the slot after this one. */
void mlx5_post_srq(Mlx5End *end, Mlx5List *srq, uint64_t addr, uint32_t len,
                   uint16_t next);

/* The next completion; false: none. The record says that it is consumed. */
bool mlx5_poll(Mlx5End *end, Mlx5Cqe *cqe);
/* The doorbell that arms the completion queue. */
void mlx5_arm(Mlx5End *end, uint8_t number, bool solicited);

/* Deliver what both have sent, until neither has anything. */
void mlx5_exchange(Mlx5End *a, Mlx5End *b);

/* The head of a test of a Mlx5Pair *p without a shared receive queue. */
#define MLX5_PAIR_TEST(path, type, fn) \
    WORLD_TEST(path, fn, Mlx5Pair, p, mlx5_open_pair(p, type, NULL), mlx5_close_pair(p))

#endif /* MLX5_QUEUES_H */
