/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue pair context, in which the roles meet. Each group of fields has one
 * writer, which is named above it: the file (.c and .h), or the folder, that assigns
 * them. Others call its functions. "reset" names a file that clears them as well.
 * state/ loads all fields and is exempt. The rings count for themselves (objects/wq.h).
 * scripts/checks/writers.py reads these names and checks the sources.
 */
#ifndef ERNIC_OBJECTS_QP_H
#define ERNIC_OBJECTS_QP_H

#include "base/device.h"
#include "objects/wq.h"
#include "objects/wqe.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* Why a send queue stands still. */
typedef enum ErnicBlocked {
    ERNIC_BLOCKED_NONE,
    ERNIC_BLOCKED_EMPTY,            /* nothing is posted */
    ERNIC_BLOCKED_FENCE,            /* earlier requests are not complete */
    ERNIC_BLOCKED_RD_ATOMIC,        /* no read/atomic credit */
    ERNIC_BLOCKED_WINDOW,           /* PSN or request window is full */
    ERNIC_BLOCKED_RNR,              /* the RNR timer runs */
    ERNIC_BLOCKED_RATE,             /* congestion control holds it back */
    ERNIC_BLOCKED_TX,               /* the link is busy */
    ERNIC_BLOCKED_PAGE,             /* software was asked for a page */
    ERNIC_BLOCKED_STATE,            /* the queue pair's state forbids it */
    ERNIC_BLOCKED_RETRY,            /* timing: the retry buffer is full */
    ERNIC_BLOCKED_COUNT
} ErnicBlocked;

/* The rings of the scheduler; a queue pair can be in several of them. */
typedef enum ErnicRingKind {
    ERNIC_RING_READY,                   /* has work */
    ERNIC_RING_WAITING,                 /* waits for the link */
    ERNIC_RING_SLOT,                    /* waits for a slot (read_slots.c) */
    /*
     * Its last packet has not left the device yet. Each queue pair in this ring has
     * packets in a train that is held or queued, which bounds their number.
     */
    ERNIC_RING_DEPARTURE,
    ERNIC_RING_COUNT
} ErnicRingKind;

typedef struct ErnicAv {
    ErnicGid dgid;
    uint8_t dmac[6];
    uint8_t sgid_index;
    uint8_t hop_limit;
    uint8_t tclass;
    uint32_t flow_label;
    uint8_t priority;               /* 0 to 7; of the tag, if the GID has a VLAN */
    uint16_t udp_sport;             /* 0: one that the engine chooses */
} ErnicAv;

/* Attributes that software sets; transport/qp_modify checks their ranges. */
typedef struct ErnicQpAttr {
    uint32_t access;                /* of ERNIC_ACCESS_QP */
    uint32_t qkey;
    uint32_t rq_psn, sq_psn;        /* initial */
    uint32_t dest_qpn;
    uint16_t pkey_index;
    uint8_t path_mtu;               /* 1: 256 ... 5: 4096 */
    uint8_t timeout;
    uint8_t retry_cnt, rnr_retry, min_rnr_timer;
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    bool sqd_notify;
    uint32_t rate_limit;            /* raw: kb/s, or 0 */
    uint32_t rate_burst;            /* bytes, or 0 */
    ErnicAv av;
} ErnicQpAttr;

typedef struct ErnicSendQueue {
    /* Writer: transport/qp_life. */
    ErnicWq wq;                     /* pi, units of the interface: doorbell; ci, the
                                       oldest request not completed: completer */
    /* Writer: transport/completer. */
    uint32_t lead;                  /* units that complete requests took beyond
                                       one for each: ernic_sq_done() */
    /* Writer: transport/qp_life. */
    ErnicWqe *wqe;                  /* owned; slot (index & window_mask) */
    uint32_t window_mask;

    /*
     * Writer: transport/requester. All counters run freely. Requests: ci <= next <=
     * started <= fetched. Units of the interface: ernic_sq_done() <= taken <= pi.
     */
    uint32_t taken;                 /* units that are decoded */
    uint32_t fetched;               /* decoded below this */
    uint32_t started;               /* have PSNs below this */
    uint32_t next;                  /* the request that next_psn belongs to */
    uint32_t next_psn;              /* to send */
    uint32_t max_psn;               /* first PSN never sent */
    uint32_t ssn;                   /* messages started */
    uint32_t rd_issued;             /* reads and atomics asked for */
    uint8_t blocked_on;             /* ErnicBlocked */
    /*
     * Writer: interfaces/verbs/records; reset: transport/qp_life. Its record asks for
     * a doorbell.
     */
    bool asleep;
    /* Writer: transport/requester. */
    uint32_t seen_gen;              /* rewinds obeyed */
    uint32_t unasked;               /* packets since AckReq was last set */
    uint32_t read_restart;          /* PSN at which a READ was asked again */
    /* Writer: transport/rate. */
    uint64_t rate_at;               /* rate limit: the next frame leaves no
                                       earlier */
    /* Writer: transport/requester. */
    uint64_t tx_serial;             /* the train of its last packet */
    bool page_wait;                 /* nothing is sent until the page fault is
                                       resumed */

    /* Writer: transport/completer. */
    uint32_t una_psn;               /* oldest PSN not acknowledged */
    uint32_t rd_done;               /* reads and atomics answered */
    bool rewound;                   /* no progress since the last rewind */
    uint32_t heard_psn;             /* of the last response since then that came
                                       too early */
    uint32_t rewind_gen;            /* rewinds asked for */
    uint32_t rewind_psn;
    uint8_t retry_left, rnr_left;
    /* Writer: transport/retry_timer. In this place it takes no room. */
    bool leaving;                   /* the transport timer starts at departure */
    /* Writer: transport/adaptive_retry. */
    uint64_t waited;                /* ns, since something moved */
    /* Writer: transport/retry_timer. */
    uint64_t ack_due;               /* transport timer, or ERNIC_NEVER */
    uint64_t leave_by;              /* which counts as done by then */
    uint64_t rnr_due;               /* end of the RNR wait, or ERNIC_NEVER */
    /* Writer: transport/completer. */
    uint32_t cwnd;                  /* bytes that may be in flight */
    /* Writer: interfaces/pg332/methods; reset: transport/qp_life. */
    uint8_t narrow;                 /* PG332: requests to complete before all
                                       may be outstanding again */

    /*
     * Writer: transport/turn. Requests that begin below flush_to are flushed in any
     * state, after a recovery from SQE.
     */
    bool flushing;
    uint32_t flush_to;              /* units */
} ErnicSendQueue;

