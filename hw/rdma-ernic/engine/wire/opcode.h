/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The packet opcodes: the headers that follow BTH, the kind of message and the part of
 * it that a packet carries, and the transports that have it.
 */
#ifndef ERNIC_WIRE_OPCODE_H
#define ERNIC_WIRE_OPCODE_H

#include "base/ib_spec.h"
#include "base/types.h"

/* The low five bits of the BTH OpCode (IBTA vol. 1, 9.2.1). */
typedef enum ErnicOp {
    ERNIC_OP_SEND_FIRST,
    ERNIC_OP_SEND_MIDDLE,
    ERNIC_OP_SEND_LAST,
    ERNIC_OP_SEND_LAST_IMM,
    ERNIC_OP_SEND_ONLY,
    ERNIC_OP_SEND_ONLY_IMM,
    ERNIC_OP_WRITE_FIRST,
    ERNIC_OP_WRITE_MIDDLE,
    ERNIC_OP_WRITE_LAST,
    ERNIC_OP_WRITE_LAST_IMM,
    ERNIC_OP_WRITE_ONLY,
    ERNIC_OP_WRITE_ONLY_IMM,
    ERNIC_OP_READ_REQUEST,
    ERNIC_OP_READ_RSP_FIRST,
    ERNIC_OP_READ_RSP_MIDDLE,
    ERNIC_OP_READ_RSP_LAST,
    ERNIC_OP_READ_RSP_ONLY,
    ERNIC_OP_ACK,
    ERNIC_OP_ATOMIC_ACK,
    ERNIC_OP_COMPARE_SWAP,
    ERNIC_OP_FETCH_ADD,
    ERNIC_OP_SEND_LAST_INV = 0x16,
    ERNIC_OP_SEND_ONLY_INV,
    ERNIC_OP_FLUSH = 0x1c,
    ERNIC_OP_ATOMIC_WRITE,
    ERNIC_OP_COUNT              /* 0x15 (RESYNC of RD) is not used */
} ErnicOp;

/*
 * The headers that follow BTH. The header of the lowest bit comes first. No row of the
 * table has ERNIC_HDR_XRCETH (XRC requests) or ERNIC_HDR_DETH (UD): the transport adds
 * them.
 */
typedef enum ErnicHdr {
    ERNIC_HDR_XRCETH     = 1 << 0,
    ERNIC_HDR_DETH       = 1 << 1,
    ERNIC_HDR_FETH       = 1 << 2,
    ERNIC_HDR_RETH       = 1 << 3,
    ERNIC_HDR_ATOMIC_ETH = 1 << 4,
    ERNIC_HDR_AETH       = 1 << 5,
    ERNIC_HDR_ATOMIC_ACK = 1 << 6,
    ERNIC_HDR_IMM        = 1 << 7,
    ERNIC_HDR_IETH       = 1 << 8,
    ERNIC_HDR_CNP        = 1 << 9,      /* the 16 reserved bytes of a CNP */
    ERNIC_HDR_DATA       = 1 << 10,     /* payload, of 0 bytes or more */
} ErnicHdr;

/* The kind of message. No row has NONE: it means that no message is open. */
typedef enum ErnicOpClass {
    ERNIC_CL_NONE,
    ERNIC_CL_SEND,
    ERNIC_CL_WRITE,
    ERNIC_CL_READ,
    ERNIC_CL_ATOMIC,
    ERNIC_CL_ATOMIC_WRITE,
    ERNIC_CL_FLUSH,
    ERNIC_CL_READ_RSP,
    ERNIC_CL_ATOMIC_RSP,
    ERNIC_CL_ACK,
    ERNIC_CL_CNP,
    ERNIC_CL_RESERVED,          /* its service has no such operation */
    ERNIC_CL_COUNT
} ErnicOpClass;

