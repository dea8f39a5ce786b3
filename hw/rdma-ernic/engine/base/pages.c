/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages of the host, and malloc(). To give pages back takes the host about 0.1 ms for
 * each MiB. Other threads that need pages wait for it: so it is done piece by piece.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <unistd.h>
#include "base/pages.h"

/* To zero a table of this size takes as long as to map pages for it. */
#define TABLE_PAGES     (64u << 10)
/* More blocks than tables have pages of their own: the host bounds the mappings. */
#define BLOCK_PAGES     (256u << 10)
/*
 * free() may give back all memory around a block, in one call that other threads wait
 * for. The pages of a block of this size go before.
 */
#define BLOCK_RELEASE   (16u << 10)

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void unmap(char *p, size_t bytes)
{
    size_t n;

    for (; bytes; bytes -= n) {
        n = (bytes - 1) % ERNIC_PIECE + 1;
        /* It fails if the process has too many mappings: then only the pages go. */
        if (munmap(p + bytes - n, n) != 0) {
            madvise(p + bytes - n, n, MADV_DONTNEED);
        }
    }
}

/* The host keeps pages that are locked. */
static void release(void *p, size_t bytes)
{
    uintptr_t page = sysconf(_SC_PAGESIZE);
    uintptr_t from = ROUND_UP((uintptr_t)p, page);
    uintptr_t to = ((uintptr_t)p + bytes) & ~(page - 1);

    madvise((void *)from, to - from, MADV_DONTNEED);
}

bool ernic_pages_left(size_t bytes)
{
    void *p = map(bytes);

    if (p) {
        munmap(p, bytes);
    }
    return p;
}

void *ernic_block_new(size_t bytes, bool zero)
{
    if (ERNIC_OWN_PAGES && bytes > BLOCK_PAGES) {
        return map(bytes);
    }
    return zero ? g_try_malloc0(bytes) : g_try_malloc(bytes);
}

void ernic_block_free(void *p, size_t bytes)
{
    if (p && ERNIC_OWN_PAGES && bytes > BLOCK_PAGES) {
        unmap(p, bytes);
        return;
    }
    if (p && bytes >= BLOCK_RELEASE) {
        release(p, bytes);
    }
    g_free(p);
}

GByteArray *ernic_bytes_new(size_t room)
{
    uint8_t *data = g_try_malloc(MAX(room, 1));
    GByteArray *bytes = data ? g_byte_array_new_take(data, MAX(room, 1)) : NULL;

    if (bytes) {
        g_byte_array_set_size(bytes, 0);
    }
    return bytes;
}

void *ernic_table_new(size_t n, size_t size)
{
    void *table;

    if (!ERNIC_OWN_PAGES || n * size < TABLE_PAGES) {
        return g_malloc0_n(n, size);
    }
    table = map(n * size);
    /* Like g_malloc0(): the device does not exist without its tables. */
    g_assert(table);
    return table;
}

void ernic_table_free(void *table, size_t n, size_t size)
{
    if (table && ERNIC_OWN_PAGES && n * size >= TABLE_PAGES) {
        unmap(table, n * size);
        return;
    }
    g_free(table);
}
