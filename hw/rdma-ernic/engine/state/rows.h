/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Structures as rows: for each structure of saved state a table accounts for every
 * byte of it. Saving, loading and the range checks walk these tables.
 *
 * Rows are only ever appended, and the elements of a row only grow; the row of a field
 * that is no longer needed stays, because streams have its byte. A stream says
 * how much of each structure its writer stored (description.c), and a reader that
 * knows more leaves the rest at its value after reset, or at the default of the row.
 */
#ifndef ERNIC_STATE_ROWS_H
#define ERNIC_STATE_ROWS_H

#include "base/device.h"
#include "state/codec.h"

/*
 * Every structure, by the name that DESCRIBE() gives it. Their numbers are stored: a new
 * one goes to the end.
 */
#define ERNIC_STATE_STRUCTS(X) \
    X(config) X(gid) X(page) X(events) X(stats) X(ids) X(ring) X(device) X(buf) X(pd) \
    X(eq) X(cq) X(wq) X(srq) X(mr) X(mcast) X(flow_key) X(flow) X(rss) X(qp_stats) \
    X(counter) X(sge) X(abi_av) X(ud) X(reg_mr) X(bind_mw) X(wqe) X(recv) X(av) \
    X(qp_attr) X(send_queue) X(rd_res) X(recv_queue) X(ack) X(cc) X(qp) X(path) \
    X(train) X(tx) X(side) X(wc) X(cost) X(pcie) X(profile) X(stage) X(limit) \
    X(level) X(retry) X(lru) X(fifo) X(timed_response) X(timed_doorbell) \
    X(timed_packet) X(timed_cqe) X(timing) X(violation) X(strict) X(last_ack) \
    X(left_ack) X(mr_update) X(mlx5) X(mlx5_function) X(mlx5_capabilities) \
    X(mlx5_vport) X(mlx5_commands) X(mlx5_entry) X(mlx5_chain) X(mlx5_queues) \
    X(mlx5_qp) X(mlx5_cq) X(mlx5_srq) X(mlx5_contexts) X(mlx5_eth_queue) X(mlx5_tir) \
    X(mlx5_tis) X(mlx5_rqt) X(mlx5_eth) X(flow_table) X(flow_group) X(flow_dest) \
    X(flow_entry) X(flow_counter) X(flow_tables) X(handshake) X(handshake_qp)

#define X(name) ERNIC_SS_##name,
typedef enum ErnicStateStructId {
    ERNIC_STATE_STRUCTS(X)
    ERNIC_SS_COUNT
} ErnicStateStructId;
#undef X

/* How a row is stored. */
typedef enum ErnicStateKind {
    ERNIC_SK_UINT,              /* num numbers of size bytes, each <= max */
    ERNIC_SK_BOOL,              /* num times one byte, 0 or 1 */
    ERNIC_SK_BYTES,             /* num bytes as they are */
    ERNIC_SK_STRUCT,            /* num structures of kind of */
    ERNIC_SK_OWNED,             /* stored by functions of its own */
    ERNIC_SK_DERIVED,           /* not stored: follows from the rest */
    ERNIC_SK_RETIRED,           /* one byte, 0 or 1, that an earlier release had a
                                   field for: stored as 0, ignored on loading */
} ErnicStateKind;

typedef struct ErnicStateStruct ErnicStateStruct;
typedef struct ErnicStateField ErnicStateField;

/*
 * How the memory that a pointer owns, or one of several variants, is stored. The format
 * of an owned row never changes; more goes into a row of its own. If its records are
 * structures, f->of is their kind.
 */
typedef struct ErnicStateOwned {
    void (*save)(const ErnicStateField *f, const Ernic *e, const void *obj,
                 GByteArray *out);
    /* False: not valid; @obj then holds nothing that cannot be freed. */
    bool (*load)(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in);
} ErnicStateOwned;

struct ErnicStateField {
    const char *name;
    uint32_t offset;
    uint32_t size;              /* of one element, bytes in memory */
    uint32_t num;               /* elements */
    uint8_t kind;               /* ErnicStateKind */
    bool bits;                  /* max is a mask: no other bits may be set */
    uint64_t max;
    uint64_t def;               /* of numbers that an older writer did not store;
                                   0: their value after reset */
    const ErnicStateStruct *of;
    const ErnicStateOwned *owned;
};

