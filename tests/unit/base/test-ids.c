/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of objects against a model: each given out once, oldest free first.
 */
#include "qemu/osdep.h"
#include "base/ids.h"
#include "test.h"

/* The head of a test of ErnicIds *ids from @first on, of a table of @size. */
#define IDS_TEST(path, fn, first, size) \
    WORLD_TEST(path, fn, ErnicIds, ids, ernic_ids_init(ids, first, size), \
               ernic_ids_fini(ids))

TEST("/res/first", test_first)
{
    ErnicIds ids;

    /* Queue pairs start at 2: 0 and 1 have fixed meanings. */
    ernic_ids_init(&ids, 2, 4);
    IS(ernic_ids_alloc(&ids), 2);
    IS(ernic_ids_alloc(&ids), 3);
    IS(ernic_ids_alloc(&ids), 0);
    ernic_ids_fini(&ids);

    ernic_ids_init(&ids, 1, 1);
    IS(ernic_ids_alloc(&ids), 0);
    ernic_ids_fini(&ids);
}

/* Memory of numbers that nobody has used is not written. */
IDS_TEST("/res/untouched", test_untouched, 2, 1 << 16)
{
    for (uint32_t id = 2; id < 100; id++) {
        IS(ernic_ids_alloc(ids), id);
    }
    ernic_ids_free(ids, 50);
    ernic_ids_free(ids, 60);
    IS(ids->fresh, 100);
    for (uint32_t i = 0; i < 1 << 16; i++) {
        IS(ids->fifo[i], i == 50 ? 60 : 0);
    }
}

/* Objects that come and go use no more of a large table than ERNIC_IDS_LATE numbers. */
IDS_TEST("/res/come-and-go", test_come_and_go, 1, 1 << 24)
{
    enum { HELD = 1000 };
    static uint32_t held[HELD];
    uint32_t id;

    for (uint32_t i = 0; i < 4 * ERNIC_IDS_LATE; i++) {
        if (i >= HELD) {
            ernic_ids_free(ids, held[i % HELD]);
        }
        id = ernic_ids_alloc(ids);
        g_assert_cmpuint(id, >, 0);
        g_assert_true(i < HELD || id != held[i % HELD]);
        held[i % HELD] = id;
    }
    g_assert_cmpuint(ids->fresh, <=, ERNIC_IDS_LATE + HELD);
}

/* Without room for new numbers, those that were freed remain. */
IDS_TEST("/res/room", test_room, 1, 100)
{
    ids->room = 3;
    IS(ernic_ids_alloc(ids), 1);
    g_assert_false(ernic_ids_want_room(ids));
    IS(ernic_ids_alloc(ids), 2);
    g_assert_true(ernic_ids_want_room(ids));
    g_assert_false(ernic_ids_left(ids));
    IS(ernic_ids_alloc(ids), 0);
    ernic_ids_free(ids, 2);
    IS(ernic_ids_alloc(ids), 2);
    ids->room = 4;
    IS(ernic_ids_alloc(ids), 3);
    IS(ids->count, 96);
}

/* Numbers as loaded: each at most once, below those that were never given out. */
IDS_TEST("/res/load", test_load, 2, 100)
{
    g_assert_false(ernic_ids_load_fresh(ids, 1));
    g_assert_false(ernic_ids_load_fresh(ids, 101));
    g_assert_true(ernic_ids_load_fresh(ids, 10));
    IS(ids->count, 90);
    g_assert_true(ernic_ids_load(ids, 7));
    g_assert_true(ernic_ids_load(ids, 3));
    g_assert_false(ernic_ids_load(ids, 3));
    g_assert_false(ernic_ids_load(ids, 7));
    g_assert_false(ernic_ids_load(ids, 1));
    g_assert_false(ernic_ids_load(ids, 10));
    IS(ids->count, 92);
    IS(ernic_ids_alloc(ids), 10);
    ids->room = 11;
    IS(ernic_ids_alloc(ids), 7);
    IS(ernic_ids_alloc(ids), 3);
    IS(ernic_ids_alloc(ids), 0);
}

/* Numbers that seemed never to have been given out are the oldest freed ones. */
TEST("/res/load-given", test_load_given)
{
    static const uint32_t want[] = { 4, 5, 6, 2, 1, 7, 8, 9 };
    ErnicIds ids;

    ernic_ids_init(&ids, 1, 10);
    g_assert_true(ernic_ids_load_fresh(&ids, 4));
    g_assert_true(ernic_ids_load(&ids, 2));
    g_assert_true(ernic_ids_load(&ids, 1));
    ernic_ids_load_given(&ids, 7);
    ernic_ids_load_given(&ids, 3);
    ernic_ids_load_given(&ids, 0);
    IS(ids.fresh, 7);
    IS(ids.count, ARRAY_SIZE(want));
    ids.room = 7;
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        ids.room += want[i] == 7 ? 3 : 0;
        IS(ernic_ids_alloc(&ids), want[i]);
    }
    ernic_ids_fini(&ids);
    ernic_ids_init(&ids, 1, 4);
    ernic_ids_load_given(&ids, 4);
    for (uint32_t id = 1; id < 4; id++) {
        IS(ernic_ids_alloc(&ids), id);
        ernic_ids_free(&ids, id);
    }
    ernic_ids_fini(&ids);
}

IDS_TEST("/res/random", test_random, 1, 37)
{
    enum { SIZE = 37, STEPS = 20000 };
    bool out[SIZE] = { };
    uint32_t fifo[SIZE], head = 0, count = SIZE - 1, id;

    for (id = 1; id < SIZE; id++) {
        fifo[id - 1] = id;
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        if (g_test_rand_int_range(0, 2)) {
            id = ernic_ids_alloc(ids);
            if (!count) {
                IS(id, 0);
                continue;
            }
            IS(id, fifo[head]);
            g_assert_false(out[id]);
            out[id] = true;
            head = (head + 1) % SIZE;
            count--;
        } else {
            id = g_test_rand_int_range(1, SIZE);
            if (out[id]) {
                out[id] = false;
                ernic_ids_free(ids, id);
                fifo[(head + count++) % SIZE] = id;
            }
        }
        IS(ids->count, count);
    }
}
