/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Changes of a queue pair's state. Every change goes through one function, and
 * every fault that changes the state through one of two.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/responder_resources.h"
#include "transport/requester.h"
#include "transport/retry_timer.h"
#include "transport/sched.h"

void ernic_qp_set_state(Ernic *e, ErnicQp *qp, uint8_t state)
{
    trace_ernic_qp_state(qp->qpn, ernic_qp_state_name(qp->state),
                         ernic_qp_state_name(state));
    qp->state = state;
    qp->sq_drained = false;
    qp->flush_wait = 0;
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_SEND)) {
        ernic_retry_timer_stop(e, qp);
        ernic_rnr_timer_stop(qp);
        ernic_requester_stop(qp);
    }
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_RECV)) {
        ernic_ack_stop(qp);
        ernic_rd_drop_all(qp);
    }
    ernic_sched_mark(e, qp);
}

void ernic_qp_drained(Ernic *e, ErnicQp *qp)
{
    qp->sq_drained = true;
    trace_ernic_sq_drained(qp->qpn);
    if (qp->attr.sqd_notify) {
        ernic_qp_event(e, qp, ERNIC_EV_SQ_DRAINED);
    }
}

static void qp_fatal(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    trace_ernic_qp_error(qp->qpn, ernic_fault_info(fault)->name);
    e->interface->fatal(e, qp, fault);
    ernic_qp_set_state(e, qp, ERNIC_QPS_ERR);
}

void ernic_qp_error(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    const ErnicFaultInfo *info = ernic_fault_info(fault);

    if (qp->state == ERNIC_QPS_ERR || qp->state == ERNIC_QPS_RESET) {
        return;
    }
    qp_fatal(e, qp, fault);
    if (info->event) {
        ernic_qp_event(e, qp, info->event);
    }
}

void ernic_qp_recv_fault(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    const ErnicFaultInfo *info = ernic_fault_info(fault);
    bool error = ernic_fault_act(fault, qp->transport) == ERNIC_ACT_QP_ERROR;

    if (qp->rq.recv_valid && info->wc != ERNIC_WC_SUCCESS) {
        ErnicWc wc = { .opcode = ERNIC_WC_RECV };

        /* The completion reports the fault; no event has to. */
        ernic_qp_complete_recv(e, qp, &wc, fault);
        if (error && qp->state != ERNIC_QPS_ERR) {
            qp_fatal(e, qp, fault);
        }
    } else {
        e->stats.fault[fault]++;
        if (error) {
            ernic_qp_error(e, qp, fault);
        }
    }
}
