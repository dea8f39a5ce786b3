/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Experiments without published figures, whose results are predictions.
 */
#ifndef TIMING_MEASURE_H
#define TIMING_MEASURE_H

#include "timing/profile.h"
#include "world.h"

typedef struct TimingOp {
    const char *name;
    uint8_t opcode;
} TimingOp;

extern const TimingOp timing_ops[];
extern const uint32_t timing_num_ops;

/* ns from the doorbell to the completion, of one at a time, caches warm. */
uint64_t timing_latency(const TimingOp *op, const ErnicProfile *card,
                        const ErnicProfile *other, uint32_t len);
/* The same of the first of all, caches cold. */
uint64_t timing_first(const TimingOp *op, const ErnicProfile *card,
                      const ErnicProfile *other, uint32_t len);
/* The same of one whose software has read a register just before, caches warm. */
uint64_t timing_behind_read(const TimingOp *op, const ErnicProfile *card,
                            const ErnicProfile *other, uint32_t len);
/* ns from a command, which nothing stands before, to its answer. */
uint64_t timing_command(const ErnicProfile *p);
/* ns from a completion to its interrupt. */
uint64_t timing_interrupt(const TimingOp *op, const ErnicProfile *card,
                          const ErnicProfile *other, uint32_t len);
/*
 * ns until @num messages of 64 bytes are complete that are posted at once with
 * a doorbell for each @batch, caches warm.
 */
uint64_t timing_burst(const TimingOp *op, const ErnicProfile *card,
                      const ErnicProfile *other, uint32_t num, uint32_t batch);
/* Million messages of @len bytes a second, 64 under way. */
double timing_message_rate(const TimingOp *op, const ErnicProfile *card,
                           const ErnicProfile *other, uint32_t len);
/*
 * Million messages of 64 bytes a second, @depth posted: as often as @batch of them
 * are complete, as many more are posted with one doorbell.
 */
double timing_batch_rate(const TimingOp *op, const ErnicProfile *card,
                         const ErnicProfile *other, uint32_t depth, uint32_t batch);
/* Gb/s of payload asked for by end @from, 64 under way. */
double timing_throughput(const TimingOp *op, uint8_t from, const ErnicProfile *card,
                         const ErnicProfile *other, uint32_t len);

/* Where the last byte of a request, then of its answer, spends the time. */
typedef struct TimingHop {
    uint8_t end;
    ErnicStage stage;
    uint64_t ps;                /* of a mac: including the wire after it */
} TimingHop;
#define TIMING_HOPS 32

typedef struct TimingMakeUp {
    TimingHop hop[TIMING_HOPS];
    uint32_t num;
    uint64_t total;             /* ns, as software sees it */
} TimingMakeUp;

/* The parts of the time of one request, caches warm, posted from CARD. */
void timing_make_up(const TimingOp *op, const ErnicProfile *card,
                    const ErnicProfile *other, uint32_t len, TimingMakeUp *m);

#endif /* TIMING_MEASURE_H */
