/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Free numbers in a queue: taken from its head, given back at its end.
 */
#include "qemu/osdep.h"
#include "base/ids.h"
#include "base/pages.h"

void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size)
{
    g_assert(first >= 1 && size >= 1);
    ids->fifo = ernic_table_new(size, sizeof(*ids->fifo));
    ids->first = first;
    ids->size = size;
    ids->head = 0;
    ids->count = size > first ? size - first : 0;
}

void ernic_ids_fini(ErnicIds *ids)
{
    ernic_table_free(ids->fifo, ids->size, sizeof(*ids->fifo));
    memset(ids, 0, sizeof(*ids));
}

uint32_t ernic_ids_at(const ErnicIds *ids, uint32_t i)
{
    uint32_t place = (ids->head + i) % ids->size;

    return ids->fifo[place] ^ (ids->first + place);
}

void ernic_ids_set(ErnicIds *ids, uint32_t i, uint32_t id)
{
    uint32_t place = (ids->head + i) % ids->size;
    uint32_t stored = id ^ (ids->first + place);

    if (ids->fifo[place] != stored) {
        ids->fifo[place] = stored;
    }
}

uint32_t ernic_ids_alloc(ErnicIds *ids)
{
    uint32_t id;

    if (ids->count == 0) {
        return 0;
    }
    id = ernic_ids_at(ids, 0);
    ids->head = (ids->head + 1) % ids->size;
    ids->count--;
    return id;
}

void ernic_ids_free(ErnicIds *ids, uint32_t id)
{
    g_assert(id >= 1 && id < ids->size && ids->count < ids->size - 1);
    ernic_ids_set(ids, ids->count, id);
    ids->count++;
}

void ernic_ids_used(const ErnicIds *ids, uint8_t *bits)
{
    uint32_t i, id;

    for (id = 0; id < ids->size; id += 8) {
        bits[id / 8] = 0xff >> (8 - MIN(8, ids->size - id));
    }
    for (i = 0; i < ids->count; i++) {
        id = ernic_ids_at(ids, i);
        bits[id / 8] &= ~(1 << id % 8);
    }
}
