/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as QEMU holds it. Everything from the engine down to the links
 * runs in one AioContext, the main loop's or that of an iothread, and under
 * one lock; register accesses come from the CPUs' threads, under the BQL.
 *
 * Lock order: BQL, then lock, then db_lock. Who holds lock never takes the
 * BQL: guest memory is reached only where that needs none (env.c). Who
 * holds it raises no interrupt either, for a message goes where the guest says,
 * this device's registers included: a bottom half of the main loop does.
 */
#ifndef ERNIC_PCI_H
#define ERNIC_PCI_H

#include "hw/pci/pci_device.h"
#include "qemu/log.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "system/iothread.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "core/engine.h"
#include "faces/ethernet.h"
#include "links/udp_socket.h"
#include "pci/registers.h"

#define TYPE_ERNIC "ernic"
OBJECT_DECLARE_SIMPLE_TYPE(ErnicPci, ERNIC)

/* The irq_pending bitmap has a bit for each. */
#define ERNIC_MAX_VECTORS   64
/* Mb/s; the fastest port that verbs can name. */
#define ERNIC_MAX_LINK_SPEED 1600000
/* Doorbells rung and not yet seen by the engine. */
#define ERNIC_DB_QUEUE      1024

typedef struct ErnicDbEntry {
    uint32_t uctx;
    uint32_t cmd_pi;            /* when it was rung: these come first */
    uint64_t value;
} ErnicDbEntry;

/* The control page, as far as the guest writes it, and the command ring. */
typedef struct ErnicVerbs {
    uint64_t cmd_addr, rsp_addr;
    uint32_t ring_shift;
    uint32_t cmd_pi, cmd_ci;
    uint32_t error;             /* enum ernic_dev_error */
    bool enabled, fatal;        /* atomic */
} ErnicVerbs;

/* The ERNIC face: an engine of its own, under the same lock. */
typedef struct ErnicPg332 {
    char *version;              /* properties; NULL: no such face */
    char *strict;               /* NULL: off */
    uint32_t num_qp;            /* 0: the default */
    uint32_t warned;            /* violations that the user was told */
    ErnicConfig cfg;
    MemoryRegion bar;
    Ernic *engine;              /* NULL: no such face */
    uint64_t wake;              /* as ErnicPci.wake */
    uint32_t risen;             /* atomic; bits of irq(): irq_bh is to tell */
    bool first;                 /* it had the first turn, the last time */
    uint32_t state_len;
    uint8_t *state;
} ErnicPg332;

/* Words of the shell that are stored: those of the table in reconic_shell.c. */
#define ERNIC_SHELL_WORDS   (8 * 6 + 4 * (1 + 128 + 10) + 2 * (1 + 1 + 11 + 2 + 1 + 1))

/* What is around the ERNIC face; under lock. */
typedef struct ErnicShell {
    char *name;                 /* properties */
    uint64_t card_size;         /* bytes; 0: the card has no memory */
    bool reconic;
    MemoryRegion card;
    uint32_t regs[ERNIC_SHELL_WORDS];
} ErnicShell;

struct ErnicPci {
    PCIDevice parent_obj;
    MemoryRegion bar, msix_bar;
    MemoryRegion mem;           /* the device's own, if there is any */

    /* Properties. */
    ErnicConfig cfg;
    uint32_t mtu;               /* greatest path MTU, bytes */
    uint64_t mem_size;          /* bytes of its own memory */
    char *roce_udp, *roce_peers;
    IOThread *iothread;
    bool timing;
    char *timing_profile, *timing_trace;
    uint64_t timing_trace_limit;        /* bytes */

    ErnicProfile *profile;      /* owned; NULL: no timing model */
    struct ErnicTimingFile *trace[2];   /* of both engines; owned; or NULL */
    AioContext *ctx;            /* of everything below */
    AioContext *fd_ctx;         /* of the socket: the same, or main-loop I/O */
    QemuMutex lock;
    Ernic *engine;
    ErnicVerbs verbs;
    QEMUBH *bh;                 /* work: doorbells, commands, the engine */
    QEMUTimer timer;
    QEMUTimer kick;             /* in place of bh: ernic_pci_schedule() */
    uint64_t wake;              /* when the engine wants to run, or never */
    bool running;               /* the virtual machine is, and D0 */
    VMChangeStateEntry *vm_state;

    QemuMutex db_lock;
    ErnicDbEntry db[2][ERNIC_DB_QUEUE];
    uint32_t db_count;          /* of those being rung */
    uint8_t db_fill;            /* which they are; the other is being read */
    uint32_t db_pos, db_len;    /* of that one; under lock */

    QEMUBH *irq_bh;             /* in the main loop */
    QEMUTimer irq_timer;        /* in place of irq_bh: as kick */
    uint64_t irq_pending;       /* atomic; vectors that irq_bh is to raise */

