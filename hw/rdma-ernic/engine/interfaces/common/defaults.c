/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The methods that interfaces share.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/ib_spec.h"
#include "objects/cq.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/cc.h"
#include "interfaces/common/defaults.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/requester.h"
#include "wire/frame.h"

/* ---- requests ------------------------------------------------------------ */

ErnicFault ernic_default_datagram(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                       ErnicPath *path, ErnicPkt *pkt, uint32_t *off)
{
    ErnicAv av = {
        .sgid_index = wqe->ud.av.sgid_index,
        .hop_limit = wqe->ud.av.hop_limit,
        .tclass = wqe->ud.av.tclass,
        .flow_label = wqe->ud.av.flow_label,
        .priority = wqe->ud_priority, .udp_sport = wqe->ud_sport,
    };
    uint32_t own_qkey;

    memcpy(av.dgid.raw, wqe->ud.av.dgid, sizeof(av.dgid.raw));
    memcpy(av.dmac, wqe->ud.av.dmac, sizeof(av.dmac));
    if (!ernic_qp_path(e, qp, &av, path)) {
        return ERNIC_FAULT_SEND_AV;
    }
    *off = 0;
    ernic_requester_fill(e, qp, wqe, pkt);
    pkt->op = ernic_opcode_row(ernic_wr(wqe->opcode)->only);
    pkt->payload_len = wqe->len;
    pkt->se = wqe->flags & ERNIC_WR_SOLICITED;
    pkt->imm = ldl_be_p(wqe->imm);
    pkt->dest_qp = wqe->ud.dest_qpn;
    pkt->src_qp = qp->qpn;
    /* 10.2.5: with the high bit set, the queue pair's own Q_Key is sent. */
    own_qkey = qp->type == ERNIC_QPT_GSI ? ERNIC_QKEY_GSI : qp->attr.qkey;
    pkt->qkey = wqe->ud.qkey & ERNIC_QKEY_PRIVILEGED ? own_qkey : wqe->ud.qkey;
    if (qp->type == ERNIC_QPT_GSI) {
        if (wqe->ud.pkey_index >= ERNIC_LIM_PKEY || !e->pkey[wqe->ud.pkey_index]) {
            return ERNIC_FAULT_SEND_WQE;
        }
        pkt->pkey = e->pkey[wqe->ud.pkey_index];
    }
    return ERNIC_FAULT_NONE;
}

ErnicFault ernic_default_gather(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                     uint64_t off, const ErnicPkt *pkt, uint8_t *to)
{
    return ernic_wqe_gather(e, qp->pd, wqe, off, to, pkt->payload_len);
}

uint32_t ernic_default_outstanding(const ErnicQp *qp)
{
    return UINT32_MAX;
}

bool ernic_default_retry_forever(const Ernic *e, const ErnicQp *qp)
{
    return false;
}

void ernic_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe, uint32_t index,
                         uint8_t opcode, ErnicFault fault)
{
    ErnicTimedAfter after =
        fault ? ERNIC_AFTER_NOTHING :
        ernic_wr(wqe->opcode)->flags & ERNIC_WRF_LOCAL ? ERNIC_AFTER_LOCAL :
        ernic_qp_reliable(qp) ? ERNIC_AFTER_NOTHING : ERNIC_AFTER_SENT;
    ErnicWc wc = {
        .wr_id = wqe->wr_id, .qpn = qp->qpn, .index = index, .byte_len = wqe->len,
        .fault = fault, .opcode = opcode, .status = ernic_qp_fault_status(e, fault),
    };

    trace_ernic_complete_send(qp->qpn, wqe->index, wc.status);
    ernic_qp_post(e, qp->send_cq, &wc, after);
}

