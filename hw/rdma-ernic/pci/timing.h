/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model's properties.
 */
#ifndef ERNIC_PCI_TIMING_H
#define ERNIC_PCI_TIMING_H

#include "pci/device.h"

/* Reads the profile and begins the trace, if there are to be any. */
bool ernic_pci_timing_open(ErnicPci *d, Error **errp);
/* Writes to the trace what it does not have yet; inside enter and leave. */
void ernic_pci_timing_flush(ErnicPci *d);
void ernic_pci_timing_close(ErnicPci *d);
/* For the engine of the ERNIC face; NULL: nobody asked. */
const ErnicTimingTrace *ernic_pci_timing_pg332_trace(const ErnicPci *d);

#endif /* ERNIC_PCI_TIMING_H */
