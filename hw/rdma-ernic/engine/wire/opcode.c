/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of packet opcodes. Each fact about an opcode is in its row, and only there.
 */
#include "qemu/osdep.h"
#include "wire/opcode.h"

#define RC      (1 << ERNIC_RC)
#define UC      (1 << ERNIC_UC)
#define UD      (1 << ERNIC_UD)
#define XRC     (1 << ERNIC_XRC)
#define ACKED   (RC | XRC)
#define CONN    (RC | UC | XRC)

#define FETH    ERNIC_HDR_FETH
#define RETH    ERNIC_HDR_RETH
#define SWAP    ERNIC_HDR_ATOMIC_ETH
#define AETH    ERNIC_HDR_AETH
#define ORIG    ERNIC_HDR_ATOMIC_ACK
#define IMM     ERNIC_HDR_IMM
#define IETH    ERNIC_HDR_IETH
#define DATA    ERNIC_HDR_DATA

#define REQ     ERNIC_OPF_REQ
#define RSP     ERNIC_OPF_RSP
#define RQE     ERNIC_OPF_RQE
#define CQE     ERNIC_OPF_CQE

#define HDR_LEN(h)                                      \
    (ERNIC_BTH_LEN +                                    \
     ((h) & FETH ? ERNIC_FETH_LEN : 0) +                \
     ((h) & RETH ? ERNIC_RETH_LEN : 0) +                \
     ((h) & SWAP ? ERNIC_ATOMICETH_LEN : 0) +           \
     ((h) & AETH ? ERNIC_AETH_LEN : 0) +                \
     ((h) & ORIG ? ERNIC_ATOMICACK_LEN : 0) +           \
     ((h) & IMM ? ERNIC_IMM_LEN : 0) +                  \
     ((h) & IETH ? ERNIC_IETH_LEN : 0) +                \
     ((h) & ERNIC_HDR_CNP ? ERNIC_CNP_RSVD_LEN : 0))

#define ROW(OP, NAME, CLS, SEG, HDRS, FLAGS, TRANSPORTS)        \
    {                                                           \
        .name = NAME, .op = OP,                                 \
        .cls = ERNIC_CL_##CLS, .seg = ERNIC_SEG_##SEG,          \
        .flags = FLAGS, .transports = TRANSPORTS,               \
        .hdrs = HDRS, .hdr_len = HDR_LEN(HDRS),                 \
    }
#define OP(NAME, CLS, SEG, HDRS, FLAGS, TRANSPORTS)             \
    [ERNIC_OP_##NAME] = ROW(ERNIC_OP_##NAME, #NAME, CLS, SEG,   \
                            HDRS, FLAGS, TRANSPORTS)

/*
 * IBTA vol. 1, 9.2.1 (OpCode), table of operations; XRC: annex A14; ATOMIC WRITE
 * and FLUSH (RC, and RD): annex A19.
 */