/* The part of a message. ONLY has both bits, MIDDLE has none. */
#define ERNIC_SEG_MIDDLE    0
#define ERNIC_SEG_START     (1 << 0)
#define ERNIC_SEG_END       (1 << 1)
#define ERNIC_SEG_ONLY      (ERNIC_SEG_START | ERNIC_SEG_END)

#define ERNIC_OPF_REQ       (1 << 0)    /* sent by a requester */
#define ERNIC_OPF_RSP       (1 << 1)    /* sent by a responder */
#define ERNIC_OPF_RQE       (1 << 2)    /* takes a receive WQE */
#define ERNIC_OPF_CQE       (1 << 3)    /* completes a receive WQE */

typedef struct ErnicOpcode {
    const char *name;
    uint8_t op;                 /* low five bits of the BTH OpCode */
    uint8_t cls;                /* ErnicOpClass */
    uint8_t seg;                /* ERNIC_SEG_* */
    uint8_t flags;              /* ERNIC_OPF_* */
    uint8_t transports;         /* bit mask, 1 << ErnicTransport */
    uint8_t hdr_len;            /* BTH and the headers of @hdrs, bytes */
    uint16_t hdrs;              /* ErnicHdr, without the transport's own */
} ErnicOpcode;

/*
 * The rows by ErnicOp, one of which is unused, and the upper bits of a BTH OpCode by
 * transport.
 */
extern const ErnicOpcode ernic_opcode_table[ERNIC_OP_COUNT];
extern const uint8_t ernic_opcode_base[ERNIC_TRANSPORT_COUNT];

/* The row of an operation to be sent, on a transport that has it. */
static inline const ErnicOpcode *ernic_opcode_row(ErnicOp op)
{
    return &ernic_opcode_table[op];
}

/* The row of a whole BTH OpCode; NULL: its transport does not have it. */
const ErnicOpcode *ernic_opcode(uint8_t bth_opcode);

/*
 * The row for opcodes that RC, UC and XRC do not have; NULL: the opcode is of UD or of
 * another service.
 */
const ErnicOpcode *ernic_opcode_reserved(uint8_t bth_opcode);

/*
 * The transport of a BTH OpCode that ernic_opcode() knows. For a CNP, which belongs to
 * no transport service, it is ERNIC_RC: check the class first.
 */
ErnicTransport ernic_opcode_transport(uint8_t bth_opcode);

/* The BTH OpCode of operation @op on @transport. */
static inline uint8_t ernic_bth_opcode(ErnicTransport transport, ErnicOp op)
{
    return ernic_opcode_base[transport] | (uint8_t)op;
}

/* The BTH OpCode of row @op on @transport; ERNIC_BTH_CNP for that of the CNP. */
static inline uint8_t ernic_opcode_bth(const ErnicOpcode *op,
                                       ErnicTransport transport)
{
    return unlikely(op->cls == ERNIC_CL_CNP) ?
           ERNIC_BTH_CNP : ernic_bth_opcode(transport, op->op);
}

/* The headers that follow BTH in packet @op on @transport: ErnicHdr bits. */
static inline uint32_t ernic_opcode_hdrs(const ErnicOpcode *op,
                                         ErnicTransport transport)
{
    uint32_t hdrs = op->hdrs;

    if (transport == ERNIC_UD) {
        hdrs |= ERNIC_HDR_DETH;
    } else if (transport == ERNIC_XRC && (op->flags & ERNIC_OPF_REQ)) {
        hdrs |= ERNIC_HDR_XRCETH;
    }
    return hdrs;
}

/* Bytes of BTH and all extension headers, so the offset of the payload. */
static inline uint32_t ernic_opcode_hdr_len(const ErnicOpcode *op,
                                            ErnicTransport transport)
{
    uint32_t len = op->hdr_len;

    if (transport == ERNIC_UD) {
        len += ERNIC_DETH_LEN;
    } else if (transport == ERNIC_XRC && (op->flags & ERNIC_OPF_REQ)) {
        len += ERNIC_XRCETH_LEN;
    }
    return len;
}

#endif /* ERNIC_WIRE_OPCODE_H */
