/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract: work requests, completions and events, the entries of the
 * queues in memory. A part of ernic_abi.h, which has the types.
 */
#ifndef ERNIC_ABI_QUEUE_H
#define ERNIC_ABI_QUEUE_H

/*
 * The record of a send queue, receive queue or SRQ, in guest memory at a multiple of 8
 * (ERNIC_FEATURE_RECORDS). Software writes pi and rings no doorbell, except that of a
 * send queue if wake is one of the indices that pi has just passed.
 */
struct ernic_record {
    ernic_le32 pi;              /* requests posted, modulo 2^32 */
    ernic_le32 wake;            /* send queue: written by the device; else unused */
};
ERNIC_ABI_SIZE(struct ernic_record, 8);

/* ------------------------------------------------------------------------
 * Work requests. A send queue is a ring of slots of (64 * stride) bytes; QP_CREATE
 * sets the stride. A request occupies one slot, and producer counters count slots.
 */
enum ernic_wr_opcode {
    ERNIC_WR_SEND, ERNIC_WR_SEND_IMM, ERNIC_WR_SEND_INV,
    ERNIC_WR_WRITE, ERNIC_WR_WRITE_IMM,
    ERNIC_WR_READ,
    ERNIC_WR_CMP_SWAP, ERNIC_WR_FETCH_ADD,
    ERNIC_WR_LOCAL_INV,
    ERNIC_WR_REG_MR,
    ERNIC_WR_BIND_MW,
    ERNIC_WR_ATOMIC_WRITE,
    ERNIC_WR_FLUSH,
    ERNIC_WR_COUNT
};

#define ERNIC_WR_SIGNALED   0x01    /* completes with an entry */
#define ERNIC_WR_SOLICITED  0x02    /* solicited event at the peer */
#define ERNIC_WR_FENCE      0x04    /* starts after earlier READs and atomics */
#define ERNIC_WR_INLINE     0x08    /* the data follows in the slot */
#define ERNIC_WR_FLAGS      0x0f

#define ERNIC_MAX_SGE       16
#define ERNIC_MAX_INLINE    512

struct ernic_sge {
    ernic_le64 addr;
    ernic_le32 length;          /* bytes; 0: none */
    ernic_le32 lkey;
};
ERNIC_ABI_SIZE(struct ernic_sge, 16);

/* Address vector: the path of a datagram or of a connection. */
struct ernic_av {
    uint8_t dgid[16];           /* network byte order */
    uint8_t dmac[6];
    uint8_t sgid_index;
    uint8_t hop_limit;
    ernic_le32 flow_label;      /* 20 bits */
    uint8_t tclass;
    uint8_t reserved[3];
};
ERNIC_ABI_SIZE(struct ernic_av, 32);

/*
 * The last field of the next three structures is the SRQ of the request at the peer
 * (XRCETH) on an XRC initiator, and reserved on other queue pairs.
 */
struct ernic_wqe_send {         /* SEND, SEND_IMM, SEND_INV of connections */
    uint8_t reserved[44];
    ernic_le32 xrc_srq;
};

struct ernic_wqe_rdma {         /* WRITE, WRITE_IMM, READ; ATOMIC_WRITE: 8 bytes */
    ernic_le64 raddr;
    ernic_le32 rkey;
    uint8_t reserved[32];
    ernic_le32 xrc_srq;
};

struct ernic_wqe_atomic {       /* CMP_SWAP, FETCH_ADD */
    ernic_le64 raddr;
    ernic_le32 rkey;
    ernic_le32 reserved0;
    ernic_le64 compare_add;
    ernic_le64 swap;
    uint8_t reserved1[12];
    ernic_le32 xrc_srq;
};

/* FLUSH: a mask of placement types, with the values of ibv_placement_type. */
#define ERNIC_FLUSH_GLOBAL      0x1     /* visible to all readers of the memory */
#define ERNIC_FLUSH_PERSISTENT  0x2     /* kept after a power failure */
/* The memory that it covers, with the values of ibv_selectivity_level. */
#define ERNIC_FLUSH_RANGE       0       /* length bytes at raddr */
#define ERNIC_FLUSH_MR          1       /* the whole region */

struct ernic_wqe_flush {        /* FLUSH: count is 0 */
    ernic_le64 raddr;
    ernic_le32 rkey;
    ernic_le32 length;
    uint8_t type;               /* ERNIC_FLUSH_GLOBAL, _PERSISTENT; not 0 */
    uint8_t level;              /* ERNIC_FLUSH_RANGE, _MR */
    uint8_t reserved[30];
};

