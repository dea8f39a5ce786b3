/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software that sends Ethernet frames by the mlx5 interface: requests by the layouts of
 * fields.h, and doorbells.
 */
#ifndef TESTS_UNIT_MLX5_SEND_H
#define TESTS_UNIT_MLX5_SEND_H

#include "mlx5_frames.h"
#include "mlx5_queues.h"

/* The page with the doorbells of send queues. */
#define SEND_UAR    16

/* A function with the page, and f->sq, a send queue of 2^@log blocks. */
void send_setup(Frames *f, uint32_t log);
/* One more queue; @more: lines of its context. */
void send_queue(Frames *f, FramesQueue *sq, uint32_t log, const char *more);

/* The Ethernet segment; @len bytes at @head are the begin of the frame. */
void send_eth(Mlx5Wr *wr, uint8_t sums, uint16_t mss, const uint8_t *head, uint32_t len);

/* Complete the control segment, and write the request to the ring. */
void send_write(Frames *f, FramesQueue *sq, Mlx5Wr *wr);
/* The doorbell record, and the doorbell. */
void send_ring(Frames *f, const FramesQueue *sq);
void send_doorbell(Frames *f, uint32_t page, uint32_t number);
/* All of these, and a run. */
void send_post(Frames *f, FramesQueue *sq, Mlx5Wr *wr);
/* A SEND of the @len bytes at f->mem, of which the first @head are in the request. */
void send_frame(Frames *f, FramesQueue *sq, uint32_t len, uint32_t head, uint8_t ce);
/* The next train of frames; it exists. */
FakeTrain *send_take(Frames *f);
/* It is the frame of @len bytes at @frame. */
void send_took(Frames *f, const void *frame, uint32_t len);

/* The head of a test of send_setup(). */
#define SEND_TEST(path, log, fn) \
    WORLD_TEST(path, fn, Frames, f, send_setup(f, log), frames_done(f))

#endif /* TESTS_UNIT_MLX5_SEND_H */
