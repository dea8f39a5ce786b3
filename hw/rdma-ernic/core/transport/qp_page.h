/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Page faults of queue pairs: an access met a page of an on-demand region that is
 * absent (objects/odp.h). Software is asked for it, and the access is repeated
 * after the answer.
 */
#ifndef ERNIC_TRANSPORT_QP_PAGE_H
#define ERNIC_TRANSPORT_QP_PAGE_H

#include "base/fault.h"
#include "objects/dma.h"
#include "objects/qp.h"

/*
 * An access for @qp was ABSENT, as e->absent has it: ask software for the page,
 * unless it has been asked for another of @qp. True: repeat the access after its
 * answer. False: software has answered that the page will not be there.
 */
bool ernic_qp_page_fault(Ernic *e, ErnicQp *qp);
/* Has software still to answer? */
static inline bool ernic_qp_page_asked(const ErnicQp *qp)
{
    return qp->events.page.state == ERNIC_PAGE_ASKED;
}
/*
 * The fault that the result of an access for an inbound message means; @remote:
 * the peer named the memory. An absent page is asked for.
 */
ErnicFault ernic_qp_dma_fault(Ernic *e, ErnicQp *qp, ErnicDma dma, bool remote);
/* Software's answer; one that does not fit the question changes nothing. */
uint8_t ernic_qp_page_resume(Ernic *e,
                             const struct ernic_cmd_page_resume *cmd);
/* Software has brought pages: none of them is failed any more. */
void ernic_qp_pages_came(Ernic *e, const struct ernic_cmd_mr_pages *cmd);
/* Nobody will answer any more: queue pairs that wait repeat their accesses. */
void ernic_qp_pages_orphaned(Ernic *e);

#endif /* ERNIC_TRANSPORT_QP_PAGE_H */
