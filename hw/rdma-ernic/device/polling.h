/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Polling of the engine's thread before it sleeps: meanwhile doorbells and peers need no
 * system call to be noticed.
 */
#ifndef ERNIC_DEVICE_POLLING_H
#define ERNIC_DEVICE_POLLING_H

#include "device/device.h"

/* The greatest engine-poll-us. */
#define ERNIC_MAX_POLL_US       1000

/* The thread of ErnicPci.ctx polls from now on, if engine-poll-us asks for it; BQL. */
void ernic_pci_polling_open(ErnicPci *d);
/* It polls no more; may be called twice. BQL. */
void ernic_pci_polling_close(ErnicPci *d);
/* In the thread of the engine, without the lock: its work begins, and ends. */
void ernic_pci_polling_event(ErnicPci *d);
void ernic_pci_polling_idle(ErnicPci *d);

#endif /* ERNIC_DEVICE_POLLING_H */
