/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state as a description: for each structure a table that accounts for
 * every byte of it. Saving, loading and range checks walk these tables.
 */
#ifndef ERNIC_STATE_H
#define ERNIC_STATE_H

#include "base/device.h"

/*
 * Of the format; a state of another version is refused. The second is the first
 * and what the timing model keeps, and is that of devices that have the model.
 * Both grow by 2 with each change of what is stored; tests/unit/test-state.c has
 * a digest of the rows, which tells that they have changed.
 */
#define ERNIC_STATE_VERSION         27
#define ERNIC_STATE_VERSION_TIMING  28

/* What a row stands for; how it is stored. All numbers are little-endian. */
typedef enum ErnicStateKind {
    ERNIC_SK_UINT,              /* num numbers of size bytes, each <= max */
    ERNIC_SK_BOOL,              /* one byte, 0 or 1 */
    ERNIC_SK_BYTES,             /* num bytes as they are */
    ERNIC_SK_STRUCT,            /* num structures of kind of */
    ERNIC_SK_OWNED,             /* stored by functions of its own */
    ERNIC_SK_DERIVED,           /* not stored: follows from the rest */
} ErnicStateKind;

typedef struct ErnicStateStruct ErnicStateStruct;

/* Bytes of a state that is being loaded; nothing in them is trusted. */
typedef struct ErnicReader {
    const uint8_t *data;
    size_t left;
    bool failed;                /* ended early; all further reads are 0 */
} ErnicReader;

/* How memory behind a pointer, or a variant part, is stored. */
typedef struct ErnicStateOwned {
    void (*save)(const Ernic *e, const void *obj, GByteArray *out);
    /* False: not valid; @obj then holds nothing that cannot be freed. */
    bool (*load)(Ernic *e, void *obj, ErnicReader *in);
} ErnicStateOwned;

typedef struct ErnicStateField {
    const char *name;
    uint32_t offset;
    uint32_t size;              /* of one element, bytes in memory */
    uint32_t num;
    uint8_t kind;               /* ErnicStateKind */
    bool bits;                  /* max is a mask: there are no other bits */
    uint64_t max;
    const ErnicStateStruct *of;
    const ErnicStateOwned *owned;
} ErnicStateField;

struct ErnicStateStruct {
    const char *name;
    uint32_t size;
    uint32_t num_fields;
    const ErnicStateField *field;
};

/* A table of objects, of which those in use are stored by number. */
typedef struct ErnicStateTable {
    const char *name;
    const ErnicStateStruct *of;
    uint32_t table;             /* offset in Ernic of the pointer to it */
    uint32_t size;              /* offset in Ernic of the uint32_t that says
                                   how many entries it has; 0: fixed */
    uint32_t fixed, first;
    uint32_t used;              /* offset of a byte that is not 0 if in use */
} ErnicStateTable;

extern const ErnicStateStruct ernic_state_device;
extern const ErnicStateStruct ernic_state_config;
extern const ErnicStateStruct ernic_state_path;
extern const ErnicStateStruct ernic_state_tx;
extern const ErnicStateStruct ernic_state_side;
extern const ErnicStateStruct ernic_state_sge;
extern const ErnicStateStruct ernic_state_reg_mr;
extern const ErnicStateStruct ernic_state_bind_mw;
extern const ErnicStateStruct ernic_state_wqe;
extern const ErnicStateStruct ernic_state_rd;
extern const ErnicStateStruct ernic_state_wc;
extern const ErnicStateStruct ernic_state_server;
extern const ErnicStateStruct ernic_state_violation;
/* Objects before those that refer to them. */
extern const ErnicStateTable ernic_state_tables[];
extern const uint32_t ernic_state_num_tables;
/* Every structure, for the test that accounts for each byte. */
extern const ErnicStateStruct *const ernic_state_structs[];
extern const uint32_t ernic_state_num_structs;

static inline uint32_t ernic_state_table_size(const Ernic *e,
                                              const ErnicStateTable *t)
{
    return t->size ? *(const uint32_t *)((const char *)e + t->size) : t->fixed;
}

/* Entry @id of @t. */
static inline void *ernic_state_entry(const Ernic *e, const ErnicStateTable *t,
                                      uint32_t id)
{
    char *base = *(char *const *)((const char *)e + t->table);

    return base + (size_t)id * t->of->size;
}

static inline bool ernic_state_in_use(const ErnicStateTable *t,
                                      const void *entry)
{
    return *((const uint8_t *)entry + t->used) != 0;
}

/* Numbers of 1, 2, 4 or 8 bytes in memory of the host. */
static inline uint64_t ernic_state_get(const void *p, uint32_t size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)p;
    case 2:
        return *(const uint16_t *)p;
    case 4:
        return *(const uint32_t *)p;
    default:
        return *(const uint64_t *)p;
    }
}

/* state_owned.c: what lies behind a pointer, or is one of several. */
extern const ErnicStateOwned ernic_state_regs;      /* Ernic.regs */
extern const ErnicStateOwned ernic_state_ids;       /* ErnicIds.fifo */
extern const ErnicStateOwned ernic_state_variants;  /* of Ernic.mr */
extern const ErnicStateOwned ernic_state_pages;     /* ErnicBuf.page */
extern const ErnicStateOwned ernic_state_odp;       /* ErnicMr.odp */
extern const ErnicStateOwned ernic_state_line;      /* ErnicEq.line */
extern const ErnicStateOwned ernic_state_window;    /* ErnicSendQueue.wqe */
extern const ErnicStateOwned ernic_state_answers;   /* ErnicQp.rd */
extern const ErnicStateOwned ernic_state_payload;   /* of an ErnicWqe */
extern const ErnicStateOwned ernic_state_held;      /* ErnicTx.buf */
extern const ErnicStateOwned ernic_state_loop;      /* ErnicTx.loop */

/* state_timing.c: what the timing model keeps; e->timing is there. */
void ernic_state_save_timing(const Ernic *e, GByteArray *out);
/* Behind all tables, to which its records refer. */
bool ernic_state_load_timing(Ernic *e, ErnicReader *in);

/* state_strict.c: what strict mode keeps; e->strict is there. */
void ernic_state_save_strict(const Ernic *e, GByteArray *out);
bool ernic_state_load_strict(Ernic *e, ErnicReader *in);

/* state.c, for the functions of owned rows. */
void ernic_state_put(GByteArray *out, uint64_t v, uint32_t size);
uint64_t ernic_state_read(ErnicReader *in, uint32_t size);
/* Whether @n elements of @size bytes are there; else the reader has failed. */
bool ernic_state_has(ErnicReader *in, uint64_t n, uint32_t size);
void ernic_state_read_bytes(ErnicReader *in, void *to, uint32_t n);
void ernic_state_save_struct(const Ernic *e, const ErnicStateStruct *of,
                             const void *obj, GByteArray *out);
bool ernic_state_load_struct(Ernic *e, const ErnicStateStruct *of, void *obj,
                             ErnicReader *in);

/*
 * check.c: are all numbers in the range of their row? Appends to @why (may be
 * NULL), with @what in front, the first that is not.
 */
bool ernic_state_check_struct(const ErnicStateStruct *of, const void *obj,
                              const char *what, GString *why);

#endif /* ERNIC_STATE_H */
