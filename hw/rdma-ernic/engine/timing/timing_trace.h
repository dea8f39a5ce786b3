/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace of the timing model: the callbacks of ErnicConfig.timing_trace. They only
 * observe: they do not affect the model, and must not call back into the engine.
 */
#ifndef ERNIC_TIMING_TRACE_H
#define ERNIC_TIMING_TRACE_H

#include "timing/profile.h"

/* The kinds of things that pass stages. */
typedef enum ErnicTimedKind {
    ERNIC_TIMED_DOORBELL,       /* a store that takes effect on arrival */
    ERNIC_TIMED_STORE,          /* a store with immediate effect */
    ERNIC_TIMED_SENT,           /* a packet to the link, or a local operation */
    ERNIC_TIMED_RECEIVED,       /* a packet from the link */
    ERNIC_TIMED_CQE,
    ERNIC_TIMED_INTERRUPT,
    ERNIC_TIMED_ACCESS,         /* a register read, or a command */
    ERNIC_TIMED_KINDS
} ErnicTimedKind;

typedef struct ErnicTimedThing {
    ErnicTimedKind kind;
    /* It belongs to request @index of queue pair @qpn, as the ring counts. */
    bool of_request;
    const char *name;           /* of a packet: name of its opcode; or NULL */
    uint32_t qpn;               /* interrupt: vector; doorbell: queue */
    uint32_t index;             /* doorbell: value */
    uint32_t psn;               /* of a packet */
    uint64_t id;                /* of a packet: the same at both ends; or 0 */
} ErnicTimedThing;

/* One passage through one stage; times are in ps since @epoch, which is in ns. */
typedef struct ErnicPassage {
    ErnicTimedThing what;
    ErnicStage stage;
    uint32_t bytes;             /* bytes with a cost in this stage */
    uint64_t epoch;
    uint64_t in, start, end;    /* arrival; begin of work; stage is free again */
    uint64_t work;              /* the rest from start to end is a stall */
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
    /* Called when the passage is computed, which is before its time. */
    void (*passed)(void *opaque, const ErnicPassage *p);
    /*
     * The first of @count doorbells, received packets or completions in the queue
     * takes effect: it causes all posts, completions and interrupts until the next
     * call. @count 0: the end of that.
     */
    void (*taken)(void *opaque, ErnicTimedKind kind, uint32_t count);
    /* Requests [@from, @to) of a send queue have been posted. */
    void (*posted)(void *opaque, uint64_t now, uint32_t qpn, uint32_t from,
                   uint32_t to);
    /* A request has ended; its completion, if any, has passed its stage. */
    void (*completed)(void *opaque, uint64_t now, uint32_t qpn,
                      uint32_t index);
    /* The length of each queue. */
    void (*waiting)(void *opaque, uint64_t now,
                    const uint32_t num[ERNIC_TIMED_QUEUES]);
};
typedef struct ErnicTimingTrace ErnicTimingTrace;

#endif /* ERNIC_TIMING_TRACE_H */
