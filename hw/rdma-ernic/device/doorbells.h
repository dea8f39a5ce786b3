/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queue of doorbells.
 */
#ifndef ERNIC_DEVICE_DOORBELLS_H
#define ERNIC_DEVICE_DOORBELLS_H

#include "device/device.h"

/*
 * Queues a doorbell for the engine; a vCPU calls it with the BQL held. @where: the
 * doorbell page, or what the interface makes of it.
 */
void ernic_pci_doorbell(ErnicPci *d, uint32_t where, uint64_t value);
/*
 * Executes doorbells, each after the commands posted before it, until the slice ends;
 * inside enter and leave. False: some are left.
 */
bool ernic_pci_doorbells_run(ErnicPci *d, uint64_t now);
/* Whether some are left, or were rung since; inside enter and leave. */
bool ernic_pci_doorbells_wait(const ErnicPci *d);
/* Loses all of them; inside enter and leave. */
void ernic_pci_doorbells_drop(ErnicPci *d);

#endif /* ERNIC_DEVICE_DOORBELLS_H */
