/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A migration that has sent a part of its state ahead, as its destination gets it: parts
 * of lists, and the holes of the state that the lists fill (engine/state/precopy.h).
 */
#ifndef FUZZ_AHEAD_H
#define FUZZ_AHEAD_H

#include "input.h"

/* Nothing was sent ahead. */
void ahead_clear(void);
/* A piece of @state, which follows all earlier ones, becomes a list and a hole. */
void ahead_move(GByteArray *state, FuzzIn *in);
/* Any part, and any hole. */
void ahead_part(FuzzIn *in);
void ahead_hole(FuzzIn *in);
/* Fills the holes of @state. False: the destination refuses them. */
bool ahead_fill(GByteArray *state);

#endif /* FUZZ_AHEAD_H */
