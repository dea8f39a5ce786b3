/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Scheduling of queue pairs: a ring of those that have work, each of which sends one
 * train in its turn. The cost does not depend on the number of queue pairs.
 */
#ifndef ERNIC_TRANSPORT_SCHED_H
#define ERNIC_TRANSPORT_SCHED_H

#include "objects/qp.h"

/* Put @qp at the end of a ring unless it is in it. */
void ernic_sched_add(Ernic *e, ErnicQp *qp, ErnicRingKind kind);
/* The same for the ready ring. */
void ernic_sched_mark(Ernic *e, ErnicQp *qp);
/* Take the first one out of a ring; NULL: none. */
ErnicQp *ernic_sched_take_from(Ernic *e, ErnicRingKind kind);
/* Whether ernic_sched_take() would find a queue pair. */
bool ernic_sched_ready(const Ernic *e);
/*
 * Take the next queue pair; if the link is free, those that waited for it go first.
 * NULL: none has work.
 */
ErnicQp *ernic_sched_take(Ernic *e);
/* Remove @qp from all rings: its context is closed. */
void ernic_sched_forget(Ernic *e, ErnicQp *qp);
/* After loading: set the derived fields of the rings and of the queue pairs. */
void ernic_sched_derive(Ernic *e);

#endif /* ERNIC_TRANSPORT_SCHED_H */