struct ErnicStateStruct {
    const char *name;
    uint32_t id;                /* ErnicStateStructId */
    uint32_t size;
    uint32_t num_fields;
    const ErnicStateField *field;
};

#define X(name) \
extern const ErnicStateStruct ernic_state_##name;
ERNIC_STATE_STRUCTS(X)
#undef X
/* The same by their numbers. */
extern const ErnicStateStruct *const ernic_state_structs[];
extern const uint32_t ernic_state_num_structs;

/* All stored rows of @obj, which is of kind @of. */
void ernic_state_save_struct(const Ernic *e, const ErnicStateStruct *of,
                             const void *obj, GByteArray *out);
/* Load as much of them as the writer stored; false: not valid. */
bool ernic_state_load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                             ErnicReader *in);
/* The same for an array of @n of them. */
void ernic_state_save_structs(const Ernic *e, const ErnicStateStruct *of,
                              const void *array, uint32_t n, GByteArray *out);
bool ernic_state_load_structs(Ernic *e, const ErnicStateStruct *of, void *array,
                              uint32_t n, ErnicReader *in);
/*
 * Whether all numbers are in the range of their row. Appends the first that is not to
 * @why (may be NULL), after @what.
 */
bool ernic_state_check_struct(const ErnicStateStruct *of, const void *obj,
                              const char *what, GString *why);

/* ---- how tables of rows are written ------------------------------------------- */

/* In front of the rows of a structure, S is defined as its type, and then undefined. */
#define ROW(f, kind_, ...) \
    { .name = #f, .offset = offsetof(S, f), .size = sizeof_field(S, f), \
      .num = 1, .kind = ERNIC_SK_##kind_, __VA_ARGS__ }
#define ROWS(f, kind_, ...) \
    { .name = #f, .offset = offsetof(S, f), .size = sizeof(((S *)0)->f[0]), \
      .num = G_N_ELEMENTS(((S *)0)->f), .kind = ERNIC_SK_##kind_, __VA_ARGS__ }
/*
 * A number, of its whole width or at most @m; more initializers may follow, such as
 * .def = 1.
 */
#define U(f, ...)       ROW(f, UINT, .max = UINT64_MAX, __VA_ARGS__)
#define UMAX(f, m, ...) ROW(f, UINT, .max = (m), __VA_ARGS__)
/* Flags: none but those of @m. */
#define UBITS(f, m)     ROW(f, UINT, .max = (m), .bits = true)
#define BOOL(f, ...)    ROW(f, BOOL, __VA_ARGS__)
#define BOOLS(f)        ROWS(f, BOOL)
#define BYTES(f) \
    { .name = #f, .offset = offsetof(S, f), .size = 1, \
      .num = sizeof_field(S, f), .kind = ERNIC_SK_BYTES }
#define ARRAY(f, m)     ROWS(f, UINT, .max = (m))
/* One of the structures above, or an array of them. */
#define STRUCT(f, d)    ROW(f, STRUCT, .of = &ernic_state_##d)
#define STRUCTS(f, d)   ROWS(f, STRUCT, .of = &ernic_state_##d)
#define OWNED(f, o)     ROW(f, OWNED, .owned = &(o))
/* A row with records of kind @d in it. */
#define OWNED_OF(f, o, d) ROW(f, OWNED, .owned = &(o), .of = &ernic_state_##d)
#define DERIVED(f)      ROW(f, DERIVED)
#define RETIRED(f)      { .name = #f, .num = 1, .kind = ERNIC_SK_RETIRED }

/* Structure S, with its name in ERNIC_STATE_STRUCTS(), has these rows. */
#define DESCRIBE(name_, ...) \
    static const ErnicStateField name_##_fields[] = { __VA_ARGS__ }; \
    const ErnicStateStruct ernic_state_##name_ = { \
        .name = G_STRINGIFY(S), .id = ERNIC_SS_##name_, .size = sizeof(S), \
        .field = name_##_fields, .num_fields = G_N_ELEMENTS(name_##_fields) \
    }

#endif /* ERNIC_STATE_ROWS_H */
