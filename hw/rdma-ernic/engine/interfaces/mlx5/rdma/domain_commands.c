/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of protection domains and of domains of XRC, which share the numbers of the
 * engine's protection domains.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/command/lists.h"
#include "objects/pd.h"

/* A domain of either kind, with its number in *@number. */
static ErnicMlx5Refusal alloc(Ernic *e, bool xrc, uint32_t *number)
{
    uint8_t status = ernic_pd_alloc(e, 0, number);

    if (status == ERNIC_OK) {
        e->mlx5->contexts.xrcd[*number] = xrc;
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal alloc_pd(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t pd = 0;
    ErnicMlx5Refusal refusal = alloc(f->engine, false, &pd);

    PUT(r->out, alloc_pd_out.pd, pd);
    return refusal;
}

static ErnicMlx5Refusal dealloc_pd(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t pd = GET(r->in, dealloc_pd_in.pd);

    return ernic_mlx5_has_pd(f->engine, pd) ?
           ernic_mlx5_refusal(ernic_pd_free(f->engine, 0, pd)) : ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal alloc_xrcd(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t xrcd = 0;
    ErnicMlx5Refusal refusal = alloc(f->engine, true, &xrcd);

    PUT(r->out, alloc_xrcd_out.xrcd, xrcd);
    return refusal;
}

static ErnicMlx5Refusal dealloc_xrcd(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t xrcd = GET(r->in, dealloc_xrcd_in.xrcd);

    return ernic_mlx5_has_xrcd(f->engine, xrcd) ?
           ernic_mlx5_refusal(ernic_pd_free(f->engine, 0, xrcd)) :
           ERNIC_MLX5_NO_OBJECT;
}

static const ErnicMlx5CommandRow rows[] = {
    { 0x800, "ALLOC_PD", RUNNING, alloc_pd },
    { 0x801, "DEALLOC_PD", RUNNING, dealloc_pd },
    { 0x80e, "ALLOC_XRCD", RUNNING, alloc_xrcd },
    { 0x80f, "DEALLOC_XRCD", RUNNING, dealloc_xrcd },
};

const ErnicMlx5CommandTable ernic_mlx5_domain_commands = {
    rows, ARRAY_SIZE(rows), true
};
