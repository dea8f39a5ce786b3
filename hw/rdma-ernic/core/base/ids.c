/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Free numbers in a queue: taken from its head, given back at its end.
 */
#include "qemu/osdep.h"
#include "base/ids.h"

void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size)
{
    uint32_t id;

    g_assert(first >= 1 && size >= 1);
    ids->fifo = g_new0(uint32_t, size);
    ids->size = size;
    ids->head = 0;
    ids->count = 0;
    for (id = first; id < size; id++) {
        ids->fifo[ids->count++] = id;
    }
}

void ernic_ids_fini(ErnicIds *ids)
{
    g_free(ids->fifo);
    memset(ids, 0, sizeof(*ids));
}

uint32_t ernic_ids_alloc(ErnicIds *ids)
{
    uint32_t id;

    if (ids->count == 0) {
        return 0;
    }
    id = ids->fifo[ids->head];
    ids->head = (ids->head + 1) % ids->size;
    ids->count--;
    return id;
}

void ernic_ids_free(ErnicIds *ids, uint32_t id)
{
    g_assert(id >= 1 && id < ids->size && ids->count < ids->size - 1);
    ids->fifo[(ids->head + ids->count) % ids->size] = id;
    ids->count++;
}

void ernic_ids_used(const ErnicIds *ids, uint8_t *bits)
{
    uint32_t i, id, at;

    for (id = 0; id < ids->size; id += 8) {
        bits[id / 8] = 0xff >> (8 - MIN(8, ids->size - id));
    }
    for (i = 0, at = ids->head; i < ids->count; i++, at++) {
        at = at == ids->size ? 0 : at;
        id = ids->fifo[at];
        bits[id / 8] &= ~(1 << id % 8);
    }
}
