/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Adaptive retransmission: how long a send queue waits for its peer, and when it gives
 * up. Without it (retry_time is 0) both are as the attributes of the queue pair say
 * (IBTA vol. 1, 9.7.6.1.3 and 9.7.5.2.8).
 *
 * With it the first transport timeout is that of the queue pair, but no shorter than
 * ERNIC_ACK_TIMEOUT_FLOOR. Each further one without progress is as long as all before
 * it together, up to ERNIC_ACK_TIMEOUT_STEP. An RNR wait is the one that the peer asks
 * for while the budget lasts, and a quarter of what was waited afterwards, up to
 * ERNIC_RNR_STEP. A request fails if its budget of retries is used and nothing has moved
 * for retry_time. The lengths of the waits count, not the clock: the time in which this
 * process did not run is no fault of the peer.
 */
#ifndef ERNIC_TRANSPORT_ADAPTIVE_RETRY_H
#define ERNIC_TRANSPORT_ADAPTIVE_RETRY_H

#include "objects/qp.h"

/* Length of the transport timer that starts now, ns; 0: @qp has none. */
uint64_t ernic_adaptive_ack_ns(const Ernic *e, const ErnicQp *qp);
/* Length of the RNR wait that starts now, ns; @asked is that of the peer. */
uint64_t ernic_adaptive_rnr_ns(const Ernic *e, const ErnicQp *qp, uint64_t asked);
/* @qp has waited, or will wait, @ns without progress. */
void ernic_adaptive_waited(const Ernic *e, ErnicQp *qp, uint64_t ns);
/* Something has moved. */
void ernic_adaptive_renew(ErnicQp *qp);
/* Whether a request may fail whose budget of retries is used. */
bool ernic_adaptive_over(const Ernic *e, const ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_ADAPTIVE_RETRY_H */
