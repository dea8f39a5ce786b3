/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Packets between the engines of the function, its links and the network card.
 */
#include "qemu/osdep.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/link.h"
#include "device/mutex.h"
#include "device/traffic.h"

/* ---- out ------------------------------------------------------------------ */

/* Delivers to the other interface of this function directly, without the link. */
bool ernic_pci_to_engine(Ernic *e, uint64_t now, const ErnicTrain *train)
{
    if (!e || !ernic_expects(e, now, train)) {
        return false;
    }
    ernic_rx(e, now, train);
    return true;
}

/* The links of a device that is gone lose every train. */
bool ernic_pci_to_link(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train)
{
    assert(ernic_pci_locked(d));
    if (ernic_pci_gone(d)) {
        return true;
    }
    return d->link->tx(d, engine, train);
}

/* ---- in ------------------------------------------------------------------- */

/* A slice of work for packets of a link, for both interfaces. */
void ernic_pci_rx_slice(ErnicPci *d)
{
    ernic_slice(d->engine);
    if (d->pg332.engine) {
        ernic_slice(d->pg332.engine);
    }
}

bool ernic_pci_rx_slice_left(const ErnicPci *d)
{
    return ernic_slice_left(d->engine) &&
           (!d->pg332.engine || ernic_slice_left(d->pg332.engine));
}

bool ernic_pci_rx_doorbells(ErnicPci *d, uint64_t now)
{
    assert(ernic_pci_locked(d));
    if (!ernic_pci_doorbells_wait(d)) {
        return true;
    }
    d->interface->run(d, now);
    return !ernic_pci_doorbells_wait(d) || (d->profile && ernic_slice_left(d->engine));
}

void ernic_pci_rx_work(ErnicPci *d, uint32_t accesses, uint32_t bytes)
{
    if (d->thread) {
        d->card->work(d, accesses, bytes);
    } else {
        ernic_link_work(d->engine, accesses, bytes);
    }
}

void ernic_pci_tx_ready(ErnicPci *d, uint64_t now)
{
    assert(ernic_pci_locked(d));
    d->pg332.first = !d->pg332.first;
    if (d->pg332.engine && d->pg332.first) {
        ernic_tx_ready(d->pg332.engine, now);
    }
    ernic_tx_ready(d->engine, now);
    if (d->pg332.engine && !d->pg332.first) {
        ernic_tx_ready(d->pg332.engine, now);
    }
}

/*
 * A packet that neither interface expects goes to the only interface that has the
 * address, or else to an interface that is in use. That interface drops and counts it.
 */
static void rx_one(ErnicPci *d, uint64_t now, const ErnicTrain *train)
{
    Ernic *pg332 = d->pg332.engine;
    bool its = pg332 && (!ernic_pci_verbs_enabled(d) ||
                         ernic_expects(pg332, now, train) ||
                         (ernic_has_address(pg332, train) &&
                          !ernic_has_address(d->engine, train)));

    ernic_rx(its ? pg332 : d->engine, now, train);
}

/* Where two interfaces share an endpoint, the address that a packet is for chooses. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train)
{
    ErnicTrain packet;
    uint32_t pos;

    assert(ernic_pci_locked(d));
    if (!d->pg332.engine || !ernic_path_open(d->engine, train)) {
        rx_one(d, now, train);
        return;
    }
    for (pos = 0; pos < train->len; pos += packet.len) {
        ernic_path_packet(d->engine, train, pos, &packet);
        rx_one(d, now, &packet);
    }
}

uint32_t ernic_pci_rx_room(const ErnicPci *d)
{
    uint32_t room = ernic_rx_room(d->engine);

    return d->pg332.engine ? MIN(room, ernic_rx_room(d->pg332.engine)) : room;
}

static void run_pg332(ErnicPci *d, uint64_t now)
{
    if (d->pg332.engine) {
        ernic_run(d->pg332.engine, now);
    }
}

/*
 * A run of an engine ends its wake-up for a command that is due: commands come before it.
 * The interfaces take turns in running first.
 */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now)
{
    assert(ernic_pci_locked(d));
    ernic_slice(d->engine);
    d->interface->run(d, now);
    d->pg332.first = !d->pg332.first;
    if (d->pg332.first) {
        run_pg332(d, now);
    }
    ernic_run(d->engine, now);
    if (!d->pg332.first) {
        run_pg332(d, now);
    }
}
