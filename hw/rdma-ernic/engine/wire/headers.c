/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BTH and extension headers. Only this file knows their layouts. A packet has them in
 * the order of their bits in the opcode's mask.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/headers.h"

/* Layouts: IBTA vol. 1, 9.2 (BTH), 9.3 (extended transport headers), A19 (FETH). */

static void parse_bth(ErnicPkt *p, const uint8_t *b)
{
    p->se = b[1] & ERNIC_BTH_SE;
    p->migreq = b[1] & ERNIC_BTH_MIGREQ;
    p->pad = b[1] >> ERNIC_BTH_PAD_SHIFT & ERNIC_BTH_PAD_MASK;
    p->pkey = lduw_be_p(b + 2);
    p->fecn = b[4] & ERNIC_BTH_FECN;
    p->becn = b[4] & ERNIC_BTH_BECN;
    p->dest_qp = ernic_bth_dest_qp(b);
    p->ackreq = b[8] & ERNIC_BTH_ACKREQ;
    p->psn = ldl_be_p(b + 8) & ERNIC_PSN_MASK;
}

static void parse_ext(ErnicPkt *p, const uint8_t *b, uint32_t hdrs)
{
    if (hdrs & ERNIC_HDR_XRCETH) {
        p->xrcsrq = ldl_be_p(b) & ERNIC_QPN_MASK;
        b += ERNIC_XRCETH_LEN;
    }
    if (hdrs & ERNIC_HDR_DETH) {
        p->qkey = ldl_be_p(b);
        p->src_qp = ldl_be_p(b + 4) & ERNIC_QPN_MASK;
        b += ERNIC_DETH_LEN;
    }
    if (hdrs & ERNIC_HDR_FETH) {
        p->feth = ldl_be_p(b);
        b += ERNIC_FETH_LEN;
    }
    if (hdrs & ERNIC_HDR_RETH) {
        p->va = ldq_be_p(b);
        p->rkey = ldl_be_p(b + 8);
        p->dma_len = ldl_be_p(b + 12);
        b += ERNIC_RETH_LEN;
    }
    if (hdrs & ERNIC_HDR_ATOMIC_ETH) {
        p->va = ldq_be_p(b);
        p->rkey = ldl_be_p(b + 8);
        p->swap_add = ldq_be_p(b + 12);
        p->compare = ldq_be_p(b + 20);
        b += ERNIC_ATOMICETH_LEN;
    }
    if (hdrs & ERNIC_HDR_AETH) {
        p->syndrome = b[0];
        p->msn = ldl_be_p(b) & ERNIC_MSN_MASK;
        b += ERNIC_AETH_LEN;
    }
    if (hdrs & ERNIC_HDR_ATOMIC_ACK) {
        p->atomic_orig = ldq_be_p(b);
        b += ERNIC_ATOMICACK_LEN;
    }
    if (hdrs & ERNIC_HDR_IMM) {
        p->imm = ldl_be_p(b);
        b += ERNIC_IMM_LEN;
    }
    if (hdrs & ERNIC_HDR_IETH) {
        p->inv_rkey = ldl_be_p(b);
    }
}

ErnicDrop ernic_pkt_parse_reserved(ErnicPkt *p, const uint8_t *buf,
                                   uint32_t len)
{
    *p = (ErnicPkt) { .op = ernic_opcode_reserved(buf[0]) };
    if (!p->op || len % 4) {
        return ERNIC_DROP_BAD_OPCODE;
    }
    p->transport = ernic_opcode_transport(buf[0]);
    parse_bth(p, buf);
    return ERNIC_DROP_NONE;
}

ErnicDrop ernic_pkt_parse(ErnicPkt *p, const uint8_t *buf, uint32_t len)
{
    uint32_t hdrs, hdr_len, rest;

    *p = (ErnicPkt) { };
    if (len < ERNIC_BTH_LEN + ERNIC_ICRC_LEN) {
        return ERNIC_DROP_TOO_SHORT;
    }
    if (buf[1] & ERNIC_BTH_TVER_MASK) {
        return ERNIC_DROP_BAD_TVER;
    }
    p->op = ernic_opcode(buf[0]);
    if (!p->op) {
        return ERNIC_DROP_BAD_OPCODE;
    }
    p->transport = ernic_opcode_transport(buf[0]);
    hdr_len = ernic_opcode_hdr_len(p->op, p->transport);
    if (len < hdr_len + ERNIC_ICRC_LEN) {
        return ERNIC_DROP_TOO_SHORT;
    }
    if (len % 4) {
        return ERNIC_DROP_BAD_LENGTH;   /* padding makes it a multiple of 4 */
    }

    parse_bth(p, buf);
    rest = len - hdr_len - ERNIC_ICRC_LEN;
    hdrs = ernic_opcode_hdrs(p->op, p->transport);
    if (hdrs & ERNIC_HDR_DATA) {
        if (p->pad > rest) {
            return ERNIC_DROP_BAD_PAD;
        }
        p->payload = buf + hdr_len;
        p->payload_len = rest - p->pad;
    } else {
        if (rest) {
            return ERNIC_DROP_BAD_LENGTH;
        }
        /* Without payload the field has no meaning; some peers leave it set. */
        p->pad = 0;
    }
    parse_ext(p, buf + ERNIC_BTH_LEN, hdrs);
    return ERNIC_DROP_NONE;
}

