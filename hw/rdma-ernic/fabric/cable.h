/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One direction of a cable. Frames are put on it one after the other, each for
 * the time of its bytes at the rate; then each is in flight.
 */
#ifndef ERNIC_FABRIC_CABLE_H
#define ERNIC_FABRIC_CABLE_H

#include "fabric/carried.h"

/*
 * Bytes that a frame occupies besides its own: preamble, FCS, gap (IEEE 802.3).
 */
#define ERNIC_CABLE_EXTRA       24
/* Bytes of the shortest frame, without FCS. */
#define ERNIC_CABLE_MIN         60

typedef struct ErnicCable {
    uint64_t free_ns;           /* the last frame is completely on it */
    uint32_t free_ps;           /* plus this many ps, < 1000 */
    uint64_t start;             /* ns: the beginning of the last frame */
    ErnicCarriedList sending;   /* due: when all of it is on the cable */
    ErnicCarriedList flying;    /* due: when all of it is at the other end */
    uint64_t resumed;           /* ns: none in flight arrives earlier */
} ErnicCable;

/* When the first item in flight arrives. */
static inline uint64_t ernic_cable_due(const ErnicCable *c)
{
    return c->flying.head ? MAX(c->flying.head->due, c->resumed) : ERNIC_NEVER;
}

/* Remove it; there is one. */
ErnicCarried *ernic_cable_take(ErnicCable *c);
/* Items in flight that were due before @now, and could not be delivered, arrive then. */
void ernic_cable_resume(ErnicCable *c, uint64_t now);
/* Write that down in each of them. */
void ernic_cable_settle(ErnicCable *c);

/* Whether the cable accepts a frame at @now. One may wait for the frame on it. */
static inline bool ernic_cable_room(const ErnicCable *c, uint64_t now)
{
    return c->start <= now;
}

/*
 * Put @f onto the cable of @rate bit/s: from @now on, or (@paced) so that all
 * of it is there at @now, but not before the previous frame has ended.
 */
void ernic_cable_send(ErnicCable *c, uint64_t now, uint64_t rate, bool paced,
                      ErnicCarried *f);
/* Clear the cable, whose frames @st drops; returns how many are lost. */
uint32_t ernic_cable_clear(ErnicCable *c, ErnicCarriedStore *st);

#endif /* ERNIC_FABRIC_CABLE_H */
