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
    uint64_t charged;           /* to the account */
    uint64_t left;              /* of it, whose pages the host has yet to get back */
    ErnicMemKind kind;
};

/* May the host have @bytes more for this account, whatever its blocks leave unused? */
static bool host_has_room(const ErnicMem *m, uint64_t bytes)
{
    uint64_t slack = m->heap ? ernic_heap_slack(m->heap) : 0;
    uint64_t most = ernic_mem_held(m) + slack + bytes;

    return most <= m->bound || most - m->bound <= m->bound / 4 + ERNIC_MEM_SLACK;
}

uint64_t ernic_mem_held(const ErnicMem *m)
{
    return m->used + m->waiting;
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

/* Keep @p, whose @charged bytes an object had, for ernic_mem_reap(). */
static void wait_for_reap(ErnicMem *m, ErnicMemKind kind, void *p, uint64_t bytes,
                          uint64_t charged)
{
    ErnicMemBlock *block = p;

    *block = (ErnicMemBlock) {
        .next = m->freed, .bytes = bytes, .left = bytes, .charged = charged,
        .kind = kind,
    };
    m->freed = block;
    m->waiting += bytes - charged;
    m->dying[kind] += charged;
}

/* Free a block that no account is charged for. */
static void free_block(ErnicMem *m, ErnicMemKind kind, void *p, uint64_t bytes)
{
    void *chunk = ernic_block_free(p, bytes);

    if (chunk) {
        wait_for_reap(m, kind, chunk, ERNIC_PIECE, 0);
    }
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
            free_block(m, kind, p, before);
        }
    }
    return to;
}

void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size)
{
    uint64_t bytes = (uint64_t)n * size;

    if (!p) {
        return;
    }
    if (bytes > ERNIC_PIECE) {
        wait_for_reap(m, kind, p, bytes, bytes);
        return;
    }
    discharge(m, kind, bytes);
    free_block(m, kind, p, bytes);
}

bool ernic_mem_reap(ErnicMem *m)
{
    ErnicMemBlock *block = m->freed;
    uint64_t bytes, from, to;

    if (!block) {
        return false;
    }
    bytes = block->bytes;
    to = block->left;
    block->left = from = (to - 1) / ERNIC_PIECE * ERNIC_PIECE;
    if (!from) {
        m->freed = block->next;
        m->waiting -= bytes - block->charged;
        m->dying[block->kind] -= block->charged;
        discharge(m, block->kind, block->charged);
    }
    /* It is as large as a table with pages of its own. */
    ernic_table_free_end(block, bytes, from, to);
    return true;
}

void ernic_mem_end(ErnicMem *m)
{
    g_assert(!m->used && !m->freed);
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
