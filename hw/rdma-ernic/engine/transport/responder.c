/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The responder: passes inbound request packets one by one through the checks of the
 * specification, in their order (IBTA vol. 1, 9.7.4.1 and 9.8). A check returns a
 * fault; the fault table defines its consequences.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/interface.h"
#include "base/work.h"
#include "objects/counter.h"
#include "objects/mr.h"
#include "trace.h"
#include "transport/ack.h"
#include "transport/page_fault.h"
#include "transport/qp.h"
#include "transport/qp_state.h"
#include "transport/responder_resources.h"
#include "transport/responder.h"
#include "wire/ib_tables.h"
#include "wire/psn.h"

/* ---- what a fault means -------------------------------------------------- */

static void resp_nak(Ernic *e, ErnicQp *qp, const ErnicFaultInfo *info)
{
    uint8_t syndrome = info->syndrome;

    /* 9.7.5.2: one NAK for each gap; later packets are dropped. */
    if (qp->rq.nak_sent) {
        return;
    }
    if ((syndrome & ERNIC_AETH_KIND_MASK) == ERNIC_AETH_RNR_NAK) {
        syndrome |= qp->attr.min_rnr_timer;
    }
    qp->rq.nak_sent = true;
    ernic_ack_owe_nak(e, qp, syndrome, ERNIC_FAULT_NONE);
}

/* Drop the open message; the next one uses the receive request that it took. */
static void resp_close(ErnicQp *qp)
{
    qp->rq.open = ERNIC_CL_NONE;
    qp->rq.off = 0;
}

static void resp_fault(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                       ErnicFault fault)
{
    const ErnicFaultInfo *info = ernic_fault_info(fault);

    trace_ernic_recv_fault(qp->qpn, pkt->op->name, pkt->psn, info->name);
    e->rx_fault = fault;
    ernic_qp_note_fault(e, qp, pkt, fault);
    switch (ernic_fault_act(fault, qp->transport)) {
    case ERNIC_ACT_NAK:
        e->stats.fault[fault]++;
        resp_nak(e, qp, info);
        break;
    case ERNIC_ACT_QP_ERROR:
        if (ernic_qp_reliable(qp) && info->syndrome) {
            /* After the responses that are still pending. */
            ernic_ack_owe_nak(e, qp, info->syndrome, fault);
        } else {
            ernic_qp_recv_fault(e, qp, fault);
        }
        break;
    case ERNIC_ACT_DROP_MESSAGE:
        e->stats.fault[fault]++;
        resp_close(qp);
        qp->rq.skip = true;
        break;
    case ERNIC_ACT_COMPLETE:
        ernic_qp_recv_fault(e, qp, fault);
        resp_close(qp);
        qp->rq.skip = qp->transport == ERNIC_UC;
        break;
    default:
        e->stats.fault[fault]++;
        break;
    }
}

void ernic_responder_nak_sent(Ernic *e, ErnicQp *qp)
{
    ErnicFault fault = ernic_ack_take_fault(qp);

    if (qp->ack.nak_psn != qp->rq.epsn) {
        /* The fault of a READ does not concern the open message. */
        e->stats.fault[fault]++;
        ernic_qp_error(e, qp, fault);
    } else {
        ernic_qp_recv_fault(e, qp, fault);
    }
}

void ernic_responder_reset(ErnicQp *qp)
{
    ErnicRecvQueue *rq = &qp->rq;

    resp_close(qp);
    rq->epsn = rq->msn = 0;
    rq->nak_sent = rq->skip = rq->established = false;
    rq->xrc_srq = 0;
    rq->rkey = 0;
    rq->va = 0;
    rq->dmalen = 0;
}

void ernic_responder_expect(ErnicQp *qp, uint32_t psn)
{
    qp->rq.epsn = psn;
}

void ernic_responder_count_from(ErnicQp *qp, uint32_t msn)
{
    qp->rq.msn = msn;
}

void ernic_responder_allow_nak(ErnicQp *qp)
{
    qp->rq.nak_sent = false;
}

void ernic_responder_forget_srq(Ernic *e, uint32_t srqn)
{
    uint32_t i;

    ernic_charge_objects(e, e->cfg.max_qp);
    for (i = 1; i < e->cfg.max_qp; i++) {
        ErnicQp *qp = &e->qp[i];

        /* A pending READ looks the SRQ up again, and does not find it. */
        if (qp->used && qp->type == ERNIC_QPT_XRC_TGT &&
            qp->rq.xrc_srq == srqn) {
            ernic_qp_drop_recv(qp);
            resp_close(qp);
            qp->rq.xrc_srq = 0;
        }
    }
}

