/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Invariants by name, each a predicate on one object. The engine is built on
 * them; state that was loaded is held against them before it is used.
 */
#ifndef ERNIC_STATE_CHECK_H
#define ERNIC_STATE_CHECK_H

#include "base/device.h"
#include "base/timer.h"
#include "objects/wq.h"

/* The results of one pass over all objects. */
typedef struct ErnicCheck {
    const Ernic *e;
    /* References by number, counted where they come from. */
    uint32_t *pd_refs, *eq_refs, *cq_refs, *srq_refs, *mr_refs;
    uint64_t pages;
    uint64_t mem[ERNIC_MEM_COUNT];      /* bytes that objects own */
    uint32_t bound, unacked;
    /* The event queue in whose line an object stands; 0: none. */
    uint32_t *line[ERNIC_EVC_COUNT];
    uint8_t *free_ids;          /* for ids_ok(): a byte for each number */
    bool bad_line;              /* an entry that is none, or that is doubled */
} ErnicCheck;

typedef struct ErnicInvariant {
    const char *name;
    bool (*holds)(const ErnicCheck *c, uint32_t id);
} ErnicInvariant;

typedef struct ErnicInvariants {
    const ErnicInvariant *list;
    uint32_t count;
} ErnicInvariants;

#define INVARIANTS(...) \
    { (const ErnicInvariant[]) { __VA_ARGS__ }, \
      sizeof((ErnicInvariant[]) { __VA_ARGS__ }) / sizeof(ErnicInvariant) }

/* An invariant of one expression: of the whole engine, or of object @id. */
#define INVARIANT(name, ...) \
    static bool name(const ErnicCheck *c, uint32_t id) \
    { \
        return __VA_ARGS__; \
    }
/* The same of entry @id of Ernic.@table, which the expression calls @table. */
#define INVARIANT_OF(table, name, ...) \
    static bool name(const ErnicCheck *c, uint32_t id) \
    { \
        const typeof(c->e->table[0]) *table = &c->e->table[id]; \
\
        return __VA_ARGS__; \
    }

/* Invariants of the device itself (id 0). */
extern const ErnicInvariants ernic_invariants_device;
/* Invariants of its timing model, where there is one; check_timing.c. */
extern const ErnicInvariants ernic_invariants_timing;
/* Invariants of the mlx5 interface, where it is the interface; check_mlx5.c. */
extern const ErnicInvariants ernic_invariants_mlx5;
/*
 * Invariants of its Ethernet objects, by table; the first table follows that of
 * counters.
 */
extern const ErnicInvariants ernic_invariants_ethernet[];
extern const uint32_t ernic_num_invariants_ethernet;
/* Invariants of flow tables, where the interface has them. */
extern const ErnicInvariants ernic_invariants_steering;
/* Invariants of the objects of ernic_state_tables[@table]; NULL: no such table. */
const ErnicInvariants *ernic_check_invariants(uint32_t table);
/* check_qp.c */
extern const ErnicInvariants ernic_invariants_qp;

/* check_parts.c: questions of several invariants. */
bool ernic_check_uctx(const ErnicCheck *c, uint32_t uctx);
/* The buffer reaches to byte @bytes, and its pages are whole. */
bool ernic_check_buf(const ErnicBuf *buf, uint64_t bytes);
/* The same of a buffer of pieces. */
bool ernic_check_pieces(const ErnicBuf *buf, uint64_t bytes);
bool ernic_check_wq(const ErnicWq *wq, uint32_t max_stride);
/* It has no record, or one that a command could have named. */
bool ernic_check_record(const Ernic *e, const ErnicWq *wq);
/* The receive ring of a queue pair or an SRQ, in the layout of the interface. */
bool ernic_check_recv_ring(const Ernic *e, const ErnicWq *wq);
/* A heap: no deadline is before that of its parent, and all find themselves. */
bool ernic_check_heap(const ErnicTimers *t);
/* Both ends are of one family. */
bool ernic_check_path(const ErnicPath *path);
bool ernic_check_events(const ErnicCheck *c, ErnicEvClass cls, uint32_t id,
                        const ErnicEvents *ev, uint32_t eqn);

#endif /* ERNIC_STATE_CHECK_H */
