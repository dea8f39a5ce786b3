/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory of the frames of a wire: what is dropped waits, and never adds up; a list
 * knows how many frames it has.
 */
#include "qemu/osdep.h"
#include "fabric/carried.h"
#include "test.h"

#define LEN_MAX     16384

/* The head of a test of an ErnicCarriedStore *st, whose end frees all. */
#define STORE_TEST(path, fn) \
    WORLD_TEST(path, fn, ErnicCarriedStore, st, ernic_carried_init(st), \
               ernic_carried_fini(st); IS(st->used, 0))

/* Append @n frames of @len bytes; returns how many there was memory for. */
static uint32_t add(ErnicCarriedStore *st, ErnicCarriedList *l, uint32_t n, uint32_t len)
{
    uint8_t data[LEN_MAX];
    ErnicCarried *f;
    uint32_t i;

    memset(data, len, len);
    for (i = 0; i < n; i++) {
        f = ernic_carried_new(st, data, len, 1);
        if (!f) {
            break;
        }
        IS(f->len, len);
        g_assert_cmpmem(f->data, len, data, len);
        ernic_carried_append(l, f);
    }
    return i;
}

/* Frames that are dropped cost no time, and a slice frees a part of them. */
STORE_TEST("/carried/drop", test_drop)
{
    enum { N = 200000 };
    ErnicCarriedList l = { };
    uint32_t slices = 0;
    ErnicBudget work;
    uint64_t before;
    bool done;

    g_assert_false(ernic_carried_waits(st));
    IS(add(st, &l, N, 60), N);
    ernic_carried_append(&l, ernic_carried_new(st, NULL, 0, 0));   /* a signal */
    IS(l.frames, N);
    before = st->used;
    IS(ernic_carried_drop(st, &l), N);
    IS(l.frames, 0);
    g_assert_null(l.head);
    IS(st->used, before);
    do {
        work = ernic_budget_new(NULL);
        done = ernic_carried_reap(st, &work);
        g_assert_cmpuint(work.done, <=, ERNIC_WORK_SLICE + 8);
        slices++;
    } while (!done);
    g_assert_cmpuint(slices, >, 100);
    IS(st->used, 0);
    g_assert_false(ernic_carried_waits(st));
}

/* An attack: fill and drop again and again, before anything is freed. */
STORE_TEST("/carried/again", test_again)
{
    enum { BYTES = 16 << 20, ROUNDS = 20 };
    static const uint32_t lens[] = { 60, LEN_MAX, 1500 };
    uint64_t most = 0;
    ErnicCarriedList l = { };
    uint32_t len;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        len = lens[i % G_N_ELEMENTS(lens)];
        add(st, &l, BYTES / len, len);
        most = MAX(most, st->used);
        ernic_carried_drop(st, &l);
    }
    g_assert_cmpuint(most, <=, 2 * BYTES);
}

/* The order of times, and of arrival for the same time. */
STORE_TEST("/carried/order", test_order)
{
    static const uint64_t due[] = { 5, 9, 5, 1, 7, 9 };
    static const uint32_t order[] = { 3, 0, 2, 4, 1, 5 };
    ErnicCarriedList l = { };
    ErnicCarried *f;

    for (uint32_t i = 0; i < G_N_ELEMENTS(due); i++) {
        f = ernic_carried_new(st, (uint8_t *)"x", 1, i);
        f->due = due[i];
        ernic_carried_insert(&l, f, i % 2);
        IS(l.frames, i + 1);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(due); i++) {
        IS(ernic_carried_due(&l), due[order[i]]);
        f = ernic_carried_take(&l);
        IS(f->from, order[i]);
        ernic_carried_free(st, f);
    }
    IS(l.frames, 0);
    IS(ernic_carried_due(&l), ERNIC_NEVER);
}
