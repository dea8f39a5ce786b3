/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Timing model: read-response.overlap responses to READs are under way at once,
 * of all queue pairs together. A response has a place from its first packet to
 * its last; it gives it up while it stands still for a page or for its rate.
 */
#ifndef ERNIC_TRANSPORT_READ_SLOTS_H
#define ERNIC_TRANSPORT_READ_SLOTS_H

#include "base/device.h"
#include "transport/qp.h"

/* A packet of a response may be sent; false: @qp is woken when it has a place. */
bool ernic_read_slots_take(Ernic *e, ErnicQp *qp);
/* The response has been sent. */
void ernic_read_slots_done(Ernic *e, ErnicQp *qp);
/* @qp has had its turn: a place with which it can do nothing is another's. */
void ernic_read_slots_sync(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_READ_SLOTS_H */