/* An inbound READ or atomic, kept for its duplicates (IBTA 9.7.4.1.2). */
typedef struct ErnicRdRes {
    /* Writer: transport/responder_resources. */
    bool used;
    bool atomic;                    /* or another that is answered without data */
    bool pending;                   /* response packets are still to be sent */
    bool again;                     /* they were sent before */
    uint32_t psn, npsn;             /* PSNs of the response */
    uint32_t msn;
    uint32_t rkey;
    uint32_t xrc_srq;               /* XRC: whose domain opens the memory */
    uint32_t len;                   /* READ: bytes */
    uint64_t va;
    uint8_t op;                     /* atomic: ErnicOp, and its operands */
    uint64_t swap_add, compare;
    uint64_t orig;                  /* atomic: the word as it was */
    uint32_t start, next, end;      /* READ: packets of npsn; this response
                                       began at start, goes on at next and
                                       stops before end, and before */
    uint32_t stop;                  /* this byte */
} ErnicRdRes;

typedef struct ErnicRecvQueue {
    /* Writer: transport/qp_life. */
    ErnicWq wq;                     /* pi: doorbell; own ring without SRQ */
    /* Writer: transport/responder. */
    uint32_t epsn;                  /* expected PSN */
    uint32_t msn;
    uint8_t open;                   /* class of the open message, or CL_NONE */
    bool nak_sent;                  /* of a gap: once, until it is filled */
    bool skip;                      /* UC: ignore until First or Only */
    /* Writer: transport/qp. */
    bool recv_valid;                /* recv holds a taken request */
    /* Writer: transport/responder. */
    bool established;               /* COMM_EST was raised */
    uint32_t off;                   /* bytes of the open message placed */
    uint32_t xrc_srq;               /* XRC: that the open message is for, and
                                       that recv is of */
    uint32_t rkey;                  /* of the open WRITE */
    uint64_t va;
    uint32_t dmalen;
    /* Writer: transport/qp. */
    ErnicRecv recv;
    /* Writer: transport/responder_resources. */
    uint8_t rd_head;                /* where the next inbound READ goes */
    /* Writer: transport/ack. */
    uint64_t cnp_due;               /* no CNP before */
} ErnicRecvQueue;

/* The ACK or NAK of a queue pair that has stopped responding. */
typedef struct ErnicLastAck {
    bool owed;
    uint8_t syndrome;
    uint32_t psn, msn;
} ErnicLastAck;

/* The responses that the queue pair owes its peer. */
typedef struct ErnicAckState {
    /* Writer: transport/ack. */
    bool owed;                      /* an ACK of epsn - 1 */
    uint64_t due;                   /* when one will be owed; 0: never by time */
    uint8_t nak;                    /* syndrome owed, 0: none */
    uint8_t fault;                  /* ErnicFault to carry out after it */
    /* Writer: transport/qp; reset: transport/ack. */
    uint8_t code;                   /* the interface's number of it */
    /* Writer: transport/ack. */
    uint32_t nak_psn;
    /* Writer: transport/responder_resources; reset: transport/ack. */
    uint16_t rd_pending;            /* entries of rd[] that are pending */
    /* Writer: transport/ack. */
    bool cnp_owed;                  /* a marked packet has come */
    bool page_wait;                 /* responses wait for a page fault */
    uint16_t count;                 /* timing: requests that wait for it */
    ErnicLastAck last;              /* in Error only */
} ErnicAckState;

