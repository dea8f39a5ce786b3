/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deadlines as a binary heap. Equal deadlines are ordered by number, so that the order
 * does not depend on the history of calls.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "base/timer.h"

ErnicTimers *ernic_timers_new(uint32_t size)
{
    ErnicTimers *t = g_new0(ErnicTimers, 1);

    t->heap = ernic_table_new(size, sizeof(*t->heap));
    t->pos = ernic_table_new(size, sizeof(*t->pos));
    t->due = ernic_table_new(size, sizeof(*t->due));
    t->size = size;
    return t;
}

void ernic_timers_free(ErnicTimers *t)
{
    if (!t) {
        return;
    }
    ernic_table_free(t->heap, t->size, sizeof(*t->heap));
    ernic_table_free(t->pos, t->size, sizeof(*t->pos));
    ernic_table_free(t->due, t->size, sizeof(*t->due));
    g_free(t);
}

static bool before(const ErnicTimers *t, uint32_t a, uint32_t b)
{
    return t->due[a] != t->due[b] ? t->due[a] < t->due[b] : a < b;
}

static void put(ErnicTimers *t, uint32_t place, uint32_t id)
{
    t->heap[place] = id;
    t->pos[id] = place + 1;
}

/* Move @id, which may take @place, to its position. */
static void sift(ErnicTimers *t, uint32_t place, uint32_t id)
{
    uint32_t child;

    while (place > 0 && before(t, id, t->heap[(place - 1) / 2])) {
        put(t, place, t->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    while ((child = 2 * place + 1) < t->count) {
        if (child + 1 < t->count &&
            before(t, t->heap[child + 1], t->heap[child])) {
            child++;
        }
        if (!before(t, t->heap[child], id)) {
            break;
        }
        put(t, place, t->heap[child]);
        place = child;
    }
    put(t, place, id);
}

static void clear(ErnicTimers *t, uint32_t id)
{
    uint32_t place = t->pos[id] - 1;
    uint32_t last = t->heap[--t->count];

    t->pos[id] = 0;
    if (last != id) {
        sift(t, place, last);
    }
}

void ernic_timer_set(ErnicTimers *t, uint32_t id, uint64_t due)
{
    g_assert(id > 0 && id < t->size);
    if (due == ERNIC_NEVER) {
        if (t->pos[id]) {
            clear(t, id);
        }
        return;
    }
    t->due[id] = due;
    sift(t, t->pos[id] ? t->pos[id] - 1 : t->count++, id);
}

uint64_t ernic_timers_next(const ErnicTimers *t)
{
    return t->count ? t->due[t->heap[0]] : ERNIC_NEVER;
}

uint32_t ernic_timers_pop(ErnicTimers *t, uint64_t now)
{
    uint32_t id;

    if (ernic_timers_next(t) > now || !t->count) {
        return 0;
    }
    id = t->heap[0];
    clear(t, id);
    return id;
}
