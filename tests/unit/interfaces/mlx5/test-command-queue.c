/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command queue of the mlx5 interface, from the doorbell to the answer in guest
 * memory, with an executor that this test observes.
 */
#include "qemu/osdep.h"
#include "mlx5_software.h"
#include "test.h"

#define MANY 1000000

typedef struct Bench {
    FakeEnv env;
    ErnicMem mem;
    ErnicMlx5CommandQueue q;
    uint32_t executed;
    uint32_t again;             /* calls that ask to be repeated */
    GByteArray *last;           /* the last message that was executed */
} Bench;

/* Answers with the complement of the message, repeated. */
static bool execute(void *opaque, const uint8_t *in, uint32_t in_len, uint8_t *out,
                    uint32_t out_len)
{
    Bench *b = opaque;

    if (b->again) {
        b->again--;
        return false;
    }
    b->executed++;
    g_byte_array_set_size(b->last, 0);
    g_byte_array_append(b->last, in, in_len);
    for (uint32_t i = in_len; i < ERNIC_MLX5_MESSAGE_ROOM; i++) {
        IS(in[i], 0);
    }
    for (uint32_t i = 0; i < MAX(out_len, ERNIC_MLX5_MESSAGE_ROOM); i++) {
        IS(out[i], 0);
        out[i] = ~in[i % in_len];
    }
    return true;
}

static void bench_init(Bench *b)
{
    memset(b, 0, sizeof(*b));
    fake_env_init(&b->env);
    b->last = g_byte_array_new();
    b->mem.bound = 2 * ERNIC_MLX5_MESSAGE_MAX;
    ernic_mlx5_command_queue_init(&b->q, &fake_env_ops, &b->env, &b->mem, execute, b);
    b->q.base = mlx5_queue_page(&b->env);
}

static void bench_fini(Bench *b)
{
    ernic_mlx5_command_queue_reset(&b->q);
    g_byte_array_unref(b->last);
    fake_env_fini(&b->env);
}

static uint8_t *make_message(uint32_t len)
{
    uint8_t *in = g_malloc(len);

    for (uint32_t i = 0; i < len; i++) {
        in[i] = i * 7 + (i >> 8) + 1;
    }
    return in;
}

/* Post a command as entry @number; its message is make_message(). */
static Mlx5Posted post(Bench *b, uint32_t number, uint32_t in_len, uint32_t out_len)
{
    g_autofree uint8_t *in = make_message(in_len);

    return mlx5_post(&b->env, b->q.base, number, in, in_len, out_len);
}

/* Ring for the entries of @mask, and run until there is nothing to do. */
static void run(Bench *b, uint32_t mask)
{
    ernic_mlx5_command_queue_ring(&b->q, mask);
    g_assert_false(mlx5_queue_steps(&b->q, MANY));
}

static void check_answer(Bench *b, const Mlx5Posted *p)
{
    g_autofree uint8_t *in = make_message(p->in_len);
    g_autofree uint8_t *out = mlx5_answer(&b->env, p);
    uint32_t i;

    g_assert_true(mlx5_is_done(&b->env, p));
    IS(mlx5_status(&b->env, p), ERNIC_MLX5_DELIVERY_OK);
    for (i = 0; i < p->out_len; i++) {
        IS(out[i], (uint8_t)~in[i % p->in_len]);
    }
    for (; i < ERNIC_MLX5_INLINE_SIZE; i++) {
        IS(mlx5_entry(&b->env, p)[32 + i], 0);
    }
}

#define BENCH_TEST(path, fn) WORLD_TEST(path, fn, Bench, b, bench_init(b), bench_fini(b))

/*
 * The account has both messages while a command is in progress. A command for which it
 * has no room is not executed.
 */
BENCH_TEST("/mlx5/queue/memory", test_memory)
{
    const uint64_t need = 100000 + ERNIC_MLX5_MESSAGE_ROOM;
    Mlx5Posted p;

    b->mem.bound = need;
    p = post(b, 0, 100000, 100);
    ernic_mlx5_command_queue_ring(&b->q, 1);
    g_assert_true(mlx5_queue_steps(&b->q, 1));
    IS(b->mem.used, need);
    IS(ernic_mlx5_command_queue_bytes(&b->q), need);
    g_assert_false(mlx5_queue_steps(&b->q, MANY));
    check_answer(b, &p);
    IS(b->mem.used, 0);
    b->mem.bound--;
    p = post(b, 0, 100000, 100);
    run(b, 1);
    IS(b->executed, 1);
    IS(mlx5_status(&b->env, &p), ERNIC_MLX5_DELIVERY_INTERNAL);
    IS(b->mem.used, 0);
    IS(b->mem.refused, 1);
}

/* Each step takes one entry or one mailbox; a command may take several. */
BENCH_TEST("/mlx5/queue/steps", test_steps)
{
    /* The entry, two mailboxes, execution, three mailboxes, the end. */
    enum { STEPS = 1 + 2 + 3 + 3 + 1 };
    Mlx5Posted p = post(b, 0, 16 + 600, 16 + 1100);

    b->again = 2;
    g_assert_false(mlx5_queue_steps(&b->q, MANY));
    ernic_mlx5_command_queue_ring(&b->q, 1);
    g_assert_true(mlx5_queue_steps(&b->q, 0));
    for (uint32_t step = 1; step < STEPS; step++) {
        uint64_t accesses = b->env.reads + b->env.writes;

        g_assert_true(mlx5_queue_steps(&b->q, 1));
        g_assert_cmpuint(b->env.reads + b->env.writes - accesses, <=, 2);
        IS(b->executed, step >= 6);
        g_assert_false(mlx5_is_done(&b->env, &p));
    }
    g_assert_false(mlx5_queue_steps(&b->q, 1));
    check_answer(b, &p);
}

