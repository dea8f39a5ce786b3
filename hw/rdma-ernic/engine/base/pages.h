/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Large memory of the host, given back in pieces: to free many pages takes the host about
 * 0.1 ms for each MiB, and a call of free() may do so for all that was freed before.
 */
#ifndef ERNIC_BASE_PAGES_H
#define ERNIC_BASE_PAGES_H

#include <glib.h>

/*
 * Whether large memory has pages of its own. A sanitizer watches the ends of all other
 * memory.
 */
#if defined(__SANITIZE_ADDRESS__)
#define ERNIC_OWN_PAGES     0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ERNIC_OWN_PAGES     0
#endif
#endif
#ifndef ERNIC_OWN_PAGES
#define ERNIC_OWN_PAGES     1
#endif

/* Bytes that are given back at a time, and the units of work for it (base/work.h). */
#define ERNIC_PIECE         (1u << 20)
#define ERNIC_WORK_PIECE    512

/* Pages for @bytes, all 0. NULL: the host has no memory. */
void *ernic_pages_new(size_t bytes);
/*
 * The same with the address a multiple of @bytes, which are a power of two, and without
 * huge pages, because parts are given back.
 */
void *ernic_pages_new_aligned(size_t bytes);
void ernic_pages_free(void *p, size_t bytes);

/*
 * A table of @n elements of @size bytes, all 0. Large ones have pages of their own, which
 * the host provides when they are used: a new table costs the same whatever its size.
 */
void *ernic_table_new(size_t n, size_t size);
void ernic_table_free(void *table, size_t n, size_t size);
/*
 * Free the last bytes of a table that had @bytes, of which only @to are left, until @from
 * are left: a multiple of ERNIC_PIECE. The table no longer exists if @from is 0.
 */
void ernic_table_free_end(void *table, size_t bytes, size_t from, size_t to);

/*
 * Give the host the pages of [@p, @p + @bytes) back. The memory stays allocated, and its
 * content is undefined. False: the host keeps them, because they are locked, or because
 * these are no whole pages.
 */
bool ernic_pages_release(void *p, size_t bytes);

#endif /* ERNIC_BASE_PAGES_H */
