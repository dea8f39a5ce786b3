/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two engines with the timing model, joined by a wire, in one virtual time; and
 * software that takes none: it posts again in the ns in which a completion
 * appears. The measurement covers the model alone.
 */
#ifndef TIMING_WORLD_H
#define TIMING_WORLD_H

#include "fake_verbs.h"

#define TIMING_NEVER UINT64_MAX

/* Ends of the connection. */
enum { TIMING_CARD, TIMING_OTHER };

typedef struct TimingEnd {
    FakeEnv env;
    Ernic *e;
    FakeEq eq;                  /* of the send completion queue */
    FakeCq scq, rcq;
    FakeQp qp;
    uint32_t pd, key;
    uint64_t mem;
    bool receives;              /* requests are posted, and again when used */
} TimingEnd;

typedef struct TimingWorld {
    TimingEnd end[2];
    uint64_t now;
    uint64_t packets, pauses;
    uint64_t hash;              /* of every packet and when it came */
    bool events;                /* software waits for interrupts */
} TimingWorld;

/* Messages of one kind from one end; the rest is what came out, in ns. */
typedef struct TimingFlow {
    uint8_t from;               /* end */
    uint8_t opcode;             /* enum ernic_wr_opcode */
    uint32_t len, depth, total;
    uint32_t batch;             /* requests for one doorbell; 0: 1 */
    uint64_t interval;          /* between messages; 0: as fast as it goes */

    uint32_t posted, done, received;
    uint64_t next;              /* when the next is posted, if @interval */
    uint64_t start, first, last;        /* posted; completed at the sender */
    uint64_t rx_first, rx_last; /* receive requests of the other end */
    uint64_t worst;             /* from posting to completion */
} TimingFlow;

/* A connection with a path MTU of 4096 between devices of these profiles. */
void timing_open(TimingWorld *w, const ErnicProfile *a, const ErnicProfile *b);
/* The same, with observers of their models, or NULL. */
void timing_open_traced(TimingWorld *w, const ErnicProfile *a,
                        const ErnicProfile *b, const ErnicTimingTrace *const trace[2]);
void timing_close(TimingWorld *w);
/* Until all of @flows, at most one from each end, are done. */
void timing_run(TimingWorld *w, TimingFlow *flows, uint32_t num);
/* @f alone, in a world of its own. */
void timing_flow(TimingFlow *f, const ErnicProfile *card, const ErnicProfile *other);

/* Until software gets the next event at @end; there will be one. */
void timing_until_irq(TimingWorld *w, uint32_t end);

/* Payload in Gb/s from the first completion to the last, as the sender sees. */
double timing_rate(const TimingFlow *f);
/* The same of the receive requests. */
double timing_rx_rate(const TimingFlow *f);

#endif /* TIMING_WORLD_H */
