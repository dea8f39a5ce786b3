/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs interface: control page, command ring, doorbell pages. The function of the
 * ERNIC interface has it, too.
 */
#ifndef ERNIC_BARS_VERBS_H
#define ERNIC_BARS_VERBS_H

#include "device/device.h"

/* Refuses PCI ids, which are those of the interface. */
bool ernic_pci_verbs_ids_ok(const ErnicPci *d, Error **errp);
/* Adds the register BAR, with device memory, and the BAR of MSI-X. */
void ernic_pci_verbs_add_bars(ErnicPci *d);
/* The register "features". */
uint32_t ernic_pci_verbs_features(const ErnicPci *d);
/* Members of ErnicPciInterfaceOps. */
void ernic_pci_verbs_run(ErnicPci *d, uint64_t now);
bool ernic_pci_verbs_commands(ErnicPci *d, uint64_t now, uint32_t mark);
void ernic_pci_verbs_doorbell(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value);
bool ernic_pci_verbs_doorbell_ok(const ErnicPci *d, uint32_t where);
bool ernic_pci_verbs_registers_ok(const ErnicPci *d);

#endif /* ERNIC_BARS_VERBS_H */
