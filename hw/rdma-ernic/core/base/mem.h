/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of host memory that software of the guest can make one engine allocate.
 * Each allocation is charged to its kind before it is made, and refused at the bound.
 * Tables whose size follows from the configuration alone are not charged.
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
    X(COPIES, copies)           /* multicast datagrams that wait for members */

typedef enum ErnicMemKind {
#define ERNIC_MEM_ENUM(sym, name) ERNIC_MEM_##sym,
    ERNIC_MEM_KINDS(ERNIC_MEM_ENUM)
#undef ERNIC_MEM_ENUM
    ERNIC_MEM_COUNT
} ErnicMemKind;

/* Bytes. The overhead of the host's allocator is not counted. */
typedef struct ErnicMem {
    uint64_t bound;
    uint64_t used, peak;        /* peak: since the engine was created or reset */
    uint64_t refused;           /* requests for more than the bound allows */
    uint64_t kind[ERNIC_MEM_COUNT];     /* of used */
} ErnicMem;

/* Does the account have room for @bytes more? If not, that counts as refused. */
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
/* @p may be NULL. */
void ernic_mem_free(ErnicMem *m, ErnicMemKind kind, void *p, uint32_t n, size_t size);

#endif /* ERNIC_BASE_MEM_H */
