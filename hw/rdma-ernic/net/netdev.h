/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as a QEMU NIC, and the netdev link.
 */
#ifndef ERNIC_LINKS_NETDEV_H
#define ERNIC_LINKS_NETDEV_H

#include "device/device.h"

bool ernic_pci_netdev_open(ErnicPci *d, Error **errp);
void ernic_pci_netdev_start(ErnicPci *d);
void ernic_pci_netdev_close(ErnicPci *d);
/* Inside enter and leave. */
void ernic_pci_netdev_reset(ErnicPci *d);
bool ernic_pci_netdev_tx(ErnicPci *d, ErnicPciFace face,
                         const ErnicTrain *train);
/* As ErnicEnvOps.tx_departed, of the engine of @face. */
uint64_t ernic_pci_netdev_departed(const ErnicPci *d, ErnicPciFace face);
/*
 * Give a frame to the engine that it is for; inside enter and leave. False: it is for the
 * Ethernet face.
 */
bool ernic_pci_netdev_to_engine(ErnicPci *d, uint64_t now, const uint8_t *buf,
                                size_t size);
/*
 * The frame of @train at @pos, as its headers, which are put into @head (of
 * ERNIC_NET_HDR_MAX bytes), and its data. Returns the bytes of data.
 */
uint32_t ernic_pci_netdev_frame(const ErnicTrain *train, uint32_t pos, uint8_t *head,
                                struct iovec iov[2]);
/*
 * Send a frame of the engine, which is copied if the backend sends it later. BQL held;
 * inside enter and leave to a wire only.
 */
void ernic_pci_netdev_send(ErnicPci *d, const struct iovec *iov, int num);
/* Does the backend, or the cable, still hold frames of ours? */
bool ernic_pci_netdev_waits(const ErnicPci *d);
/*
 * Report to the engines if the backend accepts frames again; inside enter and
 * leave.
 */
void ernic_pci_netdev_run(ErnicPci *d, uint64_t now);
bool ernic_pci_netdev_link(const ErnicPci *d);
/* Accept frames that waited for room in the engine. Outside of enter and leave. */
void ernic_pci_netdev_resume(ErnicPci *d);
/* Is something left of the slice for frames of the netdev? */
bool ernic_pci_netdev_slice_left(const ErnicPci *d);
/* Report a change of the link to the guest, unless the machine is stopped. */
void ernic_pci_netdev_report_link(ErnicPci *d);

#endif /* ERNIC_LINKS_NETDEV_H */
