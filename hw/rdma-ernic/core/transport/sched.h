/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which queue pair is next: a ring of those that have work, each taking one
 * train's turn. The cost does not depend on how many queue pairs exist.
 */
#ifndef ERNIC_TRANSPORT_SCHED_H
#define ERNIC_TRANSPORT_SCHED_H

#include "transport/qp.h"

/* Put @qp at the end of the ready ring unless it is in it. */
void ernic_sched_mark(Ernic *e, ErnicQp *qp);
/* The same for the ring of those that wait for the link. */
void ernic_sched_wait(Ernic *e, ErnicQp *qp);
/* Whether ernic_sched_take() would find a queue pair. */
bool ernic_sched_ready(const Ernic *e);
/*
 * Take the queue pair whose turn it is; those that waited for the link go
 * first when it is free. NULL: none has work.
 */
ErnicQp *ernic_sched_take(Ernic *e);
/* Into the ring of those that wait for a place of read_slots.c. */
void ernic_sched_wait_slot(Ernic *e, ErnicQp *qp);
/* Out of it, the one that came first; NULL: nobody waits. */
ErnicQp *ernic_sched_take_slot(Ernic *e);
/*
 * Into the ring of those whose last packet has not left the device yet; each
 * has packets in a train that is held or queued, which bounds their number.
 */
void ernic_sched_wait_departure(Ernic *e, ErnicQp *qp);
/* Out of it, the one that came first; NULL: there is none. */
ErnicQp *ernic_sched_take_departure(Ernic *e);
/* The queue pair goes away. */
void ernic_sched_forget(Ernic *e, ErnicQp *qp);

#endif /* ERNIC_TRANSPORT_SCHED_H */
