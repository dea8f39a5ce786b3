/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory of the card.
 */
#ifndef ERNIC_DEVICE_CARD_H
#define ERNIC_DEVICE_CARD_H

#include "device/device.h"

/* Accesses card memory from offset @at on; false: beyond its end. */
bool ernic_pci_card_rw(ErnicPci *d, uint64_t at, void *buf, uint64_t len, bool write);

#endif /* ERNIC_DEVICE_CARD_H */
