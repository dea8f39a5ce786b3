/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The deadlines of a send queue: the transport timer (IBTA vol. 1, 9.7.6.1.3) and
 * the wait after an RNR NAK. After hold() and the RNR timer the caller calls
 * ernic_qp_timer().
 */
#ifndef ERNIC_TRANSPORT_RETRY_TIMER_H
#define ERNIC_TRANSPORT_RETRY_TIMER_H

#include "objects/qp.h"

/* No timer of a new @qp runs. */
void ernic_retry_timer_init(ErnicQp *qp);
/* Count a loaded @qp in num_unacked. */
void ernic_retry_timer_derive(Ernic *e, const ErnicQp *qp);
/*
 * Start the transport timer, because a packet of @qp needs an answer; with @leaving
 * it runs from the departure of the last packet of @qp.
 */
void ernic_retry_timer_start(Ernic *e, ErnicQp *qp, bool leaving);
/*
 * It has expired; true: a pause of the link has held up the packets, and from its end on
 * it runs once more.
 */
bool ernic_retry_timer_paused(Ernic *e, ErnicQp *qp);
void ernic_retry_timer_stop(Ernic *e, ErnicQp *qp);
/* The last packet of @qp has left the device, or counts as sent: run from now on. */
void ernic_retry_timer_departed(Ernic *e, ErnicQp *qp);
/* Let it start at departure, but no later than leave_by. */
void ernic_retry_timer_hold(Ernic *e, ErnicQp *qp);
/* Wait @ns, as an RNR NAK of the peer asks. */
void ernic_rnr_timer_start(Ernic *e, ErnicQp *qp, uint64_t ns);
void ernic_rnr_timer_stop(ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_RETRY_TIMER_H */
