/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * DMA of the ERNIC interface.
 */
#ifndef ERNIC_BARS_SHELL_DMA_H
#define ERNIC_BARS_SHELL_DMA_H

#include "device/device.h"

/* The window table: the first words of ErnicShell.regs. */
#define ERNIC_SHELL_WINDOWS         8
#define ERNIC_SHELL_WINDOW_WORDS    6

/*
 * The same as ernic_pci_dma(), for card memory and guest memory; with a shell,
 * guest memory is accessed through the windows. Inside enter and leave.
 */
bool ernic_pci_shell_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                         bool write);

#endif /* ERNIC_BARS_SHELL_DMA_H */
