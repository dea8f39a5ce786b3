/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract of the verbs face: registers, doorbells, work requests,
 * completions, events and commands; docs/verbs-face.md explains their use.
 * Shared, byte for byte, by device, kernel driver, provider and tests. All
 * fields are little-endian unless the comment says otherwise; reserved fields
 * are written 0 by software and refused if not.
 */
#ifndef ERNIC_ABI_H
#define ERNIC_ABI_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#define ERNIC_ABI_SIZE(type, size) static_assert(sizeof(type) == (size))
#define ERNIC_ABI_OFFSET(type, field, off) \
    static_assert(__builtin_offsetof(type, field) == (off))
#else
#include <stdint.h>
#define ERNIC_ABI_SIZE(type, size) \
    _Static_assert(sizeof(type) == (size), #type " is not " #size " bytes")
#define ERNIC_ABI_OFFSET(type, field, off) \
    _Static_assert(__builtin_offsetof(type, field) == (off), \
                   #field " is not at " #off)
#endif

#define ERNIC_ABI_VERSION 1

#ifdef __KERNEL__               /* types that sparse tells apart */
typedef __le16 ernic_le16;
typedef __le32 ernic_le32;
typedef __le64 ernic_le64;
#else
typedef uint16_t ernic_le16;
typedef uint32_t ernic_le32;
typedef uint64_t ernic_le64;
#endif

/* ------------------------------------------------------------------------
 * The PCI function. BAR 2 begins with the control page, which holds these
 * registers; db_offset tells where the doorbell pages begin. BAR 4 holds the
 * MSI-X table. BAR 0 is reserved.
 *
 * Registers are read and written in 32 bits; those of 64 bits also whole, or
 * in two halves of any order. Anything else reads 0 and writes nothing.
 */
#define ERNIC_PCI_VENDOR    0x1af4
#define ERNIC_PCI_DEVICE    0x10f4

#define ERNIC_BAR_REGS      2
#define ERNIC_BAR_MSIX      4

#define ERNIC_MAGIC         0x43494e45      /* "ENIC" in memory */

/* features */
#define ERNIC_FEATURE_ETH       0x1     /* the device is a network card too */
#define ERNIC_FEATURE_ROCE_ETH  0x2     /* RoCEv2 is bound by that card's MTU */
#define ERNIC_FEATURE_XRC       0x4     /* queue pairs and SRQs of XRC */
#define ERNIC_FEATURE_ATOMIC_WRITE 0x8  /* requests of that name */
#define ERNIC_FEATURE_SRQ_RESIZE 0x10   /* SRQ_MODIFY takes a depth */
#define ERNIC_FEATURE_FLUSH     0x20    /* requests of that name, and rights */

/* control; what is not listed is written 0 */
#define ERNIC_CONTROL_ENABLE    0x1     /* 0 -> 1 takes the ring registers into
                                           use, 1 -> 0 resets the device */
#define ERNIC_CONTROL_RESET     0x2     /* resets the device; reads 0 */

/* status */
#define ERNIC_STATUS_ENABLED    0x1     /* commands and doorbells are taken */
#define ERNIC_STATUS_FATAL      0x2     /* neither is, until a reset */
#define ERNIC_STATUS_LINK       0x4     /* the link is up */

/* error: why ENABLE was refused, the device is FATAL, or cmd_pi was refused */
enum ernic_dev_error {
    ERNIC_DEVERR_NONE,
    ERNIC_DEVERR_RING,          /* ring registers out of range, on ENABLE */
    ERNIC_DEVERR_CMD_INDEX,     /* cmd_pi more than a ring beyond cmd_ci */
    ERNIC_DEVERR_CMD_DMA,       /* fatal: a ring in memory did not answer */
    ERNIC_DEVERR_COUNT
};

#define ERNIC_RING_SHIFT_MAX    10      /* entries of a command ring: 2^n */

struct ernic_regs {
    ernic_le32 magic;           /* RO ERNIC_MAGIC */
    ernic_le32 abi_version;     /* RO ERNIC_ABI_VERSION */
    ernic_le32 features;        /* RO ERNIC_FEATURE_* */
    ernic_le32 status;          /* RO ERNIC_STATUS_* */
    ernic_le32 control;         /* RW ERNIC_CONTROL_* */
    ernic_le32 error;           /* RO enum ernic_dev_error; until a reset */
    ernic_le32 num_vectors;     /* RO MSI-X vectors */
    ernic_le32 num_uctx;        /* RO doorbell pages, that of context 0 too */
    ernic_le32 db_offset;       /* RO of the page of context 0, in this BAR */
    ernic_le32 db_shift;        /* RO from one page to the next: 2^n bytes */
    ernic_le64 time;            /* RO ns, the clock of all timestamps */
    ernic_le64 cmd_addr;        /* RW command ring; a multiple of 64. This
                                   and the next two: only while disabled */
    ernic_le64 rsp_addr;        /* RW response ring, likewise */
    ernic_le32 ring_shift;      /* RW entries of each ring: 2^n, n <= 10 */
    ernic_le32 cmd_pi;          /* RW doorbell: commands written, modulo 2^32 */
    ernic_le32 cmd_ci;          /* RO commands executed */
    ernic_le32 link_speed;      /* RO Mb/s */
    ernic_le64 mem_offset;      /* RO of the device's own memory, in this BAR */
    ernic_le64 mem_size;        /* RO bytes, a multiple of 4096; 0: none */
};
ERNIC_ABI_SIZE(struct ernic_regs, 0x60);
ERNIC_ABI_OFFSET(struct ernic_regs, status, 0x0c);
ERNIC_ABI_OFFSET(struct ernic_regs, num_vectors, 0x18);
ERNIC_ABI_OFFSET(struct ernic_regs, time, 0x28);
ERNIC_ABI_OFFSET(struct ernic_regs, ring_shift, 0x40);
ERNIC_ABI_OFFSET(struct ernic_regs, link_speed, 0x4c);
ERNIC_ABI_OFFSET(struct ernic_regs, mem_offset, 0x50);

/*
 * Where a bus address is asked for, these name the device's own memory: this
 * one its first byte, which BAR 2 shows at mem_offset.
 */
#define ERNIC_ADDR_MEMORY       0x8000000000000000ull

#include "ernic_abi_eth.h"

/* ------------------------------------------------------------------------
 * Doorbells: one 64-bit store to the beginning of a doorbell page. Obeyed only
 * if the queue belongs to the context of that page.
 *   31:0   index: a free-running counter of entries (not bytes), modulo 2^32
 *   55:32  queue number
 *   59:56  kind
 *   63:60  reserved, 0
 */
enum ernic_db_kind {
    ERNIC_DB_SQ,                /* send queue producer */
    ERNIC_DB_RQ,                /* receive queue producer */
    ERNIC_DB_SRQ,               /* shared receive queue producer */
    ERNIC_DB_CQ,                /* completion queue consumer */
    ERNIC_DB_CQ_ARM,            /* consumer (with ci_addr: entries seen), and
                                   arm for the next completion */
    ERNIC_DB_CQ_ARM_SOLICITED,  /* consumer, and arm for solicited or error */
    ERNIC_DB_EQ,                /* event queue consumer */
    ERNIC_DB_KIND_COUNT
};

/*
 * In every doorbell page, read in 64 bits: the time of struct ernic_regs, for
 * processes, which see no control page.
 */
#define ERNIC_DB_TIME   8

#define ERNIC_DB(kind, queue, index)                                        \
    (((uint64_t)(kind) << 56) | ((uint64_t)((queue) & 0xffffff) << 32) |    \
     (uint32_t)(index))

/* ------------------------------------------------------------------------
 * Work requests. A send queue is a ring of slots of (64 * stride) bytes, the
 * stride being chosen when the queue pair is created; a request occupies one
 * slot. Producer counters count slots.
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

#define ERNIC_WR_SIGNALED   0x01
#define ERNIC_WR_SOLICITED  0x02
#define ERNIC_WR_FENCE      0x04
#define ERNIC_WR_INLINE     0x08
#define ERNIC_WR_FLAGS      0x0f

#define ERNIC_MAX_SGE       16
#define ERNIC_MAX_INLINE    512

struct ernic_sge {
    ernic_le64 addr;
    ernic_le32 length;          /* 0 means 0 bytes */
    ernic_le32 lkey;
};
ERNIC_ABI_SIZE(struct ernic_sge, 16);

/* Address vector of a datagram, and of a connection's path. */
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
 * What follows ends, on an XRC initiator, with the number of the SRQ that the
 * request is for (XRCETH); elsewhere that is reserved.
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

/* FLUSH: where the data is to be, numbered as ibv_placement_type, a mask ... */
#define ERNIC_FLUSH_GLOBAL      0x1     /* visible to whatever reads the memory */
#define ERNIC_FLUSH_PERSISTENT  0x2     /* there after power was lost */
/* ... and of which memory, as ibv_selectivity_level. */
#define ERNIC_FLUSH_RANGE       0       /* raddr, length */
#define ERNIC_FLUSH_MR          1       /* the region, whatever these say */

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
    ernic_le32 dest_qpn;
    ernic_le16 pkey_index;      /* GSI only */
    uint8_t reserved[6];
    struct ernic_av av;
};

