/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software that sends commands of the mlx5 interface: entries and mailboxes in the
 * guest memory of a fake environment.
 */
#ifndef TESTS_UNIT_MLX5_SOFTWARE_H
#define TESTS_UNIT_MLX5_SOFTWARE_H

#include "fake_env.h"
#include "interfaces/mlx5/command/queue.h"

/* One command; mailboxes are 1024 apart. */
typedef struct Mlx5Posted {
    uint64_t entry;             /* address of the entry */
    uint64_t in, out;           /* of the first mailbox; 0: none */
    uint32_t in_len, out_len;
    uint8_t token;
} Mlx5Posted;

/* Allocate the page of entries. */
uint64_t mlx5_queue_page(FakeEnv *env);

/* Write entry @number of the queue at @page, and give it to the device. */
Mlx5Posted mlx5_post(FakeEnv *env, uint64_t page, uint32_t number, const uint8_t *in,
                     uint32_t in_len, uint32_t out_len);

/* Do @steps of the queue's work, or all that there is; true: there is more. */
bool mlx5_queue_steps(ErnicMlx5CommandQueue *q, uint32_t steps);

/* Mailbox @n of the chain at @first. */
uint8_t *mlx5_box(FakeEnv *env, uint64_t first, uint32_t n);

/* The entry as it is in memory; whether software owns it; its status. */
uint8_t *mlx5_entry(FakeEnv *env, const Mlx5Posted *p);
bool mlx5_is_done(FakeEnv *env, const Mlx5Posted *p);
ErnicMlx5Delivery mlx5_status(FakeEnv *env, const Mlx5Posted *p);

/* The answer, of out_len bytes; the caller frees it. */
uint8_t *mlx5_answer(FakeEnv *env, const Mlx5Posted *p);

#endif /* TESTS_UNIT_MLX5_SOFTWARE_H */