    ErnicUdp *udp;              /* NULL: no UDP link */
    bool udp_blocked;           /* its socket takes no more */
    const ErnicTrain *udp_train;        /* received, and the engine is full */
    uint32_t udp_trains;        /* from there on */
    uint32_t udp_pos;           /* bytes of the first that were taken */
    uint32_t udp_told;          /* bits of ErnicUdpDrop: the user knows */

    ErnicNetdev net;
    ErnicPg332 pg332;
    ErnicShell shell;

    uint32_t state_len;         /* of the engine, while it migrates */
    uint8_t *state;
};

/*
 * The verbs face takes commands and doorbells; it has met an error that only a reset
 * ends. The threads of vCPUs ask without the lock.
 */
static inline bool ernic_pci_verbs_enabled(const ErnicPci *d)
{
    return qatomic_read(&d->verbs.enabled);
}

static inline bool ernic_pci_verbs_fatal(const ErnicPci *d)
{
    return qatomic_read(&d->verbs.fatal);
}

/* Its name in traces. */
static inline const char *ernic_pci_id(const ErnicPci *d)
{
    return d->parent_obj.qdev.id ?: "";
}

/* What the guest did wrong at the registers, for -d guest_errors. */
#define ernic_pci_guest_error(d, fmt, ...) \
    qemu_log_mask(LOG_GUEST_ERROR, "ernic %s: " fmt "\n", ernic_pci_id(d), \
                  ## __VA_ARGS__)

/* ---- ernic_pci.c: the PCI function ---------------------------------------- */

/* In D0, and not in the one other power state, D3hot? */
bool ernic_pci_powered(const ErnicPci *d);

/* ---- env.c: the engine's environment, and who may enter it ---------- */

extern const ErnicEnvOps ernic_pci_env_ops;
extern const ErnicEnvOps ernic_pci_pg332_env_ops;

void ernic_pci_env_init(ErnicPci *d);
void ernic_pci_env_fini(ErnicPci *d);
/* Around every call into the engine. Returns the time. */
uint64_t ernic_pci_enter(ErnicPci *d);
void ernic_pci_leave(ErnicPci *d);
/* Guest memory; false: the address is not all RAM that may be reached so. */
bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write);
/* A message; from inside enter and leave, or with the BQL held. */
void ernic_pci_irq(ErnicPci *d, uint16_t vector);
/* Let the device's work be done, as soon as may be. */
void ernic_pci_kick(ErnicPci *d);
/* One of the two, which do the same: the one that repeats, if time is to. */
void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh);
/* As a guarded bottom half of the device would: its own registers are not reached. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work);
/* Packets of the link, for the face that they name; inside enter and leave. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train);
/* Packets for which there is room, in whichever engine. */
uint32_t ernic_pci_rx_room(const ErnicPci *d);
/* The link takes trains again. */
void ernic_pci_tx_ready(ErnicPci *d, uint64_t now);
/* Both engines. */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now);
/* Wait until nothing of the device runs in its AioContext. BQL held. */
void ernic_pci_drain(ErnicPci *d);

/* ---- verbs.c: control page, command ring, doorbell pages ------------ */

extern const MemoryRegionOps ernic_pci_bar_ops;

/* Bytes of control page and doorbell pages, rounded up to a power of two. */
uint64_t ernic_pci_regs_size(const ErnicPci *d);
/* To the state of power-on; inside enter and leave. */
void ernic_pci_verbs_reset(ErnicPci *d, uint64_t now);
/* Commands and doorbells; inside enter and leave, in the AioContext. */
void ernic_pci_verbs_run(ErnicPci *d, uint64_t now);
/* All doorbells: none is left when the virtual machine stops. */
void ernic_pci_doorbells_run(ErnicPci *d, uint64_t now);
/* Is the link up? */
bool ernic_pci_link(const ErnicPci *d);

/* ---- memory.c: the device's own memory --------------------------------- */

bool ernic_pci_mem_open(ErnicPci *d, Error **errp);
void ernic_pci_mem_start(ErnicPci *d);
void ernic_pci_mem_close(ErnicPci *d);
/* In BAR 2; 0: there is none. */
uint64_t ernic_pci_mem_offset(const ErnicPci *d);
/* @addr is from ERNIC_ADDR_MEMORY on; false: not all of it is there. */
bool ernic_pci_mem_rw(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                      bool write);
/* A word that will be written; NULL: it is not there. */
uint64_t *ernic_pci_mem_word(ErnicPci *d, uint64_t addr);

/* ---- pg332.c: the ERNIC face ---------------------------------------- */

