/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of queue pairs: allocation and binding by commands.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/counter.h"
#include "objects/qp.h"
#include "trace.h"
#include "wire/opcode.h"

static bool counter_exists(const Ernic *e, uint32_t number)
{
    return number <= ERNIC_LIM_COUNTER && (!number || e->counter[number].used);
}

const ErnicCounter *ernic_counter_get(const Ernic *e, uint32_t number)
{
    return counter_exists(e, number) ? &e->counter[number] : NULL;
}

void ernic_counter_served(Ernic *e, const ErnicQp *qp, uint8_t cls)
{
    ErnicCounter *counter = &e->counter[qp->counter];

    g_assert(qp->counter <= ERNIC_LIM_COUNTER && counter->used);
    switch (cls) {
    case ERNIC_CL_WRITE:
        counter->served_writes++;
        break;
    case ERNIC_CL_READ:
        counter->served_reads++;
        break;
    case ERNIC_CL_ATOMIC:
    case ERNIC_CL_ATOMIC_WRITE:
        counter->served_atomics++;
        break;
    default:
        break;
    }
}

uint8_t ernic_counter_alloc(Ernic *e, uint32_t *number)
{
    uint32_t n;

    for (n = 1; n <= ERNIC_LIM_COUNTER && e->counter[n].used; n++) {
        continue;
    }
    if (n > ERNIC_LIM_COUNTER) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    e->counter[n] = (ErnicCounter) { .used = true };
    *number = n;
    return ERNIC_OK;
}

uint8_t ernic_counter_free(Ernic *e, uint32_t number)
{
    uint32_t i;

    if (!number || !counter_exists(e, number)) {
        return ERNIC_ERR_HANDLE;
    }
    ernic_charge_objects(e, e->cfg.max_qp);
    for (i = 1; i < e->cfg.max_qp; i++) {
        if (e->qp[i].used && e->qp[i].counter == number) {
            return ERNIC_ERR_BUSY;
        }
    }
    e->counter[number].used = false;
    return ERNIC_OK;
}

void ernic_counter_unbind(Ernic *e, uint32_t number)
{
    uint32_t i;

    ernic_charge_objects(e, e->cfg.max_qp);
    for (i = 1; number && i < e->cfg.max_qp; i++) {
        if (e->qp[i].used && e->qp[i].counter == number) {
            ernic_counter_bind(e, i, 0);
        }
    }
}

void ernic_counter_clear(Ernic *e, uint32_t number)
{
    e->counter[number] = (ErnicCounter) { .used = e->counter[number].used };
}

uint8_t ernic_counter_bind(Ernic *e, uint32_t qpn, uint32_t number)
{
    if (qpn >= e->cfg.max_qp || !e->qp[qpn].used || !counter_exists(e, number)) {
        return ERNIC_ERR_HANDLE;
    }
    trace_ernic_counter_bind(qpn, e->qp[qpn].counter, number);
    e->qp[qpn].counter = number;
    return ERNIC_OK;
}
