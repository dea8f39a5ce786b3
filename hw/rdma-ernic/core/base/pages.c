/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages of the host for tables and for memory that is no longer used.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <unistd.h>
#include "base/pages.h"

static bool has_pages(size_t bytes)
{
    return ERNIC_OWN_PAGES && bytes >= ERNIC_PIECE;
}

void *ernic_pages_new(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void *ernic_pages_new_aligned(size_t bytes)
{
    char *p = ernic_pages_new(2 * bytes), *aligned;

    if (!p) {
        return NULL;
    }
    aligned = (char *)(((uintptr_t)p + bytes - 1) & ~((uintptr_t)bytes - 1));
    if (aligned != p) {
        munmap(p, aligned - p);
    }
    munmap(aligned + bytes, p + bytes - aligned);
    return aligned;
}

void ernic_pages_free(void *p, size_t bytes)
{
    munmap(p, bytes);
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
    if (!has_pages(n * size)) {
        g_free(table);
    } else if (table) {
        ernic_pages_free(table, n * size);
    }
}

void ernic_pages_release(void *p, size_t bytes)
{
    uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    uintptr_t from = ((uintptr_t)p + mask) & ~mask;
    uintptr_t to = ((uintptr_t)p + bytes) & ~mask;

    if (from < to) {
        madvise((void *)from, to - from, MADV_DONTNEED);
    }
}
