/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device's own memory.
 */
#ifndef ERNIC_PCI_MEMORY_H
#define ERNIC_PCI_MEMORY_H

#include "pci/device.h"

bool ernic_pci_mem_open(ErnicPci *d, Error **errp);
void ernic_pci_mem_start(ErnicPci *d);
void ernic_pci_mem_close(ErnicPci *d);
/* In BAR 2; 0: there is none. */
uint64_t ernic_pci_mem_offset(const ErnicPci *d);
/* @addr is from ERNIC_ADDR_MEMORY on; false: not all of it is there. */
bool ernic_pci_mem_rw(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                      bool write);
/* A word that will be written; NULL: it is not there. */
uint64_t *ernic_pci_mem_word(ErnicPci *d, uint64_t addr);

#endif /* ERNIC_PCI_MEMORY_H */
