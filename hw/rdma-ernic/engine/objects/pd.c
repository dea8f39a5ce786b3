/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Protection domains.
 */
#include "qemu/osdep.h"
#include "objects/pd.h"
#include "trace.h"

static bool pd_exists(const Ernic *e, uint32_t pd)
{
    return pd < e->pd_ids.size && e->pd[pd].used;
}

ErnicPd *ernic_pd_get(Ernic *e, uint32_t uctx, uint32_t pd)
{
    return pd_exists(e, pd) && e->pd[pd].uctx == uctx ? &e->pd[pd] : NULL;
}

uint8_t ernic_pd_alloc(Ernic *e, uint32_t uctx, uint32_t *pd)
{
    uint32_t number = ernic_ids_alloc(&e->pd_ids);

    if (!number) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->pd[number] = (ErnicPd) { .used = true, .uctx = uctx };
    trace_ernic_pd_alloc(uctx, number);
    *pd = number;
    return ERNIC_OK;
}

uint8_t ernic_pd_free(Ernic *e, uint32_t uctx, uint32_t pd)
{
    if (!pd_exists(e, pd)) {
        return ERNIC_ERR_HANDLE;
    }
    if (e->pd[pd].uctx != uctx) {
        return ERNIC_ERR_PERM;
    }
    if (e->pd[pd].refs) {
        return ERNIC_ERR_BUSY;
    }
    e->pd[pd].used = false;
    ernic_ids_free(&e->pd_ids, pd);
    trace_ernic_pd_free(uctx, pd);
    return ERNIC_OK;
}
