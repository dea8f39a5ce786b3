/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of transport domains. They only separate Ethernet receive objects of one
 * function, which the engine does not need.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/lists.h"

static ErnicMlx5Refusal alloc_transport_domain(ErnicMlx5Function *f,
                                               const ErnicMlx5Request *r)
{
    bool *used = f->engine->mlx5->contexts.transport;
    uint32_t n;

    for (n = 1; n < f->engine->cfg.max_pd && used[n]; n++) {
    }
    ernic_charge_walk(f->engine, n);
    if (n >= f->engine->cfg.max_pd) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    used[n] = true;
    PUT(r->out, alloc_transport_domain_out.transport_domain, n);
    return ERNIC_MLX5_ACCEPTED;
}

/* Whether a TIR or a TIS belongs to transport domain @n. */
static bool transport_busy(Ernic *e, uint32_t n)
{
    const ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i;

    ernic_charge_objects(e, ERNIC_LIM_TIR + ERNIC_LIM_TIS);
    for (i = 1; i <= ERNIC_LIM_TIR; i++) {
        if (eth->tir[i].used && eth->tir[i].transport_domain == n) {
            return true;
        }
    }
    for (i = 1; i <= ERNIC_LIM_TIS; i++) {
        if (eth->tis[i].used && eth->tis[i].transport_domain == n) {
            return true;
        }
    }
    return false;
}

static ErnicMlx5Refusal dealloc_transport_domain(ErnicMlx5Function *f,
                                                 const ErnicMlx5Request *r)
{
    uint32_t n = GET(r->in, dealloc_transport_domain_in.transport_domain);
    bool *used = f->engine->mlx5->contexts.transport;

    if (!ernic_mlx5_has_transport_domain(f->engine, n)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (transport_busy(f->engine, n)) {
        return ERNIC_MLX5_BUSY;
    }
    used[n] = false;
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(transport_domain, .needs_engine = true,
    { 0x816, "ALLOC_TRANSPORT_DOMAIN", RUNNING, alloc_transport_domain },
    { 0x817, "DEALLOC_TRANSPORT_DOMAIN", RUNNING, dealloc_transport_domain },
);
