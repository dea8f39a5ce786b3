/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The requester: sends the requests of a queue pair.
 */
#ifndef ERNIC_REQUESTER_H
#define ERNIC_REQUESTER_H

#include "base/device.h"
#include "objects/wqe.h"
#include "wire/headers.h"

/* Send up to one train; true: there is more to do at once. */
bool ernic_requester_step(Ernic *e, ErnicQp *qp);
/* Begin @pkt, a request packet of @wqe: all that does not depend on its operation. */
void ernic_requester_fill(Ernic *e, const ErnicQp *qp, const ErnicWqe *wqe,
                          ErnicPkt *pkt);
/* Go back to the PSN that was asked for, but not before una_psn. */
void ernic_requester_rewind(ErnicQp *qp);

#endif /* ERNIC_REQUESTER_H */
