/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Blocks of host memory, in pages of their own.
 */
#include "qemu/osdep.h"
#include "base/block.h"
#include "base/pages.h"

#define PAGE        4096u
#define WORD_BITS   64

/* The sizes of blocks in chunks: from 64 on a block wastes at most a quarter of it. */
static const uint32_t sizes[] = {
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768,
    896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584,
    PAGE, 5120, 6144, 7168, 2 * PAGE, 10240, 3 * PAGE, 4 * PAGE, 5 * PAGE,
    6 * PAGE, 7 * PAGE, 8 * PAGE,
    10 * PAGE, 12 * PAGE, 14 * PAGE, 16 * PAGE, 20 * PAGE, 24 * PAGE, 28 * PAGE,
    32 * PAGE, 40 * PAGE, 48 * PAGE, 56 * PAGE, 64 * PAGE,
};
G_STATIC_ASSERT(64 * PAGE == ERNIC_BLOCK_LARGE);

/* At the beginning of its pages, which are aligned to ERNIC_PIECE. */
typedef struct Chunk Chunk;
struct Chunk {
    ErnicHeap *heap;
    Chunk *next, *prev;         /* of those with blocks of this size that are free */
    uint32_t class;             /* index in sizes[] */
    uint32_t used;              /* blocks */
    uint32_t word;              /* no earlier one of taken[] has a free block */
    uint64_t taken[];           /* a bit for each block */
};

/* Where the blocks of a chunk are. */
typedef struct Layout {
    uint32_t size, first, count, words;
    bool pages;                 /* blocks of whole pages */
} Layout;

struct ErnicHeap {
    Chunk *with_room[G_N_ELEMENTS(sizes)];      /* those with a free block */
    Chunk *empty;               /* those without blocks */
    uint32_t chunks, empties;   /* with blocks; without */
    uint64_t slack[2];          /* bytes without a block; [1]: blocks of whole pages */
    bool keeps;                 /* the host once kept the pages of a block */
    bool ended;
};

static uint32_t class_of(uint64_t bytes)
{
    uint32_t i = 0;

    while (sizes[i] < bytes) {
        i++;
    }
    return i;
}

static Layout layout_of(uint32_t class)
{
    Layout l = { .size = sizes[class], .pages = sizes[class] % PAGE == 0 };
    uint32_t most = (ERNIC_PIECE - sizeof(Chunk)) / l.size;

    l.words = DIV_ROUND_UP(most, WORD_BITS);
    l.first = ROUND_UP(sizeof(Chunk) + l.words * sizeof(uint64_t),
                       l.size < PAGE ? WORD_BITS : PAGE);
    l.count = (ERNIC_PIECE - l.first) / l.size;
    return l;
}

static void list_add(Chunk *c)
{
    Chunk **head = &c->heap->with_room[c->class];

    c->prev = NULL;
    c->next = *head;
    if (*head) {
        (*head)->prev = c;
    }
    *head = c;
}

static void list_remove(Chunk *c)
{
    if (c->next) {
        c->next->prev = c->prev;
    }
    *(c->prev ? &c->prev->next : &c->heap->with_room[c->class]) = c->next;
}

/* NULL: there is none. */
static Chunk *take_empty(ErnicHeap *heap)
{
    Chunk *c = heap->empty;

    if (c) {
        heap->empty = c->next;
        heap->empties--;
    }
    return c;
}

static Chunk *new_chunk(ErnicHeap *heap, uint32_t class)
{
    Layout l = layout_of(class);
    Chunk *c = take_empty(heap) ?: ernic_pages_new_aligned(ERNIC_PIECE);
    uint32_t i;

    if (!c) {
        return NULL;
    }
    heap->chunks++;
    heap->slack[l.pages] += ERNIC_PIECE;
    memset(c, 0, sizeof(*c) + l.words * sizeof(c->taken[0]));
    c->heap = heap;
    c->class = class;
    for (i = l.count; i < l.words * WORD_BITS; i++) {
        c->taken[i / WORD_BITS] |= 1ull << i % WORD_BITS;
    }
    list_add(c);
    return c;
}

