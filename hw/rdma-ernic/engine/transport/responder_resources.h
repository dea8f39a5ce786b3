/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Responder resources: requests that are answered by a response of their own,
 * kept for their duplicates.
 */
#ifndef ERNIC_TRANSPORT_RESPONDER_RESOURCES_H
#define ERNIC_TRANSPORT_RESPONDER_RESOURCES_H

#include "base/fault.h"
#include "objects/qp.h"
#include "wire/headers.h"

/*
 * Execute a READ, atomic, ATOMIC WRITE or FLUSH with memory in @pd, and note its
 * response; or note the response of a duplicate again.
 */
ErnicFault ernic_rd_request(Ernic *e, ErnicQp *qp, uint32_t pd, const ErnicPkt *pkt);
void ernic_rd_request_again(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt);
void ernic_rd_reset(ErnicQp *qp);
/* A packet of the response @rd has been sent; true: it was the last one. */
bool ernic_rd_sent(ErnicQp *qp, ErnicRdRes *rd);
/* The rest of the response @rd, or of all, will not be sent. */
void ernic_rd_drop(ErnicQp *qp, ErnicRdRes *rd);
void ernic_rd_drop_all(ErnicQp *qp);
/*
 * Resize the ring of inbound READs and atomics to @size entries. The newest entries
 * stay, oldest first. A duplicate of a request with a removed entry gets no response,
 * as if newer requests had overwritten the entry.
 */
void ernic_rd_resize(ErnicQp *qp, uint32_t size);
/* FLUSH: the access rights that its placement types need (A19.4). */
uint32_t ernic_flush_rights(const ErnicPkt *pkt);

#endif /* ERNIC_TRANSPORT_RESPONDER_RESOURCES_H */
