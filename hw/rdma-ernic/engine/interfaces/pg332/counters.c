/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers of PG332 about packets: counters by kind, the last packets, and for
 * each refused packet a syndrome in the ring of error buffers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/pg332/packet_checks.h"
#include "interfaces/pg332/pg332.h"
#include "trace.h"
#include "wire/frame.h"

/* The hardware's own numbers of packets that no request asks for. */
#define OPCODE_READ_RSP 5
#define OPCODE_ACK      6

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
 * Packs the fields as hardware does, against the document: the opcode, then as many bits
 * for the queue pair as their number needs, then what fits of the PSN.
 */
static uint32_t last_packet(const Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    uint32_t bits = ernic_pg332_qpn_bits(e);

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

/* Software sees the syndrome of the last response here. */
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

/* The packet from its Ethernet header on, which the path replaces if there is none. */
static void copy_packet(const ErnicArrival *a, uint8_t *to, uint32_t room)
{
    uint8_t head[ERNIC_NET_HDR_MAX];
    uint32_t len;

    if (a->frame) {
        memcpy(to, a->frame, MIN(a->frame_len, room));
        return;
    }
    len = ernic_net_emit(a->path, a->len, head);
    memcpy(to, head, len);
    memcpy(to + len, a->buf, MIN(a->len, room - len));
}

/* The syndrome and the packet's beginning, as far as a buffer has room. */
static void write_entry(Ernic *e, uint32_t syndrome, const ErnicArrival *a)
{
    uint64_t base = *ernic_pg332_reg(e, PG332_ERRBUFBA) |
                    (uint64_t)*ernic_pg332_reg(e, PG332_ERRBUFBAMSB) << 32;
    uint32_t size = *ernic_pg332_reg(e, PG332_ERRBUFSZ);
    uint32_t num = size & 0xffff, bytes = size >> 16;
    uint32_t *wptr = ernic_pg332_reg(e, PG332_ERRBUFWPTR);
    uint8_t entry[256] = { };
    uint64_t at;

    if (!base || !num || bytes < sizeof(syndrome)) {
        return;
    }
    stl_le_p(entry, syndrome);
    copy_packet(a, entry + sizeof(syndrome), sizeof(entry) - sizeof(syndrome));
    at = base + (uint64_t)(*wptr % num) * bytes;
    ernic_charge_copy(e, sizeof(entry));
    if (!e->ops->dma_write(e->env, at, entry, MIN(bytes, sizeof(entry)))) {
        trace_ernic_guest_pg332_dma(0, at);
    }
    *wptr = *wptr % num + 1;
}

void ernic_pg332_refused(Ernic *e, const ErnicArrival *a,
                         const ErnicVerdict *v)
{
    const Pg332Check *c = ernic_pg332_check_of(v);
    bool datagram = a->qp && a->qp->transport == ERNIC_UD;
    bool fatal;

    /* The only fault of a datagram that PG332 knows is that there is no buffer. */
    if (!c || (datagram && !v->syndrome)) {
        return;
    }
    fatal = c->effect == PG332_NAK_FATAL || c->effect == PG332_FATAL;
    trace_ernic_pg332_refused(1u << c->bit, c->name, a->dest_qp);
    count_low(e, PG332_ININVDUPCNT);
    if (fatal || (*ernic_pg332_reg(e, PG332_XRNICCONF) & PG332_CONF_ERRBUF)) {
        write_entry(e, 1u << c->bit, a);
    }
    ernic_pg332_raise(e, PG332_INT_VALIDATION |
                      (c->effect == PG332_RNR && !datagram ? PG332_INT_RNR : 0));
}
