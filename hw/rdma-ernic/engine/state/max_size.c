/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The longest state that an engine can have, and the longest that it may have now. A
 * number takes as many bytes in a stream as in memory, so the memory that the
 * configuration allows is the bound: its account, its tables and its structures.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "engine.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/pg332/side_stream.h"
#include "state/state.h"
#include "steering/flow_tables.h"
#include "timing/timing.h"
#include "transport/tx.h"

/*
 * Bytes of an object beside its own structure: its number there and among the free
 * numbers, its context and record of the mlx5 interface, its registers and handshake of
 * PG332. Tables whose size is fixed have the number alone.
 */
#define BESIDE      512
#define NUMBER      sizeof(uint32_t)
/* The description, the heads of sections, and all of which there is one. */
#define SINGLE      (sizeof(Ernic) + 2 * sizeof(ErnicTx) + sizeof(ErnicSide) + \
                     sizeof(ErnicMlx5) + sizeof(ErnicMlx5Eth) + \
                     sizeof(ErnicFlowTables) + (1u << 18))

static uint64_t tables(const Ernic *e)
{
    uint64_t sum = (uint64_t)e->cfg.max_uctx * sizeof(uint32_t);
    uint32_t i;

    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];

        sum += (uint64_t)ernic_state_table_size(e, t) *
               (t->of->size + (t->size ? BESIDE : NUMBER));
    }
    return sum;
}

/*
 * The same for the objects that exist. Numbers that were given out, and PG332's
 * registers, are in a state without them.
 */
static uint64_t tables_now(const Ernic *e)
{
    uint64_t sum = (uint64_t)e->cfg.max_uctx * sizeof(uint32_t);
    uint32_t i, id;

    for (i = 0; i < ernic_state_num_tables; i++) {
        const ErnicStateTable *t = &ernic_state_tables[i];
        uint32_t beside = t->size ? BESIDE : NUMBER;

        if (!ernic_state_table_base(e, t)) {
            continue;
        }
        if (t->size) {
            sum += e->regs ? (uint64_t)ernic_state_table_size(e, t) * BESIDE :
                   (uint64_t)ernic_state_table_given(e, t) * NUMBER;
        }
        for (id = t->first; ernic_state_next(e, t, &id); id++) {
            sum += t->of->size + beside;
        }
    }
    return sum;
}

/* Each record has its deadline. */
static uint64_t fifo(const ErnicDelayFifo *l)
{
    return (uint64_t)l->slots * (sizeof(*l->due) + l->size);
}

static uint64_t timing(const ErnicTiming *t)
{
    uint64_t ends = (uint64_t)t->fetch.size + t->dma.size + t->rsp.size + t->posted.size;
    uint64_t cached = (uint64_t)t->context.entries + t->key.entries;

    return sizeof(*t) + ends * sizeof(uint64_t) + cached * sizeof(uint32_t) +
           (uint64_t)t->rsp.size * sizeof(*t->place) + t->irqs->size * sizeof(uint64_t) +
           fifo(&t->doorbells) + fifo(&t->tx) + fifo(&t->rx) + fifo(&t->cqes);
}

uint64_t ernic_save_most(const Ernic *e)
{
    return SINGLE + tables(e) + e->mem.bound + (e->timing ? timing(e->timing) : 0);
}

GByteArray *ernic_save_new(const Ernic *e)
{
    uint64_t room = SINGLE + tables_now(e) + e->mem.used +
                    (e->timing ? timing(e->timing) : 0);

    return ernic_bytes_new(MIN(room, ERNIC_SAVE_END + SINGLE));
}
