/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each thing that takes time: the parameter that says how long, changed by so
 * much, and what that makes of a request.
 */
#ifndef TIMING_COSTS_H
#define TIMING_COSTS_H

#include "timing/profile.h"

typedef struct TimingCostRow {
    const char *item;
    const char *change;         /* of a parameter */
    const char *seen;           /* in what */
    double expected, model;     /* how much that changes, or becomes */
    const char *unit;
    double tolerance;
} TimingCostRow;

#define TIMING_COSTS 40

/* Fills @row with up to TIMING_COSTS rows; returns how many. */
uint32_t timing_costs(const ErnicProfile *card, const ErnicProfile *other,
                      TimingCostRow row[TIMING_COSTS]);

#endif /* TIMING_COSTS_H */
