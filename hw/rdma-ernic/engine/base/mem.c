/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of memory. Only this file changes its numbers.
 */
#include "qemu/osdep.h"
#include "base/mem.h"
#include "base/pages.h"
#include "trace.h"

/* The beginning of a block that waits to be freed. */
struct ErnicMemBlock {
    ErnicMemBlock *next;
    uint64_t bytes;
};

/* Whether the account has room for @bytes more. If not, that counts as refused. */
static bool has_room(ErnicMem *m, uint64_t bytes)
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

bool ernic_mem_charge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes)
{
    if (!has_room(m, bytes)) {
        return false;
    }
    charge(m, kind, bytes);
    return true;
}

void ernic_mem_discharge(ErnicMem *m, ErnicMemKind kind)
{
    discharge(m, kind, m->kind[kind]);
}

static void *new_block(ErnicMem *m, ErnicMemKind kind, uint64_t bytes, bool zero)
{
    void *p;

    if (!has_room(m, bytes)) {
        return NULL;
    }
    p = ernic_block_new(bytes, zero);
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

/* A block of more than ERNIC_PIECE takes longer than the engine's caller may wait. */
static void free_block(ErnicMem *m, void *p, uint64_t bytes)
{
    ErnicMemBlock *block = p;

    if (!m->defers || bytes <= ERNIC_PIECE) {
        ernic_block_free(p, bytes);
        return;
    }
    *block = (ErnicMemBlock) { .next = m->freed, .bytes = bytes };
    m->freed = block;
}

void *ernic_mem_resize(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t old,
                       uint32_t n, size_t size)
{
    uint64_t before = (uint64_t)old * size, bytes = (uint64_t)n * size;
    void *to;

    if (bytes > before && !has_room(m, bytes - before)) {
        return NULL;
    }
    to = ernic_block_new(bytes, false);
    if (to) {
        discharge(m, kind, before);
        charge(m, kind, bytes);
        if (p) {
            memcpy(to, p, MIN(before, bytes));
            free_block(m, p, before);
        }
    }
    return to;
}

void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size)
{
    uint64_t bytes = (uint64_t)n * size;

    if (p) {
        discharge(m, kind, bytes);
        free_block(m, p, bytes);
    }
}

void ernic_mem_free_blocks(ErnicMemBlock *blocks)
{
    ErnicMemBlock *next;

    for (; blocks; blocks = next) {
        next = blocks->next;
        ernic_block_free(blocks, blocks->bytes);
    }
}
