/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Free numbers: those that were never given out, and a list of the others. Memory is
 * written for a number that is freed.
 */
#include "qemu/osdep.h"
#include "base/ids.h"
#include "base/pages.h"

void ernic_ids_init(ErnicIds *ids, uint32_t first, uint32_t size)
{
    g_assert(first >= 1 && size >= 1);
    *ids = (ErnicIds) {
        .fifo = ernic_table_new(size, sizeof(*ids->fifo)), .first = first, .size = size,
        .fresh = MIN(first, size), .room = size, .count = size - MIN(first, size),
    };
}

void ernic_ids_fini(ErnicIds *ids)
{
    ernic_table_free(ids->fifo, ids->size, sizeof(*ids->fifo));
    memset(ids, 0, sizeof(*ids));
}

static uint32_t num_freed(const ErnicIds *ids)
{
    return ids->count - (ids->size - ids->fresh);
}

static bool want_fresh(const ErnicIds *ids)
{
    return ids->fresh < ids->size && num_freed(ids) < ERNIC_IDS_LATE;
}

bool ernic_ids_want_room(const ErnicIds *ids)
{
    return want_fresh(ids) && ids->fresh == ids->room;
}

bool ernic_ids_left(const ErnicIds *ids)
{
    return ids->head || ids->fresh < ids->room;
}

uint32_t ernic_ids_alloc(ErnicIds *ids)
{
    uint32_t id = ids->head;

    if (!ernic_ids_left(ids)) {
        return 0;
    }
    if (!id || (want_fresh(ids) && ids->fresh < ids->room)) {
        ids->count--;
        return ids->fresh++;
    }
    ids->count--;
    ids->head = ids->fifo[id];
    ids->tail = ids->head ? ids->tail : 0;
    ids->fifo[id] = 0;
    return id;
}

/* @id becomes the newest of the freed numbers. */
static void append(ErnicIds *ids, uint32_t id)
{
    if (ids->tail) {
        ids->fifo[ids->tail] = id;
    } else {
        ids->head = id;
    }
    ids->tail = id;
    ids->count++;
}

void ernic_ids_free(ErnicIds *ids, uint32_t id)
{
    g_assert(id >= 1 && id < ids->fresh && ids->count < ids->size - 1);
    append(ids, id);
}

bool ernic_ids_load_fresh(ErnicIds *ids, uint32_t fresh)
{
    if (fresh < MIN(ids->first, ids->size) || fresh > ids->size) {
        return false;
    }
    memset(ids->fifo, 0, ids->fresh * sizeof(*ids->fifo));
    ids->fresh = fresh;
    ids->head = ids->tail = 0;
    ids->count = ids->size - fresh;
    return true;
}

bool ernic_ids_load(ErnicIds *ids, uint32_t id)
{
    /* One that is in the list already would make a circle. */
    if (id < ids->first || id >= ids->fresh || ids->fifo[id] || id == ids->tail) {
        return false;
    }
    append(ids, id);
    return true;
}

void ernic_ids_load_given(ErnicIds *ids, uint32_t fresh)
{
    uint32_t id;

    for (id = fresh - 1; fresh > ids->fresh && id >= ids->fresh; id--) {
        ids->fifo[id] = ids->head;
        ids->head = id;
        ids->tail = ids->tail ?: id;
    }
    ids->fresh = MAX(ids->fresh, fresh);
}