/* ---- checks -------------------------------------------------------------- */

bool ernic_responder_in_sequence(const ErnicQp *qp, const ErnicPkt *pkt)
{
    bool start = pkt->op->seg & ERNIC_SEG_START;

    return qp->rq.open == ERNIC_CL_NONE ? start :
           !start && pkt->op->cls == qp->rq.open;
}

/* 9.7.4.1.5: check that the operation is enabled on this queue pair. */
static ErnicFault resp_check_enabled(const ErnicQp *qp, const ErnicPkt *pkt)
{
    static const uint32_t need[ERNIC_CL_COUNT] = {
        [ERNIC_CL_WRITE] = ERNIC_ACCESS_REMOTE_WRITE,
        [ERNIC_CL_READ] = ERNIC_ACCESS_REMOTE_READ,
        [ERNIC_CL_ATOMIC] = ERNIC_ACCESS_REMOTE_ATOMIC,
        [ERNIC_CL_ATOMIC_WRITE] = ERNIC_ACCESS_REMOTE_WRITE,
    };
    uint32_t want = pkt->op->cls == ERNIC_CL_FLUSH ? ernic_flush_rights(pkt) :
                                                     need[pkt->op->cls];

    if (pkt->op->cls == ERNIC_CL_RESERVED) {
        return ERNIC_FAULT_OP_UNSUPPORTED;
    }
    return (qp->attr.access & want) == want ? ERNIC_FAULT_NONE :
                                              ERNIC_FAULT_OP_UNSUPPORTED;
}

bool ernic_responder_payload_fits(const ErnicQp *qp, const ErnicPkt *pkt)
{
    uint32_t mtu = ernic_qp_mtu(qp), len = pkt->payload_len;

    return pkt->op->seg & ERNIC_SEG_END ?
           len <= mtu && (len || (pkt->op->seg & ERNIC_SEG_START)) : len == mtu;
}

bool ernic_responder_length_fits(const ErnicQp *qp, const ErnicPkt *pkt)
{
    uint32_t len = pkt->payload_len;
    bool start = pkt->op->seg & ERNIC_SEG_START;
    bool end = pkt->op->seg & ERNIC_SEG_END;
    uint32_t before = start ? 0 : qp->rq.off;
    uint32_t whole = start ? pkt->dma_len : qp->rq.dmalen;

    if (!ernic_responder_payload_fits(qp, pkt) || len > ERNIC_MSG_MAX - before) {
        return false;
    }
    return pkt->op->cls != ERNIC_CL_WRITE ||
           (whole <= ERNIC_MSG_MAX && len <= whole - before &&
            (!end || before + len == whole));
}

/* Take a receive request for a message that needs one. */
static ErnicFault resp_take(Ernic *e, ErnicQp *qp)
{
    bool taken = ernic_qp_take_recv(e, qp);

    return qp->rq.recv.fault || taken ? qp->rq.recv.fault : ERNIC_FAULT_RNR;
}

/* The receive request is too short for its message. */
static ErnicFault resp_too_short(const ErnicQp *qp)
{
    return ernic_qp_srq(qp) ? ERNIC_FAULT_SRQ_LENGTH : ERNIC_FAULT_RECV_LENGTH;
}

/* The protection domain of receive requests: an SRQ brings its own (10.2.9). */
static uint32_t resp_recv_pd(const Ernic *e, const ErnicQp *qp)
{
    uint32_t srq = ernic_qp_srq(qp);

    return srq ? e->srq[srq].pd : qp->pd;
}

/*
 * The first packet names the SRQ of a message. The others repeat it, and so does a
 * first packet that arrives again after its receive request was taken (RNR NAK for a
 * page).
 */
static ErnicFault resp_check_xrc(const Ernic *e, ErnicQp *qp,
                                 const ErnicPkt *pkt)
{
    uint32_t pd;

    if (qp->type != ERNIC_QPT_XRC_TGT) {
        return ERNIC_FAULT_NONE;
    }
    if ((!(pkt->op->seg & ERNIC_SEG_START) || qp->rq.recv_valid) &&
        pkt->xrcsrq != qp->rq.xrc_srq) {
        return ERNIC_FAULT_OP_SEQ;
    }
    if (!ernic_qp_remote_pd(e, qp, pkt->xrcsrq, &pd)) {
        return ERNIC_FAULT_XRC_SRQ;
    }
    qp->rq.xrc_srq = pkt->xrcsrq;
    return ERNIC_FAULT_NONE;
}

