/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The account of work. Everything that a guest or a peer causes is charged in units
 * before or while it is done. A slice is the work that the device does before it lets the
 * rest of QEMU run. The rest stays pending and continues in the next slice.
 *
 * One unit stands for 0.25 us of a slow host (an access to guest memory takes about
 * 0.1 us on a fast one), and a slice for 0.5 ms. One run of the device's bottom half has
 * a slice for commands, one for each engine and one for the link: about 1 ms.
 *
 * Units are counted, not measured: what the host's kernel does for one of them, such as
 * to give back a page or to provide one, may take a hundred times as long. So a slice
 * ends by the clock as well, which is looked at every few units. Its time begins with the
 * first work that is charged to it. Runs that have to repeat have no clock.
 */
#ifndef ERNIC_BASE_BUDGET_H
#define ERNIC_BASE_BUDGET_H

/* Units of one slice, and the most ns that it may take. */
#define ERNIC_WORK_SLICE    2048
#define ERNIC_WORK_NS       1000000
/* Units of a slice that one queue, or all timers, take before others follow. */
#define ERNIC_WORK_SHARE    512
/* Units between two looks at the clock. */
#define ERNIC_WORK_LOOK     64
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
/* A frame to or from a netdev or a cable, without its bytes. */
#define ERNIC_WORK_FRAME    8

/* The host's time in ns, which never goes back. */
typedef uint64_t ErnicClock(void);

typedef struct ErnicBudget {
    uint64_t done;              /* units so far */
    uint64_t end;               /* of the slice */
    uint64_t look;              /* units after which the clock is looked at */
    uint64_t until;             /* ns; 0: the time of the slice has not begun */
    ErnicClock *clock;          /* NULL: units alone end a slice */
} ErnicBudget;

/* Begin a slice of @units. */
static inline void ernic_budget_start_of(ErnicBudget *b, uint32_t units)
{
    b->end = b->done + units;
    b->look = b->clock ? b->done : UINT64_MAX;
    b->until = 0;
}

static inline void ernic_budget_start(ErnicBudget *b)
{
    ernic_budget_start_of(b, ERNIC_WORK_SLICE);
}

/* A slice that @clock ends as well. */
static inline ErnicBudget ernic_budget_new(ErnicClock *clock)
{
    ErnicBudget b = { .clock = clock };

    ernic_budget_start(&b);
    return b;
}

static inline bool ernic_budget_left(const ErnicBudget *b)
{
    return b->done < b->end;
}

/* End the slice if its time is over. */
void ernic_budget_look(ErnicBudget *b);

/* @units, and a copy of @bytes. */
static inline void ernic_budget_charge(ErnicBudget *b, uint32_t units, uint32_t bytes)
{
    b->done += units + bytes / ERNIC_WORK_BYTES;
    if (unlikely(b->done >= b->look)) {
        ernic_budget_look(b);
    }
}

#endif /* ERNIC_BASE_BUDGET_H */
