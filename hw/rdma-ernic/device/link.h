/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Links: how packets leave the function. One carries RoCEv2; the network card carries
 * Ethernet frames, and RoCEv2 too if there is no other link.
 */
#ifndef ERNIC_DEVICE_LINK_H
#define ERNIC_DEVICE_LINK_H

#include "device/device.h"
#include "qom/object.h"

/* A counter by its name; where it is in the structure of counters. */
typedef struct ErnicPciCounter {
    const char *name;
    size_t off;                 /* of a uint64_t */
} ErnicPciCounter;

/* Counters of a link, as part of the property "statistics". */
typedef struct ErnicPciLinkCounters {
    const char *name;
    const ErnicPciCounter *counters;
    uint32_t num;
    size_t size;                /* bytes of the structure */
    size_t drops;               /* offset of its drop counters, by reason */
    uint32_t num_drops;
    const char *(*drop_name)(uint32_t reason);
    /* The structure; NULL: the device does not use the link, all counters are 0. */
    const void *(*get)(const ErnicPci *d);
} ErnicPciLinkCounters;

/*
 * A link registers itself with ERNIC_PCI_LINK(). open() looks at the properties that
 * class_init() has made, and sets ErnicPci.link if the user wants it.
 * is_up(), work() and close() come without the lock of the device, all other calls with
 * it. A member that says so may be NULL.
 */
struct ErnicPciLinkOps {
    const char *name;           /* the property that asks for it */
    bool icrc_optional;         /* icrc=off is possible */
    bool carries_frames;        /* of the network card, beside RoCEv2 */
    const ErnicPciLinkCounters *counters;       /* NULL: none */
    void (*class_init)(ObjectClass *oc);                /* may be NULL */
    bool (*open)(ErnicPci *d, Error **errp);
    void (*close)(ErnicPci *d);         /* also if open() has failed, or twice */
    /* Whether there is a connection to the network. */
    bool (*is_up)(const ErnicPci *d);
    /* False: the link is full, and the same train will be offered again. */
    bool (*tx)(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train);
    /* The same as ErnicEnvOps.tx_departed, for @engine. */
    uint64_t (*departed)(const ErnicPci *d, ErnicPciEngine engine);
    /* Received packets wait, and the engines have room for them. */
    bool (*waits)(ErnicPci *d);
    /* Deliver them; may be NULL: the device's work does it. */
    void (*run)(ErnicPci *d, uint64_t now);
    /* Packets to send wait for a run of the device's work; of the network card alone. */
    bool (*unsent)(const ErnicPci *d);
    /* Charge work for a frame to the slice of the main loop; of the card alone. */
    void (*work)(ErnicPci *d, uint32_t accesses, uint32_t bytes);
    /*
     * A frame of a link that carries frames: for the engine, or else for the Ethernet
     * interface; of the card alone.
     */
    void (*frame)(ErnicPci *d, uint64_t now, const uint8_t *frame, uint32_t len);
    /*
     * For a thread that polls, or has just ended to: whether a run of the device's work
     * has something to do on the link. NULL: the descriptor of the link says it.
     */
    bool (*poll)(ErnicPci *d);
    /* The addresses or the state of life may have changed. */
    void (*changed)(ErnicPci *d);               /* may be NULL */
    /* Watch descriptors, or stop that, depending on the state of life. */
    void (*update)(ErnicPci *d);                /* may be NULL */
    /* @engine was reset and offers no train again; may be NULL. */
    void (*forget)(ErnicPci *d, ErnicPciEngine engine);
    /* The function was reset. */
    void (*reset)(ErnicPci *d);
};

/* Adds a link to those that a user can choose. */
void ernic_pci_link_register(const ErnicPciLinkOps *ops);
/* The same for the one link of a file, when QEMU starts. */
#define ERNIC_PCI_LINK(ops) \
    static void register_##ops(void) \
    { \
        ernic_pci_link_register(&ops); \
    } \
    type_init(register_##ops)

/* Link @i of this build; NULL: there are no more. */
const ErnicPciLinkOps *ernic_pci_link_at(uint32_t i);
/* The properties of all links. */
void ernic_pci_links_class_init(ObjectClass *oc);
/*
 * Adds property @name, a text that a user sets before the device exists. @name and @help
 * outlive the class.
 */
void ernic_pci_link_add_option(ObjectClass *oc, const char *name, const char *help);
/* The value of such a property; NULL: it is not set. */
const char *ernic_pci_link_option(const ErnicPci *d, const char *name);
/* RoCEv2 uses this link; false: it uses another one already. */
bool ernic_pci_link_take(ErnicPci *d, const ErnicPciLinkOps *ops, Error **errp);

/* All links. After close, which may be called twice, none of them sends anything. */
bool ernic_pci_links_open(ErnicPci *d, Error **errp);
void ernic_pci_links_close(ErnicPci *d);

/* Whether the link of RoCEv2 is up. */
bool ernic_pci_link(const ErnicPci *d);
/* Reports to the engines whether it is; inside enter and leave. */
void ernic_pci_links_report(ErnicPci *d, uint64_t now);
/* The members of ErnicPciLinkOps for the links of the device; inside enter and leave. */
bool ernic_pci_links_wait(ErnicPci *d);
void ernic_pci_links_changed(ErnicPci *d);
void ernic_pci_links_update(ErnicPci *d);
void ernic_pci_links_run(ErnicPci *d, uint64_t now);
void ernic_pci_links_forget(ErnicPci *d, ErnicPciEngine engine);
void ernic_pci_links_reset(ErnicPci *d);

#endif /* ERNIC_DEVICE_LINK_H */
