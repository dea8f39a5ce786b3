/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The methods of the ERNIC interface (interfaces/interface.h). Queues are as PG332 lays
 * them out: 64-byte requests, 4-byte completions, receive buffers of one size in a ring,
 * and doorbells that the hardware writes. Where they are is read from the registers at
 * each use.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/packet_checks.h"
#include "interfaces/pg332/pg332.h"
#include "interfaces/pg332/rules.h"
#include "interfaces/pg332/side_stream.h"
#include "trace.h"
#include "transport/raw.h"

/* A send request (table 2-1). Reserved bytes are not looked at. */
typedef struct QEMU_PACKED Pg332Wqe {
    uint16_t wrid;
    uint16_t reserved0;
    uint64_t laddr;
    uint32_t length;
    uint8_t opcode;
    uint8_t reserved1[3];
    uint64_t roffset;
    uint32_t rtag;
    uint8_t sdata[16];
    uint32_t immdt;
    uint8_t reserved2[12];
} Pg332Wqe;
QEMU_BUILD_BUG_ON(sizeof(Pg332Wqe) != 64);

#define CQE_SIZE        4
#define CQE_ERROR       0x01000000
#define RQ_UNIT         256             /* bytes of QPCONF's buffer size */
#define NO_OPCODE       0xff

/* PG332's request opcodes and the engine's. */
static const uint8_t wr_opcodes[16] = {
    [0 ... 15] = NO_OPCODE,
    [PG332_OP_WRITE] = ERNIC_WR_WRITE,
    [PG332_OP_WRITE_IMM] = ERNIC_WR_WRITE_IMM,
    [PG332_OP_SEND] = ERNIC_WR_SEND,
    [PG332_OP_SEND_IMM] = ERNIC_WR_SEND_IMM,
    [PG332_OP_READ] = ERNIC_WR_READ,
    [PG332_OP_SEND_INV] = ERNIC_WR_SEND_INV,
};

/* ---- send requests --------------------------------------------------------- */

/* Whether the bytes of @wqe are in the request itself. */
static bool is_inline(const Ernic *e, const ErnicWqe *wqe)
{
    bool send = wqe->opcode == ERNIC_WR_SEND ||
                wqe->opcode == ERNIC_WR_SEND_IMM ||
                wqe->opcode == ERNIC_WR_SEND_INV;
    bool write = wqe->opcode == ERNIC_WR_WRITE ||
                 wqe->opcode == ERNIC_WR_WRITE_IMM;

    return wqe->len && wqe->len <= sizeof_field(Pg332Wqe, sdata) &&
           (send || (write && ernic_pg332_version(e) == PG332_V4_0));
}

static void parse_wqe(const Ernic *e, uint32_t qpn, const Pg332Wqe *slot,
                      ErnicWqe *wqe)
{
    wqe->opcode = wr_opcodes[slot->opcode];
    wqe->len = le32_to_cpu(slot->length);
    wqe->raddr = le64_to_cpu(slot->roffset);
    wqe->rkey = le32_to_cpu(slot->rtag);
    stl_be_p(wqe->imm, le32_to_cpu(slot->immdt));
    if (wqe->opcode == ERNIC_WR_SEND_INV) {
        wqe->inv_rkey = wqe->rkey;
    }
    if (wqe->len > (qpn == ERNIC_QPN_GSI ? ERNIC_PG332_FRAME_MAX :
                                           PG332_MESSAGE_MAX)) {
        wqe->fault = ERNIC_FAULT_SEND_LENGTH;
        wqe->len = 0;
    } else if (is_inline(e, wqe)) {
        wqe->flags = ERNIC_WR_INLINE;
        memcpy(wqe->data, slot->sdata, wqe->len);
    } else {
        wqe->num_sge = 1;
        wqe->sge[0] = (ErnicSge) {
            .addr = le64_to_cpu(slot->laddr), .len = wqe->len,
        };
    }
}

