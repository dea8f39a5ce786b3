/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * States of engines with traffic: releases store them, and the fuzz target of hostile
 * states starts from them.
 */
#ifndef STORED_STATES_H
#define STORED_STATES_H

#include "base/device.h"

#define STORED_STATES 5

typedef struct StoredState {
    const char *name;
    ErnicConfig cfg;            /* of the device that saved it */
    /* Append the state to @out; returns the time, ns. */
    uint64_t (*make)(GByteArray *out);
} StoredState;

extern const StoredState stored_states[STORED_STATES];

/* The state of the mlx5 interface. */
extern const ErnicMlx5Config stored_mlx5_config;
uint64_t stored_mlx5(GByteArray *out);

#endif /* STORED_STATES_H */
