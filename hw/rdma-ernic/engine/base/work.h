/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of an engine, charged to its budget.
 */
#ifndef ERNIC_BASE_WORK_H
#define ERNIC_BASE_WORK_H

#include "base/budget.h"
#include "base/device.h"

/*
 * The status of a call that has used up the slice: repeat it in the next slice with the
 * same arguments. It has no effect yet. Never seen by the guest.
 */
#define ERNIC_AGAIN         0xff

/* Begin a slice. */
static inline void ernic_work_start(Ernic *e)
{
    ernic_budget_start(&e->work);
}

static inline bool ernic_work_left(const Ernic *e)
{
    return ernic_budget_left(&e->work);
}

/* The end of a share of the slice that begins now. */
static inline uint64_t ernic_work_share(const Ernic *e)
{
    return e->work.done + ERNIC_WORK_SHARE;
}

/* Whether something is left of the share with this @end, and of the slice. */
static inline bool ernic_work_left_of(const Ernic *e, uint64_t end)
{
    return e->work.done < end && ernic_work_left(e);
}

static inline void ernic_charge(Ernic *e, uint32_t units)
{
    ernic_budget_charge(&e->work, units, 0);
}

/* Work of the host's kernel, which may take far longer than its units stand for. */
static inline void ernic_charge_host(Ernic *e, uint32_t units)
{
    ernic_charge(e, units);
    ernic_budget_look(&e->work);
}

/* One access to guest memory of @bytes: about 2 GB/s and 0.5 us each. */
static inline void ernic_charge_copy(Ernic *e, uint32_t bytes)
{
    ernic_budget_charge(&e->work, ERNIC_WORK_ACCESS, bytes);
}

/* A walk over @entries of a table that are next to each other. */
static inline void ernic_charge_walk(Ernic *e, uint32_t entries)
{
    ernic_charge(e, 1 + entries / 32);
}

/* A walk over @objects of a table, such as queue pairs, each in its own cache lines. */
static inline void ernic_charge_objects(Ernic *e, uint32_t objects)
{
    ernic_charge(e, 1 + objects / 8);
}

#endif /* ERNIC_BASE_WORK_H */
