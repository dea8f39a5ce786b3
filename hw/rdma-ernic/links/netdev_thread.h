/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The netdev of an engine that has a thread of its own. QEMU's network layer belongs to
 * the main loop, so frames cross in queues, in both directions. Without such a thread,
 * d->net.thread is NULL, and the functions about its life and its work do nothing.
 */
#ifndef ERNIC_LINKS_NETDEV_THREAD_H
#define ERNIC_LINKS_NETDEV_THREAD_H

#include "pci/device.h"

void ernic_pci_netdev_thread_init(ErnicPci *d);
/* The device is gone: no frame crosses any more. */
void ernic_pci_netdev_thread_stop(ErnicPci *d);
void ernic_pci_netdev_thread_fini(ErnicPci *d);
/* Inside enter and leave, with the BQL held: frames that cross are lost. */
void ernic_pci_netdev_thread_reset(ErnicPci *d);

/* In the main loop: let it send what waits, if the machine runs and the backend can. */
void ernic_pci_netdev_thread_kick(ErnicPci *d);
/* In the main loop: charge work for a frame to its slice; is something left of it? */
void ernic_pci_netdev_thread_work(ErnicPci *d, uint32_t accesses, uint32_t bytes);
bool ernic_pci_netdev_thread_slice_left(const ErnicPci *d);
/*
 * In the main loop: is there room for a frame to the engine? If not, frames are asked
 * for again when there is.
 */
bool ernic_pci_netdev_thread_room(ErnicPci *d);
/* In the main loop: a frame that may be for an engine; there is room for it. */
void ernic_pci_netdev_thread_receive(ErnicPci *d, const uint8_t *buf, size_t size);

/* Inside enter and leave: as ernic_pci_netdev_tx(). */
bool ernic_pci_netdev_thread_tx(ErnicPci *d, const ErnicTrain *train);
/* Does the queue of frames to send have no room yet? */
bool ernic_pci_netdev_thread_blocked(ErnicPci *d);
/* Deliver frames to the engines, within the slice; inside enter and leave. */
void ernic_pci_netdev_thread_run(ErnicPci *d, uint64_t now);
/* Frames wait, and the engines have room for them; inside enter and leave. */
bool ernic_pci_netdev_thread_waits(ErnicPci *d);

#endif /* ERNIC_LINKS_NETDEV_THREAD_H */
