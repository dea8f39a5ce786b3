/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PCI capabilities of the function, and the BAR of MSI-X.
 */
#ifndef ERNIC_DEVICE_CAPABILITIES_H
#define ERNIC_DEVICE_CAPABILITIES_H

#include "device/device.h"

/* Power management, PCIe, AER and MSI-X; the BARs exist. */
bool ernic_pci_add_capabilities(ErnicPci *d, Error **errp);
/* Adds the BAR of MSI-X, of @type. */
void ernic_pci_add_msix_bar(ErnicPci *d, uint8_t type);

#endif /* ERNIC_DEVICE_CAPABILITIES_H */
