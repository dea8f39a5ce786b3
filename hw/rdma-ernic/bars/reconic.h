/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RecoNIC's shell around the ERNIC interface, and the memory of the card.
 */
#ifndef ERNIC_BARS_RECONIC_H
#define ERNIC_BARS_RECONIC_H

#include "device/device.h"

bool ernic_pci_shell_check(const ErnicPci *d, Error **errp);
/* Makes the memory of the card, and the QDMA; before ernic_pci_pg332_open(). */
bool ernic_pci_shell_open(ErnicPci *d, Error **errp);
/* Sets PCI identity and BARs for shell=reconic. */
void ernic_pci_shell_add_bars(ErnicPci *d);
/* Call it after ernic_pci_shell_open(), also if that failed. */
void ernic_pci_shell_close(ErnicPci *d);
/* Frees what is left after unplug. */
void ernic_pci_shell_free(ErnicPci *d);
/* Resets the shell's registers and the QDMA; inside enter and leave, with the BQL. */
void ernic_pci_shell_reset(ErnicPci *d);
#endif /* ERNIC_BARS_RECONIC_H */
