/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupts by event notifiers: the engine's thread raises a vector without the main
 * loop. With KVM, the kernel sends the message of a notifier (irqfd); without it, a
 * handler of the main loop does.
 */
#ifndef ERNIC_DEVICE_IRQFD_H
#define ERNIC_DEVICE_IRQFD_H

#include "device/device.h"

/*
 * A vector is open, and has a notifier, while the device works and the guest has
 * enabled MSI-X, bus mastering and the vector. Call this after each change of the first
 * three, with the BQL held and the lock dropped.
 */
void ernic_pci_irqfd_update(ErnicPci *d);
/*
 * Closes all vectors; their pending interrupts are sent by the bottom half. With the BQL
 * held and the lock dropped.
 */
void ernic_pci_irqfd_close(ErnicPci *d);
/* Raises the pending interrupts of open vectors; with the lock held. */
void ernic_pci_irqfd_raise(ErnicPci *d);
/* Loses those that were raised and not sent yet; with the lock held. */
void ernic_pci_irqfd_drop(ErnicPci *d);

#endif /* ERNIC_DEVICE_IRQFD_H */
