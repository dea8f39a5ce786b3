/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The property "statistics".
 */
#ifndef ERNIC_PCI_STATISTICS_H
#define ERNIC_PCI_STATISTICS_H

#include "device/device.h"

void ernic_pci_stats_class_init(ObjectClass *oc);

#endif /* ERNIC_PCI_STATISTICS_H */
