/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link in QEMU.
 */
#ifndef ERNIC_LINKS_UDP_H
#define ERNIC_LINKS_UDP_H

#include "pci/device.h"

bool ernic_pci_udp_open(ErnicPci *d, Error **errp);
void ernic_pci_udp_close(ErnicPci *d);
/* Wait for the socket, or stop waiting, depending on the state of life. */
void ernic_pci_udp_update(ErnicPci *d);
/* Inside enter and leave. */
void ernic_pci_udp_reset(ErnicPci *d);
/* The engine of @face is reset: forget its train that was cut short. */
void ernic_pci_udp_forget(ErnicPci *d, ErnicPciFace face);
bool ernic_pci_udp_tx(ErnicPci *d, ErnicPciFace face, const ErnicTrain *train);
/* Deliver received packets as far as there is room; inside enter and leave. */
void ernic_pci_udp_run(ErnicPci *d, uint64_t now);
/* Properties that change peers at run time. */
void ernic_pci_udp_class_init(ObjectClass *oc);

#endif /* ERNIC_LINKS_UDP_H */
