/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The effect of one parameter of PCI Express on throughput, by a formula and by the
 * model.
 */
#ifndef TIMING_WHAT_IF_H
#define TIMING_WHAT_IF_H

#include "timing/profile.h"

typedef struct TimingWhatIf {
    const char *change;
    const char *limit;          /* what the formula takes for the slowest */
    double formula, model;      /* Gb/s of payload, WRITEs of 1 MiB */
} TimingWhatIf;

#define TIMING_WHAT_IFS 11

/* Fills all of @w; @fast is a profile whose wire limits nothing of this. */
void timing_what_if(const ErnicProfile *fast, TimingWhatIf w[TIMING_WHAT_IFS]);

#endif /* TIMING_WHAT_IF_H */
