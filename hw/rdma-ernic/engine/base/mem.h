/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of host memory that software of the guest can make one engine allocate.
 * Each allocation is charged to its kind before it is made, and refused at the bound.
 * Tables whose size follows from the configuration alone are not charged, but for one
 * that may be large.
 *
 * Large blocks that are freed are charged until the host has their pages back. They wait
 * for ernic_mem_reap(), which the engine calls slice by slice (base/work.h). Small blocks
 * leave slack and empty chunks in their heap (base/block.h), for which there is a bound
 * as well.
 */
#ifndef ERNIC_BASE_MEM_H
#define ERNIC_BASE_MEM_H

#include "base/block.h"

/* Symbol and name of each kind. */
#define ERNIC_MEM_KINDS(X)                                                      \
    X(PAGE_LISTS, page_lists)   /* page addresses of queues and regions */      \
    X(ON_DEMAND, on_demand)     /* page tables of on-demand regions */          \
    X(REQUESTS, requests)       /* decoded send requests of queue pairs */      \
    X(RESPONSES, responses)     /* READs and atomics that queue pairs answer */ \
    X(BACKLOGS, backlogs)       /* objects that wait for room in event queues */ \
    X(COPIES, copies)           /* multicast datagrams that wait for members */ \
    X(MESSAGES, messages)       /* the command of the mlx5 interface in progress */ \
    X(KEYS, keys)               /* the tables of keys, beyond ERNIC_MR_UNCHARGED */

typedef enum ErnicMemKind {
#define ERNIC_MEM_ENUM(sym, name) ERNIC_MEM_##sym,
    ERNIC_MEM_KINDS(ERNIC_MEM_ENUM)
#undef ERNIC_MEM_ENUM
    ERNIC_MEM_COUNT
} ErnicMemKind;

typedef struct ErnicMemBlock ErnicMemBlock;

/* Bytes. The overhead of the host's allocator is not counted. */
typedef struct ErnicMem {
    uint64_t bound;
    uint64_t used, peak;        /* peak: since the engine was created or reset */
    uint64_t refused;           /* requests for more than the bound allows */
    uint64_t kind[ERNIC_MEM_COUNT];     /* of used */
    uint64_t dying[ERNIC_MEM_COUNT];    /* of kind: no object has it any more */
    ErnicHeap *heap;            /* owned; NULL: nothing was allocated yet */
    ErnicMemBlock *freed;       /* owned; blocks that wait for ernic_mem_reap() */
    struct ErnicMem *heir;      /* charged for all of this one; or NULL */
    struct ErnicMem *elder;     /* the one whose heir this is; or NULL */
} ErnicMem;

/* Bytes that an account may take of the host beyond its bound and a quarter of that. */
#define ERNIC_MEM_SLACK     (32ull << 20)

/* Bytes that are charged, or in empty chunks. */
uint64_t ernic_mem_held(const ErnicMem *m);
/* Whether anything waits for ernic_mem_reap(). */
bool ernic_mem_waits(const ErnicMem *m);
/* Whether the account has room for @bytes more. If not, that counts as refused. */
bool ernic_mem_has_room(ErnicMem *m, uint64_t bytes);
/*
 * @n elements of @size bytes, all 0; at least one. NULL: beyond the bound, or the host
 * has no memory. The caller frees them with ernic_mem_free() and the same numbers.
 */
void *ernic_mem_new(ErnicMem *m, ErnicMemKind kind, uint32_t n, size_t size);
/* The same without the zeros, for a list that is filled slice by slice. */
void *ernic_mem_new_raw(ErnicMem *m, ErnicMemKind kind, uint32_t n, size_t size);
/* @old elements at @p become @n; new ones are not initialized. NULL: no change. */
void *ernic_mem_resize(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t old,
                       uint32_t n, size_t size);
/*
 * The bytes of @kind, all of which stay allocated, now belong to @to. Blocks that wait to
 * be freed stay with @from, which has no heir.
 */
void ernic_mem_hand_over(ErnicMem *from, ErnicMem *to, ErnicMemKind kind);
/* @p may be NULL. Blocks of more than ERNIC_PIECE (base/pages.h) wait to be freed. */
void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size);
/* Free one piece of what waits, ERNIC_WORK_PIECE of work. False: nothing waits. */
bool ernic_mem_reap(ErnicMem *m);

/* Charge for @bytes of a table. False: beyond the bound. */
bool ernic_mem_charge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes);
/* The tables of @kind are freed, and it has no other memory. */
void ernic_mem_discharge(ErnicMem *m, ErnicMemKind kind);

/* The account ends; nothing is charged to it, and no block waits. */
void ernic_mem_end(ErnicMem *m);

/*
 * Charge @m, which has none, for all that @old has until that is freed: an engine that is
 * reset, for what its objects had before. @old outlives what is freed from it.
 */
void ernic_mem_inherit(ErnicMem *m, ErnicMem *old);
/* The reverse: @m is no longer charged for @old. */
void ernic_mem_disinherit(ErnicMem *m, ErnicMem *old);

#endif /* ERNIC_BASE_MEM_H */
