/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receiving of raw packet queue pairs: a whole Ethernet frame goes into the next
 * receive request of the queue pair that a rule names or RSS selects. It meets the
 * same faults as a UD datagram, with the same consequences.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "objects/counter.h"
#include "objects/srq.h"
#include "steering/flow.h"
#include "steering/rss.h"
#include "trace.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/qp_transitions.h"
#include "transport/raw.h"

static ErnicFault raw_place(Ernic *e, ErnicQp *qp, const uint8_t *frame,
                            uint32_t len)
{
    const ErnicRecv *recv = &qp->rq.recv;
    uint32_t pd = qp->srq ? e->srq[qp->srq].pd : qp->pd;

    bool taken = ernic_qp_take_recv(e, qp);

    if (recv->fault || !taken) {
        return recv->fault ?: ERNIC_FAULT_RNR;
    }
    if (len > recv->len) {
        return qp->srq ? ERNIC_FAULT_SRQ_LENGTH : ERNIC_FAULT_RECV_LENGTH;
    }
    return ernic_qp_dma_fault(e, qp,
        ernic_dma_scatter(e, pd, recv->sge, recv->num_sge, 0, frame, len), false);
}

static void raw_fault(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    trace_ernic_raw_fault(qp->qpn, ernic_fault_info(fault)->name);
    switch (ernic_fault_act(fault, qp->transport)) {
    case ERNIC_ACT_QP_ERROR:
    case ERNIC_ACT_COMPLETE:
        ernic_qp_recv_fault(e, qp, fault);
        break;
    default:
        e->stats.fault[fault]++;
        break;
    }
}

bool ernic_raw_wants(Ernic *e, const uint8_t *frame, uint32_t len,
                     const ErnicTrain *own)
{
    ernic_charge_objects(e, e->num_flows);
    return ernic_flow_find(e, frame, len) != 0;
}

void ernic_raw_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                     const ErnicTrain *own)
{
    ErnicWc wc = { .opcode = ERNIC_WC_RECV, .byte_len = len };
    uint32_t qpn = ernic_flow_find(e, frame, len);
    const ErnicRss *rss = ernic_rss_at(e, qpn);
    ErnicFault fault;
    ErnicQp *qp;

    /* A copy, and a look at each rule. */
    ernic_charge_copy(e, len);
    ernic_charge_objects(e, e->num_flows);
    if (!qpn) {
        e->stats.drop[ERNIC_DROP_NO_RULE]++;
        return;
    }
    qpn = rss ? ernic_rss_pick(rss, frame, len) : qpn;
    qp = &e->qp[qpn];
    e->stats.rx_frames++;
    e->stats.rx_frame_bytes += len;
    trace_ernic_rx_frame(qpn, len);
    if (!ernic_qp_may(qp, ERNIC_MAY_PROC_RECV)) {
        e->stats.drop[ERNIC_DROP_QP_STATE]++;
        return;
    }
    fault = raw_place(e, qp, frame, len);
    if (fault) {
        raw_fault(e, qp, fault);
        return;
    }
    ERNIC_COUNT(e, qp, rx_messages);
    ernic_qp_complete_recv(e, qp, &wc, ERNIC_FAULT_NONE);
}
