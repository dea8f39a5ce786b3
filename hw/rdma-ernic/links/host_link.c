/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The common part of the links of the host. They receive in the AioContext of the device,
 * and send there or in the vCPU that rings.
 */
#include "qemu/osdep.h"
#include "compat/qemu.h"
#include "device/clock.h"
#include "device/lock.h"
#include "device/polling.h"
#include "device/traffic.h"
#include "links/host_link.h"
#include "hw/rdma-ernic/trace.h"

/* Most trains, beside those that wait, of one run. */
#define BATCH 16

/* Takes what is left of a train, or as much as there is room for. Returns the bytes. */
static uint32_t deliver(ErnicPci *d, uint64_t now, ErnicTrain *t)
{
    if (t->frame) {
        t->len = MIN(t->len, t->seg);
        d->card->frame(d, now, t->data, t->len);
    } else {
        t->len = MIN(t->len, (uint64_t)ernic_pci_rx_room(d) * t->seg);
        ernic_pci_rx(d, now, t);
    }
    return t->len;
}

/*
 * Hand received packets to the engines, as many as they have room for, until the slice
 * ends. The link is not read in the meantime and holds the rest.
 */
static void hand_up(ErnicPci *d, uint64_t now)
{
    ErnicHostLink *h = &d->host;
    ErnicTrain t;

    while (h->trains && ernic_pci_rx_slice_left(d) && ernic_pci_rx_doorbells(d, now) &&
           ernic_pci_rx_room(d)) {
        t = *h->train;
        t.data += h->pos;
        t.len -= h->pos;
        h->pos += deliver(d, now, &t);
        if (h->pos == h->train->len) {
            h->pos = 0;
            h->train++;
            h->trains--;
        }
    }
}

/* The trains that wait, and then those that the link has beside them. */
static void receive(ErnicPci *d, uint64_t now)
{
    ErnicHostLink *h = &d->host;
    int i;

    ernic_pci_rx_slice(d);
    hand_up(d, now);
    /* Packets that no engine wants take nothing of the slice. */
    for (i = 0; i < BATCH && !h->trains && h->more && ernic_pci_rx_slice_left(d); i++) {
        h->trains = h->ops->recv(d, &h->train, &h->more);
        hand_up(d, now);
    }
}

void ernic_host_run(ErnicPci *d, uint64_t now)
{
    if (d->host.trains || d->host.more) {
        receive(d, now);
        ernic_host_update(d);
    }
}

/* Trains that wait are the matter of the device's work, which is awake for them. */
bool ernic_host_poll(ErnicPci *d)
{
    ErnicHostLink *h = &d->host;

    if (h->trains || h->more || !h->ops->ready(d)) {
        return false;
    }
    h->more = true;
    return true;
}

bool ernic_host_waits(ErnicPci *d)
{
    return (d->host.trains || d->host.more) && ernic_pci_rx_room(d);
}

static void room_again(ErnicPci *d, uint64_t now)
{
    d->host.blocked = false;
    if (d->host.ops->room) {
        d->host.ops->room(d);
    }
    ernic_pci_tx_ready(d, now);
}

static void read_link(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicHostLink *h = &d->host;
    uint64_t now = ernic_pci_enter(d);

    if (ernic_pci_working(d) && h->ops) {
        if (h->ops->serve) {
            h->ops->serve(d);
        }
        h->more = true;
        receive(d, now);
        if (h->ops->serve && h->blocked) {
            room_again(d, now);
        }
        ernic_pci_engines_run(d, now);
        ernic_host_update(d);
    }
    ernic_pci_leave(d);
}

static void write_link(void *opaque)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);

    if (ernic_pci_working(d) && d->host.ops) {
        room_again(d, now);
        ernic_pci_engines_run(d, now);
        ernic_host_update(d);
    }
    ernic_pci_leave(d);
}

static void readable(void *opaque)
{
    ernic_pci_polling_event(opaque);
    ernic_pci_in_context(opaque, read_link);
    ernic_pci_polling_idle(opaque);
}

static void writable(void *opaque)
{
    ernic_pci_in_context(opaque, write_link);
}

/*
 * A link without serve() stays readable while its trains wait for room, so it is not
 * watched. One with serve() does not, and has more to say than trains.
 */
void ernic_host_update(ErnicPci *d)
{
    ErnicHostLink *h = &d->host;
    bool working = ernic_pci_working(d) && h->ops;
    bool in = working && (h->ops->serve || !h->trains);
    bool out = working && h->blocked && !h->ops->serve;

    if (in != h->watched_in || out != h->watched_out) {
        trace_ernic_pci_host_watch(ernic_pci_id(d), in, out);
        h->watched_in = in;
        h->watched_out = out;
        aio_set_fd_handler(d->fd_ctx, h->ops->fd(d), in ? readable : NULL,
                           out ? writable : NULL, NULL, NULL, d);
    }
}

void ernic_host_changed(ErnicPci *d)
{
    if (d->host.ops && d->host.ops->changed) {
        d->host.ops->changed(d);
    }
}

void ernic_host_forget(ErnicPci *d, ErnicPciEngine engine)
{
    if (d->host.ops && d->host.ops->forget) {
        d->host.ops->forget(d, engine);
    }
}

void ernic_host_reset(ErnicPci *d)
{
    if (d->host.ops && d->host.ops->room) {
        d->host.ops->room(d);   /* whoever waits looks again */
    }
    d->host.blocked = false;
    d->host.trains = d->host.pos = 0;
    ernic_host_forget(d, ERNIC_PCI_VERBS);
    ernic_host_update(d);
}

bool ernic_host_tx(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    if (d->host.ops->send(d, engine, train)) {
        return true;
    }
    d->host.blocked = true;
    ernic_host_update(d);
    return false;
}

/* The host has no cable to pull. */
bool ernic_host_is_up(const ErnicPci *d)
{
    return true;
}

/*
 * All packets have departed that the link has taken. Frames in the netdev beside it do
 * not count: packets of this link do not wait for them.
 */
uint64_t ernic_host_departed(const ErnicPci *d, ErnicPciEngine engine)
{
    return UINT64_MAX;
}
