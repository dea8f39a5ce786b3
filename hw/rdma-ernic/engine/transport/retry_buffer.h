/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Timing model: the retry buffer, which keeps the payload of WRITEs until it is
 * acknowledged (PG332: DATBUF). All queue pairs share it. A queue pair without room
 * waits until a packet of any queue pair is acknowledged.
 */
#ifndef ERNIC_TRANSPORT_RETRY_BUFFER_H
#define ERNIC_TRANSPORT_RETRY_BUFFER_H

#include "base/device.h"
#include "objects/wqe.h"

/*
 * Whether there is room for the next packet of @wqe. False: @qp is woken when there is.
 */
bool ernic_retry_buffer_room(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe);
/* The packet has been built, and is in the buffer. */
void ernic_retry_buffer_sent(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe);
/* Whether the packet should request an acknowledgement, to free room. */
bool ernic_retry_buffer_asks(const Ernic *e, const ErnicWqe *wqe);
/* @qp has had its turn: drop its acknowledged packets. */
void ernic_retry_buffer_sync(Ernic *e, ErnicQp *qp);
/* All queue pairs have been loaded: count their packets. */
void ernic_retry_buffer_load(Ernic *e);

#endif /* ERNIC_TRANSPORT_RETRY_BUFFER_H */
