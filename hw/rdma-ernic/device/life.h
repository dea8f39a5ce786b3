/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of the device, and what is left of it after unplug.
 *
 * ernic_pci_life_set() alone changes the state. After GONE no work starts: DMA fails,
 * packets are lost, interrupts are dropped, and nothing is scheduled. Memory stays
 * until instance_finalize, because a frame below may still use it:
 *
 * - A vCPU may have looked up a memory region and wait for the BQL with its access.
 *   It then finds the handlers of ernic_pci_life_detach().
 * - An MSI-X message may write to a port that ejects the function, from inside any
 *   code of the device that raises interrupts.
 * - A frame that the device sends may reach another device, whose DMA does the same.
 *
 * The object is freed by an RCU callback, which runs with the BQL held, after all
 * readers: no thread is then in a memory access or in a function that holds the BQL.
 */
#ifndef ERNIC_DEVICE_LIFE_H
#define ERNIC_DEVICE_LIFE_H

#include "device/device.h"

/*
 * True in D0, false in D3hot, the only other power state, and after unplug. A hidden
 * device has the power of the function that it is a part of.
 */
bool ernic_pci_powered(const ErnicPci *d);
/* Changes the state; call it with the BQL and the device's lock held. */
void ernic_pci_life_set(ErnicPci *d, ErnicPciLife life);
/*
 * Gives every memory region of the device, also those of MSI-X, handlers that need
 * nothing: reads return all ones, writes are ignored. Takes regions out of the BARs,
 * because a subregion holds a reference to its owner: the device would keep itself.
 */
void ernic_pci_life_detach(ErnicPci *d);
/* Keeps the object until no thread can be in code of the device. BQL held. */
void ernic_pci_life_keep(ErnicPci *d);

#endif /* ERNIC_DEVICE_LIFE_H */
