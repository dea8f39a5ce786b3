/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The need of each kind of memory, from the limits of a configuration. docs/device.md
 * has the same figures; tests/unit/engine/test-memory.c compares them.
 */
#include "qemu/osdep.h"
#include "memory_need.h"
#include "interfaces/mlx5/command/queue.h"
#include "objects/eq.h"
#include "objects/mr.h"
#include "objects/odp.h"
#include "objects/qp.h"
#include "transport/mcast_delivery.h"

/* The entries, and the mark of each list: of objects, and of the command in progress. */
static uint64_t page_lists(const ErnicConfig *cfg)
{
    uint64_t lists = 2 + cfg->max_mr + cfg->max_cq + 2 * cfg->max_qp + cfg->max_srq +
                     cfg->max_eq + (cfg->mlx5 ? 2 * ERNIC_LIM_ETH_QUEUE : 0);

    return (ERNIC_MAX_PAGES + lists) * sizeof(uint64_t);
}

/*
 * The entries are part of the page lists' share: both count as ERNIC_MAX_PAGES. These
 * are the directories of chunks, each with room for at most four times its chunks.
 */
static uint64_t on_demand(const ErnicConfig *cfg)
{
    return ERNIC_MAX_PAGES / ERNIC_ODP_CHUNK * ERNIC_ODP_ROOM * sizeof(ErnicOdpChunk) +
           (uint64_t)cfg->max_mr * sizeof(ErnicOdp);
}

static uint64_t requests(const ErnicConfig *cfg)
{
    return (uint64_t)cfg->max_qp * ERNIC_SQ_WINDOW * sizeof(ErnicWqe);
}

static uint64_t responses(const ErnicConfig *cfg)
{
    return (uint64_t)cfg->max_qp * ERNIC_MAX_RD_ATOMIC * sizeof(ErnicRdRes);
}

static uint64_t backlogs(const ErnicConfig *cfg)
{
    return (uint64_t)cfg->max_eq * ernic_eq_line_size(cfg) * sizeof(uint32_t);
}

static uint64_t copies(const ErnicConfig *cfg)
{
    return ERNIC_MCAST_STORE;
}

/* The longest message and the longest answer. */
static uint64_t messages(const ErnicConfig *cfg)
{
    return cfg->mlx5 ? 2 * (uint64_t)ERNIC_MLX5_MESSAGE_MAX : 0;
}

static uint64_t keys(const ErnicConfig *cfg)
{
    return ernic_mr_table_bytes(cfg->max_mr);
}

uint64_t ernic_memory_kind(const ErnicConfig *cfg, ErnicMemKind kind)
{
    static uint64_t (*const need[])(const ErnicConfig *) = {
#define X(sym, name) name,
        ERNIC_MEM_KINDS(X)
#undef X
    };

    return need[kind](cfg);
}

uint64_t ernic_memory_most(const ErnicConfig *cfg)
{
    uint64_t sum = 0;
    uint32_t kind;

    for (kind = 0; kind < ERNIC_MEM_COUNT; kind++) {
        sum += ernic_memory_kind(cfg, kind);
    }
    return sum;
}
