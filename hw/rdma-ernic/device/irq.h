/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupts of the function.
 */
#ifndef ERNIC_DEVICE_IRQ_H
#define ERNIC_DEVICE_IRQ_H

#include "device/device.h"

void ernic_pci_irq_init(ErnicPci *d);
void ernic_pci_irq_stop(ErnicPci *d);
/* Raises @vector soon. Call it inside enter and leave, or with the BQL held. */
void ernic_pci_irq(ErnicPci *d, uint16_t vector);
/* The same for an interrupt of the ERNIC interface, which has a vector of its own. */
void ernic_pci_pg332_irq(ErnicPci *d, uint16_t interrupt);
/* Raises pending interrupts, and updates INTx, from a bottom half. */
void ernic_pci_irqs_later(ErnicPci *d);
/* The same if some are pending that the function may send, maybe only since now. */
void ernic_pci_irqs_resume(ErnicPci *d);
/*
 * Around a write of the configuration space: pending bits of MSI, which the second one
 * gives back; those that the write unmasks are pending for ernic_pci_irqs_resume().
 */
uint32_t ernic_pci_msi_hold(ErnicPci *d);
void ernic_pci_msi_release(ErnicPci *d, uint32_t held);
/*
 * Of the interrupts that wait for a mask, bus mastering or D0, only those of vectors
 * @raised still do: software has ended the causes of the others. The function has MSI;
 * BQL and lock held.
 */
void ernic_pci_msi_keep(ErnicPci *d, uint64_t raised);
/* Whether there are such interrupts. */
bool ernic_pci_msi_waits(const ErnicPci *d);
/* Raises them now; a QEMUBHFunc that needs the re-entrancy guard. */
void ernic_pci_send_irqs(void *d);
/* Whether they are raised when the lock is dropped: in virtual time. */
bool ernic_pci_irq_at_once(const ErnicPci *d);
/*
 * Updates INTx of the ERNIC interface, if MSI-X is off. Call it with the BQL held,
 * outside enter and leave.
 */
void ernic_pci_intx(ErnicPci *d);

#endif /* ERNIC_DEVICE_IRQ_H */
