/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state of each part of the device: what registers hold, and what its rooms keep.
 */
#ifndef ERNIC_DEVICE_PARTS_H
#define ERNIC_DEVICE_PARTS_H

#include "migration/vmstate.h"
#include "net/net.h"
#include "qemu/bitops.h"
#include "qemu/event_notifier.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "compat/qemu.h"
#include "engine/engine.h"
#include "engine/state/precopy.h"
#include "fabric/stream_bytes.h"
#include "fabric/wire_device.h"

/* The first members of a description of saved state: new releases add sections only. */
#define ERNIC_VMSTATE_V1(name_) \
    .name = name_, .version_id = 1, .minimum_version_id = 1

/* The description of a structure that is a part of others: a name, and fields. */
#define ERNIC_VMSTATE(name_, ...) { \
    ERNIC_VMSTATE_V1(name_), \
    .fields = (const VMStateField[]) { __VA_ARGS__, VMSTATE_END_OF_LIST() }, \
}

typedef struct ErnicFreeing ErnicFreeing;
typedef struct ErnicHostOps ErnicHostOps;
typedef struct ErnicNetq ErnicNetq;
typedef struct ErnicPci ErnicPci;
typedef struct ErnicQdma ErnicQdma;
typedef struct ErnicXib ErnicXib;

/* Maximum number of doorbells that wait for the engine. */
#define ERNIC_DB_QUEUE      1024

typedef struct ErnicDbEntry {
    uint32_t uctx;
    uint32_t cmd_pi;            /* commands up to here are executed before it */
    uint64_t value;
} ErnicDbEntry;

/* The writable registers of the control page, and the command ring. */
typedef struct ErnicVerbs {
    uint64_t cmd_addr, rsp_addr;
    uint32_t ring_shift;
    uint32_t cmd_pi, cmd_ci;
    uint32_t error;             /* enum ernic_dev_error */
    bool enabled, fatal;        /* atomic */
    uint32_t saved_features;    /* of a saved state: ERNIC_FEATURE_* */
} ErnicVerbs;

/* The mlx5 interface. */
typedef struct ErnicPciMlx5 {
    uint32_t vendor, device;    /* properties, PCI ids; 0: those of the interface */
    ErnicMlx5Config cfg;
} ErnicPciMlx5;

/* Doorbell pages of an interface, at the most, and the most of them with an eventfd. */
#define ERNIC_PCI_PAGES         1024
#define ERNIC_PCI_PAGE_EVENTS   ERNIC_DB_EVENTS

/* Doorbell pages that ring by an eventfd (ioeventfd.c); a bit for each page. */
typedef struct ErnicPageEvents {
    QEMUBH *bh;                 /* in the main loop; NULL: off */
    unsigned long wanted[BITS_TO_LONGS(ERNIC_PCI_PAGES)];       /* atomic */
    unsigned long have[BITS_TO_LONGS(ERNIC_PCI_PAGES)];         /* BQL */
    unsigned long rung[BITS_TO_LONGS(ERNIC_PCI_PAGES)];         /* atomic */
    unsigned long batch[BITS_TO_LONGS(ERNIC_PCI_PAGES)];        /* lock; were rung */
    /* The first ones exist, and stay for other pages. Owned; BQL */
    struct ErnicPageEvent *event[ERNIC_PCI_PAGE_EVENTS];
} ErnicPageEvents;

/*
 * Polling of the engine's thread (polling.c), which alone uses it while there is @bh.
 * Times are ns of the host.
 */
typedef struct ErnicPolling {
    uint32_t max_us;            /* property */
    QEMUBH *bh;                 /* NULL: the thread does not poll */
    EventNotifier notifier;     /* if there is bh */
    bool on;
    bool ended;                 /* the next work is that of the last look */
    uint32_t turns;             /* since the last work */
    int64_t idle_at, idle_used; /* the end of it, and the thread's own time then */
    int64_t window, until;      /* for how long after it */
    int64_t pause, paused_until;
} ErnicPolling;

/* The records of user logic that have come, and have not been executed. */
#define ERNIC_USER_RECORDS  64

typedef struct ErnicUserStats {
    uint64_t received, refused, sent;   /* records */
} ErnicUserStats;

