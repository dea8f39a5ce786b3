/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The software end of Ethernet queues of the mlx5 interface: rings, doorbell records and
 * completion entries by the layouts of fields.h, and frames with right checksums.
 */
#ifndef TESTS_UNIT_MLX5_FRAMES_H
#define TESTS_UNIT_MLX5_FRAMES_H

#include "mlx5_eth_fixture.h"

enum { FRAMES_RST, FRAMES_RDY, FRAMES_ERR = 3 };

#define FRAMES_CQ       1
#define FRAMES_PD       1
#define FRAMES_CQ_DEPTH 64
#define FRAMES_MEM      (512u << 10)

typedef struct FramesQueue {
    uint32_t number, log, log_stride;
    uint64_t ring, record;
    uint16_t pi;
} FramesQueue;

/* A function with a completion queue in memory, and a key for all memory. */
typedef struct Frames {
    Eth eth;
    uint64_t cq_ring, cq_record;
    uint32_t cq_ci;
    uint8_t cqe[64];            /* the last entry */
    uint32_t key;               /* of FRAMES_PD, with addresses of the bus */
    uint64_t mem;               /* FRAMES_MEM bytes for data */
    FramesQueue sq, rq;         /* of tests with one of the kind */
} Frames;

/* A piece of a receive request. */
typedef struct FramesPiece {
    uint64_t addr;
    uint32_t len, key;
} FramesPiece;

/* Headers of a frame that frames_make() completes. */
typedef struct FramesHead {
    uint8_t dmac[6];            /* all 0: that of the function */
    uint16_t tag, tag2;         /* 0: no VLAN tag; tag2 follows tag */
    bool service;               /* the first tag is a service tag */
    uint8_t version;            /* of IP; 0: EtherType 0x88b5 */
    uint8_t proto;              /* of IP */
    uint8_t src[16], dst[16];
    uint16_t sport, dport;
    uint8_t tcp_flags;
    uint32_t payload;           /* bytes, after TCP or UDP header */
} FramesHead;

void frames_setup(Frames *f);
/* All invariants hold. */
void frames_done(Frames *f);
/* Save the state, and load it into a new engine, which takes the place of the old one. */
void frames_move(Frames *f);
/* A queue in state RDY. @more: lines of the context. */
void frames_queue(Frames *f, FramesQueue *q, bool rq, uint32_t log, uint32_t log_stride,
                  const char *more);
/* All frames go to @tir. */
void frames_root(Frames *f, uint32_t tir, uint32_t tag);
/* Post a receive request of @n pieces, and end the list if there is room. */
void frames_post(Frames *f, FramesQueue *q, const FramesPiece *piece, uint32_t n);
/* Consume the next completion entry; false: none. */
bool frames_poll(Frames *f);
/* Consume one, and compare fields of it, see mlx5_fields_are(). */
#define FRAMES_EXPECT(f, layout, ...) do {                          \
    g_assert_true(frames_poll(f));                                  \
    FIELDS_ARE(layout, (f)->cqe, __VA_ARGS__);                      \
} while (0)
#define CQE_IS(f, ...)      FRAMES_EXPECT(f, cqe64, __VA_ARGS__)
#define ERR_CQE_IS(f, ...)  FRAMES_EXPECT(f, err_cqe, __VA_ARGS__)
void frames_receive(Frames *f, const uint8_t *frame, uint32_t len);
/* Write a frame with checksums to @to; returns its length. */
uint32_t frames_make(const FramesHead *head, uint8_t *to);
/* The sum of 16-bit words, not inverted. */
uint16_t frames_sum(const uint8_t *bytes, uint32_t len);

#define CQE(f, field)       ernic_mlx5_get((f)->cqe, &ernic_mlx5_cqe64.field)

/* The head of a test of Frames *f. */
#define FRAMES_TEST(path, fn) \
    WORLD_TEST(path, fn, Frames, f, frames_setup(f), frames_done(f))

#endif /* TESTS_UNIT_MLX5_FRAMES_H */