const ErnicOpcode ernic_opcode_table[ERNIC_OP_COUNT] = {
    OP(SEND_FIRST,      SEND,   START,  DATA,           REQ | RQE,       CONN),
    OP(SEND_MIDDLE,     SEND,   MIDDLE, DATA,           REQ,             CONN),
    OP(SEND_LAST,       SEND,   END,    DATA,           REQ | CQE,       CONN),
    OP(SEND_LAST_IMM,   SEND,   END,    IMM | DATA,     REQ | CQE,       CONN),
    OP(SEND_LAST_INV,   SEND,   END,    IETH | DATA,    REQ | CQE,       ACKED),
    OP(SEND_ONLY,       SEND,   ONLY,   DATA,           REQ | RQE | CQE,
       CONN | UD),
    OP(SEND_ONLY_IMM,   SEND,   ONLY,   IMM | DATA,     REQ | RQE | CQE,
       CONN | UD),
    OP(SEND_ONLY_INV,   SEND,   ONLY,   IETH | DATA,    REQ | RQE | CQE, ACKED),

    OP(WRITE_FIRST,     WRITE,  START,  RETH | DATA,    REQ,             CONN),
    OP(WRITE_MIDDLE,    WRITE,  MIDDLE, DATA,           REQ,             CONN),
    OP(WRITE_LAST,      WRITE,  END,    DATA,           REQ,             CONN),
    OP(WRITE_LAST_IMM,  WRITE,  END,    IMM | DATA,     REQ | RQE | CQE, CONN),
    OP(WRITE_ONLY,      WRITE,  ONLY,   RETH | DATA,    REQ,             CONN),
    OP(WRITE_ONLY_IMM,  WRITE,  ONLY,   RETH | IMM | DATA,
       REQ | RQE | CQE, CONN),

    OP(READ_REQUEST,    READ,   ONLY,   RETH,           REQ,             ACKED),
    OP(COMPARE_SWAP,    ATOMIC, ONLY,   SWAP,           REQ,             ACKED),
    OP(FETCH_ADD,       ATOMIC, ONLY,   SWAP,           REQ,             ACKED),
    OP(ATOMIC_WRITE,    ATOMIC_WRITE, ONLY, RETH | DATA, REQ,            RC),
    OP(FLUSH,           FLUSH,  ONLY,   FETH | RETH,    REQ,             RC),

    OP(READ_RSP_FIRST,  READ_RSP, START,  AETH | DATA,  RSP,             ACKED),
    OP(READ_RSP_MIDDLE, READ_RSP, MIDDLE, DATA,         RSP,             ACKED),
    OP(READ_RSP_LAST,   READ_RSP, END,    AETH | DATA,  RSP,             ACKED),
    OP(READ_RSP_ONLY,   READ_RSP, ONLY,   AETH | DATA,  RSP,             ACKED),
    OP(ATOMIC_ACK,      ATOMIC_RSP, ONLY, AETH | ORIG,  RSP,             ACKED),
    OP(ACK,             ACK,    ONLY,   AETH,           RSP,             ACKED),
};

/* The CNP belongs to no service: any queue pair may get one (A17.9.3). */
static const ErnicOpcode opcode_cnp =
    ROW(ERNIC_BTH_CNP & ERNIC_BTH_OP_MASK, "CNP", CNP, ONLY, ERNIC_HDR_CNP, 0,
        CONN | UD);

const uint8_t ernic_opcode_base[ERNIC_TRANSPORT_COUNT] = {
    [ERNIC_RC] = ERNIC_BTH_RC,
    [ERNIC_UC] = ERNIC_BTH_UC,
    [ERNIC_UD] = ERNIC_BTH_UD,
    [ERNIC_XRC] = ERNIC_BTH_XRC,
};

/* The service of the top three bits of an opcode; _COUNT: it is not implemented. */
static const uint8_t top_transport[8] = {
    [ERNIC_BTH_RC >> 5] = ERNIC_RC,
    [ERNIC_BTH_UC >> 5] = ERNIC_UC,
    [ERNIC_BTH_RD >> 5] = ERNIC_TRANSPORT_COUNT,
    [ERNIC_BTH_UD >> 5] = ERNIC_UD,
    [ERNIC_BTH_CNP >> 5] = ERNIC_TRANSPORT_COUNT,
    [ERNIC_BTH_XRC >> 5] = ERNIC_XRC,
    [6] = ERNIC_TRANSPORT_COUNT,
    [7] = ERNIC_TRANSPORT_COUNT,
};

const ErnicOpcode *ernic_opcode(uint8_t bth_opcode)
{
    uint8_t transport = top_transport[bth_opcode >> 5];
    uint8_t op = bth_opcode & ERNIC_BTH_OP_MASK;

    if (unlikely(bth_opcode == ERNIC_BTH_CNP)) {
        return &opcode_cnp;
    }
    if (transport == ERNIC_TRANSPORT_COUNT || op >= ERNIC_OP_COUNT ||
        !(ernic_opcode_table[op].transports & (1 << transport))) {
        return NULL;
    }
    return &ernic_opcode_table[op];
}

const ErnicOpcode *ernic_opcode_reserved(uint8_t bth_opcode)
{
    static const ErnicOpcode reserved =
        ROW(0, "RESERVED", RESERVED, ONLY, 0, ERNIC_OPF_REQ, CONN);
    uint8_t transport = top_transport[bth_opcode >> 5];

    return transport == ERNIC_RC || transport == ERNIC_UC ||
           transport == ERNIC_XRC ? &reserved : NULL;
}

ErnicTransport ernic_opcode_transport(uint8_t bth_opcode)
{
    uint8_t transport = top_transport[bth_opcode >> 5];

    return transport == ERNIC_TRANSPORT_COUNT ? ERNIC_RC
                                              : (ErnicTransport)transport;
}
