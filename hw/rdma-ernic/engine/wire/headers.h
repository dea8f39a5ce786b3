/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One InfiniBand packet, from BTH to ICRC, as checked values. Parsing converts bytes
 * to values, emission converts values to bytes. No higher layer reads the bytes of
 * these headers.
 */
#ifndef ERNIC_WIRE_HEADERS_H
#define ERNIC_WIRE_HEADERS_H

#include "qemu/bswap.h"
#include "base/drop.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/*
 * All values are in host order. A field has a meaning if ernic_opcode_hdrs() of the
 * packet has its header; parsing sets the other fields to 0. A field of 24 bits never
 * exceeds 24 bits after parsing, and must not exceed them when it is emitted.
 */
typedef struct ErnicPkt {
    const ErnicOpcode *op;
    ErnicTransport transport;   /* ERNIC_RC for a CNP, which has none */

    /* BTH */
    uint32_t dest_qp;           /* 24 bits */
    uint32_t psn;               /* 24 bits */
    uint16_t pkey;
    uint8_t pad;                /* 0 to 3; emission computes its own */
    bool se;                    /* solicited event */
    bool migreq;                /* migration state, 1: migrated */
    bool fecn, becn;
    bool ackreq;

    uint32_t xrcsrq;            /* XRCETH: SRQ number, 24 bits */
    uint32_t qkey;              /* DETH */
    uint32_t src_qp;            /* DETH: 24 bits */
    uint32_t feth;              /* FETH: ERNIC_FETH_* and the reserved bits */
    uint64_t va;                /* RETH, AtomicETH */
    uint32_t rkey;              /* RETH, AtomicETH */
    uint32_t dma_len;           /* RETH: bytes of the whole message */
    uint64_t swap_add;          /* AtomicETH */
    uint64_t compare;           /* AtomicETH */
    uint64_t atomic_orig;       /* AtomicAckETH: value before the operation */
    uint32_t msn;               /* AETH: 24 bits */
    uint8_t syndrome;           /* AETH: ERNIC_AETH_*, ERNIC_NAK_* */
    /*
     * ImmDt: the four bytes read as a big-endian number. Verbs hand immediate
     * data to software as bytes, so a CQE stores it big-endian again.
     */
    uint32_t imm;
    uint32_t inv_rkey;          /* IETH: R_Key to invalidate */

    const uint8_t *payload;     /* borrowed; NULL without ERNIC_HDR_DATA */
    uint32_t payload_len;       /* without pad */
} ErnicPkt;

/*
 * Parse the @len bytes at @buf, from BTH to ICRC. After ERNIC_DROP_NONE *p is complete
 * and its payload points into @buf; after any other result the fields that were not
 * parsed are 0. The function does not check the ICRC. The responder and the completer
 * check whether the payload length fits the part of the message.
 */
ErnicDrop ernic_pkt_parse(ErnicPkt *p, const uint8_t *buf, uint32_t len);

/*
 * Parse a packet that ernic_pkt_parse() refused because of its opcode. On RC, UC and
 * XRC the queue pair answers it (IBTA 9.9.3, unsupported or reserved opcode): *p has
 * the BTH and a row of class ERNIC_CL_RESERVED. Otherwise the result is
 * ERNIC_DROP_BAD_OPCODE.
 */
ErnicDrop ernic_pkt_parse_reserved(ErnicPkt *p, const uint8_t *buf,
                                   uint32_t len);

/*
 * Write BTH and extension headers; returns their length, at most ERNIC_PKT_HDR_MAX
 * bytes. The caller appends p->payload_len bytes of payload (p->payload is not read),
 * then calls ernic_pkt_finish().
 */
uint32_t ernic_pkt_emit_hdr(const ErnicPkt *p, uint8_t *buf);

/*
 * Append pad bytes of zero and the ICRC to @len bytes of headers and payload; @buf
 * has room for ERNIC_PKT_TAIL_MAX more bytes. @ctx NULL: 0 in place of the ICRC. Returns
 * the length of the whole packet.
 */
uint32_t ernic_pkt_finish(const ErnicIcrcCtx *ctx, uint8_t *buf, uint32_t len);

#define ERNIC_PKT_TAIL_MAX  (3 + ERNIC_ICRC_LEN)

/* The destination queue pair that the BTH at @buf names, of ERNIC_BTH_LEN bytes. */
static inline uint32_t ernic_bth_dest_qp(const uint8_t *buf)
{
    return ldl_be_p(buf + 4) & ERNIC_QPN_MASK;
}

/* The length of a whole packet with headers of @hdr_len bytes. */
static inline uint32_t ernic_pkt_len(uint32_t hdr_len, uint32_t payload_len)
{
    return hdr_len + ((payload_len + 3) & ~3u) + ERNIC_ICRC_LEN;
}

#endif /* ERNIC_WIRE_HEADERS_H */
