/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page faults of queue pairs: an access met an absent page of an on-demand region
 * (objects/odp.h). The device asks software for the page and repeats the access after
 * the answer.
 */
#ifndef ERNIC_TRANSPORT_PAGE_FAULT_H
#define ERNIC_TRANSPORT_PAGE_FAULT_H

#include "base/fault.h"
#include "objects/dma.h"
#include "objects/qp.h"

/*
 * An access for @qp was ABSENT (e->absent): ask software for the page, unless another
 * question of @qp is open. True: repeat the access after the answer. False: software
 * has answered that the page will not be there.
 */
bool ernic_qp_page_fault(Ernic *e, ErnicQp *qp);
/* Whether the question is still open. */
static inline bool ernic_qp_page_asked(const ErnicQp *qp)
{
    return qp->events.page.state == ERNIC_PAGE_ASKED;
}
/*
 * Convert the result of an access for an inbound message to a fault; @remote: the peer
 * named the memory. Asks for absent pages.
 */
ErnicFault ernic_qp_dma_fault(Ernic *e, ErnicQp *qp, ErnicDma dma, bool remote);
/* Take the answer of software; one without a matching question changes nothing. */
uint8_t ernic_qp_page_resume(Ernic *e,
                             const struct ernic_cmd_page_resume *cmd);
/* Software has provided pages: none of them is failed any more. */
void ernic_qp_pages_came(Ernic *e, const struct ernic_cmd_mr_pages *cmd);
/* Software cannot answer any more: queue pairs that wait repeat their accesses. */
void ernic_qp_pages_orphaned(Ernic *e);

#endif /* ERNIC_TRANSPORT_PAGE_FAULT_H */
