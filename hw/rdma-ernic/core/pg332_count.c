/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What PG332 tells of packets: counters by kind, the last ones, and for each that
 * it refuses a syndrome, in the ring of error buffers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net.h"
#include "pg332.h"
#include "trace.h"
#include "tx.h"

/* The hardware's own numbers of packets that no request asks for. */
#define OPCODE_READ_RSP 5
#define OPCODE_ACK      6

/* Syndrome bits (table 2-3). */
#define SYN_DEST_MAC    (1u << 0)
#define SYN_FRAGMENT    (1u << 6)
#define SYN_DEST_IP     (1u << 8)
#define SYN_IP_HEADER   (1u << 9)
#define SYN_LENGTH      (1u << 12)
#define SYN_VERSION     (1u << 13)
#define SYN_NO_QP       (1u << 14)
#define SYN_QP_OFF      (1u << 15)
#define SYN_SEQUENCE    (1u << 16)
#define SYN_OPCODE      (1u << 17)
#define SYN_PAD         (1u << 18)
#define SYN_PAYLOAD     (1u << 19)
#define SYN_RQ_FULL     (1u << 20)
#define SYN_PSN         (1u << 21)
#define SYN_RESPONSE    (1u << 23)
#define SYN_SOURCE_IP   (1u << 27)
#define SYN_SOURCE_MAC  (1u << 28)
#define SYN_ICRC        (1u << 30)

static const uint32_t drop_syndromes[ERNIC_DROP_COUNT] = {
    [ERNIC_DROP_IP_HEADER] = SYN_IP_HEADER,
    [ERNIC_DROP_FRAGMENT] = SYN_FRAGMENT,
    [ERNIC_DROP_ADDRESS] = SYN_SOURCE_IP,
    [ERNIC_DROP_MAC] = SYN_SOURCE_MAC,
    [ERNIC_DROP_TOO_SHORT] = SYN_LENGTH,
    [ERNIC_DROP_BAD_LENGTH] = SYN_LENGTH,
    [ERNIC_DROP_BAD_TVER] = SYN_VERSION,
    [ERNIC_DROP_BAD_OPCODE] = SYN_OPCODE,
    [ERNIC_DROP_BAD_PAD] = SYN_PAD,
    [ERNIC_DROP_BAD_ICRC] = SYN_ICRC,
    [ERNIC_DROP_NO_QP] = SYN_NO_QP,
    [ERNIC_DROP_QP_STATE] = SYN_QP_OFF,
    [ERNIC_DROP_TRANSPORT] = SYN_OPCODE,
};

static const uint32_t fault_syndromes[ERNIC_FAULT_COUNT] = {
    [ERNIC_FAULT_PSN_AHEAD] = SYN_PSN,
    [ERNIC_FAULT_RNR] = SYN_RQ_FULL,
    [ERNIC_FAULT_OP_SEQ] = SYN_SEQUENCE,
    [ERNIC_FAULT_OP_UNSUPPORTED] = SYN_OPCODE,
    [ERNIC_FAULT_PACKET_LENGTH] = SYN_PAYLOAD,
    [ERNIC_FAULT_RECV_LENGTH] = SYN_PAYLOAD,
    [ERNIC_FAULT_NAK_INV_REQ] = SYN_RESPONSE,
    [ERNIC_FAULT_BAD_RESPONSE] = SYN_RESPONSE,
};

/* ---- counters ---------------------------------------------------------------- */

/* One more in the lower half of a register, or in the upper one. */
static void count_low(const Ernic *e, uint32_t offset)
{
    uint32_t *reg = ernic_pg332_reg(e, offset);

    *reg = (*reg & 0xffff0000) | ((*reg + 1) & 0xffff);
}

static void count_high(const Ernic *e, uint32_t offset)
{
    *ernic_pg332_reg(e, offset) += 0x10000;
}

static uint8_t opcode_of(const ErnicPkt *pkt)
{
    bool imm = pkt->op->hdrs & ERNIC_HDR_IMM;

    switch (pkt->op->cls) {
    case ERNIC_CL_WRITE:
        return imm ? PG332_OP_WRITE_IMM : PG332_OP_WRITE;
    case ERNIC_CL_SEND:
        return imm ? PG332_OP_SEND_IMM :
               pkt->op->hdrs & ERNIC_HDR_IETH ? PG332_OP_SEND_INV :
                                                PG332_OP_SEND;
    case ERNIC_CL_READ:
        return PG332_OP_READ;
    case ERNIC_CL_READ_RSP:
        return OPCODE_READ_RSP;
    default:
        return OPCODE_ACK;
    }
}

/*
 * As hardware packs it, against the document: the opcode, then as many bits for
 * the queue pair as their number needs, then what fits of the PSN.
 */
static uint32_t last_packet(const Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    uint32_t bits = g_bit_storage(e->cfg.max_qp - 2);

    return opcode_of(pkt) | (qpn & ((1u << bits) - 1)) << 8 |
           pkt->psn << (8 + bits);
}

static bool is_rnr(const ErnicPkt *pkt)
{
    return (pkt->syndrome & ERNIC_AETH_KIND_MASK) == ERNIC_AETH_RNR_NAK;
}

/* Registers of 3.1: the queue pair of the last NAK, and how many there were. */
static void count_nak(const Ernic *e, uint32_t offset, uint32_t qpn)
{
    uint32_t *reg = ernic_pg332_reg(e, offset);

    if (ernic_pg332_version(e) == PG332_V3_1) {
        *reg = ((*reg + 0x10000) & 0xffff0000) | (qpn & 0xff);
    }
}