/* The port of user logic (bars/user_logic.c). BQL */
typedef struct ErnicUserLogic {
    ErnicCharFrontend chr;      /* property; not connected: there is no port */
    QEMUBH *bh;                 /* in the main loop; NULL: the port is closed */
    guint watch;                /* waits until the chardev has room; 0: none */
    bool open;                  /* atomic: somebody is at the other end, and reads */
    bool forgotten;             /* the engine does not know @sending any more */
    ErnicUserRecord sending;
    uint32_t sent;              /* bytes of it that have left; 0: it is none */
    uint32_t come;              /* bytes in @in */
    uint8_t in[ERNIC_USER_RECORDS * PG332_USER_RECORD];
    ErnicUserStats stats;
} ErnicUserLogic;

/* The ERNIC interface has its own engine, which the device's lock protects too. */
typedef struct ErnicPg332 {
    uint8_t version;            /* properties; 1 + enum pg332_version; 0: none given */
    uint8_t strict;             /* ErnicStrict */
    bool profile;               /* the default profile is that of PG332 */
    uint32_t num_qp;            /* 0: the default */
    uint32_t reads;             /* depth of the queue of READs; 0: the default */
    uint32_t warned;            /* number of violations reported to the user */
    const ErnicTimingTrace *timing_trace;       /* NULL: not requested */
    ErnicConfig cfg;
    MemoryRegion bar;
    Ernic *engine;              /* NULL: no ERNIC interface */
    uint64_t wake;              /* like ErnicPci.wake */
    uint16_t vector;            /* of interrupt 0; that of interrupt 1 precedes it */
    uint32_t risen;             /* atomic; interrupts (bits) for irq_bh to raise */
    bool first;                 /* this engine was the first to run last time */
    ErnicStreamBytes state;     /* like ErnicPci.state */
    ErnicUserLogic user;
} ErnicPg332;

/* Stored words in the table of bars/shell_registers.c; those of the first release. */
#define ERNIC_SHELL_WORDS_1 (8 * 6 + 4 * (1 + 128 + 10) + 2 * (1 + 1 + 11 + 2 + 1 + 1))
#define ERNIC_SHELL_WORDS   (ERNIC_SHELL_WORDS_1 + 2 * 1)

/* Where the first words of some groups are; the table is checked against these. */
enum {
    ERNIC_SHELL_QUEUES = 8 * 6,                     /* of function 0 */
    ERNIC_SHELL_TABLE = ERNIC_SHELL_QUEUES + 4,     /* of function 0, 128 words */
    ERNIC_SHELL_HASH_KEY = ERNIC_SHELL_TABLE + 4 * 128,     /* the same, 10 words */
    ERNIC_SHELL_KEY_WORDS = 10,
    ERNIC_SHELL_MAC_TX = ERNIC_SHELL_HASH_KEY + 4 * ERNIC_SHELL_KEY_WORDS, /* of port 0 */
    ERNIC_SHELL_MAC_RX = ERNIC_SHELL_MAC_TX + 2,
    ERNIC_SHELL_MAC_LOOP = ERNIC_SHELL_WORDS_1,
};

/* The shell around PG332: what else of a card the function has. */
typedef enum ErnicShellKind {
    ERNIC_SHELL_NONE,
    ERNIC_SHELL_RECONIC,
    ERNIC_SHELL_OPENNIC,
    ERNIC_SHELL_XIB,
    ERNIC_SHELLS
} ErnicShellKind;

/* A DMA engine of a shell under the timing model (device/pace.h); ps of virtual time. */
typedef struct ErnicPace {
    uint64_t due;               /* end of the descriptor in hand; 0: there is none */
    uint64_t last;              /* end of the one before; 0: it was idle since then */
    uint32_t owner;             /* which descriptor that is */
} ErnicPace;

/* Two memory-mapped engines of a QDMA, and two that send streams; or one of xib. */
#define ERNIC_PACES 4
#define ERNIC_PACE_COSTS    3

