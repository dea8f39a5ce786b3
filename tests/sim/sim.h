/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The deterministic simulator: engines, their guests and the wire between them
 * in one process and one virtual time, everything drawn from one seed.
 *
 *   scenario.c  the plan of a seed    world.c   time, events, engine calls
 *   wire.c      the wire              mem.c     guest memory and its shadow
 *   guest.c     objects by command    conn.c    the life of queue pairs
 *   post.c      sending               wqe.c     work requests in the ring
 *   recv.c      receive requests      window.c  keys that open and close
 *   poll.c      CQEs and EQEs         steps.c   events besides the traffic
 *   check.c     rules of completions  deliver.c rules of delivery
 *   silent.c    a silent peer and a link that pushes back
 *   netdev.c    the device's queue of frames, and rules of departure
 *   sabotage.c  tests of the rules    main.c    seeds and workers
 */
#ifndef SIM_H
#define SIM_H

#include "base/ib_spec.h"
#include "engine.h"
#include "net/frame_queue.h"
#include "timing/profile.h"
#include "rng.h"

#define SIM_MAX_HOSTS   6
#define SIM_MAX_SGE     4
#define SIM_US          1000ull
#define SIM_MS          1000000ull
#define SIM_SEC         1000000000ull
#define SIM_NO_INDEX    UINT32_MAX
/* Without progress for longer than this on a fair wire, something hangs. */
#define SIM_STALL_NS    (120 * SIM_SEC)
#define SIM_MAX_EVENTS  3000000

typedef struct Sim Sim;
typedef struct SimHost SimHost;
typedef struct SimQp SimQp;
typedef struct SimMsg SimMsg;

/* Each pointer @p of a GPtrArray, which stays as it is meanwhile. */
#define SIM_EACH(type, p, array)                                        \
    for (type **at_ = (type **)(array)->pdata,                          \
              **end_ = at_ + (array)->len, *p;                          \
         at_ < end_ && (p = *at_, true); at_++)

/* ---- what a seed draws (scenario.c) -------------------------------------- */

/* The faults of the wire; probabilities are in parts per million. */
typedef struct SimFaults {
    uint32_t drop, duplicate, reorder, corrupt, truncate, mark;
    uint32_t busy;                  /* per train: the link refuses it */
    uint32_t no_gro;                /* per packet: it begins a new train */
    uint64_t latency, jitter, reorder_ns, busy_ns, rx_delay;
    uint32_t mbps;
    uint32_t rx_bytes;              /* bytes that a receiver holds before it drops */
} SimFaults;

/* The steps that happen besides the traffic. */
typedef enum SimStep {
    SIM_STEP_SAVE,
    SIM_STEP_SQD,
    SIM_STEP_ERROR,
    SIM_STEP_RESET,
    SIM_STEP_DESTROY,
    SIM_STEP_LINK,
    SIM_STEP_JUMP,
    SIM_STEP_BAD_SEND,
    SIM_STEP_BAD_RECV,
    SIM_STEP_BAD_DOORBELL,
    SIM_STEP_BAD_COMMAND,
    SIM_STEP_CQ_RESIZE,
    SIM_STEP_CQ_MODERATE,
    SIM_STEP_STRAY,
    SIM_STEP_ENGINE_RESET,
    SIM_STEP_COUNT
} SimStep;

typedef struct SimPlan {
    SimFaults faults;
    uint8_t hosts, conns, datagrams;
    uint32_t messages;              /* per queue pair */
    uint32_t max_len;
    uint64_t fair_at;               /* from here on the wire is fair */
    uint64_t step_ns;               /* mean time between steps */
    uint8_t weight[SIM_STEP_COUNT]; /* 0: never */
    uint32_t dma_fail;              /* ppm of payload DMA that fails */
    uint32_t ring_fail;             /* ppm of any DMA that fails */
    bool overrun;                   /* a host lets its CQs overrun */
    bool late;                      /* receives are posted late */
    bool lossy;                     /* packets may be lost or duplicated */
    bool shuffles;                  /* packets may be duplicated or reordered */
    bool mcast;
    bool bad_memory;                /* DMA fails or may have failed */
    bool bad_rings;                 /* DMA of queues too: nothing need complete */
    uint8_t mtu_max;
    bool keeps;                     /* links report departure later than they
                                       take a train */
    bool netdev;                    /* links are netdevs */
    uint64_t socket_ns;             /* time to send what their sockets hold */
    bool silent;                    /* with the host of silent.c */
    uint64_t retry_time;            /* of adaptive retransmission; 0: it is off */
    bool records;                   /* queues have records */
    bool timed;                     /* engines have the timing model */
    ErnicProfile profile;           /* with the numbers of this profile */
} SimPlan;

