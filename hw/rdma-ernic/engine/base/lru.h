/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A cache of numbers: membership, and replacement of the least recently used number.
 * Constant time for any size.
 */
#ifndef ERNIC_BASE_LRU_H
#define ERNIC_BASE_LRU_H

typedef struct ErnicLru {
    uint32_t *next, *prev;      /* by number; 0 is the head of the list */
    uint32_t ids;               /* numbers are 1 to ids - 1 */
    uint32_t entries, count;
    uint64_t hits, misses;
} ErnicLru;

/* @entries of the numbers below @ids fit; 0: nothing ever misses. */
void ernic_lru_init(ErnicLru *c, uint32_t ids, uint32_t entries);
void ernic_lru_fini(ErnicLru *c);
/* Use @id, which is in the cache from now on. Returns whether it was. */
bool ernic_lru_use(ErnicLru *c, uint32_t id);
/* Iterate, most recently used first: the first for @id 0; 0 after the last. */
static inline uint32_t ernic_lru_next(const ErnicLru *c, uint32_t id)
{
    return c->next[id];
}

#endif /* ERNIC_BASE_LRU_H */
