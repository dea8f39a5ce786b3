/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Migration and snapshots of the device.
 */
#ifndef ERNIC_PCI_MIGRATION_H
#define ERNIC_PCI_MIGRATION_H

#include "device/device.h"

extern const VMStateDescription ernic_pci_vmstate;

/*
 * Before the machine runs or is saved: resets the registers if a state ended before they
 * were checked. BQL.
 */
void ernic_pci_forget_half(ErnicPci *d);

#endif /* ERNIC_PCI_MIGRATION_H */