static void fetch_slot(Ernic *e, ErnicQp *qp, uint32_t index, ErnicWqe *wqe)
{
    uint64_t ring = ernic_pg332_qp_addr(e, qp->qpn, PG332_SQBA, PG332_SQBAMSB);
    uint32_t k = index & (qp->sq.wq.depth - 1);
    Pg332Wqe slot;

    memset(wqe, 0, offsetof(ErnicWqe, sge));
    wqe->index = index;
    wqe->opcode = ERNIC_WR_SEND;
    ernic_charge_copy(e, sizeof(slot));
    if (!e->ops->dma_read(e->env, ring + k * sizeof(slot), &slot,
                          sizeof(slot))) {
        trace_ernic_guest_wqe_dma(index);
        wqe->fault = ERNIC_FAULT_SEND_FETCH;
        return;
    }
    /* The completion entry needs wr_id; a request to be flushed needs nothing else. */
    wqe->wr_id = le16_to_cpu(slot.wrid) | (uint32_t)slot.opcode << 16;
    if (qp->state == ERNIC_QPS_ERR) {
        return;
    }
    *ernic_pg332_reg(e, PG332_QPMSTS) += PG332_QPM_WQE;
    ernic_rules_request(e, qp, slot.opcode, le32_to_cpu(slot.length), wqe);
    if (slot.opcode >= ARRAY_SIZE(wr_opcodes) ||
        wr_opcodes[slot.opcode] == NO_OPCODE) {
        trace_ernic_guest_wqe(index, slot.opcode, "no such opcode");
        ernic_pg332_raise(e, PG332_INT_OPCODE);
        wqe->fault = ERNIC_FAULT_SEND_WQE;
        return;
    }
    if (qp->type == ERNIC_QPT_GSI && slot.opcode != PG332_OP_SEND) {
        trace_ernic_guest_wqe(index, slot.opcode, "not of queue pair 1");
        wqe->fault = ERNIC_FAULT_SEND_WQE;
        return;
    }
    parse_wqe(e, qp->qpn, &slot, wqe);
}

static bool pg332_fetch(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    if (qp->sq.taken == qp->sq.wq.pi) {
        return false;
    }
    fetch_slot(e, qp, qp->sq.taken, wqe);
    wqe->units = 1;
    return true;
}

/* ---- completions ------------------------------------------------------------ */

static uint32_t qpconf(const Ernic *e, const ErnicQp *qp)
{
    return *ernic_pg332_qp_reg(e, qp->qpn, PG332_QPCONF);
}

/* Whether user logic gets the indices of @qp. */
static bool handshake(const Ernic *e, const ErnicQp *qp)
{
    return !(qpconf(e, qp) & PG332_QPCONF_NO_HS);
}

/*
 * Software's copy of an index in memory; address 0 is none. Memory that does
 * not answer has missed it: software finds the register.
 */
static void write_doorbell(Ernic *e, const ErnicQp *qp, uint32_t low,
                           uint32_t high, uint32_t index)
{
    uint64_t addr = ernic_pg332_qp_addr(e, qp->qpn, low, high);
    uint32_t word = cpu_to_le32(index);

    if (addr && !e->ops->dma_write(e->env, addr, &word, sizeof(word))) {
        trace_ernic_guest_pg332_dma(qp->qpn, addr);
    }
}

static void pg332_complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe,
                                ErnicFault fault)
{
    uint8_t status = ernic_qp_fault_status(e, fault);
    ErnicWc wc = {
        .wr_id = wqe->wr_id, .qpn = qp->qpn, .index = wqe->index,
        .src_qp = qp->sq.wq.ci,         /* which has counted it already */
        .fault = fault,
    };

    trace_ernic_complete_send(qp->qpn, wqe->index, status);
    qp->sq.narrow -= qp->sq.narrow != 0;
    ernic_qp_post(e, 0, &wc, fault || qp->transport == ERNIC_RC ?
                  ERNIC_AFTER_NOTHING : ERNIC_AFTER_SENT);
}

