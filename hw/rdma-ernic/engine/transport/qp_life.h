/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of a queue pair context: from a free number to Reset, and back.
 */
#ifndef ERNIC_TRANSPORT_QP_LIFE_H
#define ERNIC_TRANSPORT_QP_LIFE_H

#include "objects/qp.h"

/* Allocate the window of a send queue of @depth; false: no memory. */
bool ernic_sq_alloc_window(Ernic *e, ErnicSendQueue *sq, uint32_t depth);
/* Allocate the READs and atomics that are answered; false: no memory. */
bool ernic_qp_alloc_answers(Ernic *e, ErnicQp *qp);
/* Free the memory that @qp owns. */
void ernic_qp_fini(Ernic *e, ErnicQp *qp);
/*
 * Open the context of @qpn, which is not in use, in Reset. It owns the pages of
 * the rings @sq and @rq from now on; all other fields are 0. NULL: no memory, and
 * nothing has changed.
 */
ErnicQp *ernic_qp_open(Ernic *e, uint32_t qpn, uint8_t type,
                       const ErnicWq *sq, const ErnicWq *rq);
/* Free everything that @qp owns; its number is not in use any more. */
void ernic_qp_close(Ernic *e, ErnicQp *qp);
/*
 * Clear a context on its way to Reset: the queues are empty, the attributes are
 * gone, its type 2 windows are unbound. Completions that were written stay: their
 * ring is the guest's, and its driver skips those of a queue pair that it resets.
 */
void ernic_qp_reset_context(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_QP_LIFE_H */
