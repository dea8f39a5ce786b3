/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * States of engines with traffic: releases store them, and the fuzz target of hostile
 * states starts from them.
 */
#ifndef STORED_STATES_H
#define STORED_STATES_H

#include "base/device.h"

#define STORED_STATES 4

typedef struct StoredState {
    const char *name;
    ErnicConfig cfg;            /* of the device that saved it */
    /* Append the state to @out; returns the time, ns. */
    uint64_t (*make)(GByteArray *out);
} StoredState;

extern const StoredState stored_states[STORED_STATES];

#endif /* STORED_STATES_H */
