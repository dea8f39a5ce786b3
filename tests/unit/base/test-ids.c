/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers of objects against a model: each given out once, oldest free first.
 */
#include "qemu/osdep.h"
#include "base/ids.h"
#include "test.h"

TEST("/res/order", test_order)
{
    ErnicIds ids;

    ernic_ids_init(&ids, 1, 5);
    for (uint32_t i = 1; i < 5; i++) {
        IS(ernic_ids_alloc(&ids), i);
    }
    IS(ernic_ids_alloc(&ids), 0);

    /* Freed numbers are reused in the order in which they were freed. */
    ernic_ids_free(&ids, 3);
    ernic_ids_free(&ids, 1);
    IS(ernic_ids_alloc(&ids), 3);
    ernic_ids_free(&ids, 4);
    IS(ernic_ids_alloc(&ids), 1);
    IS(ernic_ids_alloc(&ids), 4);
    IS(ernic_ids_alloc(&ids), 0);
    ernic_ids_fini(&ids);
    g_assert_null(ids.fifo);
}

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
TEST("/res/untouched", test_untouched)
{
    enum { SIZE = 1 << 16 };
    ErnicIds ids;

    ernic_ids_init(&ids, 2, SIZE);
    for (uint32_t id = 2; id < 100; id++) {
        IS(ernic_ids_alloc(&ids), id);
    }
    ernic_ids_free(&ids, 50);
    IS(ernic_ids_at(&ids, 0), 100);
    IS(ernic_ids_at(&ids, ids.count - 1), 50);
    for (uint32_t i = 0; i < SIZE; i++) {
        IS(!ids.fifo[i], i != SIZE - 2);
    }
    ernic_ids_fini(&ids);
}

/* A freed number is reused only after all that were free before it. */
TEST("/res/late-reuse", test_late_reuse)
{
    enum { SIZE = 100 };
    ErnicIds ids;
    uint32_t id;

    ernic_ids_init(&ids, 1, SIZE);
    id = ernic_ids_alloc(&ids);
    ernic_ids_free(&ids, id);
    for (uint32_t i = 0; i < SIZE - 2; i++) {
        g_assert_cmpuint(ernic_ids_alloc(&ids), !=, id);
    }
    IS(ernic_ids_alloc(&ids), id);
    ernic_ids_fini(&ids);
}

TEST("/res/random", test_random)
{
    enum { SIZE = 37, STEPS = 20000 };
    bool out[SIZE] = { };
    uint32_t fifo[SIZE], head = 0, count = SIZE - 1, id;
    ErnicIds ids;

    ernic_ids_init(&ids, 1, SIZE);
    for (id = 1; id < SIZE; id++) {
        fifo[id - 1] = id;
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        if (g_test_rand_int_range(0, 2)) {
            id = ernic_ids_alloc(&ids);
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
                ernic_ids_free(&ids, id);
                fifo[(head + count++) % SIZE] = id;
            }
        }
        IS(ids.count, count);
    }
    ernic_ids_fini(&ids);
}
