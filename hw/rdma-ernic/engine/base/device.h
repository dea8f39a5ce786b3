/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One device: the tables of all objects and their shared state. Higher rooms define
 * the types of the pointers; this file does not use them.
 */
#ifndef ERNIC_BASE_DEVICE_H
#define ERNIC_BASE_DEVICE_H

#include "base/budget.h"
#include "base/env.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/types.h"

typedef struct ErnicEq ErnicEq;
typedef struct ErnicCq ErnicCq;
typedef struct ErnicSrq ErnicSrq;
typedef struct ErnicQp ErnicQp;
typedef struct ErnicWqe ErnicWqe;
typedef struct ErnicRecv ErnicRecv;
typedef struct ErnicMr ErnicMr;
typedef struct ErnicJob ErnicJob;
typedef struct ErnicPd ErnicPd;
typedef struct ErnicMcast ErnicMcast;
typedef struct ErnicFlow ErnicFlow;
typedef struct ErnicFlowTables ErnicFlowTables;
typedef struct ErnicMlx5Eth ErnicMlx5Eth;
typedef struct ErnicRss ErnicRss;
typedef struct ErnicCounter ErnicCounter;
typedef struct ErnicTx ErnicTx;
typedef struct ErnicMcastDelivery ErnicMcastDelivery;
typedef struct ErnicInterfaceOps ErnicInterfaceOps;
typedef struct ErnicKeyOps ErnicKeyOps;
typedef struct ErnicCqeOps ErnicCqeOps;
typedef struct ErnicEqOps ErnicEqOps;
typedef struct ErnicRegFile ErnicRegFile;
typedef struct ErnicSide ErnicSide;
typedef struct ErnicHandshake ErnicHandshake;
typedef struct ErnicTimers ErnicTimers;
typedef struct ErnicTiming ErnicTiming;
typedef struct ErnicProfile ErnicProfile;
typedef struct ErnicTimingTrace ErnicTimingTrace;
typedef struct ErnicStrict ErnicStrict;
typedef struct ErnicDbPages ErnicDbPages;
typedef struct ErnicMlx5 ErnicMlx5;
typedef struct ErnicMlx5Config ErnicMlx5Config;

/* Consequence of a broken rule of PG332. */
typedef enum ErnicStrictMode {
    ERNIC_STRICT_OFF,           /* rules are not checked */
    ERNIC_STRICT_REPORT,        /* violations are counted and reported */
    ERNIC_STRICT_ENFORCE,       /* and have the consequences that the rules name */
    ERNIC_STRICT_MODES
} ErnicStrictMode;

/* Condition for a completion under the timing model, before it is written. */
typedef enum ErnicTimedAfter {
    ERNIC_AFTER_NOTHING,
    ERNIC_AFTER_SENT,           /* until the last frame has left */
    ERNIC_AFTER_LOCAL,          /* until the last local operation has ended */
} ErnicTimedAfter;

/* A function of the mlx5 interface. */
struct ErnicMlx5Config {
    uint8_t mac[6];
    uint16_t max_mtu;           /* with Ethernet header, VLAN tag and FCS */
    uint32_t link_speed;        /* Mb/s; 0: 100000 */
    char board_id[16];          /* not terminated */
    bool link_up;               /* of a function without an engine */
};

/*
 * Chosen once, before ernic_new(). Numbers of objects: at least 1, at most ERNIC_LIM_*.
 */