struct ernic_wqe_ud {           /* SEND, SEND_IMM on UD and GSI */
    ernic_le32 qkey;
    ernic_le32 dest_qpn;        /* the low 24 bits count */
    ernic_le16 pkey_index;      /* GSI only */
    uint8_t reserved[6];
    struct ernic_av av;
};

struct ernic_wqe_reg_mr {       /* REG_MR: count is 0 */
    ernic_le32 key;             /* index of the MR and the new variant byte */
    ernic_le32 access;          /* ERNIC_ACCESS_* */
    ernic_le64 iova;
    ernic_le64 length;
    ernic_le64 list_addr;       /* address of npages 64-bit addresses */
    ernic_le32 npages;
    uint8_t page_shift;
    uint8_t reserved[11];
};

struct ernic_wqe_bind_mw {      /* BIND_MW: count is 0 */
    ernic_le32 rkey;            /* current key of the window */
    ernic_le32 new_rkey;        /* type 2: same index, new variant byte;
                                   type 1: ignored, the device increments the
                                   variant of rkey */
    ernic_le32 lkey;            /* key of the region */
    ernic_le32 access;
    ernic_le64 addr;
    ernic_le64 length;          /* bytes; 0 unbinds a type 1 window */
    uint8_t reserved[16];
};

/* Every send request begins with this; SGEs or inline bytes follow. */
struct ernic_wqe {
    uint8_t opcode;             /* enum ernic_wr_opcode */
    uint8_t flags;              /* ERNIC_WR_* */
    ernic_le16 count;           /* number of SGEs; with ERNIC_WR_INLINE bytes */
    uint8_t imm[4];             /* immediate data, big-endian; or the R_Key
                                   to invalidate, little-endian */
    ernic_le64 wr_id;
    union {
        struct ernic_wqe_send send;
        struct ernic_wqe_rdma rdma;
        struct ernic_wqe_atomic atomic;
        struct ernic_wqe_flush flush;
        struct ernic_wqe_ud ud;
        struct ernic_wqe_reg_mr reg_mr;
        struct ernic_wqe_bind_mw bind_mw;
        uint8_t raw[48];
    };
};
ERNIC_ABI_SIZE(struct ernic_wqe, 64);
ERNIC_ABI_OFFSET(struct ernic_wqe, send.xrc_srq, 60);
ERNIC_ABI_OFFSET(struct ernic_wqe, rdma.xrc_srq, 60);
ERNIC_ABI_OFFSET(struct ernic_wqe, atomic.xrc_srq, 60);

#define ERNIC_SQ_STRIDE_MAX 9   /* 64 + 512 bytes inline */
#define ERNIC_RQ_STRIDE_MAX 5   /* 16 + 16 SGEs, rounded up */

/* Every receive request (RQ and SRQ) begins with this; SGEs follow. */
struct ernic_rwqe {
    ernic_le64 wr_id;
    ernic_le16 num_sge;
    uint8_t reserved[6];
};
ERNIC_ABI_SIZE(struct ernic_rwqe, 16);

/* ------------------------------------------------------------------------
 * Completions. The device writes each slot of a completion queue with phase 1 in
 * the first round of the ring, 0 in the second, and so on. Software clears the ring
 * before it creates the queue. CQ_RESIZE keeps the counters: before it, software sets
 * the phase of each slot of the new ring to the inverse of the phase of the entry of
 * [ci, ci + depth) that belongs there.
 */
enum ernic_wc_status {          /* the values of ibv_wc_status */
    ERNIC_WC_SUCCESS = 0,
    ERNIC_WC_LOC_LEN_ERR = 1,
    ERNIC_WC_LOC_QP_OP_ERR = 2,
    ERNIC_WC_LOC_PROT_ERR = 4,
    ERNIC_WC_WR_FLUSH_ERR = 5,
    ERNIC_WC_MW_BIND_ERR = 6,
    ERNIC_WC_BAD_RESP_ERR = 7,
    ERNIC_WC_LOC_ACCESS_ERR = 8,
    ERNIC_WC_REM_INV_REQ_ERR = 9,
    ERNIC_WC_REM_ACCESS_ERR = 10,
    ERNIC_WC_REM_OP_ERR = 11,
    ERNIC_WC_RETRY_EXC_ERR = 12,
    ERNIC_WC_RNR_RETRY_EXC_ERR = 13,
    ERNIC_WC_REM_ABORT_ERR = 16,
    ERNIC_WC_FATAL_ERR = 19,
    ERNIC_WC_GENERAL_ERR = 21,
    ERNIC_WC_STATUS_COUNT
};