static void post_send(Ernic *e, const ErnicQp *qp, const ErnicWc *wc)
{
    uint64_t ring = ernic_pg332_qp_addr(e, qp->qpn, PG332_CQBA, PG332_CQBAMSB);
    uint32_t depth = qp->sq.wq.depth, conf = qpconf(e, qp);
    uint64_t at = ring + (uint64_t)(wc->index & (depth - 1)) * CQE_SIZE;
    uint32_t cqe = cpu_to_le32((uint32_t)wc->wr_id |
                               (wc->fault ? CQE_ERROR : 0));
    uint32_t index = ernic_pg332_place(wc->src_qp, depth);

    e->stats.completions++;
    ernic_charge(e, ERNIC_WORK_COMPLETE);
    if ((conf & PG332_QPCONF_CQE) &&
        !e->ops->dma_write(e->env, at, &cqe, sizeof(cqe))) {
        trace_ernic_guest_pg332_dma(qp->qpn, at);
    }
    if (handshake(e, qp)) {
        ernic_handshake_completed(e, qp->qpn);
    } else {
        write_doorbell(e, qp, PG332_CQDBADD, PG332_CQDBADDMSB, index);
    }
    *ernic_pg332_qp_reg(e, qp->qpn, PG332_CQHEAD) = index;
    if (conf & PG332_QPCONF_CQ_INT) {
        ernic_pg332_bank(e, ernic_pg332_version(e) == PG332_V3_1 ?
                         PG332_V3_CQINTSTS : PG332_V4_CQINTSTS, qp->qpn);
        ernic_pg332_raise(e, PG332_INT_COMPLETION);
    }
}

/* ---- receive buffers --------------------------------------------------------- */

static bool pg332_polls_recv(const ErnicQp *qp)
{
    return false;
}

static bool pg332_take_recv(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    uint64_t ring = ernic_pg332_qp_addr(e, qp->qpn, PG332_RQBA, PG332_RQBAMSB);
    uint32_t size = (qpconf(e, qp) >> PG332_QPCONF_RQ_BUF_SHIFT) * RQ_UNIT;
    ErnicWq *wq = &qp->rq.wq;

    if (wq->pi == wq->ci) {
        return false;
    }
    *recv = (ErnicRecv) {
        .index = wq->ci, .len = size, .num_sge = 1,
        .sge[0] = {
            .addr = ring + (uint64_t)(wq->ci & (wq->depth - 1)) * size,
            .len = size,
        },
    };
    wq->ci++;
    return true;
}

/* Immediate data and invalidated keys of a message go into the side stream. */
static void report_to_side(Ernic *e, const ErnicQp *qp, const ErnicWc *wc)
{
    bool inv = wc->flags & ERNIC_CQE_INV;
    uint32_t value = inv ? ldl_le_p(wc->imm) : ldl_be_p(wc->imm);
    uint64_t type = inv ? PG332_SIDE_SEND_INV :
                    wc->opcode == ERNIC_WC_RECV ? PG332_SIDE_SEND_IMM :
                                                  PG332_SIDE_WRITE_IMM;
    uint64_t pi = wc->opcode == ERNIC_WC_RECV ?
                  ernic_pg332_place(wc->src_qp, qp->rq.wq.depth) :
                  ernic_pg332_shown(e, qp, PG332_STATRQPIDB, wc->src_qp,
                                    qp->rq.wq.depth);
    uint64_t qpn = qp->qpn;

    if (wc->flags & (ERNIC_CQE_IMM | ERNIC_CQE_INV)) {
        ernic_side_push(e, value | type << PG332_SIDE_TYPE_SHIFT |
                        (qpn & 0xff) << PG332_SIDE_QPN_SHIFT |
                        (pi & 0xff) << PG332_SIDE_RQ_PI_SHIFT |
                        qpn >> 8 << PG332_SIDE_QPN_HI_SHIFT);
    }
}

/*
 * WRITE with immediate, which has no buffer, is one with another opcode than RECV.
 * The completion has the counter of messages in buffers as src_qp.
 */