/* The protection domain of memory that the peer names by key. */
static uint32_t resp_pd(const Ernic *e, const ErnicQp *qp)
{
    return qp->type == ERNIC_QPT_XRC_TGT ? resp_recv_pd(e, qp) : qp->pd;
}

/* ---- execution ----------------------------------------------------------- */

static ErnicFault resp_send(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRecvQueue *rq = &qp->rq;
    ErnicFault fault;
    ErnicDma dma;

    if (pkt->op->seg & ERNIC_SEG_START) {
        fault = resp_take(e, qp);
        if (fault) {
            return fault;
        }
        rq->off = 0;
    }
    g_assert(rq->recv_valid && rq->off <= rq->recv.len);
    if (pkt->payload_len > rq->recv.len - rq->off) {
        return resp_too_short(qp);
    }
    dma = ernic_dma_scatter(e, resp_recv_pd(e, qp), rq->recv.sge, rq->recv.num_sge,
                            rq->off, pkt->payload, pkt->payload_len);
    rq->off += dma == ERNIC_DMA_OK ? pkt->payload_len : 0;
    if (dma == ERNIC_DMA_OK && (pkt->op->hdrs & ERNIC_HDR_IETH) &&
        !e->keys->invalidate(e, resp_pd(e, qp), qp->qpn, pkt->inv_rkey, true)) {
        return ERNIC_FAULT_INV_RKEY;
    }
    return ernic_qp_dma_fault(e, qp, dma, false);
}

static ErnicFault resp_write(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRecvQueue *rq = &qp->rq;
    ErnicFault fault;
    const ErnicMr *mr;
    ErnicDma dma;
    uint64_t off;

    if (pkt->op->seg & ERNIC_SEG_START) {
        /*
         * Check the whole range first, so that a WRITE without access to a part of it
         * changes nothing.
         */
        if (!e->keys->check_remote(e, resp_pd(e, qp), qp->qpn, pkt->rkey, pkt->va,
                                   pkt->dma_len, ERNIC_ACCESS_REMOTE_WRITE,
                                   &mr, &off)) {
            return ERNIC_FAULT_REM_ACCESS;
        }
    }
    if ((pkt->op->flags & ERNIC_OPF_CQE) && e->interface->recv_requests) {
        fault = resp_take(e, qp);
        if (fault) {
            return fault;
        }
    }
    if (pkt->op->seg & ERNIC_SEG_START) {
        rq->rkey = pkt->rkey;
        rq->va = pkt->va;
        rq->dmalen = pkt->dma_len;
        rq->off = 0;
    }
    g_assert(rq->off <= rq->dmalen && pkt->payload_len <= rq->dmalen - rq->off);
    dma = ernic_dma_remote_write(e, resp_pd(e, qp), qp->qpn, rq->rkey,
                                 rq->va + rq->off, pkt->payload,
                                 pkt->payload_len);
    rq->off += dma == ERNIC_DMA_OK ? pkt->payload_len : 0;
    if (dma == ERNIC_DMA_ABSENT) {
        e->absent.len += rq->dmalen - rq->off - pkt->payload_len;
    }
    return ernic_qp_dma_fault(e, qp, dma, true);
}

static ErnicFault resp_execute(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    switch (pkt->op->cls) {
    case ERNIC_CL_SEND:
        return resp_send(e, qp, pkt);
    case ERNIC_CL_WRITE:
        return resp_write(e, qp, pkt);
    default:
        return ernic_rd_request(e, qp, resp_pd(e, qp), pkt);
    }
}

/* The message is whole: complete its receive request, if it took one. */
static void resp_finish(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicWc wc = {
        .byte_len = qp->rq.off,
        .opcode = pkt->op->cls == ERNIC_CL_SEND ? ERNIC_WC_RECV :
                                                  ERNIC_WC_RECV_WRITE_IMM,
        .flags = pkt->se ? ERNIC_CQE_SOLICITED : 0,
    };

    resp_close(qp);
    qp->rq.msn = (qp->rq.msn + 1) & ERNIC_MSN_MASK;
    ERNIC_COUNT(e, qp, rx_messages);
    ernic_counter_served(e, qp, pkt->op->cls);
    if (!(pkt->op->flags & ERNIC_OPF_CQE)) {
        return;
    }
    if (pkt->op->hdrs & ERNIC_HDR_IMM) {
        wc.flags |= ERNIC_CQE_IMM;
        stl_be_p(wc.imm, pkt->imm);
    } else if (pkt->op->hdrs & ERNIC_HDR_IETH) {
        wc.flags |= ERNIC_CQE_INV;
        stl_le_p(wc.imm, pkt->inv_rkey);
    }
    ernic_qp_complete_recv(e, qp, &wc, ERNIC_FAULT_NONE);
}

