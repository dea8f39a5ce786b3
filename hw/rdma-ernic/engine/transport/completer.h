/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The completer: completes the requests of a queue pair, and retries those without a
 * response.
 */
#ifndef ERNIC_TRANSPORT_COMPLETER_H
#define ERNIC_TRANSPORT_COMPLETER_H

#include "base/device.h"
#include "base/fault.h"
#include "wire/headers.h"

/* Serve one inbound response packet. */
void ernic_completer_packet(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
/* End the oldest request with @fault, which the interface has found in response @pkt. */
void ernic_completer_refuse(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            ErnicFault fault);
/* Complete requests that have been acknowledged, or (UC, UD) have left. */
void ernic_completer_advance(Ernic *e, ErnicQp *qp);
/* Trains up to serial @departed have left the device, some with packets of @qp. */
void ernic_completer_departed(Ernic *e, ErnicQp *qp, uint64_t departed);
/* Nothing is in flight; the first packet to be acknowledged has PSN @psn. */
void ernic_completer_reset(ErnicQp *qp);
void ernic_completer_begin(ErnicQp *qp, uint32_t psn);
/* Set the retry budgets: of time-outs and NAKs, and of RNR NAKs. */
void ernic_completer_set_retry(ErnicQp *qp, uint8_t count);
void ernic_completer_set_rnr_retry(ErnicQp *qp, uint8_t count);
/* Complete the oldest request as flushed; false: there is none. */
bool ernic_completer_flush(Ernic *e, ErnicQp *qp);
/* Act on deadlines that have passed. */
void ernic_completer_timeout(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_COMPLETER_H */
