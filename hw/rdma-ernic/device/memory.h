/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Device memory: RAM of the device, in the register BAR.
 */
#ifndef ERNIC_DEVICE_MEMORY_H
#define ERNIC_DEVICE_MEMORY_H

#include "device/device.h"

bool ernic_pci_mem_open(ErnicPci *d, Error **errp);
/* Adds device memory to the register BAR, which must be initialized. */
void ernic_pci_mem_start(ErnicPci *d, uint64_t offset);
/* Frees the names of the RAM blocks: of device memory, and of the memory of a card. */
void ernic_pci_mem_close(ErnicPci *d);
/* @addr is at least ERNIC_ADDR_MEMORY; false: the range exceeds device memory. */
bool ernic_pci_mem_rw(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                      bool write);
/* A word for the caller to write; NULL: outside device memory. */
uint64_t *ernic_pci_mem_word(ErnicPci *d, uint64_t addr);
/*
 * After a write: the migration sends these bytes again. Before it, they might be sent
 * between the two, and the write would be lost.
 */
void ernic_pci_mem_dirty(ErnicPci *d, uint64_t addr, uint64_t len);

#endif /* ERNIC_DEVICE_MEMORY_H */
