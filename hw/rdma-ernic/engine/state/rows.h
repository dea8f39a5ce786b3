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

/* The numbers of the structures are stored: a new one goes to the end. */
typedef enum ErnicStateStructId {
    ERNIC_SS_CONFIG, ERNIC_SS_GID, ERNIC_SS_PAGE, ERNIC_SS_EVENTS, ERNIC_SS_STATS,
    ERNIC_SS_IDS, ERNIC_SS_RING, ERNIC_SS_DEVICE, ERNIC_SS_BUF, ERNIC_SS_PD,
    ERNIC_SS_EQ, ERNIC_SS_CQ, ERNIC_SS_WQ, ERNIC_SS_SRQ, ERNIC_SS_MR, ERNIC_SS_MCAST,
    ERNIC_SS_FLOW_KEY, ERNIC_SS_FLOW, ERNIC_SS_RSS, ERNIC_SS_QP_STATS,
    ERNIC_SS_COUNTER, ERNIC_SS_SGE, ERNIC_SS_ABI_AV, ERNIC_SS_UD, ERNIC_SS_REG_MR,
    ERNIC_SS_BIND_MW, ERNIC_SS_WQE, ERNIC_SS_RECV, ERNIC_SS_AV, ERNIC_SS_QP_ATTR,
    ERNIC_SS_SEND_QUEUE, ERNIC_SS_RD_RES, ERNIC_SS_RECV_QUEUE, ERNIC_SS_ACK,
    ERNIC_SS_CC, ERNIC_SS_QP, ERNIC_SS_PATH, ERNIC_SS_TRAIN, ERNIC_SS_TX,
    ERNIC_SS_SIDE, ERNIC_SS_WC, ERNIC_SS_COST, ERNIC_SS_PCIE, ERNIC_SS_PROFILE,
    ERNIC_SS_STAGE, ERNIC_SS_LIMIT, ERNIC_SS_LEVEL, ERNIC_SS_RETRY, ERNIC_SS_LRU,
    ERNIC_SS_FIFO, ERNIC_SS_TIMED_RESPONSE, ERNIC_SS_TIMED_DOORBELL,
    ERNIC_SS_TIMED_PACKET, ERNIC_SS_TIMED_CQE, ERNIC_SS_TIMING, ERNIC_SS_VIOLATION,
    ERNIC_SS_STRICT, ERNIC_SS_LAST_ACK, ERNIC_SS_LEFT_ACK, ERNIC_SS_MR_UPDATE,
    ERNIC_SS_MLX5, ERNIC_SS_MLX5_FUNCTION, ERNIC_SS_MLX5_CAPABILITIES,
    ERNIC_SS_MLX5_VPORT, ERNIC_SS_MLX5_COMMANDS, ERNIC_SS_MLX5_ENTRY,
    ERNIC_SS_MLX5_CHAIN, ERNIC_SS_MLX5_QUEUES, ERNIC_SS_MLX5_QP, ERNIC_SS_MLX5_CQ,
    ERNIC_SS_MLX5_SRQ, ERNIC_SS_MLX5_CONTEXTS, ERNIC_SS_MLX5_ETH_QUEUE,
    ERNIC_SS_MLX5_TIR, ERNIC_SS_MLX5_TIS, ERNIC_SS_MLX5_RQT, ERNIC_SS_MLX5_ETH,
    ERNIC_SS_FLOW_TABLE, ERNIC_SS_FLOW_GROUP, ERNIC_SS_FLOW_DEST, ERNIC_SS_FLOW_ENTRY,
    ERNIC_SS_FLOW_COUNTER, ERNIC_SS_FLOW_TABLES, ERNIC_SS_HANDSHAKE,
    ERNIC_SS_HANDSHAKE_QP,
    ERNIC_SS_COUNT
} ErnicStateStructId;

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

/* All stored rows of @obj, which is of kind @of. */
void ernic_state_save_struct(const Ernic *e, const ErnicStateStruct *of,
                             const void *obj, GByteArray *out);
/* Load as much of them as the writer stored; false: not valid. */
bool ernic_state_load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                             ErnicReader *in);
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
#define STRUCT(f, d)    ROW(f, STRUCT, .of = &(d))
#define STRUCTS(f, d)   ROWS(f, STRUCT, .of = &(d))
#define OWNED(f, o)     ROW(f, OWNED, .owned = &(o))
/* A row with records of kind @d in it. */
#define OWNED_OF(f, o, d) ROW(f, OWNED, .owned = &(o), .of = &(d))
#define DERIVED(f)      ROW(f, DERIVED)
#define RETIRED(f)      { .name = #f, .num = 1, .kind = ERNIC_SK_RETIRED }

#define DESCRIBE(var, type, id_) \
    { .name = #type, .id = ERNIC_SS_##id_, .size = sizeof(type), .field = var, \
      .num_fields = G_N_ELEMENTS(var) }

#endif /* ERNIC_STATE_ROWS_H */
