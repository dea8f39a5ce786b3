/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Blocks of host memory, in pages of their own. malloc() keeps the pages of freed blocks
 * and gives all of them back in one call of free() that it chooses, which takes the host
 * 10 ms for 64 MiB. Here each call gives back at most ERNIC_PIECE (base/pages.h).
 *
 * A chunk is ERNIC_PIECE of pages with blocks of one size. Blocks of whole pages have no
 * pages while they are free. Others leave theirs when their chunk is empty; until then
 * they are the slack of the heap. An empty chunk serves again for any size, or waits for
 * ernic_heap_reap(). Blocks of more than ERNIC_BLOCK_LARGE are in no chunk.
 */
#ifndef ERNIC_BASE_BLOCK_H
#define ERNIC_BASE_BLOCK_H

#include <glib.h>

#define ERNIC_BLOCK_LARGE   (256u << 10)

/* The chunks of one account. */
typedef struct ErnicHeap ErnicHeap;

ErnicHeap *ernic_heap_new(void);
/*
 * Bytes of chunks that no block has, without those whose pages are given back, and
 * without empty chunks; bytes of these. @heap may be NULL.
 */
uint64_t ernic_heap_slack(const ErnicHeap *heap);
uint64_t ernic_heap_empty(const ErnicHeap *heap);
/*
 * Give an empty chunk back, ERNIC_WORK_PIECE of work (base/pages.h). One is kept in
 * reserve, so that a block may come and go. False: none waits. @heap may be NULL.
 */
bool ernic_heap_reap(ErnicHeap *heap);
/* Nothing more is created in @heap, which may be NULL; its blocks may still exist. */
void ernic_heap_end(ErnicHeap *heap);

/*
 * @bytes, at least 1, all 0 if @zero, aligned to 16. NULL: the host has no memory.
 * Without ERNIC_OWN_PAGES (base/pages.h) @heap is not used.
 */
void *ernic_block_new(ErnicHeap *heap, uint64_t bytes, bool zero);
/* Free @p, which was created with @bytes in any heap. */
void ernic_block_free(void *p, uint64_t bytes);

#endif /* ERNIC_BASE_BLOCK_H */
