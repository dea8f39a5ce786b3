/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model of one device: every store, packet, completion and interrupt
 * passes the stages of its path, which determine when it becomes visible, and waits in
 * a delay FIFO until then. e->timing is NULL when the model is off; hooks.h checks it.
 */
#ifndef ERNIC_TIMING_TIMING_H
#define ERNIC_TIMING_TIMING_H

#include "base/device.h"
#include "base/lru.h"
#include "base/wc.h"
#include "timing/delay_fifo.h"
#include "timing/profile.h"
#include "timing/stage.h"
#include "timing/timing_trace.h"
#include "wire/headers.h"

/*
 * Capacity of the FIFOs of doorbells and completions; when one is full, its oldest
 * record takes effect early.
 */
#define ERNIC_TIMING_DOORBELLS  256
#define ERNIC_TIMING_CQES       1024
/* Length of the longest packet, BTH to ICRC, with the greatest path MTU. */
#define ERNIC_TIMING_PACKET     (4096 + 128)
#define ERNIC_TIMING_IP         48
/* Interrupts of PG332: its own, and that of the side stream. */
#define ERNIC_PG332_IRQS        2

/* A packet in a delay FIFO; it is a train of its own. */
typedef struct ErnicTimedPacket {
    ErnicPath path;
    uint64_t serial;            /* as ErnicTrain.serial */
    uint32_t len, ip_len;
    uint8_t ip[ERNIC_TIMING_IP];        /* as ErnicTrain.ip; ip_len 0: none */
    uint8_t data[ERNIC_TIMING_PACKET];
} ErnicTimedPacket;

typedef struct ErnicTimedDoorbell {
    uint64_t value;
    uint32_t where;             /* context; PG332: offset of the register */
} ErnicTimedDoorbell;

typedef struct ErnicTimedCqe {
    ErnicWc wc;
    uint32_t cqn;               /* 0 with PG332 */
} ErnicTimedCqe;

/*
 * The retry buffer, which holds the payload of WRITEs until it is acknowledged (PG332:
 * DATBUF); see retry_buffer.c. Its contents follow from the queue pairs, and are
 * counted again on loading.
 */
typedef struct ErnicTimedRetry {
    ErnicLevel kept;            /* packets; size 0: no retry buffer */
    uint32_t *held;             /* by queue pair */
    uint32_t *line;             /* ring of waiting queue pairs, each once */
    bool *waits;
    uint32_t qps, head, count;
} ErnicTimedRetry;

/* A READ response in one of the read slots of read_slots.c. */
typedef struct ErnicTimedResponse {
    uint32_t qpn;
    bool begun;                 /* its first read of memory has begun */
    uint64_t begin, end;        /* ps: begin and end of its reads */
} ErnicTimedResponse;

struct ErnicTiming {
    const ErnicProfile *p;
    const ErnicTimingTrace *trace;      /* NULL: no trace */
    ErnicTimedThing what;       /* for trace: what passes at present */
    uint64_t since;             /* ns: first origin, or ERNIC_NEVER */
    uint64_t epoch;             /* ns: origin of all times in ps */
    ErnicStageState server[ERNIC_STAGE_COUNT];
    ErnicLimit fetch;           /* fetches of work requests */
    ErnicLimit dma;             /* reads of payload */
    ErnicLimit rsp;             /* responses to READs */
    ErnicTimedResponse place[ERNIC_LIM_UNDER_WAY];
    uint32_t places;            /* slots in use */
    ErnicLimit posted;          /* TLPs of payload, limited by credits */
    ErnicTimedRetry retry;
    ErnicLevel requests;        /* in progress, of all queue pairs */
    uint32_t *under_way;        /* by queue pair */
    ErnicLru context, key;
    uint32_t *fetched;          /* by queue pair: fetched, not yet started */
    ErnicDelayFifo doorbells, tx, rx, cqes;
    ErnicTimers *irqs;          /* by vector + 1 */
    uint64_t tx_done;           /* ps: end of the last frame */
    uint64_t local_done;        /* ps: end of the last local operation */
    uint64_t read_done;         /* ps: end of the last register read */
    uint64_t cmd_due;           /* ns, of the next command; 0: none */
    uint64_t held_due;          /* ns, of the packet that tx.c holds */
    uint64_t rx_overflows;      /* packets dropped for lack of room */
    bool link_busy;             /* the link refused the packet at the head */
    bool loop_full;             /* rx has no room for it */
};