/* All checks but PSN, then execution. */
static ErnicFault resp_in_order(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicFault fault = resp_check_enabled(qp, pkt);

    if (!ernic_responder_in_sequence(qp, pkt)) {
        return ERNIC_FAULT_OP_SEQ;
    }
    if (fault) {
        return fault;
    }
    if ((pkt->op->hdrs & ERNIC_HDR_DATA) && !ernic_responder_length_fits(qp, pkt)) {
        return ERNIC_FAULT_PACKET_LENGTH;
    }
    fault = resp_check_xrc(e, qp, pkt);
    return fault ? fault : resp_execute(e, qp, pkt);
}

/* ---- RC, XRC ------------------------------------------------------------- */

/* Whether an ACK answers @pkt, rather than a response of its own. */
static bool resp_acked(const ErnicPkt *pkt)
{
    return pkt->op->cls == ERNIC_CL_SEND || pkt->op->cls == ERNIC_CL_WRITE;
}

/* 9.7.5.1.2 to .5: answer a request that was served before. */
static void resp_duplicate(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ERNIC_COUNT(e, qp, rx_duplicates);
    trace_ernic_duplicate(qp->qpn, pkt->op->name, pkt->psn, qp->rq.epsn);
    if (resp_acked(pkt)) {
        ernic_ack_owe(e, qp);
        return;
    }
    /* Memory is read again, and software may have taken the right since. */
    if (pkt->op->cls == ERNIC_CL_READ && resp_check_enabled(qp, pkt)) {
        return;
    }
    ernic_rd_request_again(e, qp, pkt);
}

static void resp_rc(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRecvQueue *rq = &qp->rq;
    int32_t diff = ernic_psn_diff(pkt->psn, rq->epsn);
    ErnicFault fault;
    uint32_t npsn;

    if (diff < 0) {
        resp_duplicate(e, qp, pkt);
        return;
    }
    if (qp->ack.fault) {
        return;                 /* in Error as soon as its NAK has left */
    }
    if (diff > 0) {
        ERNIC_COUNT(e, qp, rx_out_of_sequence);
        resp_fault(e, qp, pkt, ERNIC_FAULT_PSN_AHEAD);
        return;
    }
    rq->nak_sent = false;
    ernic_ack_cancel_nak(qp);
    fault = resp_in_order(e, qp, pkt);
    if (fault) {
        resp_fault(e, qp, pkt, fault);
        return;
    }
    npsn = 1;
    if (pkt->op->cls == ERNIC_CL_READ) {
        npsn = MAX(DIV_ROUND_UP(pkt->dma_len, ernic_qp_mtu(qp)), 1u);
    }
    rq->epsn = ernic_psn_add(rq->epsn, npsn);
    if (resp_acked(pkt)) {
        ernic_ack_owe_within(e, qp, e->interface->ack_delay(e, pkt));
    }
    rq->open = pkt->op->cls;
    if (pkt->op->seg & ERNIC_SEG_END) {
        resp_finish(e, qp, pkt);
    }
}

/* A check of the interface has found @fault in @pkt, which is not a duplicate. */
void ernic_responder_refuse(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            ErnicFault fault)
{
    if (qp->ack.fault) {
        return;                 /* in Error as soon as its NAK has left */
    }
    if (fault == ERNIC_FAULT_PSN_AHEAD) {
        ERNIC_COUNT(e, qp, rx_out_of_sequence);
    } else {
        qp->rq.nak_sent = false;
        ernic_ack_cancel_nak(qp);
    }
    resp_fault(e, qp, pkt, fault);
}

/* ---- UC ------------------------------------------------------------------ */

/*
 * 9.8.2.2: on a gap the open message is lost, and so are all packets up to the next
 * First or Only. Packets before the expected PSN were served before, unless nothing was:
 * then the sender has begun with another PSN.
 */