/* The properties, and the registers as a region, if there are to be any. */
bool ernic_pci_pg332_open(ErnicPci *d, Error **errp);
void ernic_pci_pg332_start(ErnicPci *d);
void ernic_pci_pg332_close(ErnicPci *d);
/* Inside enter and leave; nothing, where the face is not there. */
void ernic_pci_pg332_run(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_link(ErnicPci *d, uint64_t now);
void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now);
/* INTx as its interrupt is, while MSI-X is off. BQL held, outside enter and leave. */
void ernic_pci_pg332_intx(ErnicPci *d);
/* Tell the user of a rule that the guest, or a peer, breaks. */
void ernic_pci_pg332_warn(ErnicPci *d, const ErnicReport *report);
/* The property "ernic-violations". */
void ernic_pci_pg332_class_init(ObjectClass *oc);

/* ---- reconic_shell.c: RecoNIC's shell around the ERNIC face; memory of the card */

/* The properties, before those of the ERNIC face. */
bool ernic_pci_shell_open(ErnicPci *d, Error **errp);
/* Identity and BARs of shell=reconic. */
void ernic_pci_shell_add_bars(ErnicPci *d);
/* After ernic_pci_shell_open(), whatever came of it. */
void ernic_pci_shell_close(ErnicPci *d);
/* Its registers; inside enter and leave. */
void ernic_pci_shell_reset(ErnicPci *d);
/*
 * As ernic_pci_dma(), for the masters of the ERNIC face: memory of the card, or
 * the guest's, with shell=reconic through the windows. Inside enter and leave.
 */
bool ernic_pci_shell_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                         bool write);

/* ---- udp.c: the UDP link -------------------------------------------- */

bool ernic_pci_udp_open(ErnicPci *d, Error **errp);
void ernic_pci_udp_close(ErnicPci *d);
/* Listen, or no more, as d->running says. */
void ernic_pci_udp_update(ErnicPci *d);
/* Inside enter and leave. */
void ernic_pci_udp_reset(ErnicPci *d);
bool ernic_pci_udp_tx(ErnicPci *d, const ErnicTrain *train);
/* Hand up what waits, as far as there is room; inside enter and leave. */
void ernic_pci_udp_run(ErnicPci *d, uint64_t now);
/* Properties that change peers at run time. */
void ernic_pci_udp_class_init(ObjectClass *oc);

/* ---- netdev.c: the device as a QEMU NIC, and the netdev link -------- */

bool ernic_pci_netdev_open(ErnicPci *d, Error **errp);
void ernic_pci_netdev_start(ErnicPci *d);
void ernic_pci_netdev_close(ErnicPci *d);
/* Inside enter and leave. */
void ernic_pci_netdev_reset(ErnicPci *d);
bool ernic_pci_netdev_tx(ErnicPci *d, const ErnicTrain *train);
/* Has the backend, or the wire, frames of ours that it has yet to take? */
bool ernic_pci_netdev_waits(const ErnicPci *d);
/* Tell the engine if the backend takes frames again; inside enter and leave. */
void ernic_pci_netdev_run(ErnicPci *d, uint64_t now);
bool ernic_pci_netdev_link(const ErnicPci *d);
/* Frames that waited for room in the engine. Outside of enter and leave. */
void ernic_pci_netdev_resume(ErnicPci *d);
/* If the link has changed: tell the guest, unless the machine is stopped. */
void ernic_pci_netdev_tell_link(ErnicPci *d);

/* ---- ethernet.c: the Ethernet face --------------------------------------- */

ErnicRegBlock ernic_pci_eth_block(ErnicPci *d);
void ernic_pci_eth_init(ErnicPci *d);
void ernic_pci_eth_fini(ErnicPci *d);
void ernic_pci_eth_reset(ErnicPci *d);
/* A frame that is not the engine's. */
void ernic_pci_eth_receive(ErnicPci *d, const uint8_t *frame, size_t len);
void ernic_pci_eth_link_changed(ErnicPci *d);
/* The link takes frames again, if it was busy. */
void ernic_pci_eth_sent(ErnicPci *d);
/* Let what is in the ring be sent, as soon as may be. */
void ernic_pci_eth_kick(ErnicPci *d);
void ernic_pci_eth_show_mac(ErnicPci *d);
/* Makes what was loaded consistent; false: it cannot be. */
bool ernic_pci_eth_valid(ErnicPci *d);

/* ---- timing.c: the timing model's properties ------------------------- */

/* Reads the profile and begins the trace, if there are to be any. */
bool ernic_pci_timing_open(ErnicPci *d, Error **errp);
/* Writes to the trace what it does not have yet; inside enter and leave. */
void ernic_pci_timing_flush(ErnicPci *d);
void ernic_pci_timing_close(ErnicPci *d);
/* For the engine of the ERNIC face; NULL: nobody asked. */
const ErnicTimingTrace *ernic_pci_timing_pg332_trace(const ErnicPci *d);

/* ---- statistics.c: the property "statistics" ----------------------------- */

void ernic_pci_stats_class_init(ObjectClass *oc);

/* ---- migration.c ------------------------------------------------------ */

extern const VMStateDescription ernic_pci_vmstate;

#endif /* ERNIC_PCI_H */
