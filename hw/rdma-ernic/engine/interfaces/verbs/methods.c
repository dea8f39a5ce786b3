/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The methods of the verbs interface (interfaces/interface.h): send and receive requests
 * in the slots of rings, completions in completion queues, and keys of registered memory.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "interfaces/verbs/records.h"
#include "interfaces/verbs/wqe_decode.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "trace.h"
#include "interfaces/common/defaults.h"
#include "transport/qp.h"
#include "transport/raw.h"

static void verbs_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                ErnicFault fault)
{
    const ErnicWr *wr = ernic_wr(wqe->opcode);

    if (fault == ERNIC_FAULT_NONE && !(wqe->flags & ERNIC_WR_SIGNALED) &&
        !(qp->flags & ERNIC_QPF_SQ_SIG_ALL)) {
        trace_ernic_unsignaled(qp->qpn, wqe->index);
        return;
    }
    ernic_complete_send(e, qp, wqe, wqe->index, wr ? wr->wc_opcode : ERNIC_WC_SEND,
                        fault);
}

static bool verbs_polls_recv(const ErnicQp *qp)
{
    return qp->rq.wq.record;
}

static bool verbs_take_recv(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    uint32_t srq = ernic_qp_srq(qp);

    if (srq) {
        return ernic_srq_take(e, srq, recv);
    }
    recv->fault = ernic_verbs_look_recvs(e, qp);
    return !recv->fault && ernic_rq_take(e, &qp->rq.wq, recv);
}

static bool verbs_fetch(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    const ErnicWq *wq = &qp->sq.wq;

    if (qp->sq.taken == wq->pi && !ernic_verbs_more_sends(e, qp)) {
        return false;
    }
    ernic_wqe_fetch(e, &wq->buf, wq->depth, wq->stride, qp->sq.taken, qp->transport,
                    qp->type == ERNIC_QPT_GSI, qp->uctx, ernic_qp_mtu(qp), wqe);
    wqe->units = 1;             /* a slot holds one request */
    return true;
}

const ErnicInterfaceOps ernic_interface_verbs = {
    ERNIC_VERBS_METHODS,
    .cqes = &ernic_cqe_verbs,
    .eqs = &ernic_eqs_verbs,
    .db_pages = &ernic_verbs_db_pages,
    .fetch = verbs_fetch,
    .complete_send = verbs_complete_send,
    .polls_recv = verbs_polls_recv,
    .take_recv = verbs_take_recv,
    .wants_frame = ernic_raw_wants,
    .take_frame = ernic_raw_frame,
};