static void pg332_complete_recv(Ernic *e, ErnicQp *qp, const ErnicRecv *recv,
                                ErnicWc *wc, ErnicFault fault)
{
    uint8_t status = ernic_qp_fault_status(e, fault);
    ErnicWc report = {
        .qpn = qp->qpn, .opcode = wc->opcode, .src_qp = qp->rq.wq.ci,
        .flags = wc->flags | ERNIC_CQE_RQ,
    };

    memcpy(report.imm, wc->imm, sizeof(report.imm));
    if (!recv) {
        if (wc->opcode != ERNIC_WC_RECV) {
            ernic_qp_post(e, 0, &report, ERNIC_AFTER_NOTHING);
        }
        return;
    }
    /* A message that failed leaves its buffer to the next. */
    trace_ernic_complete_recv(qp->qpn, recv->index, status, wc->byte_len);
    if (fault) {
        qp->rq.wq.ci--;
        return;
    }
    ernic_qp_post(e, 0, &report, ERNIC_AFTER_NOTHING);
}

static void post_recv(Ernic *e, const ErnicQp *qp, const ErnicWc *wc)
{
    uint32_t index = ernic_pg332_place(wc->src_qp, qp->rq.wq.depth);

    /* Before software looks for it. */
    if (qp->transport == ERNIC_RC) {
        report_to_side(e, qp, wc);
    }
    if (wc->opcode != ERNIC_WC_RECV) {
        return;
    }
    e->stats.completions++;
    ernic_charge(e, ERNIC_WORK_COMPLETE);
    if (handshake(e, qp)) {
        ernic_handshake_received(e, qp->qpn, index);
    } else {
        write_doorbell(e, qp, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, index);
    }
    *ernic_pg332_qp_reg(e, qp->qpn, PG332_STATRQPIDB) = index;
    if (qp->type == ERNIC_QPT_GSI) {
        ernic_pg332_raise(e, PG332_INT_MAD);
    }
    if (qpconf(e, qp) & PG332_QPCONF_RQ_INT) {
        ernic_pg332_bank(e, ernic_pg332_version(e) == PG332_V3_1 ?
                         PG332_V3_RQINTSTS : PG332_V4_RQINTSTS, qp->qpn);
        ernic_pg332_raise(e, PG332_INT_RECEIVE);
    }
}

/* Index and counter, @wc->src_qp, are those of its queue. */
static void pg332_post(Ernic *e, uint32_t cqn, const ErnicWc *wc)
{
    const ErnicQp *qp = &e->qp[wc->qpn];

    if (wc->flags & ERNIC_CQE_RQ) {
        post_recv(e, qp, wc);
    } else {
        post_send(e, qp, wc);
    }
}

/* ---- errors ------------------------------------------------------------------ */

#define FATAL_ENTRY 8

/* An entry of the queue of fatal errors, which nobody keeps from overrunning. */
static void pg332_fatal(Ernic *e, ErnicQp *qp, ErnicFault fault)
{
    uint64_t ring = *ernic_pg332_reg(e, PG332_IPKTERRQBA) |
                    (uint64_t)*ernic_pg332_reg(e, PG332_IPKTERRQBAMSB) << 32;
    uint32_t size = *ernic_pg332_reg(e, PG332_IPKTERRQSZ);
    uint32_t *wptr = ernic_pg332_reg(e, PG332_IPKTERRQWPTR);
    uint8_t code = qp->ack.code ? qp->ack.code :
                   ernic_pg332_fatal_code(e, qp, NULL, fault);
    uint64_t entry = cpu_to_le64(code | qp->qpn << 16);

    if (size && ring) {
        uint64_t at = ring + (uint64_t)(*wptr % size) * FATAL_ENTRY;

        ernic_charge_copy(e, FATAL_ENTRY);
        if (!e->ops->dma_write(e->env, at, &entry, FATAL_ENTRY)) {
            trace_ernic_guest_pg332_dma(qp->qpn, at);
        }
        *wptr = *wptr % size + 1;
    }
    trace_ernic_pg332_fatal(qp->qpn, code, ernic_fault_info(fault)->name);
    *ernic_pg332_qp_reg(e, qp->qpn, PG332_STATQP) |= PG332_STATQP_FATAL;
    ernic_pg332_raise(e, PG332_INT_FATAL);
}

