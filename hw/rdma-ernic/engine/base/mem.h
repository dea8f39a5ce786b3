/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of host memory that software of the guest can make one engine allocate.
 * Each allocation is charged to its kind before it is made, and refused at the bound.
 * Tables whose size follows from the configuration alone are not charged, but for one
 * that may be large. The overhead of malloc() is not charged either.
 */
#ifndef ERNIC_BASE_MEM_H
#define ERNIC_BASE_MEM_H

#include <glib.h>

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

/* A large block that is no longer used; a list of them. */
typedef struct ErnicMemBlock ErnicMemBlock;

/* Bytes. */
typedef struct ErnicMem {
    uint64_t bound;
    uint64_t used, peak;        /* peak: since the engine was created or reset */
    uint64_t refused;           /* requests for more than the bound allows */
    uint64_t kind[ERNIC_MEM_COUNT];     /* of used */
    bool defers;                /* large blocks are freed later (deferred.h) */
    ErnicMemBlock *freed;       /* those that wait for it */
} ErnicMem;

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
/* @p may be NULL. */
void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size);
/* Free the blocks of a list, which may be NULL; any thread. */
void ernic_mem_free_blocks(ErnicMemBlock *blocks);

/* Charge for @bytes of a table. False: beyond the bound. */
bool ernic_mem_charge(ErnicMem *m, ErnicMemKind kind, uint64_t bytes);
/* Nothing of @kind is allocated any more, or it is another account's. */
void ernic_mem_discharge(ErnicMem *m, ErnicMemKind kind);

#endif /* ERNIC_BASE_MEM_H */
