/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Timing model: at most read-response.overlap READ responses of all queue pairs are in
 * progress at once. A response holds a slot from its first packet to its last, and
 * frees it while it waits for a page or for its rate.
 */
#ifndef ERNIC_TRANSPORT_READ_SLOTS_H
#define ERNIC_TRANSPORT_READ_SLOTS_H

#include "objects/qp.h"
#include "timing/hooks.h"

/* Take a slot for a packet of a response; false: @qp is woken when it has one. */
bool ernic_read_slots_take(Ernic *e, ErnicQp *qp);
/* Free the slot: the response has been sent. */
void ernic_read_slots_done(Ernic *e, ErnicQp *qp);
/* @qp, which has a slot, has had its turn: free the slot if it cannot use it. */
void ernic_read_slots_release(Ernic *e, ErnicQp *qp);

/* The same for a queue pair with or without a slot. */
static inline void ernic_read_slots_sync(Ernic *e, ErnicQp *qp)
{
    if (ernic_timed_place(e, qp->qpn)) {
        ernic_read_slots_release(e, qp);
    }
}

#endif /* ERNIC_TRANSPORT_READ_SLOTS_H */
