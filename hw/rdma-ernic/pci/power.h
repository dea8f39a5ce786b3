/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stop and start of the machine, and power states of the function.
 */
#ifndef ERNIC_PCI_POWER_H
#define ERNIC_PCI_POWER_H

#include "device/device.h"

/* The function begins or ends its work: accesses to memory, interrupts, packets. */
void ernic_pci_set_working(ErnicPci *d, bool working);
/* A VMChangeStateHandler; @opaque is the device. */
void ernic_pci_vm_changed(void *opaque, bool running, RunState state);
/* The function, or a part of it, may be in another power state than before. */
void ernic_pci_update_power(ErnicPci *d);
/* Whether the function may access memory and send messages: Bus Master. */
bool ernic_pci_is_master(const PCIDevice *pci);
/* Bus mastering may be on again: sends interrupts that wait for it. */
void ernic_pci_resume_irqs(ErnicPci *d);

#endif /* ERNIC_PCI_POWER_H */
