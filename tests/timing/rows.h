/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Published figures of hardware, and the results of the model for them.
 */
#ifndef TIMING_ROWS_H
#define TIMING_ROWS_H

#include "world.h"

typedef enum TimingHow {
    TIMING_FITTED,              /* it gave the profile a parameter */
    TIMING_PREDICTED,
    TIMING_QUOTED,              /* known from a quotation: shown, not checked */
} TimingHow;

typedef struct TimingRow {
    const char *name;
    const char *conditions;
    uint8_t from, opcode;
    uint32_t len, depth, total;
    bool at_receiver;
    TimingHow how;
    const char *parameter;      /* the one that it gave */
    double hardware;            /* Gb/s of payload */
    const char *source;
} TimingRow;

extern const char *const timing_hows[];         /* by TimingHow */
extern const TimingRow timing_rows[];
extern const uint32_t timing_num_rows;

/* Gb/s of payload; @card is ERNIC's profile, @other its peer's. */
double timing_row_model(const TimingRow *row, const ErnicProfile *card,
                        const ErnicProfile *other);
/* Per cent, with its sign. */
double timing_row_error(double model, double hardware);

/*
 * Messages of 64 KiB both ways, one each @interval ns, or as fast as it goes
 * (0): Gb/s of the slower way, and in *@worst the longest time of one, ns.
 */
double timing_both_ways(const ErnicProfile *card, const ErnicProfile *other,
                        uint64_t interval, uint64_t *worst);

#endif /* TIMING_ROWS_H */
