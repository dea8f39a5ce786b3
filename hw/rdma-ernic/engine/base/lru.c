/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A ring through number 0, most recently used first. A number that is not in
 * the cache has no next.
 */
#include "qemu/osdep.h"
#include "base/lru.h"

/* "next" of a number that is not in the cache; greater than any number. */
#define OUT UINT32_MAX

void ernic_lru_init(ErnicLru *c, uint32_t ids, uint32_t entries)
{
    *c = (ErnicLru) { .ids = ids, .entries = entries };
    c->next = g_new(uint32_t, ids);
    c->prev = g_new0(uint32_t, ids);
    memset(c->next, 0xff, ids * sizeof(*c->next));
    c->next[0] = 0;
}

void ernic_lru_fini(ErnicLru *c)
{
    g_free(c->next);
    g_free(c->prev);
}

static void take_out(ErnicLru *c, uint32_t id)
{
    c->next[c->prev[id]] = c->next[id];
    c->prev[c->next[id]] = c->prev[id];
    c->next[id] = OUT;
    c->count--;
}

static void put_first(ErnicLru *c, uint32_t id)
{
    c->next[id] = c->next[0];
    c->prev[id] = 0;
    c->prev[c->next[0]] = id;
    c->next[0] = id;
    c->count++;
}

bool ernic_lru_use(ErnicLru *c, uint32_t id)
{
    bool hit;

    if (!c->entries || id == 0 || id >= c->ids) {
        return true;            /* a cache that does not exist never misses */
    }
    hit = c->next[id] != OUT;
    if (hit) {
        take_out(c, id);
        c->hits++;
    } else {
        c->misses++;
        if (c->count == c->entries) {
            take_out(c, c->prev[0]);
        }
    }
    put_first(c, id);
    return hit;
}