/* A doorbell for an entry that software has not posted has no effect. */
BENCH_TEST("/mlx5/queue/not-posted", test_not_posted)
{
    Mlx5Posted p = post(b, 1, 16, 16);

    run(b, 0x7);
    IS(b->executed, 1);
    check_answer(b, &p);
    run(b, 0x2);
    IS(b->executed, 1);
}

#define SELF    UINT64_MAX      /* the address of the first mailbox */

/* A byte, or a big-endian number, that is changed in the entry or in a mailbox. */
static const struct {
    const char *name;
    enum { ENTRY, IN, OUT } where;
    uint32_t box, at, size;
    uint64_t value;
    ErnicMlx5Delivery status;
    bool executed;
} hostile[] = {
    { "type", ENTRY, 0, 0, 1, 6, ERNIC_MLX5_DELIVERY_DESCRIPTOR },
    { "length", ENTRY, 0, 4, 4, 0x7fffffff, ERNIC_MLX5_DELIVERY_IN_LENGTH },
    { "token", IN, 1, 573, 1, 0x77, ERNIC_MLX5_DELIVERY_TOKEN },
    { "number", IN, 0, 568, 4, 1, ERNIC_MLX5_DELIVERY_BOX_NUMBER },
    { "circle", IN, 0, 560, 8, SELF, ERNIC_MLX5_DELIVERY_BOX_NUMBER },
    { "no memory at the link", IN, 0, 560, 8, 0x1000, ERNIC_MLX5_DELIVERY_INTERNAL },
    { "token of the answer", OUT, 1, 573, 1, 0x77, ERNIC_MLX5_DELIVERY_TOKEN, true },
    { "end of the answer", OUT, 0, 560, 8, 0, ERNIC_MLX5_DELIVERY_OUT_LENGTH, true },
};

static void damage(Bench *b, const Mlx5Posted *p, uint32_t i)
{
    uint8_t *at = hostile[i].where == ENTRY ? mlx5_entry(&b->env, p) :
        mlx5_box(&b->env, hostile[i].where == IN ? p->in : p->out, hostile[i].box);
    uint64_t be = cpu_to_be64(hostile[i].value == SELF ? p->in : hostile[i].value);

    memcpy(at + hostile[i].at, (uint8_t *)&be + 8 - hostile[i].size, hostile[i].size);
}

/* The status names the reason, and the next command works. */
TEST("/mlx5/queue/hostile", test_hostile)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(hostile); i++) {
        Mlx5Posted p;
        Bench b;

        g_test_message("%s", hostile[i].name);
        bench_init(&b);
        p = post(&b, 0, 16 + 1000, 16 + 1000);
        damage(&b, &p, i);
        run(&b, 1);
        g_assert_true(mlx5_is_done(&b.env, &p));
        IS(mlx5_status(&b.env, &p), hostile[i].status);
        IS(b.executed, hostile[i].executed);
        for (uint32_t k = 0; k < ERNIC_MLX5_INLINE_SIZE; k++) {
            IS(mlx5_entry(&b.env, &p)[32 + k], 0);
        }
        p = post(&b, 0, 100, 100);
        run(&b, 1);
        check_answer(&b, &p);
        bench_fini(&b);
    }
}

/* Each access to guest memory fails once; the queue goes on with the next command. */
TEST("/mlx5/queue/failed-access", test_failed_access)
{
    uint64_t nth, refused = 1;

    for (nth = 1; refused; nth++) {
        Mlx5Posted p;
        Bench b;

        bench_init(&b);
        p = post(&b, 0, 16 + 600, 16 + 600);
        fake_fail_dma(&b.env, nth, false);
        run(&b, 1);
        refused = b.env.refused;
        g_assert_true(!refused || !mlx5_is_done(&b.env, &p) ||
                      mlx5_status(&b.env, &p) == ERNIC_MLX5_DELIVERY_INTERNAL);
        fake_fail_dma(&b.env, 0, false);
        p = post(&b, 1, 100, 100);
        run(&b, 2);
        check_answer(&b, &p);
        bench_fini(&b);
    }
    /* The entry, two mailboxes each way with their data, the answer in two parts. */
    g_assert_cmpuint(nth, >, 9);
}

/* The device works from its copy: a later change of the entry has no effect. */
BENCH_TEST("/mlx5/queue/copied-once", test_copied_once)
{
    Mlx5Posted p = post(b, 0, 16 + 600, 16);

    ernic_mlx5_command_queue_ring(&b->q, 1);
    g_assert_true(mlx5_queue_steps(&b->q, 2));
    memset(mlx5_box(&b->env, p.in, 0), 0xee, ERNIC_MLX5_BOX_SIZE);
    stl_be_p(mlx5_entry(&b->env, &p) + 4, 0xffffffff);
    g_assert_false(mlx5_queue_steps(&b->q, MANY));
    check_answer(b, &p);
}
