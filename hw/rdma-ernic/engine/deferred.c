/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frees what each object owns, class by class, then the blocks, then the tables. Objects
 * that were never given out are not looked at: the host would have to provide a page.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "deferred.h"
#include "engine.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/odp.h"
#include "objects/qp.h"
#include "objects/srq.h"
#include "trace.h"
#include "transport/qp_life.h"

struct ErnicDeferred {
    Ernic *old;                 /* owned; only its tables, their numbers and sizes, and
                                   its account are valid; NULL: blocks alone */
    void *contexts;             /* owned; of the keys of the mlx5 interface; or NULL */
    ErnicMemBlock *blocks;      /* owned */
};

/* ---- what objects own --------------------------------------------------------- */

static void free_eq(Ernic *old, uint32_t i)
{
    ernic_eq_fini(old, &old->eq[i]);
}

static void free_cq(Ernic *old, uint32_t i)
{
    ernic_buf_fini(old, &old->cq[i].buf);
}

static void free_srq(Ernic *old, uint32_t i)
{
    ernic_buf_fini(old, &old->srq[i].wq.buf);
}

static void free_mr(Ernic *old, uint32_t i)
{
    ernic_buf_fini(old, &old->mr[i].buf);
    ernic_odp_free(old, old->mr[i].odp);
}

static void free_qp(Ernic *old, uint32_t i)
{
    ernic_qp_fini(old, &old->qp[i]);
}

typedef struct Class {
    void (*free)(Ernic *old, uint32_t i);
    size_t table;               /* offset of the pointer */
    size_t size;                /* of an object */
    size_t ids;                 /* offset of the numbers; as many as objects */
} Class;

#define CLASS(name, type) \
    { free_##name, offsetof(Ernic, name), sizeof(type), offsetof(Ernic, name##_ids) }

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

/* An engine without objects is not walked. */
static void free_objects(Ernic *old)
{
    uint32_t i, id;

    for (i = 0; old->mem.used && i < ARRAY_SIZE(classes); i++) {
        for (id = 0; id < ids_of(old, &classes[i])->fresh; id++) {
            classes[i].free(old, id);
        }
    }
}

static void free_tables(ErnicDeferred *d)
{
    uint32_t i;

    ernic_table_free(d->contexts, d->old->mr_ids.size, ERNIC_MLX5_MKC);
    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        ErnicIds *ids = ids_of(d->old, &classes[i]);

        ernic_table_free(*table_of(d->old, &classes[i]), ids->size, classes[i].size);
        ernic_ids_fini(ids);
    }
}

void ernic_deferred_free(ErnicDeferred *d)
{
    if (d->old) {
        ernic_mem_discharge(&d->old->mem, ERNIC_MEM_KEYS);
        free_objects(d->old);
        g_assert(!d->old->mem.used);
        free_tables(d);
        trace_ernic_deferred_free(d->old->cfg.max_qp);
    }
    ernic_mem_free_blocks(d->blocks);
    g_free(d->old);
    g_free(d);
}

/* ---- of an engine -------------------------------------------------------------- */

ErnicDeferred *ernic_deferred_take(Ernic *e, void *contexts)
{
    ErnicDeferred *d = g_new0(ErnicDeferred, 1);
    size_t i;

    d->old = g_new(Ernic, 1);
    *d->old = *e;
    d->contexts = contexts;
    d->blocks = g_steal_pointer(&d->old->mem.freed);
    d->old->mem.defers = false;
    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        *table_of(e, &classes[i]) = NULL;
        *ids_of(e, &classes[i]) = (ErnicIds) { };
    }
    memset(&e->mem, 0, sizeof(e->mem));
    e->num_pages = 0;
    return d;
}

uint64_t ernic_deferred_tables(const ErnicDeferred *d)
{
    uint64_t bytes = d->contexts ? (uint64_t)d->old->mr_ids.size * ERNIC_MLX5_MKC : 0;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(classes); i++) {
        const ErnicIds *ids = ids_of(d->old, &classes[i]);

        bytes += ids->size * (classes[i].size + sizeof(*ids->fifo));
    }
    return bytes;
}

bool ernic_deferred_waits(Ernic *e)
{
    if (e->deferred && !e->ops->freeing(e->env)) {
        e->deferred = ERNIC_DEFERRED_NONE;
    }
    return e->deferred;
}

/*
 * While objects of an earlier reset wait, no command has created any. Those of today are
 * freed at once: tables, and for PG332, which has no commands, its queue pairs.
 */
void ernic_deferred_hand_over(Ernic *e, ErnicDeferred *d)
{
    if (!ernic_deferred_on(e) ||
        (ernic_deferred_waits(e) && e->deferred == ERNIC_DEFERRED_OBJECTS)) {
        ernic_deferred_free(d);
        return;
    }
    e->deferred = ERNIC_DEFERRED_OBJECTS;
    e->ops->free_later(e->env, d);
}

void ernic_deferred_blocks(Ernic *e)
{
    ErnicDeferred *d;

    if (!e->mem.freed) {
        return;
    }
    d = g_new0(ErnicDeferred, 1);
    d->blocks = g_steal_pointer(&e->mem.freed);
    e->deferred = MAX(e->deferred, ERNIC_DEFERRED_BLOCKS);
    e->ops->free_later(e->env, d);
}
