/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The properties of the device.
 */
#ifndef ERNIC_PCI_PROPERTIES_H
#define ERNIC_PCI_PROPERTIES_H

#include "device/device.h"

void ernic_pci_properties_class_init(ObjectClass *oc);
/* Numbers within their ranges, and what the engine's configuration derives from them. */
bool ernic_pci_check_properties(ErnicPci *d, Error **errp);

#endif /* ERNIC_PCI_PROPERTIES_H */
