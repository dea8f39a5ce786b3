/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stores to doorbell pages by way of the BAR: each kind of doorbell obeys the page of its
 * queue alone.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "objects/eq.h"

enum { OWN = 16, FOREIGN, EQN = 2, CQN = 1, SQN = 0x8001 };
/* In each page from here on, buffers for requests, which begin with a doorbell. */
enum { BLUE_FLAME = 0x800, BLUE_FLAME_SIZE = 0x100 };

/* A row: a doorbell of a queue that it changes. */
static const struct {
    const char *name;
    uint32_t offset, size;
    uint64_t value;
} kinds[] = {
    { "cq-arm", 0x20, 8, CQN },
    { "eq-arm", 0x40, 4, EQN << 24 | 1 },
    { "eq", 0x48, 4, EQN << 24 | 1 },
    { "qp", BLUE_FLAME, 8, QP_RC << 8 },
    { "qp-half", BLUE_FLAME + 4, 4, QP_RC << 8 },
    { "sq", BLUE_FLAME, 8, SQN << 8 },
    { "sq-half", BLUE_FLAME + 4, 4, SQN << 8 },
};

/* Queues of page OWN: an entry in the event queue, requests for the others. */
static void open_queues(Mlx5Fixture *f)
{
    mlx5_start(f);
    mlx5_ethernet(f);
    IS(mlx5_accept(f->e, 0x802, ""), FOREIGN);
    IS(mlx5_accept(f->e, 0x301, "eq_context_entry.log_eq_size=4\n"
                   "eq_context_entry.uar_page=16\n"
                   "pas[0]=" PAGE "\n") & 0xff, EQN);
    f->e->eq[EQN].pi = 1;
    mlx5_accept(f->e, 0x502, INIT);
    mlx5_accept(f->e, 0x503, RTR);
    mlx5_accept(f->e, 0x504, RTS);
    mlx5_accept(f->e, 0x905, "sqn=0x8001\nctx.state=1\n");
    stl_be_p(fake_ptr(&f->env, g_ascii_strtoull(RECORD, NULL, 16) + 4, 4), 1);
}

static void store(Mlx5Fixture *f, uint32_t page, uint32_t offset, uint32_t size,
                  uint64_t value)
{
    ernic_bar_write(f->e, f->env.now, page * ERNIC_MLX5_PAGE + offset, size, value);
}

/* Whether the engine has another state than @before, but for bad doorbells. */
static bool changed(Mlx5Fixture *f, const GByteArray *before)
{
    uint64_t bad = f->e->stats.bad_doorbells;
    g_autoptr(GByteArray) now = NULL;

    f->e->stats.bad_doorbells = 0;
    now = fake_saved(f->e);
    f->e->stats.bad_doorbells = bad;
    return now->len != before->len || memcmp(now->data, before->data, now->len) != 0;
}

/* A store to another page than the queue's is counted; one to its own has its effect. */
WORLD_ROW_TEST("/mlx5/uar/foreign", kinds, k, test_foreign, Mlx5Fixture, f,
               open_queues(f), mlx5_finish(f))
{
    g_autoptr(GByteArray) before = fake_saved(f->e);

    IS(f->e->stats.bad_doorbells, 0);
    store(f, FOREIGN, k->offset, k->size, k->value);
    IS(f->e->stats.bad_doorbells, 1);
    g_assert_false(changed(f, before));
    store(f, OWN, k->offset, k->size, k->value);
    IS(f->e->stats.bad_doorbells, 1);
    g_assert_true(changed(f, before));
}

static bool is_doorbell(uint32_t offset, uint32_t size)
{
    uint32_t first = offset < BLUE_FLAME ? offset : BLUE_FLAME + offset % BLUE_FLAME_SIZE;

    for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (kinds[i].offset == first && kinds[i].size == size) {
            return true;
        }
    }
    return false;
}

/* There are no others: the number of a queue that does not exist is a bad doorbell. */
MLX5_TEST("/mlx5/uar/all-offsets", open_queues, test_all_offsets)
{
    g_autoptr(GByteArray) before = fake_saved(f->e);
    uint64_t bad = 0;

    for (uint32_t page = OWN; page <= FOREIGN; page++) {
        for (uint32_t size = 4; size <= 8; size += 4) {
            for (uint32_t offset = 0; offset < ERNIC_MLX5_PAGE; offset += size) {
                store(f, page, offset, size, size == 4 ? UINT32_MAX : UINT64_MAX);
                bad += is_doorbell(offset, size);
                g_test_message("%u bytes at %#x", size, offset);
                IS(f->e->stats.bad_doorbells, bad);
            }
        }
    }
    g_assert_false(changed(f, before));
}
