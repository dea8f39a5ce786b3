/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest software of a fuzzed engine, and its books: what was posted, what has
 * completed. It reads completions where a guest does, in the rings.
 */
#ifndef FUZZ_GUEST_H
#define FUZZ_GUEST_H

#include "harness.h"

#define GUEST_QPS       24
#define GUEST_CQS       4
#define GUEST_DEPTH     16      /* of every work queue */
#define GUEST_CQ_DEPTH  64
#define GUEST_EQ_DEPTH  16
#define GUEST_STRIDE    320     /* 64 bytes and 16 SGEs */
#define GUEST_NO_SRQ    (-1)
#define GUEST_SRQ       0       /* the one of connections and datagrams */
#define GUEST_XRC_SRQ   1
#define GUEST_POOL      32
#define GUEST_BUF       4096

typedef enum GuestReqState {
    GUEST_FREE,
    GUEST_POSTED,
    GUEST_DONE,
} GuestReqState;

typedef struct GuestReq {
    uint32_t index;
    uint8_t state;              /* GuestReqState */
    bool may_skip;              /* unsignalled: success is not reported */
    bool loose;                 /* its slot was written over: wr_id unknown */
    uint64_t wr_id;
    uint64_t addr;              /* unpainted, and free, when it completes */
    uint32_t len;
    uint8_t paint;
} GuestReq;

/* A work queue. Requests are kept after their slot may be used again. */
typedef struct GuestWq {
    uint8_t kind;               /* of its doorbell: ERNIC_DB_SQ, RQ or SRQ */
    uint32_t number, uctx;
    uint64_t ring;              /* 0: there is none, and it takes no request */
    uint32_t pi;                /* as the engine accepted it */
    uint32_t next;              /* the first that may complete, in order */
    GuestReq req[4 * GUEST_DEPTH];
} GuestWq;

typedef struct GuestQp {
    FakeQp q;
    bool used;
    uint8_t cq;                 /* of both queues */
    int srq;                    /* GUEST_*SRQ: what it receives from */
    uint32_t uctx;
    GuestWq sq, rq;
} GuestQp;

typedef struct GuestSrq {
    FakeSrq q;
    GuestWq wq;
} GuestSrq;

typedef struct Guest Guest;

struct Guest {
    FuzzHost h;
    uint32_t qps, cqs;
    GuestQp qp[GUEST_QPS];
    FakeCq cq[GUEST_CQS];
    bool overrun[GUEST_CQS];
    GuestSrq srq[2];            /* by GUEST_SRQ and GUEST_XRC_SRQ */
    uint32_t xrcd;              /* XRC domain of the second; 0: there is none */
    FakeEq eq[2];               /* asynchronous events; completions */
    bool lazy;                  /* completions are not consumed */
    uint8_t arm;                /* enum ernic_db_kind of what was consumed */
    uint8_t number;             /* of the host */
    bool faulty;                /* memory has been made to fail */
    uint32_t uctx_of_cq[GUEST_CQS];
    uint64_t pool;              /* buffers; see guest_buffer() */
    bool pool_busy[GUEST_POOL];
    /* A completion says that the peer has invalidated @rkey. */
    void (*taken_back)(Guest *g, uint32_t rkey);
};

/* fuzz_open() with event queues and books; FuzzMay of runs. */
void guest_open(Guest *g, uint8_t number, uint32_t run_write, uint32_t run_read);
/* A completion queue of the kernel or of a user context. */
uint32_t guest_create_cq(Guest *g, uint32_t uctx);
void guest_create_srq(Guest *g, uint32_t pd);
/* A domain for XRC targets, and its SRQ, which completes in kernel's CQ @cq. */
void guest_create_xrc(Guest *g, uint32_t pd, uint32_t cq);
/* The queue that @qp receives from: its own or a shared one. */
GuestWq *guest_rq(Guest *g, GuestQp *qp);
/*
 * In Reset; @srq: attached to the shared queue. XRC targets have the domain instead of
 * @pd, and the completion queue of its SRQ. Returns its place in g->qp.
 */
uint32_t guest_create_qp(Guest *g, uint8_t type, uint32_t pd, uint32_t cq,
                         bool srq, uint8_t flags);
/* Move to @state, connected to @dest_qpn at 10.0.0.@host, or fd00::@host. */
void guest_connect(Guest *g, uint32_t qp, uint8_t state,
                   const struct ernic_qp_attr *attr);
/* Memory of the guest's that the device may do @may with. */
uint64_t guest_alloc(Guest *g, uint64_t bytes, uint8_t may);
/*
 * GUEST_BUF bytes of a pool, to be painted by guest_ring(), and free again when
 * the request has completed; 0: all are in use.
 */
uint64_t guest_buffer(Guest *g);

/* Whether the slot of counter @index is free, according to the completions. */
bool guest_has_room(const GuestWq *wq, uint32_t index);
/* Write @len raw bytes into the slot of counter @index. */
void guest_write_slot(Guest *g, GuestWq *wq, uint32_t index, const void *data,
                      uint32_t len);
/*
 * A doorbell; what the engine accepts enters the books. The request of counter
 * index - 1 is to unpaint [@addr, @addr + @len) when it completes.
 */
uint8_t guest_ring(Guest *g, GuestWq *wq, uint32_t index, uint64_t addr,
                   uint32_t len, uint8_t paint);

/* Read completions and events, check them against the books, ring for them. */
void guest_poll(Guest *g);
/* Another state; the books of a queue pair in Reset are empty. */
uint8_t guest_modify(Guest *g, GuestQp *qp, uint32_t mask, uint8_t state,
                     const struct ernic_qp_attr *attr);
/* Settings that a guest may change meanwhile; @what names one. */
enum { GUEST_GID, GUEST_MODERATE, GUEST_PKEY, GUEST_LIMIT, GUEST_ARM,
       GUEST_TUNES };
void guest_tune(Guest *g, uint8_t what, uint8_t a, uint16_t b);
/*
 * Every queue pair to Error; whatever was posted has completed once then.
 * The link takes trains and memory answers: the caller saw to it.
 */
void guest_finish(Guest *g);

/* Whether each request of a queue pair of @type names its destination. */
static inline bool guest_addresses(uint8_t type)
{
    return type == ERNIC_QPT_UD || type == ERNIC_QPT_GSI;
}

#endif /* FUZZ_GUEST_H */
