/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory of the host for tables and for blocks that objects own. Large memory has pages
 * of its own, which the host provides when they are used: a new table costs the same
 * whatever its size, and malloc() would set memory to zero that it uses again. All other
 * memory is malloc()'s.
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

/* Bytes that are given back at a time. */
#define ERNIC_PIECE         (1u << 20)

/*
 * An empty array that allocates nothing until it has more than @room bytes. NULL: the
 * host has no memory.
 */
GByteArray *ernic_bytes_new(size_t room);

/* Whether the host can provide @bytes now. */
bool ernic_pages_left(size_t bytes);

/* @bytes, at least 1, all 0 if @zero. NULL: the host has no memory. */
void *ernic_block_new(size_t bytes, bool zero);
/* Free @p, which was created with @bytes; it may be NULL. */
void ernic_block_free(void *p, size_t bytes);

/* A table of @n elements of @size bytes, all 0. */
void *ernic_table_new(size_t n, size_t size);
void ernic_table_free(void *table, size_t n, size_t size);

#endif /* ERNIC_BASE_PAGES_H */
