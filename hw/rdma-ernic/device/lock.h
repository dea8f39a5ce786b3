/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The functions around every call into an engine.
 */
#ifndef ERNIC_DEVICE_LOCK_H
#define ERNIC_DEVICE_LOCK_H

#include "device/mutex.h"

/* Takes the lock and returns the time in ns. */
uint64_t ernic_pci_enter(ErnicPci *d);
/* Sets the wake-up timer, drops the lock, and raises interrupts that cannot wait. */
void ernic_pci_leave(ErnicPci *d);
/* The same at the end of a run of the device's work. */
void ernic_pci_leave_run(ErnicPci *d);

#endif /* ERNIC_DEVICE_LOCK_H */
