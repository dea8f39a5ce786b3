/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames on cables and in queues, the lists that hold them, and their memory. A frame is
 * in one list at a time. Those that are dropped together are freed later, slice by slice;
 * a new frame first frees as many bytes of them.
 */
#ifndef ERNIC_FABRIC_CARRIED_H
#define ERNIC_FABRIC_CARRIED_H

#include "base/budget.h"
#include "base/types.h"

/* An item on a cable: a frame, or (len 0) a signal to stop or to go on. */
typedef struct ErnicCarried {
    struct ErnicCarried *next;
    uint64_t due;               /* ns: its time of arrival */
    uint32_t len, from;         /* from: port */
    bool stop;
    uint8_t data[];
} ErnicCarried;

typedef struct ErnicCarriedList {
    ErnicCarried *head, *tail;
    ErnicCarried *on_time;      /* the last one that was inserted and not late; or NULL */
    uint32_t frames;            /* without the signals */
} ErnicCarriedList;

/* The memory of all frames of a network. */
typedef struct ErnicCarriedStore {
    ErnicCarriedList dropped;   /* owned; wait to be freed */
    uint64_t used;              /* bytes of frames */
} ErnicCarriedStore;

void ernic_carried_init(ErnicCarriedStore *st);
/* All frames have been freed or dropped. */
void ernic_carried_fini(ErnicCarriedStore *st);

/*
 * Create an item of @len bytes, which are a copy of @data unless that is NULL. NULL:
 * there is no memory; a signal never fails.
 */
ErnicCarried *ernic_carried_new(ErnicCarriedStore *st, const uint8_t *data,
                                uint32_t len, uint32_t from);
void ernic_carried_free(ErnicCarriedStore *st, ErnicCarried *f);
/* Empty @l; returns how many frames were there. They are freed later. */
uint32_t ernic_carried_drop(ErnicCarriedStore *st, ErnicCarriedList *l);
/* Whether anything waits for ernic_carried_reap(). */
bool ernic_carried_waits(const ErnicCarriedStore *st);
/* Free until the slice @work ends. False: the rest waits. */
bool ernic_carried_reap(ErnicCarriedStore *st, ErnicBudget *work);

/*
 * Insert @f after all items that are due no later; returns how many of them were looked
 * at. Those that are not @late come in the order of their times: none looks at what
 * another has looked at.
 */
uint32_t ernic_carried_insert(ErnicCarriedList *l, ErnicCarried *f, bool late);
void ernic_carried_append(ErnicCarriedList *l, ErnicCarried *f);
/* Remove the head, which exists. */
ErnicCarried *ernic_carried_take(ErnicCarriedList *l);

static inline uint64_t ernic_carried_due(const ErnicCarriedList *l)
{
    return l->head ? l->head->due : ERNIC_NEVER;
}

#endif /* ERNIC_FABRIC_CARRIED_H */
