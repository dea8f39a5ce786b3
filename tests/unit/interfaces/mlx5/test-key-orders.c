/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keys, lists of pieces and windows that come, open, close and go in any order, while
 * requests use them. The relations between them hold after each step, also in the state
 * that another engine loads.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "objects/dma.h"
#include "objects/mr.h"
#include "objects/mr_update.h"

enum { STEPS = 20000, KEYS = 16, TAKE_OVER = 500, AT = 0x7f0100, LEN = 64 };

static const char *const kinds[] = {
    PA, MTT, FREE, KLM, KLM M "en_rinval=1\n",
};

typedef struct World {
    Mlx5Fixture f;
    GRand *rand;
} World;

static uint32_t any(World *w, uint32_t most)
{
    return g_rand_int_range(w->rand, 0, most);
}

/* The number of a key, which rarely is free. */
static uint32_t any_key(World *w)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < 8; i++) {
        number = 1 + any(w, w->f.e->mr_ids.fresh - 1);
        if (w->f.e->mr[number].kind != ERNIC_MR_FREE) {
            break;
        }
    }
    return number;
}

static uint32_t key_of(World *w, uint32_t number)
{
    return number << 8 | w->f.e->mr[number].variant;
}

static bool make(World *w)
{
    Mlx5Answer a;

    mlx5_ask(w->f.e, 0x200, kinds[any(w, ARRAY_SIZE(kinds))], &a);
    return !a.refusal;
}

static bool destroy(World *w)
{
    g_autofree char *text = g_strdup_printf("mkey_index=%u", any_key(w));
    Mlx5Answer a;

    mlx5_ask(w->f.e, 0x202, text, &a);
    return !a.refusal;
}

static bool update(World *w, ErnicMrUpdate *u)
{
    ErnicFault fault = ERNIC_FAULT_NONE;
    bool more = true;

    while (more) {
        more = false;
        fault = ernic_mr_update(w->f.e, 1, QP_RC, u, &more);
    }
    return fault == ERNIC_FAULT_NONE;
}

/* UMR: opens a list with two pieces of another key. */
static bool open_list(World *w)
{
    uint64_t of = key_of(w, any_key(w));
    ErnicMrUpdate u = {
        .key = key_of(w, any_key(w)), .valid = true, .any_pd = true, .num = 4,
        .set = ERNIC_UPDATE_VALID | ERNIC_UPDATE_ACCESS | ERNIC_UPDATE_RANGE,
        .access = ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE |
                  ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_MW_BIND,
        .iova = AT, .length = LEN,
    };

    for (uint32_t i = 0; i < 2; i++) {
        u.page[2 * i] = cpu_to_be64((uint64_t)LEN / 2 << 32 | of);
        u.page[2 * i + 1] = cpu_to_be64(AT + i * 0x10);
    }
    return update(w, &u);
}

static bool close_list(World *w)
{
    ErnicMrUpdate u = {
        .key = key_of(w, any_key(w)), .set = ERNIC_UPDATE_VALID, .any_pd = true,
    };

    return update(w, &u);
}

static bool bind(World *w)
{
    uint32_t window = any_key(w);
    struct ernic_wqe_bind_mw wr = {
        .rkey = key_of(w, window), .lkey = key_of(w, any_key(w)), .addr = AT,
        .length = any(w, 2) * LEN,
        .access = ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_WRITE,
    };

    wr.new_rkey = wr.rkey + 1;
    return ernic_mw_bind(w->f.e, 1, QP_RC, &wr) == ERNIC_FAULT_NONE;
}

static bool invalidate(World *w)
{
    return ernic_mr_invalidate(w->f.e, 1, QP_RC, key_of(w, any_key(w)), any(w, 2));
}

static bool forget(World *w)
{
    uint32_t bound = w->f.e->num_bound;

    ernic_mw_forget_qp(w->f.e, QP_RC);
    return bound;
}

static bool access_remote(World *w)
{
    uint8_t bytes[LEN] = { };

    return ernic_dma_remote_write(w->f.e, 1, QP_RC, key_of(w, any_key(w)), AT, bytes,
                                  1 + any(w, LEN)) == ERNIC_DMA_OK;
}

static const struct {
    const char *name;
    bool (*act)(World *w);
    uint32_t weight;
} acts[] = {
    { "make", make, 4 }, { "destroy", destroy, 2 }, { "open", open_list, 16 },
    { "close", close_list, 1 }, { "bind", bind, 24 }, { "invalidate", invalidate, 1 },
    { "forget", forget, 1 }, { "access", access_remote, 16 },
};

static uint32_t choose(World *w)
{
    uint32_t sum = 0, i, at;

    for (i = 0; i < ARRAY_SIZE(acts); i++) {
        sum += acts[i].weight;
    }
    at = any(w, sum);
    for (i = 0; at >= acts[i].weight; i++) {
        at -= acts[i].weight;
    }
    return i;
}

TEST("/mlx5-key-orders", test_orders)
{
    uint32_t done[ARRAY_SIZE(acts)] = { };
    World w = { .rand = g_rand_new_with_seed(20) };

    mlx5_boot_keys(&w.f, KEYS);
    mlx5_objects(&w.f);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = choose(&w);

        done[i] += acts[i].act(&w);
        ernic_slice(w.f.e);
        fake_check(w.f.e);
        if (step % TAKE_OVER == 0) {
            fake_take_over(&w.f.e);
        }
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(acts); i++) {
        g_test_message("%s: %u", acts[i].name, done[i]);
        g_assert_cmpuint(done[i], >, STEPS / 2000);
    }
    mlx5_finish(&w.f);
    g_rand_free(w.rand);
}
