/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of memory. Only this file changes its numbers.
 */
#include "qemu/osdep.h"
#include "base/block.h"
#include "base/mem.h"
#include "base/pages.h"
#include "trace.h"

/* The beginning of a block that waits to be freed. */
struct ErnicMemBlock {
    ErnicMemBlock *next;
    uint64_t bytes;
    uint64_t left;              /* of it, whose pages the host has yet to get back */
    ErnicMemKind kind;
};

/* Bytes of the host that nobody is charged for. */
static uint64_t unused(const ErnicMem *m)
{
    return ernic_heap_slack(m->heap) + ernic_heap_empty(m->heap) +
           (m->elder ? unused(m->elder) : 0);
}

/*
 * Whether the host may provide @bytes more for this account, whatever its blocks leave
 * unused. A small block may need a new chunk.
 */
static bool host_has_room(const ErnicMem *m, uint64_t bytes)
{
    uint64_t most = m->used + unused(m) + MAX(bytes, ERNIC_PIECE);

    return most <= m->bound || most - m->bound <= m->bound / 4 + ERNIC_MEM_SLACK;
}

uint64_t ernic_mem_held(const ErnicMem *m)
{
    return m->used + ernic_heap_empty(m->heap);
}

bool ernic_mem_waits(const ErnicMem *m)
{
    return m->freed || ernic_heap_empty(m->heap) > ERNIC_PIECE;
}

bool ernic_mem_has_room(ErnicMem *m, uint64_t bytes)
{
    if (bytes <= m->bound - m->used && host_has_room(m, bytes)) {
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

bool ernic_mem_charge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes)
{
    if (!ernic_mem_has_room(m, bytes)) {
        return false;
    }
    charge(m, kind, bytes);
    return true;
}

void ernic_mem_discharge(ErnicMem *m, ErnicMemKind kind)
{
    discharge(m, kind, m->kind[kind] - m->dying[kind]);
}

static ErnicHeap *heap_of(ErnicMem *m)
{
    if (ERNIC_OWN_PAGES && !m->heap) {
        m->heap = ernic_heap_new();
    }
    return m->heap;
}

static void *new_block(ErnicMem *m, ErnicMemKind kind, uint64_t bytes, bool zero)
{
    void *p;

    if (!ernic_mem_has_room(m, bytes)) {
        return NULL;
    }
    p = ernic_block_new(heap_of(m), bytes, zero);
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
    to = ernic_block_new(heap_of(m), bytes, false);
    if (to) {
        discharge(m, kind, before);
        charge(m, kind, bytes);
        if (p) {
            memcpy(to, p, MIN(before, bytes));
            ernic_block_free(p, before);
        }
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
    if (bytes <= ERNIC_PIECE) {
        discharge(m, kind, bytes);
        ernic_block_free(p, bytes);
        return;
    }
    *block = (ErnicMemBlock) {
        .next = m->freed, .bytes = bytes, .left = bytes, .kind = kind,
    };
    m->freed = block;
    m->dying[kind] += bytes;
}

bool ernic_mem_reap(ErnicMem *m)
{
    ErnicMemBlock *block = m->freed;
    uint64_t bytes, from, to;

    if (!block) {
        return ernic_heap_reap(m->heap);
    }
    bytes = block->bytes;
    to = block->left;
    block->left = from = (to - 1) / ERNIC_PIECE * ERNIC_PIECE;
    if (!from) {
        m->freed = block->next;
        m->dying[block->kind] -= bytes;
        discharge(m, block->kind, bytes);
    }
    /* It is as large as a table with pages of its own. */
    ernic_table_free_end(block, bytes, from, to);
    return true;
}

void ernic_mem_end(ErnicMem *m)
{
    g_assert(!m->used && !m->freed);
    if (m->heir) {
        m->heir->elder = NULL;
    }
    ernic_heap_end(m->heap);
    m->heap = NULL;
}

/* ---- an account that is replaced ---------------------------------------------- */

void ernic_mem_inherit(ErnicMem *m, ErnicMem *old)
{
    uint32_t i;

    for (i = 0; i < ERNIC_MEM_COUNT; i++) {
        m->dying[i] += old->kind[i];
        charge(m, i, old->kind[i]);
    }
    old->heir = m;
    m->elder = old;
}

void ernic_mem_disinherit(ErnicMem *m, ErnicMem *old)
{
    uint32_t i;

    old->heir = m->elder = NULL;
    for (i = 0; i < ERNIC_MEM_COUNT; i++) {
        m->dying[i] -= old->kind[i];
        discharge(m, i, old->kind[i]);
    }
}
