/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A face for tests whose queues count otherwise than those of the verbs face:
 *  - a send request takes 1 to 16 blocks of 64 bytes and may wrap at the ring's edge;
 *    counters of software count blocks, in 16 bits;
 *  - the producer of a receive queue is a record in guest memory, without a doorbell;
 *  - an SRQ is a list: each slot names the next one, and a record counts what was posted.
 * Objects are made by the commands of the verbs face. The software side is here, too.
 */
#ifndef BLOCK_FACE_H
#define BLOCK_FACE_H

#include "faces/face.h"
#include "fake_verbs.h"

#define BLOCK_BYTES     64
#define BLOCK_MOST      16              /* of a request */
#define BLOCK_DEPTH     32              /* of a send queue */
#define BLOCK_RQ_DEPTH  8
#define BLOCK_SRQ_DEPTH 8               /* slots, one of which is never posted */
#define BLOCK_CQ_DEPTH  64
#define BLOCK_MEM       65536u
/* How often flushing looks for receive requests, ns. */
#define BLOCK_POLL      100000

/* The first block of a send request; inline bytes are in those after it. */
typedef struct QEMU_PACKED BlockHead {
    uint64_t wr_id;
    uint64_t addr;
    uint64_t raddr;
    uint32_t len;
    uint32_t lkey;
    uint32_t rkey;
    uint8_t opcode;                     /* enum ernic_wr_opcode */
    uint8_t blocks;
    uint8_t flags;                      /* ERNIC_WR_INLINE */
    uint8_t pad[25];
} BlockHead;
QEMU_BUILD_BUG_ON(sizeof(BlockHead) != BLOCK_BYTES);

/* A receive request. */
typedef struct QEMU_PACKED BlockRecv {
    uint64_t wr_id;
    uint64_t addr;
    uint32_t len;
    uint32_t lkey;
    uint16_t next;                      /* SRQ: slot after this one */
    uint8_t pad[38];
} BlockRecv;
QEMU_BUILD_BUG_ON(sizeof(BlockRecv) != BLOCK_BYTES);

typedef struct QEMU_PACKED BlockCqe {
    uint64_t wr_id;
    uint32_t qpn;
    uint32_t byte_len;
    uint16_t counter;                   /* send: first block; receive: slot */
    uint8_t status;                     /* enum ernic_wc_status */
    uint8_t recv;
    uint8_t pad[12];
} BlockCqe;

/* An engine with this face, its guest memory and its software. */
typedef struct Block {
    FakeEnv env;                        /* first: e->env */
    Ernic *e;
    FakeEq eq;
    uint32_t pd, cqn, key;
    uint64_t mem;                       /* BLOCK_MEM bytes that key opens */
    /* The face's: */
    uint64_t cq;                        /* ring of BlockCqe */
    uint32_t cq_pi;
    uint64_t rq_record[64];             /* by queue pair: address, 16 bits */
    uint64_t srq_record[16];            /* by SRQ */
    uint16_t srq_head[16];
    /* Software's: */
    uint32_t cq_ci;
} Block;

typedef struct BlockQp {
    uint32_t qpn;
    uint64_t sq, rq;
    uint16_t sq_pi, rq_pi;
} BlockQp;

typedef struct BlockSrq {
    FakeSrq srq;
    uint16_t pi, tail;                  /* tail: the slot that is posted next */
} BlockSrq;

extern const ErnicFaceOps block_face;

/* Host @host (fake_set_gid()). */
void block_init(Block *b, uint8_t host);
void block_done(Block *b);
/* RC; @srq: NULL for none. */
void block_create_qp(Block *b, BlockQp *qp, const BlockSrq *srq);
void block_create_srq(Block *b, BlockSrq *srq);

/* Write a request of @head->blocks blocks, with @bytes if it is inline; no doorbell. */
void block_write(Block *b, BlockQp *qp, const BlockHead *head, const void *bytes);
/* The doorbell: software's 16-bit counter. Returns the status. */
uint8_t block_ring(Block *b, uint32_t qpn, uint16_t pi);
/* Write a receive request into its slot and announce it in the record. */
void block_write_recv(Block *b, BlockQp *qp, uint64_t addr, uint32_t len);
void block_record(Block *b, const BlockQp *qp, uint16_t pi);
/* Post to an SRQ, with @next as the slot that is posted after this one. */
void block_post_srq(Block *b, BlockSrq *srq, uint64_t addr, uint32_t len, uint16_t next);
/* The next completion; false: none. */
bool block_poll(Block *b, BlockCqe *cqe);

#endif /* BLOCK_FACE_H */