/* ---- guest memory (mem.c) ------------------------------------------------ */

#define SIM_MEM_SIZE    (12u << 20)
#define SIM_PAGE        4096u

/* Shadow bits: what the device may do to a byte. */
#define SIM_SH_READ     1
#define SIM_SH_WRITE    2
#define SIM_SH_RING     4           /* a queue; not payload */

typedef struct SimMem {
    uint64_t base;
    uint8_t *bytes, *shadow;
    uint32_t brk;                   /* contiguous memory is allocated below */
    uint32_t *page;                 /* single pages, shuffled */
    uint32_t pages;                 /* how many are left */
} SimMem;

typedef struct SimExtent {
    uint64_t off, len;
} SimExtent;

/* The memory that a key opens, as the guest knows it. */
typedef struct SimMr {
    SimHost *host;
    struct SimMr *parent;           /* a window's region */
    uint64_t parent_off;
    uint32_t key;
    uint32_t access;
    uint64_t iova, length;
    uint64_t *page;                 /* guest addresses; NULL: extent at base */
    uint32_t npages, page_shift, offset;
    uint64_t base;
    bool zero_based;
    uint64_t pattern, pattern_off;  /* its content, if it is a source of READs */
    GArray *free;                   /* of SimExtent, by offset */
} SimMr;

/* Part of a region; @mr NULL: none. */
typedef struct SimPiece {
    SimMr *mr;
    uint64_t off;
    uint32_t len;
    uint64_t got_off, got_len;      /* the part that was taken from @mr */
} SimPiece;

typedef struct SimSg {
    uint32_t n;
    SimPiece piece[SIM_MAX_SGE];
} SimSg;

/* ---- queues -------------------------------------------------------------- */

typedef struct SimEq {
    uint32_t eqn, depth, ci;
    uint64_t ring;
    uint16_t vector;
    bool async, pending;            /* pending: a poll is scheduled */
} SimEq;

typedef struct SimCq {
    SimHost *host;
    uint32_t cqn, depth, ci;
    uint64_t ring, spare;           /* spare: the target of a resize */
    uint32_t spare_depth, phase_base;
    uint64_t ci_addr;
    SimEq *eq;
    bool evented;                   /* is polled on events only */
    uint64_t poll_ns;               /* delay until the guest polls */
    uint32_t arms;                  /* each allows one event */
    bool pending, overrun;
    bool tiny;                      /* may overrun */
} SimCq;

/* Errors that a guest makes on purpose. */
typedef enum SimWrong {
    SIM_RIGHT,
    /* send side, found locally */
    SIM_WRONG_LKEY,
    SIM_WRONG_LKEY_RANGE,
    SIM_WRONG_LKEY_PD,
    SIM_WRONG_OPCODE,
    SIM_WRONG_COUNT,
    SIM_WRONG_FLAGS,
    SIM_WRONG_LONG,
    SIM_WRONG_UD_AV,
    SIM_WRONG_UC_READ,
    /* send side, found by the peer */
    SIM_WRONG_RKEY,
    SIM_WRONG_RKEY_RANGE,
    SIM_WRONG_RKEY_RIGHT,
    SIM_WRONG_ALIGN,
    SIM_WRONG_QKEY,
    /* receive side */
    SIM_WRONG_RECV_LKEY,
    SIM_WRONG_RECV_SHORT,
    SIM_WRONG_RECV_COUNT,
    SIM_WRONG_COUNT_OF
} SimWrong;

typedef struct SimRecv {
    bool posted;
    uint32_t index;
    uint64_t wr_id;
    uint32_t cap;
    uint8_t wrong;
    SimSg sg;
} SimRecv;

