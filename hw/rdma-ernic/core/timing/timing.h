/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model of one device: every store, packet, completion and interrupt
 * passes the stages of its way, which say when it may be seen, and stands in a
 * line until then. e->timing is NULL when the model is off; hooks.h asks.
 */
#ifndef ERNIC_TIMING_H
#define ERNIC_TIMING_H

#include "base/device.h"
#include "base/lru.h"
#include "base/wc.h"
#include "timing/delay_fifo.h"
#include "timing/profile.h"
#include "timing/stage.h"
#include "timing/timing_trace.h"
#include "wire/headers.h"

/*
 * Doorbells and completions on their way; when there is no room the oldest of
 * them takes effect early.
 */
#define ERNIC_TIMING_DOORBELLS  256
#define ERNIC_TIMING_CQES       1024
/* Greatest packet, BTH to ICRC, of the greatest path MTU. */
#define ERNIC_TIMING_PACKET     (4096 + 128)
#define ERNIC_TIMING_IP         48

/* A packet in a line; it is a train of its own. */
typedef struct ErnicTimedPacket {
    ErnicPath path;
    uint64_t serial;            /* as ErnicTrain.serial */
    uint32_t len, ip_len;
    uint8_t ip[ERNIC_TIMING_IP];        /* as ErnicTrain.ip; ip_len 0: none */
    uint8_t data[ERNIC_TIMING_PACKET];
} ErnicTimedPacket;

typedef struct ErnicTimedDoorbell {
    uint64_t value;
    uint32_t where;             /* context; of PG332 a register's offset */
} ErnicTimedDoorbell;

typedef struct ErnicTimedCqe {
    ErnicWc wc;
    uint32_t cqn;               /* 0 with PG332 */
} ErnicTimedCqe;

/*
 * The retry buffer, in which the payload of WRITEs is kept until it is
 * acknowledged (PG332: DATBUF); retry_buffer.c. What is in it follows from the queue
 * pairs, and is counted anew on loading.
 */
typedef struct ErnicTimedRetry {
    ErnicLevel kept;            /* packets; size 0: nothing is kept */
    uint32_t *held;             /* by queue pair */
    uint32_t *line;             /* those that wait, each once, as a ring */
    bool *waits;
    uint32_t qps, head, count;
} ErnicTimedRetry;

/* A response to a READ that has one of the places of read_slots.c. */
typedef struct ErnicTimedResponse {
    uint32_t qpn;
    bool begun;                 /* something of it has been read */
    uint64_t begin, end;        /* ps: first and last of it */
} ErnicTimedResponse;

struct ErnicTiming {
    const ErnicProfile *p;
    const ErnicTimingTrace *trace;      /* NULL: nobody listens */
    ErnicTimedThing what;       /* for it: what passes at present */
    uint64_t since;             /* ns: the first origin; ERNIC_NEVER: none yet */
    uint64_t epoch;             /* ns: origin of all times in ps */
    ErnicStageState server[ERNIC_STAGE_COUNT];
    ErnicLimit fetch;           /* of work requests */
    ErnicLimit dma;             /* reads of payload */
    ErnicLimit rsp;             /* responses to READs */
    ErnicTimedResponse place[ERNIC_LIM_UNDER_WAY];
    uint32_t places;            /* that are taken */
    ErnicLimit posted;          /* TLPs of payload, by their credits */
    ErnicTimedRetry retry;
    ErnicLevel requests;        /* under way, of all queue pairs */
    uint32_t *under_way;        /* by queue pair */
    ErnicLru context, key;
    uint32_t *fetched;          /* by queue pair: requests that are here */
    ErnicDelayFifo doorbells, tx, rx, cqes;
    ErnicTimers *irqs;          /* by vector + 1 */
    uint64_t tx_done;           /* ps: the last frame has left */
    uint64_t local_done;        /* ps: the last local operation has ended */
    uint64_t read_done;         /* ps: the last register read is answered */
    uint64_t cmd_due;           /* ns, of the command that is next; 0: none */
    uint64_t held_due;          /* ns, of the packet that tx.c holds */
    uint64_t rx_overflows;      /* packets for which there was no room */
    bool link_busy;             /* the link refused the packet at the head */
    bool loop_full;             /* rx has no room for it */
};

/*
 * With the model of cfg->timing, which is not NULL. Its counters begin when the
 * first thing does.
 */
ErnicTiming *ernic_timing_new(const ErnicConfig *cfg);
void ernic_timing_free(ErnicTiming *t);

/*
 * Queue pair @qpn, which has @behind more requests posted, has built @pkt of
 * @len bytes; held_due says when the peer has it. If it is a request, it is of
 * the one that @index counts.
 */
void ernic_timing_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt,
                       const ErnicPath *path, uint32_t len, uint32_t behind,
                       uint32_t index);
/* The train that tx.c holds, one packet, into its line. False: it is full. */
bool ernic_timing_depart(Ernic *e, const ErnicTrain *train);
/* A train from the link, packet by packet; what finds no room is lost. */
void ernic_timing_rx(Ernic *e, const ErnicTrain *train);
/* The same of one packet that is sure to find room. */
void ernic_timing_rx_packet(Ernic *e, const ErnicTrain *packet);
/*
 * Queue pair @qpn has carried out the local operation @name, which @index counts,
 * and has @behind more requests posted.
 */
void ernic_timing_local(Ernic *e, uint32_t qpn, const char *name,
                        uint32_t index, uint32_t behind);
/* A register is read. */
void ernic_timing_read(Ernic *e);
/* When the command that is next may be carried out, ns. */
uint64_t ernic_timing_command(Ernic *e);
/* A store that does its work at once, and takes its turn among the others. */
void ernic_timing_store(Ernic *e);
/* One that does its work when it has arrived; the line has room. */
void ernic_timing_doorbell(Ernic *e, uint32_t where, uint64_t value);
void ernic_timing_cqe(Ernic *e, uint32_t cqn, const ErnicWc *wc,
                      ErnicTimedAfter after);
/* Of queue pair @qpn @num requests are under way. */
void ernic_timing_requests(Ernic *e, uint32_t qpn, uint32_t num);
/* Completions of @qpn that PG332's software does not see yet. */
uint32_t ernic_timing_hidden(const Ernic *e, uint32_t qpn, bool recv);
void ernic_timing_irq(Ernic *e, uint16_t vector);
/* Raise the interrupts that are due. */
void ernic_timing_run_irqs(Ernic *e);
/* When something is due, ns. */
uint64_t ernic_timing_next(const Ernic *e);
/* The train that @p is; borrows from it. */
void ernic_timing_train(const ErnicTimedPacket *p, ErnicTrain *train);

/* For e->cfg.timing_trace; without it, or without the model, these do nothing. */
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

/* How long the queues are; there is a trace. */
void ernic_timing_waiting(const Ernic *e);

/* The place that queue pair @qpn has; NULL: none. */
ErnicTimedResponse *ernic_timing_place(ErnicTiming *t, uint32_t qpn);

/* When the packet that tx.c holds is at the peer, as held_due has it. */
bool ernic_timing_held_due_ok(const ErnicTiming *t);

#endif /* ERNIC_TIMING_H */