/* The worker of the DMA engines of a shell (device/card.h). BQL */
typedef struct ErnicShellWorker {
    QEMUBHFunc *run;
    QEMUBH *bh;                 /* NULL: no shell has engines here, or they have ended */
    QEMUTimer kick;             /* runs in place of bh: ernic_pci_schedule() */
    QEMUTimer paced;            /* the first descriptor that ends: device/pace.h */
    QEMUTimer delay;            /* the first delay of an interrupt that ends */
} ErnicShellWorker;

/* The card's memory and its shell; protected by the device's lock. */
typedef struct ErnicShell {
    uint8_t kind;               /* properties; ErnicShellKind */
    uint64_t card_size;         /* bytes; 0: the card has no memory */
    ErnicPci *port_of;          /* property; this is the second port of that one's card */
    ErnicPci *second;           /* the device that is the second port of this; BQL */
    bool parted;                /* port_of is gone */
    uint32_t links;             /* bits: ports whose link has changed; BQL */
    uint32_t links_up;          /* the links when that was last looked at */
    ErnicQdma *qdma;            /* owned; of the first port; BQL */
    ErnicXib *xib;              /* owned; of that shell; BQL */
    ErnicShellWorker worker;
    ErnicPace pace[ERNIC_PACES];        /* BQL */
    uint64_t pace_costs[ERNIC_PACE_COSTS];      /* of the profile, for a saved state */
    uint32_t warned;            /* number of violations of the QDMA's rules; BQL */
    MemoryRegion card;
    uint32_t regs[ERNIC_SHELL_WORDS];   /* windows: atomic, for a second ERNIC */
} ErnicShell;

/* The registers of struct ernic_eth_regs, in host byte order. */
typedef struct ErnicEth {
    uint32_t ctrl;
    uint32_t mac_lo, mac_hi;
    uint64_t mc_hash;
    uint64_t tx_addr, rx_addr, state_addr;
    uint32_t tx_shift, rx_shift, vector;
    uint32_t tx_pi, tx_ci, rx_pi, rx_ci;
    uint32_t tx_sent;           /* bytes of the large packet at tx_ci that have left */
    uint32_t tx_arm, rx_arm;
    bool tx_armed, rx_armed;
    bool tx_wait;               /* the backend has not taken the last frame yet */
    uint64_t tx_packets, tx_bytes, tx_errors;
    uint64_t rx_packets, rx_bytes, rx_no_buffer, rx_errors;
} ErnicEth;

typedef struct ErnicNetdev {
    NICConf conf;
    NICState *nic;
    ErnicWire *wire;            /* property "wire", in place of a netdev */
    NetClientState *port;       /* the device's port of the wire */
    QEMUBH *bh;                 /* transmission of the Ethernet interface */
    QEMUTimer kick;             /* runs in place of bh: ernic_pci_schedule() */
    ErnicNetq *queues;
    uint32_t pending;           /* RoCE frames the backend has not taken yet */
    bool blocked;               /* the engine waits for the wire, or for the queue */
    uint32_t busy;              /* calls into or from QEMU's network layer below */
    bool rx_full;               /* frames wait: for room, a slice, older doorbells */
    bool started;               /* the device knows that the machine runs */
    bool resuming;              /* those frames are being delivered */
    bool link_down;             /* atomic; the cable is unplugged */
    bool link_moved;            /* link change not reported to the guest yet */
    ErnicEth eth;
    uint64_t train;             /* serial of the train that was taken last, */
    uint8_t sender;             /* and whose it is: ErnicPciEngine */
    uint32_t flow_rules;        /* of the engine; atomic */
} ErnicNetdev;

/* Holes in the state, while it is saved or loaded. */
typedef struct ErnicPciHoles {
    ErnicPrecopyHole *hole;     /* owned */
    int32_t num;
} ErnicPciHoles;

/* The migration under way; there is one at a time. */
typedef struct ErnicPciPrecopy {
    char *section;              /* its name; owned */
    NotifierWithReturn setup;   /* all devices have begun */
    bool begun;                 /* whether lists are sent does not change any more */
    bool active;                /* they are */
    bool kept;                  /* a device that is gone waits for the end; BQL */
    ErnicPrecopy source;        /* lock */
    ErnicPrecopied arrived;     /* at the destination */
    ErnicPciHoles spans, lists; /* filled in this order */
} ErnicPciPrecopy;

#endif /* ERNIC_DEVICE_PARTS_H */