typedef struct SimSrq {
    SimHost *host;
    uint32_t srqn, depth, pi, cap;
    uint64_t ring, record;          /* record 0: none */
    uint32_t stride;
    /*
     * The device takes requests in order, but a queue pair may hold one for
     * long: the slots below @taken are free, whatever has completed.
     */
    uint32_t taken;
    GPtrArray *out;                 /* SimRecv, posted and not completed */
    bool limit_armed;
} SimSrq;

/* A key that is opened, used and closed under traffic. */
typedef enum SimWinState {
    SIM_WIN_IDLE,
    SIM_WIN_OPENING,                /* REG_MR or BIND_MW is posted */
    SIM_WIN_OPEN,
    SIM_WIN_CLOSING,                /* LOCAL_INV or SEND_INV is posted */
} SimWinState;

typedef struct SimWin {
    uint8_t kind;                   /* ErnicMrKind: FAST, WINDOW_1, WINDOW_2 */
    uint8_t state;
    SimMr mr;
    uint64_t list;                  /* page list of REG_MR */
    SimPiece under;                 /* the memory of a window */
    uint32_t users;                 /* requests that name its key */
    bool reads;                     /* for READ; false: for WRITE */
} SimWin;

#define SIM_WINS 2

/* One send work request. */
struct SimMsg {
    SimQp *qp;
    uint32_t number;                /* in the plan of its QP, or NO_INDEX */
    uint32_t index;                 /* in the ring, once posted */
    uint64_t wr_id;
    uint8_t op;                     /* enum ernic_wr_opcode */
    uint8_t flags;
    uint8_t wrong;
    bool posted, done, verified, closed;
    uint32_t len;
    uint64_t pattern, pattern_off;  /* of the content */
    SimSg sg;
    SimPiece remote;
    uint32_t rkey;
    uint64_t raddr;
    uint32_t imm;
    SimWin *win;                    /* of the remote key, or to invalidate */
    bool lent;                      /* a later SEND sends what this READ gets */
    SimMsg *lender;
    uint64_t atomic_arg, atomic_compare, atomic_old;
    bool whole;                     /* FLUSH: of the region */
    uint64_t free_at;               /* UC: the target is no longer its own */
    uint32_t inv_key;
    SimQp *dest;                    /* UD; NULL: the multicast group */
    uint32_t delivered;
};

typedef enum SimQpLife {
    SIM_QP_NONE,                    /* not created */
    SIM_QP_LIVE,
    SIM_QP_FLUSHING,                /* in Error, completions are awaited */
    SIM_QP_RESET,                   /* waits until its packets are gone */
} SimQpLife;

/* A send queue after the last call, for the rules of departure. */
typedef struct SimLeaving {
    uint64_t serial;                /* the train of its last packet */
    uint64_t since;                 /* the transport timer has run at most */
    uint32_t una, rewinds;
    uint32_t done;                  /* complete requests */
    bool rts;
} SimLeaving;

struct SimQp {
    SimHost *host;
    uint32_t id;                    /* in the simulation */
    uint32_t qpn, pd;
    uint8_t type;                   /* enum ernic_qp_type */
    uint8_t life;
    bool rts;                       /* posts sends */
    bool rtr;                       /* stays in RTR until rts_at */
    bool established;               /* COMM_EST may come */
    uint64_t rts_at;
    uint32_t sq_psn;
    bool failed;                    /* an error completion or event was seen */
    bool sqe;
    bool sq_error;                  /* a send has completed in error */
    bool sqd, sqd_asked;            /* SQ_DRAINED is awaited */
    bool excused;                   /* completions may be missing */
    SimQp *peer;
    SimCq *scq, *rcq;
    SimSrq *srq;
    uint8_t gid_index, mtu, timeout, retry, rnr_retry, rd_atomic;
    uint32_t qkey;
    uint32_t epoch, lives;
    SimRng rng;
    /* send queue */
    uint64_t sq_ring, rq_ring;
    uint64_t sq_record, rq_record;  /* 0: none */
    uint32_t sq_depth, sq_stride, sq_pi, sq_rung, sq_done;
    SimMsg **sq_slot;
    bool sig_all;
    uint32_t quiet;                 /* unsignalled requests since */
    uint32_t out_bytes;
    SimMsg *last_read;
    GPtrArray *msgs;                /* SimMsg by number, this epoch */
    GPtrArray *extra;               /* SimMsg outside the plan */
    GArray *recv_of;                /* numbers of those that take a receive */
    uint32_t planned, next;         /* messages to send; next to post */
    uint32_t sent_recvs;            /* of recv_of: completed successfully */
    uint32_t max_send;
    uint32_t verified;              /* WRITEs below this number were */
    /* receive queue */
    uint32_t rq_depth, rq_stride, rq_pi, rq_rung, rq_done;
    SimRecv *rq_slot;
    uint32_t rx_count;              /* messages delivered, this epoch */
    uint32_t recv_bytes;            /* posted */
    uint32_t uc_next;               /* UC: earlier messages cannot come */
    uint64_t recv_at;               /* late receivers post no earlier */
    /* rules */
    uint32_t doom;                  /* sends from this index on may fail */
    bool doom_recv;                 /* receives may fail */
    bool loss_excuse;               /* RETRY_EXC is no finding */
    bool loss_static;               /* and never will be */
    SimPiece atomic;                /* word at the peer */
    uint64_t atomic_model;
    SimLeaving leaving;
    SimWin win[SIM_WINS];
    uint32_t wins;
};

