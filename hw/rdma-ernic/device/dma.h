/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * DMA of the function. Only RAM can be reached.
 */
#ifndef ERNIC_DEVICE_DMA_H
#define ERNIC_DEVICE_DMA_H

#include "device/device.h"

/* Accesses guest or device memory; false: part of the range is not RAM. */
bool ernic_pci_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                   bool write);
/*
 * Executes @op on 8 bytes at @addr, atomically for guest processors too; *@old gets the
 * value before, in host byte order. False: it is not RAM.
 */
bool ernic_pci_dma_atomic(ErnicPci *d, uint64_t addr, ErnicAtomicOp op, uint64_t arg,
                          uint64_t compare, uint64_t *old);

#endif /* ERNIC_DEVICE_DMA_H */
