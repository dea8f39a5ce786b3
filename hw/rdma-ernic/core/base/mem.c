/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of memory. Only this file changes its numbers.
 */
#include "qemu/osdep.h"
#include "base/mem.h"
#include "trace.h"

bool ernic_mem_has_room(ErnicMem *m, uint64_t bytes)
{
    if (bytes <= m->bound - m->used) {
        return true;
    }
    m->refused++;
    trace_ernic_guest_memory(bytes, m->used, m->bound);
    return false;
}

static void charge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes)
{
    m->used += bytes;
    m->kind[kind] += bytes;
    m->peak = MAX(m->peak, m->used);
}

static void discharge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes)
{
    g_assert(m->kind[kind] >= bytes && m->used >= bytes);
    m->used -= bytes;
    m->kind[kind] -= bytes;
}

static void *new_block(ErnicMem *m, ErnicMemKind kind, uint64_t bytes, bool zero)
{
    void *p;

    if (!ernic_mem_has_room(m, bytes)) {
        return NULL;
    }
    p = zero ? g_try_malloc0(bytes) : g_try_malloc(bytes);
    if (p) {
        charge(m, kind, bytes);
    }
    return p;
}

void *ernic_mem_new(ErnicMem *m, ErnicMemKind kind, uint32_t n, size_t size)
{
    return new_block(m, kind, (uint64_t)n * size, true);
}

void *ernic_mem_new_raw(ErnicMem *m, ErnicMemKind kind, uint32_t n, size_t size)
{
    return new_block(m, kind, (uint64_t)n * size, false);
}

void *ernic_mem_resize(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t old,
                       uint32_t n, size_t size)
{
    uint64_t before = (uint64_t)old * size, bytes = (uint64_t)n * size;
    void *to;

    if (bytes > before && !ernic_mem_has_room(m, bytes - before)) {
        return NULL;
    }
    to = g_try_realloc(p, bytes);
    if (to) {
        discharge(m, kind, before);
        charge(m, kind, bytes);
    }
    return to;
}

void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size)
{
    if (p) {
        discharge(m, kind, (uint64_t)n * size);
        g_free(p);
    }
}