static uint16_t pg332_pkey(const Ernic *e, const ErnicQp *qp)
{
    return *ernic_pg332_qp_reg(e, qp->qpn, PG332_QPADVCONF) >> 16;
}

/* No inbound packet's P_Key is checked. */
static bool pg332_pkey_ok(const Ernic *e, const ErnicQp *qp, uint16_t pkey)
{
    return true;
}

static bool pg332_retry_forever(const Ernic *e, const ErnicQp *qp)
{
    return *ernic_pg332_reg(e, PG332_XRNICADCONF) & PG332_ADCONF_NO_FATAL;
}

/* XRNICCONF[4:3]; 11, which is no policy, counts as 00. */
static uint64_t pg332_ack_delay(const Ernic *e, const ErnicPkt *pkt)
{
    switch (*ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ACK) {
    case PG332_CONF_ACK_TIMEOUT:
        return ERNIC_PG332_ACK_NS;
    case PG332_CONF_ACK_EXPLICIT:
        return pkt->ackreq ? 0 : ERNIC_NEVER;
    default:
        return pkt->ackreq ? 0 : ERNIC_PG332_ACK_NS;
    }
}

/* ---- congestion ---------------------------------------------------------------- */

/* Software builds the CNP, and posts it to queue pair 1. */
static void pg332_marked(Ernic *e, ErnicQp *qp)
{
    trace_ernic_pg332_marked(qp->qpn);
    ernic_pg332_bank(e, ernic_pg332_version(e) == PG332_V3_1 ?
                     PG332_V3_CNPSCHDSTS : PG332_V4_CNPSCHDSTS, qp->qpn);
    ernic_pg332_raise(e, PG332_INT_CNP);
}

/* One step. It ends after this many requests without another CNP: no source says. */
static void pg332_cnp(Ernic *e, ErnicQp *qp)
{
    trace_ernic_pg332_cnp(qp->qpn);
    qp->sq.narrow = ERNIC_PG332_OUTSTANDING;
}

static uint32_t pg332_outstanding(const ErnicQp *qp)
{
    return qp->sq.narrow ? ERNIC_PG332_OUTSTANDING / 2 :
                           ERNIC_PG332_OUTSTANDING;
}

const ErnicInterfaceOps ernic_interface_pg332 = {
    .keys = &ernic_pg332_keys,
    .cqes = &ernic_cqe_verbs,           /* never used */
    .eqs = &ernic_eqs_verbs,           /* never used */
    .fetch = pg332_fetch,
    .complete_send = pg332_complete_send,
    .datagram = ernic_pg332_datagram,
    .gather = ernic_pg332_gather,
    .outstanding = pg332_outstanding,
    .retry_forever = pg332_retry_forever,
    .polls_recv = pg332_polls_recv,
    .take_recv = pg332_take_recv,
    .complete_recv = pg332_complete_recv,
    .recv_head = ernic_pg332_recv_head,
    .ack_delay = pg332_ack_delay,
    .post = pg332_post,
    .wants_frame = ernic_raw_wants,
    .take_frame = ernic_raw_frame,
    .pkey = pg332_pkey,
    .pkey_ok = pg332_pkey_ok,
    .sent = ernic_pg332_sent,
    .pressed = ernic_pg332_pressed,
    .check_packet = ernic_pg332_check_packet,
    .came = ernic_pg332_came,
    .refused = ernic_pg332_refused,
    .marked = pg332_marked,
    .cnp = pg332_cnp,
    .fault_code = ernic_pg332_fatal_code,
    .fatal = pg332_fatal,
};
