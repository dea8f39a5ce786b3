/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The UDP link in QEMU.
 */
#ifndef ERNIC_LINKS_UDP_H
#define ERNIC_LINKS_UDP_H

#include "device/device.h"

bool ernic_pci_udp_open(ErnicPci *d, Error **errp);
void ernic_pci_udp_close(ErnicPci *d);
/* Properties that change peers at run time. */
void ernic_pci_udp_class_init(ObjectClass *oc);

#endif /* ERNIC_LINKS_UDP_H */
