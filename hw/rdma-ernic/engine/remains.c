/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frees the objects of an engine that was reset: first what each owns, class by class,
 * then the blocks that wait, then the tables. Objects that were never given out are not
 * looked at: the host would have to provide a page.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "base/work.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/odp.h"
#include "objects/qp.h"
#include "remains.h"
#include "trace.h"
#include "transport/qp_life.h"

/* Units of work to free what an object owns; objects without anything, for one unit. */
#define WORK_OBJECT     4
#define LOOKS_OF_UNIT   8
#define BYTES_OF_UNIT   (ERNIC_PIECE / ERNIC_WORK_PIECE)

/* Only the tables, their numbers and sizes, the account and the work are valid. */
struct ErnicRemains {
    Ernic old;
    void *contexts;             /* of the keys of the mlx5 interface; or NULL */
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
    size_t ids;                 /* offset of the numbers; as many as objects */
} Class;

#define CLASS(name, type) \
    { release_##name, offsetof(Ernic, name), sizeof(type), offsetof(Ernic, name##_ids) }

static const Class classes[] = {
    CLASS(eq, ErnicEq), CLASS(cq, ErnicCq), CLASS(srq, ErnicSrq), CLASS(mr, ErnicMr),
    CLASS(qp, ErnicQp),
};
#undef CLASS

static void **table_of(Ernic *e, const Class *c)
{
    return (void **)((char *)e + c->table);
}

static ErnicIds *ids_of(Ernic *e, const Class *c)
{
    return (ErnicIds *)((char *)e + c->ids);
}

/* Of each class the objects and the free numbers, and the contexts. */
#define TABLES  (2 * ARRAY_SIZE(classes) + 1)

typedef struct Table {
    void **at;
    const ErnicIds *ids;        /* its numbers */
    size_t size;                /* of an element */
} Table;

static Table table(ErnicRemains *r, size_t i)
{
    ErnicIds *ids;

    if (i == TABLES - 1) {
        return (Table) { &r->contexts, &r->old.mr_ids, ERNIC_MLX5_MKC };
    }
    ids = ids_of(&r->old, &classes[i / 2]);
    return i % 2 ? (Table) { (void **)&ids->fifo, ids, sizeof(*ids->fifo) } :
           (Table) { table_of(&r->old, &classes[i / 2]), ids, classes[i / 2].size };
}

static size_t table_bytes(const Table *t)
{
    return t->ids->size * t->size;
}

ErnicRemains *ernic_remains_take(Ernic *e, void *contexts)
{
    ErnicRemains *r = g_new0(ErnicRemains, 1);
    size_t i;

    r->old = *e;
    r->contexts = contexts;
    r->old.mem.heir = r->old.mem.elder = NULL;
    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        *table_of(e, &classes[i]) = NULL;
        *ids_of(e, &classes[i]) = (ErnicIds) { };
    }
    memset(&e->mem, 0, sizeof(e->mem));
    e->num_pages = 0;
    return r;
}

uint64_t ernic_remains_tables(ErnicRemains *r)
{
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < TABLES; i++) {
        Table t = table(r, i);

        bytes += *t.at ? table_bytes(&t) : 0;
    }
    return bytes;
}

uint64_t ernic_remains_bytes(ErnicRemains *r)
{
    return ernic_mem_held(&r->old.mem) + ernic_remains_tables(r);
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
        ernic_charge_host(old, WORK_OBJECT + (used - old->mem.used) / BYTES_OF_UNIT);
    } else {
        ernic_charge(old, i % LOOKS_OF_UNIT == 0);
    }
    return true;
}

/* The same for the objects of a class. */
static bool release_class(ErnicRemains *r, const Class *c)
{
    const ErnicIds *ids = ids_of(&r->old, c);

    for (; r->next < ids->fresh; r->next++) {
        if (!release_one(&r->old, c, r->next)) {
            return false;
        }
    }
    r->next = 0;
    return true;
}

/* The same for all classes. An engine without objects is not walked. */
static bool release_objects(ErnicRemains *r)
{
    for (; r->old.mem.used && r->class < ARRAY_SIZE(classes); r->class++) {
        if (!release_class(r, &classes[r->class])) {
            return false;
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

/*
 * Free the last piece of a table, or all that is left: at once if no slice ends. False:
 * there is more. The part that was never used has no pages, and goes with the first one.
 */
static void release_piece(ErnicRemains *r, const Table *t)
{
    size_t to = r->left ?: table_bytes(t);
    size_t used = MIN(to, t->ids->fresh * t->size);

    r->left = r->old.work.end == UINT64_MAX ? 0
                                            : (used - 1) / ERNIC_PIECE * ERNIC_PIECE;
    ernic_charge(&r->old, 1 + (used - r->left) / BYTES_OF_UNIT);
    ernic_table_free_end(*t->at, table_bytes(t), r->left, to);
    if (!r->left) {
        *t->at = NULL;
    }
}

/* The same for the tables, each from its end. */
static bool release_tables(ErnicRemains *r)
{
    size_t i;

    for (i = 0; i < TABLES; i++) {
        Table t = table(r, i);

        while (*t.at) {
            if (!ernic_work_left(&r->old)) {
                return false;
            }
            release_piece(r, &t);
        }
    }
    return true;
}

ErnicClock *ernic_remains_clock(const ErnicRemains *r)
{
    return r->old.cfg.clock;
}

bool ernic_remains_reap(ErnicRemains *r, ErnicBudget *work)
{
    bool done;

    r->old.work = *work;
    r->old.work.end = MAX(work->end, work->done + 1);
    done = release_objects(r) && release_blocks(r) && release_tables(r);
    *work = r->old.work;
    if (done) {
        ernic_mem_discharge(&r->old.mem, ERNIC_MEM_KEYS);
        ernic_mem_end(&r->old.mem);
        trace_ernic_remains_freed(r->old.cfg.max_qp);
        g_free(r);
    }
    return done;
}

void ernic_remains_free(ErnicRemains *r)
{
    ErnicBudget all = { .end = UINT64_MAX };
    bool done = !r;

    while (!done) {
        done = ernic_remains_reap(r, &all);
    }
}