enum ernic_wc_opcode {
    ERNIC_WC_SEND, ERNIC_WC_WRITE, ERNIC_WC_READ, ERNIC_WC_CMP_SWAP,
    ERNIC_WC_FETCH_ADD, ERNIC_WC_LOCAL_INV, ERNIC_WC_REG_MR, ERNIC_WC_BIND_MW,
    ERNIC_WC_RECV, ERNIC_WC_RECV_WRITE_IMM, ERNIC_WC_ATOMIC_WRITE,
    ERNIC_WC_FLUSH, ERNIC_WC_OPCODE_COUNT
};

#define ERNIC_CQE_PHASE     0x01
#define ERNIC_CQE_IMM       0x02    /* imm: immediate data, big-endian */
#define ERNIC_CQE_INV       0x04    /* imm: the invalidated R_Key, little-endian */
#define ERNIC_CQE_GRH       0x08    /* the buffer begins with 40 bytes of GRH */
#define ERNIC_CQE_SOLICITED 0x10
#define ERNIC_CQE_RQ        0x20    /* the request is a receive request */
#define ERNIC_CQE_VLAN      0x40
#define ERNIC_CQE_XRC       0x80    /* src_qp: the SRQ of the request */

struct ernic_cqe {
    ernic_le64 wr_id;
    ernic_le32 qpn;
    ernic_le32 byte_len;        /* bytes of the message, GRH included */
    uint8_t imm[4];
    ernic_le32 src_qp;          /* UD: sender; XRC: number of the SRQ */
    ernic_le32 index;           /* of the request in its queue */
    ernic_le32 vendor_err;      /* number of the fault */
    ernic_le64 timestamp;       /* ns of the device's clock */
    uint8_t smac[6];            /* UD */
    ernic_le16 vlan;            /* UD */
    ernic_le16 pkey_index;      /* GSI */
    uint8_t reserved[11];
    uint8_t opcode;             /* enum ernic_wc_opcode */
    uint8_t status;             /* enum ernic_wc_status */
    uint8_t flags;              /* ERNIC_CQE_*; the last byte written */
};
ERNIC_ABI_SIZE(struct ernic_cqe, 64);

/* ------------------------------------------------------------------------
 * Events, with the same phase rule. Completion events and asynchronous events have
 * the same format. CQ_CREATE chooses the event queue of a completion queue.
 */
enum ernic_event {
    ERNIC_EV_COMPLETION,        /* element: CQ */
    ERNIC_EV_CQ_ERR,            /* CQ */
    ERNIC_EV_QP_FATAL,          /* QP */
    ERNIC_EV_QP_REQ_ERR,        /* QP */
    ERNIC_EV_QP_ACCESS_ERR,     /* QP */
    ERNIC_EV_COMM_EST,          /* QP */
    ERNIC_EV_SQ_DRAINED,        /* QP */
    ERNIC_EV_LAST_WQE,          /* QP: last WQE reached */
    ERNIC_EV_SRQ_ERR,           /* SRQ */
    ERNIC_EV_SRQ_LIMIT,         /* SRQ */
    ERNIC_EV_BAD_DOORBELL,      /* element: queue, detail: enum ernic_db_kind */
    ERNIC_EV_PORT_ACTIVE,       /* port */
    ERNIC_EV_PORT_ERR,          /* port */
    ERNIC_EV_GID_CHANGE,        /* port */
    ERNIC_EV_PAGE_FAULT,        /* QP, which waits for PAGE_RESUME; detail:
                                   key of the region */
    ERNIC_EV_COUNT
};

#define ERNIC_EQE_WRITE     0x01    /* PAGE_FAULT: the access is a write */

struct ernic_eqe {
    ernic_le32 element;         /* number of the queue, queue pair or port */
    ernic_le32 detail;
    ernic_le64 timestamp;       /* ns of the device's clock */
    ernic_le64 offset;          /* PAGE_FAULT: of the absent byte, from the
                                   beginning of page 0; otherwise 0 */
    ernic_le32 length;          /* PAGE_FAULT: bytes needed from there on,
                                   at least 1; otherwise 0 */
    uint8_t flags;              /* ERNIC_EQE_* */
    uint8_t reserved;
    uint8_t type;               /* enum ernic_event */
    uint8_t phase;              /* 0 or 1; the last byte written */
};
ERNIC_ABI_SIZE(struct ernic_eqe, 32);

#endif /* ERNIC_ABI_QUEUE_H */
