/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties whose values have names.
 */
#ifndef ERNIC_DEVICE_PROPERTIES_H
#define ERNIC_DEVICE_PROPERTIES_H

#include "device/device.h"

void ernic_pci_properties_class_init(ObjectClass *oc);

#endif /* ERNIC_DEVICE_PROPERTIES_H */
