/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of memory. Only this file changes its numbers.
 */
#include "qemu/osdep.h"
#include "base/mem.h"
#include "base/pages.h"
#include "trace.h"

/*
 * From this size on a block has a whole page, which goes back to the host at once. Else
 * the allocator could give back everything that was freed before in one call.
 */
#define RELEASE_FROM    8192

/* The beginning of a block that waits to be freed. */
struct ErnicMemBlock {
    ErnicMemBlock *next;
    uint64_t bytes;
    uint64_t left;              /* of it, whose pages the host has yet to get back */
    ErnicMemKind kind;
};

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
    if (m->heir) {
        m->heir->dying[kind] += bytes;
        charge(m->heir, kind, bytes);
    }
}

static void discharge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes)
{
    g_assert(m->kind[kind] >= bytes && m->used >= bytes);
    m->used -= bytes;
    m->kind[kind] -= bytes;
    if (m->heir) {
        g_assert(m->heir->dying[kind] >= bytes);
        m->heir->dying[kind] -= bytes;
        discharge(m->heir, kind, bytes);
    }
}

void ernic_mem_hand_over(ErnicMem *from, ErnicMem *to, ErnicMemKind kind)
{
    uint64_t bytes = from->kind[kind] - from->dying[kind];

    discharge(from, kind, bytes);
    charge(to, kind, bytes);
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
    uint64_t bytes = (uint64_t)n * size;
    ErnicMemBlock *block = p;

    if (!p) {
        return;
    }
    if (bytes > ERNIC_PIECE) {
        *block = (ErnicMemBlock) {
            .next = m->freed, .bytes = bytes, .left = bytes, .kind = kind,
        };
        m->freed = block;
        m->dying[kind] += bytes;
        return;
    }
    if (bytes >= RELEASE_FROM) {
        ernic_pages_release(p, bytes);
    }
    discharge(m, kind, bytes);
    g_free(p);
}

bool ernic_mem_reap(ErnicMem *m)
{
    ErnicMemBlock *block = m->freed;

    if (!block) {
        return false;
    }
    if (block->left > ERNIC_PIECE) {
        block->left -= ERNIC_PIECE;
        ernic_pages_release((char *)block + block->left, ERNIC_PIECE);
        return true;
    }
    m->freed = block->next;
    m->dying[block->kind] -= block->bytes;
    discharge(m, block->kind, block->bytes);
    g_free(block);
    return true;
}

/* ---- an account that ends ------------------------------------------------------ */

void ernic_mem_inherit(ErnicMem *m, ErnicMem *old)
{
    uint32_t i;

    for (i = 0; i < ERNIC_MEM_COUNT; i++) {
        m->dying[i] += old->kind[i];
        charge(m, i, old->kind[i]);
    }
    old->heir = m;
}

void ernic_mem_disinherit(ErnicMem *m, ErnicMem *old)
{
    uint32_t i;

    old->heir = NULL;
    for (i = 0; i < ERNIC_MEM_COUNT; i++) {
        m->dying[i] -= old->kind[i];
        discharge(m, i, old->kind[i]);
    }
}