static void emit_bth(const ErnicPkt *p, uint8_t *b)
{
    uint32_t pad = -p->payload_len & 3;

    b[0] = ernic_opcode_bth(p->op, p->transport);
    b[1] = (p->se ? ERNIC_BTH_SE : 0) | (p->migreq ? ERNIC_BTH_MIGREQ : 0) |
           pad << ERNIC_BTH_PAD_SHIFT;
    stw_be_p(b + 2, p->pkey);
    stl_be_p(b + 4, p->dest_qp & ERNIC_QPN_MASK);
    b[4] = (p->fecn ? ERNIC_BTH_FECN : 0) | (p->becn ? ERNIC_BTH_BECN : 0);
    stl_be_p(b + 8, p->psn & ERNIC_PSN_MASK);
    b[8] = p->ackreq ? ERNIC_BTH_ACKREQ : 0;
}

uint32_t ernic_pkt_emit_hdr(const ErnicPkt *p, uint8_t *buf)
{
    uint32_t hdrs = ernic_opcode_hdrs(p->op, p->transport);
    uint8_t *b = buf + ERNIC_BTH_LEN;

    g_assert(p->payload_len == 0 || (hdrs & ERNIC_HDR_DATA));
    emit_bth(p, buf);
    if (hdrs & ERNIC_HDR_XRCETH) {
        stl_be_p(b, p->xrcsrq & ERNIC_QPN_MASK);
        b += ERNIC_XRCETH_LEN;
    }
    if (hdrs & ERNIC_HDR_DETH) {
        stl_be_p(b, p->qkey);
        stl_be_p(b + 4, p->src_qp & ERNIC_QPN_MASK);
        b += ERNIC_DETH_LEN;
    }
    if (hdrs & ERNIC_HDR_FETH) {
        stl_be_p(b, p->feth);
        b += ERNIC_FETH_LEN;
    }
    if (hdrs & ERNIC_HDR_RETH) {
        stq_be_p(b, p->va);
        stl_be_p(b + 8, p->rkey);
        stl_be_p(b + 12, p->dma_len);
        b += ERNIC_RETH_LEN;
    }
    if (hdrs & ERNIC_HDR_ATOMIC_ETH) {
        stq_be_p(b, p->va);
        stl_be_p(b + 8, p->rkey);
        stq_be_p(b + 12, p->swap_add);
        stq_be_p(b + 20, p->compare);
        b += ERNIC_ATOMICETH_LEN;
    }
    if (hdrs & ERNIC_HDR_AETH) {
        stl_be_p(b, p->msn & ERNIC_MSN_MASK);
        b[0] = p->syndrome;
        b += ERNIC_AETH_LEN;
    }
    if (hdrs & ERNIC_HDR_ATOMIC_ACK) {
        stq_be_p(b, p->atomic_orig);
        b += ERNIC_ATOMICACK_LEN;
    }
    if (hdrs & ERNIC_HDR_IMM) {
        stl_be_p(b, p->imm);
        b += ERNIC_IMM_LEN;
    }
    if (hdrs & ERNIC_HDR_IETH) {
        stl_be_p(b, p->inv_rkey);
        b += ERNIC_IETH_LEN;
    }
    if (hdrs & ERNIC_HDR_CNP) {
        memset(b, 0, ERNIC_CNP_RSVD_LEN);
        b += ERNIC_CNP_RSVD_LEN;
    }
    return b - buf;
}

uint32_t ernic_pkt_finish(const ErnicIcrcCtx *ctx, uint8_t *buf, uint32_t len)
{
    uint32_t pad = buf[1] >> ERNIC_BTH_PAD_SHIFT & ERNIC_BTH_PAD_MASK;

    g_assert(len >= ERNIC_BTH_LEN && (len + pad) % 4 == 0);
    memset(buf + len, 0, pad);
    len += pad;
    stl_le_p(buf + len, ctx ? ernic_icrc_packet(ctx, buf, len) : 0);
    return len + ERNIC_ICRC_LEN;
}
