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

/* The messages for both kinds of domains have the same layout. */
static bool is_xrc(const ErnicMlx5Request *r)
{
    enum { ALLOC_XRCD = 0x80e, DEALLOC_XRCD = 0x80f };
    uint16_t opcode = GET(r->in, plain_in.opcode);

    return opcode == ALLOC_XRCD || opcode == DEALLOC_XRCD;
}

static ErnicMlx5Refusal alloc(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number;
    uint8_t status = ernic_pd_alloc(f->engine, 0, &number);

    if (status == ERNIC_OK) {
        f->engine->mlx5->contexts.xrcd[number] = is_xrc(r);
        PUT(r->out, alloc_pd_out.pd, number);
    }
    return ernic_mlx5_refusal(status);
}

static ErnicMlx5Refusal dealloc(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number = GET(r->in, dealloc_pd_in.pd);
    bool exists = is_xrc(r) ? ernic_mlx5_has_xrcd(f->engine, number) :
                              ernic_mlx5_has_pd(f->engine, number);

    return exists ? ernic_mlx5_refusal(ernic_pd_free(f->engine, 0, number)) :
                    ERNIC_MLX5_NO_OBJECT;
}

COMMANDS(domain, .needs_engine = true,
    { 0x800, "ALLOC_PD", RUNNING, alloc },
    { 0x801, "DEALLOC_PD", RUNNING, dealloc },
    { 0x80e, "ALLOC_XRCD", RUNNING, alloc },
    { 0x80f, "DEALLOC_XRCD", RUNNING, dealloc },
);