void ernic_default_complete_recv(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                                      ErnicWc *wc, ErnicFault fault)
{
    uint32_t cq = qp->recv_cq;

    wc->wr_id = recv->wr_id;
    wc->index = recv->index;
    wc->qpn = qp->qpn;
    wc->fault = fault;
    wc->flags |= ERNIC_CQE_RQ;
    wc->status = ernic_qp_fault_status(e, fault);
    trace_ernic_complete_recv(qp->qpn, wc->index, wc->status, wc->byte_len);
    if (qp->type == ERNIC_QPT_XRC_TGT) {
        wc->src_qp = qp->rq.xrc_srq;
        wc->flags |= ERNIC_CQE_XRC;
        cq = e->srq[qp->rq.xrc_srq].cq;
    }
    ernic_qp_post(e, cq, wc, ERNIC_AFTER_NOTHING);
}

void ernic_default_post(Ernic *e, uint32_t cqn, const ErnicWc *wc)
{
    if (!ernic_cq_post(e, cqn, wc)) {
        ernic_qp_error(e, &e->qp[wc->qpn], ERNIC_FAULT_CQ_OVERRUN);
    }
}

/* ---- messages ------------------------------------------------------------ */

/* The IP header as it came, if the link saw it (A17.4.5). */
uint32_t ernic_default_recv_head(const ErnicPkt *pkt, const ErnicTrain *train,
                                      uint32_t ib_len, uint8_t *head)
{
    ernic_net_grh(&train->path, ib_len, head);
    if (train->ip && ernic_gid_is_v4(&train->path.dgid)) {
        memcpy(head + ERNIC_GRH_LEN - ERNIC_IP4_LEN, train->ip, ERNIC_IP4_LEN);
    } else if (train->ip) {
        memcpy(head, train->ip, ERNIC_IP6_LEN);
    }
    return ERNIC_GRH_LEN;
}

uint64_t ernic_default_ack_delay(const Ernic *e, const ErnicPkt *pkt)
{
    return pkt->ackreq ? 0 : ERNIC_NEVER;
}

/* ---- packets ------------------------------------------------------------- */

uint16_t ernic_default_pkey(const Ernic *e, const ErnicQp *qp)
{
    return e->pkey[qp->attr.pkey_index];
}

/* 10.9.3: equal base values, and not both ends limited members. */
static bool pkeys_match(uint16_t a, uint16_t b)
{
    return ((a ^ b) & ERNIC_PKEY_BASE_MASK) == 0 &&
           ((a | b) & ERNIC_PKEY_FULL) && (a & ERNIC_PKEY_BASE_MASK);
}

bool ernic_default_pkey_ok(const Ernic *e, const ErnicQp *qp, uint16_t pkey)
{
    uint32_t i;

    if (qp->type != ERNIC_QPT_GSI) {
        return pkeys_match(e->pkey[qp->attr.pkey_index], pkey);
    }
    for (i = 0; i < ERNIC_LIM_PKEY; i++) {
        if (pkeys_match(e->pkey[i], pkey)) {
            return true;
        }
    }
    return false;
}

ErnicVerdict ernic_default_check_packet(Ernic *e, const ErnicArrival *a)
{
    ErnicVerdict v = { .drop = a->form };

    if (a->form || !a->buf) {
        return v;               /* nothing more is known of it */
    }
    if (a->icrc_bad) {
        v.drop = ERNIC_DROP_BAD_ICRC;
    } else if (!a->qp && a->dest_qp != ERNIC_QPN_MULTICAST) {
        v.drop = ERNIC_DROP_NO_QP;
    }
    return v;
}

void ernic_default_marked(Ernic *e, ErnicQp *qp)
{
    ernic_ack_owe_cnp(e, qp);
}

void ernic_default_cnp(Ernic *e, ErnicQp *qp)
{
    e->stats.rate_cuts += ernic_cc_cnp(&qp->cc, &e->cfg, e->now);
}

void ernic_default_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
}

void ernic_default_came(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
}

void ernic_default_pressed(Ernic *e)
{
}

void ernic_default_refused(Ernic *e, const ErnicArrival *a, const ErnicVerdict *v)
{
}

/* ---- errors -------------------------------------------------------------- */

uint8_t ernic_default_fault_code(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                                      ErnicFault fault)
{
    return 0;
}

void ernic_default_fatal(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    if (fault != ERNIC_FAULT_CQ_OVERRUN) {
        ernic_ack_last(e, qp, false);
    }
}