/*
 * Create a model from cfg->timing, which is not NULL. Its counters start with the first
 * passage.
 */
ErnicTiming *ernic_timing_new(const ErnicConfig *cfg);
void ernic_timing_free(ErnicTiming *t);

/*
 * Queue pair @qpn, with @behind more requests posted, has built @pkt of @len bytes.
 * Sets held_due to the time of its arrival at the peer. For a request packet, @index
 * is the index of the request.
 */
void ernic_timing_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt,
                       const ErnicPath *path, uint32_t len, uint32_t behind,
                       uint32_t index);
/* Add the train that tx.c holds, which is one packet, to tx. False: tx is full. */
bool ernic_timing_depart(Ernic *e, const ErnicTrain *train);
/* Receive a train from the link; packets without room in rx are dropped. */
void ernic_timing_rx(Ernic *e, const ErnicTrain *train);
/* The same for one packet; the caller has checked for room. */
void ernic_timing_rx_packet(Ernic *e, const ErnicTrain *packet);
/*
 * Queue pair @qpn has executed the local operation @name, request @index, and has
 * @behind more requests posted.
 */
void ernic_timing_local(Ernic *e, uint32_t qpn, const char *name,
                        uint32_t index, uint32_t behind);
/* Software reads a register. */
void ernic_timing_read(Ernic *e);
/* The time in ns at which the next command may be executed. */
uint64_t ernic_timing_command(Ernic *e);
/* A store with immediate effect; it is accounted for in order with the others. */
void ernic_timing_store(Ernic *e);
/* A store that takes effect on arrival; the FIFO has room. */
void ernic_timing_doorbell(Ernic *e, uint32_t where, uint64_t value);
void ernic_timing_cqe(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                      ErnicTimedAfter after);
/* Queue pair @qpn now has @num requests in progress. */
void ernic_timing_requests(Ernic *e, uint32_t qpn, uint32_t num);
/* The number of completions of @qpn that PG332 software does not see yet. */
uint32_t ernic_timing_hidden(const Ernic *e, uint32_t qpn, bool recv);
/* Whether it does not see some completion of a request yet, of any queue pair. */
bool ernic_timing_hides_requests(const Ernic *e);
void ernic_timing_irq(Ernic *e, uint16_t vector);
/* Raise the interrupts that are due. */
void ernic_timing_run_irqs(Ernic *e);
/* The time in ns at which the next thing is due; a command is none of them. */
uint64_t ernic_timing_next(const Ernic *e);
/* Fill in @train for the packet @p; it borrows from @p. */
void ernic_timing_train(const ErnicTimedPacket *p, ErnicTrain *train);

/* Call e->cfg.timing_trace; without a trace or a model these do nothing. */
static inline void ernic_timing_taken(const Ernic *e, ErnicTimedKind kind,
                                      uint32_t count)
{
    if (unlikely(e->timing && e->timing->trace)) {
        e->timing->trace->taken(e->timing->trace->opaque, kind, count);
    }
}

static inline void ernic_timing_posted(const Ernic *e, uint32_t qpn,
                                       uint32_t from, uint32_t to)
{
    if (unlikely(e->timing && e->timing->trace)) {
        e->timing->trace->posted(e->timing->trace->opaque, e->now, qpn, from,
                                 to);
    }
}

static inline void ernic_timing_completed(const Ernic *e, uint32_t qpn,
                                          uint32_t index)
{
    if (unlikely(e->timing && e->timing->trace)) {
        e->timing->trace->completed(e->timing->trace->opaque, e->now, qpn,
                                    index);
    }
}

/* Report the lengths of the queues to the trace, which exists. */
void ernic_timing_waiting(const Ernic *e);

/* The read slot of queue pair @qpn; NULL: none. */
ErnicTimedResponse *ernic_timing_place(ErnicTiming *t, uint32_t qpn);

/* For the check of invariants: whether held_due agrees with tx_done. */
bool ernic_timing_held_due_ok(const ErnicTiming *t);

#endif /* ERNIC_TIMING_TIMING_H */