/* A train that the link has taken, and when it leaves the device. */
typedef struct SimKept {
    uint64_t serial, at;
    uint64_t frame;                 /* netdev: its last one */
} SimKept;

/* The frames of a netdev; their numbers are those that it was given. */
typedef struct SimFrames {
    ErnicFrameQueue queue;
    uint64_t put, taken, left;      /* taken by the backend; left the device */
    bool reads;                     /* the backend will take the next one */
} SimFrames;

typedef struct SimPacket {
    ErnicPath path;
    uint32_t len;
    uint8_t data[];
} SimPacket;

struct SimHost {
    Sim *sim;
    uint32_t id;
    Ernic *e;
    ErnicConfig cfg;
    SimMem mem;
    SimRng rng;
    ErnicGid gid[2];                /* [0]: IPv4, [1]: IPv6 */
    uint8_t mac[6];
    uint32_t uctx, pd, foreign_pd, other_uctx;
    SimMr *local[2], *remote, *source, *foreign, *readonly;
    SimEq eq[2];
    uint32_t eqs;
    GPtrArray *mrs, *cqs, *srqs, *qps;
    uint64_t cmd_buf;
    /* engine and link */
    uint32_t wake_gen;
    uint64_t wake_at;
    bool link_up, tx_blocked, reset;
    uint64_t link_free;
    GQueue kept;                    /* SimKept: trains that have not left */
    bool leave_pending;
    SimFrames frames;
    uint64_t timeouts;              /* ACK timeouts so far */
    uint64_t arrive_last[SIM_MAX_HOSTS];
    GQueue rxq;                     /* SimPacket */
    uint32_t rx_bytes;
    bool rx_pending;
    /* guest */
    bool think_pending;
    uint64_t think_ns;
    bool bad_doorbell;              /* BAD_DOORBELL is expected */
    uint32_t irqs;
    uint32_t lost_to;               /* packets for it that the wire lost */
};

/* ---- the whole ----------------------------------------------------------- */

typedef enum SimEvent {
    SIM_EV_RUN,                     /* the engine asked for it */
    SIM_EV_TX_READY,
    SIM_EV_TX_LEFT,
    SIM_EV_FRAMES,                  /* the backend of a netdev has room */
    SIM_EV_ARRIVE,                  /* ptr: SimPacket */
    SIM_EV_RX,
    SIM_EV_THINK,
    SIM_EV_POLL,                    /* ptr: SimCq */
    SIM_EV_EQ,                      /* ptr: SimEq */
    SIM_EV_STEP,
    SIM_EV_LINK_UP,
    SIM_EV_FREE,                    /* ptr: SimPiece */
    SIM_EV_RECONNECT,               /* ptr: SimQp */
    SIM_EV_FAIR,
    SIM_EV_SILENT,
    SIM_EV_COUNT
} SimEvent;

typedef struct SimItem {
    uint64_t at, serial;
    void *ptr;
    uint32_t gen;
    uint8_t kind, host;
} SimItem;

