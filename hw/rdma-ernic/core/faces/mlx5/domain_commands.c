/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of protection domains, domains of XRC and transport domains. The first two
 * share the numbers of the engine's protection domains. Transport domains only separate
 * Ethernet receive objects of one function, which the engine does not need.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "faces/mlx5/ethernet.h"
#include "faces/mlx5/mlx5.h"
#include "faces/mlx5/objects.h"
#include "objects/pd.h"

#define GET(bytes, field)       ernic_mlx5_get(bytes, &ernic_mlx5_##field)
#define PUT(bytes, field, v)    ernic_mlx5_put(bytes, &ernic_mlx5_##field, v)

/* A domain of either kind, with its number in *@number. */
static ErnicMlx5Refusal alloc(Ernic *e, bool xrc, uint32_t *number)
{
    uint8_t status = ernic_pd_alloc(e, 0, number);

    if (status == ERNIC_OK) {
        e->mlx5->contexts.xrcd[*number] = xrc;
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal alloc_pd(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                 uint8_t *out)
{
    uint32_t pd = 0;
    ErnicMlx5Refusal refusal = alloc(f->engine, false, &pd);

    PUT(out, alloc_pd_out.pd, pd);
    return refusal;
}

static ErnicMlx5Refusal dealloc_pd(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                   uint8_t *out)
{
    uint32_t pd = GET(r->in, dealloc_pd_in.pd);

    return ernic_mlx5_has_pd(f->engine, pd) ?
           ernic_mlx5_refusal(ernic_pd_free(f->engine, 0, pd)) : ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal alloc_xrcd(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                   uint8_t *out)
{
    uint32_t xrcd = 0;
    ErnicMlx5Refusal refusal = alloc(f->engine, true, &xrcd);

    PUT(out, alloc_xrcd_out.xrcd, xrcd);
    return refusal;
}

static ErnicMlx5Refusal dealloc_xrcd(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                     uint8_t *out)
{
    uint32_t xrcd = GET(r->in, dealloc_xrcd_in.xrcd);

    return ernic_mlx5_has_xrcd(f->engine, xrcd) ?
           ernic_mlx5_refusal(ernic_pd_free(f->engine, 0, xrcd)) :
           ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal alloc_transport_domain(ErnicMlx5Function *f,
                                               const ErnicMlx5Request *r, uint8_t *out)
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
    PUT(out, alloc_transport_domain_out.transport_domain, n);
    return ERNIC_MLX5_ACCEPTED;
}

/* Does a TIR or a TIS belong to transport domain @n? */
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
                                                 const ErnicMlx5Request *r,
                                                 uint8_t *out)
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

static const ErnicMlx5CommandRow rows[] = {
    { 0x800, ERNIC_MLX5_IN_RUNNING, alloc_pd },
    { 0x801, ERNIC_MLX5_IN_RUNNING, dealloc_pd },
    { 0x80e, ERNIC_MLX5_IN_RUNNING, alloc_xrcd },
    { 0x80f, ERNIC_MLX5_IN_RUNNING, dealloc_xrcd },
    { 0x816, ERNIC_MLX5_IN_RUNNING, alloc_transport_domain },
    { 0x817, ERNIC_MLX5_IN_RUNNING, dealloc_transport_domain },
};

const ErnicMlx5CommandTable ernic_mlx5_domain_commands = {
    rows, ARRAY_SIZE(rows), true
};
