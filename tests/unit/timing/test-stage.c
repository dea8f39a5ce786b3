/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The arithmetic of the timing model, compared with sums calculated by hand; caches
 * compared with a plain list, and delay FIFOs.
 */
#include "qemu/osdep.h"
#include "base/lru.h"
#include "test.h"
#include "timing/delay_fifo.h"
#include "timing/stage.h"

#define SPAN(s, h, t) do {                                              \
        g_assert_cmpuint((s).head, ==, h);                              \
        g_assert_cmpuint((s).tail, ==, t);                              \
    } while (0)

TEST("/server/idle", test_idle)
{
    ErnicStageState s = { 0 };
    ErnicSpan span = { 1000, 1000 };

    ernic_stage_pass(&s, &span, 325, 50, false);
    SPAN(span, 1050, 1375);             /* 1000 + 50, 1000 + 325 + 50 */
    IS(s.free, 1325);
    IS(s.last, 1375);
    IS(s.items, 1);
    IS(s.busy, 325);
    IS(s.stalled, 0);
    IS(s.waited, 0);
}

/* Latency delays each item, and does not limit their rate. */
TEST("/server/pipelined", test_pipelined)
{
    ErnicStageState s = { 0 };
    ErnicSpan a = { 0, 0 }, b = { 0, 0 }, c = { 500, 500 };

    ernic_stage_pass(&s, &a, 100, 1000, false);
    ernic_stage_pass(&s, &b, 100, 1000, false);
    ernic_stage_pass(&s, &c, 100, 1000, false);
    SPAN(a, 1000, 1100);
    SPAN(b, 1100, 1200);                /* after a, by its work alone */
    SPAN(c, 1500, 1600);                /* finds the stage idle */
    IS(s.busy, 300);
    IS(s.waited, 100);
}

/*
 * A fast stage that follows a slow one ends with it; so does a slow one that follows a
 * fast one.
 */
TEST("/server/cut-through", test_cut_through)
{
    ErnicStageState slow = { 0 }, fast = { 0 }, wire = { 0 };
    ErnicSpan span = { 0, 0 };

    ernic_stage_pass(&slow, &span, 400, 10, false);
    SPAN(span, 10, 410);
    ernic_stage_pass(&fast, &span, 100, 20, false);
    SPAN(span, 30, 430);                /* 10 + 20; not before 410 + 20 */
    IS(fast.free, 410);
    IS(fast.busy, 100);
    IS(fast.stalled, 300);
    ernic_stage_pass(&wire, &span, 800, 0, false);
    SPAN(span, 30, 830);
    IS(wire.stalled, 0);
}

TEST("/server/store-and-forward", test_store_and_forward)
{
    ErnicStageState s = { 0 };
    ErnicSpan span = { 100, 500 };

    ernic_stage_pass(&s, &span, 50, 5, true);
    SPAN(span, 505, 555);
    IS(s.waited, 0);
}

/* 3 at once of 1000 each: 3 per 1000, however many arrive. */
TEST("/server/limit", test_limit)
{
    ErnicLimit l;

    ernic_limit_init(&l, 3);
    for (uint32_t i = 0; i < 9; i++) {
        uint64_t at = ernic_limit_at(&l, 10);

        IS(at, 10 + i / 3 * 1000);
        ernic_limit_take(&l, at, at + 1000);
    }
    ernic_limit_rebase(&l, 3000);
    IS(ernic_limit_at(&l, 0), 10);
    ernic_limit_rebase(&l, UINT64_MAX);
    IS(ernic_limit_at(&l, 0), 0);
}

/* Times do not wrap: one beyond the range is clamped to the last. */
TEST("/server/saturates", test_saturates)
{
    ErnicStageState s = { 0 };
    ErnicSpan span = { UINT64_MAX - 10, UINT64_MAX - 10 };

    ernic_stage_pass(&s, &span, 100, 100, false);
    SPAN(span, UINT64_MAX, UINT64_MAX);
    IS(s.free, UINT64_MAX);
    ernic_stage_rebase(&s, UINT64_MAX);
    IS(s.free, 0);
    s.free = 1000;
    ernic_stage_rebase(&s, 400);
    IS(s.free, 600);
}

/*
 * A frame of 4178 bytes at 100 Gb/s takes 334.24 ns, without a rounding error: 1000 of
 * them end at 334,240 ns.
 */
TEST("/server/exact", test_exact)
{
    ErnicStageState wire = { 0 };
    ErnicSpan span = { 0, 0 };

    for (uint32_t i = 0; i < 1000; i++) {
        span = (ErnicSpan) { 0, 0 };
        ernic_stage_pass(&wire, &span, 4178 * 80, 0, false);
    }
    IS(span.tail, 334240000);
    IS(wire.busy, 334240000);
}

TEST("/server/lru", test_lru)
{
    ErnicLru c;
    GList *model = NULL;        /* most recently used first */
    uint32_t rnd = 1;

    ernic_lru_init(&c, 16, 4);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t id = 1 + (rnd >> 16) % 9;
        GList *at = g_list_find(model, GUINT_TO_POINTER(id));
        GList *l;
        uint32_t n = 0;

        rnd = rnd * 1103515245 + 12345;
        IS(ernic_lru_use(&c, id), at != NULL);
        model = at ? g_list_delete_link(model, at) : model;
        model = g_list_prepend(model, GUINT_TO_POINTER(id));
        if (g_list_length(model) > 4) {
            model = g_list_delete_link(model, g_list_last(model));
        }
        for (l = model; l; l = l->next) {
            n = ernic_lru_next(&c, n);
            IS(n, GPOINTER_TO_UINT(l->data));
        }
        IS(ernic_lru_next(&c, n), 0);
    }
    IS(c.hits + c.misses, 2000);
    g_assert_cmpuint(c.misses, >, 100);
    g_list_free(model);
    /* Objects out of range always hit, and so does a cache for all objects. */
    g_assert_true(ernic_lru_use(&c, 0));
    g_assert_true(ernic_lru_use(&c, 16));
    ernic_lru_fini(&c);
    ernic_lru_init(&c, 16, 0);
    g_assert_true(ernic_lru_use(&c, 3));
    IS(c.misses, 0);
    ernic_lru_fini(&c);
}

TEST("/server/line", test_line)
{
    ErnicDelayFifo l;
    uint64_t due;

    ernic_delay_fifo_init(&l, 3, sizeof(uint32_t));
    for (uint32_t round = 0; round < 5; round++) {
        IS(ernic_delay_fifo_due(&l), ERNIC_NEVER);
        g_assert_null(ernic_delay_fifo_peek(&l, UINT64_MAX));
        for (uint32_t i = 0; i < 3; i++) {
            g_assert_false(ernic_delay_fifo_full(&l));
            /* The last item is due before the second, and waits for it. */
            *(uint32_t *)ernic_delay_fifo_add(&l, round,
                                              i == 2 ? 15 : 10 * (i + 1)) = i;
        }
        g_assert_true(ernic_delay_fifo_full(&l));
        IS(*(uint32_t *)ernic_delay_fifo_at(&l, 2, &due), 2);
        IS(due, 20);
        IS(ernic_delay_fifo_due(&l), 10);
        g_assert_null(ernic_delay_fifo_peek(&l, 9));
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t *p = ernic_delay_fifo_peek(&l, 20);

            g_assert_nonnull(p);
            IS(*p, i);
            ernic_delay_fifo_pop(&l, round);
        }
        /* So that the ring wraps at another position each time. */
        ernic_delay_fifo_add(&l, round, 0);
        ernic_delay_fifo_pop(&l, round);
    }
    ernic_delay_fifo_fini(&l);
}
