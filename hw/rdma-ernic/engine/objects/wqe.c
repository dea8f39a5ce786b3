/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of send opcodes, and access to the bytes of a request's message.
 */
#include "qemu/osdep.h"
#include "objects/wqe.h"
#include "wire/opcode.h"

#define RC (1 << ERNIC_RC)
#define UC (1 << ERNIC_UC)
#define UD (1 << ERNIC_UD)
#define XRC (1 << ERNIC_XRC)
#define RAW (1 << ERNIC_RAW)
#define ACKED (RC | XRC)
#define CONN (RC | UC | XRC)

#define OPS(FIRST, MIDDLE, LAST, ONLY)                                      \
    .first = ERNIC_OP_##FIRST, .middle = ERNIC_OP_##MIDDLE,                 \
    .last = ERNIC_OP_##LAST, .only = ERNIC_OP_##ONLY
#define ONE(OP) OPS(OP, OP, OP, OP)

#define ANY     (ERNIC_WR_SIGNALED | ERNIC_WR_FENCE)
/* SOLICITED has an effect on SEND and WRITE_IMM only; verbs allow it everywhere. */
#define PACKET  (ANY | ERNIC_WR_SOLICITED)
/* INLINE: the request holds the payload instead of a gather list. */
#define GATHER  (PACKET | ERNIC_WR_INLINE)

/* The requests that each transport service supports: IBTA vol. 1, 11.4.1.1. */
const ErnicWr ernic_wr_table[ERNIC_WR_KINDS] = {
    [ERNIC_WR_SEND] = {
        "SEND", OPS(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY),
        .transports = CONN | UD | RAW, .allowed = GATHER,
        .wc_opcode = ERNIC_WC_SEND, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_SEND_IMM] = {
        "SEND_IMM",
        OPS(SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM, SEND_ONLY_IMM),
        .transports = CONN | UD, .allowed = GATHER,
        .flags = ERNIC_WRF_IMM,
        .wc_opcode = ERNIC_WC_SEND, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_SEND_INV] = {
        "SEND_INV",
        OPS(SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV, SEND_ONLY_INV),
        .transports = ACKED, .allowed = GATHER, .flags = ERNIC_WRF_INV,
        .wc_opcode = ERNIC_WC_SEND, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_WRITE] = {
        "WRITE", OPS(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY),
        .transports = CONN, .allowed = GATHER, .flags = ERNIC_WRF_RETH,
        .wc_opcode = ERNIC_WC_WRITE, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_WRITE_IMM] = {
        "WRITE_IMM",
        OPS(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM),
        .transports = CONN, .allowed = GATHER,
        .flags = ERNIC_WRF_RETH | ERNIC_WRF_IMM,
        .wc_opcode = ERNIC_WC_WRITE, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_READ] = {
        "READ", ONE(READ_REQUEST),
        .transports = ACKED, .allowed = PACKET,
        .flags = ERNIC_WRF_RETH | ERNIC_WRF_CREDIT | ERNIC_WRF_RESPONSE,
        .wc_opcode = ERNIC_WC_READ, .max_sge = ERNIC_MAX_SGE,
    },
    [ERNIC_WR_CMP_SWAP] = {
        "CMP_SWAP", ONE(COMPARE_SWAP),
        .transports = ACKED, .allowed = PACKET,
        .flags = ERNIC_WRF_CREDIT | ERNIC_WRF_RESPONSE | ERNIC_WRF_ATOMIC,
        .wc_opcode = ERNIC_WC_CMP_SWAP, .max_sge = 1,
    },
    [ERNIC_WR_FETCH_ADD] = {
        "FETCH_ADD", ONE(FETCH_ADD),
        .transports = ACKED, .allowed = PACKET,
        .flags = ERNIC_WRF_CREDIT | ERNIC_WRF_RESPONSE | ERNIC_WRF_ATOMIC,
        .wc_opcode = ERNIC_WC_FETCH_ADD, .max_sge = 1,
    },
    /* User space may invalidate its own keys, those of type 2 windows. */
    [ERNIC_WR_LOCAL_INV] = {
        "LOCAL_INV", .transports = CONN, .allowed = ANY,
        .flags = ERNIC_WRF_LOCAL | ERNIC_WRF_INV,
        .wc_opcode = ERNIC_WC_LOCAL_INV,
    },
    /* It carries bus addresses, so only the kernel may post it. */
    [ERNIC_WR_REG_MR] = {
        "REG_MR", .transports = CONN, .allowed = ANY,
        .flags = ERNIC_WRF_LOCAL | ERNIC_WRF_KERNEL,
        .wc_opcode = ERNIC_WC_REG_MR,
    },
    [ERNIC_WR_BIND_MW] = {
        "BIND_MW", .transports = CONN, .allowed = ANY,
        .flags = ERNIC_WRF_LOCAL,
        .wc_opcode = ERNIC_WC_BIND_MW,
    },
    /* A19.4: a WRITE of 8 bytes that is ordered with the READs. */
    [ERNIC_WR_ATOMIC_WRITE] = {
        "ATOMIC_WRITE", ONE(ATOMIC_WRITE),
        .transports = RC, .allowed = GATHER,
        .flags = ERNIC_WRF_RETH | ERNIC_WRF_CREDIT | ERNIC_WRF_RESPONSE |
                 ERNIC_WRF_WORD,
        .wc_opcode = ERNIC_WC_ATOMIC_WRITE, .max_sge = ERNIC_MAX_SGE,
    },
    /* A19.4: like a READ without data; it covers the data of earlier WRITEs. */
    [ERNIC_WR_FLUSH] = {
        "FLUSH", ONE(FLUSH),
        .transports = RC, .allowed = PACKET,
        .flags = ERNIC_WRF_RETH | ERNIC_WRF_CREDIT | ERNIC_WRF_RESPONSE,
        .wc_opcode = ERNIC_WC_FLUSH,
    },
    [ERNIC_WR_NOP] = {
        "NOP", .transports = CONN | UD | RAW, .allowed = ANY, .flags = ERNIC_WRF_LOCAL,
    },
    /* UD: a queue pair for this alone, without a peer. */
    [ERNIC_WR_MR_UPDATE] = {
        "MR_UPDATE", .transports = CONN | UD, .allowed = ANY, .flags = ERNIC_WRF_LOCAL,
    },
};

