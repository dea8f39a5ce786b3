/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The work of the device, and the AioContext that runs it.
 */
#ifndef ERNIC_PCI_WORK_H
#define ERNIC_PCI_WORK_H

#include "device/device.h"

void ernic_pci_work_init(ErnicPci *d);
/* The engine leaves its thread for the main loop; nothing has run yet, BQL held. */
void ernic_pci_work_to_main(ErnicPci *d);
/*
 * The device is gone: ends its timers and bottom halves, and waits for its AioContext.
 * Locks and the iothread remain until ernic_pci_work_fini().
 */
void ernic_pci_work_stop(ErnicPci *d);
void ernic_pci_work_fini(ErnicPci *d);
/* Waits until no work of the device runs in its AioContext. BQL held. */
void ernic_pci_drain(ErnicPci *d);

#endif /* ERNIC_PCI_WORK_H */