static void resp_uc(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    ErnicRecvQueue *rq = &qp->rq;
    int32_t diff = ernic_psn_diff(pkt->psn, rq->epsn);
    bool start = pkt->op->seg & ERNIC_SEG_START;
    bool begun = rq->msn || rq->open != ERNIC_CL_NONE;
    ErnicFault fault;

    if (begun && diff < 0 && diff >= -ERNIC_UC_DUP_WINDOW) {
        ERNIC_COUNT(e, qp, rx_duplicates);
        return;
    }
    if (diff != 0) {
        ERNIC_COUNT(e, qp, rx_out_of_sequence);
        resp_fault(e, qp, pkt, ERNIC_FAULT_PSN_AHEAD);
    }
    rq->epsn = ernic_psn_next(pkt->psn);
    if (start) {
        rq->skip = false;
    } else if (rq->skip) {
        e->stats.drop[ERNIC_DROP_SEQUENCE]++;
        return;
    }
    /*
     * A First or Only packet inside a message: drop the open message and start this
     * one.
     */
    if (start && rq->open != ERNIC_CL_NONE) {
        resp_close(qp);
    }
    fault = resp_in_order(e, qp, pkt);
    if (fault) {
        resp_fault(e, qp, pkt, fault);
        return;
    }
    rq->open = pkt->op->cls;
    if (pkt->op->seg & ERNIC_SEG_END) {
        resp_finish(e, qp, pkt);
    }
}

/* ---- UD ------------------------------------------------------------------ */

static ErnicFault resp_ud_place(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                                const ErnicTrain *train, uint32_t ib_len)
{
    uint32_t pd = resp_recv_pd(e, qp);
    const ErnicRecv *recv = &qp->rq.recv;
    uint8_t head[ERNIC_RECV_HEAD_MAX];
    uint32_t head_len;
    ErnicFault fault;
    ErnicDma dma;

    if (pkt->payload_len > ernic_mtu_bytes(e->cfg.mtu)) {
        return ERNIC_FAULT_PACKET_LENGTH;
    }
    fault = resp_take(e, qp);
    if (fault) {
        return fault;
    }
    head_len = e->interface->recv_head(pkt, train, ib_len, head);
    if (pkt->payload_len + head_len > recv->len) {
        return resp_too_short(qp);
    }
    dma = ernic_dma_scatter(e, pd, recv->sge, recv->num_sge, 0, head, head_len);
    if (dma == ERNIC_DMA_OK) {
        dma = ernic_dma_scatter(e, pd, recv->sge, recv->num_sge,
                                head_len, pkt->payload, pkt->payload_len);
    }
    return ernic_qp_dma_fault(e, qp, dma, false);
}

/* The index of @pkey in the port's table, for the completion on QP1. */
static uint16_t resp_pkey_index(const Ernic *e, uint16_t pkey)
{
    uint16_t i;

    for (i = 0; i < ERNIC_LIM_PKEY; i++) {
        if (((e->pkey[i] ^ pkey) & ERNIC_PKEY_BASE_MASK) == 0 && e->pkey[i]) {
            return i;
        }
    }
    return 0;
}

static void resp_ud(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                    const ErnicTrain *train)
{
    uint32_t ib_len = ernic_pkt_len(ernic_opcode_hdr_len(pkt->op, ERNIC_UD),
                                    pkt->payload_len);
    ErnicFault fault = resp_ud_place(e, qp, pkt, train, ib_len);
    ErnicWc wc = {
        .byte_len = pkt->payload_len + ERNIC_GRH_LEN,
        .src_qp = pkt->src_qp,
        .opcode = ERNIC_WC_RECV,
        .vlan = train->path.vlan,
        .pkey_index = resp_pkey_index(e, pkt->pkey),
        .flags = ERNIC_CQE_GRH | (pkt->se ? ERNIC_CQE_SOLICITED : 0),
        .ipv4 = ernic_gid_is_v4(&train->path.dgid),
    };

    if (fault) {
        resp_fault(e, qp, pkt, fault);
        return;
    }
    memcpy(wc.smac, train->path.smac, sizeof(wc.smac));
    if (train->path.vlan != ERNIC_NO_VLAN) {
        wc.flags |= ERNIC_CQE_VLAN;
    }
    if (pkt->op->hdrs & ERNIC_HDR_IMM) {
        wc.flags |= ERNIC_CQE_IMM;
        stl_be_p(wc.imm, pkt->imm);
    }
    ERNIC_COUNT(e, qp, rx_messages);
    ernic_qp_complete_recv(e, qp, &wc, ERNIC_FAULT_NONE);
}

void ernic_responder_packet(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt,
                            const ErnicTrain *train)
{
    if (!qp->rq.established && qp->state == ERNIC_QPS_RTR &&
        qp->transport != ERNIC_UD) {
        qp->rq.established = true;
        ernic_qp_event(e, qp, ERNIC_EV_COMM_EST);
    }
    switch (qp->transport) {
    case ERNIC_RC:
    case ERNIC_XRC:
        resp_rc(e, qp, pkt);
        break;
    case ERNIC_UC:
        resp_uc(e, qp, pkt);
        break;
    default:
        resp_ud(e, qp, pkt, train);
        break;
    }
}
