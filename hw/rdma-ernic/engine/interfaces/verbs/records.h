/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records of queue pairs (docs/verbs-interface.md): requests that software posts
 * without a doorbell for each.
 */
#ifndef ERNIC_INTERFACES_VERBS_RECORDS_H
#define ERNIC_INTERFACES_VERBS_RECORDS_H

#include "base/fault.h"
#include "interfaces/interface.h"

/*
 * All known send requests of @qp are decoded: whether its record has more. If not, it
 * now asks software for a doorbell, or is watched. Moves @qp to Error if the DMA fails.
 */
bool ernic_verbs_more_sends(Ernic *e, ErnicQp *qp);
/* The send doorbell of @qp, which has a record, was rung: its turn looks again. */
void ernic_verbs_rung(Ernic *e, ErnicQp *qp);
/*
 * Take what the record of the send queue, if there is one, announces now, as its
 * doorbell would.
 */
void ernic_verbs_look_sends(Ernic *e, ErnicQp *qp);
/*
 * The same for the receive queue, if all that is known was taken. The result is the
 * fault of a record that cannot be read, or 0.
 */
ErnicFault ernic_verbs_look_recvs(Ernic *e, ErnicQp *qp);
/* The page with the doorbell of @qpn, if that has a record; else ERNIC_DB_PAGES. */
uint32_t ernic_verbs_page(const Ernic *e, uint32_t qpn);
extern const ErnicDbPageOps ernic_verbs_db_pages;

#endif /* ERNIC_INTERFACES_VERBS_RECORDS_H */
