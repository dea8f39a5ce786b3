/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Timing model: the retry buffer, in which the payload of WRITEs is kept until
 * it is acknowledged (PG332: DATBUF). All queue pairs share it; one that finds no
 * room stands still until a packet of any of them is acknowledged.
 */
#ifndef ERNIC_TRANSPORT_RETRY_BUFFER_H
#define ERNIC_TRANSPORT_RETRY_BUFFER_H

#include "base/device.h"
#include "objects/wqe.h"

/* The next packet of @wqe may be sent; false: @qp is woken when there is room. */
bool ernic_retry_buffer_room(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe);
/* It has been built, and is in the buffer. */
void ernic_retry_buffer_sent(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe);
/* Whether to ask for an acknowledgement, so that room will come. */
bool ernic_retry_buffer_asks(const Ernic *e, const ErnicWqe *wqe);
/* @qp has had its turn: what was acknowledged is no longer kept. */
void ernic_retry_buffer_sync(Ernic *e, ErnicQp *qp);
/* All queue pairs have been loaded. */
void ernic_retry_buffer_load(Ernic *e);

#endif /* ERNIC_TRANSPORT_RETRY_BUFFER_H */
