/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One direction of a cable. Frames are put on it one after the other, each for
 * the time of its bytes at the rate; then each is in flight. Also the lists
 * that hold frames; a frame is in one list at a time.
 */
#ifndef ERNIC_NETWORK_CABLE_H
#define ERNIC_NETWORK_CABLE_H

#include "base/types.h"

/*
 * Bytes that a frame occupies besides its own: preamble, FCS, gap (IEEE 802.3).
 */
#define ERNIC_CABLE_EXTRA       24
/* Bytes of the shortest frame, without FCS. */
#define ERNIC_CABLE_MIN         60

/* An item on the cable: a frame, or (len 0) a signal to stop or to go on. */
typedef struct ErnicCarried {
    struct ErnicCarried *next;
    uint64_t due;               /* ns: its time of arrival */
    uint32_t len, from;         /* from: port */
    bool stop;
    uint8_t data[];
} ErnicCarried;

typedef struct ErnicCarriedList {
    ErnicCarried *head, *tail;
} ErnicCarriedList;

typedef struct ErnicCable {
    uint64_t free_ns;           /* the last frame is completely on it */
    uint32_t free_ps;           /* plus this many ps, < 1000 */
    uint64_t start;             /* ns: the beginning of the last frame */
    ErnicCarriedList sending;   /* due: when all of it is on the cable */
    ErnicCarriedList flying;    /* due: when all of it is at the other end */
} ErnicCable;

/* Allocate an item; @data may be NULL if @len is 0. */
ErnicCarried *ernic_carried_new(const uint8_t *data, uint32_t len,
                                uint32_t from);
/* Insert @f after all items that are due no later. */
void ernic_carried_insert(ErnicCarriedList *l, ErnicCarried *f);
void ernic_carried_append(ErnicCarriedList *l, ErnicCarried *f);
/* Remove the head, which exists. */
ErnicCarried *ernic_carried_take(ErnicCarriedList *l);
/* Free all items; returns how many. */
uint32_t ernic_carried_drop(ErnicCarriedList *l);

static inline uint64_t ernic_carried_due(const ErnicCarriedList *l)
{
    return l->head ? l->head->due : ERNIC_NEVER;
}

/* Does the cable accept a frame at @now? One may wait for the frame on it. */
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
/* Clear the cable; returns how many frames are lost. */
uint32_t ernic_cable_clear(ErnicCable *c);

#endif /* ERNIC_NETWORK_CABLE_H */
