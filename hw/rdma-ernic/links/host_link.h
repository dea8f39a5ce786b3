/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Links of the host. Such a link has a descriptor, which the AioContext of the device
 * waits for, and exchanges trains.
 */
#ifndef ERNIC_LINKS_HOST_LINK_H
#define ERNIC_LINKS_HOST_LINK_H

#include "device/link.h"

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
    bool (*send)(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train);
    /*
     * Whether recv() has something to do: there is a train, or a thread that has ended to
     * poll has to be woken for the next one. A look at memory; a link without it has no
     * ErnicPciLinkOps.poll.
     */
    bool (*ready)(ErnicPci *d);
    /* A full link has room again; may be NULL. */
    void (*room)(ErnicPci *d);
    /* @engine was reset and offers no train again; may be NULL. */
    void (*forget)(ErnicPci *d, ErnicPciEngine engine);
    /* The addresses or the state of life may have changed; may be NULL. */
    void (*changed)(ErnicPci *d);
};

/* The members of ErnicPciLinkOps for such a link. */
bool ernic_host_is_up(const ErnicPci *d);
bool ernic_host_tx(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train);
uint64_t ernic_host_departed(const ErnicPci *d, ErnicPciEngine engine);
bool ernic_host_waits(ErnicPci *d);
void ernic_host_run(ErnicPci *d, uint64_t now);
bool ernic_host_poll(ErnicPci *d);              /* needs ErnicHostOps.ready */
void ernic_host_changed(ErnicPci *d);
void ernic_host_update(ErnicPci *d);
void ernic_host_forget(ErnicPci *d, ErnicPciEngine engine);
void ernic_host_reset(ErnicPci *d);

#define ERNIC_HOST_LINK \
    .is_up = ernic_host_is_up, \
    .tx = ernic_host_tx, \
    .departed = ernic_host_departed, \
    .waits = ernic_host_waits, \
    .run = ernic_host_run, \
    .changed = ernic_host_changed, \
    .update = ernic_host_update, \
    .forget = ernic_host_forget, \
    .reset = ernic_host_reset

#endif /* ERNIC_LINKS_HOST_LINK_H */
