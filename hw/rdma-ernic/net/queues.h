/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames between an engine and a netdev. QEMU's network layer belongs to the main loop,
 * and may reach any device, so no frame is sent with the device's lock held: frames wait
 * in a queue until that is free. Those for an engine with a thread of its own wait until
 * this takes them.
 */
#ifndef ERNIC_NET_QUEUES_H
#define ERNIC_NET_QUEUES_H

#include "device/device.h"
#include "engine/base/budget.h"
#include "net/frame_queue.h"

struct ErnicNetq {
    ErnicFrameQueue out;        /* from the engine to the netdev */
    ErnicFrameQueue in;         /* from the netdev to the engine */
    ErnicFrameQueue back;       /* from the engine to the Ethernet interface */
    QEMUBH *bh;                 /* in the main loop; NULL: the engine runs there, too */
    bool unsent;                /* without @bh: @out has frames since the last run */
    bool running;               /* frames of the queues are in use below */
    bool again;                 /* the work of the main loop was due meanwhile */
    ErnicBudget work;           /* of the main loop */
};

/* @run: the work of the main loop; netdev.c. */
void ernic_pci_netq_init(ErnicPci *d, QEMUBHFunc *run);
/* The device is gone: no frame crosses any more. */
void ernic_pci_netq_stop(ErnicPci *d);
void ernic_pci_netq_fini(ErnicPci *d);
/* Inside enter and leave, with the BQL held: frames that wait are lost. */
void ernic_pci_netq_reset(ErnicPci *d);

/* Schedule its work in the main loop. */
void ernic_pci_netq_kick(ErnicPci *d);
/*
 * Inside enter and leave: whether the work is to be scheduled, because no run of the
 * engine follows.
 */
bool ernic_pci_netq_unsent(const ErnicPci *d);

/* For the main loop, if the engine has a thread of its own: */

/* Charge work for a frame to the main loop's slice. */
void ernic_pci_netq_work(ErnicPci *d, uint32_t accesses, uint32_t bytes);
/*
 * Whether there is room for a frame to the engine. If not, frames are asked for again
 * when there is.
 */
bool ernic_pci_netq_room(ErnicPci *d);
/* A frame that may be for an engine; there is room for it. */
void ernic_pci_netq_receive(ErnicPci *d, const uint8_t *buf, size_t size);

/* Inside enter and leave: */

/* The same as ErnicPciLinkOps.tx. */
bool ernic_pci_netq_tx(ErnicPci *d, ErnicPciEngine engine, const ErnicTrain *train);
/* The same as ErnicPciLinkOps.frame. */
void ernic_pci_netq_frame(ErnicPci *d, uint64_t now, const uint8_t *frame, uint32_t len);
/* Deliver frames to the engines, within the slice. */
void ernic_pci_netq_deliver(ErnicPci *d, uint64_t now);
/* Frames wait, and the engines have room for them. */
bool ernic_pci_netq_waits(ErnicPci *d);

#endif /* ERNIC_NET_QUEUES_H */
