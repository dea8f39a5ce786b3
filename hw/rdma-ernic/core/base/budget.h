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
#ifndef ERNIC_BASE_BUDGET_H
#define ERNIC_BASE_BUDGET_H

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
/* A frame to or from a netdev, without its bytes. */
#define ERNIC_WORK_FRAME    8

typedef struct ErnicBudget {
    uint64_t done;              /* units so far */
    uint64_t end;               /* of the slice */
} ErnicBudget;

/* Begin a slice. */
static inline void ernic_budget_start(ErnicBudget *b)
{
    b->end = b->done + ERNIC_WORK_SLICE;
}

static inline bool ernic_budget_left(const ErnicBudget *b)
{
    return b->done < b->end;
}

/* @units, and a copy of @bytes. */
static inline void ernic_budget_charge(ErnicBudget *b, uint32_t units, uint32_t bytes)
{
    b->done += units + bytes / ERNIC_WORK_BYTES;
}

#endif /* ERNIC_BASE_BUDGET_H */
