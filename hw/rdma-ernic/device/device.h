/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state of the device in QEMU. The engines and the links run in one AioContext,
 * that of the main loop or of an iothread, with one lock held. Register accesses run
 * in the vCPUs' threads with the BQL held; a doorbell may begin the work there, too
 * (work_here).
 *
 * Lock order: BQL, then next, then lock, then db_lock. Do not take the BQL with lock
 * held: dma.c accesses only guest memory that needs no BQL. Do not raise interrupts with
 * lock held either: the guest chooses the MSI address, which may be one of our own
 * registers. A bottom half of the main loop raises them.
 */
#ifndef ERNIC_DEVICE_DEVICE_H
#define ERNIC_DEVICE_DEVICE_H

#include "hw/pci/msi.h"
#include "hw/pci/pci_device.h"
#include "qemu/atomic.h"
#include "qemu/event_notifier.h"
#include "qemu/log.h"
#include "qemu/notify.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/iothread.h"
#include "device/parts.h"

#define TYPE_ERNIC "ernic"
OBJECT_DECLARE_SIMPLE_TYPE(ErnicPci, ERNIC)

typedef enum ErnicPciLife {
    ERNIC_PCI_UNREALIZED,       /* there is no engine */
    ERNIC_PCI_STOPPED,          /* the machine is stopped, or the function is in D3hot */
    ERNIC_PCI_WORKING,          /* the machine runs, and the function is in D0 */
    ERNIC_PCI_GONE,             /* unplugged */
    ERNIC_PCI_LIVES
} ErnicPciLife;

/* The engines of the function, which send packets on the link. */
typedef enum ErnicPciEngine {
    ERNIC_PCI_VERBS,
    ERNIC_PCI_PG332,
    ERNIC_PCI_ENGINES
} ErnicPciEngine;

/* A vector whose messages an event notifier sends (device/irqfd.c). */
typedef struct ErnicIrqVector {
    struct ErnicPci *d;
    uint16_t number;
    bool made;                  /* event exists */
    EventNotifier event;
    int virq;                   /* of KVM's route for msg; -1: there is none */
    MSIMessage msg;
} ErnicIrqVector;

typedef struct ErnicPciInterfaceOps ErnicPciInterfaceOps;
typedef struct ErnicPciLinkOps ErnicPciLinkOps;

/* A link of the host (links/host_link.h), and what it has received. */
typedef struct ErnicHostLink {
    const ErnicHostOps *ops;    /* NULL: there is none */
    bool blocked;               /* it takes no train */
    bool more;                  /* it may have more trains than these: */
    const ErnicTrain *train;    /* received trains that wait for the engine */
    uint32_t trains;            /* their number */
    uint32_t pos;               /* bytes of the first one already taken */
    bool watched_in, watched_out;       /* the handlers that are registered */
} ErnicHostLink;

/* The number of bits of irq_pending. */
#define ERNIC_MAX_VECTORS   64
#define ERNIC_DEFAULT_VECTORS   17
/* Mb/s; the fastest port speed that verbs can express. */
#define ERNIC_MAX_LINK_SPEED 1600000
#define ERNIC_MAX_RETRY_TIME 3600000        /* ms */

struct ErnicPci {
    PCIDevice parent_obj;
    MemoryRegion bar, msix_bar;
    MemoryRegion mem;           /* device memory, if mem_size is not 0 */

    /* Properties. */
    ErnicConfig cfg;
    uint32_t mtu;               /* greatest path MTU, bytes */
    uint64_t mem_size;          /* bytes of device memory */
    GHashTable *options;        /* of links, text by name; NULL: none is set */
    OnOffAuto icrc;
    OnOffAuto adaptive;         /* retransmission */
    uint32_t retry_time;        /* of it, ms */
    IOThread *iothread;
    OnOffAuto engine_thread;
    OnOffAuto ioeventfd;        /* and irqfd */
    bool timing;
    char *timing_profile, *timing_trace;
    uint64_t timing_trace_limit;        /* bytes */

    ErnicProfile *profile;      /* owned; NULL: no timing model */
    struct ErnicTimingFile *trace[2];   /* of both engines; owned; or NULL */
    IOThread *thread;           /* the engine's; NULL: the main loop */
    IOThread *own_thread;       /* the same, if it was made for this device */
    Notifier machine_done;      /* checks that the engine may have a thread */
    AioContext *ctx;            /* runs the engines, the links and their timers */
    AioContext *fd_ctx;         /* for the socket: ctx, or the main loop's I/O */
    QemuMutex next;             /* held by the thread that gets lock next */
    QemuMutex lock;
    QemuThread holder;          /* of lock, while it is held */
    bool held;
    const ErnicPciInterfaceOps *interface;         /* property; NULL: it was not given */
    Ernic *engine;
    ErnicFreeing *freeing;      /* owned */
    ErnicVerbs verbs;
    QEMUBH *bh;                 /* work: doorbells, commands, the engine */
    /*
     * Does some of the work in the thread that rings; false: bh has to do all. BQL. NULL:
     * such threads may not work.
     */
    bool (*work_here)(ErnicPci *d);
    uint64_t here_until;        /* host's ns that such work stands for; BQL */
    QEMUTimer timer;
    uint64_t timer_at;          /* its time; UINT64_MAX: it is not armed */
    QEMUTimer kick;             /* runs in place of bh: ernic_pci_schedule() */
    int64_t ran_at;             /* virtual time of the last run that left work, */
    uint32_t runs_here;         /* and the runs at that time before it */
    uint64_t wake;              /* ns when the engine is to run; UINT64_MAX: never */
    ErnicPciLife life;          /* atomic; changes with lock held */
    uint32_t resets;            /* resets of the function so far; BQL */
    VMChangeStateEntry *vm_state;

