/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The deadline heap against a plain array that is searched.
 */
#include "qemu/osdep.h"
#include "base/timer.h"
#include "test.h"

TEST("/timer/empty", test_empty)
{
    ErnicTimers *t = ernic_timers_new(4);

    IS(ernic_timers_next(t), ERNIC_NEVER);
    IS(ernic_timers_pop(t, 0), 0);
    IS(ernic_timers_pop(t, ERNIC_NEVER), 0);
    ernic_timer_set(t, 3, ERNIC_NEVER);     /* has no effect */
    IS(ernic_timers_next(t), ERNIC_NEVER);
    ernic_timers_free(t);
    ernic_timers_free(NULL);
}

/* The last time before "never" is a valid time. */
TEST("/timer/extremes", test_extremes)
{
    ErnicTimers *t = ernic_timers_new(3);

    ernic_timer_set(t, 1, ERNIC_NEVER - 1);
    ernic_timer_set(t, 2, 0);
    IS(ernic_timers_next(t), 0);
    IS(ernic_timers_pop(t, 0), 2);
    IS(ernic_timers_pop(t, ERNIC_NEVER - 2), 0);
    IS(ernic_timers_pop(t, ERNIC_NEVER - 1), 1);
    ernic_timers_free(t);
}

static uint32_t naive_first(const uint64_t *due, uint32_t size)
{
    uint32_t first = 0;

    for (uint32_t id = 1; id < size; id++) {
        if (due[id] != ERNIC_NEVER && (!first || due[id] < due[first])) {
            first = id;
        }
    }
    return first;
}

static void check_heap(const ErnicTimers *t, const uint64_t *due)
{
    uint32_t set = 0;

    for (uint32_t id = 1; id < t->size; id++) {
        set += due[id] != ERNIC_NEVER;
        if (due[id] == ERNIC_NEVER) {
            IS(t->pos[id], 0);
        } else {
            IS(t->heap[t->pos[id] - 1], id);
            IS(t->due[id], due[id]);
        }
    }
    IS(t->count, set);
    for (uint32_t place = 1; place < t->count; place++) {
        g_assert_cmpuint(t->due[t->heap[(place - 1) / 2]], <=, t->due[t->heap[place]]);
    }
}

static void run_model(uint32_t size, uint32_t span, uint32_t steps)
{
    ErnicTimers *t = ernic_timers_new(size);
    g_autofree uint64_t *due = g_new(uint64_t, size);
    g_autoptr(GRand) rand = g_rand_new_with_seed(size * 31 + span);
    uint32_t id, first;
    uint64_t at;

    memset(due, 0xff, size * sizeof(*due));
    for (uint32_t step = 0; step < steps; step++) {
        at = g_rand_int_range(rand, 0, span);
        id = g_rand_int_range(rand, 1, size);
        switch (g_rand_int_range(rand, 0, 4)) {
        case 0:
            first = naive_first(due, size);
            if (first && due[first] > at) {
                first = 0;
            }
            IS(ernic_timers_pop(t, at), first);
            due[first] = ERNIC_NEVER;
            break;
        case 1:
            ernic_timer_set(t, id, ERNIC_NEVER);
            due[id] = ERNIC_NEVER;
            break;
        default:
            ernic_timer_set(t, id, at);
            due[id] = at;
        }
        check_heap(t, due);
        first = naive_first(due, size);
        IS(ernic_timers_next(t), first ? due[first] : ERNIC_NEVER);
    }
    while ((first = naive_first(due, size))) {
        IS(ernic_timers_pop(t, span), first);
        due[first] = ERNIC_NEVER;
    }
    IS(t->count, 0);
    ernic_timers_free(t);
}

TEST("/timer/model", test_model)
{
    run_model(2, 4, 2000);
    run_model(9, 3, 20000);         /* nearly all are equal */
    run_model(9, 1000, 20000);
    run_model(300, 100000, 20000);
}
