/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One direction of a cable: a frame is on it for its bytes at the rate, one after
 * the other, then in flight. And the lists that frames stand in, a frame in one
 * at a time.
 */
#ifndef ERNIC_CABLE_H
#define ERNIC_CABLE_H

#include "base/types.h"

/* Bytes that a frame takes besides its own: preamble, FCS, gap (IEEE 802.3). */
#define ERNIC_CABLE_EXTRA       24
/* Bytes of the shortest frame, without FCS. */
#define ERNIC_CABLE_MIN         60

/* What travels: a frame, or (len 0) that the device is to stop or go. */
typedef struct ErnicCarried {
    struct ErnicCarried *next;
    uint64_t due;               /* ns: when it comes to where it is going */
    uint32_t len, from;         /* from: port */
    bool stop;
    uint8_t data[];
} ErnicCarried;

typedef struct ErnicCarriedList {
    ErnicCarried *head, *tail;
} ErnicCarriedList;

typedef struct ErnicCable {
    uint64_t free_ns;           /* the last frame is all on it */
    uint32_t free_ps;           /* and so many ps later, < 1000 */
    uint64_t start;             /* ns: the last frame begins */
    ErnicCarriedList sending;   /* due: when all of it is on the cable */
    ErnicCarriedList flying;    /* due: when all of it is at the other end */
} ErnicCable;

/* @data may be NULL where @len is 0. */
ErnicCarried *ernic_carried_new(const uint8_t *data, uint32_t len,
                                uint32_t from);
/* Behind everything that is due no later. */
void ernic_carried_insert(ErnicCarriedList *l, ErnicCarried *f);
void ernic_carried_append(ErnicCarriedList *l, ErnicCarried *f);
/* Off the head, which is there. */
ErnicCarried *ernic_carried_take(ErnicCarriedList *l);
/* All of them go; returns how many. */
uint32_t ernic_carried_drop(ErnicCarriedList *l);

static inline uint64_t ernic_carried_due(const ErnicCarriedList *l)
{
    return l->head ? l->head->due : ERNIC_NEVER;
}

/* Does the cable take a frame at @now? One may wait behind another. */
static inline bool ernic_cable_room(const ErnicCable *c, uint64_t now)
{
    return c->start <= now;
}

/*
 * @f goes onto the cable of @rate bit/s, from @now on or (@paced) such that all
 * of it is there at @now, but not before the frame in front of it.
 */
void ernic_cable_send(ErnicCable *c, uint64_t now, uint64_t rate, bool paced,
                      ErnicCarried *f);
/* Nothing is on it; returns how many frames that costs. */
uint32_t ernic_cable_clear(ErnicCable *c);

#endif /* ERNIC_CABLE_H */