/* Ways to cheat, to test the checkers. */
typedef enum SimSabotage {
    SIM_SAB_NONE,
    SIM_SAB_PAYLOAD,
    SIM_SAB_TWICE_CQE,
    SIM_SAB_SKIP_CQE,
    SIM_SAB_SWAP_MSG,
    SIM_SAB_LOSE_MSG,
    SIM_SAB_LOSE_UC,
    SIM_SAB_STRAY_WRITE,
    SIM_SAB_LATE_WRITE,
    SIM_SAB_STRAY_READ,
    SIM_SAB_ATOMIC,
    SIM_SAB_BLACKHOLE,
    SIM_SAB_SKIP_WAKE,
    SIM_SAB_COUNTER,
    SIM_SAB_SAVE,
    SIM_SAB_EVENT,
    SIM_SAB_POSTPONE,
    SIM_SAB_LEFT,
    SIM_SAB_SKIP_LEFT,
    SIM_SAB_FRAME,
    SIM_SAB_COUNT
} SimSabotage;

typedef struct SimStats {
    uint64_t packets, bytes, dropped, messages, delivered, completions,
             failures, reconnects, saves, wrong, events, resets,
             whole;                 /* UC flows whose messages all had to arrive */
} SimStats;

/* The state of silent.c. */
typedef struct SimSilent {
    SimRng rng;
    SimMr *mr;
    uint64_t cq, ring[2];           /* rings: of flood, of qpn */
    uint64_t unused;                /* the receive queues, which stay empty */
    uint32_t cqn, cq_ci;
    uint32_t qpn, flood;            /* the two queue pairs */
    uint32_t flood_pi, flood_ci;
    uint32_t rounds;
    bool waits;                     /* for the error of the silent queue pair */
    uint64_t period, deadline;
} SimSilent;

struct Sim {
    uint64_t seed, now, serial, events;
    uint64_t hash;                  /* of all events */
    bool verbose, failed, fair, ending, jumped;
    GString *why;
    FILE *pcap;
    SimRng rng, wire_rng;
    SimPlan plan;
    SimHost host[SIM_MAX_HOSTS + 1];    /* the last of them: silent.c's */
    uint32_t hosts;
    SimSilent silent;
    GPtrArray *qps;                 /* all, by id */
    ErnicGid group;                 /* of the multicast members */
    uint64_t progress_at, fair_at;
    uint64_t jump_settled;      /* packets sent before the last jump have arrived */
    uint32_t jumps;
    GSequence *due;                 /* SimItem */
    uint8_t sabotage;               /* SimSabotage */
    bool sabotaged;                 /* it was done */
    SimStats stats;
};

/* world.c */
bool sim_run(Sim *s);
void sim_free(Sim *s);
Sim *sim_new(uint64_t seed);
void sim_at(Sim *s, uint64_t at, SimEvent kind, SimHost *h, void *ptr,
            uint32_t gen);