static ErnicFault gather_memory(Ernic *e, uint32_t pd, const ErnicSge *sge,
                                uint32_t num_sge, uint64_t off, void *buf, uint32_t len)
{
    switch (ernic_dma_gather(e, pd, sge, num_sge, off, buf, len)) {
    case ERNIC_DMA_OK:
        return ERNIC_FAULT_NONE;
    case ERNIC_DMA_PROT:
        return ERNIC_FAULT_SEND_PROT;
    case ERNIC_DMA_ABSENT:
        return ERNIC_FAULT_PAGE;
    default:
        return ERNIC_FAULT_SEND_DMA;
    }
}

/* Gather from memory and from the request itself, entry by entry. */
static ErnicFault gather_mixed(Ernic *e, uint32_t pd, const ErnicWqe *wqe, uint64_t off,
                               uint8_t *buf, uint32_t len)
{
    ErnicFault fault = ERNIC_FAULT_NONE;
    uint32_t i;

    for (i = 0; i < wqe->num_sge && len && !fault; i++) {
        const ErnicSge *sge = &wqe->sge[i];
        uint32_t n;

        if (off >= sge->len) {
            off -= sge->len;
            continue;
        }
        n = MIN(len, sge->len - off);
        if (wqe->inlined >> i & 1) {
            memcpy(buf, wqe->data + sge->addr + off, n);
        } else {
            fault = gather_memory(e, pd, sge, 1, off, buf, n);
        }
        buf += n;
        len -= n;
        off = 0;
    }
    return fault;
}

ErnicFault ernic_wqe_gather(Ernic *e, uint32_t pd, const ErnicWqe *wqe,
                            uint64_t off, void *buf, uint32_t len)
{
    if ((wqe->flags & ERNIC_WR_INLINE) && !wqe->num_sge) {
        memcpy(buf, wqe->data + off, len);
        return ERNIC_FAULT_NONE;
    }
    return wqe->inlined ? gather_mixed(e, pd, wqe, off, buf, len) :
           gather_memory(e, pd, wqe->sge, wqe->num_sge, off, buf, len);
}