/* Congestion control. */
typedef struct ErnicCc {
    /* Writer: transport/cc. */
    bool limited;               /* false: the line limits, the rest is idle */
    uint64_t rate, target;      /* bytes per second */
    uint32_t alpha;             /* congestion estimate, 1.0 = 1 << 16 */
    uint32_t stage;             /* increase steps since the last cut */
    uint64_t alpha_at;          /* ns of the last alpha update */
    uint64_t rate_at;           /* ns of the last rate increase */
    uint64_t cut_at;            /* ns of the last cut */
    uint64_t send_at;           /* the next packet leaves no earlier */
} ErnicCc;

struct ErnicQp {
    /* Writer: transport/qp_life. */
    bool used;
    /* Writer: transport/sched. */
    bool in_ring[ERNIC_RING_COUNT];
    /* Writer: transport/turn. */
    bool last_wqe;                  /* LAST_WQE was raised */
    /*
     * Writer: interfaces/pg332/register_effects; reset: transport/qp_life. A global
     * register has stopped it: it does nothing until it is closed.
     */
    bool stopping;
    /*
     * Writer: transport/turn; reset: transport/qp_state. In Error, ns between two looks
     * for receive requests (ErnicInterfaceOps.polls_recv); 0: none yet.
     */
    uint32_t flush_wait;
    /* Writer: transport/qp_life. */
    uint8_t type;                   /* enum ernic_qp_type */
    uint8_t transport;              /* ErnicTransport; GSI: UD */
    /* Writer: transport/qp_state; reset: transport/qp_life. */
    uint8_t state;
    /* Writer: transport/qp_create. */
    uint8_t flags;
    /* Writer: transport/qp_state; reset: transport/qp_life. */
    bool sq_drained;                /* in SQD: nothing is in flight */
    /* Writer: transport/qp_life. */
    uint32_t qpn;
    /* Writer: transport/qp_create, interfaces/. */
    uint32_t uctx, pd, send_cq, recv_cq;
    uint32_t srq;                   /* 0: none */
    /* Writer: objects/counter. */
    uint32_t counter;
    /* Writer: transport/sched. */
    uint32_t ring_next[ERNIC_RING_COUNT];
    uint32_t ring_prev[ERNIC_RING_COUNT];       /* derived */
    /* Writer: transport/qp. */
    uint64_t timer_due;             /* as set in the heap */
    /* Writer: transport/qp_modify, interfaces/; reset: transport/qp_life. */
    ErnicQpAttr attr;
    /* Writer: transport/qp_life. The groups in them have writers of their own. */
    ErnicSendQueue sq;
    ErnicCc cc;
    ErnicAckState ack;
    ErnicEvents events;             /* objects/eq.h */
    ErnicRecvQueue rq;
    /*
     * ERNIC_MAX_RD_ATOMIC entries, owned. Apart, so that the fields that every packet
     * needs, of thousands of queue pairs, lie close together.
     */
    ErnicRdRes *rd;
};

/* Acknowledged, retried and in order: RC, and XRC, which is RC on the wire. */
static inline bool ernic_qp_reliable(const ErnicQp *qp)
{
    return qp->transport == ERNIC_RC || qp->transport == ERNIC_XRC;
}

/* Each message is one packet, whatever the path MTU: UD, and Ethernet frames. */
static inline bool ernic_qp_datagrams(const ErnicQp *qp)
{
    return qp->transport == ERNIC_UD || qp->transport == ERNIC_RAW;
}

/* The SRQ that receive requests come from: its own, XRC the message's; or 0. */
static inline uint32_t ernic_qp_srq(const ErnicQp *qp)
{
    return qp->type == ERNIC_QPT_XRC_TGT ? qp->rq.xrc_srq : qp->srq;
}

/* NULL unless @qpn exists and belongs to @uctx. */
ErnicQp *ernic_qp_get(Ernic *e, uint32_t uctx, uint32_t qpn);

/* Whether its receive requests come from an SRQ, which keeps them when it fails. */
static inline bool ernic_qp_uses_srq(const ErnicQp *qp)
{
    return qp->srq || qp->type == ERNIC_QPT_XRC_TGT;
}

/* Slots of the window of a send queue of @depth, or without one: 2^n. */
static inline uint32_t ernic_sq_window(uint32_t depth)
{
    return MIN(MAX(depth, 1u), ERNIC_SQ_WINDOW);
}

/* Units of the requests that are complete: those of the ring before it are free. */
static inline uint32_t ernic_sq_done(const ErnicSendQueue *sq)
{
    return sq->wq.ci + sq->lead;
}

/* Posted requests that have no PSNs yet; units where they are not decoded. */
static inline uint32_t ernic_sq_waiting(const ErnicSendQueue *sq)
{
    return sq->wq.pi - sq->taken + sq->fetched - sq->started;
}

static inline ErnicWqe *ernic_sq_slot(ErnicQp *qp, uint32_t index)
{
    return &qp->sq.wqe[index & qp->sq.window_mask];
}

#endif /* ERNIC_OBJECTS_QP_H */
