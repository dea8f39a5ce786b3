/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The transport timer of a send queue.
 */
#include "qemu/osdep.h"
#include "transport/ack_timer.h"
#include "transport/qp.h"

void ernic_ack_timer_start(Ernic *e, ErnicQp *qp, bool leaving)
{
    ErnicSendQueue *sq = &qp->sq;

    sq->ack_due = ernic_qp_ack_deadline(e, qp);
    if (sq->ack_due != ERNIC_NEVER) {
        sq->leaving = leaving;
        sq->leave_by = sq->ack_due + (sq->ack_due - e->now);
        ernic_qp_timer(e, qp);
    }
}
