/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of protection domains and of domains of XRC, which share the numbers of the
 * engine's protection domains.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/command/lists.h"
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

static const ErnicMlx5CommandRow rows[] = {
    { 0x800, ERNIC_MLX5_IN_RUNNING, alloc_pd },
    { 0x801, ERNIC_MLX5_IN_RUNNING, dealloc_pd },
    { 0x80e, ERNIC_MLX5_IN_RUNNING, alloc_xrcd },
    { 0x80f, ERNIC_MLX5_IN_RUNNING, dealloc_xrcd },
};

const ErnicMlx5CommandTable ernic_mlx5_domain_commands = {
    rows, ARRAY_SIZE(rows), true
};