    QemuMutex db_lock;
    ErnicDbEntry db[2][ERNIC_DB_QUEUE];
    uint32_t db_count;          /* entries in db[db_fill] */
    uint8_t db_fill;            /* index of the filling half; the other is read */
    uint32_t db_pos, db_len;    /* of the half being read; protected by lock */
    int32_t num_db_saved;       /* both halves during migration, oldest first */
    ErnicDbEntry *db_saved;

    QEMUBH *irq_bh;             /* in the main loop */
    QEMUTimer irq_timer;        /* runs in place of irq_bh, like kick */
    uint64_t irq_pending;       /* atomic; vectors for irq_bh to raise */
    bool irq_sending;           /* messages are being sent; BQL */
    ErnicIrqVector *irqfd;      /* owned, by number; NULL: no vector is open; BQL */
    uint64_t irqfd_open;        /* open vectors; changes with BQL and lock held */
    bool irqfd_kernel;          /* KVM sends the messages of irqfd */

    const ErnicPciLinkOps *link;        /* of RoCEv2 */
    const ErnicPciLinkOps *card;        /* of Ethernet frames; often the same */
    void *link_state;           /* of link, which owns it; NULL: none */
    ErnicHostLink host;         /* if link is one of the host */

    ErnicNetdev net;
    ErnicPciMlx5 mlx5;
    ErnicPageEvents events;
    ErnicPolling polling;
    ErnicPg332 pg332;
    ErnicShell shell;

    ErnicStreamBytes state;     /* the engine's, during migration */
    bool loading;               /* a state has begun, and maybe ended early */
    ErnicPciPrecopy precopy;
};

/* Defaults of max-uctx and device-memory, which not every interface has. */
#define ERNIC_PCI_MAX_UCTX      256
#define ERNIC_PCI_DEVICE_MEMORY (512 * KiB)

/* The device's name in traces and messages. */
static inline const char *ernic_pci_id(const ErnicPci *d)
{
    return d->parent_obj.qdev.id ?: "";
}

/* Logs a guest's error at the registers (-d guest_errors). */
#define ernic_pci_guest_error(d, fmt, ...) \
    qemu_log_mask(LOG_GUEST_ERROR, "ernic %s: " fmt "\n", ernic_pci_id(d), \
                  ## __VA_ARGS__)

/* The device that has the shell, the QDMA and the memory of @d's card: the first port. */
static inline ErnicPci *ernic_pci_first(const ErnicPci *d)
{
    return d->shell.port_of ?: (ErnicPci *)d;
}

/*
 * Whether @d is no function for the guest: the second port of a card with ERNICs has the
 * vectors of the first one, and its access to memory.
 */
static inline bool ernic_pci_hidden(const ErnicPci *d)
{
    return d->shell.port_of && d->pg332.version;
}

/* The second port that is a part of this function; or NULL. */
static inline ErnicPci *ernic_pci_hidden_part(const ErnicPci *d)
{
    ErnicPci *second = d->shell.second;

    return second && ernic_pci_hidden(second) ? second : NULL;
}

/* The function of the guest that @d is, or is a part of: its power state and vectors. */
static inline ErnicPci *ernic_pci_function(const ErnicPci *d)
{
    return ernic_pci_hidden(d) ? ernic_pci_first(d) : (ErnicPci *)d;
}

/*
 * Whether the verbs interface is enabled, and whether it has had an error that only a
 * reset clears. vCPU threads call these without the lock.
 */
static inline bool ernic_pci_verbs_enabled(const ErnicPci *d)
{
    return qatomic_read(&d->verbs.enabled);
}

static inline bool ernic_pci_verbs_fatal(const ErnicPci *d)
{
    return qatomic_read(&d->verbs.fatal);
}

static inline ErnicPciLife ernic_pci_life(const ErnicPci *d)
{
    return qatomic_read(&d->life);
}

/* Whether the device may do work. With the lock held, the answer remains valid. */
static inline bool ernic_pci_working(const ErnicPci *d)
{
    return ernic_pci_life(d) == ERNIC_PCI_WORKING;
}

/* Whether the device was unplugged: PCI state, links and timers no longer exist. */
static inline bool ernic_pci_gone(const ErnicPci *d)
{
    return ernic_pci_life(d) == ERNIC_PCI_GONE;
}

/* Whether the device is realized and not unplugged. */
static inline bool ernic_pci_exists(const ErnicPci *d)
{
    return ernic_pci_life(d) == ERNIC_PCI_STOPPED || ernic_pci_working(d);
}

#endif /* ERNIC_DEVICE_DEVICE_H */
