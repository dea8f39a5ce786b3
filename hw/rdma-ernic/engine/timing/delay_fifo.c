/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Delay FIFOs, as rings of slots, and levels.
 */
#include "qemu/osdep.h"
#include "timing/delay_fifo.h"

void ernic_delay_fifo_init(ErnicDelayFifo *l, uint32_t slots, uint32_t size)
{
    *l = (ErnicDelayFifo) { .slots = slots, .size = ROUND_UP(size, 8) };
    l->slot = g_malloc0_n(slots, l->size);
    l->due = g_new0(uint64_t, slots);
}

void ernic_delay_fifo_fini(ErnicDelayFifo *l)
{
    g_free(l->slot);
    g_free(l->due);
}

void *ernic_delay_fifo_at(const ErnicDelayFifo *l, uint32_t n, uint64_t *due)
{
    uint32_t i = (l->head + n) % l->slots;

    g_assert(n < l->count);
    *due = l->due[i];
    return l->slot + (size_t)i * l->size;
}

static void fifo_account(ErnicDelayFifo *l, uint64_t now)
{
    l->area = ernic_delay_fifo_area(l, now);
    l->at = MAX(l->at, now);
}

void *ernic_delay_fifo_add(ErnicDelayFifo *l, uint64_t now, uint64_t due)
{
    uint32_t i = (l->head + l->count) % l->slots;
    uint32_t last = (i + l->slots - 1) % l->slots;

    g_assert(!ernic_delay_fifo_full(l));
    fifo_account(l, now);
    l->due[i] = l->count ? MAX(due, l->due[last]) : due;
    l->count++;
    l->peak = MAX(l->peak, l->count);
    return l->slot + (size_t)i * l->size;
}

void *ernic_delay_fifo_peek(const ErnicDelayFifo *l, uint64_t now)
{
    if (!l->count || l->due[l->head] > now) {
        return NULL;
    }
    return l->slot + (size_t)l->head * l->size;
}

void ernic_delay_fifo_pop(ErnicDelayFifo *l, uint64_t now)
{
    g_assert(l->count);
    fifo_account(l, now);
    l->head = (l->head + 1) % l->slots;
    l->count--;
}

void ernic_level_set(ErnicLevel *l, uint64_t now, uint32_t count)
{
    l->area = ernic_level_area(l, now);
    l->at = MAX(l->at, now);
    l->count = count;
    l->peak = MAX(l->peak, count);
}
