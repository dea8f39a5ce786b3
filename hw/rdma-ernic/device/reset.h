/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reset of the engine of the verbs or mlx5 interface, its registers, doorbells and links.
 */
#ifndef ERNIC_DEVICE_RESET_H
#define ERNIC_DEVICE_RESET_H

#include "device/device.h"

/* Resets to the power-on state; inside enter and leave. */
void ernic_pci_reset(ErnicPci *d, uint64_t now);

#endif /* ERNIC_DEVICE_RESET_H */
