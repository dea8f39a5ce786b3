/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send work requests. The interface copies a request from its ring once and checks it
 * once against this table. After that the engine uses its private copy only.
 */
#ifndef ERNIC_OBJECTS_WQE_H
#define ERNIC_OBJECTS_WQE_H

#include "base/device.h"
#include "base/fault.h"
#include "objects/buf.h"
#include "objects/dma.h"
#include "objects/mr_update.h"
#include "hw/rdma-ernic/ernic_abi.h"

/*
 * Requests that an interface decodes and the verbs interface has not: NOP, and
 * ErnicMrUpdate. Their numbers follow those of enum ernic_wr_opcode.
 */
enum { ERNIC_WR_NOP = ERNIC_WR_COUNT, ERNIC_WR_MR_UPDATE, ERNIC_WR_KINDS };
/*
 * SGEs and inline bytes of a request, at most: as much as fits beside the control segment
 * of the longest request of the mlx5 interface. The verbs interface has ERNIC_MAX_SGE and
 * ERNIC_MAX_INLINE.
 */
#define ERNIC_WQE_SGE       63
#define ERNIC_WQE_INLINE    (ERNIC_WQE_SGE * 16 - 4)

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

#define ERNIC_WRF_RETH      0x01        /* has a remote address and R_Key */
#define ERNIC_WRF_CREDIT    0x02        /* counts against max_rd_atomic */
#define ERNIC_WRF_RESPONSE  0x04        /* completes by its own response */
#define ERNIC_WRF_LOCAL     0x08        /* sends no packet */
#define ERNIC_WRF_ATOMIC    0x10
#define ERNIC_WRF_IMM       0x20
#define ERNIC_WRF_INV       0x40
#define ERNIC_WRF_KERNEL    0x80        /* not from user space */
#define ERNIC_WRF_WORD      0x100       /* 8 bytes; an empty response */

/* Rows by opcode. */
extern const ErnicWr ernic_wr_table[ERNIC_WR_KINDS];

/* NULL: no such opcode. Inline: each request asks several times. */
static inline const ErnicWr *ernic_wr(uint8_t opcode)
{
    return opcode < ERNIC_WR_KINDS ? &ernic_wr_table[opcode] : NULL;
}

/* The private copy of one request, and its progress. */
struct ErnicWqe {
    uint64_t wr_id;
    uint32_t index;             /* of the request, free-running */
    uint32_t unit, units;       /* first unit in the ring, and number of units
                                   (see ErnicWq) */
    uint8_t opcode;             /* enum ernic_wr_opcode, or ERNIC_WR_NOP etc. */
    uint8_t flags;
    uint8_t num_sge;            /* with ERNIC_WR_INLINE: 0, or see inlined */
    /*
     * A request with inline bytes and pointers: bit by index of sge. The address of such
     * an entry is the offset of its bytes in data, beyond all entries.
     */
    uint64_t inlined;
    uint8_t imm[4];             /* as in struct ernic_wqe */
    uint8_t ud_priority;        /* UD: as in ErnicAv */
    uint32_t inv_rkey;
    uint32_t len;               /* of the message; atomics 8 */
    uint64_t raddr;
    uint32_t rkey;
    uint32_t xrc_srq;           /* XRC: number of the peer's SRQ */
    uint64_t compare_add, swap; /* FLUSH: length and FETH */
    struct ernic_wqe_ud ud;     /* host order, UD and GSI */
    /* ErnicFault found on fetch; reported once all earlier requests are complete. */
    uint8_t fault;
    uint16_t ud_sport;          /* UD: udp_sport, as in ErnicAv */
    /* Written by the requester when it starts the request. */
    uint32_t first_psn, npsn;   /* npsn: 0 for local operations */
    bool done;                  /* local operation: executed */
    uint64_t tx_serial;         /* UC, UD: train of its last packet */
    /* Written by the completer: number of response packets received. */
    uint32_t rsp_done;
    union {
        ErnicSge sge[ERNIC_WQE_SGE];
        uint8_t data[ERNIC_WQE_INLINE];
        struct ernic_wqe_reg_mr reg_mr;         /* host order */
        struct ernic_wqe_bind_mw bind_mw;       /* host order */
        ErnicMrUpdate update;
    };
};

/* Whether the bytes of @sge, one of those inlined, are in data and beyond all entries. */
static inline bool ernic_wqe_inlined_ok(const ErnicWqe *wqe, const ErnicSge *sge)
{
    return sge->addr >= wqe->num_sge * sizeof(*sge) && sge->addr <= ERNIC_WQE_INLINE &&
           sge->len <= ERNIC_WQE_INLINE - sge->addr;
}

/* Copy bytes [@off, @off + @len) of the message. FAULT_PAGE: e->absent is set. */
ErnicFault ernic_wqe_gather(Ernic *e, uint32_t pd, const ErnicWqe *wqe,
                            uint64_t off, void *buf, uint32_t len);

#endif /* ERNIC_OBJECTS_WQE_H */
