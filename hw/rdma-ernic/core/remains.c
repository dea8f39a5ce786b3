/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frees the objects of an engine that was reset: first what each owns, class by class,
 * then the blocks that wait, then the tables.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "base/work.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/odp.h"
#include "objects/qp.h"
#include "remains.h"
#include "trace.h"
#include "transport/qp_life.h"

/* Units of work to free what an object owns, and to find that it owns nothing. */
#define WORK_OBJECT     4
#define LOOKS_OF_UNIT   8
#define BYTES_OF_UNIT   (ERNIC_PIECE / ERNIC_WORK_PIECE)

/* Only the tables, their sizes, the account and the work are valid. */
struct ErnicRemains {
    Ernic old;
    uint32_t class, next;       /* the object to go on with */
    size_t left;                /* bytes of the table that is being freed */
};

/* Release what object @i owns; false: the slice has ended before. */
typedef bool Release(Ernic *old, uint32_t i);

static bool release_eq(Ernic *old, uint32_t i)
{
    ernic_eq_fini(old, &old->eq[i]);
    return true;
}

static bool release_cq(Ernic *old, uint32_t i)
{
    ernic_buf_fini(old, &old->cq[i].buf);
    return true;
}

static bool release_srq(Ernic *old, uint32_t i)
{
    ernic_buf_fini(old, &old->srq[i].wq.buf);
    return true;
}

static bool release_mr(Ernic *old, uint32_t i)
{
    ErnicMr *mr = &old->mr[i];

    if (mr->odp && ernic_odp_empty(old, mr->odp) == ERNIC_AGAIN) {
        return false;
    }
    ernic_buf_fini(old, &mr->buf);
    ernic_odp_free(old, mr->odp);
    mr->odp = NULL;
    return true;
}

static bool release_qp(Ernic *old, uint32_t i)
{
    ernic_qp_fini(old, &old->qp[i]);
    return true;
}

typedef struct Class {
    Release *release;
    size_t table;               /* offset of the pointer */
    size_t size;                /* of an object */
    size_t count;               /* offset of the limit in ErnicConfig */
} Class;

#define CLASS(name, type) \
    { release_##name, offsetof(Ernic, name), sizeof(type), \
      offsetof(ErnicConfig, max_##name) }

static const Class classes[] = {
    CLASS(eq, ErnicEq), CLASS(cq, ErnicCq), CLASS(srq, ErnicSrq), CLASS(mr, ErnicMr),
    CLASS(qp, ErnicQp),
};
#undef CLASS

static void **table_of(Ernic *e, const Class *c)
{
    return (void **)((char *)e + c->table);
}

static uint32_t count_of(const Ernic *e, const Class *c)
{
    return *(const uint32_t *)((const char *)&e->cfg + c->count);
}

ErnicRemains *ernic_remains_take(Ernic *e)
{
    ErnicRemains *r = g_new0(ErnicRemains, 1);
    size_t i;

    r->old = *e;
    r->old.mem.heir = NULL;
    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        *table_of(e, &classes[i]) = NULL;
    }
    memset(&e->mem, 0, sizeof(e->mem));
    e->num_pages = 0;
    return r;
}

ErnicMem *ernic_remains_mem(ErnicRemains *r)
{
    return &r->old.mem;
}

/* Release an object and charge for it; false: the slice has ended. */
static bool release_one(Ernic *old, const Class *c, uint32_t i)
{
    uint64_t used = old->mem.used;
    const ErnicMemBlock *freed = old->mem.freed;

    if (!ernic_work_left(old) || !c->release(old, i)) {
        return false;
    }
    if (used != old->mem.used || freed != old->mem.freed) {
        ernic_charge(old, WORK_OBJECT + (used - old->mem.used) / BYTES_OF_UNIT);
    } else {
        ernic_charge(old, i % LOOKS_OF_UNIT == 0);
    }
    return true;
}

/* False: the slice has ended. */
static bool release_objects(ErnicRemains *r)
{
    Ernic *old = &r->old;

    for (; r->class < ARRAY_SIZE(classes); r->class++, r->next = 0) {
        const Class *c = &classes[r->class];

        /* An engine without objects is not walked: its tables were never used. */
        for (; old->mem.used && r->next < count_of(old, c); r->next++) {
            if (!release_one(old, c, r->next)) {
                return false;
            }
        }
    }
    return true;
}

/* The same for the blocks that wait to be freed. */
static bool release_blocks(ErnicRemains *r)
{
    while (ernic_work_left(&r->old)) {
        if (!ernic_mem_reap(&r->old.mem)) {
            return true;
        }
        ernic_charge(&r->old, ERNIC_WORK_PIECE);
    }
    return false;
}

/* Free the last piece of a table of @bytes, or all that is left; false: there is more. */
static bool release_piece(ErnicRemains *r, void *table, const Class *c, uint32_t n)
{
    size_t piece;

    r->left = r->left ?: n * c->size;
    piece = MIN(r->left, ERNIC_PIECE);
    ernic_charge(&r->old, 1 + piece / BYTES_OF_UNIT);
    r->left -= piece;
    if (r->left) {
        ernic_pages_release((char *)table + r->left, piece);
        return false;
    }
    ernic_table_free(table, n, c->size);
    return true;
}

/* The same for the tables, each from its end. */
static bool release_tables(ErnicRemains *r)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        void **table = table_of(&r->old, &classes[i]);

        while (*table) {
            if (!ernic_work_left(&r->old)) {
                return false;
            }
            if (release_piece(r, *table, &classes[i], count_of(&r->old, &classes[i]))) {
                *table = NULL;
            }
        }
    }
    return true;
}

uint64_t ernic_remains_reap(ErnicRemains *r, uint64_t budget, bool *done)
{
    uint64_t used;

    r->old.work_done = 0;
    r->old.work_end = MAX(budget, 1);
    *done = release_objects(r) && release_blocks(r) && release_tables(r);
    used = r->old.work_done;
    if (*done) {
        g_assert(!r->old.mem.used);
        trace_ernic_remains_freed(r->old.cfg.max_qp);
        g_free(r);
    }
    return used;
}

void ernic_remains_free(ErnicRemains *r)
{
    bool done = !r;

    while (!done) {
        ernic_remains_reap(r, UINT64_MAX, &done);
    }
}
