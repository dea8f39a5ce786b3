/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of work. Everything that a guest or a peer causes is charged in units
 * before or while it is done. A slice is the work that the device does before it lets the
 * rest of QEMU run. The rest stays pending and continues in the next slice.
 *
 * Units are counted, not measured, so that runs repeat. One unit stands for 0.25 us of
 * a slow host (an access to guest memory takes about 0.1 us on a fast one), and a slice
 * for 0.5 ms. One run of the device's bottom half has a slice for commands, one for each
 * engine and one for the link: about 1 ms.
 */
#ifndef ERNIC_BASE_WORK_H
#define ERNIC_BASE_WORK_H

#include "base/device.h"

/* Units of one slice. */
#define ERNIC_WORK_SLICE    2048
/* A command or doorbell, without what it walks or copies. */
#define ERNIC_WORK_COMMAND  8
#define ERNIC_WORK_DOORBELL 2
/* An access to memory, and the bytes that are copied in one unit. */
#define ERNIC_WORK_ACCESS   2
#define ERNIC_WORK_BYTES    512
/* A turn of a queue pair, a local operation, a completion; a packet is a copy. */
#define ERNIC_WORK_TURN     4
#define ERNIC_WORK_LOCAL    8
#define ERNIC_WORK_COMPLETE 4

/*
 * The status of a call that has used up the slice: repeat it in the next slice with the
 * same arguments. It has no effect yet. Never seen by the guest.
 */
#define ERNIC_AGAIN         0xff

/* Begin a slice. */
static inline void ernic_work_start(Ernic *e)
{
    e->work_end = e->work_done + ERNIC_WORK_SLICE;
}

static inline bool ernic_work_left(const Ernic *e)
{
    return e->work_done < e->work_end;
}

static inline void ernic_charge(Ernic *e, uint32_t units)
{
    e->work_done += units;
}

/* One access to guest memory of @bytes: about 2 GB/s and 0.5 us each. */
static inline void ernic_charge_copy(Ernic *e, uint32_t bytes)
{
    ernic_charge(e, ERNIC_WORK_ACCESS + bytes / ERNIC_WORK_BYTES);
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