void sim_fail(Sim *s, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, of a queue pair. */
#define sim_qp_fail(qp, rule, fmt, ...)                                 \
    sim_fail((qp)->host->sim, rule, "host %u: QP %u: " fmt,             \
             (qp)->host->id, (qp)->qpn, __VA_ARGS__)
void sim_log(Sim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sim_note(Sim *s, uint64_t what);       /* into the history's hash */
void sim_progress(Sim *s);
void sim_engine_new(SimHost *h);
void sim_checked(SimHost *h);
uint8_t sim_doorbell(SimHost *h, uint32_t uctx, uint8_t kind, uint32_t queue,
                     uint32_t index);
/* One that must be obeyed. */
void sim_ring(SimHost *h, uint32_t uctx, uint8_t kind, uint32_t queue,
              uint32_t index);
/* One of a send queue with a record, as an event. */
void sim_ring_page(SimHost *h, uint32_t uctx);
/* A defect of @rule unless both states, which are freed, are the same. */
void sim_same(SimHost *h, const char *rule, GByteArray *a, GByteArray *b);
void sim_save_restore(SimHost *h);
void sim_think_soon(SimHost *h);

/* scenario.c */
void sim_plan(Sim *s);
void sim_setup(Sim *s);
void sim_host_init(Sim *s, uint32_t id);
/* The length of a message, at most @max, short ones being common. */
uint32_t sim_length(SimRng *r, uint32_t max);

/* mem.c */
void sim_mem_init(SimHost *h);
void sim_mem_free(SimHost *h);
uint64_t sim_mem_take(SimHost *h, uint32_t len, uint32_t align, uint8_t shadow);
uint8_t *sim_mem(SimHost *h, uint64_t addr);
void sim_shadow(SimHost *h, uint64_t addr, uint32_t len, uint8_t bits);
SimMr *sim_mr_new(SimHost *h, uint32_t length, uint32_t access);
/* The guest address of byte @off and how many bytes follow on from it. */
uint64_t sim_mr_addr(const SimMr *mr, uint64_t off, uint64_t *run);
bool sim_piece_take(SimMr *mr, SimRng *r, uint32_t len, uint32_t align,
                    SimPiece *piece);
/* Close it to the device, and give it back. */
void sim_piece_free(SimPiece *piece);
void sim_piece_shadow(const SimPiece *piece, uint8_t bits);
void sim_sg_free(SimSg *sg);
void sim_sg_shadow(const SimSg *sg, uint8_t bits);
void sim_piece_fill(const SimPiece *p, uint64_t pattern, uint64_t off);
/* The offset of the first byte that differs, or -1. */
int64_t sim_piece_verify(const SimPiece *p, uint32_t skip, uint32_t len,
                         uint64_t pattern, uint64_t off);
int64_t sim_sg_verify(const SimSg *sg, uint32_t skip, uint32_t len,
                      uint64_t pattern, uint64_t off);
void sim_sg_fill(const SimSg *sg, uint64_t pattern, uint64_t off);
void sim_sg_copy_out(const SimSg *sg, uint32_t off, void *buf, uint32_t len);
void sim_pattern(uint64_t pattern, uint64_t off, uint8_t *buf, uint32_t len);
extern const ErnicEnvOps sim_env_ops;

/* wire.c */
/* The tx() and tx_departed() of sim_env_ops. */
bool sim_wire_tx(void *host, const ErnicTrain *train);
uint64_t sim_wire_departed(void *host);
/* The right answer of sim_wire_departed(). */
uint64_t sim_wire_gone(SimHost *h);
void sim_wire_left(SimHost *h);
/* A packet leaves @h. */
void sim_wire_send(SimHost *h, const ErnicPath *path, const uint8_t *data,
                   uint32_t len);
/* Drop the trains that the link holds: the link or the engine is a new one. */
void sim_wire_forget(SimHost *h);
void sim_wire_arrive(SimHost *h, SimPacket *packet);
void sim_wire_rx(SimHost *h);
void sim_wire_stray(SimHost *h);
/* The longest time that a packet is in flight. */
uint64_t sim_wire_lifetime(const Sim *s);
void sim_pcap_open(Sim *s, const char *name);
void sim_pcap_packet(Sim *s, const SimPacket *packet);

/* netdev.c: as the functions of wire.c */
bool sim_netdev_tx(SimHost *h, const ErnicTrain *train);
uint64_t sim_netdev_departed(SimHost *h);
void sim_netdev_left(SimHost *h);
/* The frames in the queue are lost. */
void sim_netdev_purge(SimHost *h);
/* The main loop's work: the backend takes frames. */
void sim_netdev_run(SimHost *h);
/* After each call of the engine. */
void sim_check_departure(SimHost *h);

/* guest.c */
uint8_t sim_cmd(SimHost *h, struct ernic_cmd *cmd, struct ernic_rsp *rsp);
uint32_t sim_cmd_ok(SimHost *h, struct ernic_cmd *cmd);
struct ernic_cmd sim_cmd_new(SimHost *h, uint8_t opcode);
/* One about queue pair @qpn that passes @data in memory. */
struct ernic_cmd sim_cmd_data(SimHost *h, uint8_t opcode, uint32_t qpn,
                              const void *data, uint32_t len);
void sim_guest_init(SimHost *h);
void sim_gids_set(SimHost *h);
void sim_mr_register(SimMr *mr, uint32_t pd, uint32_t uctx, bool zero_based);
SimCq *sim_cq_new(SimHost *h, uint32_t need, bool tiny);
/*
 * Write @pi to @record, which has @before; whether the request to ring is one of those
 * in between.
 */
bool sim_record(SimHost *h, uint64_t record, uint32_t before, uint32_t pi);
/* Software's part of a reset; 0: there is none. */
void sim_record_clear(SimHost *h, uint64_t record);
SimSrq *sim_srq_new(SimHost *h, SimRng *r, uint32_t depth, uint32_t cap);
SimQp *sim_qp_new(SimHost *h, uint8_t type);
void sim_qp_create(SimQp *qp);
void sim_qp_destroy(SimQp *qp);
uint8_t sim_qp_modify(SimQp *qp, const struct ernic_qp_attr *attr);
uint8_t sim_qp_query(SimQp *qp, struct ernic_qp_attr *attr);
void sim_cq_arm(SimCq *cq);
void sim_srq_arm(SimSrq *srq);
void sim_guest_destroy_all(SimHost *h);

/* conn.c */
void sim_qp_up(SimQp *qp);              /* Reset to RTS */
void sim_qp_failed(SimQp *qp, const char *why);
void sim_qp_teardown(SimQp *qp, SimStep how);
void sim_qp_reconnect(SimQp *qp);
void sim_qp_life(SimQp *qp);            /* the next step of its life */
bool sim_qp_finished(const SimQp *qp);
void sim_qp_doom(SimQp *qp);            /* its peer has a reason to fail it */
bool sim_qp_flushed(const SimQp *qp);
void sim_qp_sqd_back(SimQp *qp);
void sim_qp_to_rts(SimQp *qp);
void sim_qp_to_error(SimQp *qp);
bool sim_takes_recv(uint8_t op);
/* Whether it needs a READ or atomic credit. */
bool sim_takes_credit(uint8_t op);

/* post.c */
SimMsg *sim_msg_at(SimQp *qp, uint32_t number);
SimMsg *sim_msg_new(SimQp *qp, uint8_t op, uint32_t len, bool extra);
bool sim_post_sends(SimQp *qp, uint32_t most);
bool sim_sq_room(const SimQp *qp);
bool sim_sg_take(SimMr *mr, SimRng *r, uint32_t len, SimSg *sg);
void sim_post_extra(SimQp *qp, SimMsg *m);
void sim_post_wrong(SimQp *qp);
void sim_wqe_write(SimMsg *m);
struct ernic_sge sim_sge(const SimPiece *piece);

/* recv.c */
bool sim_post_recvs(SimQp *qp);
bool sim_post_srq(SimSrq *srq);
void sim_post_wrong_recv(SimQp *qp);

/* window.c */
void sim_win_init(SimQp *qp);
void sim_win_drop(SimQp *qp);
bool sim_win_step(SimQp *qp);
SimWin *sim_win_pick(SimQp *target, bool reads);
SimWin *sim_win_to_invalidate(SimQp *target);
void sim_win_done(SimMsg *m, bool ok);
void sim_win_put(SimWin *win);
void sim_win_closed(SimWin *win);

/* poll.c */
void sim_poll_cq(SimCq *cq);
void sim_poll_eq(SimHost *h, SimEq *eq);
void sim_poll_all(SimHost *h);
/* NULL: there is none; or the one that had the number is destroyed. */
SimQp *sim_find_qp(SimHost *h, uint32_t qpn);
void sim_poll_soon(SimCq *cq);

/* check.c and deliver.c */
void sim_check_cqe(SimCq *cq, const struct ernic_cqe *cqe);
void sim_check_epoch(SimQp *qp);
void sim_check_end(Sim *s);
void sim_check_agreement(SimQp *qp);
void sim_check_unreliable(SimQp *qp);
bool sim_may_have_failed(const SimQp *qp);
void sim_msg_done(SimMsg *m, uint8_t status);
bool sim_deliver(SimQp *qp, SimRecv *r, const struct ernic_cqe *cqe);

/* silent.c */
void sim_silent_setup(Sim *s);
void sim_silent_step(SimHost *h);
bool sim_silent_done(const Sim *s);
void sim_silent_free(Sim *s);

/* steps.c */
void sim_step(Sim *s);
void sim_end_all(Sim *s);

/* sabotage.c */
typedef struct SimSabotageRow {
    const char *name;
    const char *rules;              /* any of them, separated by spaces */
} SimSabotageRow;

extern const SimSabotageRow sim_sabotages[SIM_SAB_COUNT];
bool sim_sabotage(Sim *s, SimSabotage what);
void sim_sabotage_packet(SimHost *h, SimPacket *packet);

#endif /* SIM_H */
