/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The codes by which PG332 reports why a queue pair has ended. One fault of the engine
 * has several codes, depending on the packet in which it was found.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/packet_checks.h"
#include "interfaces/pg332/pg332.h"
#include "transport/qp.h"
#include "transport/responder.h"
#include "wire/psn.h"

/* When a row fits, if that is one expression. */
#define WHEN(name, ...) \
    static bool name(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt) \
    { \
        return __VA_ARGS__; \
    }

/* ---- requests of the peer ---------------------------------------------------- */

WHEN(is_write, pkt && pkt->op->cls == ERNIC_CL_WRITE)

/* Payload against the path MTU, or something to pad where nothing is. */
WHEN(payload, pkt && (pkt->op->hdrs & ERNIC_HDR_DATA) &&
      (!ernic_responder_payload_fits(qp, pkt) ||
       (pkt->pad && !(pkt->op->seg & ERNIC_SEG_END))))
WHEN(write_payload, is_write(e, qp, pkt) && payload(e, qp, pkt))
WHEN(has_reth, pkt && (pkt->op->hdrs & ERNIC_HDR_RETH))

/* A RETH whose key does not open what it names. */
static bool reth_key(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt)
{
    uint32_t access = is_write(e, qp, pkt) ? ERNIC_ACCESS_REMOTE_WRITE :
                                             ERNIC_ACCESS_REMOTE_READ;
    uint64_t bus;

    return has_reth(e, qp, pkt) &&
           !ernic_pg332_key_opens(e, qp->pd, pkt->rkey, pkt->va, pkt->dma_len,
                                  access, &bus);
}

/* ---- responses ---------------------------------------------------------------- */

WHEN(syndrome, pkt && (pkt->op->hdrs & ERNIC_HDR_AETH) &&
      ernic_aeth_reserved(pkt->syndrome))

/* The READ at the head of the send queue that @pkt could answer; NULL: none. */
static const ErnicWqe *read_request(const ErnicQp *qp, const ErnicPkt *pkt)
{
    const ErnicSendQueue *sq = &qp->sq;
    const ErnicWqe *wqe = &sq->wqe[sq->wq.ci & sq->window_mask];

    return pkt && pkt->op->cls == ERNIC_CL_READ_RSP && sq->wq.ci != sq->started &&
           wqe->opcode == ERNIC_WR_READ ? wqe : NULL;
}

WHEN(no_read, pkt && !read_request(qp, pkt))

static bool only(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt)
{
    const ErnicWqe *wqe = read_request(qp, pkt);

    return wqe && pkt->op->seg == ERNIC_SEG_ONLY && wqe->npsn == 1;
}

static bool last_of_one(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt)
{
    const ErnicWqe *wqe = read_request(qp, pkt);

    return wqe && pkt->op->seg == ERNIC_SEG_END && wqe->npsn == 1;
}

WHEN(middle_length, read_request(qp, pkt) && !(pkt->op->seg & ERNIC_SEG_END) &&
      pkt->payload_len != ernic_qp_mtu(qp))
WHEN(last, read_request(qp, pkt) && pkt->op->seg == ERNIC_SEG_END)

/* Software let it count: the counter has run down. */
WHEN(counted, qp->attr.rnr_retry != 0)

/* ---- the table ------------------------------------------------------------------ */

#define FATAL(code_, fault_, when_, cause_) \
    { code_, ERNIC_FAULT_##fault_, when_, cause_ }

const Pg332Fatal ernic_pg332_fatals[] = {
    FATAL(0x13, OP_SEQ, write_payload, "opcode sequence and length of a WRITE"),
    FATAL(0x11, OP_SEQ, is_write, "opcode sequence of a WRITE"),
    FATAL(0x03, OP_SEQ, payload, "opcode sequence and length of a SEND"),
    FATAL(0x01, OP_SEQ, NULL, "opcode sequence"),
    FATAL(0x12, PACKET_LENGTH, write_payload,
          "payload of a WRITE against the path MTU, or its pad count"),
    FATAL(0x17, PACKET_LENGTH, reth_key, "length in the RETH, and key"),
    FATAL(0x16, PACKET_LENGTH, has_reth, "length in the RETH"),
    FATAL(0x12, PACKET_LENGTH, is_write, "a WRITE not as long as its RETH said"),
    FATAL(0x02, PACKET_LENGTH, NULL,
          "payload of a SEND against the path MTU, or its pad count"),
    FATAL(0x02, RECV_LENGTH, NULL, "a SEND longer than its receive buffer"),
    FATAL(0x04, OP_UNSUPPORTED, NULL, "unsupported opcode"),
    FATAL(0x05, SEND_WQE, NULL, "a send request: opcode"),
    FATAL(0x05, SEND_FETCH, NULL, "a send request: its queue is no memory"),
    FATAL(0x05, SEND_LENGTH, NULL, "a send request: length"),
    FATAL(0x05, SEND_DMA, NULL, "a send request: its data is no memory"),
    FATAL(0x05, SEND_AV, NULL, "a send request: no address to send from or to"),
    FATAL(0x06, RETRY_EXC, NULL, "retries used up"),
    FATAL(0x0d, RNR_RETRY_EXC, counted, "RNR retries counted down to none"),
    FATAL(0x09, RNR_RETRY_EXC, NULL, "RNR NAK, and no retry was allowed"),
    FATAL(0x0a, NAK_INV_REQ, NULL, "NAK of the peer: invalid request"),
    FATAL(0x0a, NAK_REM_ACCESS, NULL, "NAK of the peer: access"),
    FATAL(0x0a, NAK_REM_OP, NULL, "NAK of the peer: operation"),
    FATAL(0x10, RD_ATOMIC_OVERFLOW, NULL, "more than 16 READs at once"),
    FATAL(0x15, REM_ACCESS, NULL, "key, range or right"),
    FATAL(0x15, REM_DMA, NULL, "no memory for a key"),
    FATAL(0x15, RECV_DMA, NULL, "no memory in the receive queue"),
    FATAL(0x19, BAD_RESPONSE, syndrome, "reserved AETH syndrome"),
    FATAL(0x0c, BAD_RESPONSE, no_read, "a response that its request has not"),
    FATAL(0x1a, BAD_RESPONSE, only, "READ response: length of the only packet"),
    FATAL(0x1c, BAD_RESPONSE, last_of_one, "READ response: Last instead of Only"),
    FATAL(0x1e, BAD_RESPONSE, middle_length,
          "READ response: length of a First or Middle"),
    FATAL(0x1f, BAD_RESPONSE, last, "READ response: Last, out of turn or length"),
    FATAL(0x1b, BAD_RESPONSE, NULL, "READ response: any other"),
};
const uint32_t ernic_pg332_num_fatals = ARRAY_SIZE(ernic_pg332_fatals);

uint8_t ernic_pg332_fatal_code(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt,
                               ErnicFault fault)
{
    uint32_t i;

    for (i = 0; i < ernic_pg332_num_fatals; i++) {
        const Pg332Fatal *f = &ernic_pg332_fatals[i];

        if (f->fault == fault && (!f->when || f->when(e, qp, pkt))) {
            return f->code;
        }
    }
    return 0;
}
