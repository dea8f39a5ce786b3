/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model's properties.
 */
#ifndef ERNIC_PCI_TIMING_H
#define ERNIC_PCI_TIMING_H

#include "device/device.h"

/* Reads the profile and opens the traces, as far as the properties request them. */
bool ernic_pci_timing_open(ErnicPci *d, Error **errp);
/* Flushes the trace to its file; inside enter and leave. */
void ernic_pci_timing_flush(ErnicPci *d);
void ernic_pci_timing_close(ErnicPci *d);

#endif /* ERNIC_PCI_TIMING_H */
