/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages of the host for tables and for memory that is no longer used.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <unistd.h>
#include "base/pages.h"

/* To zero a table of this size takes as long as to map pages for it. */
#define TABLE_PAGES     (64u << 10)

static bool has_pages(size_t bytes)
{
    return ERNIC_OWN_PAGES && bytes >= TABLE_PAGES;
}

static void *map(size_t bytes, int protection)
{
    void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void *ernic_pages_new(size_t bytes)
{
    return map(bytes, PROT_READ | PROT_WRITE);
}

void *ernic_pages_new_aligned(size_t bytes)
{
    /* Without rights: where memory is locked, the host provides no pages yet. */
    char *p = map(2 * bytes, PROT_NONE), *aligned;

    if (!p) {
        return NULL;
    }
    aligned = (char *)(((uintptr_t)p + bytes - 1) & ~((uintptr_t)bytes - 1));
    if (aligned != p) {
        munmap(p, aligned - p);
    }
    munmap(aligned + bytes, p + bytes - aligned);
    if (mprotect(aligned, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(aligned, bytes);
        return NULL;
    }
    madvise(aligned, bytes, MADV_NOHUGEPAGE);
    return aligned;
}

void ernic_pages_free(void *p, size_t bytes)
{
    /* It fails if the process has too many mappings: then only the pages go. */
    if (munmap(p, bytes) != 0) {
        madvise(p, bytes, MADV_DONTNEED);
    }
}

void *ernic_table_new(size_t n, size_t size)
{
    void *table;

    if (!has_pages(n * size)) {
        return g_malloc0_n(n, size);
    }
    table = ernic_pages_new(n * size);
    /* Like g_malloc0(): the device does not exist without its tables. */
    g_assert(table);
    return table;
}

void ernic_table_free(void *table, size_t n, size_t size)
{
    if (table) {
        ernic_table_free_end(table, n * size, 0, n * size);
    }
}

void ernic_table_free_end(void *table, size_t bytes, size_t from, size_t to)
{
    if (has_pages(bytes)) {
        ernic_pages_free((char *)table + from, to - from);
    } else if (!from) {
        g_free(table);
    }
}

bool ernic_pages_release(void *p, size_t bytes)
{
    uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

    return (((uintptr_t)p | bytes) & mask) == 0 && madvise(p, bytes, MADV_DONTNEED) == 0;
}
