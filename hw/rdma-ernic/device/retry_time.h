/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long adaptive retransmission goes on.
 */
#ifndef ERNIC_DEVICE_RETRY_TIME_H
#define ERNIC_DEVICE_RETRY_TIME_H

#include "device/device.h"

/*
 * ns of adaptive retransmission, of the ERNIC interface or the other one, once the timing
 * model is known; 0: it is off.
 */
uint64_t ernic_pci_retry_time(const ErnicPci *d, bool pg332);

#endif /* ERNIC_DEVICE_RETRY_TIME_H */
