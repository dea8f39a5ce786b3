/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved state of the engine: its structures, and the tables of its objects.
 */
#ifndef ERNIC_STATE_STATE_H
#define ERNIC_STATE_STATE_H

#include "objects/buf.h"
#include "objects/odp.h"
#include "state/precopy.h"
#include "state/rows.h"

/*
 * The version of the framing: magic, description, sections. It changes if an older
 * reader or writer would not understand these any more. Rows, elements, structures and
 * sections that are appended need no change: the description names them.
 */
#define ERNIC_STATE_FORMAT  1

/* A table of objects, of which those in use are stored by number. */
typedef struct ErnicStateTable {
    const char *name;
    const ErnicStateStruct *of;
    uint32_t table;             /* offset in Ernic of the pointer to it; NULL: this
                                   engine does not have the table */
    uint32_t within;            /* bytes before it, where the pointer points to */
    uint32_t size;              /* offset in Ernic of its number of entries, a
                                   uint32_t; 0: fixed */
    uint32_t given;             /* of the numbers that were ever given out; 0: all */
    uint32_t end;               /* of the first number from which on no entry was ever in
                                   use, but for one just loaded; 0: as @given */
    uint32_t fixed, first;
    uint32_t used;              /* offset of a byte that is not 0 if in use */
} ErnicStateTable;

/* Objects before those that refer to them. The first ones by name. */
enum {
    ERNIC_TABLE_PD, ERNIC_TABLE_EQ, ERNIC_TABLE_CQ, ERNIC_TABLE_SRQ, ERNIC_TABLE_MR,
    ERNIC_TABLE_QP,
};
extern const ErnicStateTable ernic_state_tables[];
extern const uint32_t ernic_state_num_tables;

static inline char *ernic_state_table_base(const Ernic *e, const ErnicStateTable *t)
{
    return *(char *const *)((const char *)e + t->table);
}

/* 0: the engine does not have it. */
static inline uint32_t ernic_state_table_size(const Ernic *e,
                                              const ErnicStateTable *t)
{
    if (!ernic_state_table_base(e, t)) {
        return 0;
    }
    return t->size ? *(const uint32_t *)((const char *)e + t->size) : t->fixed;
}

/* The same without numbers that were never given out. */
static inline uint32_t ernic_state_table_given(const Ernic *e, const ErnicStateTable *t)
{
    return t->given ? *(const uint32_t *)((const char *)e + t->given) :
           ernic_state_table_size(e, t);
}

/* Entry @id of @t. */
static inline void *ernic_state_entry(const Ernic *e, const ErnicStateTable *t,
                                      uint32_t id)
{
    return ernic_state_table_base(e, t) + t->within + (size_t)id * t->of->size;
}

static inline bool ernic_state_in_use(const ErnicStateTable *t,
                                      const void *entry)
{
    return *((const uint8_t *)entry + t->used) != 0;
}

/* The first number from which on no entry is in use, but for one just loaded. */
static inline uint32_t ernic_state_table_end(const Ernic *e, const ErnicStateTable *t)
{
    uint32_t given = ernic_state_table_given(e, t);

    return t->end ? MIN(given, *(const uint32_t *)((const char *)e + t->end)) : given;
}

/*
 * Sets *id to the first number from *id on, and below @end, whose entry is in use, and
 * returns the entry; NULL: there is none.
 */
static inline void *ernic_state_next_below(const Ernic *e, const ErnicStateTable *t,
                                           uint32_t *id, uint32_t end)
{
    uint32_t size = t->of->size, i;
    char *entry;

    if (*id >= end) {
        return NULL;
    }
    /* Most entries of a large table are not in use. */
    entry = ernic_state_entry(e, t, *id);
    for (i = *id; i < end; i++, entry += size) {
        if (ernic_state_in_use(t, entry)) {
            *id = i;
            return entry;
        }
    }
    return NULL;
}

static inline void *ernic_state_next(const Ernic *e, const ErnicStateTable *t,
                                     uint32_t *id)
{
    return ernic_state_next_below(e, t, id, ernic_state_table_end(e, t));
}

/* state_owned.c: memory that a pointer owns, and variants. */
extern const ErnicStateOwned ernic_state_regs;      /* Ernic.regs */
extern const ErnicStateOwned ernic_state_free_ids;  /* ErnicIds.fifo */
extern const ErnicStateOwned ernic_state_variants;  /* of Ernic.mr */
extern const ErnicStateOwned ernic_state_odp;       /* ErnicMr.odp */
extern const ErnicStateOwned ernic_state_line;      /* ErnicEq.line */
extern const ErnicStateOwned ernic_state_window;    /* ErnicSendQueue.wqe */
extern const ErnicStateOwned ernic_state_answers;   /* ErnicQp.rd */
extern const ErnicStateOwned ernic_state_payload;   /* of an ErnicWqe */
extern const ErnicStateOwned ernic_state_held;      /* ErnicTx.buf */
extern const ErnicStateOwned ernic_state_loop;      /* ErnicTx.loop */
/*
 * Refuse a state that is valid, but needs more memory than the account of this engine
 * or the host has. Returns false.
 */
bool ernic_state_no_memory(const Ernic *e, ErnicReader *in);

/* A list of pages that may be sent ahead of the state (precopy.h). */
typedef struct ErnicList {
    const uint64_t *entry;
    uint32_t length;
    uint32_t *number;           /* 0: no part was sent */
    uint32_t *done;             /* entries that were sent; NULL: all of them at once */
} ErnicList;

static inline ErnicList ernic_list_of_chunk(ErnicOdpChunk *chunk)
{
    return (ErnicList) { chunk->entry, ERNIC_ODP_CHUNK, &chunk->sent };
}

/* Its length is 0 if @buf has none, or a short one. */
static inline ErnicList ernic_list_of_buf(const ErnicBuf *buf)
{
    ErnicBufMark *mark;

    if (!buf->page || buf->npages < ERNIC_PRECOPY_MIN) {
        return (ErnicList) { };
    }
    mark = ernic_buf_mark(buf);
    return (ErnicList) { buf->page, buf->npages, &mark->number, &mark->done };
}

static inline uint32_t ernic_list_done(const ErnicList *list)
{
    return list->done ? *list->done : *list->number ? list->length : 0;
}

/* Count what the model has by queue pair, after all of it is loaded. */
void ernic_state_derive_timing(Ernic *e);
/* Packets of a device without ICRC: add what the link of this one needs. */
void ernic_state_derive_icrc(Ernic *e);

#endif /* ERNIC_STATE_STATE_H */
