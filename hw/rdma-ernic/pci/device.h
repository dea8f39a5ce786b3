/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as QEMU holds it. Everything from the engine down to the links
 * runs in one AioContext, the main loop's or that of an iothread, and under
 * one lock; register accesses come from the CPUs' threads, under the BQL.
 *
 * Lock order: BQL, then lock, then db_lock. Do not take the BQL with lock held: guest
 * memory is reached only where that needs none (env.c). Do not raise interrupts with it
 * held either: the guest chooses the address of a message, which may be one of our own
 * registers. A bottom half of the main loop raises them.
 */
#ifndef ERNIC_PCI_DEVICE_H
#define ERNIC_PCI_DEVICE_H

#include "hw/pci/pci_device.h"
#include "qemu/log.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "system/iothread.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "core/engine.h"
#include "faces/ethernet.h"
#include "faces/pg332.h"
#include "faces/reconic_shell.h"
#include "faces/verbs.h"
#include "links/udp_socket.h"
#include "pci/registers.h"

#define TYPE_ERNIC "ernic"
OBJECT_DECLARE_SIMPLE_TYPE(ErnicPci, ERNIC)

/* The faces that have an engine, and so packets of their own on the link. */
typedef enum ErnicPciFace {
    ERNIC_PCI_VERBS,
    ERNIC_PCI_PG332,
    ERNIC_PCI_FACES
} ErnicPciFace;

/* The irq_pending bitmap has a bit for each. */
#define ERNIC_MAX_VECTORS   64
/* Mb/s; the fastest port that verbs can name. */
#define ERNIC_MAX_LINK_SPEED 1600000

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

/* Its name in traces. */
static inline const char *ernic_pci_id(const ErnicPci *d)
{
    return d->parent_obj.qdev.id ?: "";
}

/* What the guest did wrong at the registers, for -d guest_errors. */
#define ernic_pci_guest_error(d, fmt, ...) \
    qemu_log_mask(LOG_GUEST_ERROR, "ernic %s: " fmt "\n", ernic_pci_id(d), \
                  ## __VA_ARGS__)

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

/* In D0, and not in the one other power state, D3hot? */
bool ernic_pci_powered(const ErnicPci *d);

#endif /* ERNIC_PCI_DEVICE_H */
