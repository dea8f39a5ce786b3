/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A link of the host beside QEMU's netdevs: the UDP link or the shared-memory link. It
 * has a descriptor, which the AioContext of the device waits for, and exchanges trains.
 */
#ifndef ERNIC_LINKS_HOST_LINK_H
#define ERNIC_LINKS_HOST_LINK_H

#include "device/device.h"

/* All calls come with the lock of the device held. */
struct ErnicHostOps {
    int (*fd)(const ErnicPci *d);
    /*
     * The descriptor is readable, and not only for trains. NULL: there is nothing else,
     * and a full link makes it writable again.
     */
    void (*serve)(ErnicPci *d);
    /*
     * Received trains, valid until the next call. *@more: call again, even if the
     * descriptor is not readable.
     */
    uint32_t (*recv)(ErnicPci *d, const ErnicTrain **trains, bool *more);
    /* False: the link is full, and the same train will be offered again. */
    bool (*send)(ErnicPci *d, ErnicPciFace face, const ErnicTrain *train);
    /* The engine of @face was reset and offers no train again; may be NULL. */
    void (*forget)(ErnicPci *d, ErnicPciFace face);
    /* The addresses or the state of life may have changed; may be NULL. */
    void (*changed)(ErnicPci *d);
};

/* Is there such a link? */
static inline bool ernic_pci_host_link(const ErnicPci *d)
{
    return d->host.ops;
}

/* Wait for the descriptor, or stop waiting, depending on the state of life. */
void ernic_pci_host_update(ErnicPci *d);
/* Inside enter and leave. */
void ernic_pci_host_reset(ErnicPci *d);
void ernic_pci_host_forget(ErnicPci *d, ErnicPciFace face);
bool ernic_pci_host_tx(ErnicPci *d, ErnicPciFace face, const ErnicTrain *train);
/* Deliver received packets as far as there is room; inside enter and leave. */
void ernic_pci_host_run(ErnicPci *d, uint64_t now);
/* Packets wait, and the engines have room for them. */
bool ernic_pci_host_waits(const ErnicPci *d);
/* Call this before the lock is dropped. */
void ernic_pci_host_changed(ErnicPci *d);

#endif /* ERNIC_LINKS_HOST_LINK_H */
