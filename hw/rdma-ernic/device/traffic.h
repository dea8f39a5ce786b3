/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Packets between the engines of the function and its links. Call all of these inside
 * enter and leave.
 */
#ifndef ERNIC_DEVICE_TRAFFIC_H
#define ERNIC_DEVICE_TRAFFIC_H

#include "device/device.h"

/* Delivers to an engine of this function directly; false: it does not expect @train. */
bool ernic_pci_to_engine(Ernic *e, uint64_t now, const ErnicTrain *train);
/* False: the link is full, and the train will be offered again. */
bool ernic_pci_to_link(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train);
/* Delivers packets of the link to the interface they address. */
void ernic_pci_rx(ErnicPci *d, uint64_t now, const ErnicTrain *train);
/* Number of packets that each engine has room for. */
uint32_t ernic_pci_rx_room(const ErnicPci *d);
/* The link accepts trains again. */
void ernic_pci_tx_ready(ErnicPci *d, uint64_t now);
/* Begin a slice of work for received packets. */
void ernic_pci_rx_slice(ErnicPci *d);
/* Whether something is left of it. */
bool ernic_pci_rx_slice_left(const ErnicPci *d);
/*
 * Executes the doorbells rung before a packet arrived: it may need a receive request
 * that they post. False: they take more than the slice, or wait for commands; the
 * device's work goes on with them, and the packet waits. In the timing model it does not
 * wait for commands. Doorbells with an event of their own (device/ioeventfd.h) post no
 * receives.
 */
bool ernic_pci_rx_doorbells(ErnicPci *d, uint64_t now);
/* Charge to it, or to the slice of the main loop, what the main loop did for a frame. */
void ernic_pci_rx_work(ErnicPci *d, uint32_t accesses, uint32_t bytes);
/* Runs the interface, and then both engines, with a slice of work each. */
void ernic_pci_engines_run(ErnicPci *d, uint64_t now);

#endif /* ERNIC_DEVICE_TRAFFIC_H */
