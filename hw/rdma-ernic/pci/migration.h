/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Migration and snapshots of the device.
 */
#ifndef ERNIC_PCI_MIGRATION_H
#define ERNIC_PCI_MIGRATION_H

#include "device/device.h"

extern const VMStateDescription ernic_pci_vmstate;

#endif /* ERNIC_PCI_MIGRATION_H */
