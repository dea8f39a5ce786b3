/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The guest contract: commands, attributes of queue pairs, and answers to queries. A
 * part of ernic_abi.h, which has the types.
 */
#ifndef ERNIC_ABI_CMD_H
#define ERNIC_ABI_CMD_H

/* ------------------------------------------------------------------------
 * Commands: 64 bytes in, 64 bytes out; lists and long structures are in guest memory.
 * A command that fails has changed nothing.
 */
enum ernic_status {
    ERNIC_OK,
    ERNIC_ERR_OPCODE,           /* no such command */
    ERNIC_ERR_RESERVED,         /* a reserved field is not 0 */
    ERNIC_ERR_HANDLE,           /* no such object */
    ERNIC_ERR_PARAM,            /* a value is out of range */
    ERNIC_ERR_STATE,            /* not allowed in this state */
    ERNIC_ERR_ATTR_MASK,        /* attribute missing or not allowed */
    ERNIC_ERR_NO_RESOURCE,      /* no object, or no memory for it, is left */
    ERNIC_ERR_BUSY,             /* other objects refer to it */
    ERNIC_ERR_DMA,              /* an access to guest memory failed */
    ERNIC_ERR_PERM,             /* for context 0, or another context's object */
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
#define ERNIC_ACCESS_ON_DEMAND      0x40    /* MR_REG only: MR_PAGES supplies the
                                               pages of the region */
#define ERNIC_ACCESS_FLUSH_PERSISTENT 0x200 /* of queue pairs; no region has it */
#define ERNIC_ACCESS_QP             0x30e   /* all rights of a queue pair */

/* A buffer in guest memory: one extent, or a list of pages of one size. */
struct ernic_buf_desc {
    ernic_le64 addr;            /* levels 0: of the buffer; 1: of a list of
                                   npages page addresses; 2: of a list of
                                   4096-byte pages with 512 of these each */
    ernic_le32 npages;          /* levels 0: 0 */
    uint8_t page_shift;         /* 12 to 31; levels 0: 0 */
    uint8_t levels;
    uint8_t reserved[2];
};
ERNIC_ABI_SIZE(struct ernic_buf_desc, 16);

struct ernic_cmd_query {        /* QUERY_* */
    ernic_le64 addr;            /* where the device writes the answer */
    ernic_le32 length;          /* bytes at addr; a longer answer is truncated */
    ernic_le32 handle;          /* SRQ_QUERY, QP_QUERY */
};

struct ernic_cmd_set_gid {
    uint8_t gid[16];            /* network byte order; all 0 clears the entry */
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
    uint8_t async;              /* 1: also for asynchronous events */
};

struct ernic_cmd_cq_create {    /* CQ_RESIZE: handle, buf, depth */
    struct ernic_buf_desc buf;
    ernic_le64 ci_addr;         /* 32-bit consumer counter in memory, which the
                                   device reads when the ring appears full;
                                   0: doorbells only */
    ernic_le32 depth;           /* power of two, 2 to 2^20 */
    ernic_le32 eq;              /* 0xffffffff: none */
    ernic_le32 handle;
};

struct ernic_cmd_cq_moderate {
    ernic_le32 handle;
    ernic_le16 count;           /* completions per event; 0 and 1: each */
    ernic_le16 period_us;       /* longest delay; 0: none */
};

/*
 * An XRC domain is a protection domain of context 0. It is the pd of XRC targets, and
 * any context may put SRQs into it.
 *
 * SRQ_MODIFY sets the limit or, with a depth, the ring: buf then has that depth and
 * the present stride, and holds each posted request in the slot of its index. The
 * other fields are 0.
 */
struct ernic_cmd_srq {          /* SRQ_CREATE, SRQ_MODIFY */
    struct ernic_buf_desc buf;
    ernic_le32 handle;          /* SRQ_MODIFY */
    ernic_le32 pd;
    ernic_le32 depth;           /* power of two */
    ernic_le32 limit;           /* 0: disarmed */
    ernic_le16 stride;          /* units of 64 bytes, 1 to 5 */
    uint8_t reserved[2];
    ernic_le32 xrcd;            /* XRC domain; 0: an SRQ for RC, UC, UD */
    ernic_le32 cq;              /* with xrcd: completion queue of its requests */
    uint8_t reserved1[4];
    ernic_le64 record;          /* SRQ_CREATE: struct ernic_record; 0: none */
};

/* Fields that MR_REREG changes; the others are 0. */
#define ERNIC_REREG_TRANS       0x1     /* buf, iova, length, offset */
#define ERNIC_REREG_PD          0x2
#define ERNIC_REREG_ACCESS      0x4
#define ERNIC_REREG_FLAGS       0x7

struct ernic_cmd_mr_reg {       /* MR_REG; MR_REREG: with key and flags */
    struct ernic_buf_desc buf;
    ernic_le64 iova;            /* address of the first byte */
    ernic_le64 length;
    ernic_le32 pd;
    ernic_le32 access;
    ernic_le32 offset;          /* of the first byte within the first page */
    ernic_le32 key;
    ernic_le32 flags;           /* ERNIC_REREG_* */
};

/*
 * An entry of the list of MR_PAGES: a page address with these bits, or 0 for an absent
 * page. WRITE requires READ.
 */
#define ERNIC_PAGE_READ         0x1
#define ERNIC_PAGE_WRITE        0x2
#define ERNIC_PAGES_MAX         512     /* entries of a list */

struct ernic_cmd_mr_pages {     /* pages of a region with ON_DEMAND */
    ernic_le64 list;            /* npages entries of 64 bits; 0: all are absent */
    ernic_le64 first;           /* page; page 0 has the region's first byte */
    ernic_le64 npages;          /* with a list, at most ERNIC_PAGES_MAX */
    ernic_le32 key;
};

struct ernic_cmd_page_resume {  /* values of the PAGE_FAULT event */
    ernic_le64 offset;
    ernic_le32 key;
    ernic_le32 qpn;
    uint8_t failed;             /* 1: the page cannot be supplied */
};

struct ernic_cmd_counter_bind {
    ernic_le32 qpn;
    ernic_le32 counter;         /* 0: remove it from its counter */
};

struct ernic_cmd_mr_alloc {     /* a region for REG_MR */
    ernic_le32 pd;
    ernic_le32 max_pages;
};

struct ernic_cmd_mw_alloc {
    ernic_le32 pd;
    uint8_t type;               /* 1 or 2 */
};

struct ernic_cmd_qp {           /* at addr: QP_CREATE struct ernic_qp_init,
                                   QP_MODIFY struct ernic_qp_attr,
                                   FLOW_CREATE struct ernic_flow_rule,
                                   RSS_CREATE struct ernic_rss */
    ernic_le64 addr;
    ernic_le32 length;
    ernic_le32 handle;          /* QP_MODIFY */
};

struct ernic_cmd_mcast {
    uint8_t gid[16];
    ernic_le32 qpn;
};

struct ernic_cmd {
    uint8_t opcode;             /* enum ernic_cmd_opcode */
    uint8_t reserved;
    ernic_le16 tag;             /* returned in the response */
    ernic_le32 uctx;            /* context of the command; 0: the kernel */
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
    uint8_t phase;              /* 1 in the first round of the ring, then 0, ... */
    ernic_le32 handle;          /* of the created object: its number, or key */
    ernic_le32 length;          /* QUERY_*: bytes of the untruncated answer */
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
    ERNIC_QPT_XRC_TGT,          /* receives only; of context 0 */
    ERNIC_QPT_RAW,              /* Ethernet frames; with ERNIC_RAW_PACKET */
    ERNIC_QPT_RWQ,              /* receives only, through RSS */
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

#define ERNIC_QPF_SQ_SIG_ALL    0x01    /* every send request is signaled */

/*
 * In an RWQ sq_*, send_cq and flags are 0, and srq is none. In an XRC initiator rq_* and
 * recv_cq are 0, and srq is none. In an XRC target pd is the domain, srq is none, and the
 * other fields before type are 0.
 */
struct ernic_qp_init {
    struct ernic_buf_desc sq_buf;
    struct ernic_buf_desc rq_buf;       /* 0 with an SRQ */
    ernic_le32 pd;
    ernic_le32 send_cq;
    ernic_le32 recv_cq;
    ernic_le32 srq;                     /* 0xffffffff: none */
    ernic_le32 sq_depth;                /* power of two, 1 to 2^15 */
    ernic_le32 rq_depth;                /* power of two; 0 with an SRQ */
    uint8_t type;                       /* enum ernic_qp_type */
    uint8_t flags;
    uint8_t sq_stride;                  /* units of 64 bytes, 1 to 9 */
    uint8_t rq_stride;                  /* units of 64 bytes, 1 to 5 */
    uint8_t reserved[4];
    /* The structure may end here: drivers older than ERNIC_FEATURE_RECORDS. */
    ernic_le64 sq_record;               /* struct ernic_record; 0: none */
    ernic_le64 rq_record;               /* likewise */
};
ERNIC_ABI_SIZE(struct ernic_qp_init, 80);
ERNIC_ABI_OFFSET(struct ernic_qp_init, sq_record, 64);

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
#define ERNIC_QPA_RATE_LIMIT        0x40000     /* rate_limit and rate_burst */
#define ERNIC_QPA_COUNT             19

struct ernic_qp_attr {
    ernic_le32 mask;                    /* ERNIC_QPA_*; QP_QUERY: all */
    uint8_t state;                      /* enum ernic_qp_state */
    uint8_t cur_state;
    uint8_t sqd_notify;
    uint8_t path_mtu;                   /* 1: 256 ... 5: 4096 */
    ernic_le32 access;                  /* bits of ERNIC_ACCESS_QP */
    ernic_le32 qkey;
    ernic_le32 rq_psn;
    ernic_le32 sq_psn;
    ernic_le32 dest_qpn;
    ernic_le16 pkey_index;
    uint8_t port;                       /* 1 */
    uint8_t timeout;                    /* 0 to 31: 4.096 us * 2^n; 0: none */
    uint8_t retry_cnt;                  /* 0 to 7 */
    uint8_t rnr_retry;                  /* 0 to 7; 7: no limit */
    uint8_t min_rnr_timer;              /* 0 to 31 */
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint8_t sq_draining;                /* QP_QUERY: 1 until SQD has drained */
    uint8_t reserved[2];
    ernic_le32 rate_limit;              /* units of 1000 bits/s; 0: none */
    ernic_le32 rate_burst;              /* bytes after a pause; 0: those of 1 ms */
    uint8_t reserved1[16];
    struct ernic_av av;
};
ERNIC_ABI_SIZE(struct ernic_qp_attr, 96);

/* Answers to QUERY_* ------------------------------------------------------ */

#define ERNIC_ODP_REGION    0x1     /* on-demand regions */

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
    ernic_le32 max_mcast_attach;        /* queue pairs in all groups together */
    ernic_le16 max_pkeys;
    uint8_t max_gids;
    uint8_t max_sge;
    ernic_le16 max_inline;
    uint8_t max_rd_atomic;              /* limit of max_rd_atomic, max_dest_rd_atomic */
    uint8_t num_ports;
    ernic_le32 odp;                     /* ERNIC_ODP_* */
    ernic_le32 raw;                     /* ERNIC_RAW_* */
    ernic_le32 max_flows;               /* rules for frames */
    ernic_le32 max_rss;
    ernic_le32 max_counter;             /* counters of queue pairs */
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

#endif /* ERNIC_ABI_CMD_H */
