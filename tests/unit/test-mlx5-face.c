/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface as the face of an engine: registers of BAR 0, and commands that
 * the engine executes in slices of its work.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "engine.h"
#include "faces/face.h"
#include "faces/mlx5/mlx5.h"
#include "mlx5_software.h"

/* Bytes in the initialization segment. */
enum {
    FW_REV = 0x0, CMDIF_REV = 0x4, QUEUE_HIGH = 0x10, QUEUE_LOW = 0x14, DOORBELL = 0x18,
    INITIALIZING = 0x1fc, TIMER_HIGH = 0x1000, HEALTH = 0x1010,
};

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint64_t page;              /* of the command queue */
} Fixture;

static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };

static uint32_t get(Fixture *f, uint32_t offset)
{
    return ernic_bar_read(f->e, f->env.now, offset, 4);
}

static void put(Fixture *f, uint32_t offset, uint32_t value)
{
    ernic_bar_write(f->e, f->env.now, offset, 4, value);
}

static void setup(Fixture *f, gconstpointer data)
{
    ErnicConfig cfg;

    fake_env_init(&f->env);
    fake_config(&cfg);
    cfg.mlx5 = &config;
    f->e = ernic_new(&cfg, &fake_env_ops, &f->env);
    f->page = mlx5_queue_page(&f->env);
    put(f, QUEUE_HIGH, f->page >> 32);
    put(f, QUEUE_LOW, f->page);
}

static void teardown(Fixture *f, gconstpointer data)
{
    ernic_free(f->e);
    fake_env_fini(&f->env);
}

static void run(Fixture *f)
{
    do {
        ernic_run(f->e, f->env.now);
    } while (f->env.wake <= f->env.now);
}

/* Execute a command of 16 bytes; returns the syndrome. */
static uint32_t command(Fixture *f, uint16_t opcode)
{
    uint8_t in[16] = { opcode >> 8, opcode };
    Mlx5Posted p = mlx5_post(&f->env, f->page, 7, in, sizeof(in), 16);
    g_autofree uint8_t *out = NULL;

    put(f, DOORBELL, 1u << 7);
    g_assert_false(mlx5_is_done(&f->env, &p));
    run(f);
    g_assert_true(mlx5_is_done(&f->env, &p));
    g_assert_cmpint(mlx5_status(&f->env, &p), ==, ERNIC_MLX5_DELIVERY_OK);
    out = mlx5_answer(&f->env, &p);
    return ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome);
}

/* The driver reads this before its first command. */
static void test_segment(Fixture *f, gconstpointer data)
{
    g_assert_true(f->e->face == &ernic_face_mlx5);
    g_assert_cmphex(get(f, FW_REV), ==, 1);             /* major 1, minor 0 */
    g_assert_cmphex(get(f, CMDIF_REV), ==, 5 << 16);
    g_assert_cmphex(ernic_bar_read(f->e, f->env.now, FW_REV, 8), ==,
                    1ull << 32 | 5 << 16);
    g_assert_cmphex(get(f, QUEUE_HIGH), ==, f->page >> 32);
    g_assert_cmphex(get(f, QUEUE_LOW), ==, (uint32_t)f->page | 5 << 4 | 6);
    g_assert_cmphex(get(f, INITIALIZING), ==, 0);
    g_assert_cmphex(ernic_bar_read(f->e, f->env.now, TIMER_HIGH, 8), ==, f->env.now);
    /* Doorbell pages, and what lies beyond the BAR. */
    g_assert_cmphex(get(f, 16 * 4096 + 0x20), ==, 0);
    g_assert_cmphex(get(f, ERNIC_MLX5_BAR_SIZE), ==, 0);
}

/* The driver looks every two seconds, and finds another value. */
static void test_health(Fixture *f, gconstpointer data)
{
    uint32_t before = get(f, HEALTH), after, i;

    for (i = 0; i < 100; i++) {
        f->env.now += 2000000000;
        after = get(f, HEALTH);
        g_assert_cmphex(after, !=, before);
        g_assert_cmphex(after >> 24, ==, 0);
        before = after;
    }
}

