/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Responder resources: requests that are answered by a response of their own,
 * kept for their duplicates.
 */
#ifndef ERNIC_TRANSPORT_RD_RESOURCES_H
#define ERNIC_TRANSPORT_RD_RESOURCES_H

#include "base/device.h"
#include "base/fault.h"
#include "wire/headers.h"

/*
 * Execute a READ, atomic, ATOMIC WRITE or FLUSH with memory in @pd, and note its
 * response; or note the response of a duplicate again.
 */
ErnicFault ernic_rd_request(Ernic *e, ErnicQp *qp, uint32_t pd, const ErnicPkt *pkt);
void ernic_rd_request_again(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
/* FLUSH: the access rights that its placement types need (A19.4). */
uint32_t ernic_flush_rights(const ErnicPkt *pkt);

#endif /* ERNIC_TRANSPORT_RD_RESOURCES_H */
