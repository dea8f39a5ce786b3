/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writes commands to guest memory as a driver does, and reads their answers.
 */
#include "qemu/osdep.h"
#include "mlx5_software.h"

#define STRIDE 1024

uint64_t mlx5_queue_page(FakeEnv *env)
{
    return fake_alloc(env, 4096, 4096);
}

uint8_t *mlx5_box(FakeEnv *env, uint64_t first, uint32_t n)
{
    return fake_ptr(env, first + n * STRIDE, ERNIC_MLX5_BOX_SIZE);
}

/* A chain for a message of @len bytes; 0: it needs none. */
static uint64_t make_chain(FakeEnv *env, uint32_t len, uint8_t token)
{
    uint32_t num, n;
    uint64_t first;

    if (len <= ERNIC_MLX5_INLINE_SIZE) {
        return 0;
    }
    num = DIV_ROUND_UP(len - ERNIC_MLX5_INLINE_SIZE, ERNIC_MLX5_BOX_DATA);
    first = fake_alloc(env, num * STRIDE, STRIDE);
    for (n = 0; n < num; n++) {
        uint8_t *box = mlx5_box(env, first, n);

        stq_be_p(box + 560, n + 1 < num ? first + (n + 1) * STRIDE : 0);
        stl_be_p(box + 568, n);
        box[573] = token;
    }
    return first;
}

Mlx5Posted mlx5_post(FakeEnv *env, uint64_t page, uint32_t number, const uint8_t *in,
                     uint32_t in_len, uint32_t out_len)
{
    Mlx5Posted p = {
        .entry = page + number * ERNIC_MLX5_ENTRY_SIZE,
        .in_len = in_len, .out_len = out_len, .token = number + 1,
    };
    uint8_t *entry = mlx5_entry(env, &p);
    uint32_t at = MIN(in_len, ERNIC_MLX5_INLINE_SIZE), n;

    p.in = make_chain(env, in_len, p.token);
    p.out = make_chain(env, out_len, p.token);
    memset(entry, 0, ERNIC_MLX5_ENTRY_SIZE);
    entry[0] = 7;
    stl_be_p(entry + 4, in_len);
    stq_be_p(entry + 8, p.in);
    memcpy(entry + 16, in, at);
    stq_be_p(entry + 48, p.out);
    stl_be_p(entry + 56, out_len);
    entry[60] = p.token;
    entry[63] = 1;
    for (n = 0; at < in_len; n++) {
        uint32_t len = MIN(in_len - at, ERNIC_MLX5_BOX_DATA);

        memcpy(mlx5_box(env, p.in, n), in + at, len);
        at += len;
    }
    return p;
}

uint8_t *mlx5_entry(FakeEnv *env, const Mlx5Posted *p)
{
    return fake_ptr(env, p->entry, ERNIC_MLX5_ENTRY_SIZE);
}

bool mlx5_is_done(FakeEnv *env, const Mlx5Posted *p)
{
    return !(mlx5_entry(env, p)[63] & 1);
}

ErnicMlx5Delivery mlx5_status(FakeEnv *env, const Mlx5Posted *p)
{
    return mlx5_entry(env, p)[63] >> 1;
}

uint8_t *mlx5_answer(FakeEnv *env, const Mlx5Posted *p)
{
    uint8_t *out = g_malloc0(p->out_len);
    uint32_t at = MIN(p->out_len, ERNIC_MLX5_INLINE_SIZE), n;

    memcpy(out, mlx5_entry(env, p) + 32, at);
    for (n = 0; at < p->out_len; n++) {
        uint32_t len = MIN(p->out_len - at, ERNIC_MLX5_BOX_DATA);

        memcpy(out + at, mlx5_box(env, p->out, n), len);
        at += len;
    }
    return out;
}

bool mlx5_queue_steps(ErnicMlx5CommandQueue *q, uint32_t steps)
{
    for (; steps && ernic_mlx5_command_queue_has_work(q); steps--) {
        ernic_mlx5_command_queue_step(q);
    }
    return ernic_mlx5_command_queue_has_work(q);
}