/* The number of a block that is free; there is one. */
static uint32_t take_block(Chunk *c)
{
    uint32_t bit;

    while (c->taken[c->word] == UINT64_MAX) {
        c->word++;
    }
    bit = __builtin_ctzll(~c->taken[c->word]);
    c->taken[c->word] |= 1ull << bit;
    c->used++;
    return c->word * WORD_BITS + bit;
}

static void *new_in_chunk(ErnicHeap *heap, uint64_t bytes)
{
    uint32_t class = class_of(bytes);
    Layout l = layout_of(class);
    Chunk *c = heap->with_room[class] ?: new_chunk(heap, class);
    void *p;

    if (!c) {
        return NULL;
    }
    p = (char *)c + l.first + (size_t)take_block(c) * l.size;
    if (c->used == l.count) {
        list_remove(c);
    }
    heap->slack[l.pages] -= bytes;
    return p;
}

static void heap_free_if_over(ErnicHeap *heap)
{
    if (heap->ended && !heap->chunks) {
        g_free(heap);
    }
}

/* @c is empty. */
static void retire(Chunk *c, bool pages)
{
    ErnicHeap *heap = c->heap;

    list_remove(c);
    heap->chunks--;
    heap->slack[pages] -= ERNIC_PIECE;
    if (heap->ended) {
        ernic_pages_free(c, ERNIC_PIECE);
        heap_free_if_over(heap);
        return;
    }
    c->next = heap->empty;
    heap->empty = c;
    heap->empties++;
}

static void free_in_chunk(void *p, uint64_t bytes)
{
    Chunk *c = (Chunk *)((uintptr_t)p & ~(uintptr_t)(ERNIC_PIECE - 1));
    Layout l = layout_of(c->class);
    uint32_t at = (char *)p - (char *)c - l.first, i = at / l.size;
    uint64_t bit = 1ull << i % WORD_BITS;

    g_assert(c->class == class_of(bytes) && at % l.size == 0 && i < l.count &&
             c->taken[i / WORD_BITS] & bit);
    c->taken[i / WORD_BITS] &= ~bit;
    c->word = MIN(c->word, i / WORD_BITS);
    c->heap->slack[l.pages] += bytes;
    if (c->used-- == l.count) {
        list_add(c);
    }
    if (l.pages && !ernic_pages_release(p, l.size)) {
        c->heap->keeps = true;
    }
    if (!c->used) {
        retire(c, l.pages);
    }
}

ErnicHeap *ernic_heap_new(void)
{
    return g_new0(ErnicHeap, 1);
}

void ernic_heap_end(ErnicHeap *heap)
{
    if (!heap) {
        return;
    }
    while (heap->empty) {
        ernic_pages_free(take_empty(heap), ERNIC_PIECE);
    }
    heap->ended = true;
    heap_free_if_over(heap);
}

uint64_t ernic_heap_slack(const ErnicHeap *heap)
{
    return heap ? heap->slack[0] + (heap->keeps ? heap->slack[1] : 0) : 0;
}

uint64_t ernic_heap_empty(const ErnicHeap *heap)
{
    return heap ? (uint64_t)heap->empties * ERNIC_PIECE : 0;
}

bool ernic_heap_reap(ErnicHeap *heap)
{
    if (ernic_heap_empty(heap) <= ERNIC_PIECE) {
        return false;
    }
    ernic_pages_free(take_empty(heap), ERNIC_PIECE);
    return true;
}

void *ernic_block_new(ErnicHeap *heap, uint64_t bytes, bool zero)
{
    void *p;

    if (!ERNIC_OWN_PAGES) {
        return zero ? g_try_malloc0(bytes) : g_try_malloc(bytes);
    }
    if (bytes > ERNIC_BLOCK_LARGE) {
        return ernic_pages_new(bytes);
    }
    p = new_in_chunk(heap, bytes);
    /* The host may have kept the pages of a block: they are larger, or locked. */
    if (p && zero) {
        memset(p, 0, bytes);
    }
    return p;
}

void ernic_block_free(void *p, uint64_t bytes)
{
    if (!ERNIC_OWN_PAGES) {
        g_free(p);
    } else if (bytes > ERNIC_BLOCK_LARGE) {
        ernic_pages_free(p, bytes);
    } else {
        free_in_chunk(p, bytes);
    }
}
