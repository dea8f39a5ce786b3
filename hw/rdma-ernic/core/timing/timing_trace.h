/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the timing model tells of its work to whoever writes it down: hooks,
 * which ErnicConfig.timing_trace names. They only listen: what they do changes
 * nothing, and none of them may call back into the engine.
 */
#ifndef ERNIC_TIMING_TRACE_H
#define ERNIC_TIMING_TRACE_H

#include "timing/profile.h"

/* What passes stages. */
typedef enum ErnicTimedKind {
    ERNIC_TIMED_DOORBELL,       /* a store that waits in line */
    ERNIC_TIMED_STORE,          /* and one whose work was done at once */
    ERNIC_TIMED_SENT,           /* a packet on its way out; a local operation */
    ERNIC_TIMED_RECEIVED,       /* and one on its way in */
    ERNIC_TIMED_CQE,
    ERNIC_TIMED_INTERRUPT,
    ERNIC_TIMED_ACCESS,         /* a register that is read, a command */
    ERNIC_TIMED_KINDS
} ErnicTimedKind;

typedef struct ErnicTimedThing {
    ErnicTimedKind kind;
    /* It is of request @index of queue pair @qpn, counted as its ring is. */
    bool of_request;
    const char *name;           /* of a packet: its opcode's; else NULL */
    uint32_t qpn;               /* an interrupt's vector, a doorbell's queue */
    uint32_t index;             /* a doorbell's value */
    uint32_t psn;               /* of a packet */
    uint64_t id;                /* of a packet: the same at both ends; or 0 */
} ErnicTimedThing;

/* One thing through one stage; times are in ps from @epoch, in ns, on. */
typedef struct ErnicPassage {
    ErnicTimedThing what;
    ErnicStage stage;
    uint32_t bytes;             /* that cost something here */
    uint64_t epoch;
    uint64_t in, start, end;    /* it came; was taken up; the next one may be */
    uint64_t work;              /* the rest from start to end it was held up */
    uint64_t out;               /* its last byte has left the stage */
} ErnicPassage;

typedef enum ErnicTimedQueue {
#define X(symbol, name) ERNIC_TIMED_##symbol,
    ERNIC_TIMING_QUEUES(X)
#undef X
    ERNIC_TIMED_QUEUES
} ErnicTimedQueue;

struct ErnicTimingTrace {
    void *opaque;
    /* Told when it is computed, which is before it happens. */
    void (*passed)(void *opaque, const ErnicPassage *p);
    /*
     * The first of @count doorbells, received packets or completions in line
     * takes effect: what is posted, completed or raised from now on is its
     * doing. @count 0: that is over.
     */
    void (*taken)(void *opaque, ErnicTimedKind kind, uint32_t count);
    /* Requests [@from, @to) of a send queue are there to be fetched. */
    void (*posted)(void *opaque, uint64_t now, uint32_t qpn, uint32_t from,
                   uint32_t to);
    /* A request is over; if there is a completion, it has passed its stage. */
    void (*completed)(void *opaque, uint64_t now, uint32_t qpn,
                      uint32_t index);
    /* How many stand in each queue. */
    void (*waiting)(void *opaque, uint64_t now,
                    const uint32_t num[ERNIC_TIMED_QUEUES]);
};
typedef struct ErnicTimingTrace ErnicTimingTrace;

#endif /* ERNIC_TIMING_TRACE_H */
