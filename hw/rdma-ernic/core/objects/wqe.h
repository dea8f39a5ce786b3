/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send work requests. The face copies a request from its ring once and judges it
 * once against this table; from then on the request is a private value.
 */
#ifndef ERNIC_WQE_H
#define ERNIC_WQE_H

#include "base/fault.h"
#include "objects/buf.h"
#include "objects/dma.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* Admission and mapping of a work request opcode; a row of the WR table. */
typedef struct ErnicWr {
    const char *name;
    uint8_t first, middle, last, only;  /* packet operations, low 5 bits */
    uint8_t transports;                 /* bit per ErnicTransport */
    uint16_t flags;                     /* ERNIC_WRF_* */
    uint8_t allowed;                    /* ERNIC_WR_* flags it may carry */
    uint8_t wc_opcode;
    uint8_t max_sge;
} ErnicWr;

#define ERNIC_WRF_RETH      0x01        /* names remote memory */
#define ERNIC_WRF_CREDIT    0x02        /* takes a read/atomic credit */
#define ERNIC_WRF_RESPONSE  0x04        /* is completed by a response of its own */
#define ERNIC_WRF_LOCAL     0x08        /* sends no packet */
#define ERNIC_WRF_ATOMIC    0x10
#define ERNIC_WRF_IMM       0x20
#define ERNIC_WRF_INV       0x40
#define ERNIC_WRF_KERNEL    0x80        /* not from user space */
#define ERNIC_WRF_WORD      0x100       /* carries 8 bytes; its response none */

/* NULL: no such opcode. */
const ErnicWr *ernic_wr(uint8_t opcode);

/* The private copy of one request, and how far it is. */
typedef struct ErnicWqe {
    uint64_t wr_id;
    uint32_t index;             /* of the request, free-running */
    uint32_t unit, units;       /* where in its ring it begins, and how much of it
                                   it takes, as the face counts (ErnicWq) */
    uint8_t opcode;             /* enum ernic_wr_opcode */
    uint8_t flags;
    uint8_t num_sge;            /* 0 with ERNIC_WR_INLINE */
    uint8_t imm[4];             /* as in struct ernic_wqe */
    uint32_t inv_rkey;
    uint32_t len;               /* of the message; atomics 8 */
    uint64_t raddr;
    uint32_t rkey;
    uint32_t xrc_srq;           /* XRC: number of the peer's SRQ */
    uint64_t compare_add, swap; /* FLUSH: bytes to be flushed, FETH */
    struct ernic_wqe_ud ud;     /* host order, UD and GSI */
    /* ErnicFault that was found in fetching; reported when its turn comes. */
    uint8_t fault;
    /* Written by the requester when it starts the request. */
    uint32_t first_psn, npsn;   /* npsn: 0 for local operations */
    bool done;                  /* local operation: executed */
    uint64_t tx_serial;         /* UC, UD: the train of its last packet */
    /* Written by the completer: packets of the response that have come. */
    uint32_t rsp_done;
    union {
        ErnicSge sge[ERNIC_MAX_SGE];
        uint8_t data[ERNIC_MAX_INLINE];
        struct ernic_wqe_reg_mr reg_mr;         /* host order */
        struct ernic_wqe_bind_mw bind_mw;       /* host order */
    };
} ErnicWqe;

/* Bytes [@off, @off + @len) of the message. FAULT_PAGE: e->absent is. */
ErnicFault ernic_wqe_gather(Ernic *e, uint32_t pd, const ErnicWqe *wqe,
                            uint64_t off, void *buf, uint32_t len);

#endif /* ERNIC_WQE_H */
