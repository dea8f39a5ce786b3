/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register interfaces: how software of the guest drives the function.
 */
#ifndef ERNIC_DEVICE_INTERFACE_H
#define ERNIC_DEVICE_INTERFACE_H

#include "device/device.h"
#include "qom/object.h"

/*
 * An interface registers itself with ERNIC_PCI_INTERFACE(); its name is then a value of
 * the property "interface".
 */
struct ErnicPciInterfaceOps {
    const char *name;
    void (*class_init)(ObjectClass *oc);                /* properties; may be NULL */
    const char *part;           /* the interface that is part of it; NULL: none */
    /* Whether properties that only this interface has ask for it. May be NULL. */
    bool (*implied)(const ErnicPci *d);
    /* Sets properties that were not given; may be NULL. */
    void (*complete)(ErnicPci *d);
    /* Checks the properties; nothing exists yet. */
    bool (*check)(const ErnicPci *d, Error **errp);
    /*
     * Sets what the interface decides, and makes what it needs beside the engine; links
     * and timing model exist. May be NULL.
     */
    bool (*open)(ErnicPci *d, Error **errp);
    /* The opposite of open, also if that failed or was not called; may be NULL. */
    void (*close)(ErnicPci *d);
    /* Adds the BARs, and sets the identity of the function. */
    void (*add_bars)(ErnicPci *d);
    /* Creates an engine of its own beside ErnicPci.engine, which exists; may be NULL. */
    void (*start)(ErnicPci *d);
    /* The object ends: frees what close left after unplug. May be NULL. */
    void (*finalize)(ErnicPci *d);
    /*
     * Executes doorbells and commands until the slice of ErnicPci.engine ends; inside
     * enter and leave, in the AioContext or in the vCPU that rings.
     */
    void (*run)(ErnicPci *d, uint64_t now);
    /*
     * Executes the commands that software posted before a doorbell, up to @mark. False:
     * they are not done yet. NULL: there are none.
     */
    bool (*commands)(ErnicPci *d, uint64_t now, uint32_t mark);
    /*
     * Doorbells that can be events of their pages (device/ioeventfd.h): the offset in
     * ErnicPci.bar of the page 0, and those in a page, from @first in steps of @step
     * bytes. @step 0: there are none.
     */
    struct {
        uint32_t base, first, step;
    } page_event;
    /* Executes a doorbell of ErnicPci.db; inside enter and leave. */
    void (*doorbell)(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value);
    /* Whether a doorbell of a saved state can be at @where. */
    bool (*doorbell_ok)(const ErnicPci *d, uint32_t where);
    /* ErnicPci.engine was created or reset; may be NULL. */
    void (*reset)(ErnicPci *d, uint64_t now);
    /* The function is reset, before the engine is; inside enter and leave. Or NULL. */
    void (*reset_function)(ErnicPci *d, uint64_t now);
    /*
     * A frame of the netdev, which no engine has seen; true: it is for nobody else. BQL
     * held, outside enter and leave. May be NULL.
     */
    bool (*control)(ErnicPci *d, const uint8_t *frame, uint32_t len);
    /*
     * A frame of the network card that no engine has taken; false: the Ethernet interface
     * gets it. BQL held, outside enter and leave. May be NULL.
     */
    bool (*frame)(ErnicPci *d, const uint8_t *frame, uint32_t len);
    /* Whether there is room for such a frame; if not, it waits. May be NULL. */
    bool (*frame_room)(const ErnicPci *d);
    /* The link of the network card may have changed; BQL held. May be NULL. */
    void (*link)(ErnicPci *d);
    /* The network card can send again; may be NULL. */
    void (*can_send)(ErnicPci *d);
    /* Whether the registers of a saved state are as this interface leaves them. */
    bool (*registers_ok)(const ErnicPci *d);
};

void ernic_pci_interface_register(const ErnicPciInterfaceOps *ops);
/* The same when QEMU starts. */
#define ERNIC_PCI_INTERFACE(ops) \
    static void register_##ops(void) \
    { \
        ernic_pci_interface_register(&ops); \
    } \
    type_init(register_##ops)

/* The property "interface", and "personality", its name in older releases. */
void ernic_pci_interfaces_class_init(ObjectClass *oc);
/* Selects the interface of a device that is realized: by "interface", or by default. */
void ernic_pci_interface_select(ErnicPci *d);

#endif /* ERNIC_DEVICE_INTERFACE_H */