typedef struct ErnicConfig {
    uint32_t max_qp, max_cq, max_srq, max_eq, max_mr, max_pd, max_uctx;
    uint16_t num_vectors;
    uint8_t mtu;                /* greatest path MTU, 1: 256 ... 5: 4096 */
    uint16_t udp_sport;         /* of every packet; 0: per queue pair */
    uint32_t link_speed;        /* Mb/s, as reported to software; without timing, the
                                   link rate of DCQCN */
    /*
     * 0: the guest uses the verbs interface. Otherwise 1 + enum pg332_version: it uses
     * the registers of PG332, with queue pairs 1 to max_qp - 1.
     */
    uint8_t pg332;
    uint8_t pg332_reads;        /* of a peer that wait for a response; 0: the most */
    bool user_logic;            /* at PG332's ports of the hardware handshake */
    /*
     * The guest uses the mlx5 interface, with this configuration, which outlives the
     * engine; @pg332 is 0. NULL: it does not.
     */
    const ErnicMlx5Config *mlx5;
    /* Another interface; outlives the engine. NULL: by @pg332 and @mlx5. */
    const ErnicInterfaceOps *interface;
    uint8_t strict;             /* ErnicStrictMode; with PG332 only */
    bool raw;                   /* the link takes Ethernet frames too */
    bool no_icrc;               /* the link needs no ICRC: it is 0, and not checked */
    uint64_t retry_time;        /* ns (transport/adaptive_retry.h); 0: off */
    /* The profile of the timing model, which outlives the engine; NULL: it is off. */
    const ErnicProfile *timing;
    /*
     * Bytes of host memory that software can make the engine allocate; 0: as many as
     * the other limits need, ernic_memory_most().
     */
    uint64_t max_memory;
    /* Receives the events of the timing model; outlives the engine. NULL: none. */
    const ErnicTimingTrace *timing_trace;
    /* Slices of work end by it as well (budget.h). NULL: runs have to repeat. */
    ErnicClock *clock;
    /*
     * The engine stores its number of flow rules there as well, atomically: threads may
     * read it without the lock. Outlives the engine; NULL: nobody does.
     */
    uint32_t *flow_rules;
} ErnicConfig;

/* A queue of queue pairs, by number; 0: none. */
typedef struct ErnicRing {
    uint32_t head, tail;
    uint32_t count;             /* derived */
} ErnicRing;

typedef struct ErnicGidEntry {
    ErnicGid gid;               /* all 0: free */
    uint8_t mac[6];
    uint16_t vlan;
} ErnicGidEntry;

/* State of the page fault of a queue pair. */
typedef enum ErnicPageState {
    ERNIC_PAGE_NONE,
    ERNIC_PAGE_ASKED,           /* software was asked, and will answer by RESUME */
    ERNIC_PAGE_FAILED,          /* it has answered that the page will not be there */
    ERNIC_PAGE_STATES
} ErnicPageState;

/* An absent page that an access needs (odp.h). */
typedef struct ErnicPageFault {
    uint64_t off;               /* of the first byte, in its region's buffer */
    uint32_t key;               /* of the region */
    uint32_t len;               /* bytes needed from there on */
    bool write;
    uint8_t state;              /* ErnicPageState */
} ErnicPageFault;

/* The pending events of an object; embedded in CQ, QP, SRQ (eq.c). */
typedef struct ErnicEvents {
    uint32_t pending;           /* bit per enum ernic_event */
    uint32_t detail;            /* of BAD_DOORBELL */
    bool queued;                /* waits in its event queue */
    ErnicPageFault page;        /* of PAGE_FAULT, and until it is resumed */
} ErnicEvents;

typedef enum ErnicEvClass {
    ERNIC_EVC_CQ,
    ERNIC_EVC_QP,
    ERNIC_EVC_SRQ,
    ERNIC_EVC_PORT,
    ERNIC_EVC_COUNT
} ErnicEvClass;

/* The memory of an engine that the thread of its environment frees. */
typedef enum ErnicDeferredKind {
    ERNIC_DEFERRED_NONE,
    ERNIC_DEFERRED_BLOCKS,      /* large blocks */
    ERNIC_DEFERRED_OBJECTS,     /* those that it had before a reset, too */
} ErnicDeferredKind;

/* Location of the events of one class: number n at base + n * stride. */
typedef struct ErnicEventsAt {
    void *base;
    size_t stride;
} ErnicEventsAt;

struct Ernic {
    const ErnicEnvOps *ops;
    void *env;
    ErnicConfig cfg;
    const ErnicInterfaceOps *interface;
    const ErnicKeyOps *keys;    /* interface->keys */
    const ErnicCqeOps *cqes;    /* interface->cqes */
    const ErnicEqOps *eqs;      /* interface->eqs */
    ErnicRegFile *regs;         /* owned; NULL: verbs */
    ErnicSide *side;            /* owned; NULL: verbs */
    ErnicHandshake *handshake;  /* owned; NULL: no user logic */
    ErnicStrict *strict;        /* owned; NULL: off */
    ErnicMlx5 *mlx5;            /* owned; NULL: another interface */
    ErnicDbPages *db_pages;     /* owned; NULL: no page rings by an event */