static void test_commands(Fixture *f, gconstpointer data)
{
    g_assert_cmpint(command(f, 0x102), ==, ERNIC_MLX5_NOT_NOW);
    g_assert_cmpint(command(f, 0x104), ==, ERNIC_MLX5_ACCEPTED);
    g_assert_cmpint(command(f, 0x102), ==, ERNIC_MLX5_ACCEPTED);
    g_assert_cmpint(f->e->mlx5->function.state, ==, ERNIC_MLX5_RUNNING);
    g_assert_true(f->e->mlx5->function.engine == f->e);
    ernic_reset(f->e);
    g_assert_cmpint(f->e->mlx5->function.state, ==, ERNIC_MLX5_DISABLED);
    g_assert_cmphex(get(f, QUEUE_HIGH), ==, 0);
}

/* Long messages take several slices; the engine asks to be run again. */
static void test_slices(Fixture *f, gconstpointer data)
{
    enum { LEN = 200 * 512 };
    g_autofree uint8_t *in = g_malloc0(LEN);
    Mlx5Posted p[8];
    uint32_t i, slices = 0;

    in[0] = 0xff;
    for (i = 0; i < ARRAY_SIZE(p); i++) {
        p[i] = mlx5_post(&f->env, f->page, i, in, LEN, LEN);
    }
    put(f, DOORBELL, (1u << ARRAY_SIZE(p)) - 1);
    do {
        g_assert_cmpuint(f->env.wake, ==, f->env.now);
        ernic_run(f->e, f->env.now);
        slices++;
    } while (f->env.wake == f->env.now);
    g_assert_cmpuint(slices, >, 3);
    for (i = 0; i < ARRAY_SIZE(p); i++) {
        g_assert_true(mlx5_is_done(&f->env, &p[i]));
    }
}

/* Stores without meaning change nothing. */
static void test_bad_writes(Fixture *f, gconstpointer data)
{
    static const uint32_t offsets[] = {
        0x0, 0x4, 0x1c, 0x1fc, 0x1000, 0x3ffc, 15 * 4096 + 0x40,
        16 * 4096 + 0x40, 16 * 4096 + 0x800, 1023 * 4096 + 0xffc,
        ERNIC_MLX5_BAR_SIZE, 0xfffffff8,
    };
    g_autofree ErnicMlx5 *before = g_memdup2(f->e->mlx5, sizeof(*before));
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(offsets); i++) {
        put(f, offsets[i], 0xffffffff);
        if (offsets[i] % 8 == 0) {
            ernic_bar_write(f->e, f->env.now, offsets[i], 8, UINT64_MAX);
        }
    }
    g_assert_cmpmem(f->e->mlx5, sizeof(*before), before, sizeof(*before));
    g_assert_cmpuint(f->env.reads + f->env.writes, ==, 0);
}

/* Every status of the engine is a reason to refuse a command. */
static void test_status(void)
{
    uint8_t status;

    g_assert_cmpint(ernic_mlx5_refusal(ERNIC_OK), ==, ERNIC_MLX5_ACCEPTED);
    g_assert_cmpint(ernic_mlx5_refusal(ERNIC_AGAIN), ==, ERNIC_MLX5_AGAIN);
    for (status = 1; status <= ERNIC_ERR_FULL; status++) {
        g_assert_cmpint(ernic_mlx5_refusal(status), >, ERNIC_MLX5_ACCEPTED);
        g_assert_cmpint(ernic_mlx5_refusal(status), <, ERNIC_MLX5_REFUSALS);
    }
}

#define ADD(name, fn) \
    g_test_add("/mlx5/face/" name, Fixture, NULL, setup, fn, teardown)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("segment", test_segment);
    ADD("health", test_health);
    ADD("commands", test_commands);
    ADD("slices", test_slices);
    ADD("bad-writes", test_bad_writes);
    g_test_add_func("/mlx5/face/status", test_status);
    return g_test_run();
}