void ernic_pg332_sent(Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    switch (pkt->op->cls) {
    case ERNIC_CL_SEND:
        if (qpn == ERNIC_QPN_GSI) {
            count_high(e, PG332_OUTAMPKTCNT);
        } else {
            count_low(e, PG332_OUTIOPKTCNT);
        }
        break;
    case ERNIC_CL_WRITE:
    case ERNIC_CL_READ:
        count_high(e, PG332_OUTIOPKTCNT);
        break;
    case ERNIC_CL_READ_RSP:
        ++*ernic_pg332_reg(e, PG332_OUTRDRSPPKTCNT);
        break;
    case ERNIC_CL_ACK:
        count_low(e, PG332_OUTAMPKTCNT);
        if (is_rnr(pkt)) {
            count_nak(e, PG332_OUTRNRPKTSTS, qpn);
        }
        break;
    case ERNIC_CL_CNP:
        e->stats.tx_cnps++;
        trace_ernic_tx_cnp(qpn);
        return;
    default:
        return;
    }
    *ernic_pg332_reg(e, PG332_LSTOUTPKT) = last_packet(e, qpn, pkt);
}

/* Of a response, the syndrome stays to be seen. */
static void note_syndrome(Ernic *e, const ErnicQp *qp, const ErnicPkt *pkt)
{
    uint32_t *reg = ernic_pg332_qp_reg(e, qp->qpn, PG332_STATQP);

    *reg = (*reg & ~PG332_STATQP_SYNDROME) |
           ((uint32_t)pkt->syndrome << 16 & PG332_STATQP_SYNDROME);
}

void ernic_pg332_came(Ernic *e, ErnicQp *qp, const ErnicPkt *pkt)
{
    bool ack = (pkt->syndrome & ERNIC_AETH_KIND_MASK) == ERNIC_AETH_ACK;

    if (pkt->op->hdrs & ERNIC_HDR_AETH) {
        note_syndrome(e, qp, pkt);
    }
    switch (pkt->op->cls) {
    case ERNIC_CL_SEND:
        if (qp->type == ERNIC_QPT_GSI) {
            count_high(e, PG332_INAMPKTCNT);
        } else {
            count_low(e, PG332_INSRRPKTCNT);
        }
        break;
    case ERNIC_CL_READ_RSP:
        count_high(e, PG332_INSRRPKTCNT);
        break;
    case ERNIC_CL_ACK:
        count_low(e, PG332_INAMPKTCNT);
        if (!ack) {
            count_nak(e, PG332_INNCKPKTSTS, qp->qpn);
        }
        break;
    case ERNIC_CL_CNP:
        return;
    default:
        break;
    }
    *ernic_pg332_reg(e, PG332_LSTINPKT) = last_packet(e, qp->qpn, pkt);
}

/* ---- errors ------------------------------------------------------------------ */

static uint32_t syndrome_of(const Ernic *e, const ErnicTrain *train,
                            uint32_t dest_qp, ErnicDrop why, ErnicFault fault)
{
    if (why == ERNIC_DROP_ADDRESS &&
        !ernic_gid_is_local(e, &train->path.dgid)) {
        return SYN_DEST_IP;
    }
    /* Both versions of the address have the same one. */
    if (why == ERNIC_DROP_MAC &&
        memcmp(train->path.dmac, e->gid[0].mac, sizeof(e->gid[0].mac)) != 0) {
        return SYN_DEST_MAC;
    }
    if (why == ERNIC_DROP_NO_QP && dest_qp && dest_qp < e->cfg.max_qp) {
        return SYN_QP_OFF;
    }
    return why ? drop_syndromes[why] : fault_syndromes[fault];
}

/* The syndrome and the packet's beginning, as far as a buffer has room. */
static void write_entry(Ernic *e, uint32_t syndrome, const ErnicTrain *train,
                        const uint8_t *buf, uint32_t len)
{
    uint64_t base = *ernic_pg332_reg(e, PG332_ERRBUFBA) |
                    (uint64_t)*ernic_pg332_reg(e, PG332_ERRBUFBAMSB) << 32;
    uint32_t size = *ernic_pg332_reg(e, PG332_ERRBUFSZ);
    uint32_t num = size & 0xffff, bytes = size >> 16, head;
    uint32_t *wptr = ernic_pg332_reg(e, PG332_ERRBUFWPTR);
    uint8_t entry[256] = { };
    uint64_t at;

    if (!base || !num || bytes < sizeof(syndrome)) {
        return;
    }
    stl_le_p(entry, syndrome);
    head = sizeof(syndrome);
    head += ernic_net_emit(&train->path, len, entry + head);
    memcpy(entry + head, buf, MIN(len, sizeof(entry) - head));
    at = base + (uint64_t)(*wptr % num) * bytes;
    if (!e->ops->dma_write(e->env, at, entry, MIN(bytes, sizeof(entry)))) {
        trace_ernic_guest_pg332_dma(0, at);
    }
    *wptr = *wptr % num + 1;
}

void ernic_pg332_refused(Ernic *e, const ErnicTrain *train, const uint8_t *buf,
                         uint32_t len, uint32_t dest_qp, ErnicDrop why,
                         ErnicFault fault)
{
    uint32_t syndrome = syndrome_of(e, train, dest_qp, why, fault);
    bool fatal = !why && ernic_fault_info(fault)->act[ERNIC_RC] ==
                         ERNIC_ACT_QP_ERROR;

    if (!syndrome) {
        return;
    }
    trace_ernic_pg332_refused(syndrome, dest_qp);
    count_low(e, PG332_ININVDUPCNT);
    if (fatal || (*ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ERRBUF)) {
        write_entry(e, syndrome, train, buf, len);
    }
    ernic_pg332_raise(e, PG332_INT_VALIDATION);
}