    /* Tables, index = number (keys: number >> 8). Number 0 is never used. */
    ErnicIds pd_ids, eq_ids, cq_ids, srq_ids, mr_ids, qp_ids, uctx_ids;
    ErnicPd *pd;
    ErnicEq *eq;
    ErnicCq *cq;
    ErnicSrq *srq;
    ErnicMr *mr;
    ErnicQp *qp;
    ErnicMcast *mcast;
    uint16_t mcast_bucket[ERNIC_MCAST_BUCKETS]; /* a group: its first entry + 1; 0 */
    uint32_t mcast_free;        /* the first entry that is free */
    uint32_t mcast_end;         /* from here on, no entry was ever in use */
    ErnicFlow *flow;            /* ERNIC_LIM_FLOW + 1; index = handle */
    uint32_t num_flows;         /* that are used */
    ErnicMlx5Eth *mlx5_eth;     /* owned; NULL: another interface */
    ErnicFlowTables *flow_tables;       /* owned; NULL: the interface has none */
    uint32_t num_groups;        /* multicast groups with a member */
    ErnicRss *rss;              /* ERNIC_LIM_RSS + 1 */
    ErnicCounter *counter;      /* ERNIC_LIM_COUNTER + 1, of which 0 is used */
    bool uctx_used[ERNIC_LIM_UCTX + 1];         /* commands.c; index = number */
    uint32_t num_pages;         /* page addresses kept, of ERNIC_MAX_PAGES */
    ErnicMem mem;               /* host memory that objects own */
    ErnicDeferredKind deferred; /* what was freed later, at the most (deferred.h) */
    uint32_t num_bound;         /* type 2 windows that are bound */
    uint32_t holders;           /* the first key that holds a region; 0 */
    uint32_t num_holders;
    uint32_t num_unacked;       /* queue pairs whose transport timer runs; writer:
                                   transport/retry_timer */
    ErnicJob *job;              /* the command in progress (objects/job.h) */
    bool touched;               /* software or the link has used it since its reset */
    ErnicBudget work;           /* since the reset (base/work.h) */

    ErnicGidEntry gid[ERNIC_LIM_GID];           /* set by objects/gid.c */
    uint32_t num_gids;          /* up to the last one that is used */
    uint64_t gid_changes;       /* of the table, also by a reset */
    uint16_t pkey[ERNIC_LIM_PKEY];
    uint32_t bad_pkey, bad_qkey;
    uint16_t udp_sport;         /* of every packet; 0: per queue pair */
    /* PG332: a global register may start or stop queue pairs from this one on; 0: none */
    uint32_t unsettled;
    /* PG332: ns when the last pause of the link ends or has ended; 0: there was none. */
    uint64_t resume;
    bool paused;                /* it has not ended */
    bool port_active;
    bool page_failed;           /* some page may be ERNIC_PAGE_FAILED */
    uint32_t async_eq;          /* 0: none */
    uint64_t eq_more;           /* bit per EQ: objects wait, and it has room */
    ErnicEvents port_events;
    ErnicEventsAt events_at[ERNIC_EVC_COUNT];   /* set by ernic_new() */

    ErnicTimers *timers;        /* one deadline per queue pair */
    ErnicTimers *cq_timers;     /* one per completion queue: moderation */
    ErnicTx *tx;
    ErnicMcastDelivery *copies; /* multicast datagrams in progress */
    ErnicTiming *timing;        /* NULL: off */
    ErnicRing ready;            /* queue pairs that can do something */
    ErnicRing waiting;          /* and those that can when the link is free */
    ErnicRing places;           /* timing: responders that wait for a slot
                                   (read_slots.c) */
    ErnicRing departing;        /* queue pairs whose last packet has not left yet */
    uint64_t now;               /* time of the current call; not a clock */
    ErnicStats stats;
    ErnicPageFault absent;      /* of the last access that was ABSENT */
    uint8_t rx_fault;           /* ErnicFault of the packet being served */
    const struct ErnicPkt *rx_pkt;  /* that packet, if the interface asks; or NULL */
    /* While a state without its lists is saved (state/precopy.h); or NULL. */
    struct ErnicPrecopy *precopy;
};
typedef struct Ernic Ernic;

#endif /* ERNIC_BASE_DEVICE_H */