struct ernic_wqe_reg_mr {       /* REG_MR: count is 0 */
    ernic_le32 key;             /* index of the MR and the new variant byte */
    ernic_le32 access;          /* ERNIC_ACCESS_* */
    ernic_le64 iova;
    ernic_le64 length;
    ernic_le64 list_addr;       /* guest address of npages 64-bit addresses */
    ernic_le32 npages;
    uint8_t page_shift;
    uint8_t reserved[11];
};

struct ernic_wqe_bind_mw {      /* BIND_MW: count is 0 */
    ernic_le32 rkey;            /* the window: its key, as software knows it */
    ernic_le32 new_rkey;        /* type 2: same index, new variant byte;
                                   type 1: ignored, the device takes rkey with
                                   its variant stepped */
    ernic_le32 lkey;            /* the region beneath */
    ernic_le32 access;
    ernic_le64 addr;
    ernic_le64 length;          /* 0 unbinds a type 1 window */
    uint8_t reserved[16];
};

/* Head of every send work request; segments or inline bytes follow it. */
struct ernic_wqe {
    uint8_t opcode;             /* enum ernic_wr_opcode */
    uint8_t flags;              /* ERNIC_WR_* */
    ernic_le16 count;           /* SGEs, or bytes with ERNIC_WR_INLINE */
    uint8_t imm[4];             /* immediate as on the wire (big-endian), or
                                   the rkey to invalidate (little-endian) */
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

/* Head of every receive work request (RQ and SRQ); SGEs follow it. */
struct ernic_rwqe {
    ernic_le64 wr_id;
    ernic_le16 num_sge;
    uint8_t reserved[6];
};
ERNIC_ABI_SIZE(struct ernic_rwqe, 16);

/* ------------------------------------------------------------------------
 * Completions. Slot k of a completion queue of depth n is written with phase
 * 1 in the first round, 0 in the second, and so on; software clears the ring
 * before it creates the queue. CQ_RESIZE keeps the counters, so before it
 * software gives each slot of the new ring the phase that the entry expected
 * there, of [ci, ci + depth), does not have.
 */
enum ernic_wc_status {          /* numbered as ibv_wc_status */
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
#define ERNIC_CQE_IMM       0x02    /* imm holds immediate data, big-endian */
#define ERNIC_CQE_INV       0x04    /* imm holds the invalidated rkey, LE */
#define ERNIC_CQE_GRH       0x08    /* the first 40 bytes are the GRH area */
#define ERNIC_CQE_SOLICITED 0x10
#define ERNIC_CQE_RQ        0x20    /* of a receive queue */
#define ERNIC_CQE_VLAN      0x40
#define ERNIC_CQE_XRC       0x80    /* src_qp is the SRQ of the request */

struct ernic_cqe {
    ernic_le64 wr_id;
    ernic_le32 qpn;
    ernic_le32 byte_len;        /* bytes of the message; GRH area included */
    uint8_t imm[4];
    ernic_le32 src_qp;          /* UD; XRC: the SRQ */
    ernic_le32 index;           /* counter of the request in its queue */
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
 * Events, with the same phase rule. Completion and asynchronous events share
 * the format; which queue a completion queue reports to is its own choice.
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
    ERNIC_EV_PAGE_FAULT,        /* QP, which waits for PAGE_RESUME; detail: the
                                   key of the region */
    ERNIC_EV_COUNT
};

#define ERNIC_EQE_WRITE     0x01    /* PAGE_FAULT: to be written */

struct ernic_eqe {
    ernic_le32 element;         /* number of the queue, queue pair or port */
    ernic_le32 detail;
    ernic_le64 timestamp;       /* ns of the device's clock */
    ernic_le64 offset;          /* PAGE_FAULT: of the byte that is not there, as
                                   MR_PAGES counts; else 0 */
    ernic_le32 length;          /* PAGE_FAULT: bytes that will be wanted from
                                   there on, at least 1; else 0 */
    uint8_t flags;              /* ERNIC_EQE_* */
    uint8_t reserved;
    uint8_t type;               /* enum ernic_event */
    uint8_t phase;              /* 0 or 1; the last byte written */
};
ERNIC_ABI_SIZE(struct ernic_eqe, 32);

/* ------------------------------------------------------------------------
 * Commands: 64 bytes in, 64 bytes out, lists and long structures in guest
 * memory. A command that fails has changed nothing.
 */
enum ernic_status {
    ERNIC_OK,
    ERNIC_ERR_OPCODE,           /* no such command */
    ERNIC_ERR_RESERVED,         /* a reserved field is not 0 */
    ERNIC_ERR_HANDLE,           /* no such object */
    ERNIC_ERR_PARAM,            /* a value is out of range */
    ERNIC_ERR_STATE,            /* not in this state */
    ERNIC_ERR_ATTR_MASK,        /* attribute missing or not allowed */
    ERNIC_ERR_NO_RESOURCE,      /* no object, or no memory for it, left */
    ERNIC_ERR_BUSY,             /* still referred to */
    ERNIC_ERR_DMA,              /* guest memory did not answer */
    ERNIC_ERR_PERM,             /* the object belongs to another context */
    ERNIC_ERR_FULL,             /* a doorbell beyond the queue's depth */
    ERNIC_STATUS_COUNT
};

enum ernic_cmd_opcode {
    ERNIC_CMD_NOP, ERNIC_CMD_QUERY_DEVICE, ERNIC_CMD_QUERY_PORT,
    ERNIC_CMD_QUERY_STATS, ERNIC_CMD_SET_GID, ERNIC_CMD_SET_PKEY,
    ERNIC_CMD_UCTX_ALLOC, ERNIC_CMD_UCTX_FREE, ERNIC_CMD_PD_ALLOC,
    ERNIC_CMD_PD_FREE, ERNIC_CMD_EQ_CREATE, ERNIC_CMD_EQ_DESTROY,
    ERNIC_CMD_CQ_CREATE, ERNIC_CMD_CQ_RESIZE, ERNIC_CMD_CQ_MODERATE,
    ERNIC_CMD_CQ_DESTROY, ERNIC_CMD_SRQ_CREATE, ERNIC_CMD_SRQ_MODIFY,
    ERNIC_CMD_SRQ_QUERY, ERNIC_CMD_SRQ_DESTROY, ERNIC_CMD_MR_REG,
    ERNIC_CMD_MR_ALLOC, ERNIC_CMD_MR_FREE, ERNIC_CMD_MW_ALLOC,
    ERNIC_CMD_MW_FREE, ERNIC_CMD_QP_CREATE, ERNIC_CMD_QP_MODIFY,
    ERNIC_CMD_QP_QUERY, ERNIC_CMD_QP_DESTROY, ERNIC_CMD_MCAST_ATTACH,
    ERNIC_CMD_MCAST_DETACH, ERNIC_CMD_MR_REREG, ERNIC_CMD_QUERY_TIMING,
    ERNIC_CMD_MR_PAGES, ERNIC_CMD_PAGE_RESUME, ERNIC_CMD_FLOW_CREATE,
    ERNIC_CMD_FLOW_DESTROY, ERNIC_CMD_RSS_CREATE, ERNIC_CMD_RSS_DESTROY,
    ERNIC_CMD_COUNTER_ALLOC, ERNIC_CMD_COUNTER_FREE, ERNIC_CMD_COUNTER_BIND,
    ERNIC_CMD_COUNTER_QUERY, ERNIC_CMD_COUNT
};

#define ERNIC_ACCESS_LOCAL_WRITE    0x01
#define ERNIC_ACCESS_REMOTE_WRITE   0x02
#define ERNIC_ACCESS_REMOTE_READ    0x04
#define ERNIC_ACCESS_REMOTE_ATOMIC  0x08
#define ERNIC_ACCESS_MW_BIND        0x10
#define ERNIC_ACCESS_ZERO_BASED     0x20
#define ERNIC_ACCESS_FLUSH_GLOBAL   0x100
#define ERNIC_ACCESS_FLAGS          0x13f
#define ERNIC_ACCESS_ON_DEMAND      0x40    /* MR_REG beside them: the region has
                                               the pages of MR_PAGES */
#define ERNIC_ACCESS_FLUSH_PERSISTENT 0x200 /* of queue pairs; no region has it */
#define ERNIC_ACCESS_QP             0x30e   /* what a queue pair may allow */

/* A buffer in guest memory: one extent, or a list of equal pages. */
struct ernic_buf_desc {
    ernic_le64 addr;            /* levels 0: the buffer; 1: a list of npages
                                   addresses; 2: a list of pages of 4096 bytes
                                   of such addresses, 512 each */
    ernic_le32 npages;          /* levels 0: 0 */
    uint8_t page_shift;         /* 12 to 31; levels 0: 0 */
    uint8_t levels;
    uint8_t reserved[2];
};
ERNIC_ABI_SIZE(struct ernic_buf_desc, 16);

struct ernic_cmd_query {        /* QUERY_*: answer written to memory */
    ernic_le64 addr;
    ernic_le32 length;          /* bytes at addr; the answer is cut to it */
    ernic_le32 handle;          /* SRQ_QUERY, QP_QUERY */
};

struct ernic_cmd_set_gid {
    uint8_t gid[16];            /* network order; all 0 clears the entry */
    uint8_t mac[6];
    ernic_le16 vlan;            /* 0xffff: none */
    uint8_t index;
};

struct ernic_cmd_set_pkey {
    ernic_le16 index;
    ernic_le16 pkey;            /* 0: invalid entry */
};

struct ernic_cmd_handle {       /* *_FREE, *_DESTROY */
    ernic_le32 handle;
};

struct ernic_cmd_eq_create {
    struct ernic_buf_desc buf;
    ernic_le32 depth;           /* power of two, 2 to 2^16 */
    ernic_le16 vector;
    uint8_t async;              /* 1: also takes the asynchronous events */
};

struct ernic_cmd_cq_create {    /* CQ_RESIZE: handle, buf, depth */
    struct ernic_buf_desc buf;
    ernic_le64 ci_addr;         /* 32-bit consumer counter in memory, read when
                                   the ring looks full; 0: doorbell only */
    ernic_le32 depth;           /* power of two, 2 to 2^20 */
    ernic_le32 eq;              /* 0xffffffff: none */
    ernic_le32 handle;
};

struct ernic_cmd_cq_moderate {
    ernic_le32 handle;
    ernic_le16 count;           /* completions per event, 0 and 1: each */
    ernic_le16 period_us;       /* longest delay */
};

/*
 * An XRC domain is a protection domain of context 0: XRC targets have it as
 * theirs, and any context may put SRQs into it.
 *
 * SRQ_MODIFY sets the limit or, with a depth, the ring: buf is one of that depth
 * and of the stride that the queue has, with each request that is posted in the
 * slot of its index. Fields for the rest are 0.
 */
struct ernic_cmd_srq {          /* SRQ_CREATE, SRQ_MODIFY */
    struct ernic_buf_desc buf;
    ernic_le32 handle;          /* MODIFY */
    ernic_le32 pd;
    ernic_le32 depth;           /* power of two */
    ernic_le32 limit;           /* 0: disarmed */
    ernic_le16 stride;          /* units of 64 bytes, 1 to 5 */
    uint8_t reserved[2];
    ernic_le32 xrcd;            /* XRC domain; 0: an SRQ for RC, UC, UD */
    ernic_le32 cq;              /* with xrcd: where its requests complete */
};

/* What MR_REREG changes; fields for the rest are 0. */
#define ERNIC_REREG_TRANS       0x1     /* buf, iova, length, offset */
#define ERNIC_REREG_PD          0x2
#define ERNIC_REREG_ACCESS      0x4
#define ERNIC_REREG_FLAGS       0x7

struct ernic_cmd_mr_reg {       /* MR_REREG: key and flags too */
    struct ernic_buf_desc buf;
    ernic_le64 iova;            /* address of the first byte */
    ernic_le64 length;
    ernic_le32 pd;
    ernic_le32 access;
    ernic_le32 offset;          /* of the first byte in the first page */
    ernic_le32 key;
    ernic_le32 flags;           /* ERNIC_REREG_* */
};

/*
 * An entry of the list that MR_PAGES takes: a page address and these, or 0 for a
 * page that is absent. What may be written may be read.
 */
#define ERNIC_PAGE_READ         0x1
#define ERNIC_PAGE_WRITE        0x2
#define ERNIC_PAGES_MAX         512     /* entries of a list */

struct ernic_cmd_mr_pages {     /* pages of a region with ON_DEMAND */
    ernic_le64 list;            /* npages entries of 64 bits; 0: all absent */
    ernic_le64 first;           /* page, from that of the region's first byte */
    ernic_le64 npages;          /* with a list at most ERNIC_PAGES_MAX */
    ernic_le32 key;
};

struct ernic_cmd_page_resume {  /* as the event told them */
    ernic_le64 offset;
    ernic_le32 key;
    ernic_le32 qpn;
    uint8_t failed;             /* 1: the page will not be there */
};

struct ernic_cmd_counter_bind {
    ernic_le32 qpn;
    ernic_le32 counter;         /* 0: none of its own */
};

struct ernic_cmd_mr_alloc {     /* for REG_MR */
    ernic_le32 pd;
    ernic_le32 max_pages;
};

struct ernic_cmd_mw_alloc {
    ernic_le32 pd;
    uint8_t type;               /* 1 or 2 */
};

struct ernic_cmd_qp {           /* QP_CREATE: struct ernic_qp_init at addr;
                                   QP_MODIFY: struct ernic_qp_attr;
                                   FLOW_CREATE: struct ernic_flow_rule;
                                   RSS_CREATE: struct ernic_rss */
    ernic_le64 addr;
    ernic_le32 length;
    ernic_le32 handle;          /* MODIFY */
};

struct ernic_cmd_mcast {
    uint8_t gid[16];
    ernic_le32 qpn;
};

struct ernic_cmd {
    uint8_t opcode;             /* enum ernic_cmd_opcode */
    uint8_t reserved;
    ernic_le16 tag;             /* returned */
    ernic_le32 uctx;            /* on whose behalf; 0: the kernel */
    union {
        struct ernic_cmd_query query;
        struct ernic_cmd_set_gid set_gid;
        struct ernic_cmd_set_pkey set_pkey;
        struct ernic_cmd_handle handle;
        struct ernic_cmd_eq_create eq_create;
        struct ernic_cmd_cq_create cq_create;
        struct ernic_cmd_cq_moderate cq_moderate;
        struct ernic_cmd_srq srq;
        struct ernic_cmd_mr_reg mr_reg;
        struct ernic_cmd_mr_pages mr_pages;
        struct ernic_cmd_page_resume page_resume;
        struct ernic_cmd_counter_bind counter_bind;
        struct ernic_cmd_mr_alloc mr_alloc;
        struct ernic_cmd_mw_alloc mw_alloc;
        struct ernic_cmd_qp qp;
        struct ernic_cmd_mcast mcast;
        uint8_t raw[56];
    };
};
ERNIC_ABI_SIZE(struct ernic_cmd, 64);

struct ernic_rsp {
    ernic_le16 tag;
    uint8_t status;             /* enum ernic_status */
    uint8_t phase;              /* 1 in the ring's first round, then 0, ... */
    ernic_le32 handle;          /* of what was created: number, or key */
    ernic_le32 length;          /* QUERY_*: bytes of the whole answer */
    uint8_t reserved[52];
};
ERNIC_ABI_SIZE(struct ernic_rsp, 64);

/* Queue pairs -------------------------------------------------------------- */

enum ernic_qp_type {
    ERNIC_QPT_RC,
    ERNIC_QPT_UC,
    ERNIC_QPT_UD,
    ERNIC_QPT_GSI,              /* QP1 */
    ERNIC_QPT_XRC_INI,          /* sends only */
    ERNIC_QPT_XRC_TGT,          /* receives only; context 0 has it */
    ERNIC_QPT_RAW,              /* Ethernet frames, with ERNIC_RAW_PACKET */
    ERNIC_QPT_RWQ,              /* receives only: what RSS gives it */
    ERNIC_QPT_COUNT
};

enum ernic_qp_state {
    ERNIC_QPS_RESET,
    ERNIC_QPS_INIT,
    ERNIC_QPS_RTR,
    ERNIC_QPS_RTS,
    ERNIC_QPS_SQD,
    ERNIC_QPS_SQE,
    ERNIC_QPS_ERR,
    ERNIC_QPS_COUNT
};

#define ERNIC_QPF_SQ_SIG_ALL    0x01    /* every send request is signalled */

/*
 * An RWQ has neither sq_*, send_cq (0) nor srq, and no flag.
 * An XRC initiator has neither rq_*, recv_cq (0) nor srq; an XRC target has, of
 * all before type, its domain alone, in pd.
 */
struct ernic_qp_init {
    struct ernic_buf_desc sq_buf;
    struct ernic_buf_desc rq_buf;       /* with an SRQ: 0 */
    ernic_le32 pd;
    ernic_le32 send_cq;
    ernic_le32 recv_cq;
    ernic_le32 srq;                     /* 0xffffffff: none */
    ernic_le32 sq_depth;                /* power of two, 1 to 2^15 */
    ernic_le32 rq_depth;                /* power of two, 0 with an SRQ */
    uint8_t type;                       /* enum ernic_qp_type */
    uint8_t flags;
    uint8_t sq_stride;                  /* units of 64 bytes, 1 to 9 */
    uint8_t rq_stride;                  /* units of 64 bytes, 1 to 5 */
    uint8_t reserved[4];
};
ERNIC_ABI_SIZE(struct ernic_qp_init, 64);

/* Attribute mask of QP_MODIFY (IBTA vol. 1, 11.2.5.2). */
#define ERNIC_QPA_STATE             0x00001
#define ERNIC_QPA_CUR_STATE         0x00002
#define ERNIC_QPA_SQD_NOTIFY        0x00004
#define ERNIC_QPA_ACCESS            0x00008
#define ERNIC_QPA_PKEY_INDEX        0x00010
#define ERNIC_QPA_PORT              0x00020
#define ERNIC_QPA_QKEY              0x00040
#define ERNIC_QPA_AV                0x00080
#define ERNIC_QPA_PATH_MTU          0x00100
#define ERNIC_QPA_TIMEOUT           0x00200
#define ERNIC_QPA_RETRY_CNT         0x00400
#define ERNIC_QPA_RNR_RETRY         0x00800
#define ERNIC_QPA_RQ_PSN            0x01000
#define ERNIC_QPA_MAX_RD_ATOMIC     0x02000
#define ERNIC_QPA_MIN_RNR_TIMER     0x04000
#define ERNIC_QPA_SQ_PSN            0x08000
#define ERNIC_QPA_MAX_DEST_RD_ATOMIC 0x10000
#define ERNIC_QPA_DEST_QPN          0x20000
#define ERNIC_QPA_RATE_LIMIT        0x40000     /* and the burst */
#define ERNIC_QPA_COUNT             19

struct ernic_qp_attr {
    ernic_le32 mask;                    /* ERNIC_QPA_*; QUERY: all */
    uint8_t state;                      /* enum ernic_qp_state */
    uint8_t cur_state;
    uint8_t sqd_notify;
    uint8_t path_mtu;                   /* 1: 256 ... 5: 4096 */
    ernic_le32 access;                  /* of ERNIC_ACCESS_QP */
    ernic_le32 qkey;
    ernic_le32 rq_psn;
    ernic_le32 sq_psn;
    ernic_le32 dest_qpn;
    ernic_le16 pkey_index;
    uint8_t port;                       /* 1 */
    uint8_t timeout;                    /* 0 to 31: 4.096 us * 2^n, 0: none */
    uint8_t retry_cnt;                  /* 0 to 7 */
    uint8_t rnr_retry;                  /* 0 to 7, 7: for ever */
    uint8_t min_rnr_timer;              /* 0 to 31 */
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint8_t sq_draining;                /* QUERY: 1 until SQD has drained */
    uint8_t reserved[2];
    ernic_le32 rate_limit;              /* kb/s, 1000 bits each; 0: none */
    ernic_le32 rate_burst;              /* bytes after a pause; 0: 1 ms of it */
    uint8_t reserved1[16];
    struct ernic_av av;
};
ERNIC_ABI_SIZE(struct ernic_qp_attr, 96);

#include "ernic_abi_raw.h"

/* Answers to QUERY_* ------------------------------------------------------ */

#define ERNIC_ODP_REGION    0x1     /* regions with ON_DEMAND */

struct ernic_device_attr {
    ernic_le32 abi_version;
    ernic_le32 max_uctx;
    ernic_le32 max_pd;
    ernic_le32 max_eq;
    ernic_le32 max_cq;
    ernic_le32 max_cqe;
    ernic_le32 max_srq;
    ernic_le32 max_srq_wr;
    ernic_le32 max_qp;
    ernic_le32 max_qp_wr;
    ernic_le32 max_mr;                  /* regions and windows together */
    ernic_le32 max_fast_reg_pages;
    ernic_le64 max_mr_size;
    ernic_le64 page_size_mask;
    ernic_le32 max_mcast_group;
    ernic_le32 max_mcast_attach;        /* queue pairs in all groups */
    ernic_le16 max_pkeys;
    uint8_t max_gids;
    uint8_t max_sge;
    ernic_le16 max_inline;
    uint8_t max_rd_atomic;              /* at either end of a queue pair */
    uint8_t num_ports;
    ernic_le32 odp;                     /* ERNIC_ODP_* */
    ernic_le32 raw;                     /* ERNIC_RAW_* */
    ernic_le32 max_flows;               /* rules */
    ernic_le32 max_rss;
    ernic_le32 max_counter;             /* of queue pairs */
    uint8_t reserved[4];
};
ERNIC_ABI_SIZE(struct ernic_device_attr, 104);

struct ernic_port_attr {
    uint8_t active;                     /* link state */
    uint8_t max_mtu;                    /* 1: 256 ... 5: 4096 */
    uint8_t active_mtu;
    uint8_t reserved[5];
    ernic_le32 max_msg_size;
    ernic_le32 bad_pkey_count;
    ernic_le32 bad_qkey_count;
    ernic_le32 link_speed;              /* Mb/s */
    uint8_t reserved2[8];
};
ERNIC_ABI_SIZE(struct ernic_port_attr, 32);

struct ernic_srq_attr {
    ernic_le32 limit;
    ernic_le32 depth;
};
ERNIC_ABI_SIZE(struct ernic_srq_attr, 8);

#endif /* ERNIC_ABI_H */
